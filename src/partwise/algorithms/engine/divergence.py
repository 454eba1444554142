"""Beta-divergences: not quadratic, so a pass gives both parts of the gradient, ``positive - negative``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from partwise.sources import blocks
from partwise.sources.observed import COMPLETE, Observed
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Divergence:
    """The beta-divergence: 2 is half the squared error, 1 Kullback-Leibler, 0 Itakura-Saito.

    Parameters
    ----------
    beta : float
        Which.
    observed : Observed
        What is known, and how much it counts.
    """

    beta: float
    observed: Observed = COMPLETE
    every: ClassVar[bool] = False  # whether entries that are not stored must be looked at one by one

    def powers(self) -> tuple[float, ...]:
        """The powers of entries that value and gradient are made of."""
        return (self.beta, self.beta - 1.0, self.beta - 2.0)

    def exponent(self, *, curved: bool) -> float:
        """The power of the ratio with which the update never raises the objective.

        Févotte & Idier (2011), section 4.1: with r = w_new / w the divergence is at most, up to constants, a
        sum of ``-num r^(beta-1)/(beta-1)`` and ``den r^beta/beta`` (num r if beta > 2, den r if beta <
        1).  A curved penalty (l2) adds ``l2 w r^2/2``, so for beta < 2 all but the first term are bounded by
        ``r^2/2``; r = (num/den)^(1/(3-beta)).
        """
        if self.beta > 2.0:
            return 1.0 / (self.beta - 1.0)
        if curved:
            return 1.0 / (3.0 - self.beta)
        return 1.0 if self.beta >= 1.0 else 1.0 / (2.0 - self.beta)

    def value(self, x: Array, y: Array, weights: Array | None = None) -> float:
        """Sum of the divergences of x from y over these entries, with their weights."""
        parts = self.each(x, y)
        if weights is not None:
            return float(np.asarray(weights, np.float64) @ parts)
        return float(parts.sum(dtype=np.float64))

    def each(self, x: Array, y: Array) -> Array:
        """The divergences of these entries."""
        beta = self.beta
        if beta == 1.0:
            return np.asarray(x * _log_ratio(x, y) - x + y)
        if beta == 0.0:
            return np.asarray(x / y - _log_ratio(x, y) - 1.0)
        return np.asarray((x**beta + (beta - 1.0) * y**beta - beta * x * y ** (beta - 1.0)) / (beta * (beta - 1.0)))

    def parts(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Negative and positive part of the derivative by y."""
        return x * y ** (self.beta - 2.0), y ** (self.beta - 1.0)

    def block_value(self, block: Block, W: Array, H: Array, *beside: Block) -> float:
        """The divergence of a block from ``W H``."""
        if self.every or not self.observed.plain:
            return self._counted_value(block, W, H, beside)
        total = 0.0
        if self.beta == 2.0 and blocks.is_sparse(block):
            crossed = float(np.vdot(blocks.dot(block, H).astype(np.float64), W))
            squares = float(np.vdot(W.T.astype(np.float64) @ W, H.T.astype(np.float64) @ H))
            return max(0.0, 0.5 * (float(blocks.squared_norms(block).sum()) + squares) - crossed)
        for rows, part in self._pieces(block):
            if self.beta == 1.0 and not blocks.is_complete(part):
                # entries that are not stored are zeros of X: their divergence is (WH)_ij, summed without forming it
                WH = _floor(blocks.product_at(part, W[rows], H))
                total += self.value(blocks.values(part), WH)
                total += float(W[rows].sum(axis=0, dtype=np.float64) @ H.sum(axis=0, dtype=np.float64))
                total -= float(WH.sum(dtype=np.float64))
            else:
                total += self.value(np.ravel(blocks.to_dense(part)), _floor(np.ravel(W[rows] @ H.T)))
        return total

    def gradient_W(self, block: Block, W: Array, H: Array, *beside: Block) -> tuple[Array, Array]:
        """Negative part ``(X (WH)^(beta-2)) H'`` and positive part ``(WH)^(beta-1) H'``.

        Of a sample of any weight: penalties of its weights have the same one.
        """
        if self.every or not self.observed.plain:
            return self._counted_gradient(block, W, H, beside, of_W=True)
        if self.beta == 2.0:
            return blocks.dot(block, H), W @ (H.T @ H)
        negative, positive = np.empty_like(W), np.empty_like(W)
        for rows, part in self._pieces(block):
            WH, weighted = self._weighted(part, W[rows], H)
            negative[rows] = blocks.dot(weighted, H)
            positive[rows] = H.sum(axis=0) if self.beta == 1.0 else self._powers(part, W[rows], H, WH) @ H
        return negative, positive

    def gradient_H(self, block: Block, W: Array, H: Array, *beside: Block) -> tuple[Array, Array]:
        """The block's share of ``(X (WH)^(beta-2))' W`` and ``(WH)^(beta-1)' W``."""
        if self.every or not self.observed.plain:
            return self._counted_gradient(block, W, H, beside, of_W=False)
        if self.beta == 2.0:
            return blocks.tdot(block, W), H @ (W.T @ W)
        negative, positive = np.zeros_like(H), np.zeros_like(H)
        for rows, part in self._pieces(block):
            WH, weighted = self._weighted(part, W[rows], H)
            negative += blocks.tdot(weighted, W[rows])
            if self.beta != 1.0:
                positive += self._powers(part, W[rows], H, WH).T @ W[rows]
        if self.beta == 1.0:
            positive += W.sum(axis=0, dtype=np.float64).astype(H.dtype)
        return negative, positive

    def _counted_value(self, block: Block, W: Array, H: Array, beside: tuple[Block, ...]) -> float:
        """With what is known, and how much it counts."""
        s, _ = self.observed.split(beside)
        total = 0.0
        for rows, part, M in self._parts(block, beside):
            x, y = blocks.values(part), _floor(blocks.product_at(part, W[rows], H))
            counted = np.ones_like(x) if M is None else blocks.values(M).copy()
            if self.observed.features is not None:
                counted *= self.observed.features[blocks.columns_of(part)]
            if s is not None:
                counted *= s[rows][blocks.rows_of(part)]
            total += self.value(x, y, counted)
        return total

    def _counted_gradient(
        self, block: Block, W: Array, H: Array, beside: tuple[Block, ...], *, of_W: bool
    ) -> tuple[Array, Array]:
        s, _ = self.observed.split(beside)
        v = self.observed.features
        vH = H if v is None else H * v[:, None].astype(H.dtype)
        negative, positive = (np.zeros_like(W if of_W else H) for _ in range(2))
        for rows, part, M in self._parts(block, beside):
            WH, x = _floor(blocks.product_at(part, W[rows], H)), blocks.values(part)
            low, high = self.parts(x, WH)
            if M is not None:
                low, high = low * blocks.values(M), high * blocks.values(M)
            sides = blocks.with_values(part, low), blocks.with_values(part, high)
            if of_W:
                negative[rows], positive[rows] = (blocks.dot(side, vH) for side in sides)
            else:
                sW = W[rows] if s is None else W[rows] * s[rows][:, None].astype(W.dtype, copy=False)
                negative += blocks.tdot(sides[0], sW)
                positive += blocks.tdot(sides[1], sW)
        return negative, positive

    def _parts(self, block: Block, beside: tuple[Block, ...]) -> Iterator[tuple[slice, Block, Block | None]]:
        """A few rows at a time, with an entry for all that is known, and the weights of these."""
        M = self.observed.split(beside)[1]
        for rows, part in _chunks(block):
            if self.observed.holes:  # of a sparse block what is stored is what is known
                yield rows, blocks.zeroed(part), blocks.known(part)
            elif M is None:
                yield rows, blocks.to_dense(part), None
            else:
                here = M[rows]
                yield rows, blocks.holed(part, here) if blocks.is_sparse(here) else blocks.to_dense(part), here

    def _pieces(self, block: Block) -> Iterator[tuple[slice, Block]]:
        """A few rows at a time, or all where nothing has to be filled in."""
        sparse = self.beta == 1.0 and not blocks.is_complete(block)
        return iter([(slice(None), block)]) if sparse else _chunks(block)

    def _weighted(self, part: Block, W: Array, H: Array) -> tuple[Array, Block]:
        """``WH`` at the stored entries, and ``X (WH)^(beta-2)``."""
        WH, x = _floor(blocks.product_at(part, W, H)), blocks.values(part)
        return WH, blocks.with_values(part, x / WH if self.beta == 1.0 else x * WH ** (self.beta - 2.0))

    def _powers(self, part: Block, W: Array, H: Array, WH: Array) -> Array:
        full = WH.reshape(part.shape) if blocks.is_complete(part) else _floor(W @ H.T)
        return np.asarray(full ** (self.beta - 1.0))


def _log_ratio(x: Array, y: Array) -> Array:
    """``log(x / y)``, and zero where x is; also where the quotient is too small to be told from zero."""
    with np.errstate(under="ignore"):
        ratio = np.divide(x, y, out=np.ones_like(x), where=x > 0.0)
    tiny = ratio < np.finfo(ratio.dtype).tiny
    logs = np.log(ratio, out=np.zeros_like(ratio), where=~tiny)
    if tiny.any():
        logs[tiny] = np.log(x[tiny]) - np.log(y[tiny])
    return np.asarray(logs)


def _chunks(block: Block) -> Iterator[tuple[slice, Block]]:
    """Row chunks of the block in which entries that are not stored can be filled in at little memory."""
    for a, b in blocks.row_chunks(block):
        yield slice(a, b), block if (a, b) == (0, block.shape[0]) else block[a:b]


def _floor(WH: Array) -> Array:
    """Keep products away from zero, where powers and quotients are not finite."""
    return np.asarray(np.maximum(WH, np.finfo(WH.dtype).tiny ** 0.5, out=WH))
