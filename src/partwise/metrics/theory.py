"""The quantities of the recovery theorems, computed: what a sample of weights, a start or a noise level is worth.

The theorems are those of AND (Li & Liang 2017) and of Purification (Li, Liang & Risteski 2016). Their A is
``H.T`` here, their x a row of ``W``, and AND's D, Purification's n, the number of components. Absolute constants,
which the papers do not give, are left out: a ratio to a bound is to be compared between data sets, not to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import linear_sum_assignment

from partwise.exceptions import InputError
from partwise.linalg.inverse import left_inverse
from partwise.metrics.checks import Matrix, as_components, scale_rows
from partwise.metrics.recovery import match_components
from partwise.sources import RowSource, blocks, inspect, source_of
from partwise.sources.passes import single_blas_thread
from partwise.sources.protocol import Block

__all__ = [
    "CorrelationConditions",
    "DecayOrder",
    "Initialization",
    "MomentConstants",
    "NoiseTolerance",
    "RecoveryMeasures",
    "correlation_conditions",
    "decay_order",
    "initialization",
    "moment_constants",
    "noise_tolerance",
    "recovery_measures",
]

Vector = NDArray[np.float64]
Scale = float | Literal["components"] | None
Counted = tuple[tuple[Vector, NDArray[np.int64]], ...]  # of every component: distinct values, how often

EPS = float(np.finfo(np.float64).eps)


# weights


@dataclass(frozen=True, eq=False)
class CorrelationConditions:
    """The parameters (r, k, m, lambda) of AND's general correlation conditions; ``print`` shows them as a table.

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
    correlation conditions of 2 samples, D = 2 (binary)
    r             1
    k             0.5
    m             0
    lambda        2
    x in [0, 1]   True
    q             inf
    m / bound     0 (Theorem 1: k D lambda^4 / r^5 = 16)
    m / bound     0 (Theorem 4: order-q decay = 16)
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
        return _ratio(self.m, self.binary_bound)

    @property
    def decay_ratio(self) -> float:
        """``m / decay_bound``: Theorem 4 asks for less than an unnamed constant."""
        return _ratio(self.m, self.decay_bound)

    def __str__(self) -> str:
        first = "Theorem 1: k D lambda^4 / r^5"
        return _table(
            f"correlation conditions of {self.n_samples} samples, D = {self.n_components}"
            + (" (binary)" if self.binary else ""),
            [
                ("r", self.r),
                ("k", self.k),
                ("m", self.m),
                ("lambda", self.lam),
                ("x in [0, 1]", self.in_unit_interval),
                ("q", self.q),
                ("m / bound", f"{self.binary_ratio:.4g} ({first} = {self.binary_bound:.4g})"),
                ("m / bound", f"{self.decay_ratio:.4g} (Theorem 4: order-q decay = {self.decay_bound:.4g})"),
            ],
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
    k = s/2, not s, and then lambda twice as large.)

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
        raise InputError(f"q={q!r} is no order of decay: give a number >= 0, Theorem 4 asks for q >= 1.")
    source = _weights(W)
    n, D = source.shape
    divisors, unit = _divisors(source, scale)
    lengths, gram, binary = source.reduce(partial(_gram_block, divisors=divisors), combine=_merge_gram)
    delta = gram / n
    r, k = float(lengths), float(D * np.diag(delta).max() / 2.0)
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
        binary=bool(binary),
        q=order,
        binary_bound=_bound(r, k, lam, D, float("inf")),
        decay_bound=_bound(r, k, lam, D, order),
        scale=_recorded(divisors),
        n_components=D,
        n_samples=n,
    )


