"""Smoothness: ``smooth/2 sum_j |h_j+1 - h_j|^2`` over neighbouring features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from partwise.algorithms.engine.needs import ADDITIVE, WHOLE, Needs
from partwise.algorithms.engine.penalties.base import Array, Penalty


@dataclass(frozen=True)
class Smooth(Penalty):
    """Small steps between neighbouring features, as spectra have them.

    The matrix of second differences has no eigenvalue above 4, which bounds the penalty by a multiple of the identity.
    """

    needs: ClassVar[Needs] = frozenset({WHOLE, ADDITIVE})
    smooth: float = 0.0

    def value(self, F: Array, rows: Array | None = None) -> float:
        """See :class:`Penalty`; weights of features are not for neighbours."""
        steps = np.diff(F, axis=0)
        return 0.5 * self.smooth * float(np.einsum("ij,ij->", steps, steps, dtype=np.float64))

    def slope(self, F: Array) -> Array:
        """See :class:`Penalty`."""
        ends = np.zeros((1, F.shape[1]), F.dtype)
        steps = np.concatenate([ends, np.diff(F, axis=0), ends])
        return np.asarray(-F.dtype.type(self.smooth) * (np.diff(steps, axis=0) + 4.0 * F), F.dtype)

    def curvature(self, F: Array) -> Array:
        """See :class:`Penalty`."""
        return np.asarray(4.0 * self.smooth * np.eye(F.shape[1]), F.dtype)
