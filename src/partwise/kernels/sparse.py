"""Products of a CSR block with small dense matrices.  SciPy's are single-threaded and hold the GIL."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit, jit_in_order

Array = npt.NDArray[np.floating[Any]]
Index = npt.NDArray[np.signedinteger[Any]]


@jit
def csr_dot(indptr: Index, indices: Index, data: Array, M: Array, out: Array) -> None:
    """``out = A @ M``, four stored entries at a time: ``out`` is then read and written a quarter as often."""
    width = M.shape[1]
    for i in range(indptr.shape[0] - 1):
        row = out[i]
        row[:] = 0.0
        t = indptr[i]
        stop = indptr[i + 1]
        while t + 4 <= stop:
            a, b, c, d = data[t], data[t + 1], data[t + 2], data[t + 3]
            Ma, Mb, Mc, Md = M[indices[t]], M[indices[t + 1]], M[indices[t + 2]], M[indices[t + 3]]
            for l in range(width):
                row[l] += a * Ma[l] + b * Mb[l] + c * Mc[l] + d * Md[l]
            t += 4
        while t < stop:
            a = data[t]
            Ma = M[indices[t]]
            for l in range(width):
                row[l] += a * Ma[l]
            t += 1


@jit
def csr_tdot(indptr: Index, indices: Index, data: Array, W: Array, out: Array) -> None:
    """``out += A.T @ W``."""
    width = W.shape[1]
    for i in range(indptr.shape[0] - 1):
        w = W[i]
        for t in range(indptr[i], indptr[i + 1]):
            a = data[t]
            row = out[indices[t]]
            for l in range(width):
                row[l] += a * w[l]


@jit_in_order
def csr_columns_dot(indptr: Index, indices: Index, data: Array, W: Array, out: Array) -> None:
    """``out = A.T @ W`` from the columns of ``A``, rows of a transposed copy: as :func:`csr_tdot`, in half the time.

    Every row of ``out`` is finished before the next; its terms are added one by one in the order of the rows of ``A``,
    four at a time so that it is read and written a quarter as often.
    """
    width = W.shape[1]
    for j in range(indptr.shape[0] - 1):
        row = out[j]
        row[:] = 0.0
        t = indptr[j]
        stop = indptr[j + 1]
        while t + 4 <= stop:
            a, b, c, d = data[t], data[t + 1], data[t + 2], data[t + 3]
            Wa, Wb, Wc, Wd = W[indices[t]], W[indices[t + 1]], W[indices[t + 2]], W[indices[t + 3]]
            for l in range(width):
                row[l] = (((row[l] + a * Wa[l]) + b * Wb[l]) + c * Wc[l]) + d * Wd[l]
            t += 4
        while t < stop:
            a = data[t]
            Wa = W[indices[t]]
            for l in range(width):
                row[l] += a * Wa[l]
            t += 1


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
