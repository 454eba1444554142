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
from partwise.algorithms.engine.alternating import PATIENCE, given_weights
from partwise.algorithms.engine.rows import sweep_rows
from partwise.algorithms.engine.squared import CompressedError, SquaredError
from partwise.algorithms.loop import Progress, State
from partwise.linalg.svd import truncated_svd
from partwise.sources import RowSource
from partwise.sources.copies import in_single_precision, with_columns

Array = npt.NDArray[Any]

MOST_SWEEPS = 10
LIGHT_WORK = 1 << 22  # entries times components above which rounds begin in single precision
NARROW_BEYOND = 20  # dimensions, beside one a component, in which dense data is factored first,
NARROW_WORTH = 3  # if it has so many times as many features,
NARROW_PASSES = 4  # to find these,
NARROW_ROUNDS = 300  # in so many rounds at most,
NARROW_GOAL = 3e-4  # to this residual: what these directions leave out decides the rest
LIGHT_SQUARES = 1e-20, 1e24  # of the data and of a start: their products are far from where single precision ends


def hals(
    source: RowSource,
    H0: Array,
    *,
    squared_norm: float,
    W0: Array | None = None,
    nonzero: int = 0,
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

    ``W0`` are weights to start with, by default the best ones; ``weights`` of samples or entries are those of
    :func:`partwise.algorithms.engine.squared_error`.  Data of ``nonzero`` entries is first factored in single
    precision, in half the time, if a product is worth it.  Sparse rows in memory get a transposed copy (12 bytes an
    entry, or 8 in single precision).

    Dense data with rows wide enough is factored within its leading directions first (Halko, Martinsson
    & Tropp 2011), from ``H0`` without ``W0``: such rounds are no passes over the data, so they belong to the start.
    """
    on_W.check("W", "HALS")
    on_H.check("H", "HALS")
    loss, beside = squared_error(source, squared_norm, weights, fill=True)
    light = None
    plain = type(loss) is SquaredError and source.dtype == np.float64
    if plain and nonzero * len(H0) >= LIGHT_WORK and _fits_single(squared_norm, H0, W0, state):
        light = with_columns(in_single_precision(source, nonzero))
    source = with_columns(source) if light is None else source
    update = partial(sweep_rows, sweeps=sweeps, shrink=shrink)
    how: dict[str, Any] = {"update": update, "hasty": partial(update, exact=False), "on_W": on_W, "on_H": on_H}
    if light is not None and W0 is None and state is None and extrapolate and _wide(source.shape, nonzero, len(H0)):
        goal = max(NARROW_GOAL, tol)
        H0 = _within_leading_directions(light, H0, squared_norm, tol=goal, **how)
    return alternate(
        source,
        H0,
        W0=None if W0 is None else given_weights(source, W0),
        loss=loss,
        beside=beside,
        extrapolate=extrapolate,
        tol=tol,
        light=light,
        state=state,
        **how,
    )


def _fits_single(squared_norm: float, H0: Array, W0: Array | None, state: State | None) -> bool:
    """Whether no product of data and factors overflows in single precision, or vanishes; a state has decided."""
    if state is not None:
        return bool(np.dtype(state["W"].dtype) == np.float32)
    least, most = LIGHT_SQUARES
    sizes = [squared_norm, *(float(np.square(F, dtype=np.float64).sum()) for F in (H0, W0) if F is not None)]
    return all(least < size < most for size in sizes)


def _wide(shape: tuple[int, int], nonzero: int, k: int) -> bool:
    """Whether rows are dense, and so much wider than their leading directions that these are worth their passes."""
    n, m = shape
    return dense(nonzero / max(1, n), m) and min(n, m) >= NARROW_WORTH * (k + NARROW_BEYOND)


def _within_leading_directions(source: RowSource, H0: Array, squared_norm: float, *, tol: float, **how: Any) -> Array:
    """The components after rounds on the data within its leading directions, until these gain nothing more."""
    width = len(H0) + NARROW_BEYOND
    # the same directions whatever the seed: they are the data's, and no choice of the method
    V = truncated_svd(source, width, rng=np.random.default_rng(0), oversample=0, max_passes=NARROW_PASSES)[1].T
    V = np.ascontiguousarray(V, source.dtype)
    loss = CompressedError(squared_norm, V)
    rounds = alternate(source.project(V), H0, loss=loss, extrapolate=True, tol=tol, **how)
    for number, now in enumerate(rounds):
        if number >= NARROW_ROUNDS or now.residual <= tol or now.state["idle"] >= PATIENCE:
            break
    found = H0.astype(np.float64)
    moving = how["on_H"].constraint.moving(len(H0))
    found[moving] = now.components[moving]
    return found


def dense(entries_per_sample: float, n_features: int) -> bool:
    """Whether so much of the data is not zero that it counts as dense, however it is stored."""
    return entries_per_sample >= n_features / 8


def suggested_sweeps(entries_per_sample: float, n_features: int, n_components: int) -> int:
    """So many sweeps a product as cost a fifth of it, one at least and ten at most; on dense data two at least.

    After Gillis & Glineur (2012): a sweep costs k of what a stored entry of a sample costs in the product.  Where
    sweeps are cheap, more of them make rounds fewer (a scene of 198 bands, 4 parts: 300 with ten sweeps, above 1,000
    with two).  Where they are not, one is also the less greedy choice: on sparse data it ends in better optima more
    often.
    """
    least = 2 if dense(entries_per_sample, n_features) else 1
    return int(np.clip(entries_per_sample / (5 * n_components), least, MOST_SWEEPS))
