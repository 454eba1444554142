"""One iteration of Purification in the terms of its proof, against literal loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.exceptions import InputError
from partwise.linalg import left_inverse
from partwise.metrics import decoding_parts, induction, initialization, lemma_constants, update_parts

K, M, S, ALPHA = 4, 12, 60, 0.25
RNG = np.random.default_rng(0)
TRUTH = RNG.dirichlet(np.ones(M), K)
W = (RNG.random((S, K)) < 0.4) * RNG.random((S, K))
NOISE = RNG.uniform(-0.01, 0.01, (S, M))
X = W @ TRUTH + NOISE
E = RNG.uniform(-0.1, 0.1, (K, K)) * (1 - np.eye(K))
SIGMA = RNG.uniform(0.9, 1.1, K)
H = (np.diag(SIGMA) + E).T @ TRUTH + 0.001 * RNG.standard_normal((K, M))
FOUND = initialization(H, TRUTH, rescale=False, match=False)


def decoded(P: np.ndarray) -> np.ndarray:
    return np.maximum(X @ P - ALPHA, 0.0)


def test_update_is_that_of_all_pairs() -> None:
    x = decoded(np.asarray(left_inverse(H)))
    # equation 3 in the paper's orientation, every pair of samples
    pairs = np.mean([np.outer(X[i] - X[j], x[i] - x[j]) for i in range(S) for j in range(S)], axis=0)
    found = update_parts(X, x, TRUTH)
    np.testing.assert_allclose(TRUTH.T @ (np.diag(found.sigma) + found.E) + found.N.T, pairs, atol=1e-14)
    np.testing.assert_allclose(found.N @ TRUTH.T, 0.0, atol=1e-15)
    np.testing.assert_array_equal(found.E.diagonal(), 0.0)
    np.testing.assert_allclose(update_parts(sp.csr_array(X), x, TRUTH).E, found.E, atol=1e-13)
    with pytest.raises(InputError, match="W has shape"):
        update_parts(X[1:], x, TRUTH)


@pytest.mark.parametrize("norm", ["inf", "2"])
def test_equation_7(norm: str) -> None:
    P = np.asarray(left_inverse(H, norm=norm))
    Z, xi = decoding_parts(P, FOUND, W, NOISE)
    np.testing.assert_allclose(np.maximum(W @ Z.T + xi - ALPHA, 0.0), decoded(P), atol=1e-13)
    for row in range(3):  # sample by sample: xi = -A+ N Z x* + A+ nu
        by_hand = -P.T @ FOUND.N.T @ Z @ W[row] + P.T @ NOISE[row]
        np.testing.assert_allclose(xi[row], by_hand, atol=1e-14)
    without, xi = decoding_parts(P, FOUND, W)
    np.testing.assert_array_equal(without, Z)
    np.testing.assert_allclose(np.maximum(W @ Z.T + xi, 0.0), np.maximum(W @ TRUTH @ P, 0.0), atol=1e-13)


@pytest.mark.parametrize("c", [0.0, 0.5])
def test_lemmas_are_those_of_a_literal_loop(c: float) -> None:
    update = update_parts(X, decoded(np.asarray(left_inverse(H))), TRUTH)
    Z = np.linalg.inv(np.diag(FOUND.sigma) + FOUND.E)
    negative, lower, upper, noisy = [0.0], [0.0], [0.0], [0.0]
    for i in range(K):
        for j in set(range(K)) - {i}:
            cross, z = update.E[j, i], abs(Z[i, j])
            if Z[i, j] < 0:
                negative.append(abs(cross) / ((z + c) / K**2))
            else:
                lower.append(-cross / (c / K**2 + c / K * z + z / K**2))
                upper.append(cross / (z / K))
                noisy.append(cross / (z / K + c / K**2))
    found = lemma_constants(FOUND, update, threshold=ALPHA, c=c, noise=0.01)
    assert [found.negative, found.lower, found.upper] == pytest.approx([max(negative), max(lower), max(upper)])
    assert found.noisy_upper == pytest.approx(max(noisy))
    assert found.diagonal == pytest.approx(min(K * update.sigma / (1 / FOUND.sigma - ALPHA)))
    assert found.outside == pytest.approx(np.abs(update.N).max() * K / 0.01)
    assert np.isnan(lemma_constants(FOUND, update, threshold=ALPHA).outside)


def test_lemma_4_is_exact_where_decoding_is() -> None:
    """Binary weights, the truth: Sigma~ = 2 p (1 - p) (1 - alpha), by an enumeration of all samples."""
    n, p = 5, 0.5
    states = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)  # equally likely
    truth = np.random.default_rng(1).dirichlet(np.ones(9), n)
    here = initialization(truth, truth, rescale=False, match=False)
    update = update_parts(states @ truth, np.maximum(states - ALPHA, 0.0), truth)
    found = lemma_constants(here, update, threshold=ALPHA, c=0.0)
    assert found.diagonal == pytest.approx(n * 2 * p * (1 - p))
    assert max(np.abs(update.E).max(), np.abs(update.N).max()) < 1e-15


def test_refused() -> None:
    found = initialization(np.eye(2, 3), np.eye(2, 3), rescale=False, match=False)
    nothing = initialization(np.zeros((2, 3)), np.eye(2, 3), rescale=False, match=False)
    P, W = np.eye(3, 2), np.ones((4, 2))
    for wrong, parameter in (
        (lambda: decoding_parts(P.T, found, W), "P"),
        (lambda: decoding_parts(P, found, np.ones((4, 3))), "W"),
        (lambda: decoding_parts(P, found, W, np.ones((3, 3))), "noise"),
        (lambda: decoding_parts(P, nothing, W), "H"),
        (lambda: lemma_constants(nothing, found, threshold=0.1), "H"),
        (lambda: update_parts(np.full((4, 3), np.nan), W, np.eye(2, 3)), "X"),
        (lambda: update_parts(np.ones((4, 3)), W, np.eye(2)), "truth"),
        (lambda: update_parts(np.ones((4, 3)), W[:3], np.eye(2, 3)), "W"),
        (lambda: update_parts(np.ones((4, 3)), np.ones((4, 3)), np.eye(2, 3)), "W"),
        (lambda: induction(found, found, step=0.0), "step"),
    ):
        with pytest.raises(InputError) as caught:
            wrong()
        assert caught.value.parameter == parameter