@dataclass(frozen=True, eq=False)
class DecayOrder:
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
    order of decay of 2 components
    q             inf (of the sample; smallest at component 0)
    q_upper       inf (not contradicted, confidence 0.95)
    non-zeros     2 to 2 of a component
    """

    q: float
    q_upper: float
    orders: Vector
    upper_orders: Vector
    counts: NDArray[np.int64]
    confidence: float
    scale: float | Vector

    def __str__(self) -> str:
        return _table(
            f"order of decay of {len(self.orders)} components",
            [
                ("q", f"{self.q:.4g} (of the sample; smallest at component {int(np.argmin(self.orders))})"),
                ("q_upper", f"{self.q_upper:.4g} (not contradicted, confidence {self.confidence:g})"),
                ("non-zeros", f"{self.counts.min()} to {self.counts.max()} of a component"),
            ],
        )


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
        raise InputError(f"zero={zero!r} must be a number >= 0.")
    if not 0.5 <= confidence < 1.0:
        raise InputError(f"confidence={confidence!r} must be at least 0.5 and below 1.")
    if bits is not None and not 1 <= bits <= 53:
        raise InputError(f"bits={bits!r} must be between 1 and 53.")
    source = _weights(W)
    divisors, _ = _divisors(source, scale)
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
        scale=_recorded(divisors),
    )


@dataclass(frozen=True, eq=False)
class MomentConstants:
    """The constants of Purification's assumption (A2); ``print`` shows them as a table.

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
    moments of the weights, n = 2
    C1            1
    c2            1
    C2            1
    C2 <= 2 c2    True
    C1^3/(c2^2 n) 0.5
    x in [0, 1]   True
    """

    C1: float
    c2: float
    C2: float
    balanced: bool
    G: float
    in_unit_interval: bool
    scale: float | Vector
    n_components: int

    def __str__(self) -> str:
        return _table(
            f"moments of the weights, n = {self.n_components}",
            [
                ("C1", self.C1),
                ("c2", self.c2),
                ("C2", self.C2),
                ("C2 <= 2 c2", self.balanced),
                ("C1^3/(c2^2 n)", self.G),
                ("x in [0, 1]", self.in_unit_interval),
            ],
        )


def moment_constants(W: Any, *, scale: Scale = None) -> MomentConstants:
    r"""Constants of the moments of a sample of weights [1]_.

    Assumption (A2), with n components: :math:`E[x_i] \le C_1/n` and :math:`c_2/n \le E[x_i^2] \le C_2/n`, and the
    :math:`x_i \in [0, 1]` independent (which is not looked at here; see `correlation_conditions`).

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
    source = _weights(W)
    return _moments(source, *_divisors(source, scale))


# components


