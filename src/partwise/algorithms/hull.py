"""Anchors as the corners of the convex hull.

Arora, Ge, Kannan & Moitra (2012), "Computing a nonnegative matrix factorization - provably"; Hsu, lecture notes on
non-negative matrix factorization (COMS 4772): scale every point to sum 1, delete every point that is in the convex
hull of the others, which a linear program tells; what remains are the anchors.

Here the program gives the l1 distance from that hull, so that noise may have a tolerance.  With noise more points
remain than there are anchors, and those nearest to the hull of the others are deleted until enough are.  A distance
only grows as others are deleted: so an old one is a lower bound, and few programs are solved again.

Most points never need a program.  A point that exact non-negative weights make of known corners is inside; any
other point has a residual r, and the point that is farthest along r is a corner (Clarkson, 1994).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from partwise.algorithms.points import Axis, view
from partwise.linalg.lp import check_lp_size, solve_lp
from partwise.linalg.nnls import nnls
from partwise.sources import RowSource, blocks
from partwise.sources.passes import ordered

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]

DIRECTIONS = 32  # residuals that are followed to corners in one round
ROUNDING_EPS = 64.0  # distances below this many rounding units of the data's type, times sqrt(dimension), are zero


@dataclass(frozen=True)
class HullAnchors:
    """The corners that remain.

    Attributes
    ----------
    anchors : ndarray of int
        Numbers of the points, the farthest from the hull of the others first.
    distances : ndarray
        Their l1 distances from the hull of the others, of points that sum to 1: at most 2.
    margins : ndarray
        Ratios of these to the largest distance of a point that was deleted; infinite if none had one.
    n_corners : int
        Points that the fast path could not place inside, for which programs were solved.
    gap : float
        Largest difference between a distance and its lower bound from the dual problem.
    """

    anchors: Index
    distances: Array
    margins: Array
    n_corners: int
    gap: float


def convex_hull(source: RowSource, n_anchors: int, *, axis: Axis = "samples", tol: float = 1e-7) -> HullAnchors:
    """Delete rows, or columns, that lie in the convex hull of the others until ``n_anchors`` remain.

    Parameters
    ----------
    source : RowSource
        The data, non-negative; it is brought into memory.
    n_anchors : int
        Largest number of points to keep.
    axis : {"samples", "features"}, default="samples"
        Whether rows (pure records) or columns (anchor words) are kept.
    tol : float, default=1e-7
        A point nearer than this to the hull of the others, in the l1 norm of points that sum to 1, is inside.

    Returns
    -------
    HullAnchors
        The corners, and how far out they are.
    """
    points = view(source, axis)
    n, m = points.shape
    advice = "pick among fewer points, or use SPA, PreconditionedSPA, EllipsoidalSPA or XRAY, which have no limit"
    check_lp_size(float(n) * m, f"ConvexHull for {n} points of dimension {m}", advice)
    P = points.take(np.arange(n))
    sums = P.sum(axis=1)
    used = np.flatnonzero(sums > 0.0)
    P = P[used] / sums[used, None]
    # of equal points the first stays
    firsts = np.sort(np.unique(P, axis=0, return_index=True)[1]) if len(P) else used
    tol = max(tol, ROUNDING_EPS * np.sqrt(m) * float(np.finfo(points.dtype).eps))
    used, P = used[firsts], P[firsts]
    corners = _corners(P, tol)
    kept, distances, deleted, gap = _thinned(P[corners], n_anchors, tol)
    order = np.lexsort((kept, -distances))
    kept, distances = kept[order], distances[order]
    margins = np.divide(distances, deleted, out=np.full(len(kept), np.inf), where=deleted > 0.0)
    return HullAnchors(used[corners[kept]], distances, margins, len(corners), gap)


def _corners(P: Array, tol: float) -> Index:
    """Points among which all corners are; every other is nearer than ``tol`` to the hull of these."""
    if not len(P):
        return np.empty(0, np.int64)
    # |x - w C|_2 = d leaves an l1 error of sqrt(m) d, and as much again when the weights are made to sum to 1
    inside = tol / (2.0 * np.sqrt(P.shape[1]))
    corners = np.array([np.argmax(blocks.norms(P - P.mean(axis=0)))])
    open_ = np.setdiff1d(np.arange(len(P)), corners)
    while len(open_):
        R = P[open_] - np.asarray(nnls(P[corners], P[open_])) @ P[corners]
        lengths = blocks.norms(R)
        open_, R, lengths = open_[lengths > inside], R[lengths > inside], lengths[lengths > inside]
        if not len(open_):
            break
        farthest = np.argsort(-lengths, kind="stable")[:DIRECTIONS]
        found = np.argmax(P @ R[farthest].T, axis=0)
        if np.isin(found, corners).all():  # r'c <= 0 < r'x for corners c so far, but for rounding
            found = open_[farthest[:1]]
        fresh = np.setdiff1d(found, corners)
        corners, open_ = np.union1d(corners, fresh), np.setdiff1d(open_, fresh)
    return corners


def _thinned(C: Array, most: int, tol: float) -> tuple[Index, Array, float, float]:
    """Which corners stay, their distances, the largest distance of one that went, and the largest gap."""
    n = len(C)
    if n < 2:
        return np.arange(n), np.full(n, 2.0), 0.0, 0.0
    alive = np.ones(n, bool)
    first = list(ordered(partial(_distance, C=C, alive=alive.copy()), n))
    distances, gap = np.array([d for d, _ in first]), max(g for _, g in first)
    heap = [(float(d), i) for i, d in enumerate(distances)]
    heapq.heapify(heap)
    deleted, fresh = 0.0, np.full(n, n)  # how many were alive when a distance was computed
    while len(heap) > 1 and (len(heap) > most or heap[0][0] <= tol):
        distance, i = heapq.heappop(heap)
        if fresh[i] > len(heap) + 1:
            distance, slack = _distance(i, C=C, alive=alive)
            distances[i], gap, fresh[i] = distance, max(gap, slack), len(heap) + 1
            heapq.heappush(heap, (distance, i))
            continue
        alive[i] = False
        deleted = max(deleted, distance)
    kept = np.flatnonzero(alive)
    distances = _refreshed(kept, C, alive, distances, fresh)
    return kept, distances, deleted, gap


def _refreshed(kept: Index, C: Array, alive: Array, distances: Array, fresh: Array) -> Array:
    """Distances of those that stay from the hull of the others that stay."""
    old = [i for i in kept if fresh[i] > len(kept)]
    if len(kept) < 2:
        return np.full(len(kept), 2.0)
    new: Iterator[tuple[float, float]] = ordered(lambda j: _distance(old[j], C=C, alive=alive), len(old))
    distances[old] = [distance for distance, _ in new]
    return distances[kept]


def _distance(i: int, *, C: Array, alive: Array) -> tuple[float, float]:
    """The l1 distance of a point from the hull of the others alive, by weights that are there, and its gap."""
    others = np.flatnonzero(alive)
    others = others[others != i]
    m, k = C.shape[1], len(others)
    eye = sp.eye_array(m)
    weights_sum = sp.csr_array(np.ones((1, k)))
    A_eq = sp.block_array([[sp.csr_array(C[others].T), eye, -eye], [weights_sum, None, None]], format="csc")
    c = np.concatenate([np.zeros(k), np.ones(2 * m)])
    x, certificate = solve_lp(c, A_eq, np.append(C[i], 1.0))
    weights = x[:k] / x[:k].sum()
    return float(np.abs(C[i] - weights @ C[others]).sum()), certificate.gap
