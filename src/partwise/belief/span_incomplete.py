"""The coordinates of incomplete data: every sample, and every feature, by what is known of it.

A row with holes has a Gram matrix of its own, ``G_i``, so its weights have the covariance ``s^2 G_i^-1`` in the place
of ``s^2 G^-1``. What follows from the span asks for one matrix for all rows: the two are compared by their traces,
``tr(G G_i^-1) / k``, by so much the variance of a row is larger. That is exact on the mean of the coordinates, and of
entries that are unknown at random nearly so in each; where a whole band of a sample is unknown, parts that differ in
that band alone are taken to be told better than they are, and the others worse.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.belief.opening import sums
from partwise.belief.span import Span, noise_outside
from partwise.exceptions import InputError
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

AT_ONCE = 8 << 20  # bytes of Gram matrices, or of dense rows, at a time
TOLD = 1e-8  # least eigenvalue of a Gram matrix, relative to the largest, of what is determined by what is known


def span_of_incomplete(source: RowSource, H: Array, *, known: int) -> Span:
    """The known entries in the coordinates of the parts ``H``, without noise that was measured.

    Rows and columns that their known entries do not determine are left out.

    Parameters
    ----------
    source : RowSource
        Rows with holes.
    H : ndarray of shape (n_components, n_features)
        The parts.
    known : int
        How many entries are known.

    Returns
    -------
    Span
        As :func:`partwise.belief.span.span_of` gives it.
    """
    source, U, _ = _rows_told(source, H / sums(H)[:, None])
    G, B = source.reduce(_columns_block, source.place(U))
    K, column_loss = _solved(G, B, U.T @ U)
    told = np.flatnonzero(np.isfinite(column_loss))
    if len(told) < source.shape[1]:
        source = source.derive(partial(blocks.take_columns, columns=told), n_features=len(told))
    if len(told) < len(H):
        raise InputError("{parameter}: too few columns are known", parameter="X", kind="too-many-components")
    K, column_loss = np.ascontiguousarray(K[told].T), column_loss[told]
    K /= sums(K)[:, None]
    source, U, row_loss = _rows_told(source, K)
    n, m = source.shape
    variance, outside = noise_outside(source, U, K, np.ones(n), np.ones(m), None, known)
    if variance is not None:
        variance = replace(variance, row_loss=row_loss, column_loss=column_loss)
    return Span(K, U, np.ones(m), np.ones(n), variance, outside)


def _rows_told(source: RowSource, H: Array) -> tuple[RowSource, Array, Array]:
    """The rows that what is known of them determines, their least-squares weights of any sign, and their losses."""
    k = len(H)
    found = np.asarray(source.map_rows(partial(_weights_block, H=H), width=k + 1, dtype=np.float64))
    told = np.isfinite(found[:, k])
    if told.sum() < k:
        raise InputError("{parameter}: too few rows are known", parameter="X", kind="too-many-components")
    if not told.all():
        source, found = source.choose(told), found[told]
    return source, np.ascontiguousarray(found[:, :k]), found[:, k]


def _weights_block(block: Block, *, H: Array) -> Array:
    """Weights of the rows, and how much larger the variance of these is than that of complete rows."""
    k, found = len(H), []
    outer = (H[:, None, :] * H[None, :, :]).reshape(k * k, -1).T
    step = max(1, AT_ONCE // (8 * max(k * k, H.shape[1])))
    for first in range(0, block.shape[0], step):
        part = blocks.row_views(block, first, min(first + step, block.shape[0]))
        M, X = (np.asarray(blocks.to_dense(one), np.float64) for one in (blocks.known(part), blocks.zeroed(part)))
        found.append(np.column_stack(_solved((M @ outer).reshape(-1, k, k), X @ H.T, H @ H.T)))
    return np.concatenate(found) if found else np.zeros((0, k + 1))


def _columns_block(block: Block, U: Array) -> tuple[Array, Array]:
    """The Gram matrices of the features, and their products with the weights."""
    k, m = U.shape[1], block.shape[1]
    G, B = np.zeros((m, k * k)), np.zeros((m, k))
    for a, b in blocks.row_chunks(block):
        part = block[a:b]
        M, X = (np.asarray(blocks.to_dense(one), np.float64) for one in (blocks.known(part), blocks.zeroed(part)))
        G += M.T @ (U[a:b, :, None] * U[a:b, None, :]).reshape(-1, k * k)
        B += X.T @ U[a:b]
    return G.reshape(m, k, k), B


def _solved(G: Array, B: Array, whole: Array) -> tuple[Array, Array]:
    """Solutions of ``G_i w = b``, and ``tr(whole G_i^-1) / k``: infinite where ``G_i`` has none."""
    W, loss = np.zeros_like(B), np.zeros(len(B))
    step = max(1, AT_ONCE // (8 * whole.size))
    for first in range(0, len(B), step):
        some = slice(first, first + step)
        values, V = np.linalg.eigh(G[some])
        told = values[:, 0] > TOLD * np.maximum(values[:, -1], np.finfo(float).tiny)
        inverse = np.where(told[:, None], 1.0 / np.where(told[:, None], values, 1.0), 0.0)
        along = np.einsum("nij,ni->nj", V, B[some])
        W[some] = np.einsum("nij,nj->ni", V, along * inverse)
        spread = np.einsum("nij,ik,nkj->nj", V, whole, V, optimize=True)
        loss[some] = np.where(told, (spread * inverse).sum(axis=1) / len(whole), np.inf)
    return W, loss