@dataclass(frozen=True, eq=False)
class Initialization:
    """Components written by the true ones, ``A = A* (Sigma + E) + N``; ``print`` shows the norms as a table.

    Matrices are in the papers' orientation: column i of ``E`` belongs to component i, and ``E[j, i]`` is how much
    of true component j is in it. Components are in the order of the truth, divided by ``scales``, so that
    ``H[permutation] / scales[:, None] = (diag(sigma) + E).T @ truth + N``.

    Attributes
    ----------
    sigma : ndarray of shape (n_components,)
        The diagonal of Sigma; ones where components could be rescaled.
    E : ndarray of shape (n_components, n_components)
        The other true components in each, with a diagonal of zeros.
    N : ndarray of shape (n_components, n_features)
        What is outside the span of the truth, one component a row (the papers' N transposed).
    permutation : ndarray of int, shape (n_components,)
        ``permutation[i]`` is the row of H that is matched to true component i.
    scales : ndarray of shape (n_components,)
        What the components were divided by: Sigma before that; 1 where it was not positive, or without
        rescaling.
    E_2 : float
        Spectral norm of E.
    E_s : float
        Symmetrised norm of E, the larger of the largest column sum and row sum of magnitudes.
    E_plus : float
        Symmetrised norm of the positive part of E (equation 6), the potential a_t.
    E_minus : float
        Symmetrised norm of the negative part of E, the potential b_t.
    sigma_2 : float
        Spectral norm of Sigma - I.
    N_2 : float
        Spectral norm of N: the rho of AND's Definition 4.
    level : float
        The l that was asked for.
    and_level : float
        The smallest l of AND's sense, ``E_2`` if ``sigma_2 <= 1/4``, else infinity.
    purification_level : float
        The smallest l of Purification's sense, the larger of ``E_s`` and ``1 - min(sigma)``.

    Examples
    --------
    >>> from partwise.metrics import initialization
    >>> print(initialization([[0.1, 2.0], [4.0, 0.2]], [[1, 0], [0, 1]]))
    start of 2 components, l = 0.1
    |Sigma - I|_2 0
    |E|_2         0.05
    |E|_s         0.05
    |E+|_s        0.05
    |E-|_s        0
    |N|_2         0
    AND           True (smallest l 0.05)
    Purification  True (smallest l 0.05)
    """

    sigma: Vector
    E: Matrix
    N: Matrix
    permutation: NDArray[np.int_]
    scales: Vector
    E_2: float
    E_s: float
    E_plus: float
    E_minus: float
    sigma_2: float
    N_2: float
    level: float
    and_level: float = field(init=False)
    purification_level: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "and_level", self.E_2 if self.sigma_2 <= 0.25 else float("inf"))
        object.__setattr__(self, "purification_level", max(self.E_s, 1.0 - float(self.sigma.min())))

    @property
    def satisfies_and(self) -> bool:
        """Whether this is an l-initialization by AND's Definition 2, N apart: Definition 4 asks for N_2 <= rho."""
        return self.and_level <= self.level

    @property
    def satisfies_purification(self) -> bool:
        """Whether Purification's (A3) holds with l; it says nothing on N, Theorem 6 bounds the norm of its rows."""
        return self.purification_level <= self.level

    def __str__(self) -> str:
        return _table(
            f"start of {len(self.sigma)} components, l = {self.level:g}",
            [
                ("|Sigma - I|_2", self.sigma_2),
                ("|E|_2", self.E_2),
                ("|E|_s", self.E_s),
                ("|E+|_s", self.E_plus),
                ("|E-|_s", self.E_minus),
                ("|N|_2", self.N_2),
                ("AND", f"{self.satisfies_and} (smallest l {self.and_level:.4g})"),
                ("Purification", f"{self.satisfies_purification} (smallest l {self.purification_level:.4g})"),
            ],
        )


def initialization(
    H: Any, truth: Any, *, level: float = 0.1, rescale: bool = True, absolute: bool = False, match: bool = True
) -> Initialization:
    r"""Write components by the true ones, and say whether they are a start that the theorems allow [1]_, [2]_.

    Components are matched to the true ones, then :math:`A = A^* (\Sigma + E) + N` is solved by least squares:
    Sigma diagonal, E off-diagonal and N outside the span of the truth. An l-initialization has

    - in AND (Definition 2) :math:`\|E\|_2 \le l` and :math:`\|\Sigma - I\|_2 \le 1/4`,
    - in Purification (A3) :math:`\Sigma \succeq (1 - l) I` and :math:`\|E\|_s \le l`.

    The scale of a component cannot be known, so by default it is removed first. That of the true components
    stays, and E depends on it: E[j, i] is counted in units of true component j. The papers normalise the truth
    to components of norm one.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features)
        Components, one a row, in any order and scale.
    truth : array-like of shape (n_components, n_features)
        The true ones, linearly independent.
    level : float, default=0.1
        The l to be tested; 1/10 is Purification's, AND's is an unnamed constant below 1.
    rescale : bool, default=True
        Divide each component by its entry of Sigma, which makes it 1. Where that is zero (to rounding) or
        negative, the component is left as it is and is no start in any sense.
    absolute : bool, default=False
        Take a component for the same as its negative: match both and divide by negative entries of Sigma too.
    match : bool, default=True
        Find the order of the components; ``False``: they are in the order of the truth.

    Returns
    -------
    Initialization
        Sigma, E, N, their norms, and what they satisfy.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with
       Strong Correlations", ICML 2017, Definitions 2 and 4.
    .. [2] Y. Li, Y. Liang, A. Risteski, "Recovery Guarantee of Non-negative Matrix Factorization via Alternating
       Updates", NIPS 2016, Assumption (A3), Section 5.1, equation 6, and Section 5.2.

    Examples
    --------
    >>> from partwise.metrics import initialization
    >>> start = initialization([[4, 2, 0], [0, 2, 1]], [[1, 0, 0], [0, 1, 0]])  # E[1, 0]: true 1 in component 0
    >>> start.E.tolist(), start.N_2, start.satisfies_and
    ([[0.0, 0.0], [0.5, 0.0]], 0.5, False)
    """
    found = match_components(H, truth, absolute=absolute)  # checks both
    C, T = as_components("H", H), as_components("truth", truth)
    if len(C) != len(T):
        raise InputError(f"H has {len(C)} components and truth has {len(T)}: a start has one for each true one.")
    basis = _Basis.of(T)
    if basis is None:
        raise InputError("truth has linearly dependent components: then E is not determined (assumption A1).")
    permutation = found.permutation if match else np.arange(len(T))
    B = basis.coordinates(C[permutation])
    M, N = basis.solve(B), basis.outside(C[permutation], B)
    scales = basis.scales(M, absolute) if rescale else np.ones(len(M))
    sigma, E, N = _parted(M, N, scales)
    return Initialization(
        sigma=sigma,
        E=E,
        N=N,
        permutation=permutation,
        scales=scales,
        sigma_2=float(np.abs(sigma - 1.0).max()),
        N_2=_spectral(N),
        level=level,
        **_norms(E),
    )


