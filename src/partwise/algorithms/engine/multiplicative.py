"""Multiplicative updates for a loss that is not quadratic: a factor times the ratio of the parts of its gradient."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine.alternating import POSITIVE_START, given_weights, lifted, placed
from partwise.algorithms.engine.divergence import Divergence
from partwise.algorithms.engine.factor import PLAIN, Factor
from partwise.algorithms.engine.pair import Pair, column_totals
from partwise.algorithms.loop import Progress, State
from partwise.sources import RowSource, add, blocks
from partwise.sources.observed import COMPLETE, Observed
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]

DECODE_TOL = 1e-7
DECODE_ITER = 2000
# Relative to the mean of its column, below this an entry is on its way to zero, where steps of a fixed ratio never
# arrive: nothing that it is added to can tell it from zero.
NOTHING = float(np.finfo(np.float64).eps) ** 2


def multiply(
    source: RowSource,
    H0: Array,
    *,
    W0: Array | None = None,
    decode: Any = None,
    loss: Divergence,
    on_W: Factor = PLAIN,
    on_H: Factor = PLAIN,
    state: State | None = None,
) -> Iterator[Progress]:
    """Update weights, then components; yields the start, then every round.

    Parameters
    ----------
    H0 : ndarray of shape (n_components, n_features)
        Where to start.
    W0 : ndarray of shape (n_samples, n_components), optional
        The weights to start with; nothing is lifted then.
    decode : callable, optional
        Block function of the weights to start with, in the place of equal ones.
    on_W, on_H : Factor
        What is asked of the factors.
    state : mapping, optional
        Of an earlier run, whose components ``H0`` are: the first round is then the next one.
    """
    k = len(H0)
    H = np.ascontiguousarray(H0.T, source.dtype)
    moving = on_H.constraint.moving(k)
    beside, v = loss.observed.beside(source), loss.observed.features
    pair = Pair(on_W, on_H, *loss.observed.lengths(source.shape), v=v)

    def progress(kkt: float) -> Progress:
        value = source.reduce(partial(_value_block, H=H, loss=loss), W, *beside) + pair.value(H, totals)
        kept = {"W": source.deliver(W), "W_sums": W_sums} | ({"totals": totals} if np.ndim(totals) else {})
        return Progress(H.T, value, kkt, state=kept)

    if state is None:
        H, W = given_start(source, H0, W0, on_H, decode, loss.observed)
        W_sums, totals = source.reduce(partial(_totals, loss=loss, pair=pair), W, *beside)
        yield progress(np.nan)
    else:
        W, W_sums, totals = placed(source, state), np.asarray(state["W_sums"]), state.get("totals", 0.0)
    while True:
        W_mean = W_sums / max(1.0, pair.n_W)
        step = partial(_round_block, H=H, loss=loss, on_W=pair.weights(H, totals), pair=pair, W_mean=W_mean)
        W, stats = source.map_rows(step, W, *beside, width=k, combine=add, out=W)
        residual_W, mass_W, negative, positive, W_sums, totals = stats
        on = pair.components(H, totals)
        positive = on.raised(positive, H)
        parts = H[:, moving], negative[:, moving], positive[:, moving]
        mean = parts[0].mean(axis=0) if v is None else column_totals(parts[0], v)[0] / pair.n_H
        residual_H, mass_H = _natural_mass(*parts, mean, v)
        exponent, H = loss.exponent(curved=on.curved(H)), H.copy()
        H[:, moving] = _multiplied(*parts, exponent, mean)
        kkt = max(0.0 if mass == 0.0 else r / mass for r, mass in ((residual_W, mass_W), (residual_H, mass_H)))
        yield progress(kkt)


def given_start(
    source: RowSource, H0: Array, W0: Array | None, on_H: Factor, decode: Any, observed: Observed
) -> tuple[Array, Rows]:
    """Components, a feature a row, and weights to start with: as they are given or, without weights, lifted.

    A zero could never be left, and a tiny number only after hundreds of rounds.
    """
    H = np.ascontiguousarray(H0.T, source.dtype)
    if W0 is not None:
        return H, given_weights(source, W0)
    tiny = float(np.finfo(source.dtype).tiny) ** 0.5
    H = lifted(H, max(tiny, POSITIVE_START * H.max(initial=0.0)), on_H)
    if decode is None:
        fn: Any = partial(even_weights, H=H, observed=observed)
    else:
        fn = partial(_lifted_weights, decode=decode)
    entries = observed.split(observed.beside(source))[1]
    return H, source.map_rows(fn, *(() if entries is None else (entries,)), width=len(H0))


def _lifted_weights(block: Block, *entries: Block, decode: Any) -> Array:
    W = decode(block, *entries)
    return np.asarray(np.maximum(W, POSITIVE_START * W.max(axis=1, keepdims=True)))


def decode_rows(
    block: Block,
    *entries: Block,
    H: Array,
    loss: Divergence,
    on_W: Factor = PLAIN,
    tol: float = DECODE_TOL,
    most: int = DECODE_ITER,
) -> Array:
    """Weights for fixed components: every row by itself, until its update is below the tolerance."""
    W = even_weights(block, *entries, H=H, observed=loss.observed)
    rows, part, w, beside = np.arange(len(W)), block, W.copy(), entries
    moving = np.ones(len(W), bool)
    exponent = loss.exponent(curved=on_W.curved(W))
    for _ in range(most):
        negative, positive = loss.gradient_W(part, w, H, *beside)
        new = _multiplied(w, negative, on_W.raised(positive, w), exponent, w.max(axis=1, keepdims=True))
        new[~moving] = w[~moving]
        moving &= np.abs(new - w).max(axis=1) > tol * new.max(axis=1)
        w = new
        if 2 * moving.sum() <= len(rows):  # leave out rows that have settled, but do not cut the block every time
            W[rows] = w
            rows = rows[moving]
            if not len(rows):
                return W
            part, w, moving = block[rows], W[rows], np.ones(len(rows), bool)
            beside = tuple(M[rows] for M in entries)
    W[rows] = w
    return W


def even_weights(block: Block, *entries: Block, H: Array, observed: Observed = COMPLETE) -> Array:
    """Equal weights that give every row its mass, of what is known of it."""
    tiny, v = np.finfo(H.dtype).tiny ** 0.5, observed.features
    if observed.holes or entries or v is not None:
        M = entries[0] if entries else blocks.known(block) if observed.holes else blocks.ones(block)
        M = M if v is None else blocks.scale_columns(M, v)
        mass = blocks.row_sums(blocks.multiply(blocks.zeroed(block), M))
        total: Any = blocks.dot(M, H.sum(axis=1, keepdims=True))[:, 0].astype(np.float64)
        total[total <= 0.0] = 1.0
    else:
        mass, total = blocks.row_sums(block), float(H.sum(dtype=np.float64)) or 1.0
    return np.repeat((np.maximum(mass, tiny) / total)[:, None], H.shape[1], axis=1).astype(H.dtype)


def _round_block(
    block: Block, W: Array, *beside: Block, H: Array, loss: Divergence, on_W: Factor, pair: Pair, W_mean: Array
) -> tuple[Array, tuple[Any, ...]]:
    negative, positive = loss.gradient_W(block, W, H, *beside)
    positive = on_W.raised(positive, W)
    measured = _natural_mass(W, negative, positive, W_mean, loss.observed.split(beside)[0])
    new = _multiplied(W, negative, positive, loss.exponent(curved=on_W.curved(W)), W_mean)
    return new, (
        *measured,
        *loss.gradient_H(block, new, H, *beside),
        *_totals(block, new, *beside, loss=loss, pair=pair),
    )


def _value_block(block: Block, W: Array, *beside: Block, H: Array, loss: Divergence) -> float:
    return loss.block_value(block, W, H, *beside)


def _totals(block: Block, W: Array, *beside: Block, loss: Divergence, pair: Pair) -> tuple[Array, Any]:
    s = loss.observed.split(beside)[0]
    return column_totals(W, s)[0], pair.totals(W, s)


def _multiplied(F: Array, negative: Array, positive: Array, exponent: float, size: Array) -> Array:
    ratio = np.divide(negative, positive, out=np.zeros_like(F), where=positive > 0.0)
    new = np.asarray(F * (ratio if exponent == 1.0 else ratio**exponent), F.dtype)
    new[new < NOTHING * size] = 0.0
    return new


def _natural_mass(
    F: Array, negative: Array, positive: Array, mean: Array, weights: Array | None = None
) -> tuple[float, float]:
    """Residual of the KKT conditions in units of mass: sum of |min(f positive, g mean)|, and the sum of f positive.

    Zero where the gradient ``g = positive - negative`` is zero, or positive at a zero weight; a zero weight with a
    negative gradient counts with the mean weight of its column.
    """
    gradient = positive - negative
    parts = np.abs(np.minimum(F * positive, gradient * mean))
    if weights is not None:
        w = np.asarray(weights, np.float64)
        return float(w @ parts.sum(axis=1)), float(w @ (F * positive).sum(axis=1))
    return float(parts.sum(dtype=np.float64)), float((F * positive).sum(dtype=np.float64))
