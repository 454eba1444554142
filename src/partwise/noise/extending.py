"""From the scales of a sample of rows and columns to those of all."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.noise.deciding import Finding
from partwise.noise.sampling import Sample
from partwise.noise.scales import FLOOR, LEAST, NORMAL_MEDIAN, Whitened
from partwise.sources import RowSource, add, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

ROUNDS = 20  # passes of Sinkhorn's iteration over all data at most; about six are the rule
BALANCED = 1e-3  # relative change at which the scales of all data have settled: far below their own error


def all_scales(source: RowSource, sample: Sample, finding: Finding) -> tuple[Array, Array]:
    """Scales of all rows and columns.

    Returns
    -------
    row_scale : ndarray of shape (n_samples,)
        Positive.
    column_scale : ndarray of shape (n_features,)
        Positive.
    """
    n, m = source.shape
    state = finding.state
    if finding.kind == "none":
        return np.ones(n), np.ones(m)
    if finding.unit is not None:
        if len(sample.rows) == n and len(sample.columns) == m:
            return state.row_scale, state.column_scale
        return _balanced(source, finding.phi, finding.unit.everywhere(source))
    robust = finding.kind == "heavy-tailed"
    row_scale = _one(state.row_scale, n)
    if row_scale is None:
        noise = partial(_row_noise, columns=sample.columns, state=state, robust=robust)
        row_scale = np.asarray(source.map_rows(noise, width=None, dtype=np.float64))
        row_scale = _with(row_scale, sample.rows, state.row_scale)
    column_scale = _one(state.column_scale, m)
    if column_scale is None:
        column_scale = _column_noise(sample.part, state, robust)
        column_scale = _with(column_scale, sample.columns, state.column_scale)
    return row_scale, column_scale


def _one(scales: Array, size: int) -> Array | None:
    """One scale for all, if it is one."""
    return np.full(size, scales[0]) if np.all(scales == scales[0]) else None


def _with(scales: Array, chosen: Array, known: Array) -> Array:
    """With those of the sample as they were found there, and none of next to nothing."""
    scales = np.array(scales)
    scales[chosen] = known
    usual = float(np.median(known))
    return np.where(scales > LEAST * usual, scales, usual)


def _row_noise(block: Block, columns: Array, state: Whitened, robust: bool) -> Array:
    """The noise of each row, in the columns of the sample, beside the signal found there."""
    V = state.spectrum.right[: state.k]
    found = np.empty(block.shape[0])
    for a, b in blocks.row_chunks(block):
        Z = np.asarray(blocks.to_dense(blocks.take_columns(block[a:b], columns)), np.float64) / state.column_scale
        found[a:b] = _sizes(Z - (Z @ V.T) @ V, len(columns) - state.k, robust)
    return found


def _column_noise(part: Block, state: Whitened, robust: bool) -> Array:
    """The noise of each column, in the rows of the sample."""
    m = part.shape[1]
    U = state.spectrum.left[:, : state.k]
    found = np.empty(m)
    width = max(1, (4 << 20) // (8 * max(1, part.shape[0])))
    for first in range(0, m, width):
        columns = np.arange(first, min(first + width, m))
        Z = np.asarray(blocks.to_dense(blocks.take_columns(part, columns)), np.float64) / state.row_scale[:, None]
        found[columns] = _sizes((Z - U @ (U.T @ Z)).T, len(Z) - state.k, robust)
    return found


def _sizes(R: Array, freedom: int, robust: bool) -> Array:
    """Standard deviation of every row, or that of the normal law with the same median size."""
    if robust:
        return np.asarray(NORMAL_MEDIAN * np.median(np.abs(R), axis=1))
    return np.asarray(np.sqrt((R * R).sum(axis=1) / max(freedom, 1)))


def _balanced(source: RowSource, phi: float, unit: Array) -> tuple[Array, Array]:
    """Sinkhorn's iteration on the variances of all counts, a pass each; with the floor of the sample's variances.

    Where a word is in texts alone that have no other, there is nothing that it could come to without a floor.
    """
    n, m = source.shape
    least = FLOOR * float(source.reduce(partial(_total_block, phi=phi), unit)) / (n * m)
    v = np.ones(m)
    for _ in range(ROUNDS):
        balance = partial(_balance_block, inverse=1.0 / v, phi=phi, least=least)
        u, sums = source.map_rows(balance, unit, width=None, dtype=np.float64, combine=add)
        new = sums / n
        settled = np.abs(new - v).max() <= BALANCED * new.max()
        v = new
        if settled:
            break
    return np.sqrt(np.asarray(u)), np.sqrt(v)


def _variances(block: Block, unit: Array, phi: float) -> Block:
    x = blocks.values(block).astype(np.float64)
    linear = blocks.values(blocks.scale_rows(blocks.with_values(block, x), unit))
    return blocks.with_values(block, (linear + phi * x * x) / (1.0 + phi))


def _total_block(block: Block, unit: Array, *, phi: float) -> float:
    return float(blocks.values(_variances(block, unit, phi)).sum())


def _balance_block(block: Block, unit: Array, *, inverse: Array, phi: float, least: float) -> tuple[Array, Array]:
    V = _variances(block, unit, phi)
    u = (blocks.dot(V, inverse[:, None])[:, 0] + least * inverse.sum()) / block.shape[1]
    return u, blocks.tdot(V, 1.0 / u[:, None])[:, 0] + least * float((1.0 / u).sum())
