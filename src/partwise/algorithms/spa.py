"""SPA: the successive projection algorithm.

Araújo et al. (2001); Gillis & Vavasis (2014), "Fast and robust recursive algorithms for separable NMF": pick
the point (a row, or a column) of largest residual norm, project it out of all points, repeat.

No residual matrix is kept.  With the picked directions orthonormalised, the squared residual norm of a point
falls by its squared coordinate along each new direction, so a pick is one product ``X q`` (or ``X' q``) and one
update of as many numbers as there are points.  The subtraction cancels when a residual is small, so the few best
candidates of each pick are compared by their exact norms, and all norms are computed anew whenever they have
fallen so far that their rounding errors would choose the candidates.

SPA on the rows of words is the first round of FastAnchorWords, Arora et al. (2013), "A practical algorithm for topic
modeling with provable guarantees", which picks once more in place of each: :func:`fast_anchor_words`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.points import Axis, Index, Points, best_of, candidates, view
from partwise.sources import RowSource
from partwise.sources.protocol import Rows

Array = npt.NDArray[Any]

EXHAUSTED = 1e-13  # a residual below this times the largest norm of a point is numerically zero,
EXHAUSTED_EPS = 4.0  # as is one below this many rounding units of the data's type
STALE_EPS = 1e5  # squared norms that fell below this many rounding units of what they were are computed anew


@dataclass(frozen=True)
class SPAResult:
    """The picked points.

    Attributes
    ----------
    anchors : ndarray of int
        Numbers of the rows (or columns) in the order of picking; fewer than asked for when nothing is left to pick.
    residuals : ndarray
        Residual norm of each anchor when it was picked, relative to the largest point.
    margins : ndarray
        Ratio of that norm to the runner-up's: near 1 the pick was a close call.
    """

    anchors: npt.NDArray[np.int64]
    residuals: Array
    margins: Array


def spa(source: RowSource, n_anchors: int, *, row_scale: Rows | None = None, axis: Axis = "samples") -> SPAResult:
    """Pick ``n_anchors`` rows, or columns, whose cone (or hull) holds the others.

    Parameters
    ----------
    source : RowSource
        The data; dense or sparse, it is read once for each pick (twice with ``axis="features"``) and never copied.
    row_scale : row-aligned vector, optional
        Factor of every row before picking, e.g. the inverse of its sum; zero leaves a row out.  With
        ``axis="features"`` a vector with the factor of every column.

    Returns
    -------
    SPAResult
        The anchors, and how clear each pick was.
    """
    points = view(source, axis, row_scale)
    norms, best = points.lengths(np.empty((0, points.shape[1])), _scored, combine=best_of)
    Q = np.empty((0, points.shape[1]))
    anchors: list[int] = []
    residuals: list[float] = []
    margins: list[float] = []
    fresh = float(max(best[0, 0], 0.0))
    largest = float(np.sqrt(fresh))
    eps = float(np.finfo(points.dtype).eps)
    while len(anchors) < n_anchors:
        number, direction, first, second = _pick(points, best, Q, anchors)
        if first <= max(EXHAUSTED, EXHAUSTED_EPS * eps) * largest:
            break
        anchors.append(number)
        residuals.append(first / largest)
        margins.append(first / second if second > 0.0 else np.inf)
        Q = np.vstack([Q, direction])
        if len(anchors) < n_anchors:
            norms, best = points.along(direction[None], _projected, norms, combine=best_of, out=norms)
            if best[0, 0] <= STALE_EPS * eps * fresh:
                norms, best = points.lengths(Q, _scored, combine=best_of, out=norms)
                fresh = float(best[0, 0])
    return SPAResult(np.array(anchors, np.int64), np.array(residuals), np.array(margins))


def fast_anchor_words(source: RowSource, n_anchors: int, *, row_scale: Rows | None = None) -> Index:
    """FastAnchorWords (Arora et al. 2013, Algorithm 4) without its random projection.

    The first round is SPA. In the second each anchor in turn gives way to the row farthest from the span of all the
    others, those already replaced among them.

    Parameters
    ----------
    source : RowSource
        The rows; they are read once for each pick.
    row_scale : row-aligned vector, optional
        Factor of every row before picking; zero leaves a row out.

    Returns
    -------
    ndarray of int
        Numbers of the rows; fewer than asked for when nothing is left to pick.
    """
    anchors = spa(source, n_anchors, row_scale=row_scale).anchors
    points = view(source, "samples", row_scale)
    S = points.take(anchors)
    norms, _ = points.lengths(np.linalg.qr(S.T)[0].T, _scored, combine=best_of)
    gained = np.zeros(points.shape[1])
    for i in range(len(anchors)):
        others, Q = np.delete(anchors, i), np.linalg.qr(np.delete(S, i, axis=0).T)[0].T
        # a span that changes one of its points loses one direction and gains one, and with them all squared distances
        _, lost, _, _ = _pick(points, np.array([[0.0, anchors[i]]]), Q, [])
        norms, best = points.along(np.stack([gained, lost]), _exchanged, norms, combine=best_of, out=norms)
        anchors[i], gained, _, _ = _pick(points, best, Q, others.tolist())
        S[i] = points.take(anchors[i : i + 1])[0]
    return anchors


def _pick(points: Points, best: Array, Q: Array, anchors: list[int]) -> tuple[int, Array, float, float]:
    """The best candidate by exact residual norm: its number, unit direction, norm and the runner-up's norm."""
    numbers = best[:, 1].astype(np.int64)
    R = points.take(numbers)
    for _ in range(2):  # twice is enough to be orthogonal to rounding
        R -= (R @ Q.T) @ Q
    exact = np.sqrt(np.einsum("ij,ij->i", R, R))
    exact[np.isin(numbers, anchors)] = 0.0
    # the first point wins among equals: the order of candidates must not decide
    order = np.lexsort((numbers, -exact))
    first = float(exact[order[0]])
    second = float(exact[order[1]]) if len(order) > 1 else 0.0
    direction = R[order[0]] / first if first > 0.0 else R[order[0]]
    return int(numbers[order[0]]), direction, first, second


def _scored(norms: Array, numbers: Index) -> tuple[Array, Array]:
    return norms, candidates(norms, numbers)


def _projected(coordinates: Array, numbers: Index, norms: Array) -> tuple[Array, Array]:
    return _scored(norms - coordinates[:, 0] ** 2, numbers)


def _exchanged(coordinates: Array, numbers: Index, norms: Array) -> tuple[Array, Array]:
    return _scored(norms - coordinates[:, 0] ** 2 + coordinates[:, 1] ** 2, numbers)
