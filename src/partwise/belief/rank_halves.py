"""Which parts come back: trimmed archetypes of two halves of the samples, matched, for one number after another.

Up to the true number all parts are found again in both halves; one part more is made of what is different in each, and
the least cosine between partners falls off a cliff.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.archetypes import search
from partwise.algorithms.directions import DIMENSIONS, Directions
from partwise.belief.rank_rule import AGAIN
from partwise.linalg.svd import truncated_svd
from partwise.metrics import match_components
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

SAMPLES = 4_000  # at most so many are looked at, in both halves together
SPLITS = 3
STARTS = 6  # descents that compete; more of them find the same minimum in both halves a little more often
SKETCH, KEPT = 700, 2  # samples of a half that the starts see, and minima of these that all of the half decides between
TRIM = 0.1  # as Archetypes has it
FLOOR = 0.05  # of the typical length within the leading dimensions: shorter samples have no direction
SMALLEST_HALF = 30  # samples: with fewer a half does not tell parts from samples


@dataclass(frozen=True)
class Halving:
    """One split at one number of parts: the cosines between partners, falling."""

    k: int
    split: int
    cosines: tuple[float, ...]
    seconds: float

    @property
    def least(self) -> float:
        """The cosine of the worst pair."""
        return self.cosines[-1]

    @property
    def again(self) -> int:
        """How many parts are found again."""
        return int(np.sum(np.array(self.cosines) >= AGAIN))


@dataclass(frozen=True)
class Points:
    """Samples at unit length, in the coordinates of their leading singular vectors."""

    coordinates: Array

    @property
    def most(self) -> int:
        """The largest number of parts that there are coordinates for."""
        return max(1, int(self.coordinates.shape[1]) // DIMENSIONS)

    def directions(self, k: int) -> Array:
        """The samples as `Archetypes` looks at them for ``k`` parts."""
        inside = self.coordinates[:, : DIMENSIONS * k]
        lengths = np.linalg.norm(inside, axis=1)
        floor = max(FLOOR * float(np.median(lengths)), np.finfo(np.float64).tiny)
        return np.asarray(inside / np.maximum(lengths, floor)[:, None])

    def cosines(self, k: int, split: int, seed: int) -> tuple[float, ...]:
        """Cosines between partners in the two halves of a split, falling."""
        points = self.directions(k)
        order = np.random.default_rng([seed, split]).permutation(len(points))
        middle = len(order) // 2
        found = []
        for half in (order[:middle], order[middle : 2 * middle]):
            data = Directions(points[half], np.eye(points.shape[1]), 1.0)
            rng = np.random.default_rng([seed, split, k])
            best = search(data, k, trim=TRIM, starts=STARTS, rng=rng, sketch=SKETCH, kept=KEPT).best
            found.append(best.parts)
        return tuple(sorted(map(float, match_components(*found).cosines), reverse=True))


def points_of(source: RowSource, most: int, rng: np.random.Generator) -> Points:
    """The samples, or some thousands of them, as directions.

    Parameters
    ----------
    source : RowSource
        Rows whose noise has one size, if that can be had.
    most : int
        The largest number of parts that is asked about.
    rng : numpy.random.Generator
        Which samples, and the first subspace.

    Returns
    -------
    Points
        In three times as many dimensions as parts.
    """
    n, m = source.shape
    lengths = np.asarray(source.map_rows(blocks.norms, width=None, dtype=np.float64))
    some = lengths > 0.0
    typical = float(np.median(lengths[some])) if some.any() else 1.0
    if some.sum() > SAMPLES:
        chosen = rng.choice(np.flatnonzero(some), SAMPLES, replace=False)
        some[:] = False
        some[chosen] = True
    unit = source.derive(blocks.scale_rows, source.place(1.0 / np.maximum(lengths, 1e-3 * typical)))
    _, basis = truncated_svd(unit, min(DIMENSIONS * most, n, m), rng=rng, tol=1e-4)
    inside = partial(_inside, V=np.ascontiguousarray(basis.T, source.dtype))
    coordinates = unit.choose(some).map_rows(inside, width=len(basis), dtype=np.float64)
    return Points(np.ascontiguousarray(coordinates, np.float64))


def _inside(block: Block, V: Array) -> Array:
    return np.asarray(blocks.dot(block, V), np.float64)
