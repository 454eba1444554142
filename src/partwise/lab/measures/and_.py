"""Measures of the AND paper: its errors, time and passes to a share of the start's, both sides of its theorems."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from partwise import metrics
from partwise.lab.experiment import Found, Measure, Problem
from partwise.lab.measures.base import true_parts

SHARES = ("1e-2", "1e-4", "1e-6", "1e-9")  # of the start's error, to which time and passes are taken
PRODUCTS = 2  # with the data, in an iteration


def _total_error(found: Found, truth: np.ndarray, **variant: Any) -> float:
    finite = np.isfinite(found.components).all()
    return metrics.total_correlation_error(found.components, truth, **variant) if finite else float("inf")


def correlation_error(problem: Problem, found: Found) -> float:
    """AND's measure; infinite where something is not finite."""
    return _total_error(found, true_parts(problem))


def relative_correlation_error(problem: Problem, found: Found) -> float:
    """The same, as a share of the size of the true components."""
    return correlation_error(problem, found) / float(np.linalg.norm(true_parts(problem), axis=1).sum())


def squared_error(problem: Problem, found: Found) -> float:
    """AND's measure as the authors' program computes it: squared errors of the components."""
    return _total_error(found, true_parts(problem), variant="and4nmf")


def reached(problem: Problem, found: Found, *, share: float, column: str) -> float:
    """Time or passes until the error is a share of that of the common start; infinite if it never is.

    A pass is a product with the data. An iteration of AND, Facets, HALS, ANLS and MU has two (decoding or weights, and
    what the components are computed from), whatever is done between them; ``facts`` has what is different elsewhere.
    """
    if not found.curve or "error" not in found.curve[0]:
        return float("nan")
    first = found.curve[0]["error"]
    begin = first if problem.start is None else correlation_error(problem, Found(problem.start))
    place = next((point[column] for point in found.curve if point["error"] <= share * begin), float("inf"))
    if column == "time":
        return float(place)
    return float(found.facts.get("once", 0.0) + found.facts.get("products", PRODUCTS) * place)


def spectral_error(problem: Problem, found: Found) -> float:
    """The left side of AND's theorems, |A - A* Sigma|_2."""
    return metrics.spectral_error(found.components, true_parts(problem))


def over_noise_bound(problem: Problem, found: Found) -> float:
    """That over Theorem 5's bound, without its constant."""
    assert problem.signal is not None
    gamma = float(np.sqrt(np.square(problem.X - problem.signal).sum(axis=1).mean()))
    known = metrics.correlation_conditions(problem.weights)
    bound = metrics.noise_error_bound(true_parts(problem), gamma=gamma, r=known.r, lam=known.lam)
    return spectral_error(problem, found) / bound if bound else float("nan")


def correlation_bound(problem: Problem, found: Found) -> float:
    """m of the weights over Theorem 4's bound, without its constant."""
    q = metrics.decay_order(problem.weights).q_upper
    return metrics.correlation_conditions(problem.weights, q=q).decay_ratio


def binary_bound(problem: Problem, found: Found) -> float:
    """m of the weights over Theorem 1's bound, without its constant, whether they are binary or not."""
    return metrics.correlation_conditions(problem.weights).binary_ratio


def weight_correlation(problem: Problem, found: Found) -> float:
    """The largest correlation of two components' weights."""
    assert problem.weights is not None
    C = np.corrcoef(problem.weights.T)
    return float(np.max(C, where=~np.eye(len(C), dtype=bool), initial=-1.0))


def shifted_error(problem: Problem, found: Found) -> float:
    """Distance from what data of weights 1/D and 1, s of them 1, looks like: (1 - 1/D) a_i + mean(a) / s."""
    truth, W = true_parts(problem), problem.weights
    assert W is not None
    s, D = float((W[0] == 1.0).sum()), len(truth)
    looks_like = (1.0 - 1.0 / D) * truth + truth.mean(axis=0) / s
    return _total_error(found, looks_like) / float(np.linalg.norm(looks_like, axis=1).sum())


def decoding_share(problem: Problem, found: Found) -> float:
    """Lemma 2 at the start: what the paper's first threshold leaves of the decoding error."""
    from partwise.lab.contenders.and_theorems import first_threshold

    alpha = first_threshold(problem)
    known = metrics.decoding_errors(problem.weights, problem.start, true_parts(problem), alpha=alpha)
    return known.first / known.first_linear


def mixing_share(problem: Problem, found: Found) -> float:
    """|E|_2 of what was found over that of the start; infinite where hardly anything of a true component is left."""
    now, before = (metrics.initialization(H, true_parts(problem)) for H in (found.components, problem.start))
    return now.E_2 / before.E_2 if now.sigma.min() >= 0.5 else float("inf")


def coherence(problem: Problem, found: Found) -> float:
    """Mean NPMI of the ten top words of the topics."""
    return float(np.nanmean(metrics.topic_coherence(found.components, problem.X)))


MEASURES: tuple[Measure, ...] = (
    Measure("error", "total correlation error", "lower", correlation_error, ".2e"),
    Measure("relative", "relative total correlation error", "lower", relative_correlation_error, ".1e"),
    *(
        Measure(f"{name}_{share}", f"{what} to {share} of the start's error", "lower", of, ".3g")
        for name, what, column in (("time", "seconds", "time"), ("passes", "passes over the data", "n_iter"))
        for share in SHARES
        for of in (partial(reached, share=float(share), column=column),)
    ),
    Measure("squared", "total squared correlation error (the authors' program)", "lower", squared_error, ".2e"),
    Measure("spectral", "|A - A*Σ|₂", "lower", spectral_error, ".2e"),
    Measure("over_noise_bound", "|A - A*Σ|₂ / Theorem 5's bound", "lower", over_noise_bound, ".2g"),
    Measure("correlation_bound", "m / Theorem 4's bound", "", correlation_bound, ".2e"),
    Measure("gcc", "m / Theorem 1's bound", "", binary_bound, ".2e"),
    Measure("weight_correlation", "largest correlation of two weights", "", weight_correlation, ".3f"),
    Measure("shifted", "distance from (1 - 1/D) aᵢ + mean(a)/s", "lower", shifted_error, ".1e"),
    Measure("decoding", "decoding error left by the threshold (Lemma 2)", "lower", decoding_share, ".2f"),
    Measure("mixing", "|E|₂ / that of the start", "lower", mixing_share, ".2g"),
    Measure("npmi", "mean NPMI of the top words", "higher", coherence, ".3f"),
)
