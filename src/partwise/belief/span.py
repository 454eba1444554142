"""The data in the coordinates of the parts, and the noise that these coordinates have.

Every factorization ``X ~ W' H'`` that fits as well as ``W H`` has its parts in the same k dimensions: ``H' = T H`` and
``W' = W T^-1`` with a k x k matrix T. So once the rows are k numbers each, the rest is a question about T. What is held
in memory is these numbers, ``8 n k`` bytes, and arrays of the size of the parts, wherever the data itself lives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.belief.opening import sums
from partwise.exceptions import InputError
from partwise.linalg.svd import truncated_svd
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

EXACT = 1e-20  # share of squares outside k dimensions that is rounding alone: 1e-10 of the entries
DEPENDENT = 1e-10  # singular value of unit parts, below which they do not span k dimensions
# share of a direction of the weights that may be put down to noise before a standard error has no meaning: what is
# left of the signal is then a fifth, and the first-order error is off by about as much as it says
NOISY = 0.8


@dataclass(frozen=True)
class Variance:
    """Variance of an entry of the data: ``floor + slope * mean``, where rows and columns are divided by their scales.

    The mean is ``sum_a rows[i, a] columns[f, a]``. A slope of zero is noise of one size, a floor of zero counts. Where
    entries are unknown, what is known of a row or column tells so many times less of it (`row_loss`, `column_loss`).
    """

    floor: float
    slope: float
    rows: Array  # (n, k)
    columns: Array  # (m, k)
    row_loss: Array | None = None  # (n,)
    column_loss: Array | None = None  # (m,)

    def of_rows(self) -> Array:
        """Coefficients of the forms below for every row: the floor, and the slope times each part's amount."""
        return _coefficients(self.floor, self.slope, self.rows, self.row_loss)

    def of_columns(self) -> Array:
        """The same for every column."""
        return _coefficients(self.floor, self.slope, self.columns, self.column_loss)


@dataclass(frozen=True)
class Span:
    """A fit as a point of the k x k matrices.

    Attributes
    ----------
    parts : ndarray of shape (n_components, n_features)
        Parts in the span of the data, scaled by columns; ``parts * columns`` sums to one for each.
    weights : ndarray of shape (n_samples, n_components)
        Least-squares weights of the scaled rows, of any sign.
    columns, rows : ndarray
        What columns and rows were divided by.
    variance : Variance or None
        The noise; None if there is none.
    outside : float
        Share of the squares of the (scaled) data outside the k dimensions.
    """

    parts: Array
    weights: Array
    columns: Array
    rows: Array
    variance: Variance | None
    outside: float

    @property
    def k(self) -> int:
        """Number of parts."""
        return len(self.parts)

    @property
    def shapes(self) -> Array:
        """The parts in the units of the data, each of sum one."""
        return self.parts * self.columns

    @property
    def amounts(self) -> Array:
        """Total amount of each part in the data, of either sign."""
        result: Array = self.rows @ self.weights
        return result

    def weight_forms(self) -> Array:
        """Of the covariance of a row's weights, the matrix that goes with each coefficient of its variance."""
        assert self.variance is not None
        P = np.linalg.pinv(self.parts)
        each = np.ones((len(P), 1)) if self.variance.slope == 0.0 else np.c_[np.ones(len(P)), self.variance.columns]
        result: Array = np.einsum("fa,fi,fj->aij", each, P, P)
        return result

    def part_forms(self) -> Array:
        """Of the covariance of a feature's entries in the parts, the same.

        Weights have noise themselves: with S = U'U without it, loadings of a principal component analysis have the
        covariance ``S^-1 (U' V U) S^-1`` to first order, V being the variance of the column.
        """
        assert self.variance is not None
        U, n = self.weights, len(self.weights)
        gram = U.T @ U
        noise = np.einsum("a,aij->ij", self.variance.of_rows().sum(axis=0), self.weight_forms())
        L = np.linalg.cholesky(gram)
        share, Q = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, noise).T))
        B = np.linalg.solve(L.T, Q)  # S^-1 = B (1 - share)^-1 B'
        inverse = (B / (1.0 - np.minimum(share, NOISY))) @ B.T
        each = np.ones((n, 1)) if self.variance.slope == 0.0 else np.c_[np.ones(n), self.variance.rows]
        UV = U @ inverse
        result: Array = np.einsum("na,ni,nj->aij", each, UV, UV, optimize=True)
        return result


def span_of(source: RowSource, H: Array, noise: Any, rng: np.random.Generator) -> Span:
    """The data in the coordinates of the parts ``H``.

    Parameters
    ----------
    H : ndarray of shape (n_components, n_features)
        The parts.
    noise : None, float or object
        See `feasible_bands`.
    rng : numpy.random.Generator
        For the search of the span.

    Returns
    -------
    Span
        It.
    """
    rows, columns, deviation = _scales(noise, source.shape)
    if not (np.all(rows == 1.0) and np.all(columns == 1.0)):
        source = source.derive(partial(_scaled_block, columns=columns), source.place(rows))
    k = len(H)
    K = H / sums(H)[:, None] / columns
    _, V = truncated_svd(source, k, rng=rng)
    K = K @ V.T @ V
    lengths = np.linalg.norm(K, axis=1, keepdims=True)  # none of a part outside the span
    shortest = np.linalg.svd(K / np.where(lengths > 0.0, lengths, 1.0), compute_uv=False)[-1]
    if not shortest > DEPENDENT:
        raise InputError(
            f"{{parameter}}: the {k} parts do not span {k} dimensions of the data (least singular value "
            f"{shortest:.1e}), so none of them is determined; ask with fewer parts",
            parameter="model",
            kind="dependent",
        )
    K = K / sums(K * columns)[:, None]
    U = np.asarray(source.map_rows(partial(_weights_block, P=np.linalg.pinv(K)), width=k, dtype=np.float64))
    variance, outside = noise_outside(source, U, K, rows, columns, deviation)
    return Span(K, U, columns, rows, variance, outside)


