"""SPA: the successive projection algorithm.

Araújo et al. (2001); Gillis & Vavasis (2014), "Fast and robust recursive algorithms for separable NMF": pick
the row of largest residual norm, project every row onto the complement of the picked one, repeat.

No residual matrix is kept.  With the picked directions orthonormalised, the squared residual norm of a row
falls by its squared coordinate along each new direction, so a pick is one product ``X q`` and one update of n
numbers.  The subtraction cancels when a residual is small, so the few best candidates of each pick are
compared by their exact norms, and all norms are computed anew whenever they have fallen so far that their
rounding errors would choose the candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]

CANDIDATES = 8  # rows of each pick whose residual norms are computed exactly
EXHAUSTED = 1e-13  # a residual below this times the largest row norm is numerically zero,
EXHAUSTED_EPS = 4.0  # as is one below this many rounding units of the data's type
STALE_EPS = 1e5  # squared norms that fell below this many rounding units of what they were are computed anew


@dataclass(frozen=True)
class SPAResult:
    """The picked rows.

    Attributes
    ----------
    anchors : ndarray of int
        Row numbers in the order of picking; fewer than asked for when the data has lower rank.
    residuals : ndarray
        Residual norm of each anchor when it was picked, relative to the largest row.
    margins : ndarray
        Ratio of that norm to the runner-up's: near 1 the pick was a close call.
    """

    anchors: npt.NDArray[np.int64]
    residuals: Array
    margins: Array


def spa(source: RowSource, n_anchors: int, *, row_scale: Rows | None = None) -> SPAResult:
    """Pick ``n_anchors`` rows whose cone (or hull) holds the others.

    Parameters
    ----------
    source : RowSource
        The data; dense or sparse, it is read once for each pick and never copied.
    n_anchors : int
        Number of rows to pick.
    row_scale : row-aligned vector, optional
        Factor of every row before picking, e.g. the inverse of its sum; zero leaves a row out.

    Returns
    -------
    SPAResult
        The anchors, and how clear each pick was.
    """
    numbers = np.arange(source.shape[0], dtype=np.int64)
    scale = np.ones(source.shape[0]) if row_scale is None else row_scale
    norms, best = source.map_rows(_open_block, scale, numbers, width=None, dtype=np.float64, combine=_best_of)
    Q = np.empty((0, source.shape[1]))
    anchors: list[int] = []
    residuals: list[float] = []
    margins: list[float] = []
    fresh = float(max(best[0, 0], 0.0))
    largest = float(np.sqrt(fresh))
    eps = float(np.finfo(source.dtype).eps)
    while len(anchors) < n_anchors:
        row, direction, first, second = _pick(source, scale, best, Q, anchors)
        if first <= max(EXHAUSTED, EXHAUSTED_EPS * eps) * largest:
            break
        anchors.append(row)
        residuals.append(first / largest)
        margins.append(first / second if second > 0.0 else np.inf)
        Q = np.vstack([Q, direction])
        if len(anchors) < n_anchors:
            step = partial(_project_block, q=np.ascontiguousarray(direction[:, None], source.dtype))
            norms, best = source.map_rows(
                step, norms, scale, numbers, width=None, dtype=np.float64, combine=_best_of, out=norms
            )
            if best[0, 0] <= STALE_EPS * eps * fresh:
                renew = partial(_renew_block, Q=Q)
                norms, best = source.map_rows(
                    renew, scale, numbers, width=None, dtype=np.float64, combine=_best_of, out=norms
                )
                fresh = float(best[0, 0])
    return SPAResult(np.array(anchors, np.int64), np.array(residuals), np.array(margins))


def _pick(source: RowSource, scale: Rows, best: Array, Q: Array, anchors: list[int]) -> tuple[int, Array, float, float]:
    """The best candidate by exact residual norm: its row, unit direction, norm and the runner-up's norm."""
    rows = best[:, 1].astype(np.int64)
    R = blocks.to_dense(source.take(rows)).astype(np.float64) * best[:, 2:3]
    for _ in range(2):  # twice is enough to be orthogonal to rounding
        R -= (R @ Q.T) @ Q
    exact = np.sqrt(np.einsum("ij,ij->i", R, R))
    exact[np.isin(rows, anchors)] = 0.0
    # the first row wins among equals: the order of candidates must not decide
    order = np.lexsort((rows, -exact))
    first = float(exact[order[0]])
    second = float(exact[order[1]]) if len(order) > 1 else 0.0
    direction = R[order[0]] / first if first > 0.0 else R[order[0]]
    return int(rows[order[0]]), direction, first, second


def _open_block(block: Block, scale: Array, numbers: Array) -> tuple[Array, Array]:
    norms = blocks.squared_norms(block) * scale**2
    return norms, _candidates(norms, scale, numbers)


def _project_block(block: Block, norms: Array, scale: Array, numbers: Array, *, q: Array) -> tuple[Array, Array]:
    coordinate = blocks.dot(block, q)[:, 0] * scale
    new = norms - coordinate**2
    return new, _candidates(new, scale, numbers)


def _renew_block(block: Block, scale: Array, numbers: Array, *, Q: Array) -> tuple[Array, Array]:
    """Squared residual norms from the residuals themselves."""
    norms = np.empty(len(scale))
    for a, b in blocks.row_chunks(block):
        R = blocks.to_dense(block[a:b]).astype(np.float64) * scale[a:b, None]
        R -= (R @ Q.T) @ Q
        norms[a:b] = blocks.squared_norms(R)
    return norms, _candidates(norms, scale, numbers)


def _candidates(norms: Array, scale: Array, numbers: Array) -> Array:
    """The rows of largest squared norm: columns norm, row number, scale."""
    count = min(CANDIDATES, len(norms))
    if not count:
        return np.empty((0, 3))
    last = np.partition(norms, -count)[-count]
    above = np.flatnonzero(norms > last)
    # rows are in order, so the first ones win among equals
    top = np.concatenate([above, np.flatnonzero(norms == last)[: count - len(above)]])
    return _sorted(np.column_stack([norms[top], numbers[top].astype(np.float64), scale[top]]))


def _best_of(a: Array, b: Array) -> Array:
    return _sorted(np.vstack([a, b]))[:CANDIDATES]


def _sorted(table: Array) -> Array:
    return np.asarray(table[np.lexsort((table[:, 1], -table[:, 0]))])
