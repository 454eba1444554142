"""A signature as a sum of known ones: as few as the mutations ask for.

The exposures are the most likely ones (Poisson, exact); a known signature is left out as long as the likelihood-ratio
test says that the mutations do not ask for it, or as its removal hardly changes the sum. With an exposure at the border
of what is allowed, half of the statistic's distribution is a chi-square of one degree of freedom (Self & Liang, 1987,
case 5); backward steps and the 0.01 of the cosine are those of SigProfilerAssignment (Diaz-Gay et al., 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from partwise.linalg.poisson import poisson_weights

Array = npt.NDArray[Any]

LEVEL = 0.01  # of the test
LEAST_CHANGE = 0.01  # of the cosine with what is explained


@dataclass(frozen=True)
class Decomposition:
    """Which known parts a row is made of.

    Parameters
    ----------
    chosen : ndarray of int
        Numbers of the known parts, the largest share first.
    shares : ndarray of float
        Their shares; they sum to one.
    p_values : ndarray of float
        Of the test that the share is zero.
    cosine : float
        Between the row and the sum.
    """

    chosen: Array
    shares: Array
    p_values: Array
    cosine: float


def decompose(row: Array, known: Array, *, level: float = LEVEL, least_change: float = LEAST_CHANGE) -> Decomposition:
    """The known parts that a row of counts asks for.

    Parameters
    ----------
    row : ndarray of shape (n_features,)
        Counts: their sum says how sure the test may be.
    known : ndarray of shape (n_known, n_features)
        Known parts; each is scaled to sum to one.
    level : float, default=0.01
        Known parts with a larger p-value are left out.
    least_change : float, default=0.01
        So are those whose removal lowers the cosine by less.

    Returns
    -------
    Decomposition
        At least one known part.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.profiles.decomposing import decompose
    >>> known = np.array([[0.7, 0.2, 0.1, 0.0], [0.0, 0.1, 0.2, 0.7], [0.25, 0.25, 0.25, 0.25]])
    >>> found = decompose(1000.0 * (0.6 * known[0] + 0.4 * known[1]), known)
    >>> found.chosen.tolist(), found.shares.round(2).tolist()
    ([0, 1], [0.6, 0.4])
    """
    totals = known.sum(axis=1, keepdims=True)
    H = np.asarray(known / np.where(totals > 0.0, totals, 1.0), np.float64)
    row = np.asarray(row, np.float64)
    chosen = np.arange(len(H))
    weights = _weights(H, row)
    chosen = chosen[weights > 1e-9 * max(row.sum(), 1e-300)]
    while True:
        weights = _weights(H[chosen], row)
        value, angle = _likelihood(H[chosen], weights, row), _cosine(H[chosen], weights, row)
        if len(chosen) < 2:
            break
        without = [np.delete(chosen, i) for i in range(len(chosen))]
        others = [_weights(H[rest], row) for rest in without]
        values = [_likelihood(H[rest], W, row) for rest, W in zip(without, others, strict=True)]
        changes = [angle - _cosine(H[rest], W, row) for rest, W in zip(without, others, strict=True)]
        p_values = np.array([_p_value(value - one) for one in values])
        weakest = int(np.argmin(value - np.array(values)))
        if p_values[weakest] <= level and changes[weakest] >= least_change:
            order = np.argsort(-weights, kind="stable")
            shares = weights[order] / weights.sum()
            return Decomposition(chosen[order], shares, p_values[order], angle)
        chosen = without[weakest]
    return Decomposition(chosen, np.ones(len(chosen)), np.zeros(len(chosen)), angle)


def _weights(H: Array, row: Array) -> Array:
    weights: Array = np.asarray(poisson_weights(H, row[None, :]), np.float64)[0]
    return weights


def _likelihood(H: Array, weights: Array, row: Array) -> float:
    mean = weights @ H
    seen = row > 0.0
    if (mean[seen] <= 0.0).any():
        return -np.inf
    return float((row[seen] * np.log(mean[seen])).sum() - mean.sum())


def _cosine(H: Array, weights: Array, row: Array) -> float:
    made = weights @ H
    return float(made @ row / max(np.linalg.norm(made) * np.linalg.norm(row), 1e-300))


def _p_value(gain: float) -> float:
    return float(0.5 * chdtrc(1, max(2.0 * gain, 0.0)))
