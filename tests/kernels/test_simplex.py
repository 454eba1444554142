"""The simplex kernels against enumeration, scipy and the optimality conditions."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from partwise.kernels.simplex import least_squares, likelihood


def statistics(k: int, m: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A Gram matrix of unit diagonal that has the outer product of ``a`` in it, right-hand sides and ``a``."""
    rng = np.random.default_rng(seed)
    H, a = rng.standard_normal((k, m)), rng.random(k) + 0.5
    G = H @ H.T + np.outer(a, a)
    scale = np.sqrt(np.diag(G))
    B = rng.standard_normal((n, m)) @ H.T + a
    return G / np.outer(scale, scale), B / scale, a / scale


def by_enumeration(G: np.ndarray, b: np.ndarray, a: np.ndarray) -> float:
    """The least objective: the solution on some support, by its linear system."""
    k = len(b)
    best = np.inf
    for support in chain.from_iterable(combinations(range(k), size) for size in range(1, k + 1)):
        P = list(support)
        system = np.block([[G[np.ix_(P, P)], -a[P][:, None]], [a[P][None], np.zeros((1, 1))]])
        w = np.linalg.lstsq(system, np.append(b[P], 1.0))[0][:-1]
        if (w >= -1e-12).all() and abs(a[P] @ w - 1.0) < 1e-9:
            best = min(best, 0.5 * w @ G[np.ix_(P, P)] @ w - b[P] @ w)
    return best


@pytest.mark.parametrize("start", ["zero", "random"])
@pytest.mark.parametrize(("k", "m"), [(1, 1), (2, 5), (5, 3), (6, 9)])
def test_least_squares_is_the_best_of_all_supports(k: int, m: int, start: str) -> None:
    G, B, a = statistics(k, m, 12, seed=k)
    W = np.random.default_rng(0).random(B.shape) if start == "random" else np.zeros_like(B)
    gaps = least_squares(G, B, a, W)
    assert (W >= 0.0).all()
    np.testing.assert_allclose(W @ a, 1.0, rtol=1e-14)
    assert gaps.max() < 1e-13
    objective = 0.5 * np.vecdot(W @ G, W) - np.vecdot(W, B)
    np.testing.assert_allclose(objective, [by_enumeration(G, b, a) for b in B], atol=1e-12)


def test_least_squares_with_repeated_components() -> None:
    G, B, a = statistics(4, 6, 30, seed=1)
    twice = np.tile(np.arange(4), 2)
    W = np.zeros((30, 8))
    gaps = least_squares(G[np.ix_(twice, twice)], np.ascontiguousarray(B[:, twice]), a[twice], W)
    once = np.zeros((30, 4))
    least_squares(G, B, a, once)
    assert gaps.max() < 1e-13
    np.testing.assert_allclose(W[:, :4] + W[:, 4:], once, atol=1e-12)


def topics(k: int, m: int, n: int, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    H = rng.dirichlet(np.full(m, 0.3), size=k)
    P = rng.dirichlet(np.full(k, 0.3), size=n) @ H
    X = sp.csr_array(rng.multinomial(40, P / P.sum(axis=1, keepdims=True)) / 40.0)
    return X, np.ascontiguousarray(H.T)


def solved(X: sp.csr_array, Ht: np.ndarray, tol: float = 1e-12) -> tuple[np.ndarray, np.ndarray]:
    W = np.empty((X.shape[0], Ht.shape[1]))
    gaps = likelihood(X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data, Ht, W, tol)
    return W, gaps


def loss(X: np.ndarray, W: np.ndarray, Ht: np.ndarray) -> np.ndarray:
    Y = W @ Ht.T
    return -(X * np.log(np.where(X > 0, Y, 1.0))).sum(axis=1)


@pytest.mark.parametrize(("k", "m"), [(1, 4), (3, 8), (12, 30), (30, 10)])
def test_likelihood_meets_the_conditions(k: int, m: int) -> None:
    X, Ht = topics(k, m, 40)
    W, gaps = solved(X, Ht)
    dense = X.toarray()
    r = (dense / np.where(dense > 0, W @ Ht.T, 1.0)) @ Ht
    np.testing.assert_allclose(W.sum(axis=1), 1.0, rtol=1e-13)
    assert (W >= 0).all()
    assert r.max() <= 1.0 + 2e-12
    np.testing.assert_allclose(r[W > 1e-9], 1.0, atol=1e-7)
    np.testing.assert_allclose(gaps, r.max(axis=1) - 1.0, atol=1e-13)


def test_likelihood_is_no_worse_than_slsqp() -> None:
    X, Ht = topics(4, 9, 12, seed=3)
    W, _ = solved(X, Ht)
    dense = X.toarray()
    for x, ours in zip(dense, loss(dense, W, Ht), strict=True):
        found = minimize(
            lambda w, x=x: loss(x[None], np.maximum(w, 1e-12)[None], Ht)[0],
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
            options={"ftol": 1e-12},
        )
        assert ours <= found.fun + 1e-7
        assert ours >= found.fun - 1e-5


def test_likelihood_of_a_word_that_one_topic_has() -> None:
    """Pruning must not take the last component that has a feature, however small its share."""
    Ht = np.array([[1.0, 0.999, 0.0], [0.0, 0.0, 1e-6], [0.0, 0.001, 1.0 - 1e-6]])
    X = sp.csr_array(np.array([[1.0 - 1e-9, 1e-9, 0.0], [0.0, 1.0, 0.0]]))
    W, gaps = solved(X, Ht)
    assert np.isfinite(W).all()
    assert gaps.max() < 1e-9
    assert W[0, 2] == pytest.approx(1e-9, rel=0.1)
    np.testing.assert_allclose(W[1], [0, 0, 1])


def test_an_empty_row_has_equal_weights() -> None:
    W, gaps = solved(sp.csr_array((2, 5)), np.ones((5, 4)))
    np.testing.assert_array_equal(W, 0.25)
    np.testing.assert_array_equal(gaps, 0.0)
