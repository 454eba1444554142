"""How far a threshold may fall: what the decoded weights themselves say of their error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels.histogram import edges, magnitudes
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

FIRST_THRESHOLD, FIRST_MARGIN = 0.1, 2.0  # as in the paper, or this times the decoding error if that is less
QUANTILE = 0.99  # of the negative weights: nearly the largest error, without the say of a few outliers


@dataclass(frozen=True)
class Adaptive:
    """Thresholds that fall as fast as the decoding error does, but always fall.

    There are no negative weights, so a quantile of the negative decoded ones is an estimate of the decoding error for
    which no truth is needed (AND's Theorem 4 asks for a threshold that is a power of that error).

    Attributes
    ----------
    slowest, fastest : float
        The threshold falls by a factor between these in a stage,
    share : float
        but by more than the slowest only down to this share of the decoding error.
    """

    slowest: float
    fastest: float
    share: float

    def next(self, last: Array | None, error: Array) -> Array:
        """The thresholds after ``last``, relative to the largest weight of every component."""
        if last is None:
            # without negative weights nothing is known of the error: the start may hold all the data in its cone
            return np.where(error > 0.0, np.minimum(FIRST_THRESHOLD, FIRST_MARGIN * error), FIRST_THRESHOLD)
        return np.minimum(last / self.slowest, np.maximum(last / self.fastest, self.share * error))


@dataclass(frozen=True)
class Look:
    """The sizes of decoded weights.

    Attributes
    ----------
    counts : ndarray of shape (2, k, bins)
        How many weights of each sign and component are how large.
    unit : ndarray of shape (k,)
        The largest weight of each component (1 if none is positive).
    """

    counts: Array
    unit: Array

    @property
    def error(self) -> Array:
        """A quantile of the negative parts of the weights of every component, relative to its unit.

        Every component has its own: one that is still wrong must not be hurried by many that are right.
        """
        above = np.cumsum(self.counts[1][:, ::-1], axis=1)[:, ::-1]
        full = above > (1.0 - QUANTILE) * self.counts.sum(axis=(0, 2))[:, None]
        last = full.shape[1] - 1 - np.argmax(full[:, ::-1], axis=1)
        return np.where(full.any(axis=1), edges()[last], 0.0) / self.unit

    @property
    def worst(self) -> float:
        """The size of the most negative weight, relative to the unit of its component; 0 if there is none."""
        full = self.counts[1] > 0
        last = full.shape[1] - 1 - np.argmax(full[:, ::-1], axis=1)
        return float((np.where(full.any(axis=1), edges()[last], 0.0) / self.unit).max(initial=0.0))

    def above(self, share: float) -> int:
        """How many weights are more than this share of the largest of their component."""
        return int(self.counts[0][edges() > share * self.unit[:, None]].sum())

    def level(self, least: int) -> Array:
        """For every component a level below which at least so many weights lie; 0 if that many are negative."""
        negative = self.counts[1].sum(axis=1)
        below = np.cumsum(self.counts[0], axis=1) + negative[:, None]
        first = np.argmax(below >= np.minimum(least, below[:, -1:]), axis=1)
        return np.where(negative >= least, 0.0, edges()[first])


def look(rows: RowSource, inverse_size: Array, P: Array) -> Look:
    """Decode all rows with ``P`` and count how large their weights are: one pass."""
    fn = partial(_look_block, P=np.ascontiguousarray(P, rows.dtype))
    counts, largest = rows.reduce(fn, inverse_size, combine=_merge)
    return Look(counts, np.where(largest > 0.0, largest, 1.0))


def relative_weights(block: Block, inverse_size: Array, P: Array) -> Array:
    """Decoded weights relative to the size of their sample."""
    return np.asarray(blocks.dot(block, P), np.float64) * inverse_size[:, None]


def _look_block(block: Block, inverse_size: Array, *, P: Array) -> tuple[Array, Array]:
    V = relative_weights(block, inverse_size, P)
    return magnitudes(V), V.max(axis=0, initial=-np.inf)


def _merge(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    return a[0] + b[0], np.maximum(a[1], b[1])
