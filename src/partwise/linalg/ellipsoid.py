"""The smallest ellipsoid around points, centred at the origin, with a certificate.

Few of the points touch it, at most k(k + 1)/2 of those in general position.  So the problem is solved for a few
points, by an interior-point method on the weights of the dual; one pass over all points then finds those that are
left outside, which join the few while those well inside leave (cutting planes).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from partwise.exceptions import InputError, warn_user
from partwise.sources import RowSource, blocks, source_of
from partwise.sources.passes import single_blas_thread
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]

EPS = 2.0**-52  # the spacing of float64 at 1
# limits for what should not happen: 15 random sets of points in 3 to 60 dimensions took at most 11 rounds, 19 steps
ROUNDS = 200
STEPS = 100
# times the dimension: points outside that join in one round; fewer make more passes, more larger Newton systems
ADDED = 5
INSIDE = 0.9  # points with y'Ly below this leave; the closer to 1 the smaller the systems, and the more come back
TOUCHING = 1e-6  # points with y'Ly above 1 minus this count as touching; far above the gap asked for, 1e-10
CENTRING = 0.1  # of the complementarity that a step aims at, as usual for interior points: ten times less each
BOUNDARY = 0.95  # of the way to the boundary that a step may go: closer, and the next step is short
RANK_EPS = 32.0  # singular values below this many rounding units of the largest, times sqrt(k), are zero
SPANNED = 1e-8  # singular values of whitened points below this are zero: the root of rounding
EARLY = 0.05  # a round is solved to this part of the gap that it started from: a step or two, for others will come


@dataclass(frozen=True)
class Ellipsoid:
    """The set of y with ``y' L y <= 1``, and the proof that none smaller holds the points.

    Attributes
    ----------
    L : ndarray of shape (n_dimensions, n_dimensions)
        Symmetric and positive definite; no point is outside.
    active : ndarray of int
        The points that touch the ellipsoid, in order.
    weights : ndarray
        Their weights u in the dual, which add up to one: ``L`` is ``(sum u y y')^-1`` up to a factor.
    gap : float
        ``max_i y_i' (sum u y y')^-1 y_i / k - 1`` over all points; the logarithm of ``det L`` is within
        ``k log(1 + gap)`` of the largest possible.  Never below its own rounding, ``k 2^-52``.
    """

    L: Array
    active: Index
    weights: Array
    gap: float


def enclosing_ellipsoid(Y: Any, *, tol: float = 1e-10, inside: float = INSIDE, added: float = ADDED) -> Ellipsoid:
    """Smallest ellipsoid centred at the origin that holds all points: ``min -log det L``, ``y' L y <= 1``.

    Parameters
    ----------
    Y : array-like, sparse matrix, path, Dask collection or source, of shape (n_points, n_dimensions)
        The points, one a row.  They must span the space; a point at the origin changes nothing.
    tol : float, default=1e-10
        Relative duality gap that is good enough.  A larger one is warned of.
    inside : float, default=0.9
        Points with ``y' L y`` below this leave the cutting planes' few; below 1.
    added : float, default=5
        Points outside that join them in one round, times the dimension. Both decide how soon the ellipsoid is
        found, and not which.

    Returns
    -------
    Ellipsoid
        The matrix, the points that touch, their dual weights and the gap.

    Warns
    -----
    ConvergenceWarning
        If the gap is larger than ``tol``, as it will be if points span the space barely.

    References
    ----------
    Sun & Freund (2004), Computation of minimum-volume covering ellipsoids (the method DRN, without a centre);
    Todd (2016), Minimum-Volume Ellipsoids: Theory and Algorithms (the gap).

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> found = pw.linalg.enclosing_ellipsoid(np.array([[2.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    >>> found.L.round(9) + 0.0
    array([[0.25, 0.  ],
           [0.  , 1.  ]])
    >>> found.active
    array([0, 1])
    """
    if not tol > 0.0:
        raise InputError(f"tol must be positive, got {tol}", parameter="tol")
    if not 0.0 <= inside < 1.0:
        raise InputError(f"inside={inside!r} must be in [0, 1): points on the ellipsoid have 1", parameter="inside")
    if not added > 0.0:
        raise InputError(f"added={added!r} must be positive, or no point ever joins", parameter="added")
    source = source_of(Y)
    with single_blas_thread():
        T = _whitening(source)
        found = _without_idle(source, T, _cutting_planes(source, T, tol, inside, added), tol)
    if not found.gap <= tol:
        message = f"enclosing_ellipsoid: the duality gap is {found.gap:.3g} > tol={tol:g}"
        warn_user(message, ConvergenceWarning)
    k = source.shape[1]
    F = T @ found.factor / np.sqrt(k * (1.0 + found.gap))
    numbers = np.arange(source.shape[0], dtype=np.int64)
    touching = source.reduce(partial(_touching_block, F=F), numbers, combine=_join)
    active = np.union1d(touching, found.rows)
    weights = np.zeros(len(active))
    weights[np.searchsorted(active, found.rows)] = found.u
    return Ellipsoid(F @ F.T, active, weights, found.gap)


@dataclass(frozen=True)
class _Solution:
    """Weights u of a few rows z, the factor C in ``(sum u z z')^-1 = C C'``, and the gap over all rows."""

    rows: Index
    Z: Array
    u: Array
    factor: Array
    gap: float

    @property
    def heights(self) -> Array:
        """``z' (sum u z z')^-1 z / k``: one on the ellipsoid of these rows, less inside."""
        return np.asarray(blocks.squared_norms(self.Z @ self.factor) / self.Z.shape[1])

    def well_placed(self, inside: float) -> Index:
        """The rows without those well inside; all of them, should the others not span the space."""
        near = self.heights > inside
        return self.rows[near] if np.linalg.matrix_rank(self.Z[near]) == self.Z.shape[1] else self.rows


def _cutting_planes(source: RowSource, T: Array, tol: float, inside: float, added: float) -> _Solution:
    """Solve for a few points; add those outside, drop those well inside; until none is outside."""
    rows = _first_rows(source, T)
    best, outside = None, rows
    count = max(1, int(added * source.shape[1]))
    for _ in range(ROUNDS):
        # first roughly, for others will come; to the end when none has come
        goal = max(0.25 * tol, EARLY * min(1.0, best.gap)) if best and len(outside) else 0.25 * tol
        found, far = _solution(source, T, rows, goal, count)
        better = best is None or found.gap < best.gap
        best = found if best is None or better else best
        outside = np.setdiff1d(far[far[:, 0] > 1.0, 1].astype(np.int64), rows)
        if best.gap <= tol or (goal <= 0.25 * tol and not len(outside)):
            break
        # none leaves in vain, so that rounds do not repeat
        rows = np.union1d(found.well_placed(inside) if better else rows, outside)
    assert best is not None
    return best


def _without_idle(source: RowSource, T: Array, found: _Solution, tol: float) -> _Solution:
    """The same with weights on touching points alone: an interior point has a little on every one."""
    rows = found.rows[found.heights > 1.0 - TOUCHING]
    if len(rows) < T.shape[1]:
        return found
    pruned, _ = _solution(source, T, rows, 0.25 * tol, 1)
    return pruned if pruned.gap <= max(tol, found.gap) else found


def _solution(source: RowSource, T: Array, rows: Index, goal: float, count: int) -> tuple[_Solution, Array]:
    """Weights for some rows, and the farthest of all rows: columns ``z' (sum u z z')^-1 z / k``, row number."""
    Z = _points(source, rows, T)
    u, factor = _weights(Z, goal)
    far = _farthest(source, T @ factor / np.sqrt(T.shape[1]), count)
    # the largest of sums of k squares is known to k roundings, and so is the gap
    gap = max(float(far[0, 0]) - 1.0, T.shape[1] * EPS)
    return _Solution(rows, Z, u, factor, gap), far


def _weights(Z: Array, tol: float) -> tuple[Array, Array]:
    """Weights of the rows z of ``Z``, by Newton steps on the perturbed optimality conditions, and the factor.

    With ``L(w) = (sum w z z')^-1`` and ``h_i = z_i' L(w) z_i`` they are ``h + t = 1``, ``w t = mu``, w > 0, t > 0
    (Sun & Freund); the derivative of h is minus the squared entries of ``Z L Z'``.  The gap
    ``max h sum w / k - 1`` of w is exact at every step, central or not.
    """
    p, k = Z.shape
    h = blocks.squared_norms(Z @ _inverse_factor(Z, np.ones(p)))
    w = np.full(p, h.max() / 0.9)
    t = 1.0 - h * (0.9 / h.max())
    best, least = w, np.inf
    for _ in range(STEPS):
        G = Z @ _inverse_factor(Z, w)
        h = blocks.squared_norms(G)
        gap = h.max() * w.sum() / k - 1.0
        if gap < least:
            best, least = w, gap
        mu = CENTRING * float(w @ t) / p
        if gap <= tol or not mu > 0.0:
            break
        H = (G @ G.T) ** 2
        H[np.diag_indices(p)] += t / w
        try:
            dw = scipy.linalg.cho_solve(scipy.linalg.cho_factor(H, overwrite_a=True), h - 1.0 + mu / w)
        except np.linalg.LinAlgError:  # as far as rounding goes
            break
        dt = mu / w - t - t / w * dw
        step = min(1.0, BOUNDARY / max(float((-dw / w).max()), float((-dt / t).max()), 1e-300))
        w, t = w + step * dw, t + step * dt
    u = best / best.sum()
    return u, _inverse_factor(Z, u)


def _inverse_factor(Z: Array, w: Array) -> Array:
    """``C`` with ``C C' = (sum w z z')^-1``; by QR, for the sum itself has the square of their condition."""
    R = np.linalg.qr(np.sqrt(w)[:, None] * Z, mode="r")
    return np.asarray(scipy.linalg.solve_triangular(R, np.eye(len(R))))


def _whitening(source: RowSource) -> Array:
    """``T`` for which ``Y T`` has orthonormal columns, by a QR decomposition of every block and of their triangles."""
    R = source.reduce(_triangle_block, combine=_triangle)
    if not np.isfinite(R).all():
        raise InputError("Y contains NaN or infinity, or numbers whose squares leave the range of float64")
    n, k = source.shape
    _, s, Vt = np.linalg.svd(R)
    rank = int((s > RANK_EPS * np.sqrt(k) * np.finfo(source.dtype).eps * s.max(initial=0.0)).sum())
    if rank < k:
        raise InputError(
            f"the {n} points of Y span only {rank} of {k} dimensions, so the smallest ellipsoid is flat; "
            "give their coordinates in a basis of what they span"
        )
    return np.asarray(Vt.T / s)


def _first_rows(source: RowSource, T: Array) -> Index:
    """Rows that span the space: the farthest, then the farthest from the span of those, and so on."""
    k = T.shape[1]
    rows, N = np.empty(0, np.int64), np.eye(k)
    while len(N):
        far = _farthest(source, T @ N.T, ADDED * k)
        rows = np.union1d(rows, far[:, 1].astype(np.int64))
        _, s, Vt = np.linalg.svd(_points(source, rows, T))
        rank = int((s > SPANNED * s[0]).sum())
        N = Vt[rank:]
    return rows


def _points(source: RowSource, rows: Index, T: Array) -> Array:
    return np.asarray(blocks.to_dense(source.take(rows)).astype(np.float64) @ T)


def _farthest(source: RowSource, F: Array, count: int) -> Array:
    """The rows of largest ``|y F|^2``: columns value, row number; the largest first."""
    numbers = np.arange(source.shape[0], dtype=np.int64)
    fn = partial(_farthest_block, F=F, count=count)
    return np.asarray(source.reduce(fn, numbers, combine=partial(_farther, count=count)))


def _farthest_block(block: Block, numbers: Index, *, F: Array, count: int) -> Array:
    return _farther(np.column_stack([_heights(block, F), numbers]), np.empty((0, 2)), count=count)


def _farther(a: Array, b: Array, *, count: int) -> Array:
    table = np.vstack([a, b])
    if len(table) > count:
        table = table[np.argpartition(-table[:, 0], count - 1)[:count]]
    return np.asarray(table[np.lexsort((table[:, 1], -table[:, 0]))])


def _touching_block(block: Block, numbers: Index, *, F: Array) -> Index:
    return numbers[_heights(block, F) > 1.0 - TOUCHING]


def _heights(block: Block, F: Array) -> Array:
    return np.concatenate([blocks.squared_norms(blocks.dot(part, F)) for _, part in blocks.row_parts(block)])


def _join(a: Index, b: Index) -> Index:
    return np.concatenate([a, b])


def _triangle_block(block: Block) -> Array:
    return _triangle(blocks.to_dense(block).astype(np.float64), np.empty((0, block.shape[1])))


def _triangle(a: Array, b: Array) -> Array:
    return np.asarray(np.linalg.qr(np.vstack([a, b]), mode="r"))
