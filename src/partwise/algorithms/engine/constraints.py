"""What the rows of a factor may be.

A constraint brings the row problem ``min 1/2 f G f' - b f'`` to a row update for non-negative rows (``rows.py``), or
solves it itself, and returns the squared residual of the optimality conditions that the rows came with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine.needs import ADDITIVE, SAMPLES, WHOLE, Needs
from partwise.algorithms.engine.rows import RowUpdate, diagonal, times
from partwise.kernels.simplex import least_squares

Array = npt.NDArray[Any]


class Constraint(ABC):
    """What the rows of a factor may be."""

    name: ClassVar[str]
    needs: ClassVar[Needs] = frozenset()
    bounded: ClassVar[bool] = False  # whether a factor under it has a size: penalties of the other one alone need that
    whole: ClassVar[bool] = False  # whether rows have to come all at once

    @abstractmethod
    def apply(self, update: RowUpdate, G: Array, B: Array, F: Array) -> float:
        """Update the rows of ``F`` in place; the squared residual that they came with."""

    @abstractmethod
    def project(self, F: Array) -> None:
        """Put rows that have gone too far back to where they may be, in place."""

    def moving(self, k: int) -> Any:
        """Which of k components move, as an index of columns."""
        return slice(None)


@dataclass(frozen=True)
class NonNegative(Constraint):
    """No entry below zero."""

    name: ClassVar[str] = "nonnegative"

    def apply(self, update: RowUpdate, G: Array, B: Array, F: Array) -> float:
        """See :class:`Constraint`."""
        return update(G, B, F)

    def project(self, F: Array) -> None:
        """See :class:`Constraint`."""
        np.maximum(F, 0.0, out=F)


@dataclass(frozen=True)
class Free(Constraint):
    """Entries of any sign: rows are solved by least squares."""

    name: ClassVar[str] = "free"
    needs: ClassVar[Needs] = frozenset({ADDITIVE})

    def apply(self, update: RowUpdate, G: Array, B: Array, F: Array) -> float:
        """See :class:`Constraint`."""
        norms = np.sqrt(diagonal(G))
        parts = (times(F, G) - B) / np.where(norms > 0.0, norms, 1.0)
        F[:] = times(np.asarray(B, np.float64), np.linalg.pinv(np.asarray(G, np.float64), hermitian=True))
        return float(np.vdot(parts, parts))

    def project(self, F: Array) -> None:
        """See :class:`Constraint`."""


@dataclass(frozen=True)
class Fixed(Constraint):
    """Some components stay as they were given.

    Parameters
    ----------
    components : tuple of int
        Which.
    rest : Constraint
        What the others may be.
    """

    name: ClassVar[str] = "fixed"
    components: tuple[int, ...]
    rest: Constraint = field(default_factory=NonNegative)

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """See :class:`Constraint`."""
        return self.rest.needs | {WHOLE}

    @property
    def whole(self) -> bool:  # type: ignore[override]
        """See :class:`Constraint`."""
        return self.rest.whole

    def moving(self, k: int) -> Any:
        """See :class:`Constraint`."""
        return np.setdiff1d(np.arange(k), self.components)

    def apply(self, update: RowUpdate, G: Array, B: Array, F: Array) -> float:
        """See :class:`Constraint`."""
        moving, fixed = self.moving(F.shape[1]), np.asarray(self.components, np.int64)
        if not len(moving):
            return 0.0
        # of 1/2 f G f' - b f' with f = (moving, fixed): what the fixed ones explain is taken from b
        b = B[:, moving] - times(F[:, fixed], G[..., fixed[:, None], moving])
        f = F[:, moving]
        residual = self.rest.apply(update, np.ascontiguousarray(G[..., moving[:, None], moving]), b, f)
        F[:, moving] = f
        return residual

    def project(self, F: Array) -> None:
        """See :class:`Constraint`."""
        moving = self.moving(F.shape[1])
        f = F[:, moving]
        self.rest.project(f)
        F[:, moving] = f


@dataclass(frozen=True)
class Simplex(Constraint):
    """Weights of a mixture: not negative, with sum one."""

    name: ClassVar[str] = "simplex"
    bounded: ClassVar[bool] = True
    needs: ClassVar[Needs] = frozenset({ADDITIVE, SAMPLES})

    def apply(self, update: RowUpdate, G: Array, B: Array, F: Array) -> float:
        """See :class:`Constraint`."""
        size = diagonal(G).sum(axis=-1, dtype=np.float64)  # at least the largest eigenvalue
        safe = np.where(size > 0.0, size, 1.0)
        step = np.asarray(F - (times(F, G) - B) / np.reshape(safe, (-1, 1)), np.float64)
        self.project(step)
        residual = float((np.reshape(size, -1) * ((F - step) ** 2).sum(axis=1)).sum())
        # any multiple of (f 1' - 1)^2, which is zero on the simplex, may be added: G becomes definite where it can
        ridge = np.reshape(safe / F.shape[1], (-1, 1))
        G = np.asarray(G, np.float64) + ridge[..., None].reshape((-1, 1, 1) if G.ndim == 3 else (1, 1))
        B = np.asarray(B, np.float64) + ridge
        scale = np.sqrt(diagonal(G))
        W, unit, b = F * scale, G / (scale[..., :, None] * scale[..., None, :]), np.ascontiguousarray(B / scale)
        if G.ndim == 2:
            least_squares(unit, b, 1.0 / scale, W)
        else:
            for i in range(len(W)):
                least_squares(unit[i], b[i : i + 1], 1.0 / scale[i], W[i : i + 1])
        F[:] = W / scale
        return residual

    def project(self, F: Array) -> None:
        """The nearest point of the simplex (Held, Wolfe & Crowder 1974): one number is taken from all, down to zero."""
        falling = -np.sort(-F, axis=1)
        excess = (falling.cumsum(axis=1) - 1.0) / np.arange(1, F.shape[1] + 1)
        last = (falling > excess).sum(axis=1) - 1
        np.maximum(F - excess[np.arange(len(F)), last][:, None], 0.0, out=F)
