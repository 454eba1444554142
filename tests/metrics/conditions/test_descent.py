"""AND's rule, lemmas and Theorem 5 against literal references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.datasets import make_correlated_mixtures
from partwise.exceptions import InputError
from partwise.metrics import (
    decoding_errors,
    decoding_threshold,
    initialization,
    noise_error_bound,
    spectral_error,
    update_bound,
)

K, M, N = 5, 12, 300
INF = float("inf")


def built(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights, truth, ``Sigma0 + E0`` and the components they make."""
    rng = np.random.default_rng(seed)
    W = make_correlated_mixtures(n_samples=N, n_features=M, n_components=K, random_state=seed).weights
    truth, M0 = rng.random((K, M)), np.eye(K) + rng.uniform(-0.05, 0.05, (K, K))
    return W, truth, M0, M0.T @ truth


@pytest.mark.parametrize("q", [1.0, 2.5, 9.0])
def test_theorem_4_rule(q: float) -> None:
    assert decoding_threshold(0.3, r=3.0, lam=0.7, q=q) == pytest.approx((0.7 * 0.3 / 3.0) ** (2 / (q + 1)), rel=1e-14)
    assert decoding_threshold(0.0, r=3.0, lam=0.7, q=q) == 0.0


def test_theorem_1_threshold_for_binary_weights() -> None:
    assert decoding_threshold(1e-9, r=3.0, lam=0.7, q=INF) == 0.25


def test_theorem_5_bound() -> None:
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.normal(size=(n, K)))[0] for n in (K, M))
    truth = U @ np.diag([5.0, 4.0, 3.0, 2.0, 0.5]) @ V.T
    assert noise_error_bound(truth, gamma=0.01, r=3.0, lam=0.5) == pytest.approx(3 * 10 * 0.01 / 0.5, rel=1e-12)
    assert noise_error_bound(np.ones((2, 3)) * [[1], [2]], gamma=0.01, r=3.0, lam=0.0) == INF


@pytest.mark.parametrize("truth", [[[1, 0], [0, 1], [1, 1]], [[1, 0, 3], [2, 0, 6]]], ids=["many", "dependent"])
def test_dependent_truth_has_no_bound(truth: Any) -> None:
    assert noise_error_bound(truth, gamma=0.1, r=1.0, lam=1.0) == np.inf


@pytest.mark.parametrize("seed", range(3))
def test_spectral_error(seed: int) -> None:
    _, truth, M0, H = built(seed)
    literal = np.linalg.norm(H - np.diag(M0.diagonal()) @ truth, 2)
    assert spectral_error(H[::-1], truth) == pytest.approx(literal, rel=1e-10)
    assert spectral_error(0.0 * H, truth) == pytest.approx(0.5 * np.linalg.norm(truth, 2))  # Sigma is at least 1/2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [-INF, 0.1, 0.25])
def test_lemma_2_sample_by_sample(seed: int, alpha: float) -> None:
    W, truth, M0, H = built(seed)
    inverse = np.linalg.inv(M0)
    Sigma = np.diag(inverse.diagonal())
    first = second = np.zeros((K, K))
    for x in W:
        z = np.array([v if v >= alpha else 0.0 for v in inverse @ x])
        first = first + (np.outer(Sigma @ x, x) - np.outer(z, x)) / N
        second = second + (np.outer(Sigma @ x, z) - np.outer(z, z)) / N
    found = decoding_errors(W, H, truth, alpha=alpha)
    norms = [np.linalg.norm(first, 2), np.linalg.norm(second, 2)]
    np.testing.assert_allclose([found.first, found.second], norms, rtol=1e-9, atol=1e-14)
    if alpha == -INF:
        np.testing.assert_allclose([found.first_linear, found.second_linear], norms, rtol=1e-9)
    else:  # the weights are 0 or 1 and the start is near: a threshold takes most of the error away
        assert found.first < 0.5 * found.first_linear


