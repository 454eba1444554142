"""Conservative learning with the document's parameters, and with ours."""

from __future__ import annotations

from typing import Any

from partwise.lab.contenders.base import fitted
from partwise.lab.experiment import Contender

# the w and the ten passes that the claims on MNIST are about
PUBLISHED: dict[str, Any] = {"w": 1e-5, "max_passes": 10}

CONTENDERS: tuple[Contender, ...] = (
    Contender(
        "conservative",
        "conservative learning, w = 1e-5, ten passes",
        fitted("ConservativeNMF", codes=True, **PUBLISHED),
        literal=True,
    ),
    Contender(
        "conservative-averaged",
        "conservative learning, w = 0.01, relaxed over time, ten passes",
        fitted("ConservativeNMF", w=1e-2, relaxation=(1.0, 5000.0), max_passes=10),
    ),
    Contender(
        "conservative-unit",
        "the same with w = 1, ten passes",
        fitted("ConservativeNMF", **(PUBLISHED | {"w": 1.0})),
        literal=True,
    ),
    *(
        Contender(
            f"conservative-w{w:g}",
            f"the document's rule, w = {w:g}, at most 300 passes",
            fitted("ConservativeNMF", w=w, max_passes=300),
            literal=True,
        )
        for w in (1.0, 0.01, 100.0)
    ),
    Contender(
        "conservative-printed",
        "the summary in its printed order, step 9 with the decoder of step 8, w = 1, at most 300 passes",
        fitted("ConservativeNMF", w=1.0, max_passes=300, printed_order=True),
        literal=True,
    ),
    *(
        Contender(
            f"conservative-w{name}-ten",
            f"the document's rule, w = {name}, ten passes",
            fitted("ConservativeNMF", w=float(name), max_passes=10),
            literal=True,
        )
        for name in ("1e-3", "0.1")
    ),
    Contender(
        "conservative-cg",
        "w = 0.3 and five conjugate gradient steps a sample instead of one",
        fitted("ConservativeNMF", w=0.3, cg_steps=5, max_passes=130),
    ),
)
