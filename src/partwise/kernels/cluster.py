"""Sums of rows by their cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit

Array = npt.NDArray[Any]
Index = npt.NDArray[np.signedinteger[Any]]


@jit
def csr_group_sums(indptr: Index, indices: Index, data: Array, groups: Index, sums: Array) -> None:
    """``sums[g] += row`` for every row of group ``g``; a negative group is left out."""
    for i in range(indptr.shape[0] - 1):
        g = groups[i]
        if g >= 0:
            for t in range(indptr[i], indptr[i + 1]):
                sums[g, indices[t]] += data[t]


@jit
def dense_group_sums(block: Array, groups: Index, sums: Array) -> None:
    """The same for a dense block."""
    n, m = block.shape
    for i in range(n):
        g = groups[i]
        if g >= 0:
            for j in range(m):
                sums[g, j] += block[i, j]
