"""Measures of data sets with a truth that are of no paper: proportions, signatures, the processor's time."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from partwise import metrics
from partwise.lab.experiment import Found, Measure, Problem
from partwise.lab.measures.base import true_parts, weights_of

ALIKE = 0.9  # cosine above which a signature counts as found: the field's usual bound


def true_proportions(problem: Problem) -> np.ndarray:
    """The shares of the parts in every sample."""
    assert problem.weights is not None
    return np.asarray(problem.weights / problem.weights.sum(axis=1, keepdims=True))


def proportions_of(problem: Problem, found: Found) -> np.ndarray:
    """Shares of the parts in every sample, so matched with the true ones that their mean error is least.

    Those of the method where it has its own; else weights times the sums of the parts, at a sum of one: of all that was
    counted in a sample. A sample without weights has equal shares.
    """
    truth = true_proportions(problem)
    if found.proportions is not None:
        P = np.asarray(found.proportions(), float)
    else:
        W, H = (np.maximum(np.asarray(factor, float), 0.0) for factor in (weights_of(problem, found), found.components))
        P = W * H.sum(axis=1)
    shares = np.zeros_like(truth)
    sums = P.sum(axis=1, keepdims=True)
    P = np.divide(P, sums, out=np.full(P.shape, 1.0 / P.shape[1]), where=sums > 0.0)
    errors = np.abs(truth[:, :, None] - P[:, None]).mean(axis=0)
    first, second = linear_sum_assignment(errors)
    shares[:, first] = P[:, second]
    return shares


def proportion_error(problem: Problem, found: Found) -> float:
    """Mean absolute error of the proportions."""
    return float(np.abs(proportions_of(problem, found) - true_proportions(problem)).mean())


def signature_f1(problem: Problem, found: Found) -> float:
    """F1 of the parts that are found, at a cosine of 0.9 with a true one of their own."""
    truth = true_parts(problem)
    hits = (metrics.match_components(found.components, truth).cosines >= ALIKE).sum()
    return float(2.0 * hits / (len(truth) + len(found.components)))


def assigned(problem: Problem, found: Found) -> np.ndarray:
    """The part of the largest weight."""
    return np.asarray(np.asarray(weights_of(problem, found)).argmax(axis=1))


def processor(problem: Problem, found: Found) -> float:
    """Seconds of the processor, for parts and weights."""
    return float(found.facts.get("processor_seconds", np.nan))


MEASURES: tuple[Measure, ...] = (
    Measure("proportion_error", "mean absolute error of the proportions", "lower", proportion_error, ".3f"),
    Measure("signature_f1", f"F1 of signatures at cosine {ALIKE}", "higher", signature_f1, ".2f"),
    Measure("processor", "processor seconds", "lower", processor, ".2g"),
)
