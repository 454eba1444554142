"""Measures of the TSVDNMF paper: heavy noise, its score, clusters, dominant weights and pure records."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from partwise import metrics
from partwise.lab.experiment import Found, Measure, Problem
from partwise.lab.measures.base import decoded, true_parts, weights_of

HEAVY = 0.25  # the eps of equation 2 in the experiments on noise: Lemma 3's 8192 draws are still quick to make
SEEN = 0.5  # l1 norm of the noise of a record, half the record's own, above which it is as large as that: Lemma 1's c5


def basis_l1(problem: Problem, found: Found) -> float:
    """TSVDNMF's equation 1: the largest l1 distance of a matched component, in the scale that it was found in."""
    truth = true_parts(problem)
    H = np.zeros_like(truth)
    count = min(len(H), len(found.components))
    H[:count] = found.components[:count]
    distances = np.abs(truth[:, None] - H[None]).sum(axis=2)
    return float(distances[linear_sum_assignment(distances)].max())


def _noise(problem: Problem) -> np.ndarray:
    assert problem.signal is not None
    return np.asarray(problem.X - problem.signal)


def mean_noise(problem: Problem, found: Found) -> float:
    """Equation 2: the largest mean noise over a share of the records, as far as a search finds it."""
    return metrics.heavy_noise(_noise(problem), eps4=HEAVY, equation=2).lower


def mean_noise_bound(problem: Problem, found: Found) -> float:
    """The same, more than which it cannot be."""
    return metrics.heavy_noise(_noise(problem), eps4=HEAVY, equation=2).upper


def record_noise(problem: Problem, found: Found) -> float:
    """Mean l1 norm of the noise of a record."""
    return float(np.abs(_noise(problem)).sum(axis=1).mean())


def seen_noise(problem: Problem, found: Found) -> float:
    """Share of the records whose noise has an l1 norm of at least a half."""
    return float((np.abs(_noise(problem)).sum(axis=1) >= SEEN).mean())


def l1_score(problem: Problem, found: Found) -> float:
    """TSVDNMF's measure, 1 - |W H - W^ H^|_1 / |W H|_1 with the weights of non-negative least squares."""
    assert problem.signal is not None
    return _score(weights_of(problem, found), problem.signal, found.components)


def held_out_score(problem: Problem, found: Found) -> float:
    """The same of the samples that were left out."""
    assert problem.held_out is not None
    assert problem.held_out_signal is not None
    return _score(decoded(problem.held_out, found), problem.held_out_signal, found.components)


def _score(W: Any, signal: np.ndarray, H: np.ndarray) -> float:
    return float(1.0 - np.abs(signal - np.asarray(W) @ H).sum() / np.abs(signal).sum())


def _clusters(problem: Problem, found: Found) -> np.ndarray:
    if found.labels is not None:
        return found.labels
    result: np.ndarray = np.asarray(weights_of(problem, found)).argmax(axis=1)
    return result


def nmi(problem: Problem, found: Found) -> float:
    """Normalised mutual information of clusters and classes."""
    return float(metrics.nmi(problem.labels, _clusters(problem, found)))


def accuracy(problem: Problem, found: Found) -> float:
    """Share of records in the cluster of their class."""
    return float(metrics.clustering_accuracy(problem.labels, _clusters(problem, found)))


def dominant_share(problem: Problem, found: Found, *, scaled: bool = True) -> float:
    """Per cent of records with a dominant weight: alpha = 0.4, beta = 0.3; of components that sum to one (Remark 1)."""
    H = found.components if scaled else None
    return 100.0 * float(metrics.dominant_weights(weights_of(problem, found), H, alpha=0.4, beta=0.3).fraction)


def pure_share(problem: Problem, found: Found, *, scaled: bool = True) -> float:
    """Per cent of nearly pure records: eps4 = 0.05; of components that sum to one (Remark 1)."""
    H = found.components if scaled else None
    return 100.0 * float(metrics.pure_records(weights_of(problem, found), H, eps4=0.05).fraction)


MEASURES: tuple[Measure, ...] = (
    Measure("basis_l1", "largest l1 error of a component", "lower", basis_l1, ".2g"),
    Measure("mean_noise", f"largest mean noise of {HEAVY:.0%} of the records", "", mean_noise, ".3g"),
    Measure("mean_noise_bound", f"bound on the mean noise of {HEAVY:.0%} of the records", "", mean_noise_bound, ".3g"),
    Measure("record_noise", "mean l1 norm of a record's noise", "", record_noise, ".2g"),
    Measure("seen_noise", f"share of records with noise of l1 norm {SEEN:g} or more", "", seen_noise, ".2f"),
    Measure("score", "1 - l1 residual", "higher", l1_score, ".3f"),
    Measure("held_out", "1 - l1 residual of the record left out", "higher", held_out_score, ".3f"),
    Measure("nmi", "NMI", "higher", nmi, ".3f"),
    Measure("ac", "accuracy", "higher", accuracy, ".3f"),
    Measure("dominant", "% records with a dominant weight", "", dominant_share, ".2f"),
    Measure("pure", "% nearly pure records", "", pure_share, ".2f"),
    Measure("dominant_unscaled", "% dominant, not scaled", "", partial(dominant_share, scaled=False), ".2f"),
    Measure("pure_unscaled", "% nearly pure, not scaled", "", partial(pure_share, scaled=False), ".2f"),
)
