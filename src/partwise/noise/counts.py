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

from partwise.linalg.multiples import TYPICAL, WHOLE, least_steps
from partwise.noise.scales import FLOOR, Whitened, balance
from partwise.noise.spectrum import spectrum_of
from partwise.sources import RowSource
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

MEAN_FLOOR = 0.01  # of what row and column totals make one expect: means that the signal gives may be negative
LARGEST = 1e6  # multiples above this are no counts: any two numbers have a common unit that is small enough
RIGHT = 0.98  # of the rows must be whole
STEPS = 10  # of the search for phi; three or four are the rule
CLOSE = 0.01  # of one: variance of what is left at which phi is right
GROUPS = 10  # of entries, by their means
SURELY = 4.0  # standard errors
EXTREMES = (1e-4, 10.0)  # of the first guess of phi


@dataclass(frozen=True)
class Unit:
    """What one count is: one, the same number in all rows, or another one in each."""

    kind: str  # "one", "table" or "rows"
    of_rows: Array  # in the rows of the sample

    def everywhere(self, source: RowSource) -> Array:
        """That of every row of the data."""
        if self.kind != "rows":
            return np.full(source.shape[0], self.of_rows[0])
        return np.asarray(source.map_rows(least_steps, width=None, dtype=np.float64))


def unit_of(X: Array, rows: Block) -> Unit | None:
    """What one count is, in some columns of these rows; None if the entries are no counts."""
    if X.min() < 0.0:
        return None
    n = len(X)
    if not np.any(X % 1.0):
        return Unit("one", np.ones(n)) if np.median(X[X > 0.0]) <= LARGEST else None
    steps = least_steps(rows)
    for unit in (Unit("table", np.full(n, steps.min())), Unit("rows", steps)):
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
    return _divided(X, (unit.of_rows[:, None] * X + phi * X * X) / (1.0 + phi), k)


def from_means(X: Array, unit: Unit, phi: float, k: int | None, state: Whitened) -> Whitened:
    """The same, the variances being those of the means that the signal gives and not of single counts.

    One large count of a small table makes the noise of its row look large; the mean that the signal gives does not.
    """
    mean = _means(X, state)
    mean = np.maximum(mean, MEAN_FLOOR * np.outer(X.mean(axis=1), X.mean(axis=0)) / X.mean())
    return _divided(X, unit.of_rows[:, None] * mean + phi * mean * mean, k)


def _means(X: Array, state: Whitened) -> Array:
    return np.asarray((X - state.residual * state.row_scale[:, None] * state.column_scale).clip(0.0))


def _divided(X: Array, V: Array, k: int | None) -> Whitened:
    u, v = balance(V)
    a, b = np.sqrt(u), np.sqrt(v)
    Y = X / a[:, None] / b
    found = spectrum_of(Y)
    return Whitened(a, b, Y, found, found.count() if k is None else k)


def left(state: Whitened) -> float:
    """Variance of what the signal leaves; one if ``phi`` is right."""
    return state.spectrum.variance(state.k)


def are_counts(X: Array, unit: Unit, state: Whitened) -> bool | None:
    """Whether whole numbers are counts: None if that cannot be told from noise of one size.

    That all noise together is as large as that of counts says little: an instrument that rounds may have such noise.
    But noise of counts grows with their means, and leans to the right where it cannot be seen to grow.
    """
    C = (X / unit.of_rows[:, None]).ravel()
    mean = (_means(X, state) / unit.of_rows[:, None]).ravel()
    for evidence in (_growth, _lean):
        value, error = evidence(C, C - mean, mean)
        if value > 0.5 and value > SURELY * error:
            return True
        if value < 0.5 and value < 1.0 - SURELY * error:
            return False
    return None


def _growth(C: Array, R: Array, mean: Array) -> tuple[float, float]:
    """The power of the mean that the variance grows with, and its error: 1 to 2 of counts, 0 of noise of one size."""
    y = R * R
    groups = np.array_split(np.argsort(mean, kind="stable"), GROUPS)
    # the mean count of a group is known without its signal, which may be anything next to zero
    groups = [g for g in groups if C[g].any() and y[g].any()]
    place = np.log([C[g].mean() for g in groups])
    size = np.array([y[g].mean() for g in groups])
    error = np.array([y[g].std() / np.sqrt(len(g)) for g in groups]) / size  # of the logarithm of the size
    centred = (place - place.mean()) / max(float(((place - place.mean()) ** 2).sum()), np.finfo(np.float64).tiny)
    return float(centred @ np.log(size)), float(np.sqrt(np.square(centred * error).sum()))


def _lean(C: Array, R: Array, mean: Array) -> tuple[float, float]:
    """The third moment over the mean, and its error: 1 or more of counts, 0 of noise that leans to neither side."""
    cubes, size = R**3, max(float(C.mean()), np.finfo(np.float64).tiny)
    return float(cubes.mean() / size), float(cubes.std() / np.sqrt(len(cubes)) / size)


def with_dispersion(X: Array, unit: Unit, k: int | None, state: Whitened) -> tuple[float, Whitened]:
    """The phi for which what is left has variance one, from biwhitening without any: the rule of false position.

    The first guess is that of moments: squares of what is left are mean + phi mean^2, on the average.
    """
    mean = _means(X, state)
    squares = ((X - mean) ** 2 - unit.of_rows[:, None] * mean).sum() / max(float((mean * mean).sum()), FLOOR)
    phi = float(np.clip(squares, *EXTREMES))
    low, high = 0.0, np.inf  # of phi, and the logarithms of what they leave
    above = below = 0.0
    for _ in range(STEPS):
        state = biwhiten(X, unit, phi, k)
        found = float(np.log(left(state)))
        if abs(found) < CLOSE:
            break
        if found > 0.0:
            low, above = phi, found
        else:
            high, below = phi, found
        if low and np.isfinite(high):
            share = above / (above - below)
            phi = float(low * (high / low) ** min(max(share, 0.1), 0.9))
        else:
            phi = phi * 3.0 if found > 0.0 else phi / 3.0
    return phi, state
