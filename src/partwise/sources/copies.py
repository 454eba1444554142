"""Copies of the data in memory: its rows, and its columns as rows, for methods that update features one by one."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from partwise.sources import blocks
from partwise.sources.memory import BlockedSource, DerivedSource, MemorySource
from partwise.sources.protocol import Block, RowSource

# Non-zero entries up to which both copies are made, 24 bytes each: 1.6 GB.  By the data alone, never by the machine or
# by where the rows live: a fit gives the same bits everywhere.
MOST_COPIED = 1 << 26
PARTS = 16  # blocks of each copy: enough for the threads of most machines, and the same on all


def both_ways(source: RowSource, nonzero: int) -> tuple[BlockedSource, BlockedSource] | None:
    """The samples and the features of the data, as sparse rows in memory; None where that is too much of it.

    Parameters
    ----------
    nonzero : int
        Its entries other than zero.

    Returns
    -------
    tuple of BlockedSource, or None
        In double precision. Sparse data that is in memory as such is not copied for the first.
    """
    if nonzero > MOST_COPIED:
        return None
    if isinstance(source, MemorySource):
        X = blocks.counts(source.X)
    else:
        X = blocks.stack(source.reduce(_listed, combine=_joined))
    return _parted(X), _parted(sp.csr_array(X.T.tocsr()))


def with_columns(source: RowSource) -> RowSource:
    """Sparse rows in memory, with the columns of every block beside it: products with them take half the time.

    The copy is as large as the data, and counts: above ``MOST_COPIED`` entries there is none.  Rows on disk or on a
    cluster stay as they are, and so do dense ones.  The bits of results are the same with and without.
    """
    if not isinstance(source, BlockedSource) or not source.in_memory:
        return source
    parts = [source.block(i) for i in range(len(source.bounds))]
    if not all(map(blocks.is_sparse, parts)) or sum(part.nnz for part in parts) > MOST_COPIED:
        return source
    return _Columned(source, [blocks.with_columns(part) for part in parts])


def in_single_precision(source: RowSource, nonzero: int) -> RowSource:
    """The same rows in single precision: half of the traffic, twice the numbers an instruction.

    A copy where the data is in memory and has no more than ``MOST_COPIED`` entries, else made in every pass: the same
    bits.

    Parameters
    ----------
    nonzero : int
        Its entries other than zero.
    """
    if isinstance(source, BlockedSource) and nonzero > MOST_COPIED:
        return DerivedSource(source, blocks.single, (), None, np.float32)
    return source.derive(blocks.single, dtype=np.float32)


class _Columned(BlockedSource):
    """The rows of another source, cut once, with their columns."""

    in_memory = True

    def __init__(self, source: BlockedSource, parts: list[Block]) -> None:
        self.shape, self.dtype, self.bounds = source.shape, source.dtype, source.bounds
        self.feature_names, self.sample_names = source.feature_names, source.sample_names
        self.parts = parts

    def block(self, i: int) -> Block:
        """See :class:`BlockedSource`."""
        return self.parts[i]


def _parted(X: Block) -> BlockedSource:
    """Cut once, not in every pass: that takes a tenth of the time of a round."""
    return MemorySource(X, block_rows=max(1, -(-X.shape[0] // PARTS))).derive(blocks.counts)


def _listed(block: Block) -> list[Block]:
    return [blocks.counts(block)]


def _joined(a: list[Block], b: list[Block]) -> list[Block]:
    return a + b
