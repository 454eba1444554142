"""Counting noise: variances are known from the counts themselves, but for one number.

A count of mean mu has variance mu (Poisson) or mu + phi mu^2 (negative binomial).  (x + phi x^2) / (1 + phi) is an
unbiased estimate of it, and what scales its rows and columns to mean one scales the noise to the law of Marchenko
and Pastur, whatever the signal (Landa, Zhang & Kluger 2022: "biwhitening").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.noise.scales import Whitened, balance
from partwise.noise.spectrum import spectrum_of
from partwise.sources import RowSource, blocks

Array = npt.NDArray[Any]

FLOOR = 1e-6  # of the mean variance: Sinkhorn's iteration needs a positive matrix
WHOLE = 1e-5  # relative error within which a number is a multiple of its row's unit: seven digits of float32, less some
LARGEST = 1e6  # multiples above this are no counts: any two numbers have a common unit that is small enough
TYPICAL = 1e3  # nor is a table whose typical entry is so many units
RIGHT = 0.98  # of the rows must be whole
STEPS = 12  # of the search for phi
CLOSE = 0.005  # of one: variance of what is left at which phi is right


@dataclass(frozen=True)
class Unit:
    """What one count is: one, the same number in all rows, or another one in each."""

    kind: str  # "one", "table" or "rows"
    of_rows: Array  # in the rows of the sample

    def everywhere(self, source: RowSource) -> Array:
        """That of every row of the data."""
        if self.kind != "rows":
            return np.full(source.shape[0], self.of_rows[0])
        least = np.asarray(source.map_rows(blocks.least_positive, width=None, dtype=np.float64))
        return np.where(np.isfinite(least), least, 1.0)


def unit_of(X: Array, least: Array) -> Unit | None:
    """What one count is, given the least positive entry of every row; None if the entries are no counts."""
    if X.min() < 0.0:
        return None
    n = len(X)
    if not np.any(X % 1.0):
        return Unit("one", np.ones(n)) if np.median(X[X > 0.0]) <= LARGEST else None
    for unit in (Unit("table", np.full(n, least.min())), Unit("rows", least)):
        C = X / unit.of_rows[:, None]
        whole = np.round(C)
        if whole.max() > LARGEST or np.median(whole[whole > 0.0]) > TYPICAL:
            continue
        error = np.abs(C - whole).max(axis=1) / np.maximum(whole.max(axis=1), 1.0)
        if (error <= WHOLE).mean() >= RIGHT:
            return unit
    return None


def biwhiten(X: Array, unit: Unit, phi: float, k: int | None) -> Whitened:
    """Rows and columns divided so that counting noise of extra dispersion ``phi`` has variance one."""
    V = (unit.of_rows[:, None] * X + phi * X * X) / (1.0 + phi)
    u, v = balance(V + FLOOR * V.mean())
    a, b = np.sqrt(u), np.sqrt(v)
    Y = X / a[:, None] / b
    found = spectrum_of(Y)
    r = found.count() if k is None else k
    return Whitened(a, b, Y, found, r)


def left(state: Whitened) -> float:
    """Variance of what the signal leaves; one if ``phi`` is right."""
    return state.spectrum.variance(state.k)


def with_dispersion(X: Array, unit: Unit, k: int | None) -> tuple[float, Whitened]:
    """The phi for which what is left has variance one, by bisection of its logarithm."""
    low, high, phi = 0.0, np.inf, 0.03
    for _ in range(STEPS):
        state = biwhiten(X, unit, phi, k)
        found = left(state)
        if abs(found - 1.0) < CLOSE:
            break
        if found > 1.0:
            low, phi = phi, (4.0 * phi if np.isinf(high) else np.sqrt(phi * high))
        else:
            high, phi = phi, (phi / 4.0 if low == 0.0 else np.sqrt(low * phi))
    return phi, state
