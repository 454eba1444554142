"""Exact non-negative least squares through the dual: solve for the zeros of a row, not for its support.

``min 1/2 w G w' - b w'`` over ``w >= 0`` has the dual ``min 1/2 l F l' + f l'`` over ``l >= 0`` with ``F = G^-1`` and
``f = b F``, the solution without the constraint; then ``w = f + l F``.  The support of ``l`` is where ``w`` is zero, so
a row with p zeros costs p^3/3 + 2 p k, and nothing at all where ``f >= 0``.

The zeros are found by block principal pivoting (Júdice & Pires 1994; Kim & Park 2011): all violations are exchanged at
once, and one at a time (Murty's rule, which ends) where their number does not fall.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

EXCHANGES = 3  # of all violations at once that do not lower their number
NEGATIVE = 1e-15  # relative to the largest entry of f: a weight below zero by less is zero


@jit
def _factor(F: Array, Z: Index, start: int, p: int, L: Array) -> None:
    """Rows ``start..p`` of the Cholesky factor of ``F[Z, Z]``, with reciprocals on its diagonal."""
    for a in range(start, p):
        Fa = F[Z[a]]
        La = L[a]
        for b in range(a):
            Lb = L[b]
            s = Fa[Z[b]]
            for l in range(b):
                s -= La[l] * Lb[l]
            La[b] = s * Lb[b]
        s = Fa[Z[a]]
        for l in range(a):
            s -= La[l] * La[l]
        La[a] = 1.0 / np.sqrt(s)


@jit
def _solve(L: Array, p: int, Z: Index, f: Array, y: Array) -> None:
    """``F[Z, Z] y = -f[Z]``."""
    for a in range(p):
        La = L[a]
        s = -f[Z[a]]
        for l in range(a):
            s -= La[l] * y[l]
        y[a] = s * La[a]
    for a in range(p - 1, -1, -1):
        La = L[a]
        y[a] *= La[a]
        for l in range(a):
            y[l] -= La[l] * y[a]


@jit
def _violations(y: Array, p: int, Z: Index, w: Array, inside: Array, least: float) -> tuple[int, int]:
    """How many there are, and the last component among them."""
    count = 0
    last = -1
    for a in range(p):
        if y[a] < 0.0:
            count += 1
            last = max(last, Z[a])
    for j in range(w.shape[0]):
        if w[j] < least and inside[j] == 0.0:
            count += 1
            last = max(last, j)
    return count, last


@jit
def _exchange(y: Array, p: int, Z: Index, w: Array, inside: Array, least: float, only: int) -> tuple[int, int]:
    """Put violations on the other side, or ``only`` one; the new number of zeros and the first that changed."""
    kept = 0
    start = p
    for a in range(p):
        j = Z[a]
        if y[a] < 0.0 and (only < 0 or j == only):
            inside[j] = 0.0
            w[j] = 0.0  # does not enter again at once
            start = min(start, kept)
        else:
            Z[kept] = j
            kept += 1
    p = kept
    for j in range(w.shape[0]):
        if w[j] < least and inside[j] == 0.0 and (only < 0 or j == only):
            inside[j] = 1.0
            Z[p] = j
            p += 1
    return p, min(start, kept)


@jit
def pivot_zeros(F: Array, f: Array, W: Array, most: int) -> None:  # noqa: C901 - the loops share what calls would have to pass
    """Write the solution of every row of ``f`` into ``W``; ``F`` is the inverse of the Gram matrix.

    A row of which more than ``most`` entries are negative without the constraint is left with these at zero: its
    support is the smaller problem.  One that does not end, or is not finite, is left as it comes out, at least zero:
    what is optimal is for the caller to verify.
    """
    n, k = f.shape
    L = np.empty((k, k))
    Z = np.empty(k, np.int64)
    y = np.empty(k)
    inside = np.zeros(k)
    for i in range(n):
        fi = f[i]
        w = W[i]
        size = 0.0
        p = 0
        for j in range(k):
            size = max(size, abs(fi[j]))
            w[j] = max(fi[j], 0.0)
            p += fi[j] < 0.0
        if p > most:
            continue
        p = 0
        for j in range(k):
            w[j] = fi[j]
            inside[j] = 0.0
            if fi[j] < 0.0:
                inside[j] = 1.0
                Z[p] = j
                p += 1
        least = -NEGATIVE * size
        start = 0
        fewest = k + 1
        patience = EXCHANGES
        for _ in range(5 * k + 20):
            if p == 0:
                break
            _factor(F, Z, start, p, L)
            _solve(L, p, Z, fi, y)
            for j in range(k):
                w[j] = fi[j]
            for a in range(p):
                Fa = F[Z[a]]
                s = y[a]
                for j in range(k):
                    w[j] += s * Fa[j]
            bad, last = _violations(y, p, Z, w, inside, least)
            if bad == 0:
                break
            if bad < fewest:
                fewest = bad
                patience = EXCHANGES
            else:
                patience -= 1
            p, start = _exchange(y, p, Z, w, inside, least, last if patience < 0 else -1)
        for j in range(k):
            w[j] = 0.0 if inside[j] == 1.0 else max(w[j], 0.0)
