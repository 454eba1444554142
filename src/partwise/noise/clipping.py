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
NEAR = 0.5  # of the largest: the next value below is no other kind of entry, such as zero
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
    if below < NEAR * ceiling or _ends(values, ceiling, below)[1] <= TIMES * np.count_nonzero(values == below):
        return NONE
    at, count, rows, beside = source.reduce(partial(_ends, ceiling=ceiling, below=below), combine=add)
    full = source.shape[0] - there.zero_rows, source.shape[1] - there.zero_columns
    # one in each row, or in each column: the table was divided by these
    if count < LEAST or count <= TIMES * beside or (count in full and count in (rows, np.count_nonzero(at))):
        return NONE
    first = np.argsort(-at, kind="stable")[: min(SHOWN, np.count_nonzero(at))]
    return Clipped(int(count), ceiling, tuple(map(int, first)))


def _ends(block: Block, ceiling: float, below: float) -> tuple[Array, int, int, int]:
    """Of the largest value how many are in each column, in all, and in how many rows; and of the next one below."""
    values = blocks.values(block)
    at = blocks.with_values(block, (values == ceiling).astype(np.float64))
    in_rows = blocks.row_sums(at)
    in_columns = blocks.tdot(at, np.ones((block.shape[0], 1)))[:, 0]
    return in_columns, int(in_rows.sum()), int(np.count_nonzero(in_rows)), int(np.count_nonzero(values == below))
