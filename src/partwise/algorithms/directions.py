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
    """

    points: Array
    basis: Array
    size: float
    own: float = 1.0

    def sketch(self, rng: np.random.Generator, size: int = SKETCH) -> Directions:
        """A few of the points."""
        n = len(self.points)
        if n <= size:
            return self
        some = np.sort(rng.choice(n, size, replace=False))
        return replace(self, points=self.points[some])


def find_directions(source: RowSource, k: int, rng: np.random.Generator) -> Directions:
    """The samples as directions.

    Parameters
    ----------
    source : RowSource
        The data.
    k : int
        Number of parts.
    rng : numpy.random.Generator
        Randomness of the singular vectors, and which samples are looked at if there are many.

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
    values, basis = truncated_svd(unit, min(DIMENSIONS * k, n, m), rng=rng)
    some = np.arange(n) if n <= SAMPLES else np.sort(rng.choice(n, SAMPLES, replace=False))
    Y = unit.take(some)
    points = np.ascontiguousarray(blocks.dot(Y, np.ascontiguousarray(basis.T, Y.dtype)), np.float64)
    # what lies outside is noise: directions are those inside, but for points that have next to nothing there
    inside, spread = np.linalg.norm(points, axis=1), np.linalg.eigvalsh(points.T @ points)[:-k]
    floor = max(np.sqrt(max(float(spread.sum()), 0.0) / len(points)), np.finfo(np.float64).eps)
    points /= np.maximum(inside, floor)[:, None]
    squared_norm = float(np.square(np.minimum(lengths / least, 1.0)).sum())
    return Directions(
        points, basis, float(lengths.mean()), _own(values[k:], squared_norm - float(values @ values), n, m)
    )


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
