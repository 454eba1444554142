"""Conditions D2 and D3 of the Dominant NMF model: records with a dominant component, and nearly pure ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from partwise.exceptions import InputError
from partwise.metrics.checks import Indices, Matrix, Vector
from partwise.metrics.conditions.normalization import Normalize, as_factor, check_shares, normalize_factors
from partwise.metrics.conditions.table import SLACK, Condition, ConditionTable


@dataclass(frozen=True, eq=False, repr=False)
class RecordSets(ConditionTable):
    """Records that belong to each component: the T_l of condition D2, or the P_l of D3.

    Attributes
    ----------
    name : {"D2", "D3"}
        The condition.
    records : tuple of ndarray of int
        The set of every component.
    fraction : float
        Share of the records that are in a set.
    fractions : ndarray of shape (n_components,)
        Size of every set, relative to all records.
    asked : float
        The smallest size that was asked for, w0 or eps0.
    """

    name: Literal["D2", "D3"]
    records: tuple[Indices, ...]
    fraction: float
    fractions: Vector
    asked: float

    @property
    def least(self) -> float:
        """The smallest of ``fractions``: the largest w0 (D2) or eps0 (D3) that the condition holds with."""
        return float(self.fractions.min())

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """D2 asks for all records to be in a set, and both for no set to be small."""
        smallest = Condition.constant("D2 w0" if self.name == "D2" else "D3 eps0", self.asked, self.least)
        return (Condition.check("D2 records", ">=", 1.0, self.fraction), smallest) if self.name == "D2" else (smallest,)


def dominant_weights(
    W: Any,
    H: Any = None,
    *,
    alpha: float = 0.4,
    beta: float = 0.3,
    w0: float = 0.0,
    normalize: Normalize = "rows",
) -> RecordSets:
    r"""Records with one dominant component: condition D2 [1]_.

    D2 asks for a partition of all records into sets :math:`T_l` of at least :math:`w_0 n`, with

    .. math:: C_{lj} \ge \alpha, \quad C_{l'j} \le \beta \text{ for all } j \in T_l, l' \ne l.

    Parameters
    ----------
    W : array-like of shape (n_samples, n_components)
        Weights.
    H : array-like of shape (n_components, n_features) or fitted estimator, optional
        Their components, for the scales; by default these sum to one already.
    alpha, beta : float, default=0.4, 0.3
        The bounds, beta < alpha; by default those of the paper's Table 1.
    w0 : float, default=0.0
        The size of the sets to ask for; 0: that none is empty.
    normalize : {"rows", "common", None}, default="rows"
        How weights are scaled; see `normalize_factors`.

    Returns
    -------
    RecordSets
        The sets; ``fraction`` is the first percentage of Table 1.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Section 3, D2, and Section 5.1, Table 1.

    Examples
    --------
    >>> from partwise.metrics import dominant_weights
    >>> dominant_weights([[3, 1], [0, 2], [1, 1], [0, 4]])
    RecordSets:
    D2 records       0.75 >= 1          fails
    D2 w0            0.25 >  0          holds
    >>> dominant_weights([[3, 1], [0, 2], [1, 1], [0, 4]], alpha=0.6, normalize="common").fraction
    0.5
    """
    check_shares(alpha=alpha, beta=beta, w0=w0)
    if not beta < alpha:
        raise InputError(
            f"beta={beta!r} must be below alpha={alpha!r}: one weight dominates the others.", parameter="beta"
        )
    C = _scaled_weights(W, H, normalize)
    large = C - alpha >= -SLACK
    alone = (C - beta > SLACK).sum(axis=1, keepdims=True) <= 1  # the large one, beta being smaller
    return _record_sets("D2", large & alone, w0)


def pure_records(
    W: Any, H: Any = None, *, eps4: float = 0.05, eps0: float = 0.0, normalize: Normalize = "rows"
) -> RecordSets:
    r"""Records that are one component nearly alone: condition D3 [1]_.

    D3 asks that for each l the set :math:`P_l` of the records j with :math:`C_{lj} \ge 1 - \varepsilon_4` has at least
    :math:`\varepsilon_0 n`.

    Parameters
    ----------
    W : array-like of shape (n_samples, n_components)
        Weights.
    H : array-like of shape (n_components, n_features) or fitted estimator, optional
        Their components, for the scales; by default these sum to one already.
    eps4 : float, default=0.05
        What other components may have; by default that of the paper's Table 1.
    eps0 : float, default=0.0
        The size of the sets to ask for; 0: that none is empty.
    normalize : {"rows", "common", None}, default="rows"
        How weights are scaled; see `normalize_factors`.

    Returns
    -------
    RecordSets
        The sets; ``fraction`` is the second percentage of Table 1.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Section 3, D3, and Section 5.1, Table 1.

    Examples
    --------
    >>> from partwise.metrics import pure_records
    >>> found = pure_records([[19, 1], [0, 2], [1, 1], [0, 5]])
    >>> found.fraction, found.fractions.tolist(), found.least
    (0.75, [0.25, 0.5], 0.25)
    """
    check_shares(eps4=eps4, eps0=eps0)
    C = _scaled_weights(W, H, normalize)
    return _record_sets("D3", C + eps4 >= 1.0 - SLACK, eps0)


def _scaled_weights(W: Any, H: Any, normalize: Normalize) -> Matrix:
    weights = as_factor("W", W)
    return normalize_factors(np.eye(weights.shape[1]) if H is None else H, weights, normalize)[1]


def _record_sets(name: Literal["D2", "D3"], members: NDArray[np.bool_], asked: float) -> RecordSets:
    return RecordSets(
        name=name,
        records=tuple(np.flatnonzero(column) for column in members.T),
        fraction=float(members.any(axis=1).mean()),
        fractions=members.mean(axis=0),
        asked=asked,
    )
