"""The order of decay of weights (Li & Liang 2017, Definition 3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partwise.exceptions import InputError
from partwise.metrics.checks import Vector, open_matrix
from partwise.metrics.conditions.table import Condition, ConditionTable
from partwise.metrics.conditions.weights import Scale, column_divisors, recorded
from partwise.sources import blocks
from partwise.sources.protocol import Block

Counted = tuple[tuple[Vector, NDArray[np.int64]], ...]  # of every component: distinct values, how often


@dataclass(frozen=True, eq=False, repr=False)
class DecayOrder(ConditionTable):
    """How seldom weights are small once they are not zero: the order q of AND's Definition 3.

    Attributes
    ----------
    q : float
        The smallest of ``orders``.
    q_upper : float
        The smallest of ``upper_orders``: the largest order that the sample does not contradict.
    orders : ndarray of shape (n_components,)
        The order of the sample itself, of every component.
    upper_orders : ndarray of shape (n_components,)
        Upper confidence limits of the orders of the distribution, of all components at once.
    counts : ndarray of int, shape (n_components,)
        Number of weights that are not zero.
    confidence : float
        That of the limits.
    scale : float or ndarray of shape (n_components,)
        What the weights were divided by.

    Examples
    --------
    >>> from partwise.metrics import decay_order
    >>> print(decay_order([[1, 0], [0, 5], [1, 5]]))
    q                inf
    q_upper          inf
    non-zeros          2
    """

    q: float
    q_upper: float
    orders: Vector
    upper_orders: Vector
    counts: NDArray[np.int64]
    confidence: float
    scale: float | Vector

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Both orders, and the fewest weights that one of a component is from."""
        found = {"q": self.q, "q_upper": self.q_upper, "non-zeros": self.counts.min()}
        return tuple(Condition.quantity(*pair) for pair in found.items())


def decay_order(
    W: Any, *, scale: Scale = "components", zero: float = 0.0, confidence: float = 0.95, bits: int | None = None
) -> DecayOrder:
    r"""Order of decay of a sample of weights [1]_.

    Definition 3 asks that for all components i and all a

    .. math:: \Pr[x_i \le a \mid x_i \ne 0] \le a^q.

    On a sample the left side F jumps at the distinct values v (equal ones at once), where the condition is
    tightest, so the largest q is the least :math:`\log F(v) / \log v` over the values in (0, 1). It is infinite
    where all weights are 0 or 1, 1 for uniform and q for Beta(q, 1) weights.

    In a finite sample that minimum is mostly noise of the few largest values, near 1, where both logarithms
    vanish; it tends to be too small. ``upper_orders`` are computed with F lowered by
    :math:`\sqrt{\log(n_{components}/(1 - confidence)) / (2 count)}`, the band of Dvoretzky, Kiefer, Wolfowitz and
    Massart: with the given confidence no order of the distribution is larger than its limit. For many samples
    the limit is the better estimate too.

    Parameters
    ----------
    W : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_components)
        Weights, one sample a row. The distinct values of all components are held in memory, unless ``bits`` are
        given.
    scale : float or "components", optional
        What to divide the weights by. By default each component by its own largest: a component that never
        comes near 1 has, by the definition, order 0. ``None``: all by the largest entry.
    zero : float, default=0.0
        Scaled weights up to this size are taken for zero. Solvers that leave 1e-17 where they mean 0 need it,
        as a single tiny weight among N makes the order at most ``log(N) / log(1 / weight)``.
    confidence : float, default=0.95
        That of the upper limits; at least 0.5.
    bits : int, optional
        Round weights down to so many binary digits, for samples too large to keep: orders can only become
        smaller, by little with 12.

    Returns
    -------
    DecayOrder
        Orders of the components and the smallest. A component that is always zero has order infinity, one with
        a negative weight 0.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with
       Strong Correlations", ICML 2017, Definition 3 and Theorem 4.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.metrics import decay_order
    >>> uniform = np.arange(1, 101)[:, None] / 100
    >>> round(decay_order(uniform).q, 9), round(decay_order(np.sqrt(uniform)).q, 9)
    (1.0, 2.0)
    """
    if not zero >= 0.0:
        raise InputError(f"zero={zero!r} must be a number >= 0.", parameter="zero")
    if not 0.5 <= confidence < 1.0:
        raise InputError(f"confidence={confidence!r} must be at least 0.5 and below 1.", parameter="confidence")
    if bits is not None and not 1 <= bits <= 53:
        raise InputError(f"bits={bits!r} must be between 1 and 53.", parameter="bits")
    source = open_matrix("W", W)
    divisors, _ = column_divisors(source, scale)
    counted: Counted = source.reduce(
        partial(_values_block, divisors=divisors, zero=zero, bits=bits), combine=_merge_values
    )
    counts = np.array([times.sum() for _, times in counted], np.int64)
    slack = np.sqrt(np.log(len(counts) / (1.0 - confidence)) / (2.0 * np.maximum(counts, 1)))
    orders = np.array([_order(*pair, 0.0) for pair in counted])
    upper = np.array([_order(*pair, float(band)) for pair, band in zip(counted, slack, strict=True)])
    return DecayOrder(
        q=float(orders.min()),
        q_upper=float(upper.min()),
        orders=orders,
        upper_orders=upper,
        counts=counts,
        confidence=confidence,
        scale=recorded(divisors),
    )


def _values_block(block: Block, *, divisors: Vector, zero: float, bits: int | None) -> Counted:
    """Of every column the distinct entries that are not zero, and how often they occur."""
    x = blocks.to_dense(block) / divisors
    found = []
    for column in x.T:
        values = column[np.abs(column) > zero]
        if bits is not None:
            mantissa, exponent = np.frexp(values)
            values = np.ldexp(np.floor(np.ldexp(mantissa, bits)), exponent - bits)
        distinct, times = np.unique(values, return_counts=True)
        found.append((distinct, times.astype(np.int64)))
    return tuple(found)


def _merge_values(a: Counted, b: Counted) -> Counted:
    merged = []
    for (u, m), (v, n) in zip(a, b, strict=True):
        distinct, place = np.unique(np.concatenate([u, v]), return_inverse=True)
        times = np.zeros(len(distinct), np.int64)
        np.add.at(times, place, np.concatenate([m, n]))
        merged.append((distinct, times))
    return tuple(merged)


def _order(values: Vector, times: NDArray[np.int64], slack: float) -> float:
    """Return the least log F(v) / log v over v in (0, 1) where F(v) > 0, F the distribution lowered by ``slack``."""
    if not len(values):
        return float("inf")
    below = np.cumsum(times) / times.sum() - slack
    at = (values < 1.0) & (below > 0.0)
    if (values[at] <= 0.0).any():
        return 0.0  # a negative weight is below every a
    return max(0.0, float(np.min(np.log(below[at]) / np.log(values[at]), initial=np.inf)))
