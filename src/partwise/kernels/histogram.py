"""How large the entries of every column are: counts on a logarithmic scale, four bins an octave."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit

Bits = npt.NDArray[np.int64]

# the exponent of a double and the first two bits of its mantissa number the bins; from 2**-100 to 2**28
FIRST = (1023 - 100) << 2
BINS = 128 << 2
_MAGNITUDE = 0x7FFFFFFFFFFFFFFF


@jit
def count_magnitudes(bits: Bits, counts: Bits) -> None:
    """Add the entries of a block, given as the bits of doubles, to ``counts`` (sign, column, bin)."""
    for i in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            v = bits[i, j]
            b = ((v & _MAGNITUDE) >> 50) - FIRST
            b = min(max(b, 0), BINS - 1)
            counts[1 if v < 0 else 0, j, b] += 1


def edges() -> npt.NDArray[np.float64]:
    """The upper edge of every bin."""
    return np.asarray(((np.arange(BINS, dtype=np.int64) + FIRST + 1) << 50).view(np.float64))


def magnitudes(V: npt.NDArray[Any]) -> Bits:
    """Counts ``(2, columns, BINS)`` of the non-negative and of the negative entries of ``V``."""
    counts = np.zeros((2, V.shape[1], BINS), np.int64)
    count_magnitudes(np.ascontiguousarray(V, np.float64).view(np.int64), counts)
    return counts
