"""What a part may look like as a whole: one peak, or few features.

Given all other parts, a part ``h`` has the problem ``min 1/2 G_jj |h - c|^2`` over its shape: the nearest vector of
that shape to ``c``, which is exact.  Parts take turns.  The residual is how far each is from its own solution, so it is
zero where no part alone can be improved; shapes are no convex sets, so that is all that can be certified.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from partwise.algorithms.engine.constraints import Constraint
from partwise.algorithms.engine.needs import ADDITIVE, WHOLE, Needs
from partwise.algorithms.engine.rows import RowUpdate
from partwise.exceptions import InputError

Array = npt.NDArray[Any]

SWEEPS = 5
HALVINGS = 60
TIED = 1e-12


class Shape(Constraint):
    """Parts of a shape that scaling does not change."""

    needs: ClassVar[Needs] = frozenset({WHOLE, ADDITIVE})
    whole: ClassVar[bool] = True

    @abstractmethod
    def nearest(self, c: Array) -> Array:
        """The nearest vector of this shape."""

    def apply(self, update: RowUpdate, G: Array, B: Array, F: Array) -> float:
        """See :class:`Constraint`."""
        if G.ndim == 3:
            raise InputError("{parameter} needs data of which at least half is known, by HALS", parameter=self.name)
        residual = 0.0
        for sweep in range(SWEEPS):
            for j in np.flatnonzero(np.diag(G) > 0.0):
                c = np.asarray(F[:, j] - (F @ G[:, j] - B[:, j]) / G[j, j], np.float64)
                new = self.nearest(c)
                if sweep == 0:
                    residual += float(G[j, j] * ((new - F[:, j]) ** 2).sum())
                F[:, j] = new
        return residual

    def project(self, F: Array) -> None:
        """See :class:`Constraint`."""
        for j in range(F.shape[1]):
            F[:, j] = self.nearest(np.asarray(F[:, j], np.float64))


@dataclass(frozen=True)
class Unimodal(Shape):
    """Parts that rise to one peak and fall: chromatograms, pH profiles (Bro & Sidiropoulos 1998, least squares)."""

    name: ClassVar[str] = "unimodal"

    def nearest(self, c: Array) -> Array:
        """See :class:`Shape`: isotonic regression up to each place and down from it, the best of all.

        Of monotone vectors that must not be negative the nearest is the nearest of any sign, with zeros for what is.
        """
        rising, falling = _prefix_errors(c), _prefix_errors(c[::-1])[::-1]
        peak = int(np.argmin(rising[1:] + falling[1:]))  # the last that rises; the rest falls
        up, down = c[: peak + 1], c[peak + 1 :]
        fitted = isotonic_regression(up).x
        if len(down):
            fitted = np.concatenate([fitted, isotonic_regression(down, increasing=False).x])
        return np.maximum(fitted, 0.0)


@dataclass(frozen=True)
class Sparse(Shape):
    """Parts of at least this sparseness, ``(sqrt(m) - |h|_1 / |h|_2) / (sqrt(m) - 1)`` (Hoyer 2004): 1 is one feature.

    The nearest such vector is a multiple of the direction ``d`` with most of ``c`` in it; that is ``c`` less a number,
    down to zero (Witten, Tibshirani & Hastie 2009, lemma 2.2).

    Parameters
    ----------
    sparseness : float
        Between 0 and 1.
    """

    name: ClassVar[str] = "sparseness"
    sparseness: float

    def nearest(self, c: Array) -> Array:
        """See :class:`Shape`."""
        largest, root = float(c.max(initial=0.0)), np.sqrt(len(c))
        if largest <= 0.0:
            return np.zeros_like(c)
        c = np.maximum(c, 0.0) / largest
        most = root - self.sparseness * (root - 1.0)  # of |d|_1 / |d|_2
        if c.sum() <= most * np.linalg.norm(c):
            return np.asarray(largest * c)
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            d = np.maximum(c - middle, 0.0)
            low, high = (middle, high) if d.sum() > most * np.linalg.norm(d) else (low, middle)
        d = np.maximum(c - high, 0.0)
        if not d.any():
            d = _tied(c >= 1.0 - TIED, most)
        d /= np.linalg.norm(d)
        return np.asarray(largest * (c @ d) * d)


def _tied(largest: Array, most: float) -> Array:
    """A direction within entries that are equally large: one of ``|d|_1 / |d|_2 = most`` is as good as any other."""
    places = np.flatnonzero(largest)
    p, d = len(places), np.zeros(len(largest))
    if p == 1:
        d[places] = 1.0
        return d
    rest = (most * (p - 1) - np.sqrt((p - 1) * max(p - most**2, 0.0))) / (p * (p - 1))
    d[places] = max(rest, 0.0)
    d[places[0]] = most - (p - 1) * rest
    return d


def _prefix_errors(c: Array) -> Array:
    """Squared error of the best rising fit, not below zero, to the first i numbers, i = 0 .. m, by pooling once."""
    errors = np.zeros(len(c) + 1)
    sums: list[float] = []
    counts: list[int] = []
    costs: list[tuple[float, float]] = []
    total = 0.0
    for i, x in enumerate(c):
        s, n, squares = float(x), 1, float(x * x)
        while sums and sums[-1] * n >= s * counts[-1]:
            s += sums.pop()
            n += counts.pop()
            before, cost_before = costs.pop()
            squares += before
            total -= cost_before
        cost = max(squares - max(s, 0.0) ** 2 / n, 0.0)
        sums.append(s)
        counts.append(n)
        costs.append((squares, cost))
        total += cost
        errors[i + 1] = total
    return errors
