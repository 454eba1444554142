"""One look at every entry of a block: what is not finite, what negative, which rows and columns are empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit

Array = npt.NDArray[np.floating[Any]]
Index = npt.NDArray[np.signedinteger[Any]]
Flags = npt.NDArray[np.bool_]


@jit
def scan_values(values: Array) -> tuple[int, int, float, float, float]:
    """First non-finite and first negative position (or -1), largest magnitude, sum, sum of squares."""
    bad = -1
    negative = -1
    largest = 0.0
    total = 0.0
    squares = 0.0
    for t in range(values.shape[0]):
        v = float(values[t])
        if not np.isfinite(v):
            if bad < 0:
                bad = t
        else:
            if v < 0.0 and negative < 0:
                negative = t
            largest = max(largest, abs(v))
            total += v
            squares += v * v
    return bad, negative, largest, total, squares


@jit
def count_flaws(values: Array) -> tuple[int, int]:
    """How many entries are not finite, and how many are negative."""
    bad = 0
    negative = 0
    for t in range(values.shape[0]):
        v = values[t]
        if not np.isfinite(v):
            bad += 1
        elif v < 0.0:
            negative += 1
    return bad, negative


@jit
def dense_support(block: Array, rows: Flags, columns: Flags) -> None:
    """Mark the rows and columns that hold anything but zero."""
    n, m = block.shape
    for i in range(n):
        for j in range(m):
            if block[i, j] != 0.0:
                rows[i] = True
                columns[j] = True


@jit
def csr_support(indptr: Index, indices: Index, data: Array, rows: Flags, columns: Flags) -> None:
    """Mark the rows and columns that hold anything but zero (stored zeros do not count)."""
    for i in range(indptr.shape[0] - 1):
        for t in range(indptr[i], indptr[i + 1]):
            if data[t] != 0.0:
                rows[i] = True
                columns[indices[t]] = True