class RecoveryMeasures:
    """How far components are from the truth in the terms of the proofs, cheap enough for every iteration.

    A callable, made once from the truth: it costs three products of the size of ``H @ truth.T`` (a few ms for 100
    components of 2000 features). The decomposition is that of `initialization`, which explains it.

    Parameters
    ----------
    truth : array-like of shape (n_components, n_features)
        The true components. If they are linearly dependent all measures are NaN.
    rescale : bool, default=True
        Divide each component by its entry of Sigma, if that is positive, before E and N are measured.

    Examples
    --------
    >>> from partwise.metrics import RecoveryMeasures
    >>> measures = RecoveryMeasures([[1, 0, 0], [0, 1, 0]])
    >>> measures([[4, 2, 0], [0, 2, 1]])
    {'E_2': 0.5, 'E_s': 0.5, 'E_plus': 0.5, 'E_minus': 0.0, 'sigma_min': 2.0, 'N_2': 0.5}
    """

    names = ("E_2", "E_s", "E_plus", "E_minus", "sigma_min", "N_2")

    def __init__(self, truth: Any, *, rescale: bool = True) -> None:
        T = as_components("truth", truth)
        self.shape = T.shape
        self.rescale = rescale
        self._basis = _Basis.of(T)

    def __call__(self, H: npt.ArrayLike) -> dict[str, float]:
        """Measure ``H``; see `recovery_measures`."""
        C = np.asarray(H, np.float64)
        if C.ndim != 2 or C.shape[1] != self.shape[1]:
            raise InputError(f"H has shape {C.shape}: the truth has {self.shape[1]} features.")
        if self._basis is None or len(C) != self.shape[0] or not np.isfinite(C).all():
            return dict.fromkeys(self.names, float("nan"))
        with single_blas_thread():  # products this small are slower with more, and other bits
            return self._measure(C, self._basis)

    def _measure(self, C: Matrix, basis: _Basis) -> dict[str, float]:
        B = basis.coordinates(C)
        order = linear_sum_assignment(basis.cosines(B, C), maximize=True)[1]
        C, B = C[order], B[order]
        M = basis.solve(B)
        scales = basis.scales(M, absolute=False) if self.rescale else np.ones(len(M))
        _, E, N = _parted(M, basis.outside(C, B), scales)
        return {**_norms(E), "sigma_min": float(np.diag(M).min()), "N_2": _spectral(N)}


