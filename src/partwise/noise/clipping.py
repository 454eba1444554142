"""Readings that end at one value: a detector that is saturated, or a table that was cut off.

The largest of readings that do not end is there once, or of rounded ones about as often as the next one below. Where
most others are zero, or each row or column was divided by its largest, the largest is there often by itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from partwise.noise.sampling import Sample
from partwise.sources import RowSource, add, blocks, inspect
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

TIMES = 4  # as often as the next value below: so many more are not there by chance, from one of them on
LEAST = 10  # entries
NEAR = 0.5  # of the largest: the next value below is no other kind of entry, such as zero, or 1 of 0, 1 and 2
SHOWN = 10  # features


class Clipped(NamedTuple):
    """Entries that are the largest value: how many, what that is, and in which features most."""

    entries: int
    ceiling: float
    features: tuple[int, ...]


NONE = Clipped(0, 0.0, ())


def clipped(source: RowSource, sample: Sample) -> Clipped:
    """Whether readings end at the largest value; one more pass over the data, if they do so in a sample of it.

    Parameters
    ----------
    source : RowSource
        The data.
    sample : Sample
        Some of it.

    Returns
    -------
    Clipped
        Of no entries, if they do not.
    """
    there, values = inspect(source), sample.X
    ceiling = there.largest
    below = float(np.max(values, where=values < ceiling, initial=0.0))
    here = np.count_nonzero(values == ceiling), np.count_nonzero(values == below)
    if below <= NEAR * ceiling or here[0] <= TIMES * here[1]:
        return NONE
    step = partial(_ends, ceiling=ceiling, below=below)
    in_rows, (in_columns, beside) = source.map_rows(step, width=None, dtype=np.int64, combine=add)
    count = int(in_columns.sum())
    divided = _once_in_all(np.asarray(in_rows), source.shape[0] - there.zero_rows)
    divided = divided or _once_in_all(in_columns, source.shape[1] - there.zero_columns)
    if count < LEAST or count <= TIMES * beside or divided:
        return NONE
    first = np.argsort(-in_columns, kind="stable")[: min(SHOWN, np.count_nonzero(in_columns))]
    return Clipped(count, ceiling, tuple(map(int, first)))


def _ends(block: Block, ceiling: float, below: float) -> tuple[Array, tuple[Array, int]]:
    """Of the largest value how many are in each row and column; and of the next one below how many there are."""
    values = blocks.values(block)
    at = blocks.with_values(block, (values == ceiling).astype(np.float64))
    in_columns = blocks.tdot(at, np.ones((block.shape[0], 1)))[:, 0]
    return blocks.row_sums(at).astype(np.int64), (in_columns, int(np.count_nonzero(values == below)))


def _once_in_all(found: Array, full: int) -> bool:
    """Whether the largest is in each row (or column) that has anything, in most of them once: they were divided by it.

    Whole numbers have ties, and columns of yes and no have it often.
    """
    there = found[found > 0]
    return len(there) == full and float(np.median(there)) == 1.0
