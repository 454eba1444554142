"""Row updates: every row of a factor is a problem ``min 1/2 f G f' - b f'`` over ``f >= 0`` of its own.

``G`` is one matrix for all rows or, of shape (rows, k, k), one for each (weighted or missing entries).  An update works
in place and returns the squared natural residual that the rows came with, each row as often as its weight says; one
that is not asked to be ``exact`` may be what the update tells by itself.
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


def sweep_rows(
    G: Array, B: Array, F: Array, *, sweeps: int, shrink: float, exact: bool = True, weights: Array | None = None
) -> float:
    """Cyclic coordinate sweeps over the rows (HALS); a residual that is not ``exact`` comes with the first of them."""
    G, cost, side_by_side = np.ascontiguousarray(G), 0.0, G.ndim == 2 and len(G) <= FEW
    if weights is not None and (exact or not side_by_side):
        residual = natural_residual(G, B, F, weights)
        sweep_rows(G, B, F, sweeps=sweeps, shrink=shrink, exact=False)
        return residual
    idle = _idle(G, B)
    if idle is not None:  # sweeps rest there
        costs, F[idle] = np.where(idle, -B * F, 0.0).sum(axis=1, dtype=np.float64), 0.0
        cost = float(costs.sum() if weights is None else weights @ costs)
    if weights is not None:
        before = F.copy()
        descend_lanes(G, B, F, 1, False)
        steps = np.square(F - before) @ np.diag(G)
        descend_lanes(G, B, F, sweeps - 1, False)
        return cost + float(np.asarray(weights, np.float64) @ steps)
    if G.ndim == 3:
        return cost + descend_each(G, B, F, sweeps, shrink)
    return cost + (descend_lanes(G, B, F, sweeps, exact) if side_by_side else descend(G, B, F, sweeps, shrink))


def solve_rows(G: Array, B: Array, F: Array, *, exact: bool = True, weights: Array | None = None) -> float:
    """The exact minimiser for every row (ANLS)."""
    residual = natural_residual(G, B, F, weights)
    squares = diagonal(G)
    norms = np.sqrt(squares.astype(np.float64))
    norms[norms == 0.0] = 1.0
    unit = G / (norms[..., :, None] * norms[..., None, :])
    j = np.arange(len(norms.T))
    unit[..., j, j] = squares > 0.0
    F[:] = (solve if G.ndim == 2 else solve_each)(unit, B / norms, F * norms)[0] / norms
    return residual


def multiply_rows(G: Array, B: Array, F: Array, *, exact: bool = True, weights: Array | None = None) -> float:
    """``W <- W * (X H') / (W H H')`` (MU); ``B`` below zero (fixed components explain more) counts as zero."""
    residual = natural_residual(G, B, F, weights)
    denominator = times(F, G)
    np.divide(np.maximum(B, 0.0), denominator, out=denominator, where=denominator > 0.0)
    F *= denominator
    return residual


def natural_residual(G: Array, B: Array, F: Array, weights: Array | None = None) -> float:
    """Sum of squares of ``min(f_j sqrt(G_jj), g_j / sqrt(G_jj))``, ``g = F G - B``: zero at the KKT points alone.

    With weights of the rows, if there are some.  What has a price and explains nothing counts by its cost, ``g_j f_j``.
    """
    norms = np.sqrt(diagonal(G))
    safe = np.where(norms > 0.0, norms, 1.0)
    parts, idle = np.minimum(F * norms, (times(F, G) - B) / safe) * (norms > 0.0), _idle(G, B)
    if idle is not None:
        parts[idle] = np.sqrt(-B[idle] * F[idle])
    if weights is not None:
        return float(np.asarray(weights, np.float64) @ np.einsum("ij,ij->i", parts, parts, dtype=np.float64))
    return float(np.vdot(parts, parts))


def _idle(G: Array, B: Array) -> npt.NDArray[np.bool_] | None:
    """Entries that have a price and explain nothing, if there are such: they are to be zero."""
    flat = diagonal(G) == 0.0
    return flat & (B < 0.0) if flat.any() else None


def times(F: Array, G: Array) -> Array:
    """Every row of ``F`` times its matrix."""
    return np.asarray(F @ G if G.ndim == 2 else (F[:, None, :] @ G)[:, 0])


def diagonal(G: Array) -> Array:
    """The diagonal, or that of every row's matrix."""
    return np.asarray(np.diagonal(G, axis1=-2, axis2=-1))