def recovery_measures(H: npt.ArrayLike, truth: Any, *, rescale: bool = True) -> dict[str, float]:
    """Norms of E, Sigma and N of components against a truth [1]_.

    `RecoveryMeasures` is the same for many ``H`` and one truth, and `initialization` has the matrices themselves.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features)
        Components, one a row, in any order and scale.
    truth : array-like of shape (n_components, n_features)
        The true ones.
    rescale : bool, default=True
        Divide each component by its entry of Sigma, if that is positive, before E and N are measured.

    Returns
    -------
    dict of str to float
        "E_2" (spectral norm of E), "E_s" (symmetrised norm), "E_plus" and "E_minus" (that of the positive and
        negative part), "sigma_min" (smallest entry of Sigma, before rescaling) and "N_2" (spectral norm of N).
        All are NaN if ``H`` is not finite or has another number of components, or if the truth is dependent.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery Guarantee of Non-negative Matrix Factorization via Alternating
       Updates", NIPS 2016, Sections 5.1 and 5.2.

    Examples
    --------
    >>> from partwise.metrics import recovery_measures
    >>> recovery_measures([[0, 1], [3, 0]], [[1, 0], [0, 1]])["E_s"]
    0.0
    """
    return RecoveryMeasures(truth, rescale=rescale)(H)


@dataclass(frozen=True, eq=False)
class NoiseTolerance:
    """The noise levels C_nu of Purification's theorems; ``print`` shows them as a table.

    Levels are largest magnitudes of an entry of the noise, for weights in [0, 1]; times ``unit`` they are in the
    units of the data.

    Attributes
    ----------
    theorem_1 : float
        Adversarial noise, independent binary weights: ``G c / max(m, n |A+|)``, where A+ is the left inverse.
    theorem_2 : float
        Unbiased noise, independent binary weights: ``sqrt(n)`` times the first.
    theorem_6 : float
        Adversarial noise, general weights; NaN without weights.
    theorem_7 : float
        Unbiased noise, general weights; NaN without weights.
    start : float
        Theorem 6's bound on the infinity norm of N of the start, ``c2**2 G c / (C1**3 |A+|)``; NaN without
        weights.
    inverse_norm : float
        ``|A+|``, the least infinity norm of a left inverse of the truth: the largest l1 norm of a column of P,
        ``truth @ P = I``.
    moments : MomentConstants or None
        The constants of the weights.
    unit : float
        What the data was divided by, along with the weights; 1 without weights.
    c : float
        The error that is asked for.
    G : float
        The absolute constant.
    n_components : int
        The paper's n.
    n_features : int
        The paper's m.

    Examples
    --------
    >>> from partwise.metrics import noise_tolerance
    >>> print(noise_tolerance([[1, 0, 0, 0], [0, 0, 0, 1]]))
    largest entry of the noise, n = 2, m = 4, c = 1, G = 1
    |A+|_inf      1
    Theorem 1     0.25 (adversarial, binary)
    Theorem 2     0.3536 (unbiased, binary)
    Theorem 6     nan (adversarial)
    Theorem 7     nan (unbiased)
    |N(0)|_inf    nan (start, Theorem 6)
    unit          1
    """

    theorem_1: float
    theorem_2: float
    theorem_6: float
    theorem_7: float
    start: float
    inverse_norm: float
    moments: MomentConstants | None
    unit: float
    c: float
    G: float
    n_components: int
    n_features: int

    def __str__(self) -> str:
        return _table(
            f"largest entry of the noise, n = {self.n_components}, m = {self.n_features}, "
            f"c = {self.c:g}, G = {self.G:g}",
            [
                ("|A+|_inf", self.inverse_norm),
                ("Theorem 1", f"{self.theorem_1:.4g} (adversarial, binary)"),
                ("Theorem 2", f"{self.theorem_2:.4g} (unbiased, binary)"),
                ("Theorem 6", f"{self.theorem_6:.4g} (adversarial)"),
                ("Theorem 7", f"{self.theorem_7:.4g} (unbiased)"),
                ("|N(0)|_inf", f"{self.start:.4g} (start, Theorem 6)"),
                ("unit", self.unit),
            ],
        )


