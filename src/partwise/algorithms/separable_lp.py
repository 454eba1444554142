"""Anchors by one linear program.

Gillis & Luce (2014), "Robust near-separable nonnegative matrix factorization using linear optimization", equation
(8).  With the points as the columns of M, Z says how much of each point every other is made of:

    minimise p' diag(Z)  over  Z >= 0,  Z_ii <= 1,  Z_ij |m_i|_1 <= Z_ii |m_j|_1,  |m_j - M z_j|_1 <= rho epsilon.

A point may be used for others as far as its diagonal entry says, so large diagonal entries are anchors.  The p are
near one and distinct, which decides between copies of an anchor; here the larger point is the cheaper.

What the k largest entries miss when an anchor has near-copies that share its weight, clusters find (algorithm 6):
of the two sets the one that leaves the smaller error is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from partwise.algorithms.points import Axis, view
from partwise.algorithms.spa import spa
from partwise.linalg.lp import LPCertificate, UnsolvedError, check_lp_size, solve_lp
from partwise.linalg.nnls import nnls
from partwise.sources import MemorySource, RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]

SPREAD = 0.01  # of the costs p around one
NOTHING = 1e-7  # a diagonal entry below this is zero, as is a residual relative to the largest point
LEAST_NOISE = 1e-9  # times the mean l1 norm of a point: what rounding leaves


@dataclass(frozen=True)
class LPAnchors:
    """The anchors, and what the linear program said.

    Attributes
    ----------
    anchors : ndarray of int
        Numbers of the points, those of large diagonal entries first; fewer than asked for when nothing is left to
        pick.
    margins : ndarray
        Ratio of the diagonal entry of each anchor to the largest of those not taken.
    diagonal : ndarray
        Diagonal of Z, one entry a point; NaN if the program was not solved.
    noise : float
        The epsilon that was used.
    certificate : LPCertificate or None
        Residuals of the solution, for data scaled to a mean l1 norm of 1; None if the program was not solved.
    message : str
        Why it was not solved; empty if it was.
    """

    anchors: Index
    margins: Array
    diagonal: Array
    noise: float
    certificate: LPCertificate | None
    message: str = ""


def separable_lp(
    source: RowSource,
    n_anchors: int,
    *,
    axis: Axis = "samples",
    noise: float | None = None,
    rho: float = 1.0,
    time_limit: float | None = None,
) -> LPAnchors:
    """Pick ``n_anchors`` rows, or columns, that reconstruct the others to within the noise.

    Parameters
    ----------
    source : RowSource
        The data, of a few hundred points; it is brought into memory.
    noise : float, optional
        The paper's epsilon: largest l1 norm of the noise of a point.  By default the largest l1 error that as many
        points picked by SPA leave, so that no more than their number is needed.
    rho : float, default=1
        The paper's rho: the error allowed is ``rho * noise``.
    time_limit : float, optional
        Seconds for the linear program; when they are over the anchors are those of SPA.

    Returns
    -------
    LPAnchors
        The anchors, the diagonal and its certificate.
    """
    points = view(source, axis)
    n, m = points.shape
    stored = float(source.reduce(_stored))
    advice = "pick among fewer points, or use SPA, PreconditionedSPA, EllipsoidalSPA or XRAY, which have no limit"
    check_lp_size(n * stored + 4.0 * n * m + 2.0 * n * n, f"SeparableLP for {n} points of dimension {m}", advice)
    P = points.take(np.arange(n))
    norms = np.abs(P).sum(axis=1)
    used = np.flatnonzero(norms)
    unit = float(norms.mean()) if len(used) else 1.0
    P, norms = P[used] / unit, norms[used] / unit
    by_spa, error = _by_spa(P, norms, n_anchors)
    epsilon = error if noise is None else noise / unit
    diagonal = np.full(n, np.nan)
    if not len(used):
        return LPAnchors(used, np.empty(0), np.zeros(n), 0.0, None)
    try:
        Z, certificate = _solve(P, norms, max(rho * epsilon, LEAST_NOISE), time_limit)
    except UnsolvedError as unsolved:
        return LPAnchors(used[by_spa], np.full(len(by_spa), np.nan), diagonal, epsilon * unit, None, str(unsolved))
    x = np.where(np.diag(Z) > NOTHING, np.diag(Z), 0.0)
    found = _extracted(P, x, n_anchors, epsilon)
    diagonal[:] = 0.0
    diagonal[used] = np.diag(Z)
    return LPAnchors(used[found], _margins(x, found), diagonal, epsilon * unit, certificate)


def _stored(block: Block) -> int:
    return int(blocks.values(block).size)


def _by_spa(P: Array, norms: Array, k: int) -> tuple[Index, float]:
    """The picks of SPA, of points as they are or of l1 norm 1, that leave the smaller largest l1 error; and that."""
    if not len(P):
        return np.empty(0, np.int64), 0.0
    picks = [spa(MemorySource(P), k, row_scale=scale).anchors for scale in (None, 1.0 / norms)]
    errors = [float(np.abs(_residuals(P, found)).sum(axis=1).max()) for found in picks]
    best = int(np.argmin(errors))
    return picks[best], errors[best]


def _solve(P: Array, norms: Array, allowed: float, time_limit: float | None) -> tuple[Array, LPCertificate]:
    """The program in the entries of Z, column by column, and in the positive and negative parts of the errors."""
    n, m = P.shape
    rank = np.argsort(np.argsort(-norms, kind="stable"))
    eye, errors = sp.eye_array(n), sp.eye_array(n * m)
    A_eq = sp.hstack([sp.kron(eye, P.T), errors, -errors], format="csc")
    sums = sp.kron(eye, np.ones((1, m)))
    column, row = np.divmod(np.arange(n * n), n)
    off = np.flatnonzero(row != column)
    entries = np.concatenate([norms[row[off]], -norms[column[off]]])
    places = (np.tile(np.arange(len(off)), 2), np.concatenate([off, row[off] * (n + 1)]))
    shares = sp.csr_array((entries, places), shape=(len(off), n * (n + 2 * m)))
    A_ub = sp.vstack([sp.hstack([sp.csr_array((n, n * n)), sums, sums]), shares], format="csc")
    c, upper = np.zeros(n * (n + 2 * m)), np.full(n * (n + 2 * m), np.inf)
    diagonal = np.arange(n) * (n + 1)
    c[diagonal], upper[diagonal] = 1.0 + SPREAD * rank / n, 1.0
    b_ub = np.concatenate([np.full(n, allowed), np.zeros(len(off))])
    x, certificate = solve_lp(c, A_eq, P.ravel(), A_ub=A_ub, b_ub=b_ub, upper=upper, time_limit=time_limit)
    return x[: n * n].reshape(n, n).T, certificate


def _extracted(P: Array, x: Array, k: int, epsilon: float) -> Index:
    """The largest diagonal entries or the heaviest clusters, whichever reconstruct better (algorithm 6)."""
    largest = np.argsort(-x, kind="stable")[: min(k, np.count_nonzero(x))]
    picks = [_completed(P, largest, k), _completed(P, _clusters(P, x, k, epsilon), k)]
    errors = [float(np.linalg.norm(_residuals(P, found))) for found in picks]
    found = picks[0] if errors[0] <= errors[1] else picks[1]
    return np.asarray(found[np.argsort(-x[found], kind="stable")])


def _clusters(P: Array, x: Array, k: int, epsilon: float) -> Index:
    """Centres of the heaviest disjoint balls; their radius of twice the noise is halved until there are k."""
    numbers = np.flatnonzero(x)
    if len(numbers) <= k:
        return numbers
    D = np.array([np.abs(P[numbers] - point).sum(axis=1) for point in P[numbers]])
    radius = 2.0 * epsilon
    while True:
        near, left = radius >= D, x[numbers]
        centres: list[int] = []
        while len(centres) < k and left.any():
            centres.append(int(np.argmax(near @ left)))
            left = np.where(near[centres[-1]], 0.0, left)
        if len(centres) == k or not (near & (D > 0.0)).any():
            return np.asarray(numbers[centres])
        radius /= 2.0


def _completed(P: Array, found: Index, k: int) -> Index:
    """Points farthest from the cone of those before join, as long as there is anything left to explain."""
    largest = float(blocks.norms(P).max())
    while len(found) < k:
        left = blocks.norms(_residuals(P, found))
        if left.max() <= NOTHING * largest:
            break
        found = np.append(found, np.argmax(left))
    return found


def _residuals(P: Array, found: Index) -> Array:
    return np.asarray(P - np.asarray(nnls(P[found], P)) @ P[found]) if len(found) else P


def _margins(x: Array, found: Index) -> Array:
    others = np.delete(x, found).max(initial=0.0)
    return np.asarray(np.divide(x[found], others, out=np.full(len(found), np.inf), where=others > 0.0))
