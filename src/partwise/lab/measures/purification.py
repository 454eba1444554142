"""Measures of the Purification paper: Σ, E and N of its theorems, decoded noise, and the facts of its proof."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from partwise import linalg, metrics
from partwise.algorithms.scaling import balanced
from partwise.lab.experiment import Found, Measure, Problem
from partwise.lab.measures.base import true_parts
from partwise.sources import source_of


def worst_l1(problem: Problem, found: Found) -> float:
    """Purification's measure: l1 error of the worst part, parts of unit l1 norm."""
    truth = true_parts(problem)
    match = metrics.match_components(found.components, truth)
    H = found.components[match.permutation] * np.sign(match.scales)[:, None]
    H = H / np.maximum(np.abs(H).sum(axis=1, keepdims=True), np.finfo(float).tiny)
    T = truth / np.maximum(np.abs(truth).sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return float(np.abs(H - T).sum(axis=1).max())


def smallest_share(problem: Problem, found: Found) -> float:
    """The least entry of Purification's Sigma, components as they are."""
    return float(_parts(problem, found, rescale=False).sigma.min())


def other_parts(problem: Problem, found: Found) -> float:
    """Purification's |E|_1: how much of the others is in a component, at most."""
    return _parts(problem, found, rescale=False).E_1


def outside_parts(problem: Problem, found: Found) -> float:
    """Purification's |N|_1: how much of a component is outside the span of the truth, at most."""
    return _parts(problem, found, rescale=False).N_1


def _parts(problem: Problem, found: Found, rescale: bool) -> metrics.Initialization:
    return metrics.initialization(found.components, true_parts(problem), rescale=rescale)


def impurity(problem: Problem, found: Found) -> float:
    """Both, relative to Sigma; infinite where that is not positive."""
    parts = _parts(problem, found, rescale=True)
    return parts.E_1 + parts.N_1 if parts.sigma.min() > 0.0 else float("inf")


def sample_impurity(problem: Problem, found: Found) -> float:
    """|E|_1 where the covariance of the true weights of this sample is taken for diagonal, which it is not quite."""
    assert problem.weights is not None
    covariance = np.cov(problem.weights.T)
    shares = np.abs(covariance) / covariance.diagonal()
    return float((shares.sum(axis=0) - 1.0).max())


def decoded_noise(problem: Problem, found: Found) -> float:
    """What the inverse that a method took makes of the noise: root mean square in the worst of the true weights."""
    if "left_inverse" not in found.facts or problem.signal is None:
        return float("nan")
    P = linalg.left_inverse(true_parts(problem), norm="2" if found.facts["left_inverse"] == "pinv" else "inf")
    return float(np.sqrt(np.mean(np.square((problem.X - problem.signal) @ np.asarray(P)), axis=0).max()))


def proportions(problem: Problem, found: Found) -> float:
    """The largest second moment of a true weight over the least; after balancing, where a method does that."""
    told = "balanced" in found.facts or _still(found)
    if not told or problem.weights is None or problem.start is None:
        return float("nan")
    factors = balanced(source_of(problem.X), problem.start)[1] if found.facts.get("balanced") else 1.0
    moments = np.square(problem.weights / factors).mean(axis=0)
    return float(moments.max() / moments.min())


def _still(found: Found) -> bool:
    """Whether it is what nothing was done to."""
    return found.facts.get("iterations") == 0


# what methods tell of themselves: the infinity norm of their inverse, and the worst of the iterations of the proof
FACTS: tuple[tuple[str, str, Literal["higher", "lower"], str], ...] = (
    ("amplification", "largest movement of decoded weights / noise", "lower", ".3g"),
    ("fall", "least relative fall of a + βb a step, over η", "higher", ".3g"),
    ("h", "least h of the recurrences", "lower", ".2g"),
    ("largest_E", "largest ‖E‖ₛ on the way", "lower", ".3f"),
    ("largest_N", "largest ‖N‖ₛ on the way", "lower", ".2g"),
    ("least_sigma", "least entry of Σ on the way", "higher", ".3f"),
    ("lemma_3_negative", "constant of Lemma 3 (1)", "lower", ".2g"),
    ("lemma_3_lower", "constant of Lemma 3 (2), below", "lower", ".2g"),
    ("lemma_3_upper", "constant of Lemma 3 (2), above", "lower", ".2g"),
    ("lemma_3_noisy", "constant of Lemma 3 (2), above, with c/n²", "lower", ".2g"),
    ("lemma_4", "constant of Lemma 4", "higher", ".2g"),
    ("lemma_5", "constant of Lemma 5", "lower", ".2g"),
)


# an iteration that changes nothing has these, by what stays; only an update has the constants of the lemmas
STILL: dict[str, Callable[[metrics.Induction], float]] = {
    "fall": lambda one: 0.0,
    "h": lambda one: one.h,
    "largest_E": lambda one: one.E_s,
    "largest_N": lambda one: one.N_s,
    "least_sigma": lambda one: one.sigma_min,
}


def _fact(problem: Problem, found: Found, *, name: str) -> float:
    if name in STILL and _still(found):
        stays = _parts(problem, found, rescale=False)
        return STILL[name](metrics.induction(stays, stays, step=1.0))
    return float(found.facts.get(name, np.nan))


MEASURES: tuple[Measure, ...] = (
    Measure("l1", "l1 error of the worst part", "lower", worst_l1, ".3g"),
    Measure("sigma", "least entry of Σ", "higher", smallest_share, ".3f"),
    Measure("E1", "‖E‖₁: other parts in a component", "lower", other_parts, ".2g"),
    Measure("N1", "‖N‖₁: what is outside their span", "lower", outside_parts, ".2g"),
    Measure("impurity", "‖E‖₁ + ‖N‖₁, relative to Σ", "lower", impurity, ".2g"),
    Measure("sample_E1", "‖E‖₁ of the sample's own covariance", "", sample_impurity, ".2g"),
    Measure("decoded_noise", "noise in the decoded weights", "lower", decoded_noise, ".2g"),
    Measure("proportions", "largest E[x²] / least E[x²]", "lower", proportions, ".2f"),
    *(Measure(name, label, better, partial(_fact, name=name), style) for name, label, better, style in FACTS),
)
