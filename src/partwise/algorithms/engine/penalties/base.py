"""What the solvers ask a penalty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine.needs import Needs

Array = npt.NDArray[Any]


class Penalty(ABC):
    """A penalty ``p(F)`` of a factor ``F`` whose rows are samples (``W``) or features (``H'``).

    Around the factor ``F`` at hand it is bounded from above by a quadratic function of another one, E, which has its
    value and its gradient at ``F``: ``<slope, E> + 1/2 tr E curvature E'`` and a constant, with one curvature for all
    rows.  A step that lowers loss and bound together lowers loss and penalty, and the residual of the optimality
    conditions, which is of gradients, is exact.
    """

    needs: ClassVar[Needs] = frozenset()  # see engine/needs.py

    @classmethod
    def of(cls, size: float, **parameters: float) -> Self:
        """From the parameters of an estimator and the size that makes them independent of the data's."""
        return cls(**{name: value * size for name, value in parameters.items()})

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """The names of its numbers."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]  # subclasses are dataclasses

    @property
    def name(self) -> str:
        """The parameter that asks for it."""
        return next((name for name in self.parameters() if getattr(self, name)), self.parameters()[0])

    @abstractmethod
    def value(self, F: Array, rows: Array | None = None) -> float:
        """The penalty; of a factor in blocks of rows it is the sum of theirs, unless the whole is needed.

        ``rows`` are weights of the rows, which penalties that need the whole never get.
        """

    def slope(self, F: Array) -> Array | np.generic | None:
        """The linear term, a number, or an array like ``F``; None for none."""
        return None

    def curvature(self, F: Array) -> Array | None:
        """The quadratic term, components x components; None for none. Without ``WHOLE``, ``F`` may be any rows."""
        return None
