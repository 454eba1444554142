"""MU: multiplicative updates for the Frobenius norm, Kullback-Leibler and any beta-divergence.

Lee & Seung (2001), "Algorithms for non-negative matrix factorization" (the updates in Hsu's lecture, section
2); Févotte & Idier (2011), "Algorithms for NMF with the beta-divergence" (the exponent that makes them
monotone).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.alternating import NO_PENALTY, POSITIVE_START, Penalty, alternate, natural_residual
from partwise.algorithms.loop import Progress, State
from partwise.sources import RowSource, add, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

DECODE_TOL = 1e-7
DECODE_ITER = 2000


def mu(
    source: RowSource,
    H0: Array,
    *,
    squared_norm: float,
    beta: float = 2.0,
    W_penalty: Penalty = NO_PENALTY,
    H_penalty: Penalty = NO_PENALTY,
    state: State | None = None,
) -> Iterator[Progress]:
    """Iterations of MU from the components ``H0``; see :class:`partwise.MU` for the parameters."""
    if beta == 2.0:
        # on sufficient statistics: a pass reads X once and never forms W H
        return alternate(
            source,
            H0,
            update_W=multiply_rows,
            update_H=multiply_rows,
            squared_norm=squared_norm,
            W_penalty=W_penalty,
            H_penalty=H_penalty,
            positive_start=True,
            state=state,
        )
    return _beta_iterations(source, H0, Divergence(beta), W_penalty, H_penalty, state)


def multiply_rows(G: Array, B: Array, W: Array) -> float:
    """``W <- W * (X H') / (W H H')``, in place; ``B`` below zero (a large penalty) counts as zero."""
    residual = natural_residual(G, B, W)
    denominator = W @ G
    np.divide(np.maximum(B, 0.0), denominator, out=denominator, where=denominator > 0.0)
    W *= denominator
    return residual


@dataclass(frozen=True)
class Divergence:
    """The beta-divergence: 2 is half the squared error, 1 Kullback-Leibler, 0 Itakura-Saito."""

    beta: float

    def exponent(self, penalty: Penalty) -> float:
        """The power of the ratio with which the update never raises the objective.

        Févotte & Idier (2011), section 4.1: with r = w_new / w the divergence is at most, up to constants, a
        sum of ``-num r^(beta-1)/(beta-1)`` and ``den r^beta/beta`` (num r if beta > 2, den r if beta <
        1).  An l2 penalty adds ``l2 w r^2/2``, so for beta < 2 all but the first term are bounded by
        ``r^2/2``; r = (num/den)^(1/(3-beta)).
        """
        if self.beta > 2.0:
            return 1.0 / (self.beta - 1.0)
        if penalty.l2:
            return 1.0 / (3.0 - self.beta)
        return 1.0 if self.beta >= 1.0 else 1.0 / (2.0 - self.beta)

    def ratio(self, x: Array, y: Array) -> Array:
        """``x y^(beta-2)``: the numerator's weight of every entry."""
        return x / y if self.beta == 1.0 else x * y ** (self.beta - 2.0)

    def value(self, x: Array, y: Array) -> float:
        """Sum of the divergences of x from y over these entries."""
        beta = self.beta
        if beta == 1.0:
            logs = np.log(np.divide(x, y, out=np.ones_like(x), where=x > 0.0))
            return float((x * logs - x + y).sum(dtype=np.float64))
        if beta == 0.0:
            quotient = x / y
            return float((quotient - np.log(quotient) - 1.0).sum(dtype=np.float64))
        parts = x**beta + (beta - 1.0) * y**beta - beta * x * y ** (beta - 1.0)
        return float(parts.sum(dtype=np.float64) / (beta * (beta - 1.0)))


def _beta_iterations(
    source: RowSource, H0: Array, divergence: Divergence, W_penalty: Penalty, H_penalty: Penalty, state: State | None
) -> Iterator[Progress]:
    n, k = source.shape[0], len(H0)
    H = np.ascontiguousarray(H0.T, source.dtype)

    def progress(kkt: float) -> Progress:
        value = source.reduce(partial(_value_block, H=H, divergence=divergence), W)
        value += W_penalty.value(float(W_sums.sum()), W_squares)
        value += H_penalty.value(float(H.sum()), float(np.vdot(H, H)))
        return Progress(H.T, value, kkt, state={"W": source.deliver(W), "W_sums": W_sums})

    if state is None:
        # a zero could never be left, and a tiny number only after hundreds of rounds
        tiny = float(np.finfo(source.dtype).tiny) ** 0.5
        H = np.maximum(H, np.asarray(max(tiny, POSITIVE_START * H.max(initial=0.0)), H.dtype))
        W = source.map_rows(partial(_start_block, H=H), width=k)
        W_sums, W_squares = source.reduce(_totals, W)
        yield progress(np.nan)
    else:
        W, W_sums = source.place(np.array(state["W"], source.dtype, order="C")), np.asarray(state["W_sums"])
    while True:
        step = partial(_beta_block, H=H, divergence=divergence, penalty=W_penalty, W_mean=W_sums / max(1, n))
        W, stats = source.map_rows(step, W, width=k, combine=add, out=W)
        residual_W, mass_W, numerator, denominator, W_sums, W_squares = stats
        denominator = denominator + H_penalty.l1 + H_penalty.l2 * H
        residual_H, mass_H = _natural_mass(H, numerator, denominator, H.mean(axis=0))
        H = _multiply(H, numerator, denominator, divergence.exponent(H_penalty))
        kkt = max(0.0 if mass == 0.0 else r / mass for r, mass in ((residual_W, mass_W), (residual_H, mass_H)))
        yield progress(kkt)


