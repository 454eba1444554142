"""XRAY by passes against XRAY with a residual matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms import xray as module
from partwise.algorithms.xray import SELECTIONS, xray
from partwise.exceptions import InputError
from partwise.sources import source_of

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
AXES = pytest.mark.parametrize("axis", ["samples", "features"])
RULES = pytest.mark.parametrize("selection", SELECTIONS)


def literal(X: np.ndarray, k: int, selection: str) -> tuple[list[int], list[float]]:
    """The paper, points as rows: detection by a rule, the face that touches, exact refits."""
    anchors: list[int] = []
    sizes: list[float] = []
    R = X.copy()
    while len(anchors) < k:
        norms = np.linalg.norm(R, axis=1)
        sizes.append(norms.max() / np.linalg.norm(X, axis=1).max())
        P = np.maximum(R @ X.T, 0.0)
        if selection == "greedy":
            scores = np.linalg.norm(P, axis=0) / np.linalg.norm(X, axis=1)
        else:
            i = np.argmax(norms if selection == "max" else np.linalg.norm(P, axis=1))
            scores = X @ R[i] / X.sum(axis=1)
        scores[anchors] = -np.inf
        anchors.append(int(np.argmax(scores)))
        H = X[anchors]
        R = X - np.array([scipy.optimize.nnls(H.T, x)[0] for x in X]) @ H
    return anchors, sizes


def separable(axis: str, seed: int) -> pw.datasets.mixture.Mixture:
    return pw.datasets.make_separable(n_samples=60, n_features=40, n_components=6, axis=axis, random_state=seed)


@FORMS
@AXES
@pytest.mark.parametrize("selection", ["max", "dist"])
@pytest.mark.parametrize("seed", range(8))
def test_anchors_of_separable_data(form: Any, axis: Any, selection: Any, seed: int) -> None:
    data = separable(axis, seed)
    found = xray(source_of(form(data.X), block_rows=13), 6, axis=axis, selection=selection)
    assert sorted(found.anchors) == sorted(data.anchors)
    assert found.residuals[0] == pytest.approx(1.0)
    assert (np.diff(found.residuals) <= 1e-12).all()
    assert (found.margins >= 1.0).all()


@FORMS
@AXES
@RULES
@pytest.mark.parametrize("seed", range(3))
def test_noisy_sparse_data(form: Any, axis: Any, selection: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((50, 20)) * (rng.random((50, 20)) < 0.4) + 0.01 * np.eye(50, 20)
    X[X.sum(axis=1) == 0.0, 0] = 1.0
    found = xray(source_of(form(X), block_rows=16), 8, axis=axis, selection=selection)
    anchors, sizes = literal(X if axis == "samples" else X.T, 8, selection)
    assert found.anchors.tolist() == anchors
    np.testing.assert_allclose(found.residuals, sizes, rtol=1e-9)


@AXES
@RULES
def test_every_source_gives_the_same(axis: Any, selection: Any, tmp_path: Path) -> None:
    X = pw.datasets.add_gaussian_noise(separable(axis, 3), 0.2, clip=True, random_state=0).X
    np.save(tmp_path / "X.npy", X)
    expected = xray(source_of(X), 6, axis=axis, selection=selection)
    for source in (
        source_of(X, block_rows=7),
        source_of(sp.csr_array(X), block_rows=25),
        source_of(tmp_path / "X.npy", block_rows=16),
        source_of(da.from_array(X, chunks=(25, 20)), scheduler="synchronous"),
    ):
        found = xray(source, 6, axis=axis, selection=selection)
        np.testing.assert_array_equal(found.anchors, expected.anchors)
        np.testing.assert_allclose(found.residuals, expected.residuals, rtol=1e-10)
        np.testing.assert_allclose(found.margins, expected.margins, rtol=1e-8)


@AXES
@pytest.mark.parametrize("selection", ["dist", "greedy"])
def test_slabs_do_not_matter(axis: Any, selection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(pw.datasets.add_gaussian_noise(separable(axis, 2), 0.3, clip=True, random_state=0).X)
    expected = xray(source, 6, axis=axis, selection=selection)
    monkeypatch.setattr(module, "SLAB_BYTES", 7 * 8 * 60)
    np.testing.assert_array_equal(xray(source, 6, axis=axis, selection=selection).anchors, expected.anchors)


@AXES
@pytest.mark.parametrize("selection", ["max", "dist"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_stops_when_the_cone_holds_all(axis: Any, selection: Any, dtype: Any) -> None:
    data = separable(axis, 4)
    found = xray(source_of(data.X.astype(dtype)), 20, axis=axis, selection=selection)
    assert sorted(found.anchors[:6]) == sorted(data.anchors)
    assert dtype == np.float32 or len(found.anchors) == 6


@AXES
def test_more_extreme_rays_than_dimensions(axis: Any) -> None:
    """The cone over a pentagon has five extreme rays in three dimensions; SPA would stop at three."""
    angles = 2.0 * np.pi * np.arange(5) / 5.0
    corners = np.column_stack([2.0 + np.cos(angles), 2.0 + np.sin(angles), np.full(5, 3.0)])
    rng = np.random.default_rng(0)
    X = np.vstack([rng.dirichlet(np.ones(5), 30) @ corners, corners]) * rng.uniform(0.5, 2.0, (35, 1))
    found = xray(source_of(X if axis == "samples" else X.T), 9, axis=axis)
    assert sorted(found.anchors) == [30, 31, 32, 33, 34]


@AXES
@RULES
def test_a_little_noise_moves_no_anchor_far(axis: Any, selection: Any) -> None:
    data = separable(axis, 1)
    noisy = pw.datasets.add_gaussian_noise(data, 0.005, clip=True, random_state=0)
    found = xray(source_of(noisy.X), 6, axis=axis, selection=selection)
    if selection != "greedy":
        assert sorted(found.anchors) == sorted(data.anchors)
    assert found.residuals[-1] < found.residuals[0]


@AXES
def test_zero_points_are_never_picked(axis: Any) -> None:
    data = separable(axis, 0).X
    X = np.zeros((70, 50))
    X[5:65, 5:45] = data
    found = xray(source_of(sp.csr_array(X)), 6, axis=axis)
    assert sorted(found.anchors - 5) == sorted(separable(axis, 0).anchors)
    assert len(xray(source_of(np.zeros((4, 3))), 2, axis=axis).anchors) == 0


@RULES
def test_points_without_a_positive_sum_are_not_picked(selection: Any) -> None:
    X = np.array([[2.0, 1.0], [1.0, 1.5], [-3.0, 1.0]])
    found = xray(source_of(X), 3, selection=selection)
    assert set(found.anchors[:2]) <= {0, 1} or selection == "greedy"


def test_the_first_of_equal_points_is_picked() -> None:
    X = np.repeat(separable("samples", 2).X, 3, axis=0)
    found = xray(source_of(X, block_rows=10), 6)
    assert sorted(found.anchors) == sorted(3 * separable("samples", 2).anchors)


def test_bad_options_are_refused() -> None:
    with pytest.raises(InputError, match="selection must be one of max, dist, greedy, got 'rand'"):
        xray(source_of(np.eye(3)), 2, selection="rand")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="axis must be"):
        xray(source_of(np.eye(3)), 2, axis=0)  # type: ignore[arg-type]
