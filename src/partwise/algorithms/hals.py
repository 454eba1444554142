"""HALS: hierarchical alternating least squares, several coordinate sweeps a product, with extrapolation.

Cichocki, Zdunek & Amari (2007), "Hierarchical ALS algorithms for nonnegative matrix and 3D tensor factorization";
Gillis & Glineur (2012), "Accelerated multiplicative updates and hierarchical ALS algorithms" (several sweeps);
Ang & Gillis (2019), "Accelerating nonnegative matrix factorization algorithms using extrapolation".
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine import PLAIN, Factor, alternate, squared_error
from partwise.algorithms.engine.alternating import PATIENCE, given_weights
from partwise.algorithms.engine.rows import sweep_rows
from partwise.algorithms.engine.squared import CompressedError, FilledError, ReferredError, SquaredError
from partwise.algorithms.loop import Progress, State, until_flat
from partwise.kernels.coordinate import inner
from partwise.linalg.svd import truncated_svd
from partwise.sources import RowSource, add, blocks
from partwise.sources.copies import in_single_precision, with_columns
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]

MOST_SWEEPS = 10
LIGHT_WORK = 1 << 22  # entries times components above which rounds begin in single precision
NARROW_BEYOND = 20  # dimensions, beside one a component, in which dense data is factored first,
NARROW_WORTH = 3  # if it has so many times as many features,
NARROW_PASSES = 4  # to find these,
NARROW_ROUNDS = 300  # in so many rounds at most,
NARROW_GOAL = 3e-4  # to this residual: what these directions leave out decides the rest,
REFERRED_REST = 0.1  # unless the weakest of them has so little of the strength that parts have:
REFERRED_PAIRS = 20  # then it is measured at so many pairs of factors at most,
REFERRED_GAIN = 0.1  # from one to the next by this factor nearer to the optimum
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
    flat: bool = False,
    state: State | None = None,
) -> Iterator[Progress]:
    """Iterations of HALS from the components ``H0``; see :class:`partwise.HALS` for the parameters.

    ``W0`` are weights to start with, by default the best ones; ``weights`` of samples or entries are those of
    :func:`partwise.algorithms.engine.squared_error`.  Data of ``nonzero`` entries is first factored in single
    precision, in half the time, if a product is worth it.  Sparse rows in memory get a transposed copy (12 bytes an
    entry, or 8 in single precision).

    Dense data with rows wide enough is factored within its leading directions first (Halko, Martinsson
    & Tropp 2011), from ``H0`` without ``W0``: such rounds are no passes over the data, so they belong to the start.
    Where these directions hold nearly all of the data, it is by such rounds, with a pass over all of the data now and
    then, that the optimum is reached; the last rounds, on the whole data, certify it.

    With ``flat`` rounds end where the objective is, see :func:`partwise.algorithms.loop.until_flat`: those within the
    leading directions, and all.
    """
    on_W.check("W", "HALS")
    on_H.check("H", "HALS")
    loss, beside = squared_error(source, squared_norm, weights, fill=True)
    light = None
    plain = type(loss) is SquaredError
    short = (plain or (type(loss) is FilledError and not beside)) and source.dtype == np.float64
    if short and nonzero * len(H0) >= LIGHT_WORK and _fits_single(squared_norm, H0, W0, state):
        light = with_columns(in_single_precision(source, nonzero))
    source = with_columns(source) if light is None else source
    update = partial(sweep_rows, sweeps=sweeps, shrink=shrink)
    how: dict[str, Any] = {"update": update, "on_W": on_W, "on_H": on_H, "extrapolate": extrapolate}
    pair = state is not None and "pair" in state
    early = plain and W0 is None and (state is None or pair)
    if light is not None and early and extrapolate and _wide(source.shape, nonzero, len(H0)):
        rounds = _narrow_first(source, light, H0, loss=loss, beside=beside, tol=tol, flat=flat, state=state, **how)
    else:
        inner = state
        if state is not None and pair:  # other options, or weights, than those that it was found with
            W0, inner, light = state["W"], None, None
        started = None if W0 is None else given_weights(source, W0)
        rounds = alternate(source, H0, W0=started, loss=loss, beside=beside, tol=tol, light=light, state=inner, **how)
        if pair:
            next(rounds)  # it was shown already
    return until_flat(rounds, tol=tol, state=state) if flat else rounds


def _narrow_first(
    source: RowSource,
    light: RowSource,
    H0: Array,
    *,
    loss: SquaredError,
    beside: tuple[Rows, ...],
    tol: float,
    flat: bool,
    state: State | None,
    **how: Any,
) -> Iterator[Progress]:
    """Rounds within the leading directions, then those on the whole data."""
    H0, W0 = yield from _within_leading_directions(source, light, H0, loss.squared_norm, tol, flat, state, **how)
    source, how["light"] = (source, light) if W0 is None else (with_columns(source), None)
    rounds = alternate(source, H0, W0=W0, loss=loss, beside=beside, tol=tol, **how)
    if W0 is not None:
        next(rounds)  # it was shown already
    del source, light, how, state, W0, H0  # what rounds let go is not to stay here
    yield from rounds


def _fits_single(squared_norm: float, H0: Array, W0: Array | None, state: State | None) -> bool:
    """Whether no product of data and factors overflows in single precision, or vanishes; a state has decided."""
    if state is not None:
        return "pair" in state or bool(np.dtype(state["W"].dtype) == np.float32)
    least, most = LIGHT_SQUARES
    sizes = [squared_norm, *(float(np.square(F, dtype=np.float64).sum()) for F in (H0, W0) if F is not None)]
    return all(least < size < most for size in sizes)


def _wide(shape: tuple[int, int], nonzero: int, k: int) -> bool:
    """Whether rows are dense, and so much wider than their leading directions that these are worth their passes."""
    n, m = shape
    return dense(nonzero / max(1, n), m) and min(n, m) >= NARROW_WORTH * (k + NARROW_BEYOND)


def _within_leading_directions(
    source: RowSource,
    light: RowSource,
    H: Array,
    squared_norm: float,
    tol: float,
    flat: bool,
    state: State | None,
    **how: Any,
) -> Generator[Progress, None, tuple[Array, Rows | None]]:
    """The components after rounds on the data within its leading directions, until these gain nothing more.

    Where the directions leave out little beside the weakest part, rounds go on to the residual ``tol``: the rest of
    the data is taken along as it is at a pair of factors (:class:`ReferredError`), for one pass over the data a pair.
    Yields these pairs, and returns the last one; else components alone.
    """
    width, goal, pair = len(H) + NARROW_BEYOND, max(NARROW_GOAL, tol), 0
    # the same directions whatever the seed: they are the data's, and no choice of the method
    sigma, V = truncated_svd(light, width, rng=np.random.default_rng(0), oversample=0, max_passes=NARROW_PASSES)
    near = sigma[-1] <= REFERRED_REST * sigma[len(H) - 1]
    V = np.ascontiguousarray(V.T, source.dtype if near else light.dtype)
    narrow = (source if near else light).project(V)
    if state is None:
        single = in_single_precision(narrow, source.shape[0] * width) if near else narrow
        within = CompressedError(squared_norm, V.astype(light.dtype))
        rounds = alternate(single, H, loss=within, tol=goal, **how)
        now = _last(until_flat(rounds, tol=goal, state=None) if flat else rounds, goal)
        moving, H = how["on_H"].constraint.moving(len(H)), H.astype(np.float64)
        H[moving], W = now.components[moving], now.state["W"]
        if not near:
            return H, None
    else:
        W, goal, pair = state["W"], float(state["goal"]), int(state["pair"])
    # in double precision from here on: rounding would hide the directions that converge last
    kept: tuple[Array, Rows | None] = (H, None)
    lowest, shown = np.inf, state is not None
    while True:
        last, goal = goal, max(REFERRED_GAIN * goal, 0.5 * tol)
        loss, beside, W0 = _refer(source, narrow, V, H, W, squared_norm)
        rounds = alternate(narrow, H, W0=W0, loss=loss, beside=(beside,), tol=goal, **how)
        objective = next(rounds).objective
        if objective >= lowest:
            return kept  # what is neglected was too much
        kept, lowest = (H, given_weights(source, W)), objective
        residual = next(rounds).residual
        if not shown:
            details, here = {"momentum": 0.0, "certified": 0.0}, {"W": W, "goal": last, "pair": pair}
            yield Progress(H, objective, residual, certified=False, details=details, state=here)
        if residual <= tol or pair >= REFERRED_PAIRS:
            return kept
        now, pair, shown = _last(rounds, goal), pair + 1, False
        H, W = now.components, now.state["W"]


def _refer(
    source: RowSource, narrow: RowSource, V: Array, H: Array, W: Any, squared_norm: float
) -> tuple[ReferredError, Rows, Rows]:
    """The loss near a pair of factors, by a pass over the data; what lies beside its rows, and the weights there."""
    outside = partial(_referred_block, H=np.ascontiguousarray(H.T - V @ (H @ V).T))
    rows, (XW, known) = source.map_rows(outside, given_weights(source, W), width=len(H), combine=add)
    loss = ReferredError(squared_norm, V, XW - V @ (V.T @ XW), known)
    return loss, given_weights(narrow, source.deliver(rows)), given_weights(narrow, W)


def _referred_block(block: Block, W: Array, *, H: Array) -> tuple[Array, tuple[Array, float]]:
    rows = blocks.dot(block, H)
    return rows, (blocks.tdot(block, W), inner(rows, W))


def _last(rounds: Iterator[Progress], tol: float) -> Progress:
    """The round that reaches the residual, or after which rounds gain nothing more."""
    for number, now in enumerate(rounds):
        if number >= NARROW_ROUNDS or now.residual <= tol or now.state["idle"] >= PATIENCE:
            break
    return now


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
