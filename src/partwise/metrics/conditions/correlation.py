"""AND's general correlation conditions on the weights (Li & Liang 2017, Definition 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.metrics.checks import Vector, open_matrix
from partwise.metrics.conditions.table import Condition, ConditionTable
from partwise.metrics.conditions.weights import Scale, column_divisors, moments, ratio, recorded


@dataclass(frozen=True, eq=False, repr=False)
class CorrelationConditions(ConditionTable):
    """The parameters (r, k, m, lambda) of AND's general correlation conditions.

    Attributes
    ----------
    r : float
        Condition 1, the largest l1 norm of a sample.
    k : float
        Condition 2, the smallest with ``Delta_ii <= 2 k / D``.
    m : float
        Condition 3, the smallest with ``Delta_ij <= m / D**2`` for all i != j.
    lam : float
        Condition 4, the largest with ``Delta >= (k / D) lam I``; NaN if all weights are zero.
    in_unit_interval : bool
        The other half of condition 1: all scaled weights are in [0, 1].
    binary : bool
        All scaled weights are 0 or 1, which is what Theorem 1 is about.
    q : float
        The order of decay for which ``decay_bound`` is; infinite for binary weights, NaN if not given.
    binary_bound : float
        ``k D lam**4 / r**5``, which Theorem 1 compares m with, without its constant.
    decay_bound : float
        ``k D**(1 - 1/q) lam**(4 + 4/q) / r**(5 + 6/(q + 1))`` of Theorem 4, without its constant.
    scale : float or ndarray of shape (n_components,)
        What the weights were divided by.
    n_components : int
        D.
    n_samples : int
        Size of the sample.

    Examples
    --------
    >>> from partwise.metrics import correlation_conditions
    >>> print(correlation_conditions([[1, 0], [0, 1]]))
    r                              1
    k                            0.5
    m                              0
    lambda                         2
    q                            inf
    x in [0, 1]                    1 >= 1          holds
    m / bound (Theorem 1)          0 <= ?          holds
    m / bound (Theorem 4)          0 <= ?          holds
    """

    r: float
    k: float
    m: float
    lam: float
    in_unit_interval: bool
    binary: bool
    q: float
    binary_bound: float
    decay_bound: float
    scale: float | Vector
    n_components: int
    n_samples: int

    @property
    def binary_ratio(self) -> float:
        """``m / binary_bound``: Theorem 1 asks for less than an unnamed constant."""
        return ratio(self.m, self.binary_bound)

    @property
    def decay_ratio(self) -> float:
        """``m / decay_bound``: Theorem 4 asks for less than an unnamed constant."""
        return ratio(self.m, self.decay_bound)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The parameters, the second half of condition 1, and m relative to the bounds of Theorems 1 and 4."""
        parameters = {"r": self.r, "k": self.k, "m": self.m, "lambda": self.lam, "q": self.q}
        return (
            *(Condition.quantity(*pair) for pair in parameters.items()),
            Condition.fact("x in [0, 1]", self.in_unit_interval),
            Condition.bounded("m / bound (Theorem 1)", self.binary_ratio),
            Condition.bounded("m / bound (Theorem 4)", self.decay_ratio),
        )


def correlation_conditions(W: Any, *, q: float | None = None, scale: Scale = None) -> CorrelationConditions:
    r"""Parameters of the general correlation conditions (GCC) of a sample of weights [1]_.

    With the second moments :math:`\Delta = E[x x^\top]`, here the mean over the rows x of ``W``, Definition 1 is

    1. :math:`\|x\|_1 \le r` and :math:`x_i \in [0, 1]`,
    2. :math:`\Delta_{ii} \le 2k/D`,
    3. :math:`\Delta_{ij} \le m/D^2` for :math:`i \ne j`,
    4. :math:`\Delta \succeq (k/D) \lambda I`.

    A larger k would be allowed too; the smallest makes the bounds on m largest, as they fall like
    :math:`k^{-3}` where :math:`k \lambda` is given. (Proposition 1 rounds: uniform s-sparse binary weights have
    k = s/2, not s, and then lambda twice as large. Its second example is off by more: Dirichlet weights with the
    parameters s/D have :math:`m = s/(s+1)`, as :math:`E[x_i x_j] = (s/D)^2 / (s (s+1))`, where 1/(sD) is printed, which
    is smaller by a factor of about :math:`s D`.)

    The bound of Theorem 4 is as the theorem prints it, with :math:`D^{1 - 1/q}`. The remark after it has
    :math:`D^{1 - 1/(q + 1)}` for the same case, which is larger; as q grows both become that of Theorem 1.

    Parameters
    ----------
    W : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_components)
        Weights, one sample a row.
    q : float, optional
        Order of decay of weights that are not binary, such as ``decay_order(W).q_upper``. Theorem 4 is for
        q >= 1; infinity gives the bound of Theorem 1.
    scale : float or "components", optional
        What to divide the weights by, which must bring them into [0, 1]; by default their largest entry.
        "components": each component by its own largest (scales of components are free, if the true ones are
        multiplied by them).

    Returns
    -------
    CorrelationConditions
        The parameters, the bounds on m of Theorems 1 and 4, and the ratios of m to them.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with
       Strong Correlations", ICML 2017, Definition 1, Proposition 1, Theorems 1 and 4.

    Examples
    --------
    >>> from partwise.metrics import correlation_conditions
    >>> found = correlation_conditions([[1, 1, 0], [1, 0, 1], [0, 1, 1]])  # all 2-sparse binary weights, D = 3
    >>> found.r, round(found.k, 12), round(found.m, 12), round(found.lam, 12)
    (2.0, 1.0, 3.0, 1.0)
    """
    if q is not None and not q >= 0.0:
        raise InputError(f"q={q!r} is no order of decay: give a number >= 0, Theorem 4 asks for q >= 1.", parameter="q")
    source = open_matrix("W", W)
    n, D = source.shape
    divisors, unit = column_divisors(source, scale)
    _, delta, r, binary = moments(source, divisors)
    k = float(D * np.diag(delta).max() / 2.0)
    m = float(D**2 * np.max(delta, where=~np.eye(D, dtype=bool), initial=0.0))
    smallest = max(0.0, float(np.linalg.eigvalsh(delta)[0]))  # second moments are semi-definite, up to rounding
    lam = smallest * D / k if k > 0.0 else float("nan")
    order = float("inf" if binary else "nan") if q is None else float(q)
    return CorrelationConditions(
        r=r,
        k=k,
        m=m,
        lam=lam,
        in_unit_interval=unit,
        binary=binary,
        q=order,
        binary_bound=_bound(r, k, lam, D, float("inf")),
        decay_bound=_bound(r, k, lam, D, order),
        scale=recorded(divisors),
        n_components=D,
        n_samples=n,
    )


def _bound(r: float, k: float, lam: float, D: int, q: float) -> float:
    """Theorem 4's bound on m, which for infinite q is Theorem 1's."""
    if np.isnan(q) or np.isnan(lam) or q == 0.0:
        return 0.0 if q == 0.0 else float("nan")
    with np.errstate(over="ignore", under="ignore"):
        power = np.float64(lam) ** (4.0 + 4.0 / q) / np.float64(r) ** (5.0 + 6.0 / (q + 1.0))
        return float(k * np.float64(D) ** (1.0 - 1.0 / q) * power)
