"""Row updates: every row of a factor is a problem ``min 1/2 f G f' - b f'`` over ``f >= 0`` of its own.

``G`` is one matrix for all rows or, of shape (rows, k, k), one for each (weighted or missing entries).  An update works
in place and returns the squared natural residual that the rows came with; one that is not asked to be ``exact`` may be
what the update tells by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels.coordinate import descend, descend_each, descend_lanes
from partwise.linalg.nnls import solve, solve_each

Array = npt.NDArray[Any]
RowUpdate = Callable[..., float]

FEW = 128  # components up to which sweeping many rows side by side beats skipping the weights that rest at zero


def sweep_rows(G: Array, B: Array, F: Array, *, sweeps: int, shrink: float, exact: bool = True) -> float:
    """Cyclic coordinate sweeps over the rows (HALS); a residual that is not ``exact`` comes with the first of them."""
    flat = diagonal(G) == 0.0
    if flat.any():  # sweeps rest there, but what has a price and explains nothing is zero
        F[flat & (B < 0.0)] = 0.0
    if G.ndim == 3:
        return descend_each(np.ascontiguousarray(G), B, F, sweeps, shrink)
    if len(G) <= FEW:
        return descend_lanes(np.ascontiguousarray(G), B, F, sweeps, exact)
    return descend(np.ascontiguousarray(G), B, F, sweeps, shrink)


def solve_rows(G: Array, B: Array, F: Array, *, exact: bool = True) -> float:
    """The exact minimiser for every row (ANLS)."""
    residual = natural_residual(G, B, F)
    squares = diagonal(G)
    norms = np.sqrt(squares.astype(np.float64))
    norms[norms == 0.0] = 1.0
    unit = G / (norms[..., :, None] * norms[..., None, :])
    j = np.arange(len(norms.T))
    unit[..., j, j] = squares > 0.0
    F[:] = (solve if G.ndim == 2 else solve_each)(unit, B / norms, F * norms)[0] / norms
    return residual


def multiply_rows(G: Array, B: Array, F: Array, *, exact: bool = True) -> float:
    """``W <- W * (X H') / (W H H')`` (MU); ``B`` below zero (fixed components explain more) counts as zero."""
    residual = natural_residual(G, B, F)
    denominator = times(F, G)
    np.divide(np.maximum(B, 0.0), denominator, out=denominator, where=denominator > 0.0)
    F *= denominator
    return residual


def natural_residual(G: Array, B: Array, F: Array, weights: Array | None = None) -> float:
    """Sum of squares of ``min(f_j sqrt(G_jj), g_j / sqrt(G_jj))``, ``g = F G - B``: zero at the KKT points alone.

    With weights of the rows, if there are some.
    """
    norms = np.sqrt(diagonal(G))
    safe = np.where(norms > 0.0, norms, 1.0)
    parts = np.minimum(F * norms, (times(F, G) - B) / safe) * (norms > 0.0)
    if weights is not None:
        return float(np.asarray(weights, np.float64) @ np.einsum("ij,ij->i", parts, parts, dtype=np.float64))
    return float(np.vdot(parts, parts))


def times(F: Array, G: Array) -> Array:
    """Every row of ``F`` times its matrix."""
    return np.asarray(F @ G if G.ndim == 2 else (F[:, None, :] @ G)[:, 0])


def diagonal(G: Array) -> Array:
    """The diagonal, or that of every row's matrix."""
    return np.asarray(np.diagonal(G, axis1=-2, axis2=-1))