def noise_tolerance(
    truth: Any, W: Any = None, *, c: float = 1.0, G: float = 1.0, normalize: bool = True
) -> NoiseTolerance:
    r"""Noise that Purification tolerates with an error c, by its theorems [1]_.

    With n components of m features, :math:`A^\dagger` the left inverse of the truth of least infinity norm, and the
    constants of `moment_constants`, the largest magnitude :math:`C_\nu` of an entry of the noise is

    .. math::
        \text{Theorem 1:} \quad & G c \,/ \max\{m, n \|A^\dagger\|_\infty\} \\
        \text{Theorem 2:} \quad & G c \sqrt n \,/ \max\{m, n \|A^\dagger\|_\infty\} \\
        \text{Theorem 6:} \quad & \min\{c_2^2 G c / (C_1^2 m),\ c_2^4 G c / (C_1^5 n \|A^\dagger\|_\infty)\} \\
        \text{Theorem 7:} \quad & c_2 G \sqrt{c n} \,/ (C_1 \max\{m, n \|A^\dagger\|_\infty\})

    G is an absolute constant that the paper does not give. Theorem 7 is read with c under the root; for c = 1 and
    the weights of Theorem 2 (where C1 = c2) both agree. In the same way Theorem 6 becomes Theorem 1, but for the
    factor 1/C1 that is a constant there.

    Parameters
    ----------
    truth : array-like of shape (n_components, n_features)
        The true components, linearly independent.
    W : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_components), optional
        Weights of the true components, for Theorems 6 and 7.
    c : float, default=1.0
        The error asked for, between 0 and 1.
    G : float, default=1.0
        The absolute constant.
    normalize : bool, default=True
        Divide the true components by their sums of magnitudes, which makes the error c one relative to them
        (the remark after Theorem 1), and multiply the weights accordingly; then these are divided by their
        largest. ``False``: true components as they are.

    Returns
    -------
    NoiseTolerance
        The bounds of the four theorems.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery Guarantee of Non-negative Matrix Factorization via Alternating
       Updates", NIPS 2016, Theorems 1, 2, 6 and 7.

    Examples
    --------
    >>> from partwise.metrics import noise_tolerance
    >>> noise_tolerance([[4, 0], [0, 3]]).theorem_1
    0.5
    """
    if not 0.0 <= c <= 1.0:
        raise InputError(f"c={c!r} must be between 0 and 1.")
    T = as_components("truth", truth)
    empty = np.flatnonzero(~T.any(axis=1))
    if empty.size:
        raise InputError(f"truth has only zeros in row {empty[0]}: its components must be linearly independent.")
    n, m = T.shape
    sums = np.abs(T).sum(axis=1) if normalize else np.ones(n)
    inverse_norm = float(np.abs(np.asarray(left_inverse(T / sums[:, None], norm="inf"))).sum(axis=0).max())
    largest = max(float(m), n * inverse_norm)
    moments, unit = None, 1.0
    theorem_6 = theorem_7 = start = float("nan")
    if W is not None:
        source = _weights(W)
        if source.shape[1] != n:
            raise InputError(f"W has {source.shape[1]} components and truth has {n}.")
        divisors, inside = _divisors(source, None, sums)
        moments = _moments(source, divisors, inside)
        unit = float(divisors[0] * sums[0])
        C1, c2 = moments.C1, moments.c2
        theorem_6 = G * c * min(_ratio(c2**2, C1**2 * m), _ratio(c2**4, C1**5 * n * inverse_norm))
        theorem_7 = G * np.sqrt(c * n) * _ratio(c2, C1 * largest)
        start = G * c * _ratio(c2**2, C1**3 * inverse_norm)
    return NoiseTolerance(
        theorem_1=G * c / largest,
        theorem_2=G * c * float(np.sqrt(n)) / largest,
        theorem_6=theorem_6,
        theorem_7=float(theorem_7),
        start=start,
        inverse_norm=inverse_norm,
        moments=moments,
        unit=unit,
        c=c,
        G=G,
        n_components=n,
        n_features=m,
    )


# passes over the weights


def _weights(W: Any) -> RowSource:
    """Return the weights as a source that has rows and columns."""
    source = source_of(W)
    if 0 in source.shape:
        raise InputError(f"W has shape {tuple(source.shape)}: give a non-empty (n_samples, n_components) matrix.")
    return source