@pytest.mark.parametrize("seed", range(3))
def test_lemma_3_holds_on_the_update_of_the_proof(seed: int) -> None:
    """Iterate M + eta (E[x z'] - M E[z z']) and compare with the bound from R_t, Q = Sigma^-1 and Lambda."""
    W, truth, M0, H = built(seed)
    found = decoding_errors(W, H, truth, alpha=0.25)
    Q, eta = np.diag(1 / found.sigma), 1 / np.linalg.eigvalsh(found.curvature)[-1]
    way = [M0]
    for _ in range(60):
        step = way[-1] + eta * (found.zx.T - way[-1] @ found.zz)
        split = way[-1] @ (np.eye(K) - eta * found.curvature) + eta * Q @ found.curvature
        np.testing.assert_allclose(step, split + eta * found.remainder(way[-1]), atol=1e-13)
        way.append(step)
    error = max(np.linalg.norm(found.remainder(M), 2) for M in way)
    start = float(np.linalg.norm(M0 - Q, 2))
    for t, M in enumerate(way):
        bound = update_bound(start, found.curvature, eta=eta, steps=t, error=error)
        assert np.linalg.norm(M - Q, 2) <= bound * (1 + 1e-12)


def test_lemma_3_is_tight_without_an_error() -> None:
    """Along the eigenvector of the least eigenvalue the bound is met exactly."""
    rng = np.random.default_rng(1)
    V, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    curvature = V @ np.diag([0.1, 0.4, 0.7, 1.0]) @ V.T
    difference = np.outer(rng.normal(size=4), V[:, 0])
    distance = float(np.linalg.norm(difference, 2))
    for t in range(20):
        assert update_bound(distance, curvature, eta=0.9, steps=t) == pytest.approx(np.linalg.norm(difference, 2))
        difference = difference @ (np.eye(4) - 0.9 * curvature)


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        (lambda: decoding_threshold(-1.0, r=1.0, lam=1.0, q=1.0), "E_2"),
        (lambda: decoding_threshold(1.0, r=0.0, lam=1.0, q=1.0), "r"),
        (lambda: decoding_threshold(1.0, r=1.0, lam=1.0, q=float("nan")), "q"),
        (lambda: decoding_threshold("small", r=1.0, lam=1.0, q=1.0), "E_2"),
        (lambda: decoding_threshold(1.0, r=1.0, lam=None, q=1.0), "lam"),
        (lambda: noise_error_bound(np.eye(2), gamma=1.0, r="large", lam=1.0), "r"),
        (lambda: update_bound(1.0, np.eye(2), eta=1.5, steps=1), "eta"),
        (lambda: update_bound(1.0, np.eye(2), eta=0.5, steps=-1), "steps"),
        (lambda: update_bound(1.0, np.ones((2, 3)), eta=0.5, steps=1), "curvature"),
        (lambda: update_bound(1.0, [[1.0, 0.5], [0.0, 1.0]], eta=0.5, steps=1), "curvature"),
        (lambda: update_bound(1.0, np.diag([-1.0, 1.0]), eta=0.5, steps=1), "curvature"),
        (lambda: noise_error_bound(np.eye(2), gamma=-1.0, r=1.0, lam=1.0), "gamma"),
        (lambda: decoding_errors(np.eye(3), np.eye(2), np.eye(2), alpha=0.1), "W"),
        (lambda: decoding_errors(np.eye(2), np.zeros((2, 2)), np.eye(2), alpha=0.1), "H"),
        (lambda: decoding_errors(np.eye(2), np.eye(2), np.eye(2), alpha=float("nan")), "alpha"),
    ],
)
def test_refused(wrong: Any, parameter: str) -> None:
    with pytest.raises(InputError) as caught:
        wrong()
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("rho", [0.2, 0.4])
def test_definition_4(rho: float) -> None:
    """N of spectral norm 0.3, orthogonal to the truth."""
    H = np.hstack([np.eye(3) + 0.1 * np.eye(3)[::-1] * [[1], [0], [1]], 0.3 * np.eye(3)])
    found = initialization(H, np.eye(3, 6), level=0.1, rho=rho)
    np.testing.assert_allclose([found.E_2, found.N_2], [0.1, 0.3], rtol=1e-12)
    assert found.satisfies_and == (rho > 0.3)
    assert {line.condition: line.holds for line in found.conditions}["AND rho"] == (rho > 0.3)
    assert initialization(H, np.eye(3, 6), level=0.1).satisfies_and
    assert not initialization(H, np.eye(3, 6), level=0.05, rho=1.0).satisfies_and
