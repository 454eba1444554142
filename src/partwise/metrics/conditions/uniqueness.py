"""Theorem 2 of the Dominant NMF paper for two factorizations of one data set: how far apart can their parts be?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from partwise.exceptions import InputError
from partwise.metrics.checks import Indices, Matrix, Vector
from partwise.metrics.conditions.constants import Identifiability, theorem_2
from partwise.metrics.conditions.features import DominantFeatures, dominant_features
from partwise.metrics.conditions.normalization import as_factor, components_of, normalize_factors, weights_of
from partwise.metrics.conditions.records import RecordSets, pure_records
from partwise.metrics.conditions.table import Condition, ConditionTable


@dataclass(frozen=True, eq=False, repr=False)
class Uniqueness(ConditionTable):
    """Theorem 2 for two factorizations: its conditions, its bound, and the distance that it bounds.

    Attributes
    ----------
    features : DominantFeatures
        D1, of the first factorization.
    pure : RecordSets
        D3, of the first factorization: the sets P_l.
    deltas : ndarray of shape (n_components,)
        What equation 4 needs for each component: how far the two are apart on the sum of the records of P_l, relative
        to the weights of these; infinite where there are none.
    identifiability : Identifiability
        (a), (b) and the bound, with the largest of ``deltas``.
    permutation : ndarray of int, shape (n_components,)
        The component of the second factorization that belongs to each of the first.
    scales : ndarray of shape (n_components,)
        What it is multiplied by, to be nearest.
    distances : ndarray of shape (n_components,)
        The l1 distance that is left; components of the first sum to one.
    """

    features: DominantFeatures
    pure: RecordSets
    deltas: Vector
    identifiability: Identifiability
    permutation: Indices
    scales: Vector
    distances: Vector

    @property
    def delta(self) -> float:
        """The smallest delta with which equation 4 holds."""
        return float(self.deltas.max())

    @property
    def bound(self) -> float:
        """What Theorem 2 promises for the largest of ``distances``; infinite if one of its conditions fails."""
        return self.identifiability.bound if self.certified else float("inf")

    @property
    def certified(self) -> bool:
        """Whether the conditions hold: no factorization that is as near, on the pure records, has other components."""
        lines = self.features.conditions + self.pure.conditions + self.identifiability.conditions
        return all(line.holds for line in lines)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """D1, D3, equation 4's delta, (a), (b), and what follows."""
        distance = Condition.check("distance", "<=", self.bound, float(self.distances.max()))
        delta = Condition.quantity("delta of (4)", self.delta)
        of_sets = self.features.conditions + self.pure.conditions
        return (*of_sets, delta, *self.identifiability.conditions, distance)


def uniqueness(
    H: Any,
    other: Any,
    *,
    W: Any = None,
    other_W: Any = None,
    X: Any = None,
    rho: float = 0.05,
    gamma: float = 0.0,
    eps4: float = 0.05,
) -> Uniqueness:
    r"""Certify that two factorizations of the same data must have nearly the same components: Theorem 2 [1]_.

    For factors B, C with the pure records :math:`P_l` of D3, and any others B', C',

    .. math:: \delta = \max_l \Big\| \sum_{j \in P_l} (BC - B'C')_{\cdot,j} \Big\|_1 \Big/
              \sum_{j \in P_l} \|C_{\cdot,j}\|_1

    is the smallest with which equation 4 holds (the paper has :math:`R_l` on the left, taken for the same set), and
    with it the theorem bounds the distance of their components, up to order and scale; see `identifiability`. Both are
    computed, the bound and the distance. The conditions leave little room: (a) needs
    :math:`2 \varepsilon_4 + 6 \delta < 1 / (4 k)` at the least.

    Parameters
    ----------
    H, other : array-like of shape (n_components, n_features) or fitted estimator
        Components of the two factorizations, as many in each; the conditions are about the first.
    W, other_W : array-like of shape (n_samples, n_components), optional
        Weights; by default the non-negative least squares ones of ``X``.
    X : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_features), optional
        Data; needed without weights.
    rho, gamma : float, default=0.05, 0.0
        See `dominant_features`.
    eps4 : float, default=0.05
        See `pure_records`.

    Returns
    -------
    Uniqueness
        Conditions, bound and distances.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Theorem 2.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_strictly_dominant(random_state=0)
    >>> one, two = pw.TSVDNMF(2, random_state=0).fit(data.X), pw.HALS(2, random_state=1).fit(data.X)
    >>> found = pw.metrics.uniqueness(one, two, X=data.X, eps4=0.001)
    >>> found.certified, float(found.distances.max()) <= found.bound < 0.2
    (True, True)
    """
    for name, weights in (("W", W), ("other_W", other_W)):
        if weights is None and X is None:
            raise InputError(
                f"{name} is missing: give the weights, or the data X from which to compute them.", parameter=name
            )
    B, C, sizes = normalize_factors(H, weights_of(W, H, X))
    B2 = components_of(other)
    C2 = as_factor("other_W", weights_of(other_W, other, X))
    if B2.shape != B.shape or C2.shape != C.shape:
        raise InputError(
            f"the factorizations have shapes {C.shape}, {B.shape} and {C2.shape}, {B2.shape}: they must be the same.",
            parameter="other",
        )
    C2 = C2 / sizes[:, None]
    features, pure = dominant_features(B, rho=rho, gamma=gamma), pure_records(C, eps4=eps4, normalize=None)
    deltas = np.array([_delta(C[rows].sum(axis=0), B, C2[rows].sum(axis=0), B2) for rows in pure.records])
    # without pure records nothing is known, and D3 says so: any finite number will do in the other conditions
    known = theorem_2(features, eps4, float(deltas.max()) if np.isfinite(deltas).all() else 1.0)
    permutation, scales, distances = _nearest(B, B2)
    return Uniqueness(features, pure, deltas, known, permutation, scales, distances)


def _delta(weights: Vector, B: Matrix, others: Vector, B2: Matrix) -> float:
    """Equation 4 of one set of records, from the sums of their weights; components of the first sum to one."""
    return float(np.abs(weights @ B - others @ B2).sum() / weights.sum()) if weights.any() else float("inf")


def _nearest(B: Matrix, B2: Matrix) -> tuple[Indices, Vector, Vector]:
    """The order and the scales that bring the second components nearest to the first, and the distances left."""
    pairs = np.array([[_best_scale(b, c) for c in B2] for b in B])
    left = np.abs(B[:, None] - pairs[..., None] * B2[None]).sum(axis=2)
    rows, columns = linear_sum_assignment(left)
    return columns, pairs[rows, columns], left[rows, columns]


def _best_scale(b: Vector, c: Vector) -> float:
    """The s that minimises ``|b - s c|_1``: the median of the ratios b / c, weighted by c."""
    present = np.flatnonzero(c > 0.0)
    if not len(present):
        return 0.0
    ratios = b[present] / c[present]
    order = np.argsort(ratios)
    reached = np.cumsum(c[present][order])
    return float(ratios[order][np.searchsorted(reached, reached[-1] / 2.0)])