def _scales(noise: Any, shape: tuple[int, int]) -> tuple[Array, Array, float | None]:
    """Scales of rows and columns, and the deviation of the scaled noise if it is given."""
    n, m = shape
    if getattr(noise, "kind", None) == "none":  # measured, and found to be none: what is left says the same
        noise = None
    if noise is None or np.isscalar(noise):
        if noise is not None and not (isinstance(noise, (int, float, np.number)) and np.isfinite(noise) and noise >= 0):
            raise InputError(
                f"{{parameter}} must be None, a deviation of at least 0 or a noise that was measured, got {noise!r}",
                parameter="noise",
            )
        return np.ones(n), np.ones(m), None if noise is None else float(noise)
    scales = [getattr(noise, name, None) for name in ("row_scale", "column_scale")]
    if all(scale is None for scale in scales):
        raise InputError(
            f"{{parameter}} must be None, a number or have row_scale and column_scale; got {type(noise).__name__}",
            parameter="noise",
        )
    found = [np.ones(size) if scale is None else np.ravel(scale) for scale, size in zip(scales, shape, strict=True)]
    for scale, size, name in zip(found, shape, ("row_scale", "column_scale"), strict=True):
        if scale.shape != (size,) or not (np.isfinite(scale).all() and (scale > 0.0).all()):
            raise InputError(
                f"{{parameter}}.{name} must be {size} positive numbers, got shape {scale.shape}", parameter="noise"
            )
    return found[0], found[1], None


def noise_outside(
    source: RowSource,
    U: Array,
    K: Array,
    rows: Array,
    columns: Array,
    deviation: float | None,
    known: int | None = None,
) -> tuple[Variance | None, float]:
    """The noise from what is left outside the span, by weighted least squares on the mean; and the share outside.

    So many entries are ``known`` of rows with holes.
    """
    n, m = source.shape
    k, count = len(K), n * m if known is None else known
    r, c = np.maximum(U, 0.0) / rows[:, None], np.maximum(K, 0.0).T / columns[:, None]
    middle = float(r.mean(axis=0) @ c.mean(axis=0)) * k
    left, norm, moments = source.reduce(
        partial(_moments_block, K=K, c=c, middle=middle or 1.0, holes=known is not None),
        source.place(U),
        source.place(r),
    )
    outside = float(left / norm) if norm > 0.0 else 0.0
    if deviation == 0.0 or (deviation is None and outside <= EXACT):
        return None, outside
    if deviation is not None:
        return Variance(deviation**2, 0.0, r, c), outside
    free = max(count - k * (n + m - k), 1) / count  # k dimensions of both sides went into the fit
    ones, mean, square, residual, product = (float(x) for x in moments)
    floor, slope = _nonnegative_line(ones, mean, square, residual / free, product / free)
    return Variance(floor, slope, r, c), outside


def _nonnegative_line(ones: float, mean: float, square: float, residual: float, product: float) -> tuple[float, float]:
    """The floor and the slope of a line through weighted moments, neither negative."""
    determinant = ones * square - mean**2
    if determinant > 1e-9 * ones * square:
        floor = (square * residual - mean * product) / determinant
        slope = (ones * product - mean * residual) / determinant
        if floor > 0.0 and slope > 0.0:
            return floor, slope
        if floor <= 0.0:
            return 0.0, product / square
    return residual / ones, 0.0


def _moments_block(
    block: Block, U: Array, r: Array, *, K: Array, c: Array, middle: float, holes: bool
) -> tuple[float, float, Array]:
    """Squares of the residual and of the data, and moments of both beside the mean, weighted for relative errors."""
    left = norm = 0.0
    moments = np.zeros(5)
    for a, b in blocks.row_chunks(block):
        part = block[a:b]
        Y = blocks.to_dense(blocks.zeroed(part) if holes else part)
        R2 = (Y - U[a:b] @ K) ** 2
        mean = r[a:b] @ c.T
        w = (middle + mean) ** -2.0
        if holes:
            M = blocks.to_dense(blocks.known(part))
            R2, w = M * R2, M * w
        wm = w * mean
        left, norm = left + float(R2.sum()), norm + float(np.square(Y, dtype=np.float64).sum())
        moments += [w.sum(), wm.sum(), (wm * mean).sum(), (w * R2).sum(), (wm * R2).sum()]
    return left, norm, moments


def _coefficients(floor: float, slope: float, amounts: Array, loss: Array | None) -> Array:
    first = np.full((len(amounts), 1), floor)
    found = first if slope == 0.0 else np.c_[first, slope * amounts]
    return found if loss is None else found * loss[:, None]


def _scaled_block(block: Block, rows: Array, *, columns: Array) -> Block:
    return blocks.scale_columns(blocks.scale_rows(block, 1.0 / rows), 1.0 / columns)


def _weights_block(block: Block, *, P: Array) -> Array:
    return blocks.dot(block, P).astype(np.float64)
