"""Exact weights of samples with holes, or with a weight for each entry: every sample against its own Gram matrix.

Samples with the same entries known are solved together, by the solver of complete ones on these entries.  Where
patterns are many, a few samples at a time have a Gram matrix each, ``G_i = sum_j M_ij h_j h_j'``; never all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.linalg.nnls import Gram, solve_each
from partwise.linalg.nnls import certified_block as complete_block
from partwise.linalg.poisson import Components
from partwise.linalg.poisson import certified_block as poisson_block
from partwise.sources import RowSource, blocks, inspect
from partwise.sources.observed import Observed
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

TOGETHER = 8  # samples a pattern on average from which it is worth a Gram matrix that is made for it
AT_ONCE = 8 << 20  # bytes of Gram matrices at a time


@dataclass(frozen=True)
class Parts:
    """Components for samples with holes.

    Parameters
    ----------
    H : ndarray of shape (n_components, n_features)
        The components.
    l1, l2 : float
        Penalties of the weights.
    features : ndarray of shape (n_features,), optional
        Weights of the features.
    counts : bool
        Whether weights are those of the Poisson likelihood, in the place of least squares.
    """

    H: npt.NDArray[np.float64]
    l1: float = 0.0
    l2: float = 0.0
    features: Array | None = None
    counts: bool = False


def certified_weights(
    source: RowSource, H: Array, *, l1: float, l2: float, loss: Any, mask: Any, weights: Any
) -> tuple[Any, Array]:
    """Weights of all samples and their residuals; see :func:`partwise.nnls` for the parameters."""
    from partwise.linalg.reweighed import certified_reweighed, named_loss  # which is made of this module

    named = named_loss(loss, "loss")
    if named is None and loss not in ("frobenius", "kullback-leibler"):
        raise InputError(
            "{parameter} must be frobenius, kullback-leibler, l1, ('huber', delta) or ('negative-binomial', "
            f"dispersion), got {loss!r}",
            parameter="loss",
            kind="unknown",
        )
    counts = loss == "kullback-leibler" or (named is not None and named[0] == "negative-binomial")
    features, entries = None, ()
    if weights is not None and np.ndim(weights) == 1:
        features = np.asarray(weights, np.float64)
        if features.shape != source.shape[1:] or not (np.isfinite(features).all() and features.min() >= 0.0):
            message = f"{{parameter}} must be {source.shape[1]} numbers, finite and not negative"
            raise InputError(message, parameter="weights", kind="shape")
    elif weights is not None and named is not None:
        raise InputError("{parameter} of entries are nothing for this loss", parameter="weights")
    elif weights is not None:
        entries = Observed(entries=weights).beside(source)
    if mask is not None:
        if entries:
            raise InputError("give {parameter} or weights of entries, not both", parameter="mask")
        source = source.derive(blocks.holed, *Observed(entries=mask).beside(source))
    elif not entries:
        source = source.derive(blocks.to_dense)  # where nothing is stored there is a zero, and no hole
    if counts:
        inspect(source.derive(blocks.zeroed)).check(allow_negative=False, squares=False)
        if (H < 0.0).any():
            raise InputError("{parameter} must not be negative", parameter="H", kind="negative")
    parts = Parts(H, l1=l1, l2=l2, features=features, counts=counts)
    solve = partial(certified_incomplete, parts=parts)
    if named is not None:
        solve = partial(certified_reweighed, parts=parts, loss=named)
    found: tuple[Any, Array] = source.map_rows(solve, *entries, width=len(H), combine=_join)
    return found


def _join(a: Array, b: Array) -> Array:
    return np.concatenate([a, b])


def decode_incomplete(block: Block, *entries: Block, parts: Parts) -> Array:
    """Exact weights of a block with holes, or with a weight for each entry."""
    return certified_incomplete(block, *entries, parts=parts)[0]


def certified_incomplete(block: Block, *entries: Block, parts: Parts) -> tuple[Array, Array]:
    """Exact weights of a block with holes, or with weights of entries, and their KKT residuals relative to ``|x|``."""
    n, k = block.shape[0], len(parts.H)
    W, kkt = np.zeros((n, k), block.dtype), np.zeros(n)
    step = max(1, AT_ONCE // (8 * k * k))
    for first in range(0, n, step):
        rows = slice(first, min(first + step, n))
        part = blocks.row_views(block, rows.start, rows.stop)
        if entries:
            solve = own_sums if parts.counts else own_grams
            W[rows], kkt[rows] = solve(part, entries[0][rows], parts)
            continue
        groups = list(_patterns(part))
        if parts.counts or len(groups) * TOGETHER <= part.shape[0]:
            for places, columns, x in groups:
                at = np.asarray(places) + first
                W[at], kkt[at] = _same_pattern(x, columns, parts)
        else:
            W[rows], kkt[rows] = own_grams(part, blocks.known(part), parts)
    return W, kkt


def _same_pattern(x: Array, columns: Array, parts: Parts) -> tuple[Array, Array]:
    """Samples of which the same entries are known, without the others."""
    H = parts.H[:, columns]
    if not len(columns):
        return np.zeros((len(x), len(H)), x.dtype), np.zeros(len(x))
    if parts.counts:
        if parts.features is not None:
            H, x = H * parts.features[columns], x * parts.features[columns]
        return poisson_block(x, Components.of(H.T, l1=parts.l1, l2=parts.l2))
    if parts.features is not None:
        root = np.sqrt(parts.features[columns])
        H, x = H * root, x * root.astype(x.dtype)
    return complete_block(np.ascontiguousarray(x), Gram.of(H, x.dtype, l1=parts.l1, l2=parts.l2))


def own_sums(block: Block, M: Block, parts: Parts) -> tuple[Array, Array]:
    """Weights of entries are weights of the features of their sample: each has parts with sums of their own."""
    W, kkt = np.zeros((block.shape[0], len(parts.H)), block.dtype), np.zeros(block.shape[0])
    x, M = blocks.to_dense(block), blocks.to_dense(M)
    for i in range(len(x)):
        v = np.asarray(M[i], np.float64) if parts.features is None else M[i] * parts.features
        known = np.flatnonzero(v)
        own = replace(parts, features=v)
        W[i : i + 1], kkt[i : i + 1] = _same_pattern(x[i : i + 1, known].astype(np.float64), known, own)
    return W, kkt


def own_grams(block: Block, M: Block, parts: Parts) -> tuple[Array, Array]:
    H, k = parts.H, len(parts.H)
    vH = H if parts.features is None else H * parts.features
    outer = (H[:, None, :] * vH[None, :, :]).reshape(k * k, -1).T
    X = blocks.multiply(block, M)
    G = blocks.dot(blocks.with_values(M, blocks.values(M).astype(np.float64)), np.ascontiguousarray(outer))
    B = blocks.dot(blocks.with_values(X, blocks.values(X).astype(np.float64)), np.ascontiguousarray(vH.T)) - parts.l1
    W, residual = solve_own(G.reshape(-1, k, k) + parts.l2 * np.eye(k), B)
    squares = blocks.with_values(
        X, blocks.values(X).astype(np.float64) * blocks.values(blocks.multiply(block, _signs(M)))
    )
    norms = np.sqrt(blocks.row_sums(squares))
    np.divide(residual, norms, out=residual, where=norms > 0.0)
    return W.astype(block.dtype), residual


def _signs(M: Block) -> Block:
    return blocks.with_values(M, (blocks.values(M) != 0).astype(M.dtype))


def solve_own(G: npt.NDArray[np.float64], B: npt.NDArray[np.float64]) -> tuple[Array, Array]:
    """Exact solutions of ``min 1/2 w G_i w' - b w'``, w >= 0, each with its own matrix, and their KKT residuals."""
    squares = np.diagonal(G, axis1=1, axis2=2)
    norms = np.sqrt(squares)
    norms = np.where(norms > 0.0, norms, 1.0)
    unit = G / (norms[:, :, None] * norms[:, None, :])
    j = np.arange(G.shape[1])
    unit[:, j, j] = squares > 0.0
    W, residual = solve_each(unit, B / norms, np.zeros_like(B))
    return W / norms, residual


def _patterns(block: Block) -> Iterator[tuple[list[int], Array, Array]]:
    """Samples of which the same entries are known, with the places of these and their values."""
    found: dict[bytes, list[int]] = {}
    if blocks.is_sparse(block):
        keys = (block.indices[a:b].tobytes() for a, b in zip(block.indptr[:-1], block.indptr[1:], strict=True))
    else:
        known = ~np.isnan(block)
        keys = (row.tobytes() for row in np.packbits(known, axis=1))
    for i, key in enumerate(keys):
        found.setdefault(key, []).append(i)
    for places in found.values():
        if blocks.is_sparse(block):
            columns = block.indices[block.indptr[places[0]] : block.indptr[places[0] + 1]]
            x = np.array([block.data[block.indptr[i] : block.indptr[i + 1]] for i in places])
        else:
            columns = np.flatnonzero(known[places[0]])
            x = block[np.asarray(places)[:, None], columns]
        yield places, columns, x
