"""Coordinate descent on sufficient statistics: the sweep behind HALS, and the opening of exact NNLS.

Every row ``w`` of ``W`` is its own problem ``min 1/2 w G w' - b w'`` over ``w >= 0`` with the shared Gram
matrix ``G`` and the row ``b`` of ``B``.  For the weights ``G = H H'`` and ``B = X H'``; for the components
(transposed, a feature a row) ``G = W' W`` and ``B = X' W``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit

Array = npt.NDArray[np.floating[Any]]

LANES = 64  # rows swept side by side; for k = 50 their weights and gradients fit the L1 cache


@jit
def _add_outer(g: Array, row: Array, step: Array) -> None:
    for l in range(g.shape[0]):
        gl = g[l]
        f = row[l]
        for s in range(LANES):
            gl[s] += f * step[s]


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


@jit
def descend_lanes(G: Array, B: Array, W: Array, sweeps: int) -> float:  # noqa: C901 - as above
    """The same sweeps as :func:`descend`, ``LANES`` rows side by side and without leaving early.

    One row alone waits for each step's result before the next; side by side the waiting is hidden, but no coordinate
    is skipped, so this is for few components.  Rows do not affect each other: neighbours do not change the result.
    """
    n, k = B.shape
    g = np.empty((k, LANES), B.dtype)
    w = np.empty((k, LANES), B.dtype)
    step = np.empty(LANES, B.dtype)
    inverse = np.empty(k, B.dtype)
    for j in range(k):
        inverse[j] = _inverse(G[j, j])
    residual = 0.0
    for start in range(0, n, LANES):
        count = min(LANES, n - start)
        g[:] = 0.0
        w[:] = 0.0
        for s in range(count):
            for j in range(k):
                g[j, s] = -B[start + s, j]
                w[j, s] = W[start + s, j]
        for j in range(k):
            _add_outer(g, G[j], w[j])
        for j in range(k):
            for s in range(count):
                r = min(w[j, s], g[j, s] * inverse[j])
                residual += r * r * G[j, j]
        for _ in range(sweeps):
            for j in range(k):
                gj = g[j]
                wj = w[j]
                f = inverse[j]
                for s in range(LANES):
                    step[s] = max(-gj[s] * f, -wj[s])
                    wj[s] += step[s]
                _add_outer(g, G[j], step)
        for s in range(count):
            for j in range(k):
                W[start + s, j] = w[j, s]
    return residual


@jit
def descend_each(G: Array, B: Array, W: Array, sweeps: int, shrink: float) -> float:
    """As :func:`descend`, with a Gram matrix for each row."""
    residual = 0.0
    for i in range(B.shape[0]):
        residual += descend(G[i], B[i : i + 1], W[i : i + 1], sweeps, shrink)
    return residual
