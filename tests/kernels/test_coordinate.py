"""Coordinate sweeps against the three-line rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

from partwise.kernels.coordinate import beyond, descend, descend_each, descend_lanes, inner


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return np.dtype(request.param)


def problem(n: int, k: int, dtype: Any = np.float64, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    H, X = rng.random((k, 3 * k)), rng.standard_normal((n, 3 * k)) + 0.5
    W = rng.random((n, k)) * (rng.random((n, k)) < 0.5)
    return tuple(np.ascontiguousarray(array, dtype) for array in (H @ H.T, X @ H.T, W, H, X))


def sweep(G: np.ndarray, B: np.ndarray, W: np.ndarray) -> np.ndarray:
    W = W.copy()
    for j in np.flatnonzero(np.diag(G) > 0):
        W[:, j] = np.maximum(0.0, W[:, j] - (W @ G[:, j] - B[:, j]) / G[j, j])
    return W


def natural_residual(G: np.ndarray, B: np.ndarray, W: np.ndarray) -> float:
    d = np.sqrt(np.diag(G))
    safe = np.where(d > 0, d, 1.0)
    return float((np.minimum(W * d, (W @ G - B) / safe * (d > 0)) ** 2).sum())


@pytest.mark.parametrize("sweeps", [0, 1, 3])
@pytest.mark.parametrize(("n", "k"), [(0, 3), (1, 1), (7, 1), (6, 5), (20, 12)])
def test_sweeps_follow_the_rule(n: int, k: int, sweeps: int, dtype: Any) -> None:
    G, B, W, *_ = problem(n, k, dtype)
    expected = W
    for _ in range(sweeps):
        expected = sweep(G, B, expected)
    start = W.copy()
    residual = descend(G, B, W, sweeps, 0.0)
    rtol = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(W, expected, rtol=rtol, atol=rtol)
    assert residual == pytest.approx(natural_residual(G, B, start), rel=rtol)


@pytest.mark.parametrize("dead", [[0], [2, 4], [0, 1, 2, 3, 4]], ids=str)
def test_null_components_keep_their_weights(dead: list[int], dtype: Any) -> None:
    G, B, W, *_ = problem(6, 5, dtype)
    G[dead], G[:, dead], B[:, dead] = 0.0, 0.0, 0.0
    start = W.copy()
    residual = descend(G, B, W, 5, 0.0)
    np.testing.assert_array_equal(W[:, dead], start[:, dead])
    assert np.isfinite(W).all()
    assert residual == pytest.approx(natural_residual(G, B, start), rel=1e-4)


def test_many_sweeps_solve_the_problem() -> None:
    G, B, W, H, X = problem(10, 6)
    descend(G, B, W, 5000, 0.0)
    expected = np.array([nnls(H.T, x)[0] for x in X])
    np.testing.assert_allclose(W, expected, atol=1e-9)
    assert descend(G, B, W, 1, 0.0) < 1e-18


def test_the_residual_is_zero_only_at_the_solution() -> None:
    G, B = np.array([[2.0]]), np.array([[4.0], [-4.0]])
    W = np.array([[2.0], [0.0]])
    assert descend(G, B, W, 1, 0.0) == 0.0
    np.testing.assert_array_equal(W, [[2.0], [0.0]])
    # row 0: min(3 sqrt 2, 2 / sqrt 2)^2 = 2; row 1: min(sqrt 2, 6 / sqrt 2)^2 = 2
    assert descend(G, B, np.array([[3.0], [1.0]]), 0, 0.0) == pytest.approx(4.0)


def test_the_residual_does_not_depend_on_the_scale_of_components() -> None:
    G, B, W, *_ = problem(8, 4)
    scales = np.array([1e-3, 1.0, 10.0, 1e4])
    scaled = np.outer(scales, scales) * G, B * scales, W / scales
    assert descend(*scaled, 0, 0.0) == pytest.approx(descend(G, B, W, 0, 0.0), rel=1e-12)


def sweeps_until_small(G: np.ndarray, B: np.ndarray, W: np.ndarray, most: int, shrink: float) -> np.ndarray:
    first = None
    for _ in range(most):
        new = sweep(G, B, W)
        largest = (np.abs(new - W) * np.sqrt(np.diag(G))).max()
        W = new
        first = largest if first is None else first
        if largest <= shrink * first:
            break
    return W


def test_each_row_is_left_on_its_own() -> None:
    G, B, W, *_ = problem(30, 6, seed=3)
    expected = [sweeps_until_small(G, b[None], w[None], 50, 0.1)[0] for b, w in zip(B, W, strict=True)]
    descend(G, B, W, 50, 0.1)
    np.testing.assert_allclose(W, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200])
@pytest.mark.parametrize("k", [1, 7])
def test_lanes_are_the_same_sweeps(n: int, k: int, dtype: Any) -> None:
    G, B, W, *_ = problem(n, k, dtype)
    if k > 1:
        G[1], G[:, 1], B[:, 1] = 0.0, 0.0, 0.0
    other = W.copy()
    residual = descend(G, B, W, 3, 0.0)
    rtol = 1e-3 if dtype == np.float32 else 1e-11
    assert descend_lanes(G, B, other, 3, True) == pytest.approx(residual, rel=rtol)
    np.testing.assert_allclose(other, W, rtol=rtol, atol=rtol)


def test_lanes_do_not_depend_on_their_neighbours() -> None:
    G, B, W, *_ = problem(130, 6)
    whole, parts = W.copy(), W.copy()
    descend_lanes(G, B, whole, 4, True)
    for rows in (slice(0, 3), slice(3, 100), slice(100, None)):
        part = parts[rows]
        descend_lanes(G, B[rows], part, 4, True)
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize("cut", [1, 7, 29])
def test_rows_may_be_split_anywhere(cut: int) -> None:
    G, B, W, *_ = problem(30, 6)
    parts = W.copy()
    whole = descend(G, B, W, 4, 0.1)
    split = sum(descend(G, B[s], parts[s], 4, 0.1) for s in (slice(None, cut), slice(cut, None)))
    np.testing.assert_array_equal(parts, W)
    assert split == pytest.approx(whole, rel=1e-12)


def test_nan_in_one_row_stays_there() -> None:
    G, B, W, *_ = problem(3, 4)
    B[1, 2] = np.nan
    descend(G, B, W, 5, 0.0)
    assert np.isnan(W[1]).any()
    assert np.isfinite(W[[0, 2]]).all()


@pytest.mark.parametrize("sweeps", [1, 3])
def test_a_gram_matrix_for_each_row(sweeps: int, dtype: Any) -> None:
    problems = [problem(1, 4, dtype, seed) for seed in range(5)]
    G, B, W = (np.stack([one[i] for one in problems]) for i in range(3))
    expected = W.copy()
    residuals = [descend(g, b, w, sweeps, 0.1) for g, b, w in zip(G, B, expected, strict=True)]
    B, W = B[:, 0], np.ascontiguousarray(W[:, 0])
    assert descend_each(G, B, W, sweeps, 0.1) == pytest.approx(sum(residuals))
    np.testing.assert_allclose(W, expected[:, 0], rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("k", [1, 6])
def test_the_steps_of_a_first_sweep_are_its_residual_that_is_not_exact(k: int) -> None:
    rng = np.random.default_rng(3)
    H, X, W = rng.random((k, 9)), rng.random((70, 9)), rng.random((70, k))
    G, B, w, way = H @ H.T, X @ H.T, W.copy(), 0.0
    for j in range(k):  # coordinate by coordinate, all rows at once
        step = np.maximum((B[:, j] - w @ G[j]) / G[j, j], -w[:, j])
        w[:, j] += step
        way += G[j, j] * float(step @ step)
    found = W.copy()
    assert descend_lanes(G, B, found, 1, False) == pytest.approx(way, rel=1e-12)
    np.testing.assert_allclose(found, w, atol=1e-13)


def test_beyond_and_inner() -> None:
    rng = np.random.default_rng(4)
    new, old, out = rng.random((3, 5, 4)).astype(np.float32)
    beyond(new, old, np.float32(0.5), out)
    np.testing.assert_allclose(out, new + 0.5 * (new - old), rtol=1e-6)
    assert inner(new, old) == pytest.approx(float((new.astype(float) * old).sum()), rel=1e-14)
