"""A sample of weights as the theorems of AND and Purification take it: scaled into [0, 1]."""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from partwise.exceptions import InputError
from partwise.metrics.checks import EPS, Matrix, Vector
from partwise.sources import RowSource, blocks, inspect
from partwise.sources.protocol import Block

Scale = float | Literal["components"] | None


def column_divisors(source: RowSource, scale: Scale, factors: Vector | None = None) -> tuple[Vector, bool]:
    """Return what to divide the columns by, and whether entries are in [0, 1] then; columns count ``factors``."""
    lowest, highest = source.reduce(_extent_block, combine=_merge_extent)
    if not (np.isfinite(lowest).all() and np.isfinite(highest).all()):
        inspect(source).check(allow_negative=True, name="W", squares=False)  # says where
    factors = np.ones(len(highest)) if factors is None else factors
    largest = np.maximum(np.abs(lowest), np.abs(highest))
    if scale is None:
        divisors = (float((largest * factors).max()) or 1.0) / factors
    elif isinstance(scale, str):
        if scale != "components":
            raise InputError(f"scale={scale!r} is unknown: give a number, 'components' or None.", parameter="scale")
        divisors = np.where(largest > 0.0, largest, 1.0)
    elif 0.0 < scale < np.inf:
        divisors = np.full(len(largest), float(scale))
    else:
        raise InputError(f"scale={scale!r} must be a positive number, 'components' or None.", parameter="scale")
    # to rounding: with factors the largest is divided by a product that is rounded itself
    return divisors, bool(lowest.min() >= 0.0 and (highest / divisors).max() <= 1.0 + 4.0 * EPS)


def recorded(divisors: Vector) -> float | Vector:
    return float(divisors[0]) if (divisors == divisors[0]).all() else divisors


def _extent_block(block: Block) -> tuple[Vector, Vector]:
    """Smallest and largest entry of every column."""
    k = block.shape[1]
    lowest, highest = np.full(k, np.inf), np.full(k, -np.inf)
    for a, b in blocks.row_chunks(block):
        x = blocks.to_dense(block[a:b]).astype(np.float64, copy=False)
        lowest, highest = np.minimum(lowest, x.min(axis=0)), np.maximum(highest, x.max(axis=0))
    return lowest, highest


def _merge_extent(a: tuple[Vector, Vector], b: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])


class Moments(NamedTuple):
    """Of the scaled rows x: their means, their second moments, the largest l1 norm, whether all are of 0 and 1."""

    first: Vector
    second: Matrix
    longest: float
    binary: bool


def moments(source: RowSource, divisors: Vector) -> Moments:
    """Return the moments of the weights, columns divided by ``divisors``, in one pass."""
    found: Moments = source.reduce(partial(_moment_block, divisors=divisors), combine=_merge_moments)
    return found._replace(first=found.first / source.shape[0], second=found.second / source.shape[0])


def _moment_block(block: Block, *, divisors: Vector) -> Moments:
    k = block.shape[1]
    total = Moments(np.zeros(k), np.zeros((k, k)), 0.0, True)
    for a, b in blocks.row_chunks(block):
        x = blocks.to_dense(block[a:b]) / divisors
        binary = bool(((x == 0.0) | (x == 1.0)).all())
        total = _merge_moments(total, Moments(x.sum(axis=0), x.T @ x, float(np.abs(x).sum(axis=1).max()), binary))
    return total


def _merge_moments(a: Moments, b: Moments) -> Moments:
    return Moments(a.first + b.first, a.second + b.second, max(a.longest, b.longest), a.binary and b.binary)


def ratio(a: float, b: float) -> float:
    """``a / b``, infinite where only b is zero, NaN where both are."""
    if b == 0.0:
        return float("nan") if a == 0.0 or np.isnan(a) else float(np.copysign(np.inf, a))
    return a / b
