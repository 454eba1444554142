"""The squared error, plain, weighted or of data with holes: quadratic in each factor, so a pass gives Gram and product.

A loss object goes to every block with the block function, so it is small; weights lie beside the rows of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels.coordinate import inner
from partwise.sources import MemorySource, RowSource, blocks
from partwise.sources.observed import COMPLETE, Observed
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]

# Share of unknown entries up to which these are filled in anew every round. A round then costs twice that of complete
# data; with a Gram matrix for each sample and feature it costs as many times as there are components, but the more is
# unknown the slower filling in comes near.
MOST_FILLED = 0.5


@dataclass(frozen=True)
class SquaredError:
    """``1/2 |X - W H|^2``; ``H`` comes transposed, a feature a row.

    Parameters
    ----------
    squared_norm : float
        ``|X|^2``, with the weights, of what is known.
    """

    squared_norm: float

    def lengths(self, shape: tuple[int, int]) -> tuple[float, float]:
        """How many samples and features there are, with their weights."""
        return float(shape[0]), float(shape[1])

    def complete(self, block: Block, W: Array, H: Array) -> Block:
        """The block without holes, for this round."""
        return block

    def offset(self, full: Block, W: Array, *beside: Block) -> float:
        """What of the value a block decides beside its statistics: ``|X|^2`` with what was filled in, say."""
        return 0.0

    def parts(self, full: Block) -> Iterator[tuple[slice, Block]]:
        """So many rows of a block at a time as make small problems."""
        yield slice(0, full.shape[0]), full

    def row_weights(self, *beside: Block) -> Array | None:
        """Weights of the samples of a block."""
        return None

    def feature_weights(self) -> Array | None:
        """Weights of the features."""
        return None

    def exact(self) -> SquaredError:
        """The loss whose row problem has the weights of a first pass as its solution."""
        return self

    def shared(self, H: Array) -> Array:
        """What the problems of all rows of ``W`` have in common, once a pass: ``H H'``."""
        return gram(H).astype(H.dtype, copy=False)

    def row_problem(self, block: Block, H: Array, shared: Array, *beside: Block) -> tuple[Array, Array]:
        """``G`` and ``B`` of ``min 1/2 w G w' - b w'`` for the rows of a block."""
        return shared, blocks.dot(block, H)

    def statistics(self, block: Block, W: Array, *beside: Block) -> tuple[Array, Array]:
        """The block's part of ``G`` and ``B`` for the features: ``W' W`` and ``X' W``."""
        return weighted_sums(block, W, None)

    def totalled(self, stats: tuple[Any, ...]) -> tuple[Any, ...]:
        """The sums of all blocks, ``G`` and ``B`` first, as the features see them."""
        return stats

    def value(self, H: Array, G: Array, B: Array, offset: float = 0.0) -> float:
        """1/2 |X - WH|^2 = 1/2 |X|^2 - <X'W, H'> + 1/2 <W'W, HH'>, from the statistics of ``W``."""
        product = 0.5 * self.squared_norm - inner(B, H)
        return max(product + 0.5 * float((G * gram(H)).sum()), 0.0)


@dataclass(frozen=True, eq=False)
class CompressedError(SquaredError):
    """``1/2 |X V V' - W H|^2`` from the narrow rows ``X V``, with orthonormal columns of ``V``.

    Products cost as much less as the rows are narrower.  The value includes what ``V`` does not reach, a constant.

    Parameters
    ----------
    V : ndarray of shape (n_features, width)
        The directions that are kept.
    """

    V: Array

    def lengths(self, shape: tuple[int, int]) -> tuple[float, float]:
        """See :class:`SquaredError`."""
        return float(shape[0]), float(len(self.V))

    def shared(self, H: Array) -> Array:
        """``H H'``, and below it the components in the coordinates of the rows."""
        return np.concatenate([super().shared(H), self.V.T @ H])

    def row_problem(self, block: Block, H: Array, shared: Array, *beside: Block) -> tuple[Array, Array]:
        """See :class:`SquaredError`."""
        k = H.shape[1]
        return shared[:k], blocks.dot(block, shared[k:])

    def totalled(self, stats: tuple[Any, ...]) -> tuple[Any, ...]:
        """See :class:`SquaredError`."""
        G, B, *others = stats
        return G, self.V @ B, *others


