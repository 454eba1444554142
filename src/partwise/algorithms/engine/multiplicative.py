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
from partwise.algorithms.loop import Progress, State
from partwise.sources import RowSource, add, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

DECODE_TOL = 1e-7
DECODE_ITER = 2000


def multiply(
    source: RowSource,
    H0: Array,
    *,
    W0: Array | None = None,
    loss: Divergence,
    on_W: Factor = PLAIN,
    on_H: Factor = PLAIN,
    state: State | None = None,
) -> Iterator[Progress]:
    """Update weights, then components; yields the start, then every round.

    Parameters
    ----------
    source : RowSource
        The data.
    H0 : ndarray of shape (n_components, n_features)
        Where to start.
    W0 : ndarray of shape (n_samples, n_components), optional
        The weights to start with; nothing is lifted then.
    loss : Divergence
        What is minimised, with the penalties.
    on_W, on_H : Factor
        What is asked of the factors.
    state : mapping, optional
        Of an earlier run, whose components ``H0`` are: the first round is then the next one.
    """
    n, k = source.shape[0], len(H0)
    H = np.ascontiguousarray(H0.T, source.dtype)
    moving = on_H.constraint.moving(k)

    def progress(kkt: float, W_value: float) -> Progress:
        value = source.reduce(partial(_value_block, H=H, loss=loss), W) + W_value + on_H.value(H)
        return Progress(H.T, value, kkt, state={"W": source.deliver(W), "W_sums": W_sums})

    if state is None:
        if W0 is None:
            # a zero could never be left, and a tiny number only after hundreds of rounds
            tiny = float(np.finfo(source.dtype).tiny) ** 0.5
            H = lifted(H, max(tiny, POSITIVE_START * H.max(initial=0.0)), on_H)
            W = source.map_rows(partial(even_weights, H=H), width=k)
        else:
            W = given_weights(source, W0)
        W_sums, W_value = source.reduce(partial(_totals, on_W=on_W), W)
        yield progress(np.nan, W_value)
    else:
        W, W_sums = placed(source, state), np.asarray(state["W_sums"])
    while True:
        step = partial(_round_block, H=H, loss=loss, on_W=on_W, W_mean=W_sums / max(1, n))
        W, stats = source.map_rows(step, W, width=k, combine=add, out=W)
        residual_W, mass_W, negative, positive, W_sums, W_value = stats
        positive = on_H.raised(positive, H)
        parts = H[:, moving], negative[:, moving], positive[:, moving]
        residual_H, mass_H = _natural_mass(*parts, parts[0].mean(axis=0))
        H = H.copy()
        H[:, moving] = _multiplied(*parts, loss.exponent(curved=on_H.curved(H)))
        kkt = max(0.0 if mass == 0.0 else r / mass for r, mass in ((residual_W, mass_W), (residual_H, mass_H)))
        yield progress(kkt, W_value)


def decode_rows(block: Block, *, H: Array, loss: Divergence, on_W: Factor = PLAIN) -> Array:
    """Weights for fixed components: every row by itself, until its update is below the tolerance."""
    W = even_weights(block, H)
    rows, part, w = np.arange(len(W)), block, W.copy()
    moving = np.ones(len(W), bool)
    exponent = loss.exponent(curved=on_W.curved(W))
    for _ in range(DECODE_ITER):
        negative, positive = loss.gradient_W(part, w, H)
        new = _multiplied(w, negative, on_W.raised(positive, w), exponent)
        new[~moving] = w[~moving]
        moving &= np.abs(new - w).max(axis=1) > DECODE_TOL * new.max(axis=1)
        w = new
        if 2 * moving.sum() <= len(rows):  # leave out rows that have settled, but do not cut the block every time
            W[rows] = w
            rows = rows[moving]
            if not len(rows):
                return W
            part, w, moving = block[rows], W[rows], np.ones(len(rows), bool)
    W[rows] = w
    return W


def even_weights(block: Block, H: Array) -> Array:
    """Equal weights that give every row its mass."""
    mass = np.maximum(blocks.row_sums(block), np.finfo(H.dtype).tiny ** 0.5)
    total = float(H.sum(dtype=np.float64)) or 1.0
    return np.repeat((mass / total)[:, None], H.shape[1], axis=1).astype(H.dtype)


def _round_block(
    block: Block, W: Array, *, H: Array, loss: Divergence, on_W: Factor, W_mean: Array
) -> tuple[Array, tuple[Any, ...]]:
    negative, positive = loss.gradient_W(block, W, H)
    positive = on_W.raised(positive, W)
    measured = _natural_mass(W, negative, positive, W_mean)
    new = _multiplied(W, negative, positive, loss.exponent(curved=on_W.curved(W)))
    return new, (*measured, *loss.gradient_H(block, new, H), *_totals(block, new, on_W))


def _value_block(block: Block, W: Array, *, H: Array, loss: Divergence) -> float:
    return loss.block_value(block, W, H)


def _totals(block: Block, W: Array, on_W: Factor) -> tuple[Array, float]:
    return W.sum(axis=0, dtype=np.float64), on_W.value(W)


def _multiplied(F: Array, negative: Array, positive: Array, exponent: float) -> Array:
    ratio = np.divide(negative, positive, out=np.zeros_like(F), where=positive > 0.0)
    return np.asarray(F * (ratio if exponent == 1.0 else ratio**exponent), F.dtype)


def _natural_mass(F: Array, negative: Array, positive: Array, mean: Array) -> tuple[float, float]:
    """Residual of the KKT conditions in units of mass: sum of |min(f positive, g mean)|, and the sum of f positive.

    Zero where the gradient ``g = positive - negative`` is zero, or positive at a zero weight; a zero weight with a
    negative gradient counts with the mean weight of its column.
    """
    gradient = positive - negative
    parts = np.abs(np.minimum(F * positive, gradient * mean))
    return float(parts.sum(dtype=np.float64)), float((F * positive).sum(dtype=np.float64))
