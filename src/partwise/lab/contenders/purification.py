"""Purification as published, with one thing changed at a time, and ours."""

from __future__ import annotations

from typing import Any

from partwise.lab.contenders.base import fitted
from partwise.lab.experiment import Contender

PUBLISHED: dict[str, Any] = {"finish": None, "start": True}

CONTENDERS: tuple[Contender, ...] = (
    Contender(
        "purification", "Purification with our defaults, finished by exact steps", fitted("Purification", start=True)
    ),
    Contender("purification-cold", "Purification from pure records", fitted("Purification")),
    Contender(
        "purification-published",
        "the paper's Purification: ReLU, inverse of least infinity norm, no finish",
        fitted("Purification", **PUBLISHED),
        literal=True,
    ),
    Contender(
        "purification-fresh",
        "the same with new samples in every iteration",
        fitted("Purification", fresh=True, **PUBLISHED),
        literal=True,
    ),
    Contender(
        "purification-slow",
        "the same with the step η = 0.1 in place of 0.5, which shows the rate",
        fitted("Purification", step=0.1, **PUBLISHED),
        literal=True,
    ),
    Contender(
        "purification-pinv",
        "the same with the Moore-Penrose inverse",
        fitted("Purification", inverse="pinv", **PUBLISHED),
        literal=True,
    ),
    Contender(
        "purification-no-relu",
        "the same without the ReLU",
        fitted("Purification", relu=False, **PUBLISHED),
        literal=True,
    ),
)
