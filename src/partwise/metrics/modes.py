"""Whether a distribution has more than one mode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.kernels.dip import dip_of_sorted
from partwise.metrics.checks import Vector

__all__ = ["DipTest", "dip_test"]

DRAWS = 2000  # samples of the uniform law: a p-value of 0.01 is then known to 0.002
ENOUGH = 2000  # values from which on quantiles of sqrt(n) dip grow by less than three per cent


@dataclass(frozen=True)
class DipTest:
    """The dip and how likely one as large is if there is one mode.

    Attributes
    ----------
    dip : float
        The least distance of the empirical distribution function from that of any law with one mode: from 0 to 1/4.
    p_value : float
        Share of samples of the uniform law, which of all laws with one mode is asymptotically the hardest to tell from
        two, whose dip is as large.
    """

    dip: float
    p_value: float


def dip_test(values: Any) -> DipTest:
    """Hartigan's dip test: one mode, or more [1]_.

    A single atom may be the mode, so that a law of zeros and a density that falls from zero on has one; zeros and a
    bump away from them are two.

    Parameters
    ----------
    values : array-like
        A sample.

    Returns
    -------
    DipTest
        Exact dip, and a p-value from 2000 samples of the uniform law.

    References
    ----------
    .. [1] J. A. Hartigan, P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13, 1985.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.metrics import dip_test
    >>> dip_test([0, 0, 0, 1, 1, 1]).dip
    0.25
    >>> y = np.random.default_rng(0).exponential(size=500) * np.r_[np.zeros(250), np.ones(250)]
    >>> dip_test(y).p_value > 0.5
    True
    """
    try:
        x = np.sort(np.asarray(values, np.float64).ravel())
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{{parameter}} must be real numbers ({error})", parameter="values", kind="not-real"
        ) from error
    if not len(x):
        raise InputError("{parameter} is empty: a distribution has values", parameter="values", kind="empty")
    if not np.isfinite(x).all():
        raise InputError("{parameter} holds NaN or infinity", parameter="values", kind="not-finite")
    dip = float(dip_of_sorted(x))
    simulated = _uniform_dips(min(len(x), ENOUGH)) * np.sqrt(min(len(x), ENOUGH) / len(x))
    return DipTest(dip, float(np.mean(simulated >= dip)))


@cache
def _uniform_dips(n: int) -> Vector:
    """Dips of samples of the uniform law; the gaps between ordered ones are exponential."""
    rng = np.random.default_rng(0)
    return np.array([dip_of_sorted(np.cumsum(rng.standard_exponential(n))) for _ in range(DRAWS)])
