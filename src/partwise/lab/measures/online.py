"""Measures of the notes on conservative learning: errors a pixel, and what the encoder is."""

from __future__ import annotations

import numpy as np

from partwise.lab.experiment import Found, Measure, Problem
from partwise.lab.measures.base import true_parts, weights_of


def pixel_error(problem: Problem, found: Found) -> float:
    """Mean over samples of |x - W H| divided by the root of the number of features: the published measure on MNIST."""
    W = np.asarray(weights_of(problem, found))
    residual = np.linalg.norm(problem.X - W @ found.components, axis=1).mean()
    return float(residual / np.sqrt(problem.X.shape[1]))


def running_error(problem: Problem, found: Found) -> float:
    """The same while learning: the last average of the errors of samples that are not learnt yet."""
    if not found.curve or "objective" not in found.curve[-1] or "samples" not in found.curve[-1]:
        return pixel_error(problem, found)
    return float(found.curve[-1]["objective"] / np.sqrt(problem.X.shape[1]))


def inverse_error(problem: Problem, found: Found) -> float:
    """How far the encoder is from a pseudo-inverse of the decoder: |E D - I| / |I|; 1 for an encoder of zeros."""
    if found.detectors is None:
        return float("nan")
    k = len(found.components)
    return float(np.linalg.norm(found.detectors @ found.components.T - np.eye(k)) / np.sqrt(k))


def random_share(problem: Problem, found: Found) -> float:
    """Share of the encoder's squares that is outside the span of the data: 0 for the Moore-Penrose inverse."""
    if found.detectors is None:
        return float("nan")
    Q = np.linalg.qr(true_parts(problem).T)[0]
    E = found.detectors
    return float(1.0 - np.sum((E @ Q) ** 2) / np.sum(E**2))


MEASURES: tuple[Measure, ...] = (
    Measure("pixel", "root mean square error a pixel", "lower", pixel_error, ".5f"),
    Measure("running", "root mean square error a pixel, while learning", "lower", running_error, ".5f"),
    Measure("inverse", "|E D - I| / |I|", "lower", inverse_error, ".2g"),
    Measure("random_share", "share of the encoder outside the span of the data", "", random_share, ".2f"),
)
