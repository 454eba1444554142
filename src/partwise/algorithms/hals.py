"""HALS: hierarchical alternating least squares, several coordinate sweeps a product, with extrapolation.

Cichocki, Zdunek & Amari (2007), "Hierarchical ALS algorithms for nonnegative matrix and 3D tensor factorization";
Gillis & Glineur (2012), "Accelerated multiplicative updates and hierarchical ALS algorithms" (several sweeps);
Ang & Gillis (2019), "Accelerating nonnegative matrix factorization algorithms using extrapolation".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.alternating import NO_PENALTY, Penalty, alternate
from partwise.algorithms.loop import Progress, State
from partwise.kernels.coordinate import descend, descend_lanes
from partwise.sources import RowSource

Array = npt.NDArray[Any]

FEW = 64  # components up to which sweeping many rows side by side beats skipping the weights that rest at zero


def hals(
    source: RowSource,
    H0: Array,
    *,
    squared_norm: float,
    sweeps: int = 2,
    shrink: float = 0.1,
    extrapolate: bool = True,
    W_penalty: Penalty = NO_PENALTY,
    H_penalty: Penalty = NO_PENALTY,
    tol: float = 0.0,
    state: State | None = None,
) -> Iterator[Progress]:
    """Iterations of HALS from the components ``H0``; see :class:`partwise.HALS` for the parameters."""
    update = partial(sweep_rows, sweeps=sweeps, shrink=shrink)
    return alternate(
        source,
        H0,
        update_W=update,
        update_H=update,
        squared_norm=squared_norm,
        W_penalty=W_penalty,
        H_penalty=H_penalty,
        state=state,
        extrapolate=extrapolate,
        tol=tol,
    )


def suggested_sweeps(entries_per_sample: float, n_features: int, n_components: int) -> int:
    """Two sweeps a product where samples fill an eighth of the features or a product costs many sweeps, else one.

    After Gillis & Glineur (2012): a sweep costs k of what a stored entry of a sample costs in the product.  Where
    sweeps are not cheap, one is also the less greedy choice: on sparse data it ends in better optima more often.
    """
    return 2 if entries_per_sample >= min(6 * n_components, n_features / 8) else 1


def sweep_rows(G: Array, B: Array, W: Array, *, sweeps: int, shrink: float) -> float:
    """Cyclic coordinate sweeps over the rows of ``W``, in place."""
    if len(G) <= FEW:
        return descend_lanes(np.ascontiguousarray(G), B, W, sweeps)
    return descend(np.ascontiguousarray(G), B, W, sweeps, shrink)
