"""Numbers by which rows are known: the same for rows of the same bits, and for no others but by chance (1 in 2^64)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.sources import blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

MIXING = np.uint64(0x9E3779B97F4A7C15)  # an odd number without a pattern: the golden ratio


def keys(rng: np.random.Generator, n_features: int) -> Array:
    """What the columns are multiplied by."""
    return rng.integers(1 << 63, size=n_features, dtype=np.uint64) * 2 + 1


def of_rows(block: Block, keys: Array) -> Array:
    """A number for every row, zero for an empty one; wherever it stands it is the same for its copies alone."""
    if blocks.is_sparse(block):
        sums = np.append(np.uint64(0), np.cumsum(_mixed(block.data) * keys[block.indices]))
        return np.asarray(sums[block.indptr[1:]] - sums[block.indptr[:-1]])
    parts = [(_mixed(part) * keys).sum(axis=1, dtype=np.uint64) for _, part in blocks.row_parts(block)]
    return np.concatenate([np.zeros(0, np.uint64), *parts])


def _mixed(values: Array) -> Array:
    """Bits of numbers, those at the front, of which short ones have no others, brought to the end as well."""
    bits = (np.asarray(values, np.float64) + 0.0).view(np.uint64) * MIXING
    return bits ^ (bits >> np.uint64(32))
