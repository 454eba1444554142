"""The coupled potential and its recurrences, against the formulas of the paper written out."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.linalg import left_inverse
from partwise.metrics import ProofMeasures, induction, initialization, lemma_constants, update_parts
from partwise.metrics.conditions.induction import BETA, Induction

K, M = 5, 14
RNG = np.random.default_rng(0)
TRUTH = RNG.dirichlet(np.ones(M), K)


def parts(seed: int, size: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    E = size * rng.uniform(-1, 1, (K, K)) * (1 - np.eye(K))
    return E, (np.diag(rng.uniform(0.9, 1.1, K)) + E).T @ TRUTH


def symmetrised(E: np.ndarray) -> float:
    return max(max(sum(abs(e) for e in row) for row in matrix) for matrix in (E, E.T))


def test_potentials_and_recurrences_by_hand() -> None:
    (E, H), (F, G) = parts(0), parts(1, 0.04)
    before, after = (initialization(C, TRUTH, rescale=False, match=False) for C in (H, G))
    eta, beta = 0.3, 2.5
    found = induction(before, after, step=eta, c=0.2, beta=beta)
    a, b, a1, b1 = (symmetrised(np.maximum(sign * part, 0)) for part in (E, F) for sign in (1, -1))
    assert (found.potential, found.next_potential) == pytest.approx((a + beta * b, a1 + beta * b1))
    # at its least h each recurrence is an equality
    assert a1 == pytest.approx((1 - 3 / 25 * eta) * a + 7 * eta * b + eta * found.h_a)
    assert b1 == pytest.approx((1 - 24 / 25 * eta) * b + eta / 100 * a + eta * found.h_b)
    assert a1 + beta * b1 == pytest.approx((1 - eta / 25) * (a + beta * b) + eta * found.h_potential)
    assert found.h == max(found.h_a, found.h_b, found.h_potential)
    lines = {line.condition: line for line in found.conditions}
    assert lines["(1) Sigma"].holds == (after.sigma.min() >= 0.9)
    assert lines["(2) |E|_s"].found == pytest.approx(symmetrised(F))
    assert lines["(3) |N|_s"].asked == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("beta", "implied"), [(1.0, False), (7.5, False), (175 / 23, True), (BETA, True), (8.0, True), (8.1, False)]
)
def test_which_beta_couples(beta: float, implied: bool) -> None:
    """If a and b follow their recurrences with equality and h = 0, the potential falls as the second claim says."""
    eta = 0.2
    worst = -np.inf
    for a, b in ((1.0, 0.0), (0.0, 1.0)):  # linear in (a, b), so the two corners decide
        a1, b1 = (1 - 3 / 25 * eta) * a + 7 * eta * b, (1 - 24 / 25 * eta) * b + eta / 100 * a
        worst = max(worst, Induction(a, b, a1, b1, 1.0, 0.0, 0.0, eta, 0.1, 1.0, beta).h_potential)
    assert (worst <= 1e-12) == implied


def test_measures_are_those_of_the_functions() -> None:
    rng = np.random.default_rng(3)
    W = (rng.random((300, K)) < 0.3) * 1.0
    X = W @ TRUTH
    order = rng.permutation(K)
    H = parts(2)[1]
    x = np.maximum(X @ np.asarray(left_inverse(H)) - 0.3, 0.0)
    update = 2 * (x - x.mean(axis=0)).T @ X / len(X)
    r, eta = 3.0, 0.4
    found = ProofMeasures(TRUTH)(H[order], update[order], scale=r, step=eta, threshold=0.3)
    now, after = (initialization(C, TRUTH, rescale=False, match=False) for C in (H, (1 - eta) * H + r * eta * update))
    tilde = update_parts(X, x, TRUTH)
    steps, lemmas = induction(now, after, step=eta), lemma_constants(now, tilde, threshold=0.3, noise=1.0)
    expected = {
        "potential": steps.potential,
        "h": steps.h,
        "sigma_update": tilde.sigma.min(),
        "E_update": tilde.E_1,
        "N_update": tilde.N_1,
        "lemma_3": max(lemmas.negative, lemmas.lower, lemmas.upper),
        "lemma_4": lemmas.diagonal,
        "lemma_5": lemmas.outside,
    }
    assert tuple(found) == ProofMeasures.names
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("H", [np.full((K, M), np.nan), np.ones((K - 1, M))], ids=["not finite", "too few"])
def test_what_cannot_be_measured_is_nan(H: np.ndarray) -> None:
    found = ProofMeasures(TRUTH)(H, H, scale=1.0, step=0.5, threshold=0.3)
    assert np.isnan(list(found.values())).all()
    dependent = ProofMeasures(np.ones((2, 3)))(np.ones((2, 3)), np.ones((2, 3)), scale=1.0, step=0.5, threshold=0.3)
    assert np.isnan(list(dependent.values())).all()
