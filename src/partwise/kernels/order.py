"""How many entries of a cell share the leading bits of its wanted order statistic: one pass of a radix search."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit

Array = npt.NDArray[Any]
Index = npt.NDArray[np.signedinteger[Any]]


@jit
def count_positive(indptr: Index, indices: Index, data: Array, groups: Index, counts: Array) -> None:
    """Add to ``counts`` (group, column) the positive entries of every row; a negative group is left out."""
    for i in range(indptr.shape[0] - 1):
        g = groups[i]
        if g >= 0:
            for t in range(indptr[i], indptr[i + 1]):
                if data[t] > 0.0:
                    counts[g, indices[t]] += 1


@jit
def count_digits(
    indptr: Index,
    indices: Index,
    bits: Array,
    groups: Index,
    cells: Index,
    prefixes: Array,
    shift: int,
    width: int,
    counts: Array,
) -> None:
    """Add to ``counts`` (cell, digit) the positive entries whose bits above ``shift + width`` are their cell's prefix.

    ``bits`` are those of doubles; ``cells[group, column]`` numbers the cells, -1 for those that nobody asks about.
    """
    mask = (1 << width) - 1
    for i in range(indptr.shape[0] - 1):
        g = groups[i]
        if g < 0:
            continue
        for t in range(indptr[i], indptr[i + 1]):
            v = bits[t]
            c = cells[g, indices[t]]
            if v > 0 and c >= 0 and (v >> (shift + width)) == prefixes[c]:
                counts[c, (v >> shift) & mask] += 1