def _start_block(block: Block, H: Array) -> Array:
    """Equal weights that give every row its mass."""
    mass = np.maximum(blocks.row_sums(block), np.finfo(H.dtype).tiny ** 0.5)
    total = float(H.sum(dtype=np.float64)) or 1.0
    return np.repeat((mass / total)[:, None], H.shape[1], axis=1).astype(H.dtype)


def _totals(block: Block, W: Array) -> tuple[Array, float]:
    return W.sum(axis=0, dtype=np.float64), float(np.vdot(W, W))


def _chunks(block: Block) -> Iterator[tuple[slice, Block]]:
    """Row chunks of the block in which entries that are not stored can be filled in at little memory."""
    for a, b in blocks.row_chunks(block):
        yield slice(a, b), block if (a, b) == (0, block.shape[0]) else block[a:b]


def _gradient_W(block: Block, W: Array, H: Array, divergence: Divergence) -> tuple[Array, Array]:
    """Numerator ``(X (WH)^(beta-2)) H'`` and denominator ``(WH)^(beta-1) H'``."""
    numerator = np.empty_like(W)
    denominator = np.empty_like(W)
    for rows, part in _chunks(block):
        WH = _floor(blocks.product_at(part, W[rows], H))
        weighted = blocks.with_values(part, divergence.ratio(blocks.values(part), WH))
        numerator[rows] = blocks.dot(weighted, H)
        denominator[rows] = _power_dot(part, W[rows], H, divergence, WH)
    return numerator, denominator


def _power_dot(part: Block, W: Array, H: Array, divergence: Divergence, WH: Array) -> Array:
    if divergence.beta == 1.0:
        return np.asarray(np.broadcast_to(H.sum(axis=0), W.shape))
    full = WH.reshape(part.shape) if blocks.is_complete(part) else _floor(W @ H.T)
    return np.asarray((full ** (divergence.beta - 1.0)) @ H)


def _floor(WH: Array) -> Array:
    """Keep products away from zero, where powers and quotients are not finite."""
    return np.asarray(np.maximum(WH, np.finfo(WH.dtype).tiny ** 0.5, out=WH))


def _multiply(W: Array, numerator: Array, denominator: Array, exponent: float) -> Array:
    ratio = np.divide(numerator, denominator, out=np.zeros_like(W), where=denominator > 0.0)
    return np.asarray(W * (ratio if exponent == 1.0 else ratio**exponent), W.dtype)


def _natural_mass(W: Array, numerator: Array, denominator: Array, mean: Array) -> tuple[float, float]:
    """Residual of the KKT conditions in units of mass: sum of |min(w den, g mean)|, and the sum of w den.

    Zero where the gradient ``g = den - num`` is zero, or positive at a zero weight; a zero weight with a
    negative gradient counts with the mean weight of its column.
    """
    gradient = denominator - numerator
    parts = np.abs(np.minimum(W * denominator, gradient * mean))
    return float(parts.sum(dtype=np.float64)), float((W * denominator).sum(dtype=np.float64))


def _beta_block(
    block: Block, W: Array, *, H: Array, divergence: Divergence, penalty: Penalty, W_mean: Array
) -> tuple[Array, tuple[Any, ...]]:
    numerator, denominator = _gradient_W(block, W, H, divergence)
    denominator = denominator + penalty.l1 + penalty.l2 * W
    residual, mass = _natural_mass(W, numerator, denominator, W_mean)
    new = _multiply(W, numerator, denominator, divergence.exponent(penalty))
    H_numerator = np.zeros_like(H)
    H_denominator = np.zeros_like(H)
    for rows, part in _chunks(block):
        WH = _floor(blocks.product_at(part, new[rows], H))
        weighted = blocks.with_values(part, divergence.ratio(blocks.values(part), WH))
        H_numerator += blocks.tdot(weighted, new[rows])
        if divergence.beta != 1.0:
            full = WH.reshape(part.shape) if blocks.is_complete(part) else _floor(new[rows] @ H.T)
            H_denominator += (full ** (divergence.beta - 1.0)).T @ new[rows]
    sums, squares = _totals(block, new)
    if divergence.beta == 1.0:
        H_denominator += sums.astype(H.dtype)
    return new, (residual, mass, H_numerator, H_denominator, sums, squares)


def _value_block(block: Block, W: Array, *, H: Array, divergence: Divergence) -> float:
    total = 0.0
    for rows, part in _chunks(block):
        if divergence.beta == 1.0 and not blocks.is_complete(part):
            # entries that are not stored are zeros of X: their divergence is (WH)_ij, summed without forming
            # it
            WH = _floor(blocks.product_at(part, W[rows], H))
            total += divergence.value(blocks.values(part), WH)
            total += float(W[rows].sum(axis=0, dtype=np.float64) @ H.sum(axis=0, dtype=np.float64))
            total -= float(WH.sum(dtype=np.float64))
        else:
            total += divergence.value(np.ravel(blocks.to_dense(part)), _floor(np.ravel(W[rows] @ H.T)))
    return total


def decode_beta_block(block: Block, *, H: Array, divergence: Divergence, penalty: Penalty) -> Array:
    """Weights for fixed components: every row by itself, until its update is below the tolerance."""
    W = _start_block(block, H)
    rows, part, w = np.arange(len(W)), block, W.copy()
    moving = np.ones(len(W), bool)
    for _ in range(DECODE_ITER):
        numerator, denominator = _gradient_W(part, w, H, divergence)
        denominator = denominator + penalty.l1 + penalty.l2 * w
        new = _multiply(w, numerator, denominator, divergence.exponent(penalty))
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
