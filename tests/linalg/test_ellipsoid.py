"""The smallest enclosing ellipsoid against its optimality conditions and against ellipsoids that are known."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from partwise.exceptions import InputError
from partwise.linalg import Ellipsoid, enclosing_ellipsoid
from partwise.sources import source_of


def heights(Y: np.ndarray, L: np.ndarray) -> np.ndarray:
    return np.einsum("ij,jk,ik->i", Y, L, Y)


def check_optimal(Y: np.ndarray, found: Ellipsoid) -> None:
    """Karush-Kuhn-Tucker: all inside, weights on the boundary only, ``L^-1 = k sum u y y'``; and the gap by hand."""
    k = Y.shape[1]
    y, u = Y[found.active], found.weights
    assert found.gap <= 1e-10
    assert heights(Y, found.L).max() <= 1.0 + 1e-9
    np.testing.assert_allclose(heights(y, found.L), 1.0, atol=2e-6)
    assert (u >= 0.0).all()
    assert u.sum() == pytest.approx(1.0)
    M = (u[:, None] * y).T @ y
    np.testing.assert_allclose(k * M @ found.L, np.eye(k), atol=1e-8)
    assert heights(Y, np.linalg.inv(M)).max() / k - 1.0 <= 1e-9
    np.testing.assert_array_equal(found.active, np.sort(found.active))


def gaussian(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((500, 8))


def mixtures(rng: np.random.Generator) -> np.ndarray:
    return rng.dirichlet(np.full(6, 0.5), 2000) @ rng.random((6, 6))


def sphere(rng: np.random.Generator) -> np.ndarray:
    Y = rng.standard_normal((400, 5))
    return Y / np.linalg.norm(Y, axis=1, keepdims=True)


def few(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((7, 7))


def line(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((50, 1))


def tail(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_t(2, (3000, 4))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [gaussian, mixtures, sphere, few, line, tail], ids=lambda make: make.__name__)
def test_optimality(make: Any, seed: int) -> None:
    Y = make(np.random.default_rng(seed))
    check_optimal(Y, enclosing_ellipsoid(Y))


@pytest.mark.parametrize("lengths", [[1.0, 1.0], [3.0, 0.2, 1.0], [30.0, 1.0, 0.03, 5.0]], ids=str)
def test_ends_of_the_axes(lengths: list[float]) -> None:
    rng = np.random.default_rng(0)
    k = len(lengths)
    axes = np.linalg.qr(rng.standard_normal((k, k)))[0] * np.array(lengths)[:, None]
    inside = 0.9 * rng.uniform(-1.0, 1.0, (100, k)) / np.sqrt(k) @ axes
    Y = np.vstack([inside, axes, -axes])
    found = enclosing_ellipsoid(Y)
    np.testing.assert_allclose(axes @ found.L @ axes.T, np.eye(k), atol=1e-8)
    np.testing.assert_array_equal(found.active, np.arange(100, 100 + 2 * k))
    np.testing.assert_allclose(found.weights[:k] + found.weights[k:], 1.0 / k, rtol=1e-7)


def test_points_all_over_an_ellipsoid_give_it_back() -> None:
    rng = np.random.default_rng(1)
    A = rng.standard_normal((4, 4))
    Y = sphere(rng)[:, :4]
    Y = Y / np.linalg.norm(Y, axis=1, keepdims=True) @ A
    found = enclosing_ellipsoid(Y)
    np.testing.assert_allclose(A @ found.L @ A.T, np.eye(4), atol=1e-6)
    assert len(found.active) == len(Y)


def test_a_circle_whose_farthest_points_are_neighbours() -> None:
    angles = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, 5000)
    Y = np.column_stack([np.cos(angles), np.sin(angles)])
    check_optimal(Y, enclosing_ellipsoid(Y))


@pytest.mark.parametrize("seed", range(5))
def test_linear_maps_take_the_ellipsoid_along(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((300, 5))
    A = rng.standard_normal((5, 5)) * 10.0 ** np.arange(-4, 6, 2)
    plain, mapped = enclosing_ellipsoid(Y), enclosing_ellipsoid(Y @ A)
    np.testing.assert_array_equal(mapped.active, plain.active)
    np.testing.assert_allclose(A @ mapped.L @ A.T, plain.L, rtol=0, atol=1e-7 * np.abs(plain.L).max())


def test_points_in_their_convex_hull_and_at_the_origin_change_nothing() -> None:
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((40, 4))
    more = np.vstack([Y, rng.dirichlet(np.ones(40), 500) @ Y, -0.5 * Y, np.zeros((3, 4))])
    plain, same = enclosing_ellipsoid(Y), enclosing_ellipsoid(more)
    np.testing.assert_array_equal(same.active, plain.active)
    np.testing.assert_allclose(same.L, plain.L, rtol=1e-7, atol=1e-9)


def test_all_of_equal_points_touch() -> None:
    found = enclosing_ellipsoid(np.vstack([np.eye(5)] * 3))
    np.testing.assert_array_equal(found.active, np.arange(15))
    np.testing.assert_allclose(found.L, np.eye(5), atol=1e-12)


def test_every_source_gives_the_same(tmp_path: Path) -> None:
    Y = np.random.default_rng(0).standard_normal((400, 6))
    np.save(tmp_path / "Y.npy", Y)
    expected = enclosing_ellipsoid(Y)
    for source in (
        source_of(Y, block_rows=7),
        source_of(sp.csr_array(Y), block_rows=50),
        source_of(tmp_path / "Y.npy", block_rows=33),
        source_of(da.from_array(Y, chunks=(90, 6)), scheduler="synchronous"),
    ):
        found = enclosing_ellipsoid(source)
        np.testing.assert_array_equal(found.active, expected.active)
        np.testing.assert_allclose(found.L, expected.L, rtol=1e-8, atol=1e-10)


def test_single_precision_is_computed_in_double() -> None:
    Y = np.random.default_rng(0).standard_normal((200, 4)).astype(np.float32)
    check_optimal(Y.astype(float), enclosing_ellipsoid(Y))


@pytest.mark.parametrize(
    ("Y", "rank"),
    [
        (np.ones((5, 2)), 1),
        (np.eye(3)[:2], 2),
        (np.zeros((4, 2)), 0),
        (np.outer(np.arange(9.0), [1, 2, 3]), 1),
    ],
    ids=["equal", "too-few", "zero", "a-line"],
)
def test_flat_ellipsoids_are_refused(Y: np.ndarray, rank: int) -> None:
    with pytest.raises(InputError, match=f"span only {rank} of {Y.shape[1]} dimensions"):
        enclosing_ellipsoid(Y)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="NaN or infinity"):
        enclosing_ellipsoid(np.array([[1.0, np.nan], [0.0, 1.0]]))
    with pytest.raises(InputError, match="tol must be positive"):
        enclosing_ellipsoid(np.eye(2), tol=0.0)


def test_a_gap_above_the_tolerance_is_told() -> None:
    Y = np.random.default_rng(0).standard_normal((200, 6))
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        assert enclosing_ellipsoid(Y, tol=1e-18).gap < 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert enclosing_ellipsoid(Y, tol=1e-3).gap <= 1e-3
