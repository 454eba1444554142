"""Kernels of the Poisson likelihood against their formulas, and exact weights against optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import kl_div

from partwise.kernels.poisson import descend, solve

PENALTIES = pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (0.3, 0.0), (0.0, 0.4), (0.2, 5.0)])
NONE = np.empty(0)
SHAPES = pytest.mark.parametrize(("n", "m", "k"), [(1, 1, 1), (6, 9, 1), (12, 5, 3), (9, 30, 7), (5, 3, 6)])


def problem(n: int, m: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.5, (n, m)).astype(float)
    X[n // 2] = 0.0
    H = rng.gamma(0.7, size=(k, m)) + 1e-3
    W = rng.gamma(0.7, size=(n, k)) * (rng.random((n, k)) < 0.7) + 1e-9
    return X, W, H


def arguments(X: np.ndarray, H: np.ndarray, l1: float, l2: float) -> tuple:
    A = sp.csr_array(X)
    t = H.sum(axis=1) + l1
    return A.indptr, A.indices, A.data, np.ascontiguousarray(H.T / np.where(t > 0.0, t, 1.0)), t, l2


def pulls(X: np.ndarray, W: np.ndarray, H: np.ndarray) -> np.ndarray:
    return (X / np.maximum(W @ H, 1e-300)) @ H.T


def residual(X: np.ndarray, W: np.ndarray, H: np.ndarray, mean: np.ndarray, l1: float, l2: float) -> tuple:
    """The definition: sum of ``|min(w positive, gradient mean)|``, at most a row's mass each, and the mass."""
    positive = H.sum(axis=1) + l1 + l2 * W
    rows = X.any(axis=1)
    positive[~rows] = H.sum(axis=1) + l1  # where there is nothing to explain the ridge pulls down too: left out
    missed = np.abs(np.minimum(W * positive, (positive - pulls(X, W, H)) * mean))
    missed[rows] = np.minimum(missed[rows], X[rows].sum(axis=1, keepdims=True))
    return missed.sum(), (W * positive).sum()


@PENALTIES
@SHAPES
def test_multiplying_is_the_em_step(n: int, m: int, k: int, l1: float, l2: float) -> None:
    X, W, H = problem(n, m, k)
    ratio = pulls(X, W, H) / (H.sum(axis=1) + l1 + l2 * W)
    expected = W * (np.sqrt(ratio) if l2 else ratio)
    mean = W.mean(axis=0)
    found = W.copy()
    ratio = np.empty(np.count_nonzero(X))
    missed, mass = descend(*arguments(X, H, l1, l2), mean, 0, found, 0, ratio)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose((missed, mass), residual(X, W, H, mean, l1, l2), rtol=1e-10)
    np.testing.assert_allclose(ratio, X[X > 0.0] / (expected @ H)[X > 0.0], rtol=1e-10)


@PENALTIES
@SHAPES
def test_sweeps_lower_the_objective_and_measure_as_multiplying_does(
    n: int, m: int, k: int, l1: float, l2: float
) -> None:
    X, W, H = problem(n, m, k)
    mean = W.mean(axis=0)
    found = W.copy()
    ratio = np.empty(np.count_nonzero(X))
    measured = descend(*arguments(X, H, l1, l2), mean, 1, found, 0, ratio)
    np.testing.assert_allclose(measured, descend(*arguments(X, H, l1, l2), mean, 0, W.copy(), 0, NONE), rtol=1e-10)
    np.testing.assert_allclose(ratio, X[X > 0.0] / (found @ H)[X > 0.0], rtol=1e-10)

    def objective(W: np.ndarray) -> float:
        return float(kl_div(X, W @ H).sum() + l1 * W.sum() + 0.5 * l2 * (W**2).sum())

    assert objective(found) < objective(W)
    assert (found >= 0.0).all()


def test_a_sweep_of_one_component_is_exact() -> None:
    """With one component the pull is one hyperbola: w = sum x / sum h."""
    X, W, H = problem(8, 6, 1)
    descend(*arguments(X, H, 0.0, 0.0), W.mean(axis=0), 1, W, 0, NONE)
    np.testing.assert_allclose(W[:, 0], X.sum(axis=1) / H.sum(), rtol=1e-12)


@PENALTIES
@SHAPES
def test_solutions_are_optimal(n: int, m: int, k: int, l1: float, l2: float) -> None:
    X, W, H = problem(n, m, k)
    kkt = np.empty(n)
    solve(*arguments(X, H, l1, l2), W, kkt)
    gradient = (H.sum(axis=1) + l1 + l2 * W - pulls(X, W, H)) / (H.sum(axis=1) + l1)
    gradient[~X.any(axis=1)] = 0.0
    violation = np.where(W > 0.0, np.abs(gradient), np.maximum(0.0, -gradient)).max(axis=1)
    assert violation.max() <= 1e-11
    assert kkt.max() <= 1e-12
    assert not W[~X.any(axis=1)].any()


@pytest.mark.parametrize("size", [1e-150, 1e-20, 1.0, 1e20, 1e150])
def test_units_do_not_matter(size: float) -> None:
    X, W, H = problem(9, 30, 7)
    one, other, kkt = W.copy(), size * W, np.empty(9)
    solve(*arguments(X, H, 0.0, 0.0), one, kkt)
    solve(*arguments(size * X, H, 0.0, 0.0), other, kkt)
    np.testing.assert_allclose(other, size * one, rtol=1e-9, atol=1e-12 * size)
    assert kkt.max() <= 1e-12


@pytest.mark.parametrize("apart", [1e-2, 1e-4, 1e-6])
def test_nearly_equal_components_are_told_apart(apart: float) -> None:
    """The weights that made exact data come back although the components differ in a few digits alone."""
    rng = np.random.default_rng(1)
    H = rng.random(60) * (1.0 + apart * rng.standard_normal((4, 60)))
    W = rng.random((20, 4)) * 100.0
    found, kkt = np.ones_like(W), np.empty(20)
    solve(*arguments(W @ H, H, 0.0, 0.0), found, kkt)
    assert kkt.max() <= 1e-12
    # rounding of the data, 1e-16, moves weights by its size over the square of the distance at most
    np.testing.assert_allclose(found, W, rtol=max(1e-10, 1e-14 / apart**2), atol=1e-12 / apart**2)


def test_what_no_component_has_is_left_out() -> None:
    X, W, H = problem(6, 9, 3)
    H[:, 4] = 0.0
    X[:, 4] = 7.0
    with_it, without, kkt = W.copy(), W.copy(), np.empty(6)
    solve(*arguments(X, H, 0.0, 0.0), with_it, kkt)
    X[:, 4] = 0.0
    solve(*arguments(X, H, 0.0, 0.0), without, kkt)
    np.testing.assert_allclose(with_it, without, rtol=1e-9, atol=1e-12)
    assert kkt.max() <= 1e-12


def test_zeros_are_left_and_dead_components_are_not() -> None:
    X, _, H = problem(6, 9, 3)
    H[1] = 0.0
    for kernel in ("sweeps", "exact"):
        W = np.zeros((6, 3))
        W[:, 0] = 1.0
        if kernel == "sweeps":
            descend(*arguments(X, H, 0.0, 0.0), np.ones(3), 2, W, 0, NONE)
        else:
            solve(*arguments(X, H, 0.0, 0.0), W, np.empty(6))
        assert W[:, 2].any()
        assert not W[:, 1].any()
