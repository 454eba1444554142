"""What is asked of one factor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from partwise.algorithms.engine.constraints import Constraint, NonNegative
from partwise.algorithms.engine.needs import check
from partwise.algorithms.engine.penalties import ElasticNet, Penalty

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Factor:
    """Penalties on a factor, and what its rows may be.

    Parameters
    ----------
    penalties : tuple of Penalty
        All are added to the loss.
    constraint : Constraint
        What the rows may be.
    """

    penalties: tuple[Penalty, ...] = ()
    constraint: Constraint = field(default_factory=NonNegative)

    def check(self, factor: str, method: str, *, additive: bool = True) -> None:
        """Refuse by name what cannot be done for this factor by this method."""
        check((*self.penalties, self.constraint), factor, method, additive=additive)

    def problem(self, G: Array, B: Array, F: Array) -> tuple[Array, Array]:
        """The row problem with the penalties in it; ``B`` may be written to."""
        for penalty in self.penalties:
            curvature, slope = penalty.curvature(F), penalty.slope(F)
            if curvature is not None:
                G = G + curvature.astype(G.dtype, copy=False)
            if slope is not None:
                B -= slope
        return G, B

    def value(self, F: Array, rows: Array | None = None) -> float:
        """All penalties of a factor, or of some of its rows, with weights of the rows."""
        if rows is None:
            return sum((penalty.value(F) for penalty in self.penalties), 0.0)
        return sum((penalty.value(F, rows) for penalty in self.penalties), 0.0)

    def raised(self, denominator: Array, F: Array) -> Array:
        """The positive part of a gradient with those of the penalties."""
        for penalty in self.penalties:
            curvature, slope = penalty.curvature(F), penalty.slope(F)
            if slope is not None:
                denominator = denominator + slope
            if curvature is not None:
                denominator = denominator + F @ curvature
        return denominator

    def curved(self, F: Array) -> bool:
        """Whether a penalty is more than linear."""
        return any(penalty.curvature(F) is not None for penalty in self.penalties)

    @property
    def asked(self) -> bool:
        """Whether a penalty is more than nothing."""
        return any(not isinstance(one, ElasticNet) or one.l1 or one.l2 for one in self.penalties)

    @property
    def elastic(self) -> dict[str, float]:
        """``l1`` and ``l2`` in all: what the exact solver of weights knows of."""
        nets = [penalty for penalty in self.penalties if isinstance(penalty, ElasticNet)]
        return {"l1": sum((net.l1 for net in nets), 0.0), "l2": sum((net.l2 for net in nets), 0.0)}


PLAIN = Factor()
