"""The elastic net: ``l1 |F|_1 + l2/2 |F|^2``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partwise.algorithms.engine.penalties.base import Array, Penalty


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """Few and small entries of a non-negative factor.

    Its numbers come multiplied by the size that makes them independent of the data's: the objective is
    ``1/2 |X - W H|^2 + m (l1_W |W|_1 + l2_W/2 |W|^2) + n (l1_H |H|_1 + l2_H/2 |H|^2)`` with n samples and m features,
    so twice the samples, or every feature twice, leaves the same trade-off.
    """

    l1: float = 0.0
    l2: float = 0.0

    def value(self, F: Array, rows: Array | None = None) -> float:
        """See :class:`Penalty`."""
        if rows is not None:
            each = self.l1 * F.sum(axis=1, dtype=np.float64)
            each += 0.5 * self.l2 * np.einsum("ij,ij->i", F, F, dtype=np.float64)
            return float(np.asarray(rows, np.float64) @ each)
        first = self.l1 * float(F.sum(dtype=np.float64)) if self.l1 else 0.0
        return first + (0.5 * self.l2 * float(np.einsum("ij,ij->", F, F, dtype=np.float64)) if self.l2 else 0.0)

    def slope(self, F: Array) -> np.generic | None:
        """See :class:`Penalty`."""
        return F.dtype.type(self.l1) if self.l1 else None

    def curvature(self, F: Array) -> Array | None:
        """See :class:`Penalty`."""
        return F.dtype.type(self.l2) * np.eye(F.shape[1], dtype=F.dtype) if self.l2 else None
