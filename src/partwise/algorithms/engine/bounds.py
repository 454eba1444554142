"""Bounds on entries of the components, and weights that sum to at most one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine.constraints import Constraint, Simplex
from partwise.algorithms.engine.needs import ADDITIVE, SAMPLES, WHOLE, Needs
from partwise.algorithms.engine.rows import RowUpdate, diagonal, times

Array = npt.NDArray[Any]

MOST_SWEEPS = 200
SETTLED = 1e-10  # of the largest step of the first sweep, at which rows are solved


@dataclass(frozen=True, eq=False)
class Bounds(Constraint):
    """Every entry between two numbers of its own: known zeros, known entries, and what cannot be exceeded.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_features, n_components)
        The bounds; equal ones keep an entry as it is.
    """

    name: ClassVar[str] = "bounds"
    needs: ClassVar[Needs] = frozenset({WHOLE, ADDITIVE})
    whole: ClassVar[bool] = True
    lower: Array
    upper: Array

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """See :class:`Constraint`."""
        return bool(np.isfinite(self.upper).all())

    def apply(self, update: RowUpdate, G: Array, B: Array, F: Array) -> float:
        """See :class:`Constraint`; cyclic coordinate steps, each clipped to its bounds, until they are settled."""
        low, high = (bound.astype(F.dtype) for bound in (self.lower, self.upper))
        squares = diagonal(G)
        inverse = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0.0)
        step = np.clip(F - (times(F, G) - B) * inverse, low, high) - F
        residual = float((step**2 * squares).sum(dtype=np.float64))
        first = 0.0
        for sweep in range(MOST_SWEEPS):
            largest = 0.0
            for j in range(F.shape[1]):
                column = G[:, j] if G.ndim == 2 else G[:, :, j]
                product = F @ column if G.ndim == 2 else np.einsum("ij,ij->i", F, column)
                new = np.clip(F[:, j] - (product - B[:, j]) * inverse[..., j], low[:, j], high[:, j])
                largest = max(largest, float(((new - F[:, j]) ** 2 * squares[..., j]).max(initial=0.0)))
                F[:, j] = new
            first = largest if sweep == 0 else first
            if largest <= SETTLED**2 * first:
                break
        return residual

    def project(self, F: Array) -> None:
        """See :class:`Constraint`."""
        np.clip(F, self.lower.astype(F.dtype), self.upper.astype(F.dtype), out=F)


@dataclass(frozen=True)
class AtMostOne(Constraint):
    """Weights of a mixture with an unknown rest of nothing: not negative, with a sum of at most one.

    What is left to one is the weight of a part of zeros.
    """

    name: ClassVar[str] = "at-most-one"
    needs: ClassVar[Needs] = frozenset({ADDITIVE, SAMPLES})
    bounded: ClassVar[bool] = True

    def apply(self, update: RowUpdate, G: Array, B: Array, F: Array) -> float:
        """See :class:`Constraint`."""
        k = F.shape[1]
        pad = [(0, 0)] * (G.ndim - 2) + [(0, 1), (0, 1)]
        full = np.concatenate([F, np.maximum(1.0 - F.sum(axis=1, keepdims=True), 0.0)], axis=1)
        residual = Simplex().apply(update, np.pad(G, pad), np.pad(B, [(0, 0), (0, 1)]), full)
        F[:] = full[:, :k]
        return residual

    def project(self, F: Array) -> None:
        """See :class:`Constraint`."""
        np.maximum(F, 0.0, out=F)
        over = F.sum(axis=1) > 1.0
        if over.any():
            part = F[over]
            Simplex().project(part)
            F[over] = part