def _divisors(source: RowSource, scale: Scale, factors: Vector | None = None) -> tuple[Vector, bool]:
    """Return what to divide the columns by, and whether entries are in [0, 1] then; columns count ``factors``."""
    lowest, highest = source.reduce(_extent_block, combine=_merge_extent)
    if not (np.isfinite(lowest).all() and np.isfinite(highest).all()):
        inspect(source).check(allow_negative=True, name="W", squares=False)  # says where
    factors = np.ones(len(highest)) if factors is None else factors
    largest = np.maximum(np.abs(lowest), np.abs(highest))
    if scale is None:
        divisors = (float((largest * factors).max()) or 1.0) / factors
    elif isinstance(scale, str):
        if scale != "components":
            raise InputError(f"scale={scale!r} is unknown: give a number, 'components' or None.")
        divisors = np.where(largest > 0.0, largest, 1.0)
    elif 0.0 < scale < np.inf:
        divisors = np.full(len(largest), float(scale))
    else:
        raise InputError(f"scale={scale!r} must be a positive number, 'components' or None.")
    # to rounding: with factors the largest is divided by a product that is rounded itself
    return divisors, bool(lowest.min() >= 0.0 and (highest / divisors).max() <= 1.0 + 4.0 * EPS)


def _recorded(divisors: Vector) -> float | Vector:
    return float(divisors[0]) if (divisors == divisors[0]).all() else divisors


def _moments(source: RowSource, divisors: Vector, inside: bool) -> MomentConstants:
    n = source.shape[1]
    first, second = (n * total / source.shape[0] for total in source.reduce(partial(_moment_block, divisors=divisors)))
    C1, c2, C2 = float(first.max()), float(second.min()), float(second.max())
    return MomentConstants(C1, c2, C2, 2.0 * c2 >= C2, _ratio(C1**3, c2**2 * n), inside, _recorded(divisors), n)


def _extent_block(block: Block) -> tuple[Vector, Vector]:
    """Smallest and largest entry of every column."""
    k = block.shape[1]
    lowest, highest = np.full(k, np.inf), np.full(k, -np.inf)
    for a, b in blocks.row_chunks(block):
        x = blocks.to_dense(block[a:b]).astype(np.float64, copy=False)
        lowest, highest = np.minimum(lowest, x.min(axis=0)), np.maximum(highest, x.max(axis=0))
    return lowest, highest


def _merge_extent(a: tuple[Vector, Vector], b: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])


def _gram_block(block: Block, *, divisors: Vector) -> tuple[float, Matrix, bool]:
    """Largest l1 norm of a row, sum of the outer products of rows, whether all entries are 0 or 1."""
    k = block.shape[1]
    largest, gram, binary = 0.0, np.zeros((k, k)), True
    for a, b in blocks.row_chunks(block):
        x = blocks.to_dense(block[a:b]) / divisors
        largest = max(largest, float(np.abs(x).sum(axis=1).max()))
        gram += x.T @ x
        binary = binary and bool(((x == 0.0) | (x == 1.0)).all())
    return largest, gram, binary


def _merge_gram(a: tuple[float, Matrix, bool], b: tuple[float, Matrix, bool]) -> tuple[float, Matrix, bool]:
    return max(a[0], b[0]), a[1] + b[1], a[2] and b[2]


def _moment_block(block: Block, *, divisors: Vector) -> tuple[Vector, Vector]:
    """Sums of the columns, and of their squares."""
    first, second = np.zeros(block.shape[1]), np.zeros(block.shape[1])
    for a, b in blocks.row_chunks(block):
        x = blocks.to_dense(block[a:b]) / divisors
        first += x.sum(axis=0)
        second += np.einsum("ij,ij->j", x, x)
    return first, second


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


def _bound(r: float, k: float, lam: float, D: int, q: float) -> float:
    """Theorem 4's bound on m, which for infinite q is Theorem 1's."""
    if np.isnan(q) or np.isnan(lam) or q == 0.0:
        return 0.0 if q == 0.0 else float("nan")
    with np.errstate(over="ignore", under="ignore"):
        power = np.float64(lam) ** (4.0 + 4.0 / q) / np.float64(r) ** (5.0 + 6.0 / (q + 1.0))
        return float(k * np.float64(D) ** (1.0 - 1.0 / q) * power)


