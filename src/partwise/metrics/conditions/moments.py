"""The moments of the weights that Purification assumes (Li, Liang & Risteski 2016, A2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partwise.metrics.checks import Vector, open_matrix
from partwise.metrics.conditions.table import Condition, ConditionTable
from partwise.metrics.conditions.weights import Scale, column_divisors, moments, ratio, recorded
from partwise.sources import RowSource


@dataclass(frozen=True, eq=False, repr=False)
class MomentConstants(ConditionTable):
    """The constants of Purification's assumption (A2).

    Attributes
    ----------
    C1 : float
        The smallest with ``E[x_i] <= C1 / n`` for all components i.
    c2 : float
        The largest with ``c2 / n <= E[x_i**2]``.
    C2 : float
        The smallest with ``E[x_i**2] <= C2 / n``.
    balanced : bool
        ``C2 <= 2 c2``, as Theorem 6 asks.
    G : float
        ``C1**3 / (c2**2 n)``: Theorem 6 asks for at most an absolute constant. Infinite if a component never
        appears.
    in_unit_interval : bool
        All scaled weights are in [0, 1].
    scale : float or ndarray of shape (n_components,)
        What the weights were divided by.
    n_components : int
        The paper's n.

    Examples
    --------
    >>> from partwise.metrics import moment_constants
    >>> print(moment_constants([[1, 0], [0, 1]]))
    C1                     1
    c2                     1
    C2                     1 <= 2          holds
    C1^3/(c2^2 n)        0.5 <= ?          undecided
    x in [0, 1]            1 >= 1          holds
    """

    C1: float
    c2: float
    C2: float
    balanced: bool
    G: float
    in_unit_interval: bool
    scale: float | Vector
    n_components: int

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The constants, and what (A2) and Theorem 6 ask of them."""
        return (
            Condition.quantity("C1", self.C1),
            Condition.quantity("c2", self.c2),
            Condition("C2", "<=", 2.0 * self.c2, self.C2, self.balanced),
            Condition.bounded("C1^3/(c2^2 n)", self.G),
            Condition.fact("x in [0, 1]", self.in_unit_interval),
        )


def moment_constants(W: Any, *, scale: Scale = None) -> MomentConstants:
    r"""Constants of the moments of a sample of weights [1]_.

    Assumption (A2), with n components: :math:`E[x_i] \le C_1/n` and :math:`c_2/n \le E[x_i^2] \le C_2/n`, and the
    :math:`x_i \in [0, 1]` independent (which `independence` tests).

    Parameters
    ----------
    W : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_components)
        Weights, one sample a row.
    scale : float or "components", optional
        What to divide the weights by, which must bring them into [0, 1]; by default their largest entry.
        "components": each component by its own largest, one way to balance them.

    Returns
    -------
    MomentConstants
        The constants, and what Theorem 6 asks of them.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery Guarantee of Non-negative Matrix Factorization via Alternating
       Updates", NIPS 2016, Assumption (A2) and Theorem 6.

    Examples
    --------
    >>> from partwise.metrics import moment_constants
    >>> found = moment_constants([[1, 0, 0], [0, 1, 0], [0, 0, 0.5]])
    >>> round(found.C1, 12), round(found.c2, 12), round(found.C2, 12), found.balanced
    (1.0, 0.25, 1.0, False)
    """
    source = open_matrix("W", W)
    return moments_of(source, *column_divisors(source, scale))


def moments_of(source: RowSource, divisors: Vector, inside: bool) -> MomentConstants:
    """Return the constants of weights whose columns are to be divided by ``divisors``."""
    n, found = source.shape[1], moments(source, divisors)
    first, second = n * found.first, n * found.second.diagonal()
    C1, c2, C2 = float(first.max()), float(second.min()), float(second.max())
    return MomentConstants(C1, c2, C2, 2.0 * c2 >= C2, ratio(C1**3, c2**2 * n), inside, recorded(divisors), n)
