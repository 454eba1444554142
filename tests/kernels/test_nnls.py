"""The exact solver's kernels against scipy and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from partwise.kernels.nnls import enlarge_supports, finish, finish_each, solve_supports, verdict


def problem(n: int, k: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    H, X = rng.random((k, 2 * k + 1)), rng.standard_normal((n, 2 * k + 1)) + 0.3
    H /= np.linalg.norm(H, axis=1)[:, None]
    G = H @ H.T
    np.fill_diagonal(G, 1.0)
    return G, X @ H.T, H, X


def kkt(G: np.ndarray, B: np.ndarray, W: np.ndarray) -> np.ndarray:
    g = W @ G - B
    return np.where(W > 0, np.abs(g), -g).max(axis=1, initial=0.0)


def finished(G: np.ndarray, B: np.ndarray, W: np.ndarray) -> np.ndarray:
    W = W.copy()
    finish(G, B, W, W @ G - B, np.arange(len(B)))
    return W


# --- solve_supports -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 50])
@pytest.mark.parametrize("k", [1, 2, 4, 5, 9, 14, 130])
def test_solve_supports_solves_on_each_support(n: int, k: int) -> None:
    G, _, _, _ = problem(1, k)
    rng = np.random.default_rng(n)
    exact = rng.random((n, k)) * (rng.random((n, k)) < 0.6)
    B = exact @ G  # with this right-hand side the solution on the support is `exact`, positive
    W = (exact > 0).astype(float)
    solve_supports(G, B, W)
    np.testing.assert_allclose(W, exact, rtol=1e-9, atol=1e-12)


def test_solve_supports_gives_the_same_bits_beside_other_rows() -> None:
    G, B, _, _ = problem(70, 21)
    W = np.maximum(np.random.default_rng(1).standard_normal((70, 21)), 0.0)
    together = W.copy()
    solve_supports(G, B, together)
    for i in range(70):
        alone = W[i : i + 1].copy()
        solve_supports(G, B[i : i + 1], alone)
        np.testing.assert_array_equal(together[i], alone[0])


def test_solve_supports_sets_what_comes_out_negative_to_zero() -> None:
    G = np.array([[1.0, 0.9], [0.9, 1.0]])
    W = np.array([[1.0, 1.0], [0.0, 2.0], [0.0, 0.0]])
    B = np.array([[1.0, 0.1], [0.3, 0.4], [5.0, 5.0]])
    solve_supports(G, B, W)
    first = np.linalg.solve(G, B[0])
    assert first[1] < 0
    np.testing.assert_allclose(W, [[first[0], 0.0], [0.0, 0.4], [0.0, 0.0]])


def test_enlarge_supports_takes_in_what_has_a_negative_gradient() -> None:
    W = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    g = np.array([[-0.5, -1.0, 0.3], [-1e-17, 0.0, 1.0]])
    enlarge_supports(np.ones((2, 3)), W, g)
    np.testing.assert_array_equal(W, [[0.5, 2.0, 0.0], [0.0, 0.0, 0.0]])


def test_solve_supports_leaves_dependent_supports_alone() -> None:
    G = np.ones((3, 3))
    W = np.array([[0.2, 0.3, 0.0], [0.0, 0.0, 0.7]])
    solve_supports(G, np.ones((2, 3)), W)
    np.testing.assert_allclose(W, [[0.2, 0.3, 0.0], [0.0, 0.0, 1.0]])


# --- verdict ------------------------------------------------------------------------------------------------


def test_verdict_measures_and_names_the_rows_that_are_not_optimal() -> None:
    G, B, H, X = problem(40, 6)
    W = np.array([nnls(H.T, x)[0] for x in X])
    W[7] += 0.1
    W[31] = 0.0
    residual = np.full(40, np.nan)
    rows = verdict(B, W, W @ G - B, residual)
    np.testing.assert_allclose(residual, np.maximum(kkt(G, B, W), 0.0), atol=1e-15)
    assert {7, 31} <= set(rows.tolist())
    assert np.delete(residual, [7, 31]).max() < 1e-14


def test_verdict_of_nothing_and_of_zero() -> None:
    assert len(verdict(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), np.empty(0))) == 0
    residual = np.empty(2)
    assert len(verdict(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)), residual)) == 0
    np.testing.assert_array_equal(residual, 0.0)


def test_verdict_does_not_let_nan_pass() -> None:
    bad = np.array([[np.nan, 1.0], [1.0, 1.0]])
    assert verdict(bad, bad, bad - bad, np.empty(2)).tolist() == [0]


# --- finish -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 5, 17])
@pytest.mark.parametrize("start", ["zero", "all", "wrong"])
def test_finish_solves_from_any_feasible_start(k: int, start: str) -> None:
    G, B, H, X = problem(30, k, seed=k)
    rng = np.random.default_rng(1)
    W0 = {"zero": np.zeros_like(B), "all": np.ones_like(B), "wrong": rng.random(B.shape).round()}[start]
    W = finished(G, B, W0)
    np.testing.assert_allclose(W, [nnls(H.T, x)[0] for x in X], atol=1e-10)
    assert kkt(G, B, W).max(initial=0.0) < 1e-13
    assert (W >= 0).all()


def test_finish_touches_only_the_rows_given() -> None:
    G, B, _, _ = problem(6, 4)
    W = np.full_like(B, 0.5)
    finish(G, B, W, W @ G - B, np.array([1, 4]))
    np.testing.assert_array_equal(W[[0, 2, 3, 5]], 0.5)
    assert kkt(G, B[[1, 4]], W[[1, 4]]).max() < 1e-13


@pytest.mark.parametrize("start", [0.0, 1.0])
def test_finish_with_duplicated_components(start: float) -> None:
    G, B, H, X = problem(20, 4)
    twice = [0, 1, 2, 3, 2, 0, 0]
    W = finished(G[np.ix_(twice, twice)], B[:, twice], np.full((20, 7), start))
    assert kkt(G[np.ix_(twice, twice)], B[:, twice], W).max() < 1e-13
    together = np.zeros((20, 4))
    np.add.at(together.T, twice, W.T)
    np.testing.assert_allclose(together, [nnls(H.T, x)[0] for x in X], atol=1e-10)


def test_finish_never_uses_null_components() -> None:
    G, B, _, _ = problem(5, 3)
    G[1], G[:, 1], B[:, 1] = 0.0, 0.0, 0.0
    W = finished(G, B, np.zeros_like(B))
    np.testing.assert_array_equal(W[:, 1], 0.0)
    assert kkt(G, B, W).max() < 1e-13


def test_finish_of_right_hand_sides_that_ask_for_nothing() -> None:
    G, B, _, _ = problem(5, 3)
    # every gradient is positive at zero, so each weight ends at its bound
    np.testing.assert_array_equal(finished(G, -np.abs(B), np.ones_like(B)), 0.0)
    # every gradient is zero at zero, so what is left is the error of one solve from w = 1: w + d with G d = -G w. By
    # Cholesky d is exact for a matrix off by |dG| <= k (3 k + 1) u |G| (Higham 2002, theorem 10.4), and the gradient
    # given is off by k u |G| |w|; both reach the weights times |G^-1|, and w + d rounds once more
    k, u = len(G), 2.0**-53
    bound = (k * (3 * k + 2) * np.linalg.cond(G) + 1) * u * np.sqrt(k)
    W = finished(G, np.zeros_like(B), np.ones_like(B))
    assert (W >= 0.0).all()
    assert np.linalg.norm(W, axis=1).max() <= bound < 1e-12


def test_finish_corrects_from_the_gradient_it_is_given() -> None:
    """With the gradient of the true residual the error of a rounded Gram matrix goes away by iteration."""
    rng = np.random.default_rng(4)
    H = rng.random((4, 30))
    H[3] = H[2] + 1e-5 * rng.standard_normal(30)
    H /= np.linalg.norm(H, axis=1)[:, None]
    X = np.array([[0.5, 0.0, 1.0, 0.7]]) @ H
    G = H @ H.T
    np.fill_diagonal(G, 1.0)
    W = np.zeros((1, 4))
    for _ in range(4):
        g = -(X - W @ H) @ H.T
        finish(G, X @ H.T, W, g, np.array([0]))
    np.testing.assert_allclose(W, [[0.5, 0.0, 1.0, 0.7]], atol=1e-9)


def test_finish_with_a_gram_matrix_for_each_row() -> None:
    problems = [problem(1, 5, seed) for seed in range(6)]
    G, B = np.stack([one[0] for one in problems]), np.concatenate([one[1] for one in problems])
    W = np.zeros_like(B)
    finish_each(G, B, W, -B)
    np.testing.assert_allclose(W, [finished(g, b[None], np.zeros((1, 5)))[0] for g, b in zip(G, B, strict=True)])