@dataclass(frozen=True, eq=False)
class ReferredError(CompressedError):
    """``1/2 |X - W H|^2`` near a pair ``(W1, H1)`` from the narrow rows ``X V``, with the rest of the data linearised.

    With ``R = X - X V V'`` it is ``<R, W H>`` that narrow rows do not tell.  ``<R, W1 H> + <R, W H1> - <R, W1 H1>`` in
    its place has its value and gradient at ``(W1, H1)``, so a pair that minimises this for itself is stationary for
    the whole data; what is neglected is ``<R, (W - W1) (H - H1)>``.  The rows of ``R H1'`` lie beside the data.

    Parameters
    ----------
    rest : ndarray of shape (n_features, n_components)
        ``R' W1``.
    known : float
        ``<R, W1 H1>``.
    """

    rest: Array
    known: float

    def row_problem(self, block: Block, H: Array, shared: Array, *beside: Block) -> tuple[Array, Array]:
        """See :class:`SquaredError`."""
        G, B = super().row_problem(block, H, shared)
        return G, B + beside[0]

    def totalled(self, stats: tuple[Any, ...]) -> tuple[Any, ...]:
        """See :class:`SquaredError`."""
        G, B, *others = super().totalled(stats)
        return G, B + self.rest, *others

    def offset(self, full: Block, W: Array, *beside: Block) -> float:
        """See :class:`SquaredError`."""
        return -inner(beside[0], W)

    def value(self, H: Array, G: Array, B: Array, offset: float = 0.0) -> float:
        """See :class:`SquaredError`."""
        return super().value(H, G, B) + self.known + offset


@dataclass(frozen=True)
class WeightedError(SquaredError):
    """``1/2 sum_ij s_i v_j (X - W H)_ij^2``: weights of samples and of features.

    The problem of a sample does not see its own weight, nor that of a feature its own: penalties of their rows have the
    same weight.
    """

    observed: Observed

    def lengths(self, shape: tuple[int, int]) -> tuple[float, float]:
        """See :class:`SquaredError`."""
        return self.observed.lengths(shape)

    def row_weights(self, *beside: Block) -> Array | None:
        """See :class:`SquaredError`."""
        found: Array | None = self.observed.split(beside)[0]
        return found

    def feature_weights(self) -> Array | None:
        """See :class:`SquaredError`."""
        return self.observed.features

    def shared(self, H: Array) -> Array:
        """``H V H'``."""
        v = self.observed.features
        return super().shared(H if v is None else H * np.sqrt(v)[:, None].astype(H.dtype))

    def row_problem(self, block: Block, H: Array, shared: Array, *beside: Block) -> tuple[Array, Array]:
        """See :class:`SquaredError`."""
        return shared, blocks.dot(block, self.weighed(H))

    def statistics(self, block: Block, W: Array, *beside: Block) -> tuple[Array, Array]:
        """See :class:`SquaredError`."""
        return weighted_sums(block, W, self.observed.split(beside)[0])

    def value(self, H: Array, G: Array, B: Array, offset: float = 0.0) -> float:
        """See :class:`SquaredError`."""
        product = 0.5 * self.squared_norm - inner(B, self.weighed(H))
        return max(product + 0.5 * float((G * self.shared(H)).sum()), 0.0)

    def weighed(self, H: Array) -> Array:
        """Every feature times its weight."""
        v = self.observed.features
        return H if v is None else H * v[:, None].astype(H.dtype)


@dataclass(frozen=True)
class FilledError(WeightedError):
    """The squared error over known entries, by filling in the unknown ones with ``W H`` of the round before.

    ``1/2 |X - W H|^2`` with the unknown entries of X at those of ``W0 H0`` is above the error over known entries alone,
    with its value and gradient at ``(W0, H0)``: what lowers it lowers that, and the residual of the optimality
    conditions is exact. All samples have one Gram matrix. The objective of a round is the bound.
    """

    def complete(self, block: Block, W: Array, H: Array) -> Block:
        """See :class:`SquaredError`."""
        return blocks.completed(block, W, H)

    def offset(self, full: Block, W: Array, *beside: Block) -> float:
        """See :class:`SquaredError`."""
        s, v = self.row_weights(*beside), self.observed.features
        # in the type of the block: a row's rounding errors are small beside its statistics', and do not add up
        rows = np.einsum("ij,ij->i", full, full) if v is None else np.square(full, dtype=np.float64) @ v
        return float(rows.sum(dtype=np.float64) if s is None else np.asarray(s, np.float64) @ rows)

    def value(self, H: Array, G: Array, B: Array, offset: float = 0.0) -> float:
        """See :class:`SquaredError`."""
        return WeightedError(offset, self.observed).value(H, G, B)

    def exact(self) -> SquaredError:
        """See :class:`SquaredError`."""
        return EntryWeightedError(self.squared_norm, self.observed)


