"""XRAY: extreme rays of the cone of the data, one at a time.

Kumar, Sindhwani & Kambadur (2013), "Fast conical hull algorithms for near-separable non-negative matrix
factorization", algorithm 1.  All points x are fitted by non-negative combinations of the anchors so far; a point
outside their cone is chosen by its residual r, and the face of the cone that r points away from turns until it
touches the data: the next anchor is the x of largest ``r'x / p'x`` with a positive p, here all ones.

In the orthonormal directions Q of the anchors a point is as many numbers as there are anchors, and the exact fit is
a small problem in these; what lies outside their span no weights change.  So a pick is two passes, one product with
the new direction and one with r.  No residual matrix is kept: the rules that need all residuals at once take them a
slab at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from partwise.algorithms.points import Axis, Index, Points, State, best_of, candidates, view
from partwise.algorithms.spa import EXHAUSTED_EPS, STALE_EPS, SPAResult
from partwise.exceptions import InputError
from partwise.linalg.nnls import Gram, decode_block
from partwise.sources import RowSource, add, blocks

Array = npt.NDArray[Any]
Selection = Literal["max", "dist", "greedy"]

SELECTIONS = ("max", "dist", "greedy")
FITTED = 1e-11  # a residual below this times the largest norm of a point is numerically zero
TIE_EPS = 64.0  # scores that differ by fewer rounding units are equal, and the first point wins
SLAB_BYTES = 32 << 20  # residuals that are held at once


def xray(source: RowSource, n_anchors: int, *, axis: Axis = "samples", selection: Selection = "max") -> SPAResult:
    """Pick ``n_anchors`` rows, or columns, whose cone holds the others.

    Parameters
    ----------
    source : RowSource
        The data, non-negative; dense or sparse, it is never copied.
    selection : {"max", "dist", "greedy"}, default="max"
        The residual r that is followed: of largest norm; or with the largest norm of the positive parts of ``r'x``
        over all points x.  "greedy" follows none: it picks the x with the largest norm of the positive parts of
        ``r'x`` over all residuals r, relative to the norm of x, which would lower the residuals most; that need not be
        an extreme ray, even without noise.  The last two take as many products as there are pairs of points, and a
        pass for every slab of residuals.

    Returns
    -------
    SPAResult
        The anchors; every residual is the largest one before the pick, relative to the largest point, and margins are
        the ratios of the scores of the anchors to those of the runners-up.
    """
    if selection not in SELECTIONS:
        raise InputError(f"selection must be one of {', '.join(SELECTIONS)}, got {selection!r}", parameter="selection")
    points = view(source, axis)
    eps = float(np.finfo(points.dtype).eps)
    cone = Cone(*(np.empty((0, points.shape[1])),) * 2)
    fit = Fit.of(points)
    largest = np.sqrt(fit.best[0, 0])
    anchors: list[int] = []
    residuals: list[float] = []
    margins: list[float] = []
    while len(anchors) < n_anchors:
        numbers = fit.best[:, 1].astype(np.int64)
        R = cone.residuals(points.take(numbers))
        norms = blocks.norms(R)
        if norms.max() <= max(FITTED, EXHAUSTED_EPS * eps) * largest:
            break
        if selection == "greedy":
            table = _greedy(points, cone, anchors)
        else:
            r = R[np.lexsort((numbers, -norms))[0]] if selection == "max" else _dist(points, cone)
            table = _touched(points, r, anchors)
        if table[0, 0] == -np.inf:  # no point with a positive sum is left
            break
        number, margin = _first(table, TIE_EPS * eps)
        anchors.append(number)
        residuals.append(float(norms.max() / largest))
        margins.append(margin)
        if len(anchors) < n_anchors:
            cone, direction = cone.with_anchor(points.take([number])[0])
            fit = fit.again(points, cone, direction)
    return SPAResult(np.array(anchors, np.int64), np.array(residuals), np.array(margins))


@dataclass(frozen=True)
class Cone:
    """The anchors so far as vectors, and the orthonormal directions that span them."""

    A: Array
    Q: Array

    @cached_property
    def gram(self) -> Gram:
        """The anchors in coordinates along the directions, prepared for decoding."""
        return Gram.of(self.A @ self.Q.T, np.float64)

    def residuals(self, V: Array) -> Array:
        """The points less their nearest points in the cone."""
        return np.asarray(V - decode_block(V @ self.Q.T, self.gram) @ self.A) if len(self.A) else V

    def with_anchor(self, x: Array) -> tuple[Cone, Array]:
        """The cone with one more anchor, and the new direction; none (no rows) if x is in the span."""
        q = x.copy()
        for _ in range(2):  # twice is enough to be orthogonal to rounding
            q -= (q @ self.Q.T) @ self.Q
        length = np.linalg.norm(q)
        new = q[None] / length if length > FITTED * np.linalg.norm(x) else q[None][:0]
        return Cone(np.vstack([self.A, x]), np.vstack([self.Q, new])), new


@dataclass(frozen=True)
class Fit:
    """What is known of every point, and the points farthest from the cone.

    Attributes
    ----------
    state : array beside the points
        Columns: squared distance from the span of the anchors, coordinates in it.
    best : ndarray
        Columns: squared distance from the cone, number of the point; the largest first.
    fresh : float
        Largest distance from the span when distances were last computed from residuals themselves.
    """

    state: State
    best: Array
    fresh: float

    @classmethod
    def of(cls, points: Points) -> Fit:
        """The fit by no anchors."""
        state, (best, outside) = points.lengths(np.empty((0, points.shape[1])), _opened, combine=_farthest, width=1)
        return cls(state, best, outside)

    def again(self, points: Points, cone: Cone, direction: Array) -> Fit:
        """The fit by one more anchor; distances from the span are computed anew when they have cancelled."""
        width = 1 + len(cone.Q)
        visit = partial(_moved, gram=cone.gram)
        state, (best, outside) = points.along(direction, visit, self.state, combine=_farthest, width=width)
        if outside > STALE_EPS * float(np.finfo(points.dtype).eps) * self.fresh:
            return Fit(state, best, self.fresh)
        visit = partial(_renewed, gram=cone.gram)
        state, (best, outside) = points.lengths(cone.Q, visit, state, combine=_farthest, width=width)
        return Fit(state, best, outside)


def _opened(squares: Array, numbers: Index) -> tuple[Array, tuple[Array, float]]:
    return squares[:, None], (candidates(squares, numbers), float(squares.max(initial=0.0)))


def _moved(along: Array, numbers: Index, state: Array, *, gram: Gram) -> tuple[Array, tuple[Array, float]]:
    outside = state[:, :1] - (along**2).sum(axis=1, keepdims=True)
    return _decoded(np.hstack([outside, state[:, 1:], along]), numbers, gram)


def _renewed(squares: Array, numbers: Index, state: Array, *, gram: Gram) -> tuple[Array, tuple[Array, float]]:
    return _decoded(np.hstack([squares[:, None], state[:, 1:]]), numbers, gram)


def _decoded(state: Array, numbers: Index, gram: Gram) -> tuple[Array, tuple[Array, float]]:
    """The exact fit of every point; what lies outside the span and the misfit inside add up."""
    C = np.ascontiguousarray(state[:, 1:])
    misfit = C - decode_block(C, gram) @ (gram.exact * gram.scale).T
    squares = np.maximum(state[:, 0], 0.0) + blocks.squared_norms(misfit)
    return state, (candidates(squares, numbers), float(state[:, 0].max(initial=0.0)))


def _farthest(a: tuple[Array, float], b: tuple[Array, float]) -> tuple[Array, float]:
    return best_of(a[0], b[0]), max(a[1], b[1])


def _touched(points: Points, r: Array, anchors: list[int]) -> Array:
    """Points of largest ``r'x / p'x``."""
    directions = np.vstack([r, np.ones_like(r)])
    return np.asarray(points.along(directions, partial(_ratios, anchors=anchors), combine=best_of)[1])


def _ratios(along: Array, numbers: Index, *, anchors: list[int]) -> tuple[Array, Array]:
    return _scored(along[:, 0], along[:, 1], numbers, anchors)


def _greedy(points: Points, cone: Cone, anchors: list[int]) -> Array:
    """Points of largest ``|(R x)_+|^2 / |x|^2``."""
    sums, _ = _products(points, cone)
    none = np.empty((0, points.shape[1]))
    return np.asarray(points.lengths(none, partial(_shares, anchors=anchors), sums, combine=best_of)[1])


def _shares(squares: Array, numbers: Index, sums: Array, *, anchors: list[int]) -> tuple[Array, Array]:
    return _scored(sums, squares, numbers, anchors)


def _dist(points: Points, cone: Cone) -> Array:
    """The residual r of largest ``|(X r)_+|``."""
    _, sums = _products(points, cone)
    number = _first(candidates(sums, np.arange(len(sums))), TIE_EPS * float(np.finfo(points.dtype).eps))[0]
    return np.asarray(cone.residuals(points.take([number]))[0])


def _products(points: Points, cone: Cone) -> tuple[State, Array]:
    """Sums of ``(r'x)_+^2`` over the residuals r, for every point x, and over the points x, for every residual r."""
    count = points.shape[0]
    step = max(1, SLAB_BYTES // (8 * max(points.shape)))
    over_residuals: State = np.zeros(count)
    over_points = []
    for a in range(0, count, step):
        R = cone.residuals(points.take(np.arange(a, min(a + step, count))))
        over_residuals, sums = points.along(R, _positive, over_residuals, combine=add)
        over_points.append(sums)
    return over_residuals, np.concatenate(over_points)


def _positive(along: Array, numbers: Index, sums: Array) -> tuple[Array, Array]:
    squares = np.maximum(along, 0.0).astype(np.float64) ** 2
    return sums + squares.sum(axis=1), squares.sum(axis=0)


def _scored(over: Array, under: Array, numbers: Index, anchors: list[int]) -> tuple[Array, Array]:
    open_ = (under > 0.0) & ~np.isin(numbers, anchors)
    scores = np.divide(over, under, out=np.full(len(over), -np.inf), where=open_)
    return scores, candidates(scores, numbers)


def _first(table: Array, tie: float) -> tuple[int, float]:
    """The first of the points whose scores are as good as the best, and the ratio of the best to the next."""
    best = table[0, 0]
    number = int(table[table[:, 0] >= best - tie * abs(best), 1].min())
    return number, float(best / table[1, 0]) if len(table) > 1 and table[1, 0] > 0.0 else np.inf
