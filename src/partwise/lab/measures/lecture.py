"""Measures of the lecture: multiplicative updates, parts of faces, topics and anchors from co-occurrence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise import metrics
from partwise.lab.experiment import Found, Measure, Problem
from partwise.lab.measures.base import true_parts, weights_of


def least_entry(problem: Problem, found: Found) -> float:
    """The least entry of the components."""
    return float(np.min(found.components))


def objective_rise(problem: Problem, found: Found) -> float:
    """Largest relative rise of the objective in an iteration; 0 if it never rose."""
    values = np.array([point["objective"] for point in found.curve if "objective" in point])
    return float(max(0.0, np.max(np.diff(values) / values[:-1]))) if len(values) > 1 else float("nan")


def zeros(problem: Problem, found: Found) -> float:
    """Share of entries of the components that are at most a hundredth of the component's largest: parts are local."""
    H = np.abs(found.components)
    largest = H.max(axis=1, keepdims=True)
    # nothing at all has no parts
    return float(((0.01 * largest >= H) & (largest > 0.0)).mean())


def topic_l1(problem: Problem, found: Found) -> float:
    """Mean l1 distance of matched topics, each summing to one: from 0 to 2."""
    truth = true_parts(problem)
    match = metrics.match_components(found.components, truth)
    H = np.where((match.permutation >= 0)[:, None], np.maximum(found.components[match.permutation], 0.0), 0.0)
    H = H / np.maximum(H.sum(axis=1, keepdims=True), 1e-300)
    return float(np.abs(H - truth / truth.sum(axis=1, keepdims=True)).sum(axis=1).mean())


def pair_error(problem: Problem, found: Found) -> float:
    """Spectral norm of the error of the words' co-occurrence, relative to that of its expectation given the weights."""
    X, W, H = sp.csr_array(problem.X), problem.weights, true_parts(problem)
    assert W is not None
    lengths = np.asarray(X.sum(axis=1)).ravel()
    scaled = sp.diags_array(1.0 / (lengths * (lengths - 1.0))) @ X
    pairs: Any = (X.T @ scaled).toarray() - np.diag(np.asarray(scaled.sum(axis=0)).ravel())
    expected = H.T @ (W.T @ W / len(W)) @ H
    return float(np.linalg.norm(pairs / len(W) - expected, 2) / np.linalg.norm(expected, 2))


def _both_gradients(problem: Problem, found: Found) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of weights and of components: themselves, and both parts of the derivative of |X - V Y|^2 / 2."""
    X, V, Y = problem.X, np.asarray(weights_of(problem, found)), found.components
    yield V, X @ Y.T, V @ (Y @ Y.T)
    yield Y, V.T @ X, (V.T @ V) @ Y


def unsettled(problem: Problem, found: Found) -> float:
    """By how much entries are neither zero nor stationary: sum of |f f'| over that of f f'+, of both factors."""
    parts = [(np.abs(F * (plus - minus)).sum(), (F * plus).sum()) for F, minus, plus in _both_gradients(problem, found)]
    return float(max(above / below if below else 0.0 for above, below in parts))


def locked(problem: Problem, found: Found) -> float:
    """By how much zeros would move if they could: sum of their -f', in units of the mean entry, over that of f f'+."""
    parts = [
        (F.mean() * np.maximum(0.0, minus - plus)[F == 0.0].sum(), (F * plus).sum())
        for F, minus, plus in _both_gradients(problem, found)
    ]
    return float(max(above / below if below else 0.0 for above, below in parts))


def true_anchors(problem: Problem, found: Found) -> float:
    """Share of the topics that have an anchor of their own among those found."""
    truth = true_parts(problem)
    own = (truth > 0.0) & ((truth > 0.0).sum(axis=0) == 1)
    picked = np.zeros(truth.shape[1], bool)
    if found.anchors is not None:
        picked[found.anchors] = True
    return float((own & picked).any(axis=1).mean())


MEASURES: tuple[Measure, ...] = (
    Measure("least", "least entry of the components", "higher", least_entry, ".2g"),
    Measure("rise", "largest relative rise of the objective", "lower", objective_rise, ".1e"),
    Measure("zeros", "share of (nearly) zero entries of the components", "higher", zeros, ".2f"),
    Measure("unsettled", "entries that are neither zero nor stationary", "lower", unsettled, ".1e"),
    Measure("locked", "zeros that would move if they could", "lower", locked, ".1e"),
    Measure("anchors", "share of topics whose anchor was found", "higher", true_anchors, ".2f"),
    Measure("pairs", "relative error of the co-occurrence", "lower", pair_error, ".3g"),
    Measure("topic_l1", "mean l1 error of the topics", "lower", topic_l1, ".3f"),
)