@dataclass(frozen=True)
class EntryWeightedError(WeightedError):
    """``1/2 sum_ij M_ij (X - W H)_ij^2``: a weight for each entry, zero where it is missing, with those of samples too.

    Every row has a Gram matrix of its own, ``G_i = sum_j M_ij h_j h_j'``, and every feature too.
    """

    def parts(self, full: Block) -> Iterator[tuple[slice, Block]]:
        """See :class:`SquaredError`."""
        return blocks.row_parts(full)

    def shared(self, H: Array) -> Array:
        """``h_j h_j'`` for every feature, flat."""
        v = self.observed.features
        return _outer(H if v is None else H * np.sqrt(v)[:, None].astype(H.dtype))

    def row_problem(self, block: Block, H: Array, shared: Array, *beside: Block) -> tuple[Array, Array]:
        """See :class:`SquaredError`."""
        M, k = self._entries(block, beside), H.shape[1]
        return blocks.dot(M, shared).reshape(-1, k, k), blocks.dot(blocks.multiply(block, M), self.weighed(H))

    def statistics(self, block: Block, W: Array, *beside: Block) -> tuple[Array, Array]:
        """See :class:`SquaredError`."""
        M, k, sW = self._entries(block, beside), W.shape[1], _weighted(W, self.observed.split(beside)[0])
        G = np.zeros((block.shape[1], k * k), W.dtype)
        for rows, part in blocks.row_parts(M):
            G += blocks.tdot(part, (sW[rows][:, :, None] * W[rows][:, None, :]).reshape(-1, k * k))
        return G.reshape(-1, k, k), blocks.tdot(blocks.multiply(block, M), sW)

    def value(self, H: Array, G: Array, B: Array, offset: float = 0.0) -> float:
        """See :class:`SquaredError`."""
        H = H.astype(np.float64, copy=False)
        vH = self.weighed(H)
        product = 0.5 * self.squared_norm - float(np.einsum("ij,ij->", B, vH))
        return max(product + 0.5 * float(np.einsum("jab,ja,jb->", G, vH, H, optimize=True)), 0.0)

    def _entries(self, block: Block, beside: tuple[Block, ...]) -> Block:
        M = self.observed.split(beside)[1]
        return blocks.known(block) if M is None else M


def squared_error(
    source: RowSource, squared_norm: float, weights: Any = None, *, fill: bool = False
) -> tuple[SquaredError, tuple[Rows, ...]]:
    """The loss, and what lies beside the rows for it.

    Parameters
    ----------
    squared_norm : float
        ``|X|^2``, for the plain loss.
    weights : Observed, array, sparse matrix or source, optional
        What is known and how much it counts; a weight for each sample, or for each entry: what has weight zero, or is
        not stored, is missing.
    fill : bool, default=False
        Whether few unknown entries may be filled in anew every round.
    """
    observed = Observed.of(weights)
    if observed.plain:
        return SquaredError(squared_norm), ()
    beside = observed.beside(source)
    norm = float(source.reduce(_Norm(observed), *beside))
    own = observed.entries is not None or (observed.holes and not (fill and observed.unknown <= MOST_FILLED))
    kind = EntryWeightedError if own else FilledError if observed.holes else WeightedError
    return kind(norm, observed), beside


@dataclass(frozen=True)
class _Norm:
    """``sum_ij s_i v_j M_ij X_ij^2`` of a block."""

    observed: Observed = COMPLETE

    def __call__(self, block: Block, *beside: Block) -> float:
        s, M = self.observed.split(beside)
        block = blocks.zeroed(block)
        if self.observed.features is not None:
            block = blocks.scale_columns(block, np.sqrt(self.observed.features))
        if M is None:
            rows = blocks.squared_norms(block)
        else:
            rows = blocks.row_sums(blocks.multiply(blocks.with_values(block, blocks.values(block) ** 2), M))
        return float(rows.sum() if s is None else np.asarray(s, np.float64) @ rows)


def count_of(rows: Block | RowSource, samples: Array | None) -> float:
    """How many samples there are, each as often as it counts."""
    return float(rows.shape[0] if samples is None else samples.sum())


def weighted_sums(block: Block, W: Array, samples: Array | None) -> tuple[Array, Array]:
    """``W' W`` and ``X' W`` of a block whose samples count so often."""
    counted = _weighted(W, samples)
    return counted.T @ W, blocks.tdot(block, counted)


def _weighted(W: Array, samples: Array | None) -> Array:
    return W if samples is None else samples[:, None].astype(W.dtype, copy=False) * W


def gram(H: Array) -> Array:
    """``H' H`` in double precision, by blocks of features: threads of BLAS would still be spinning in the next pass."""
    return np.asarray(MemorySource(H).reduce(_gram_block))


def _gram_block(H: Array) -> Array:
    """Sums of a few features in the type of ``H``, those sums in double precision: as exact at half of its price."""
    total = np.zeros((H.shape[1], H.shape[1]))
    for _, part in blocks.row_parts(H):
        total += part.T @ part
    return total


def _outer(F: Array) -> Array:
    return (F[:, :, None] * F[:, None, :]).reshape(len(F), -1)
