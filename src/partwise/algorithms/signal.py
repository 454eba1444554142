"""The data as a signal of k dimensions and the noise beside it.

Data ``X = W H + noise`` lies, but for the noise, in the span of the k components.  One truncated SVD finds that span;
from there on rows are k numbers long, which makes every later pass cheap, and what is left outside measures the noise.

Rows differ in size (dark pixels, short documents, shallow sequencing), so they are compared as directions: every row
comes with the inverse of its size, a positive linear function of it, and with the noise of its entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from partwise.algorithms.engine.squared import count_of
from partwise.algorithms.loop import Progress, Stages, State
from partwise.linalg.svd import truncated_svd
from partwise.outcomes import Stop
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

TINY_ROW = 1e-3  # rows below this times the mean size have no direction worth the name,
NOISY_ROW = 30.0  # nor have rows below this times their noise
DOUBTFUL = 0.01  # a function that is not positive for more than this part of the clear rows does not measure size
CLEAR_ROW = 4.0  # a row is clear if its squared length is this times that of its noise
RANK_EPS = 32.0  # singular values below this many rounding units of the largest are zero
EXACT_BELOW = 1e-6  # a residual of squared norms is computed from the residual itself below this
NOISELESS_EPS = 1e3  # rounding units
COLOURED = 1e-6  # a residual below this, relatively, is rounding or a model that is all but exact: it has no colour
PRIOR_ROWS = 10.0  # how many entries' worth of the common noise goes into the noise of a row


@dataclass(frozen=True)
class Signal:
    """The data in the coordinates of its leading singular vectors.

    Attributes
    ----------
    rows : RowSource
        The rows of the data as ``rank`` coordinates each.
    basis : ndarray of shape (rank, n_features)
        Orthonormal; ``rows @ basis`` is the part of the data inside the span.
    inverse_size : ndarray of shape (n_samples,)
        The mean size over the size of every row, with a guard for tiny and for noisy ones.
    row_noise : ndarray of shape (n_samples,)
        Standard deviation of an entry's noise, row by row.
    noise : float
        The same over all rows; 0 where nothing lies outside the span, NaN where there is no outside.
    outside : float
        Norm of the data outside the span, relative to the norm of the data.
    colour : float
        How much larger the noise inside the span is than outside, at least 1: the deviation along the strongest
        direction outside over that of white noise. Parts that vary from sample to sample make it 3 to 10.
    size : ndarray of shape (rank,)
        The linear function whose value is the size of a row; zero if all count as equally large.
    mean_size : float
        The mean size of a row.
    samples : ndarray of shape (n_samples,) or None
        How often each row counts.
    """

    rows: RowSource
    basis: Array
    inverse_size: Array
    row_noise: Array
    noise: float
    outside: float
    colour: float
    size: Array
    mean_size: float
    samples: Array | None = None

    @property
    def beside(self) -> tuple[Array, ...]:
        """How often each row counts, for passes over the rows."""
        return () if self.samples is None else (self.samples,)

    @property
    def n_samples(self) -> float:
        """How many samples there are, each as often as it counts."""
        return count_of(self.rows, self.samples)

    @property
    def rank(self) -> int:
        """Number of coordinates: what was asked for, or the numerical rank of the data if that is less."""
        return len(self.basis)

    @cached_property
    def relative_noise(self) -> float:
        """The median noise of a row relative to its size."""
        return median(self.row_noise * self.inverse_size, self.samples)

    @property
    def noiseless(self) -> bool:
        """Whether what lies outside the span is no more than rounding errors."""
        return exact(self.outside, self.rows.dtype)


def exact(outside: float, dtype: npt.DTypeLike) -> bool:
    """Whether a norm outside the span, relative to that of the data, is no more than rounding errors."""
    return bool(outside <= NOISELESS_EPS * np.finfo(dtype).eps)


def find_signal(
    source: RowSource, k: int, *, squared_norm: float, rng: np.random.Generator, samples: Array | None = None
) -> Signal:
    """The span of the ``k`` leading singular vectors, the rows in it, and the noise outside.

    Parameters
    ----------
    k : int
        Number of dimensions; fewer come back if the data has lower numerical rank.
    squared_norm : float
        Squared Frobenius norm of the data, samples as often as they count.
    rng : numpy.random.Generator
        Randomness of the search for the span.
    samples : ndarray of shape (n_samples,), optional
        How often each sample counts.

    Returns
    -------
    Signal
        The projected rows and what was found outside.
    """
    k = min(k, *source.shape)  # samples that count twice are fewer than they count
    m, beside = source.shape[1], () if samples is None else (samples,)
    n = count_of(source, samples)
    large = source if samples is None else source.derive(blocks.scale_rows, source.place(np.sqrt(samples)))
    values, basis = truncated_svd(large, k, rng=rng, beyond=1)
    rows = source.project(basis.T)
    # the singular values from the projected rows themselves: those of the Gram matrix are lost below 1e-8
    lengths = np.sqrt(rows.reduce(_column_squares, *beside))
    eps = float(np.finfo(source.dtype).eps)
    keep = lengths > RANK_EPS * eps * np.sqrt(k) * lengths.max(initial=0.0)
    if not keep.all():
        basis = basis[keep]
        rows = source.project(basis.T)
    inside = _squared_norms(rows)
    outside = _squared_norms(source)
    outside -= inside
    if _sum(outside, samples) <= EXACT_BELOW * squared_norm:
        residual = partial(_residual_block, basis=np.ascontiguousarray(basis, source.dtype))
        outside = np.require(source.map_rows(residual, width=None, dtype=np.float64), requirements="W")
    np.maximum(outside, 0.0, out=outside)
    total, freedom = _sum(outside, samples), m - len(basis)
    noise = float(np.sqrt(total / (max(n - len(basis), 1) * freedom))) if freedom else np.nan
    # in place: these are as long as the data
    row_noise = outside
    row_noise += PRIOR_ROWS * np.nan_to_num(noise) ** 2
    row_noise /= freedom + PRIOR_ROWS
    np.sqrt(row_noise, out=row_noise)
    relative = float(np.sqrt(total / squared_norm)) if squared_norm > 0.0 else 0.0
    coloured = len(values) > k and noise > 0.0 and relative > COLOURED and not exact(relative, source.dtype)
    colour = max(1.0, float(values[k]) / white_edge(row_noise, m, samples)) if coloured else 1.0
    size, mean = _size_function(rows, basis, row_noise, samples)
    sizes = np.asarray(rows.map_rows(partial(_sizes, size=size), width=None, dtype=np.float64)) if mean else None
    sizes = np.ones(source.shape[0]) if sizes is None else sizes
    sizes = np.require(sizes, requirements="W")
    mean = mean or 1.0
    usable = sizes > TINY_ROW * mean
    # how long a row of size one is, and so below which size a row is mostly noise
    counted = None if samples is None else samples[usable]
    length = np.sqrt(median(inside[usable] / sizes[usable] ** 2, counted)) if usable.any() else 1.0
    del inside
    sizes[~usable] = mean
    guard = NOISY_ROW * np.sqrt(len(basis)) / (length or 1.0) * row_noise
    inverse = np.divide(mean, np.maximum(sizes, guard, out=sizes), out=sizes)
    return Signal(rows, basis, inverse, row_noise, noise, relative, colour, size, mean, samples)


def nothing(k: int, source: RowSource, state: State | None = None) -> Stages:
    """The whole run of a method on data without a signal: components of zeros."""
    if state is None:
        yield Progress(np.zeros((k, source.shape[1]), source.dtype), 0.0, state={"rank": 0})
    return Stop("settled", cause="zero")


def _sum(values: Array, samples: Array | None) -> float:
    return float(values.sum() if samples is None else samples @ values)


def median(values: Array, samples: Array | None = None) -> float:
    """The middle value, where each may count more than once: the mean of both where half of the weight is at a gap.

    Examples
    --------
    >>> median(np.array([1.0, 2.0, 4.0]), np.array([2.0, 1.0, 1.0]))  # of 1, 1, 2, 4
    1.5
    """
    if samples is None or not samples.any():
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(samples[order])
    half = 0.5 * reached[-1]
    below, above = (np.searchsorted(reached, half, side=side) for side in ("left", "right"))
    return float(0.5 * (values[order[below]] + values[order[min(above, len(order) - 1)]]))


def white_edge(row_noise: Array, m: int, samples: Array | None = None) -> float:
    """The largest singular value of noise that is independent from entry to entry, rows having deviations of their own.

    The edge of the spectrum (Marchenko & Pastur 1967, with these variances v): the least of
    ``h (m + sum_i v_i / (h - v_i))`` over ``h > max v``, which for equal ones is ``v (sqrt n + sqrt m)^2``.

    Parameters
    ----------
    row_noise : ndarray of shape (n,)
        The deviations, some above 0.
    samples : ndarray of shape (n,), optional
        How often each row is there.

    Examples
    --------
    >>> round(white_edge(np.full(400, 0.1), 100), 6)  # 0.1 (20 + 10)
    3.0
    """
    v = (row_noise / row_noise.max()) ** 2
    # h = 1 + e^t; equal ones have their least at e^t = sqrt(n / m), others between that and 1
    last = 0.5 * np.log(max(_sum(np.ones_like(v), samples) / m, 1.0)) + 1.0
    edge = minimize_scalar(lambda t: _edge_at(1.0 + np.exp(t), v, m, samples), bounds=(-20.0, last), method="bounded")
    return float(row_noise.max() * np.sqrt(edge.fun))


def _edge_at(h: float, v: Array, m: int, samples: Array | None) -> float:
    return float(h * (m + _sum(v / (h - v), samples)))


def weight_noise(H: Array, noise: float) -> Array:
    """Standard deviation of the noise in decoded weights, for noise of an entry of the data; 0 for zero components."""
    used = np.linalg.norm(H, axis=1) > 0.0
    found = np.zeros(len(H))
    if used.any():
        # the lengths of the columns of the pseudo-inverse
        found[used] = noise * np.sqrt(np.diag(np.linalg.pinv(H[used] @ H[used].T)))
    return found


def _squared_norms(source: RowSource) -> Array:
    return np.require(source.map_rows(blocks.squared_norms, width=None, dtype=np.float64), requirements="W")


def _size_function(rows: RowSource, basis: Array, row_noise: Array, samples: Array | None) -> tuple[Array, float]:
    """A linear function that is positive on nearly all rows: their sum, or their part along the mean direction.

    Rows of nothing but noise (background pixels, empty samples) are on either side of any function and have no say.
    """
    beside = () if samples is None else (samples,)
    n = max(1.0, count_of(rows, samples))
    mean_direction = rows.reduce(_direction_block, *beside)
    for size in (basis.sum(axis=1), mean_direction):
        total, positive, clear = rows.reduce(partial(_size_block, size=size), row_noise, *beside)
        if positive >= (1.0 - DOUBTFUL) * clear and total > 0.0:
            return size, float(total / n)
    return np.zeros(len(basis)), 0.0


def _column_squares(Y: Block, samples: Array | None = None) -> Array:
    counted = Y if samples is None else Y * samples[:, None]
    return np.asarray(np.einsum("ij,ij->j", counted, Y, dtype=np.float64))


def _residual_block(block: Block, basis: Array) -> Array:
    """Squared norms of the residuals, from the residuals themselves."""
    out = np.empty(block.shape[0])
    for a, b in blocks.row_chunks(block):
        R = blocks.to_dense(block[a:b])
        R = R - (R @ basis.T) @ basis
        out[a:b] = blocks.squared_norms(R)
    return out


def _direction_block(Y: Block, samples: Array | None = None) -> Array:
    lengths = np.sqrt(blocks.squared_norms(Y))
    counted: Any = 1.0 if samples is None else samples
    return np.asarray(np.divide(counted, lengths, out=np.zeros_like(lengths), where=lengths > 0.0) @ Y, np.float64)


def clear_rows(Y: Block, row_noise: Array) -> npt.NDArray[np.bool_]:
    """Which rows are more than noise."""
    return np.asarray(blocks.squared_norms(Y) > CLEAR_ROW * Y.shape[1] * row_noise**2)


def _size_block(Y: Block, row_noise: Array, samples: Array | None = None, *, size: Array) -> tuple[float, float, float]:
    sizes, clear = Y @ size, clear_rows(Y, row_noise)
    return _sum(sizes, samples), _sum(clear & (sizes > 0.0), samples), _sum(clear, samples)


def _sizes(Y: Block, size: Array) -> Array:
    return np.asarray(Y @ size)
