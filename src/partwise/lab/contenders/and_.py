"""The AND paper's method, ours, and the competitors of its Figure 1, from the start that all share."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise.lab.contenders.base import fitted, lifted
from partwise.lab.experiment import Contender, Found, Problem

DOCUMENT_LENGTH = 1000  # words that online LDA is told a document has: about the length of a paper
LDA_BATCH = 500  # documents: ten batches a pass at the published size
# as many iterations as AND has stages: all make two products with the data in one, so that passes can be compared
LIMIT: dict[str, Any] = {"max_iter": 250, "tol": 1e-12}
# the rest is as published by default
PUBLISHED: dict[str, Any] = {"start": True, "max_iter": 250, "tol": 0.0, "signs": "keep", "odd": "keep"}
ONCE = 8  # products with the data before the first stage of Facets: size, noise and singular vectors (counted)
OPENING = 9  # at most, before the first pass of HALS with its defaults: leading directions, and the data within them


def online_lda(problem: Problem, seed: int, budget: float | None) -> Found:
    """scikit-learn's online LDA from the common start, pass after pass until the time is over."""
    from sklearn.decomposition import LatentDirichletAllocation

    from partwise.metrics import total_correlation_error

    if sp.issparse(problem.X):
        raise ValueError("this method is for dense data")
    X = np.maximum(problem.X, 0.0)
    X = X / np.maximum(X.sum(axis=1, keepdims=True), 1e-12) * DOCUMENT_LENGTH
    model = LatentDirichletAllocation(
        problem.k, learning_method="online", batch_size=LDA_BATCH, total_samples=len(X), random_state=seed
    )
    model.partial_fit(X[:1])  # makes the arrays that the start then replaces
    if problem.start is not None:
        H = lifted(problem)
        model.components_ = 1.0 / problem.k + H / H.sum(axis=1, keepdims=True) * X.sum() / problem.k
        model.n_batch_iter_ = 1
        model.exp_dirichlet_component_ = _expected(model.components_)
    curve: list[dict[str, float]] = []
    spent, passes = 0.0, 0
    limit = budget if budget is not None else 10.0
    while True:
        if problem.truth is not None:
            error = float(total_correlation_error(model.components_, problem.truth))
            curve.append({"n_iter": passes, "time": spent, "error": error})
        if spent > limit or passes >= 500:
            break
        begin = time.process_time()
        for first in range(0, len(X), LDA_BATCH):
            model.partial_fit(X[first : first + LDA_BATCH])
        spent, passes = spent + time.process_time() - begin, passes + 1
    least = min((point["error"] for point in curve), default=float("nan"))
    # one product a pass, at least: the iterations within a document are not counted
    facts = {"seconds": spent, "iterations": passes, "least_error": least, "products": 1}
    return Found(model.components_, curve=curve, facts=facts)


def _expected(components: np.ndarray) -> np.ndarray:
    from scipy.special import psi

    result: np.ndarray = np.exp(psi(components) - psi(components.sum(axis=1, keepdims=True)))
    return result


CONTENDERS: tuple[Contender, ...] = (
    Contender(
        "facets",
        "Facets as it comes: adaptive thresholds, cold start at near-pure samples",
        fitted("Facets", once=ONCE),
    ),
    Contender("facets-same-start", "Facets from the common start", fitted("Facets", start=True, once=ONCE)),
    Contender(
        "facets-nonnegative",
        "Facets, cold start, finished by HALS: components have no negative entries",
        fitted("Facets", clip=True, nonnegative=True),
    ),
    Contender(
        "and-published",
        "the paper's AND: thresholds 0.1/1.1^j, 50 steps a stage, no noise floor, common start; our compiled code",
        fitted("AND", **PUBLISHED),
        literal=True,
    ),
    Contender(
        "and-published-100",
        "the same with 100 steps a stage, the paper's choice under noise, 150 stages",
        fitted("AND", **(PUBLISHED | {"steps": 100, "max_iter": 150})),
        literal=True,
    ),
    *(
        Contender(
            f"and-constant-{threshold}",
            f"the paper's AND with the constant threshold {threshold}",
            fitted("AND", **(PUBLISHED | {"thresholds": float(threshold), "decay": 1.0})),
            literal=True,
        )
        for threshold in ("0.0001", "0.1")
    ),
    Contender(
        "anls",
        "ANLS by exact block pivoting, common start",
        fitted("ANLS", start=True, clip=True, **LIMIT),
        literal=True,
    ),
    Contender(
        "mu",
        "multiplicative updates, compiled, common start",
        fitted("MU", start=True, clip=True, **LIMIT),
        literal=True,
    ),
    Contender(
        "hals",
        "accelerated HALS, compiled, from the common start by way of the data's leading directions",
        fitted("HALS", start=True, clip=True, once=OPENING, **LIMIT),
    ),
    Contender(
        "hals-plain",
        "HALS as it was in the paper's time: one sweep a pass, no extrapolation; compiled, common start",
        fitted("HALS", start=True, clip=True, sweeps=1, extrapolate=False, **LIMIT),
        literal=True,
    ),
    Contender(
        "online-lda",
        f"scikit-learn's online LDA, documents of {DOCUMENT_LENGTH} words, batches of {LDA_BATCH}, common start",
        online_lda,
        literal=True,
    ),
)
