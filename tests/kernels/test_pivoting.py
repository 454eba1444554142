"""Pivoting on the zeros against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from partwise.kernels.pivoting import pivot_zeros


def problem(n: int, k: int, active: float, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    H = rng.random((k, 4 * k + 3))
    W = rng.random((n, k)) * (rng.random((n, k)) < active)
    X = W @ H + 0.2 * rng.standard_normal((n, H.shape[1]))
    F = np.linalg.inv(H @ H.T)
    return H, X, (F + F.T) / 2, X @ H.T @ F


@pytest.mark.parametrize("k", [1, 2, 7, 30])
@pytest.mark.parametrize("active", [0.7, 0.9, 1.0])
def test_rows_that_are_mostly_positive_are_solved(k: int, active: float) -> None:
    H, X, F, f = problem(40, k, active, k)
    W = np.full_like(f, np.nan)
    pivot_zeros(F, f, W, f.shape[1] // 2)
    mostly = 2 * (f < 0).sum(axis=1) < k + 1
    assert mostly.any()
    assert not W[~mostly].any()
    expected = np.array([nnls(H.T, x)[0] for x in X[mostly]])
    np.testing.assert_allclose(W[mostly], expected, atol=1e-9)
    np.testing.assert_array_equal(W[mostly] > 0, expected > 0)


def test_rows_do_not_affect_each_other() -> None:
    _, _, F, f = problem(30, 8, 0.8, 3)
    f[4, 2] = np.nan
    whole, alone = np.empty_like(f), np.empty_like(f)
    pivot_zeros(F, f, whole, f.shape[1] // 2)
    for i in range(len(f)):
        pivot_zeros(F, f[i : i + 1], alone[i : i + 1], f.shape[1] // 2)
    np.testing.assert_array_equal(whole, alone)
    assert np.isfinite(np.delete(whole, 4, axis=0)).all()


def test_a_row_with_too_many_negatives_is_left_where_it_is_without_them() -> None:
    f = np.array([[1.0, -2.0, -3.0, 4.0], [1.0, -2.0, 3.0, 4.0]])
    W = f.copy()
    pivot_zeros(np.eye(4), f, W, 1)
    np.testing.assert_array_equal(W, np.maximum(f, 0.0))
    W = f.copy()
    pivot_zeros(np.eye(4) + 0.5, f, W, 1)
    np.testing.assert_array_equal(W[0], np.maximum(f[0], 0.0))
    assert not np.array_equal(W[1], np.maximum(f[1], 0.0))  # this one is solved
