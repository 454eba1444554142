"""Fits that are watched: the same iteration on two halves of the samples beside them says what the error is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from partwise.lab.contenders.and_ import PUBLISHED as AND
from partwise.lab.contenders.base import fitted
from partwise.lab.contenders.purification import PUBLISHED as PURIFICATION
from partwise.lab.experiment import Contender

SEEN: Mapping[str, Any] = {"monitor": True}

CONTENDERS: tuple[Contender, ...] = (
    Contender(
        "and-watched",
        "AND, cold start, adaptive thresholds with a floor at the noise; two halves beside it",
        fitted("AND", thresholds="adaptive", floor=2.0, **SEEN),
    ),
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
    Contender(
        "purification-published-watched",
        "the paper's Purification from the common start; two halves beside it",
        fitted("Purification", **PURIFICATION, **SEEN),
        literal=True,
    ),
)
