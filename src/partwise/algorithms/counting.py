"""What a document says about the co-occurrence of its words, and the sums of that over a block of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from partwise.sources import blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]
Weighting = Literal["length", "equal"]


@dataclass(frozen=True)
class Counting:
    """What a document says about co-occurrence.

    Parameters
    ----------
    weighting : {"length", "equal"}
        The say of a document.
    unbiased : bool
        Whether rows are counts of words that were drawn (pairs are of different words of the document, and there are
        none in a document of less than two), or exact frequencies of any scale.
    """

    weighting: Weighting = "length"
    unbiased: bool = True

    def per_pair(self, lengths: Array) -> tuple[Array, Array]:
        """The factor of the pairs of each document, zero if it is dropped; and its say in all."""
        pairs = lengths * (lengths - 1.0) if self.unbiased else lengths**2
        kept = lengths >= 2.0 if self.unbiased else lengths > 0.0
        say = np.ones_like(lengths)
        if self.weighting == "length":
            say = lengths - 1.0 if self.unbiased else lengths
        factor = np.divide(say, pairs, out=np.zeros_like(lengths), where=kept)
        return factor, np.where(kept, say, 0.0)


def _lengths(block: Block, counting: Counting) -> tuple[Array, Array, Array]:
    lengths = blocks.row_sums(block)
    return lengths, *counting.per_pair(lengths)


def count_block(block: Block, counting: Counting) -> tuple[float, int, float, Array, Index, Array]:
    lengths, factor, say = _lengths(block, counting)
    x = blocks.values(block).astype(np.float64)
    present = blocks.with_values(block, (x > 0.0).astype(np.float64))
    kept = (factor > 0.0).astype(np.float64)
    sums = blocks.tdot(block, (factor * lengths)[:, None])[:, 0].astype(np.float64)
    selves = np.zeros(block.shape[1])
    if counting.unbiased:  # min: of a number below one, which is no count, no pair is left, and not less
        selves = blocks.tdot(blocks.with_values(block, np.minimum(x, x * x)), factor[:, None])[:, 0]
    documents = blocks.tdot(present, kept[:, None])[:, 0].astype(np.int64)
    return float(say.sum()), int((factor == 0.0).sum()), float((lengths * kept).sum()), sums, documents, selves


def dot_block(block: Block, M: Array, counting: Counting) -> Array:
    _, factor, _ = _lengths(block, counting)
    return blocks.tdot(block, factor[:, None] * blocks.dot(block, M))


def matrix_block(block: Block, counting: Counting) -> sp.csr_array:
    x = sp.csr_array(block, dtype=np.float64)
    _, factor, _ = _lengths(block, counting)
    return sp.csr_array(x.T @ blocks.scale_rows(x, factor))


def row_sums_block(block: Block, chosen: Array, counting: Counting) -> Array:
    """Sums over documents of the rows of ``E T T'``, chosen rows, and ``E T' T``, of one of its floor(l / 2) pairs.

    ``T = (e f' + f e') / 2`` for the pair of words e and f, chosen rows of it; divided by the number of the pairs.
    """
    x: Any = sp.csr_array(block, dtype=np.float64)
    lengths, factor, _ = _lengths(block, counting)
    each = np.divide(factor, lengths // 2, out=np.zeros_like(factor), where=factor > 0.0)
    twice = x.copy()
    twice.data = x.data**2 - np.minimum(x.data, x.data**2)  # both words are the same one
    twins = each @ twice
    left = 0.5 * ((each * (lengths - 1.0)) @ x - twins) + twins
    right = 0.5 * ((each * (x @ chosen)) @ x - each @ x * chosen - twins * chosen) + twins * chosen
    return np.stack([left, right])
