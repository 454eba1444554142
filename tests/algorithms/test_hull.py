"""Corners of the convex hull against the lecture's loop: a linear program a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms import hull as module
from partwise.algorithms.hull import convex_hull
from partwise.exceptions import InputError
from partwise.linalg import lp
from partwise.sources import source_of

AXES = pytest.mark.parametrize("axis", ["samples", "features"])


def lecture(P: np.ndarray) -> list[int]:
    """For every row: if it is in the convex hull of those that are left, delete it."""
    P = P / P.sum(axis=1, keepdims=True)
    left = list(range(len(P)))
    for i in range(len(P)):
        others = [j for j in left if j != i]
        A = np.vstack([P[others].T, np.ones(len(others))])
        if scipy.optimize.linprog(np.zeros(len(others)), A_eq=A, b_eq=np.append(P[i], 1.0)).status == 0:
            left = others
    return left


def distance(x: np.ndarray, others: np.ndarray) -> float:
    """The l1 distance from a convex hull, as a linear program in plain form."""
    k, m = others.shape
    A = np.block([[others.T, np.eye(m), -np.eye(m)], [np.ones((1, k)), np.zeros((1, 2 * m))]])
    c = np.concatenate([np.zeros(k), np.ones(2 * m)])
    return float(scipy.optimize.linprog(c, A_eq=A, b_eq=np.append(x, 1.0)).fun)


def separable(axis: str, seed: int) -> Any:
    return pw.datasets.make_separable(n_samples=60, n_features=40, n_components=6, axis=axis, random_state=seed)


@AXES
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("seed", range(5))
def test_anchors_of_separable_data(axis: Any, form: Any, seed: int) -> None:
    data = separable(axis, seed)
    found = convex_hull(source_of(form(data.X), block_rows=13), 6, axis=axis)
    assert sorted(found.anchors) == sorted(data.anchors)
    assert found.n_corners == 6  # all others were placed inside without a program
    assert found.gap < 1e-9
    P = data.X if axis == "samples" else data.X.T
    P = (P / P.sum(axis=1, keepdims=True))[found.anchors]
    expected = [distance(P[i], np.delete(P, i, axis=0)) for i in range(6)]
    np.testing.assert_allclose(found.distances, expected, atol=1e-8)
    assert (np.diff(found.distances) <= 0.0).all()


@pytest.mark.parametrize("dimension", [3, 4, 6])
@pytest.mark.parametrize("seed", range(2))
def test_many_corners_in_few_dimensions(dimension: int, seed: int) -> None:
    P = np.random.default_rng(seed).dirichlet(np.ones(dimension), 40) + 0.05
    found = convex_hull(source_of(P), 40)
    assert sorted(found.anchors) == lecture(P)
    assert found.n_corners < 40 or dimension == 6


def test_corners_are_all_there_whatever_number_of_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    P = np.random.default_rng(0).dirichlet(np.ones(4), 80)
    expected = sorted(convex_hull(source_of(P), 80).anchors)
    monkeypatch.setattr(module, "DIRECTIONS", 1)
    assert sorted(convex_hull(source_of(P), 80).anchors) == expected


@AXES
def test_points_of_all_sizes(axis: Any) -> None:
    data = separable(axis, 1)
    count = len(data.X) if axis == "samples" else data.X.shape[1]
    scale = 10.0 ** np.random.default_rng(0).uniform(-3, 3, count)
    X = data.X * (scale[:, None] if axis == "samples" else scale)
    assert sorted(convex_hull(source_of(X), 6, axis=axis).anchors) == sorted(data.anchors)


def test_of_equal_points_the_first_stays() -> None:
    corners = np.eye(3)
    P = np.vstack([corners.mean(axis=0), np.repeat(corners, 4, axis=0), 2.0 * corners])
    assert sorted(convex_hull(source_of(P), 3).anchors) == [1, 5, 9]


def test_noise_within_the_tolerance() -> None:
    data = pw.datasets.make_separable(n_samples=30, n_features=12, n_components=4, axis="samples", random_state=1)
    noisy = np.abs(data.X + 1e-3 * np.random.default_rng(0).standard_normal(data.X.shape))
    assert len(convex_hull(source_of(noisy), 30).anchors) > 4
    assert sorted(convex_hull(source_of(noisy), 30, tol=0.08).anchors) == sorted(data.anchors)


@pytest.mark.parametrize("seed", range(2))
def test_the_nearest_are_deleted_until_enough_remain(seed: int) -> None:
    """Against the same without shortcuts: all distances anew after every deletion."""
    P = np.random.default_rng(seed).dirichlet(np.ones(5), 14)
    left = lecture(P)
    while len(left) > 5:
        distances = [distance(P[i], P[[j for j in left if j != i]]) for i in left]
        worst = float(min(distances))
        left.pop(int(np.argmin(distances)))
    found = convex_hull(source_of(P), 5)
    assert sorted(found.anchors) == left
    assert (found.margins > 1.0).all()
    np.testing.assert_allclose(found.margins.min(), found.distances.min() / worst, rtol=1e-6)


@AXES
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_fewer_corners_than_asked_for(axis: Any, dtype: Any) -> None:
    data = separable(axis, 4)
    found = convex_hull(source_of(data.X.astype(dtype)), 20, axis=axis)
    assert sorted(found.anchors) == sorted(data.anchors)


@pytest.mark.parametrize(
    ("X", "anchors"),
    [
        pytest.param(np.zeros((4, 3)), [], id="zeros"),
        pytest.param(np.ones((1, 3)), [0], id="one"),
        pytest.param(np.ones((4, 3)), [0], id="all alike"),
        pytest.param(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]]), [1, 2], id="a zero point"),
        pytest.param(np.eye(3), [0, 1, 2], id="identity"),
    ],
)
def test_hardly_any_points(X: np.ndarray, anchors: list[int]) -> None:
    found = convex_hull(source_of(X), 5)
    assert sorted(found.anchors) == anchors
    assert len(found.distances) == len(found.margins) == len(anchors)


@AXES
def test_every_source_gives_the_same(axis: Any, tmp_path: Path) -> None:
    X = pw.datasets.add_gaussian_noise(separable(axis, 1), 0.02, clip=True, random_state=0).X[:18, :12]
    np.save(tmp_path / "X.npy", X)
    expected = convex_hull(source_of(X), 6, axis=axis)
    for source in (
        source_of(sp.csr_array(X), block_rows=7),
        source_of(tmp_path / "X.npy", block_rows=5),
        source_of(da.from_array(X, chunks=(5, 5)), scheduler="synchronous"),
    ):
        found = convex_hull(source, 6, axis=axis)
        np.testing.assert_array_equal(found.anchors, expected.anchors)
        np.testing.assert_allclose(found.distances, expected.distances, atol=1e-9)


def test_too_large_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lp, "_machine_memory", lambda: 1e6)
    with pytest.raises(InputError, match=r"ConvexHull for 500 points of dimension 60 .*use SPA"):
        convex_hull(source_of(np.ones((500, 60))), 3)