# components by a basis of the truth


@dataclass(frozen=True, eq=False)
class _Basis:
    """An orthonormal basis of the span of the truth: ``truth.T = Q @ R @ diag(2**exponents)``."""

    Q: Matrix
    R: Matrix
    exponents: NDArray[np.int_]

    @classmethod
    def of(cls, T: Matrix) -> _Basis | None:
        """Return the basis, or ``None`` if components are dependent to rounding."""
        if len(T) > T.shape[1]:
            return None
        scaled, exponents = scale_rows(T)
        Q, R = np.linalg.qr(scaled.T)
        singular = np.linalg.svd(R, compute_uv=False)
        if singular[-1] <= max(T.shape) * EPS * singular[0]:
            return None
        return cls(Q, R, exponents)

    def coordinates(self, C: Matrix) -> Matrix:
        return np.asarray(C @ self.Q)

    def cosines(self, B: Matrix, C: Matrix) -> Matrix:
        """Cosines of the true components, one a row, with components; 0 for one of zeros."""
        largest = np.abs(C).max(axis=1)
        safe = np.where(largest > 0.0, largest, 1.0)[:, None]
        lengths = np.linalg.norm(C / safe, axis=1)
        unit = B / safe / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        return np.asarray((self.R / np.linalg.norm(self.R, axis=0)).T @ unit.T)

    def solve(self, B: Matrix) -> Matrix:
        """``Sigma + E``: column i has the coefficients of component i."""
        return np.ldexp(solve_triangular(self.R, B.T, check_finite=False), -self.exponents[:, None])

    def scales(self, M: Matrix, absolute: bool) -> Vector:
        """Diagonal of ``M``; 1 where it is zero, to the rounding of the column, or negative unless ``absolute``."""
        sigma = np.diag(M)
        sizes = np.abs(np.ldexp(M, self.exponents[:, None]))  # true components taken as of the same size
        usable = np.diag(sizes) > len(M) * EPS * sizes.max(axis=0)
        return np.where(usable & ((sigma > 0.0) | absolute), sigma, 1.0)

    def outside(self, C: Matrix, B: Matrix) -> Matrix:
        """What of the components is outside the span, from the residual itself."""
        return C - B @ self.Q.T


def _parted(M: Matrix, N: Matrix, scales: Vector) -> tuple[Vector, Matrix, Matrix]:
    """Return sigma, E and N of the components divided by ``scales``."""
    with np.errstate(over="ignore"):
        sigma, E, N = np.diag(M) / scales, M / scales, N / scales[:, None]
    np.fill_diagonal(E, 0.0)
    return sigma, E, N


def _norms(E: Matrix) -> dict[str, float]:
    """Return the spectral norm of E, its symmetrised norm, and that of its two parts (equation 6)."""
    return {
        "E_2": _spectral(E),
        "E_s": _symmetrised(np.abs(E)),
        "E_plus": _symmetrised(np.maximum(E, 0.0)),
        "E_minus": _symmetrised(np.maximum(-E, 0.0)),
    }


def _symmetrised(magnitudes: Matrix) -> float:
    return float(max(magnitudes.sum(axis=0).max(), magnitudes.sum(axis=1).max()))


def _spectral(M: Matrix) -> float:
    """Return the largest singular value, by the small Gram matrix: of the largest, squares lose no digits."""
    largest = float(np.abs(M).max())
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    shrunk = M / largest
    return largest * float(np.sqrt(np.linalg.eigvalsh(shrunk @ shrunk.T)[-1]))


# numbers and words


def _ratio(a: float, b: float) -> float:
    """``a / b``, infinite where only b is zero, NaN where both are."""
    if b == 0.0:
        return float("nan") if a == 0.0 or np.isnan(a) else float(np.copysign(np.inf, a))
    return a / b


def _table(title: str, rows: Sequence[tuple[str, float | bool | str]]) -> str:
    lines = [f"{name:<13} {value:.4g}" if type(value) is float else f"{name:<13} {value}" for name, value in rows]
    return "\n".join([title, *lines])
