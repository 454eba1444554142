"""Order statistics of every column, exact, by passes: nothing is sorted and nothing is gathered."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels.order import count_digits, count_positive
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]

BITS = 63  # of a positive double, as an integer that grows with it
COUNT_BYTES = 64 << 20  # for the counts of one pass: 8 bits of the search a pass for up to 32,768 statistics


def kth_largest(source: RowSource, ranks: npt.ArrayLike, groups: Rows | None = None) -> Array:
    """The ``ranks[g]``-th largest entry of every column among the rows of group ``g``.

    The bits of positive doubles, read as integers, grow with them, so the wanted entry is found a few bits at a time:
    a pass counts, for every column and group, the entries that share the bits known so far by their next ones.  Only
    those with enough positive entries take part, which on sparse data are few.

    Parameters
    ----------
    ranks : array-like of int, shape (n_groups,)
        Which entry of each group, from 1, the largest.
    groups : row-aligned vector of int, optional
        Group of each row, -1 for none; by default all rows are in group 0.

    Returns
    -------
    ndarray of shape (n_groups, n_features)
        Zero where fewer than ``ranks[g]`` entries are positive.
    """
    ranks = np.atleast_1d(np.asarray(ranks, np.int64))
    if groups is None:
        groups = np.zeros(source.shape[0], np.int32)
    positive = source.reduce(partial(_positive_block, n_groups=len(ranks)), groups)
    group, column = np.nonzero(positive >= np.maximum(ranks, 1)[:, None])
    cells = np.full(positive.shape, -1, np.int32)
    cells[group, column] = np.arange(len(group), dtype=np.int32)

    # counted from below, so that the digits are searched in their own order
    rank = positive[group, column] - ranks[group] + 1
    prefixes = np.zeros(len(group), np.int64)
    width = int(np.clip(np.log2(COUNT_BYTES / 8 / max(1, len(group))), 1, 8))
    shift = BITS
    last = 0 if source.dtype == np.float64 else 29  # the lowest bit that a number of this type can set
    while len(group) and shift > last:
        step = min(width, shift - last)
        shift -= step
        counts = source.reduce(
            partial(_digits_block, cells=cells, prefixes=prefixes, shift=shift, width=step, n_cells=len(group)), groups
        )
        below = np.cumsum(counts, axis=1)
        digit = (below < rank[:, None]).sum(axis=1)
        rank -= np.where(digit > 0, below[np.arange(len(group)), digit - 1], 0)
        prefixes = (prefixes << step) | digit
    found = np.zeros(positive.shape)
    found[group, column] = (prefixes << shift).view(np.float64)
    return found


def _positive_block(block: Block, groups: Array, *, n_groups: int) -> Array:
    counts = np.zeros((n_groups, block.shape[1]), np.int64)
    count_positive(*blocks.triple(block), groups, counts)
    return counts


def _digits_block(
    block: Block, groups: Array, *, cells: Array, prefixes: Array, shift: int, width: int, n_cells: int
) -> Array:
    counts = np.zeros((n_cells, 1 << width), np.int64)
    indptr, indices, data = blocks.triple(block)
    bits = np.ascontiguousarray(data, np.float64).view(np.int64)
    count_digits(indptr, indices, bits, groups, cells, prefixes, shift, width, counts)
    return counts
