"""Coordinate descent on sufficient statistics: the sweep behind HALS, and the opening of exact NNLS.

Every row ``w`` of ``W`` is its own problem ``min 1/2 w G w' - b w'`` over ``w >= 0`` with the shared Gram
matrix ``G`` and the row ``b`` of ``B``.  For the weights ``G = H H'`` and ``B = X H'``; for the components
(transposed, a feature a row) ``G = W' W`` and ``B = X' W``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import inlined, jit

Array = npt.NDArray[np.floating[Any]]

LANES = 64  # rows swept side by side; for k = 50 their weights and right-hand sides fit the L1 cache


@jit
def _inverse(curvature: float) -> float:
    """The reciprocal, or 0 for a component that has vanished or all but."""
    inverse = 1.0 / curvature if curvature > 0.0 else 0.0
    return inverse if np.isfinite(inverse) else 0.0


@jit
def descend(  # noqa: C901 - the loops share what calls would have to pass
    G: Array, B: Array, W: Array, sweeps: int, shrink: float
) -> float:
    """Sweep cyclically over the coordinates of every row of ``W``, in place.

    The gradient ``g = G w - b`` is kept up to date by adding a row of ``G`` for each coordinate that moved:
    coordinates resting at zero cost one comparison.  A row is left early when its largest step falls to
    ``shrink`` times that of its first sweep (accelerated HALS, Gillis & Glineur 2012): a rule that looks at one
    row only, so the result does not depend on how rows are split into blocks.

    Returns the squared natural residual of the rows as they were given: the sum of squares of
    ``min(w_j sqrt(G_jj), g_j / sqrt(G_jj))``, zero exactly at the KKT points.  It is in the units of the
    data, so it does not change when a component is scaled up and its weights down.
    """
    n, k = B.shape
    residual = 0.0
    g = np.empty(k, B.dtype)
    inverse = np.empty(k, B.dtype)
    for j in range(k):
        inverse[j] = _inverse(G[j, j])
    for i in range(n):
        w = W[i]
        for j in range(k):
            g[j] = -B[i, j]
        for j in range(k):
            wj = w[j]
            if wj != 0.0:
                row = G[j]
                for l in range(k):
                    g[l] += wj * row[l]
        for j in range(k):
            r = min(w[j], g[j] * inverse[j])
            residual += r * r * G[j, j]
        first = 0.0
        for sweep in range(sweeps):
            largest = 0.0
            for j in range(k):
                old = w[j]
                # exact minimum along coordinate j, clipped: w_j <- max(0, w_j - g_j / G_jj)
                step = -g[j] * inverse[j]
                if step < -old:
                    step = -old
                if step != 0.0:
                    w[j] = old + step
                    row = G[j]
                    for l in range(k):
                        g[l] += step * row[l]
                    size = step * step * G[j, j]
                    if size > largest:
                        largest = size
            if sweep == 0:
                first = largest
            if largest <= shrink * shrink * first:
                break
    return residual


@inlined
def _gradients(G: Array, b: Array, w: Array, j: int, g: Array) -> None:
    """``g = b - G w`` of the components ``j`` to ``j + 3``, four others at a time."""
    ga, gb, gc, gd = g[0], g[1], g[2], g[3]
    ba, bb, bc, bd = b[j], b[j + 1], b[j + 2], b[j + 3]
    for s in range(LANES):
        ga[s], gb[s], gc[s], gd[s] = ba[s], bb[s], bc[s], bd[s]
    Ga, Gb, Gc, Gd = G[j], G[j + 1], G[j + 2], G[j + 3]
    for l in range(0, G.shape[0], 4):
        a0, a1, a2, a3 = Ga[l], Ga[l + 1], Ga[l + 2], Ga[l + 3]
        b0, b1, b2, b3 = Gb[l], Gb[l + 1], Gb[l + 2], Gb[l + 3]
        c0, c1, c2, c3 = Gc[l], Gc[l + 1], Gc[l + 2], Gc[l + 3]
        d0, d1, d2, d3 = Gd[l], Gd[l + 1], Gd[l + 2], Gd[l + 3]
        w0, w1, w2, w3 = w[l], w[l + 1], w[l + 2], w[l + 3]
        for s in range(LANES):
            x0, x1, x2, x3 = w0[s], w1[s], w2[s], w3[s]
            ga[s] -= a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
            gb[s] -= b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
            gc[s] -= c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
            gd[s] -= d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3


@inlined
def _steps(G: Array, inverse: Array, g: Array, w: Array, j: int) -> float:
    """The exact minimum along the components ``j`` to ``j + 3``, one after the other, from their gradients at first.

    Returns the sum of the squares of the steps, in the units of the data.
    """
    f0, f1, f2, f3 = inverse[j], inverse[j + 1], inverse[j + 2], inverse[j + 3]
    wa, wb, wc, wd = w[j], w[j + 1], w[j + 2], w[j + 3]
    ga, gb, gc, gd = g[0], g[1], g[2], g[3]
    ba, ca, da = G[j + 1, j], G[j + 2, j], G[j + 3, j]
    cb, db, dc = G[j + 2, j + 1], G[j + 3, j + 1], G[j + 3, j + 2]
    way_a, way_b, way_c, way_d = f0 * 0.0, f0 * 0.0, f0 * 0.0, f0 * 0.0
    for s in range(LANES):
        a = max(ga[s] * f0, -wa[s])
        b = max((gb[s] - ba * a) * f1, -wb[s])
        c = max((gc[s] - ca * a - cb * b) * f2, -wc[s])
        d = max((gd[s] - da * a - db * b - dc * c) * f3, -wd[s])
        wa[s] += a
        wb[s] += b
        wc[s] += c
        wd[s] += d
        way_a += a * a
        way_b += b * b
        way_c += c * c
        way_d += d * d
    way: float = way_a * G[j, j] + way_b * G[j + 1, j + 1] + way_c * G[j + 2, j + 2] + way_d * G[j + 3, j + 3]
    return way


@inlined
def _missed(G: Array, inverse: Array, g: Array, w: Array, j: int) -> float:
    """The squared natural residual of the components ``j`` to ``j + 3``."""
    total = 0.0
    for q in range(4):
        f, gq, wq = inverse[j + q], g[q], w[j + q]
        parts = f * 0.0
        for s in range(LANES):
            r = min(wq[s], -gq[s] * f)
            parts += r * r
        total += parts * G[j + q, j + q]
    return total


@inlined
def _lanes_missed(G: Array, inverse: Array, b: Array, w: Array, g: Array) -> float:
    """The squared natural residual of the rows side by side."""
    total = 0.0
    for j in range(0, G.shape[0], 4):
        _gradients(G, b, w, j, g)
        total += _missed(G, inverse, g, w, j)
    return total


@inlined
def _lanes_swept(G: Array, inverse: Array, b: Array, w: Array, g: Array) -> float:
    """A sweep over the rows side by side; the sum of the squares of its steps."""
    way = 0.0
    for j in range(0, G.shape[0], 4):
        _gradients(G, b, w, j, g)
        way += _steps(G, inverse, g, w, j)
    return way


@jit
def descend_lanes(G: Array, B: Array, W: Array, sweeps: int, exact: bool) -> float:
    """The same sweeps as :func:`descend`, ``LANES`` rows side by side and without leaving early.

    Returns the same squared residual, if it is to be ``exact``; otherwise the squares of the steps of the first sweep,
    which cost nothing: the residual of each component after those before it have moved. That is zero at the KKT points
    alone, too.

    Gradients are products when they are needed, four components at once, and not kept: what is kept would be read and
    written for every step.  No coordinate is skipped, so this is for few components.  Rows do not affect each other:
    neighbours do not change the result.
    """
    n, k = B.shape
    padded = (k + 3) // 4 * 4  # with components that are zero and stay so
    b, w = np.zeros((padded, LANES), B.dtype), np.zeros((padded, LANES), B.dtype)
    g = np.empty((4, LANES), B.dtype)
    Gp, inverse = np.zeros((padded, padded), B.dtype), np.zeros(padded, B.dtype)
    Gp[:k, :k] = G
    for j in range(k):
        inverse[j] = _inverse(G[j, j])
    residual = 0.0
    for start in range(0, n, LANES):
        count = min(LANES, n - start)
        if count < LANES:
            b[:], w[:] = 0.0, 0.0
        for s in range(count):
            for j in range(k):
                b[j, s], w[j, s] = B[start + s, j], W[start + s, j]
        if exact:
            residual += _lanes_missed(Gp, inverse, b, w, g)
        for sweep in range(sweeps):
            way = _lanes_swept(Gp, inverse, b, w, g)
            if sweep == 0 and not exact:
                residual += way
        for s in range(count):
            for j in range(k):
                W[start + s, j] = w[j, s]
    return residual


@jit
def beyond(new: Array, old: Array, beta: float, out: Array) -> None:
    """``out = new + beta (new - old)``, in one pass over the three."""
    for i in range(new.shape[0]):
        for j in range(new.shape[1]):
            out[i, j] = new[i, j] + beta * (new[i, j] - old[i, j])


@jit
def inner(A: Array, B: Array) -> float:
    """``<A, B>`` with its sum in double precision, whatever the matrices are in."""
    total = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total += np.float64(A[i, j]) * np.float64(B[i, j])
    return total


@jit
def descend_each(G: Array, B: Array, W: Array, sweeps: int, shrink: float) -> float:
    """As :func:`descend`, with a Gram matrix for each row."""
    residual = 0.0
    for i in range(B.shape[0]):
        residual += descend(G[i], B[i : i + 1], W[i : i + 1], sweeps, shrink)
    return residual
