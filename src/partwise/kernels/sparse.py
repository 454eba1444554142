"""Products of a CSR block with small dense matrices.  SciPy's are single-threaded and hold the GIL."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit, jit_in_order
from partwise.kernels._vectors import LINE_BYTES, add_rows

Array = npt.NDArray[np.floating[Any]]
Index = npt.NDArray[np.signedinteger[Any]]


@jit_in_order
def csr_dot(indptr: Index, indices: Index, data: Array, M: Array, out: Array) -> None:
    """``out = A @ M``; the sums of a row stay in registers, up to four cache lines of them.

    The terms of a sum are added one by one in the order of the entries.  Whole cache lines of columns, and half a one
    at the end, are vectors; what columns are left over are added up one by one, so ``M`` had better be padded.  Arrays
    of ``A`` may have strides; ``M`` and ``out`` are contiguous.
    """
    line, width = LINE_BYTES // out.itemsize, M.shape[1]
    half = line // 2
    for i in range(indptr.shape[0] - 1):
        a, b = indptr[i], indptr[i + 1]
        c = 0
        while width - c >= 4 * line:
            add_rows(indices, data, a, b, M, out, i, c, 4, 1)
            c += 4 * line
        if width - c >= 3 * line:
            add_rows(indices, data, a, b, M, out, i, c, 3, 1)
            c += 3 * line
        elif width - c >= 2 * line:
            add_rows(indices, data, a, b, M, out, i, c, 2, 1)
            c += 2 * line
        elif width - c >= line:
            add_rows(indices, data, a, b, M, out, i, c, 1, 1)
            c += line
        if width - c >= half:
            add_rows(indices, data, a, b, M, out, i, c, 1, 2)
            c += half
        for l in range(c, width):
            total = out.dtype.type(0.0)
            for t in range(a, b):
                total += data[t] * M[indices[t], l]
            out[i, l] = total


@jit_in_order
def csr_tdot(indptr: Index, indices: Index, data: Array, W: Array, out: Array) -> None:
    """``out += A.T @ W``: to the bits of :func:`csr_dot` of a transposed copy, which takes half the time."""
    width = W.shape[1]
    for i in range(indptr.shape[0] - 1):
        w = W[i]
        for t in range(indptr[i], indptr[i + 1]):
            a = data[t]
            row = out[indices[t]]
            for l in range(width):
                row[l] += a * w[l]


@jit
def csr_sampled_dot(indptr: Index, indices: Index, W: Array, Ht: Array, out: Array) -> None:
    """``out[t] = w_i . h_j`` at every stored position (i, j): the product ``W H`` only where the data is."""
    width = W.shape[1]
    for i in range(indptr.shape[0] - 1):
        w = W[i]
        for t in range(indptr[i], indptr[i + 1]):
            h = Ht[indices[t]]
            total = w[0] * h[0]
            for l in range(1, width):
                total += w[l] * h[l]
            out[t] = total
