"""Fits that are watched: the same iteration on two halves of the samples beside them says what the error is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from partwise.algorithms.monitor import split
from partwise.lab.contenders.and_ import PUBLISHED as AND
from partwise.lab.contenders.base import Runner, fitted
from partwise.lab.contenders.purification import PUBLISHED as PURIFICATION
from partwise.lab.experiment import Contender, Found, Problem
from partwise.metrics import match_components

SEEN: Mapping[str, Any] = {"monitor": True}
LOST = 0.1  # error from which on a part is called lost: the l of (A3)
DRAWS = 8  # halves, for a share to an eighth
ADAPTIVE: Mapping[str, Any] = {"thresholds": "adaptive", "floor": 2.0}


def on_halves(run: Runner) -> Runner:
    """The same on halves of the samples, as those of a watched fit: how often so few lose a part ("lost")."""

    def halved(problem: Problem, seed: int, budget: float | None) -> Found:
        assert problem.truth is not None
        rng = np.random.default_rng(seed)
        halves = [split(problem.X.shape[0], rng) for _ in range(DRAWS)]
        found = [run(replace(problem, X=problem.X[half]), seed, budget) for half in halves]
        errors = [match_components(one.components, problem.truth).errors.max() for one in found]
        return replace(found[0], facts={**found[0].facts, "lost": float(np.mean(np.array(errors) >= LOST))})

    return halved


CONTENDERS: tuple[Contender, ...] = (
    Contender(
        "and-watched",
        "AND, cold start, adaptive thresholds with a floor at the noise; two halves beside it",
        fitted("AND", **ADAPTIVE, **SEEN),
    ),
    Contender("and-half", "the same on halves of the samples, unwatched", on_halves(fitted("AND", **ADAPTIVE))),
    Contender(
        "and-published-watched",
        "the paper's AND from the common start, 120 stages (thresholds down to 1e-6); two halves beside it",
        fitted("AND", **(AND | {"max_iter": 120}), **SEEN),
        literal=True,
    ),
    Contender(
        "purification-watched",
        "Purification, cold start, finished by exact steps; two halves beside it",
        fitted("Purification", **SEEN),
    ),
    Contender("purification-half", "the same on halves of the samples, unwatched", on_halves(fitted("Purification"))),
    Contender(
        "purification-published-watched",
        "the paper's Purification from the common start; two halves beside it",
        fitted("Purification", **PURIFICATION, **SEEN),
        literal=True,
    ),
)
