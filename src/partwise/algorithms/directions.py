"""Samples as directions: what is left of them when their size and their noise are taken away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.linalg.svd import truncated_svd
from partwise.noise.spectrum import edge
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

DIMENSIONS = 3  # times as many as parts are looked at: parts vary in more directions than there are parts
TINY = np.finfo(np.float64).tiny
SAMPLES = 20_000  # at most so many are looked at: a mean of a tenth of a part's is then known well enough
SKETCH = 2_500  # and so many while it is decided which starts are worth more
# Share of the samples, those that are like the fewest others, that count alike when crowds count less: some of them are
# like no other and would count most
APART = 0.25


@dataclass(frozen=True)
class Directions:
    """Samples at unit length in the coordinates of their leading singular vectors.

    Attributes
    ----------
    points : ndarray of shape (n_points, d)
        The samples, or some of them.
    basis : ndarray of shape (d, n_features)
        Orthonormal.
    size : float
        Mean length of the samples.
    own : float
        Of the spread of the points along directions beside those of the parts, the share that samples have along any
        direction; the rest is white noise, large there because the largest directions of it were chosen.
    counted : ndarray of shape (n_points,) or float
        What each point counts for in means over points, 1 on average.
    """

    points: Array
    basis: Array
    size: float
    own: float = 1.0
    counted: Array | float = 1.0

    def sketch(self, rng: np.random.Generator, size: int = SKETCH) -> Directions:
        """A few of the points."""
        n = len(self.points)
        if n <= size:
            return self
        some = np.sort(rng.choice(n, size, replace=False))
        counted = np.broadcast_to(self.counted, n)[some]
        return replace(self, points=self.points[some], counted=counted / counted.mean())


def find_directions(source: RowSource, k: int, rng: np.random.Generator, *, even: bool = False) -> Directions:
    """The samples as directions.

    Parameters
    ----------
    rng : numpy.random.Generator
        Randomness of the singular vectors, and which samples are looked at if there are many.
    even : bool
        Whether samples count the less, for the singular vectors and in means, the more others are like them: a part of
        which half of the samples are made has as much of a say as one of few. For data without negative entries,
        whose cosines cannot cancel.

    Returns
    -------
    Directions
        In at most 3 k dimensions.
    """
    n, m = source.shape
    _, span = truncated_svd(source, k, rng=rng)
    measure = partial(_lengths, span=np.ascontiguousarray(span.T, source.dtype))
    lengths, outside = np.asarray(source.map_rows(measure, width=2, dtype=np.float64)).T
    # the noise of a sample: samples of nothing else have no direction and are not drawn out to unit length
    least = max(float(np.median(outside)), np.finfo(source.dtype).eps * lengths.max(initial=0.0), TINY)
    unit = source.derive(blocks.scale_rows, 1.0 / np.maximum(lengths, least))
    factors = _apart(unit) if even else np.ones(n)
    values, basis = truncated_svd(
        unit.derive(blocks.scale_rows, factors) if even else unit, min(DIMENSIONS * k, n, m), rng=rng
    )
    some = np.arange(n) if n <= SAMPLES else np.sort(rng.choice(n, SAMPLES, replace=False))
    Y = unit.take(some)
    points = np.ascontiguousarray(blocks.dot(Y, np.ascontiguousarray(basis.T, Y.dtype)), np.float64)
    # what lies outside is noise: directions are those inside, but for points that have next to nothing there
    inside, spread = np.linalg.norm(points, axis=1), np.linalg.eigvalsh(points.T @ points)[:-k]
    floor = max(np.sqrt(max(float(spread.sum()), 0.0) / len(points)), np.finfo(np.float64).eps)
    points /= np.maximum(inside, floor)[:, None]
    size = float(lengths.mean())
    if even:  # singular vectors are those of squares, so are means
        counted = np.square(factors[some])
        return Directions(points, basis, size, counted=counted / counted.mean())
    squared_norm = float(np.square(np.minimum(lengths / least, 1.0)).sum())
    return Directions(points, basis, size, _own(values[k:], squared_norm - float(values @ values), n, m))


def _apart(unit: RowSource) -> Array:
    """Of every sample one over the sum of its cosines with all, relative to those that are like few others."""
    total = unit.reduce(_sum)
    alike = np.asarray(unit.map_rows(partial(_cosines, total=total), width=None, dtype=np.float64))
    few = float(np.quantile(alike[alike > 0.0], APART))  # samples of nothing are like none, and not by being rare
    return np.asarray(few / np.maximum(alike, few))


def _sum(block: Block) -> Array:
    return blocks.tdot(block, np.ones((block.shape[0], 1), block.dtype))


def _cosines(block: Block, total: Array) -> Array:
    return blocks.dot(block, total)[:, 0]


def _own(values: Array, outside: float, n: int, m: int) -> float:
    """What singular values beside those of the parts have above the end of Marchenko and Pastur's law, and white noise.

    White noise has a variance along directions that are given, and that of the end of the law along its own largest.
    """
    if not len(values) or not values[0] > 0.0:
        return 1.0
    variance, found = max(outside, 0.0) / (n * m), np.square(values)
    above = np.maximum(found - variance * edge(n, m), 0.0) + variance * n
    return float(min(above.mean() / found.mean(), 1.0))


def _lengths(block: Block, span: Array) -> Array:
    """The length of every row, and of what is outside a span."""
    lengths = blocks.norms(block)
    outside = np.sqrt(np.maximum(lengths**2 - blocks.squared_norms(blocks.dot(block, span)), 0.0))
    return np.column_stack([lengths, outside])
