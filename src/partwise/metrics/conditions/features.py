"""Condition D1 of the Dominant NMF model: features that belong to one component nearly alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.metrics.checks import Indices, Matrix, Vector
from partwise.metrics.conditions.normalization import check_shares, components_of, distributions
from partwise.metrics.conditions.table import SLACK, Condition, ConditionTable


@dataclass(frozen=True, eq=False, repr=False)
class DominantFeatures(ConditionTable):
    """The sets S_l of condition D1.

    Attributes
    ----------
    features : tuple of ndarray of int
        The largest S_l of every component that ``rho`` and ``gamma`` allow; disjoint.
    masses : ndarray of shape (n_components,)
        What each component has on its own set.
    p1 : float
        The most that a component has on the set of another.
    gamma : float
        The smallest entry of a component on its own set, at least the ``gamma`` that was asked for; 0 without any.
    rho : float
        The bound on the ratio of other components to the set's own.
    asked : float
        The ``p0`` that was asked for.
    ratios : ndarray of shape (n_components, n_features)
        The largest other component relative to this one; infinite where this is zero or below the ``gamma`` asked.
    H : ndarray of shape (n_components, n_features)
        Components that sum to one.
    """

    features: tuple[Indices, ...]
    masses: Vector
    p1: float
    gamma: float
    rho: float
    asked: float
    ratios: Matrix
    H: Matrix

    @property
    def p0(self) -> float:
        """The smallest of ``masses``: the largest p0 with which D1 holds."""
        return float(self.masses.min())

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """D1 (b)."""
        return (Condition.constant("D1 p0", self.asked, self.p0),)

    def least_rho(self, p0: float) -> Vector:
        """Return the smallest rho of every component with which its mass is at least ``p0``.

        Parameters
        ----------
        p0 : float
            The mass; more of it needs a larger rho.

        Returns
        -------
        ndarray of shape (n_components,)
            The largest of them is what D1 needs. Infinite where no rho below 1 is enough.
        """
        check_shares(p0=p0)
        order = np.argsort(self.ratios, axis=1)
        ratios = np.take_along_axis(self.ratios, order, axis=1)
        mass = np.cumsum(np.take_along_axis(self.H, order, axis=1), axis=1)
        enough = (mass - p0 >= -SLACK * p0) & (ratios < 1.0)
        return np.asarray(np.min(ratios, axis=1, where=enough, initial=np.inf))


def dominant_features(H: Any, *, rho: float = 0.05, gamma: float = 0.0, p0: float = 0.0) -> DominantFeatures:
    r"""Features that belong to one component nearly alone: condition D1 [1]_.

    With basis vectors that sum to one (`normalize_factors`), :math:`S_l` is the set of all features i with

    .. math:: B_{il} \ge \gamma, \quad B_{il} > 0, \quad B_{il'} \le \rho B_{il} \text{ for all } l' \ne l,

    and D1 asks that :math:`\sum_{i \in S_l} B_{il} \ge p_0` for all l. Separable components have it with
    :math:`\rho = 0`. Theorem 2 uses a :math:`p_1` that the paper's main text does not define; here it is what
    its proof needs a bound for, :math:`\max_{l \ne l'} \sum_{i \in S_l} B_{il'}`, which is our reading.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features) or fitted estimator
        Components, in any scale.
    rho : float, default=0.05
        The bound on other components. The default leaves room in the inequality of `DominantConstants` for the
        alpha and beta of the paper's Table 1.
    gamma : float, default=0.0
        The smallest entry of a dominant feature.
    p0 : float, default=0.0
        The mass to ask for; 0: any positive mass.

    Returns
    -------
    DominantFeatures
        The sets and their masses; ``least_rho`` tells what more mass would cost. A component of zeros, or one that
        is there twice, has an empty set.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Section 3, D1, and Theorem 2.

    Examples
    --------
    >>> from partwise.metrics import dominant_features
    >>> found = dominant_features([[6, 1, 3], [0, 4, 6]], rho=0.3)
    >>> [features.tolist() for features in found.features], found.masses.tolist(), found.p1
    ([[0], [1]], [0.6, 0.4], 0.1)
    >>> found.least_rho(0.5).tolist()
    [0.0, 0.5]
    """
    check_shares(gamma=gamma, p0=p0)
    if not 0.0 <= rho < 1.0:
        raise InputError(
            f"rho={rho!r} must be in [0, 1): features are to belong to one component alone.", parameter="rho"
        )
    B, _ = distributions(components_of(H))
    ratios = _ratios(B)
    ratios[B - gamma < -SLACK * gamma] = np.inf
    own = ratios - rho <= SLACK * rho
    on_sets = B @ own.T  # row l': what it has on each S_l
    return DominantFeatures(
        features=tuple(np.flatnonzero(row) for row in own),
        masses=np.diag(on_sets).copy(),
        p1=float(np.max(on_sets, where=~np.eye(len(B), dtype=bool), initial=0.0)),
        gamma=float(np.min(B, where=own, initial=1.0)) if own.any() else 0.0,
        rho=rho,
        asked=p0,
        ratios=ratios,
        H=B,
    )


def _ratios(B: Matrix) -> Matrix:
    """Return the largest other entry of a column relative to each, infinite where that is zero."""
    two = np.sort(np.vstack([np.zeros(B.shape[1]), B]), axis=0)[-2:]  # the row of zeros: for one component alone
    others = np.where(np.arange(len(B))[:, None] == B.argmax(axis=0), two[0], two[1])
    return np.asarray(np.divide(others, B, out=np.full(B.shape, np.inf), where=B > 0.0))
