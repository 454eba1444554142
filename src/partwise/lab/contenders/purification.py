"""Purification as published, with one thing changed at a time, and ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise import linalg, metrics
from partwise.lab.contenders.base import Runner, fitted
from partwise.lab.experiment import Contender, Found, Problem
from partwise.metrics.conditions.induction import BETA, Induction

ALPHA = 0.3
ETA, ITERATIONS = 0.05, 150  # (1 - eta)^150 = 5e-4 of the start
# Algorithm 1 to the letter: A(0) as it is, T iterations of one step, and no rule of ours that ends them
PUBLISHED: dict[str, Any] = {"start": True, "rescale": False, "inverse": "least-inf", "finish": None}
PUBLISHED |= {"tol": 0.0, "max_iter": ITERATIONS}
ACTIVE = 1.0  # parts of a sample where all subsets are gone through, each weighted by how likely it is
PROOF_ETA = 0.1 / 6.0  # "choose eta = l/6"
PROOF_ITERATIONS = 400  # at a fall of 0.75 eta a step the potential ends below a hundredth of what it was


def scale_of(W: np.ndarray, alpha: float = ALPHA, probabilities: np.ndarray | None = None) -> float:
    """The r for which the rarest component is a fixed point, so that Sigma >= I: ``1 / (2 min Cov(phi(x_i), x_i))``."""
    p = np.full(len(W), 1.0 / len(W)) if probabilities is None else probabilities
    decoded, about = np.maximum(W - alpha, 0.0), W - p @ W
    return float(1.0 / (2.0 * np.min(p @ (decoded * about))))


def algorithm_1(**settings: Any) -> Runner:
    """Algorithm 1 with a short step and the r that "there exist", which is that of the true weights."""

    def run(problem: Problem, seed: int, budget: float | None) -> Found:
        assert problem.weights is not None
        chosen = {"threshold": ALPHA, "step": ETA, "scale": scale_of(problem.weights)}
        return fitted("Purification", **(PUBLISHED | chosen | settings))(problem, seed, budget)

    return run


def infinite(problem: Problem, seed: int, budget: float | None) -> Found:
    """Algorithm 1 with expectations over all subsets of the parts, and every line of its proof measured on the way."""
    W, truth, A = problem.weights, problem.truth, problem.start
    assert W is not None
    assert truth is not None
    assert A is not None
    p = np.where(W > 0.0, ACTIVE / problem.k, 1.0 - ACTIVE / problem.k).prod(axis=1)
    noise = float(np.abs(problem.X - problem.signal).max())
    c = noise / metrics.noise_tolerance(truth).theorem_1
    r, centred = scale_of(W, probabilities=p), problem.X - p @ problem.X
    steps: list[Induction] = []
    lemmas: list[metrics.LemmaConstants] = []
    before = metrics.initialization(A, truth, rescale=False, match=False)
    curve: list[dict[str, float]] = []
    for t in range(PROOF_ITERATIONS):
        potential = before.E_plus + BETA * before.E_minus
        curve.append({"n_iter": t, "error": before.E_1, "potential": potential})
        decoded = np.maximum(problem.X @ np.asarray(linalg.left_inverse(A)) - ALPHA, 0.0)
        update = 2.0 * (decoded * p[:, None]).T @ centred
        parts = metrics.initialization(update, truth, rescale=False, match=False)
        A = (1.0 - PROOF_ETA) * A + r * PROOF_ETA * update
        after = metrics.initialization(A, truth, rescale=False, match=False)
        steps.append(metrics.induction(before, after, step=PROOF_ETA, c=c))
        lemmas.append(metrics.lemma_constants(before, parts, threshold=ALPHA, c=c, noise=noise))
        before = after
    falls = [(one.potential - one.next_potential) / (PROOF_ETA * one.potential) for one in steps]
    facts = {
        "iterations": len(steps),
        "fall": min(falls),
        "h": max(one.h for one in steps),
        "largest_E": max(one.E_s for one in steps),
        "largest_N": max(one.N_s for one in steps),
        "least_sigma": min(one.sigma_min for one in steps),
        "lemma_3_negative": max(one.negative for one in lemmas),
        "lemma_3_lower": max(one.lower for one in lemmas),
        "lemma_3_upper": max(one.upper for one in lemmas),
        "lemma_3_noisy": max(one.noisy_upper for one in lemmas),
        "lemma_4": min(one.diagonal for one in lemmas),
        "lemma_5": max(one.outside for one in lemmas),
    }
    return Found(A, curve=curve, facts=facts)


CONTENDERS: tuple[Contender, ...] = (
    Contender(
        "purification", "Purification with our defaults, finished by exact steps", fitted("Purification", start=True)
    ),
    Contender("purification-cold", "Purification from pure records", fitted("Purification")),
    Contender(
        "purification-published",
        f"the paper's Purification: ReLU, inverse of least infinity norm, η = 0.5, {ITERATIONS} iterations, "
        "r of the first decoding",
        fitted("Purification", **PUBLISHED),
        literal=True,
    ),
    Contender(
        "purification-slow",
        "the paper's Purification with the step η = 0.1 in place of 0.5, which shows the rate",
        fitted("Purification", step=0.1, **PUBLISHED),
        literal=True,
    ),
    Contender(
        "purification-pinv",
        "the paper's Purification, but with the Moore-Penrose inverse",
        fitted("Purification", **(PUBLISHED | {"inverse": "pinv"})),
    ),
    Contender(
        "purification-no-relu",
        "the paper's Purification, but without the ReLU",
        fitted("Purification", relu=False, **PUBLISHED),
    ),
    Contender(
        "purification-theorem",
        f"Algorithm 1 as the theorems take it: A(0) as given, new samples in every iteration, α = {ALPHA}, η = {ETA}, "
        f"{ITERATIONS} iterations, r of the true weights",
        algorithm_1(fresh=True),
        literal=True,
    ),
    Contender("purification-theorem-fixed", "the same on one sample, again and again", algorithm_1(), literal=True),
    Contender(
        "purification-theorem-pinv",
        "Algorithm 1 as the theorems take it, but with the Moore-Penrose inverse",
        algorithm_1(fresh=True, inverse="pinv"),
    ),
    Contender(
        "purification-fresh-ours",
        "Purification with our defaults and new samples in every iteration, averaged in the end",
        fitted("Purification", start=True, fresh=True, finish=None),
    ),
    Contender(
        "purification-balanced",
        "Algorithm 1 as the theorems take it, after balancing the second moments by a rule of ours (Section 6 leaves "
        "its own to an appendix that is not published), r of the first decoding",
        algorithm_1(fresh=True, balance=True, scale=None),
    ),
    Contender(
        "purification-infinite",
        "Algorithm 1 with expectations over all subsets of the parts (infinitely many samples), η = l/6",
        infinite,
        literal=True,
    ),
)
