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

from partwise.algorithms.engine import PLAIN, Factor, alternate, squared_error
from partwise.algorithms.engine.rows import sweep_rows
from partwise.algorithms.loop import Progress, State
from partwise.sources import RowSource
from partwise.sources.copies import with_columns

Array = npt.NDArray[Any]

MOST_SWEEPS = 10


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
    source = with_columns(source)
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
    """So many sweeps a product as cost a fifth of it, one at least and ten at most; on dense data two at least.

    After Gillis & Glineur (2012): a sweep costs k of what a stored entry of a sample costs in the product.  Where
    sweeps are cheap, more of them make rounds fewer (a scene of 198 bands, 4 parts: 300 with ten sweeps, above 1,000
    with two).  Where they are not, one is also the less greedy choice: on sparse data it ends in better optima more
    often.
    """
    least = 2 if entries_per_sample >= n_features / 8 else 1
    return int(np.clip(entries_per_sample / (5 * n_components), least, MOST_SWEEPS))
