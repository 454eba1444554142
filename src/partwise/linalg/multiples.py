"""Numbers that are whole multiples of one: counts that were divided by something."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.sources import blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

WHOLE = 1e-5  # of the largest of a row: within this a number is a multiple of the unit; float32 has seven digits
TYPICAL = 1e3  # a table whose typical entry is more units than this has no counts


def least_steps(block: Block) -> Array:
    """The least step between entries of every row, zero being one of them; one where all are zero.

    Of counts that were divided by something it is one count, unless the row has none that differ by one.
    """
    ends, _, x = blocks.triple(block)
    lengths = np.diff(ends)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    x = np.asarray(x, np.float64)
    x = x[np.lexsort((x, rows))]
    before = np.append(0.0, x[:-1])
    filled = np.flatnonzero(lengths > 0)
    firsts = ends[:-1][filled]
    before[firsts] = 0.0
    if not len(filled):
        return np.ones(len(lengths))
    largest = np.zeros(len(lengths))
    largest[filled] = np.maximum.reduceat(x, firsts)
    steps = x - before
    steps[steps <= WHOLE * largest[rows]] = np.inf  # the same number, but for rounding
    found = np.full(len(lengths), np.inf)
    found[filled] = np.minimum.reduceat(steps, firsts)
    # once more from all entries: a step is a difference, and has the rounding errors of both
    whole = np.round(x / found[rows])
    above = np.bincount(rows, x * whole, len(lengths))
    below = np.bincount(rows, whole * whole, len(lengths))
    return np.divide(above, below, out=np.ones(len(lengths)), where=below > 0.0)
