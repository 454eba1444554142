"""Whether weights are scattered enough for their parts to be unique.

X. Fu, K. Huang, N. D. Sidiropoulos, W.-K. Ma, "Nonnegative matrix factorization for signal and data analytics:
identifiability, algorithms, and applications", IEEE Signal Process. Mag. 36(2), 2019: the simplex of least volume
around the samples is the true one if weights are *sufficiently scattered*, that is if all z with ``W z >= 0`` have
``|z| <= sum(z)``, and equality only along the axes.

To decide that is hard in general; it is a largest norm over a polytope, which is at a corner.  The corners belong to
the facets of the convex hull of the weights, and for few parts they are counted.  For many, one that is too far out is
looked for, and pure samples are a proof of the contrary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, QhullError

from partwise.exceptions import InputError

Array = npt.NDArray[Any]
Verdict = Literal["scattered", "not scattered", "not decided"]

COUNTED = 7  # parts up to which all corners are counted: hulls in more than six dimensions have too many facets
MOST = 20_000  # samples whose hull is taken; more are looked through by the linear programs alone
NEAR = 0.1  # corners this near to an axis are its own
CLIMBS, STEPS = 10, 20  # searches for a corner that is too far out, and steps of each
FAR = 1e6  # a corner so far out stands for none: the polytope is unbounded


@dataclass(frozen=True, eq=False)
class Scattering:
    """Whether weights are sufficiently scattered.

    Attributes
    ----------
    verdict : {"scattered", "not scattered", "not decided"}
        "scattered": the condition was proved, so no other simplex of this volume holds the samples. "not scattered": a
        counterexample to the condition was computed, `witness`; parts may be unique all the same, but nothing says so.
        "not decided": no counterexample was found among parts that are too many to look at all.
    reach : float
        The largest ``|z| / sum(z)`` that was found: 1, the axes themselves, if weights are scattered.
    witness : ndarray of shape (k,) or None
        The z that reaches so far, with ``W z >= 0``; None if weights are scattered.
    absent : ndarray of int, shape (k,)
        How many samples lack each part: its facet rests on them.
    """

    verdict: Verdict
    reach: float
    witness: Array | None
    absent: Array

    def __repr__(self) -> str:
        return f"Scattering({self.verdict}, reach {self.reach:.4g})"


def scattering(W: npt.ArrayLike, *, tol: float = 0.01) -> Scattering:
    """Whether weights are sufficiently scattered for the simplex of least volume to be the true one.

    Parameters
    ----------
    W : array-like of shape (n_samples, n_components)
        Non-negative weights; samples without any are left out.
    tol : float, default=0.01
        By how much a corner may be farther out than the axes: weights near zero are not zero.

    Returns
    -------
    Scattering
        The verdict, and what it rests on.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.metrics import scattering
    >>> rng = np.random.default_rng(0)
    >>> W = rng.dirichlet([0.3] * 3, size=2000)
    >>> scattering(W[W.max(axis=1) < 0.8]), scattering(W[W.max(axis=1) < 0.6]).verdict
    (Scattering(scattered, reach 1), 'not scattered')
    """
    given: Array = np.asarray(W, np.float64)
    if given.ndim != 2 or not given.size or not np.isfinite(given).all() or given.min() < 0.0:
        raise InputError("{parameter} must be a matrix of finite weights, none below zero", parameter="W")
    V = given[given.any(axis=1)]
    V = V / V.sum(axis=1, keepdims=True)
    k = V.shape[1]
    absent = (tol * V.max(axis=0, initial=0.0) >= V).sum(axis=0)
    if not len(V):
        return Scattering("not scattered", np.inf, np.ones(k) / k, absent)
    Z = _corners(V) if k <= COUNTED and len(V) <= MOST else None
    whole = Z is not None
    if Z is None:
        Z = _climbed(V)
    lengths = np.linalg.norm(Z, axis=1)
    worst = int(np.argmax(lengths))
    own = np.linalg.norm(Z[:, None, :] - np.eye(k), axis=2).min(axis=1) <= NEAR
    reach = max(1.0, float(lengths[worst]))
    if reach > 1.0 + tol or (lengths[~own] >= 1.0).any():
        return Scattering("not scattered", reach, Z[worst], absent)
    proved = whole or bool((V.max(axis=0) >= 1.0 - tol / k).all())
    return Scattering("scattered" if proved else "not decided", reach, None, absent)


def _corners(W: Array) -> Array | None:
    """All corners of ``{z: W z >= 0, sum(z) = 1}``; None if there are too many, or the hull is flat.

    With ``z = 1/k + U y`` it is the polar of the points ``-k W U``: every facet ``a p <= b`` of their hull is a corner
    ``y = a / b``, if the middle lies inside.
    """
    k = W.shape[1]
    if k == 1:
        return np.ones((1, 1))
    if k == 2:  # between two points: the facets are the ends
        low, high = W[:, 0].min(), W[:, 0].max()
        ends = [(high, high - 1.0), (low - 1.0, low)]  # (1 - high) and low, so that one weight is zero there
        return np.array([np.array(e) / sum(e) if abs(sum(e)) > 1.0 / FAR else np.array([FAR, -FAR]) for e in ends])
    U = null_space(np.ones((1, k)))
    try:
        hull = ConvexHull(-k * W @ U)
    except QhullError:
        return None
    offsets = -hull.equations[:, -1]
    if offsets.min() <= 1.0 / FAR:  # the middle is not inside: no end in that direction
        return np.asarray(1.0 / k + FAR * hull.equations[[np.argmin(offsets)], :-1] @ U.T)
    return np.asarray(1.0 / k + (hull.equations[:, :-1] / offsets[:, None]) @ U.T)


def _climbed(W: Array) -> Array:
    """Corners that are far out, each the end of a climb: the farthest in the direction of the one before."""
    k = W.shape[1]
    rng = np.random.default_rng(0)
    found = []
    starts = [*np.eye(k), *rng.standard_normal((max(CLIMBS - k, 2), k))]
    for z in starts[: max(CLIMBS, k)]:
        before, at = -np.inf, z - z.mean() + 1.0 / k + 1e-3 * rng.standard_normal(k)
        for _ in range(STEPS):
            best = linprog(-at, A_ub=-W, b_ub=np.zeros(len(W)), A_eq=np.ones((1, k)), b_eq=[1.0], bounds=(-FAR, FAR))
            if best.x is None or np.linalg.norm(best.x) <= before + 1e-9:
                break
            at, before = best.x, float(np.linalg.norm(best.x))
        if np.isfinite(before):
            found.append(at)
    return np.array(found or [np.full(k, FAR)])
