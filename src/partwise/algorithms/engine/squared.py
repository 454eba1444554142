"""The squared error, plain or weighted: quadratic in each factor, so a pass gives Gram matrix and product.

A loss object goes to every block with the block function, so it is small; weights lie beside the rows of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.sources import MemorySource, RowSource, blocks
from partwise.sources.beside import SourceRows
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SquaredError:
    """``1/2 |X - W H|^2``; ``H`` comes transposed, a feature a row.

    Parameters
    ----------
    squared_norm : float
        ``|X|^2``, with the weights.
    """

    squared_norm: float

    def shared(self, H: Array) -> Array:
        """What the problems of all rows of ``W`` have in common, once a pass: ``H H'``."""
        return gram(H)

    def row_problem(self, block: Block, H: Array, shared: Array) -> tuple[Array, Array]:
        """``G`` and ``B`` of ``min 1/2 w G w' - b w'`` for the rows of a block."""
        return shared, blocks.dot(block, H)

    def statistics(self, block: Block, W: Array) -> tuple[Array, Array]:
        """The block's part of ``G`` and ``B`` for the features: ``W' W`` and ``X' W``."""
        return W.T @ W, blocks.tdot(block, W)

    def value(self, H: Array, G: Array, B: Array) -> float:
        """1/2 |X - WH|^2 = 1/2 |X|^2 - <X'W, H'> + 1/2 <W'W, HH'>, from the statistics of ``W``."""
        product = 0.5 * self.squared_norm - float(np.einsum("ij,ij->", B, H))
        return max(product + 0.5 * float((G * gram(H)).sum()), 0.0)


@dataclass(frozen=True)
class SampleWeightedError(SquaredError):
    """``1/2 sum_i s_i |X_i - W_i H|^2``: a weight for each sample."""

    def row_problem(self, block: Block, H: Array, shared: Array, *beside: Array) -> tuple[Array, Array]:
        """See :class:`SquaredError`."""
        s = beside[0]
        return s[:, None, None] * shared, s[:, None] * blocks.dot(block, H)

    def statistics(self, block: Block, W: Array, *beside: Array) -> tuple[Array, Array]:
        """See :class:`SquaredError`."""
        sW = beside[0][:, None] * W
        return sW.T @ W, blocks.tdot(block, sW)


@dataclass(frozen=True)
class EntryWeightedError(SquaredError):
    """``1/2 sum_ij M_ij (X - W H)_ij^2``: a weight for each entry, zero where it is missing.

    Every row has a Gram matrix of its own, ``G_i = sum_j M_ij h_j h_j'``, and every feature too.
    """

    def shared(self, H: Array) -> Array:
        """``h_j h_j'`` for every feature, flat."""
        return _outer(H)

    def row_problem(self, block: Block, H: Array, shared: Array, *beside: Block) -> tuple[Array, Array]:
        """See :class:`SquaredError`."""
        M, k = beside[0], H.shape[1]
        return blocks.dot(M, shared).reshape(-1, k, k), blocks.dot(blocks.multiply(block, M), H)

    def statistics(self, block: Block, W: Array, *beside: Block) -> tuple[Array, Array]:
        """See :class:`SquaredError`."""
        M, k = beside[0], W.shape[1]
        G = np.zeros((block.shape[1], k * k), W.dtype)
        for rows, part in blocks.row_parts(M):
            G += blocks.tdot(part, _outer(W[rows]))
        return G.reshape(-1, k, k), blocks.tdot(blocks.multiply(block, M), W)

    def value(self, H: Array, G: Array, B: Array) -> float:
        """See :class:`SquaredError`."""
        product = 0.5 * self.squared_norm - float(np.einsum("ij,ij->", B, H))
        return max(product + 0.5 * float(np.einsum("jab,ja,jb->", G, H, H, optimize=True)), 0.0)


def squared_error(source: RowSource, squared_norm: float, weights: Any = None) -> tuple[SquaredError, tuple[Rows, ...]]:
    """The loss, and what lies beside the rows for it.

    Parameters
    ----------
    source : RowSource
        The data.
    squared_norm : float
        ``|X|^2``, for the plain loss.
    weights : array, sparse matrix or source, optional
        A weight for each sample, or for each entry: what has weight zero, or is not stored, is missing.
    """
    if weights is None:
        return SquaredError(squared_norm), ()
    rows = _beside(source, weights)
    norm = float(source.reduce(_weighted_norm, rows))
    return (SampleWeightedError if len(rows.shape) == 1 else EntryWeightedError)(norm), (rows,)


def gram(H: Array) -> Array:
    """``H' H`` by blocks of features: threads of BLAS would still be spinning when the next pass begins."""
    return np.asarray(MemorySource(H).reduce(_gram_block))


def _gram_block(H: Array) -> Array:
    return H.T @ H


def _outer(F: Array) -> Array:
    return (F[:, :, None] * F[:, None, :]).reshape(len(F), -1)


def _weighted_norm(block: Block, weights: Array) -> float:
    if len(weights.shape) == 1:
        return float(np.asarray(weights, np.float64) @ blocks.squared_norms(block))
    squares = blocks.multiply(blocks.with_values(block, blocks.values(block) ** 2), weights)
    return float(blocks.values(squares).sum(dtype=np.float64))


def _beside(source: RowSource, weights: Any) -> Rows:
    """Weights in the type of the data, as rows that a pass can take beside its own."""
    if isinstance(weights, RowSource):
        rows: Any = SourceRows(weights, source.dtype)
    else:
        rows = blocks.concrete(weights, source.dtype)
        entries = blocks.values(rows)
        if not (entries.min(initial=0.0) >= 0.0 and np.isfinite(entries).all()):
            raise InputError("{parameter} must be finite and not negative", parameter="weights")
    if tuple(rows.shape) not in (source.shape, source.shape[:1]):
        message = f"{{parameter}} have shape {tuple(rows.shape)}, X has shape {source.shape}"
        raise InputError(message, parameter="weights", kind="shape")
    return source.place(rows) if isinstance(rows, np.ndarray) else rows
