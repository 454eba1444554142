"""HALS: hierarchical alternating least squares, several coordinate sweeps a product, with extrapolation.

Cichocki, Zdunek & Amari (2007), "Hierarchical ALS algorithms for nonnegative matrix and 3D tensor factorization";
Gillis & Glineur (2012), "Accelerated multiplicative updates and hierarchical ALS algorithms" (several sweeps);
Ang & Gillis (2019), "Accelerating nonnegative matrix factorization algorithms using extrapolation".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy.typing as npt

from partwise.algorithms.engine import PLAIN, Factor, alternate, squared_error
from partwise.algorithms.engine.rows import sweep_rows
from partwise.algorithms.loop import Progress, State
from partwise.sources import RowSource

Array = npt.NDArray[Any]


def hals(
    source: RowSource,
    H0: Array,
    *,
    squared_norm: float,
    weights: Any = None,
    sweeps: int = 2,
    shrink: float = 0.1,
    extrapolate: bool = True,
    on_W: Factor = PLAIN,
    on_H: Factor = PLAIN,
    tol: float = 0.0,
    state: State | None = None,
) -> Iterator[Progress]:
    """Iterations of HALS from the components ``H0``; see :class:`partwise.HALS` for the parameters.

    ``weights`` of samples or entries are those of :func:`partwise.algorithms.engine.squared_error`.
    """
    on_W.check("W", "HALS")
    on_H.check("H", "HALS")
    loss, beside = squared_error(source, squared_norm, weights)
    return alternate(
        source,
        H0,
        loss=loss,
        beside=beside,
        update=partial(sweep_rows, sweeps=sweeps, shrink=shrink),
        on_W=on_W,
        on_H=on_H,
        extrapolate=extrapolate,
        tol=tol,
        state=state,
    )


def suggested_sweeps(entries_per_sample: float, n_features: int, n_components: int) -> int:
    """Two sweeps a product where samples fill an eighth of the features or a product costs many sweeps, else one.

    After Gillis & Glineur (2012): a sweep costs k of what a stored entry of a sample costs in the product.  Where
    sweeps are not cheap, one is also the less greedy choice: on sparse data it ends in better optima more often.
    """
    return 2 if entries_per_sample >= min(6 * n_components, n_features / 8) else 1
