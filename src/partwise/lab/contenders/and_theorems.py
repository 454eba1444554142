"""AND as its theorems have it: thresholds of Theorems 1 and 4, one stage, the other inverse; and on real documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from partwise.lab.contenders.and_ import PUBLISHED
from partwise.lab.contenders.base import Runner, fitted
from partwise.lab.experiment import Contender, Found, Problem

QUARTER = 0.25  # Theorems 1 and 5, where weights are 0 or 1: the threshold of all stages
INVERSE_STAGES = 30  # each with a linear program a component; noise has long decided by then


def frequencies(run: Runner) -> Runner:
    """A method on documents whose counts are divided by their length, as the model's y = A x has them."""

    def scaled(problem: Problem, seed: int, budget: float | None) -> Found:
        lengths = np.asarray(problem.X.sum(axis=1)).ravel()
        X = sp.csr_array(sp.diags_array(1.0 / np.maximum(lengths, 1.0)) @ problem.X)
        return run(replace(problem, X=X), seed, budget)

    return scaled


def and_by_theorem(problem: Problem, seed: int, budget: float | None) -> Found:
    """AND with the thresholds of the rule after Theorem 4, told the truth: |E0|, and r, λ, q of the weights."""
    from partwise.metrics import correlation_conditions, decay_order

    q = decay_order(problem.weights).q_upper
    found = correlation_conditions(problem.weights, scale="components")
    known = {"truth": problem.truth, "r": found.r, "lam": found.lam, "q": q}
    return fitted("AND", **(PUBLISHED | {"thresholds": "theorem", "known": known}))(problem, seed, budget)


def first_threshold(problem: Problem) -> float:
    """The paper's threshold of the first stage: Theorem 1's for binary weights, or that of its experiments."""
    assert problem.weights is not None
    return QUARTER if np.isin(problem.weights, (0.0, 1.0)).all() else 0.1


def and_one_stage(problem: Problem, seed: int, budget: float | None) -> Found:
    """The first stage alone."""
    settings = PUBLISHED | {"max_iter": 1, "thresholds": first_threshold(problem)}
    return fitted("AND", **settings)(problem, seed, budget)


def and_least_inverse(problem: Problem, seed: int, budget: float | None) -> Found:
    """Theorem 1's AND that decodes with the inverse of least infinity norm, as Li et al. (2016), in place of the
    Moore-Penrose inverse.
    """
    from partwise.algorithms.and_ import take_steps
    from partwise.linalg import left_inverse

    assert problem.start is not None
    H = problem.start
    for _ in range(INVERSE_STAGES):
        W = problem.X @ np.asarray(left_inverse(H))
        W = np.where(W >= QUARTER, W, 0.0)
        H = take_steps(H, W.T @ W, W.T @ problem.X, steps=50)
    return Found(H, facts={"iterations": INVERSE_STAGES})


CONTENDERS: tuple[Contender, ...] = (
    Contender(
        "and-quarter",
        "AND as in Theorems 1 and 5: the threshold 1/4 in all stages, for weights that are 0 or 1; common start",
        fitted("AND", **(PUBLISHED | {"thresholds": QUARTER, "decay": 1.0})),
        literal=True,
    ),
    Contender(
        "and-theorem-4",
        "AND with the thresholds (λ|E0|/r)^(2/(q+1)) of Theorem 4, told the truth; common start",
        and_by_theorem,
        literal=True,
    ),
    Contender(
        "and-theorem-4-estimated",
        "the same with r, λ, q and |E0| estimated from the decoded weights",
        fitted("AND", **(PUBLISHED | {"thresholds": "theorem"})),
    ),
    Contender(
        "and-one-stage",
        "a single stage of AND, T = 50, threshold 1/4 where weights are 0 or 1 and else 0.1; common start",
        and_one_stage,
        literal=True,
    ),
    Contender(
        "and-least-inverse",
        f"and-quarter with the inverse of least infinity norm of Li et al. (2016), {INVERSE_STAGES} stages",
        and_least_inverse,
    ),
    Contender(
        "and-cold",
        "the paper's AND from near-pure documents, 60 stages, on word frequencies",
        frequencies(fitted("AND", max_iter=60, tol=0.0)),
    ),
    Contender("facets-frequencies", "Facets on word frequencies", frequencies(fitted("Facets"))),
    Contender(
        "hals-frequencies",
        "HALS from near-pure documents, 200 passes, on word frequencies",
        frequencies(fitted("HALS", max_iter=200, tol=0.0)),
    ),
)
