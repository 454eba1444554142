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


@jit
def descend(  # noqa: C901 - the loops share what calls would have to pass
    G: Array, B: Array, W: Array, sweeps: int, shrink: float, settle: bool
) -> float:
    """Sweep cyclically over the coordinates of every row of ``W``, in place.

    The gradient ``g = G w - b`` is kept up to date by adding a row of ``G`` for each coordinate that moved:
    coordinates resting at zero cost one comparison.  A row is left early when its largest step falls to
    ``shrink`` times that of its first sweep (accelerated HALS, Gillis & Glineur 2012), or, with ``settle``,
    after a sweep that changed no coordinate between zero and positive.  Both rules look at one row only, so
    the result does not depend on how rows are split into blocks.

    Returns the squared natural residual of the rows as they were given: the sum of squares of
    ``min(w_j sqrt(G_jj), g_j / sqrt(G_jj))``, zero exactly at the KKT points.  It is in the units of the
    data, so it does not change when a component is scaled up and its weights down.
    """
    n, k = B.shape
    residual = 0.0
    g = np.empty(k, B.dtype)
    inverse = np.empty(k, B.dtype)
    for j in range(k):
        inverse[j] = 1.0 / G[j, j] if G[j, j] > 0.0 else 0.0
        if not np.isfinite(inverse[j]):  # a component that has all but vanished
            inverse[j] = 0.0
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
            crossed = False
            for j in range(k):
                old = w[j]
                # exact minimum along coordinate j, clipped: w_j <- max(0, w_j - g_j / G_jj)
                step = -g[j] * inverse[j]
                if step < -old:
                    step = -old
                if step != 0.0:
                    w[j] = old + step
                    crossed = crossed or (old == 0.0) != (w[j] == 0.0)
                    row = G[j]
                    for l in range(k):
                        g[l] += step * row[l]
                    size = step * step * G[j, j]
                    if size > largest:
                        largest = size
            if sweep == 0:
                first = largest
            if largest <= shrink * shrink * first or (settle and sweep > 0 and not crossed):
                break
    return residual
