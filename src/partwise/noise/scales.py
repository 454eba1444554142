"""Row and column scales of independent noise: from regressions to start with, then from what a few directions leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dtrtri

from partwise.noise.spectrum import Spectrum, spectrum_of

Array = npt.NDArray[Any]

GROUP = 3  # a group of columns is a third of the rows at most, so that a regression on it has two thirds to err in
LARGEST_GROUP = 100  # more neighbours than this explain no more of a column, and cost
SWEEPS = 50  # of Sinkhorn's iteration at most; it is done in about ten
FLOOR = 1e-6  # of the mean variance: Sinkhorn's iteration needs a positive matrix
BALANCED = 1e-6  # relative change of a scale at which it has settled
ROUNDS = 8  # of scales and rank; three are the rule
LEVERAGE = 0.1  # a row that the signal follows has this share of its noise left at least
TRIANGULAR = 1e-5  # diagonal of a triangular factor below which squares lose too many digits
NORMAL_MEDIAN = 1.4826  # standard deviation of the normal law over the median of its sizes
FAR = 6.0  # robust standard deviations: 2e-9 of normal noise is beyond
MEDIANS = 5  # rounds of rows and columns: medians settle at once
LEAST = 0.01  # no scale below this times the median: a row without noise of its own is not blown up


@dataclass(frozen=True)
class Whitened:
    """A small matrix whose rows and columns were divided by the size of their noise."""

    row_scale: Array
    column_scale: Array
    Y: Array
    spectrum: Spectrum
    k: int

    @property
    def residual(self) -> Array:
        """What is left without the signal."""
        return self.spectrum.residual(self.Y, self.k)


def balance(V: Array, rows: bool = True, columns: bool = True) -> tuple[Array, Array]:
    """Variances u, v such that V / (u v') has mean one in every row and column (Sinkhorn & Knopp 1967)."""
    n, m = V.shape
    u, v = np.ones(n), np.ones(m)
    tiny = np.finfo(np.float64).tiny
    if not columns:
        return np.maximum(V.mean(axis=1), tiny), v
    if not rows:
        return u, np.maximum(V.mean(axis=0), tiny)
    V = V + FLOOR * V.mean()
    for _ in range(SWEEPS):
        u = np.maximum(V @ (1.0 / v) / m, tiny)
        new = np.maximum((1.0 / u) @ V / n, tiny)
        settled = np.abs(new - v).max() <= BALANCED * new.max()
        v = new
        if settled:
            break
    return u, v


def regression_variances(Y: Array) -> Array:
    """Variance of the noise of every column: what regression on some others leaves; the rank need not be known.

    Columns are taken in groups of a third of the rows at most.  Within one, the residual of a column regressed on the
    others is one over the diagonal of the inverse Gram matrix (Roger & Arnold 1996).
    """
    n, m = Y.shape
    size = max(2, min(n // GROUP, LARGEST_GROUP, m))
    found = np.empty(m)
    parts = max(1, m // size)
    for first in range(parts):
        group = slice(first, m, parts)  # spread out: neighbours may be alike
        Z = Y[:, group]
        lengths = np.sqrt(np.maximum((Z * Z).sum(axis=0), np.finfo(np.float64).tiny))
        precision = np.maximum(_precisions(Z / lengths), 1.0)
        found[group] = lengths**2 / precision / max(n - Z.shape[1] + 1, 1)
    return found


def _precisions(Z: Array) -> Array:
    """Diagonal of the inverse Gram matrix of columns of unit length."""
    lower, info = dpotrf(Z.T @ Z, lower=True)
    if info or np.diag(lower).min() < TRIANGULAR:  # the columns nearly depend on one another: without their squares
        lower = np.asarray(np.linalg.qr(Z, mode="r")).T
    if np.abs(np.diag(lower)).min() < np.finfo(np.float64).eps * len(lower):
        inverse = np.linalg.pinv(lower)
    else:
        inverse = dtrtri(np.tril(lower), lower=True)[0]
    return np.asarray((inverse * inverse).sum(axis=0))


def robust_scales(state: Whitened) -> Whitened:
    """With scales that a few entries far off do not reach: medians of what is left, of rows and columns in turn.

    Those entries are drawn in to `FAR` deviations, so that they do not bend the span of the signal.
    """
    sizes = state.row_scale[:, None] * state.column_scale
    R = state.residual * sizes
    signal, left = state.Y * sizes - R, np.abs(R)
    a, b = np.ones(len(R)), np.ones(R.shape[1])
    for _ in range(MEDIANS):
        b = _settled(NORMAL_MEDIAN * np.median(left / a[:, None], axis=0))
        a = _settled(NORMAL_MEDIAN * np.median(left / b, axis=1))
    Y = signal / a[:, None] / b + np.clip(R / a[:, None] / b, -FAR, FAR)
    return Whitened(a, b, Y, spectrum_of(Y), state.k)


def whiten(X: Array, k: int | None, *, rows: bool = True, columns: bool = True) -> Whitened:
    """Scale rows and columns by their noise, which is what ``k`` directions leave; by default those above the edge."""
    n, m = X.shape
    a, b = np.ones(n), np.ones(m)
    if columns:
        b = _settled(np.sqrt(regression_variances(X)))
    if rows:
        a = _settled(np.sqrt(regression_variances((X / b).T)))
    if columns and rows:
        b = b * _settled(np.sqrt(regression_variances(X / a[:, None] / b)))
    seen: list[int] = []
    for _ in range(ROUNDS):
        Y = X / a[:, None] / b
        found = spectrum_of(Y)
        r = found.count() if k is None else min(k, min(n, m) - 1)
        state = Whitened(a, b, Y, found, r)
        if not (rows or columns) or (len(seen) > 1 and seen[-1] == r == seen[-2]):
            break
        seen.append(r)
        u, v = balance(_noise_squares(state), rows, columns)
        a, b = _settled(a * np.sqrt(u)), _settled(b * np.sqrt(v))
    return _to_unit(state)


def _noise_squares(state: Whitened) -> Array:
    """Squares of the residual, made larger by what the signal took of each row and column."""
    R, k = state.residual, state.k
    taken = 1.0 - (state.spectrum.left[:, :k] ** 2).sum(axis=1)
    kept = 1.0 - (state.spectrum.right[:k] ** 2).sum(axis=0)
    return np.asarray(R * R / np.maximum(taken, LEVERAGE)[:, None] / np.maximum(kept, LEVERAGE))


def _to_unit(state: Whitened) -> Whitened:
    """With what is left at variance one."""
    s, k = state.spectrum, state.k
    size = np.sqrt(s.variance(k))
    if size <= 0.0:
        return state
    unit = Spectrum(s.values / size, s.left, s.right)
    return Whitened(state.row_scale * size, state.column_scale, state.Y / size, unit, k)


def _settled(scales: Array) -> Array:
    """None of next to nothing."""
    return np.maximum(scales, max(LEAST * float(np.median(scales)), np.finfo(np.float64).tiny))
