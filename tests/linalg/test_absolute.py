"""Least absolute deviations against HiGHS, and against what is known of the solution."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.exceptions import InputError
from partwise.linalg import least_absolute
from partwise.linalg.lp import solve_lp


def highs(H: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The linear program, word for word: w H + u - v = x, least sum of u and v."""
    k, d = H.shape
    constraints = sp.hstack([sp.csr_array(H.T), sp.eye_array(d), -sp.eye_array(d)]).tocsr()
    return solve_lp(np.r_[np.zeros(k), np.ones(2 * d)], constraints, x)[0][:k]


def misfit(X: np.ndarray, W: np.ndarray, H: np.ndarray) -> np.ndarray:
    return np.abs(X - W @ H).sum(axis=1)


def data(n: int, d: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    H, W = rng.dirichlet(np.full(d, 0.3), size=k), rng.dirichlet(np.full(k, 0.3), size=n)
    spikes = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.2) / np.sqrt(d)
    return H, W @ H + spikes


@pytest.mark.parametrize(("n", "d", "k"), [(12, 30, 3), (8, 60, 10), (8, 12, 10), (6, 5, 5), (4, 40, 1)])
def test_as_good_as_highs(n: int, d: int, k: int) -> None:
    H, X = data(n, d, k, d)
    W, certificate = least_absolute(H, X, return_certificate=True)
    assert (W >= 0.0).all()
    best = misfit(X, np.array([highs(H, x) for x in X]), H)
    sizes = np.abs(X).sum(axis=1)
    # ours cannot be below the optimum, and HiGHS's, evaluated at its own weights, neither
    assert (misfit(X, W, H) <= best + 1e-9 * sizes).all()
    assert (best - misfit(X, W, H) <= 1e-7 * sizes).all()  # the feasibility of HiGHS, summed
    assert certificate.largest <= 1e-9


def test_the_gap_is_a_proof() -> None:
    """The dual bound never exceeds the misfit of any weights, and no weights near by are better than it says."""
    H, X = data(5, 20, 4, 0)
    W, certificate = least_absolute(H, X, return_certificate=True)
    rng = np.random.default_rng(1)
    for _ in range(300):
        other = np.maximum(W + rng.standard_normal(W.shape) * rng.choice([1e-6, 1e-3, 0.1]), 0.0)
        assert (misfit(X, other, H) >= misfit(X, W, H) - certificate.gap * np.abs(X).sum(axis=1) - 1e-15).all()


def test_exact_weights_survive_corrupted_entries() -> None:
    """Most entries are right: the median of ratios is the weight, whatever the others are."""
    H = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    W = least_absolute(H, np.array([[2.0, 4.0, 6.0, 8.0, 70.0, 0.0], [0.0] * 6]))
    np.testing.assert_allclose(W, [[2.0, 0.0], [0.0, 0.0]], atol=1e-8)


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_scales_and_sources(scale: float) -> None:
    H, X = data(7, 15, 3, 5)
    W = least_absolute(H, X)
    np.testing.assert_allclose(least_absolute(H / 7.0, X * scale) / scale, 7.0 * W, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(least_absolute(H, sp.csr_array(X)), W, rtol=1e-12)
    assert least_absolute(H, X.astype(np.float32)).dtype == np.float32


def test_components_of_any_sign() -> None:
    rng = np.random.default_rng(3)
    H, X = rng.standard_normal((3, 25)), rng.standard_normal((5, 25))
    best = misfit(X, np.array([highs(H, x) for x in X]), H)
    assert misfit(X, least_absolute(H, X), H) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "non-negative"])
@pytest.mark.parametrize(("k", "d"), [(4, 2), (6, 1), (8, 5)])
def test_dependent_components_and_what_the_gap_says(k: int, d: int, signed: bool) -> None:
    """More components than features, and one twice: many weights are best, and a gap is never below the excess."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        H, X = rng.standard_normal((k, d)), rng.standard_normal((3, d))
        H = np.vstack([H, H[:1]]) if signed else np.abs(np.vstack([H, H[:1]]))
        W, certificate = least_absolute(H, X, return_certificate=True)
        best = misfit(X, np.array([highs(H, x) for x in X]), H)
        excess = (misfit(X, W, H) - best) / np.abs(X).sum(axis=1)
        assert excess.max() <= 1e-8
        assert (excess - 1e-8 <= certificate.gap).all()
        assert certificate.largest <= 1e-8


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="features"):
        least_absolute(np.eye(2), np.ones((3, 4)))
    with pytest.raises(InputError, match="NaN"):
        least_absolute(np.eye(2), np.array([[1.0, np.nan]]))
