"""How far components are from the truth in the terms of the proofs of AND and Purification, and which are a start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from partwise.exceptions import InputError
from partwise.metrics.checks import Matrix, Vector, as_components
from partwise.metrics.conditions.basis import Basis, norms, order_of, outside_norms
from partwise.metrics.conditions.table import SLACK, Condition, ConditionTable
from partwise.metrics.recovery import match_components, total_correlation_error
from partwise.sources.passes import single_blas_thread


@dataclass(frozen=True, eq=False, repr=False)
class Initialization(ConditionTable):
    """Components written by the true ones, ``A = A* (Sigma + E) + N``.

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
    E_1 : float
        Column norm of E, the largest sum of magnitudes of a component: what Purification's theorems conclude on.
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
    N_1 : float
        Column norm of the papers' N, the largest sum of magnitudes of a component.
    N_inf : float
        Row norm of the papers' N, the largest sum of magnitudes at a feature, which Theorem 6 bounds in a start.
    level : float
        The l that was asked for.
    rho : float or None
        The rho that was asked for (AND's Definition 4).

    Examples
    --------
    >>> from partwise.metrics import initialization
    >>> print(initialization([[0.1, 2.0], [4.0, 0.2]], [[1, 0], [0, 1]]))
    |Sigma - I|_2           0
    |E|_2                0.05
    |E|_1                0.05
    |E|_s                0.05
    |E+|_s               0.05
    |E-|_s                  0
    |N|_2                   0
    |N|_1                   0
    |N|_inf                 0
    AND l                0.05 <= 0.1        holds
    Purification l       0.05 <= 0.1        holds
    """

    sigma: Vector
    E: Matrix
    N: Matrix
    permutation: NDArray[np.int_]
    scales: Vector
    E_2: float
    E_1: float
    E_s: float
    E_plus: float
    E_minus: float
    sigma_2: float
    N_2: float
    N_1: float
    N_inf: float
    level: float
    rho: float | None = None

    @property
    def inverse(self) -> Matrix:
        """``(Sigma + E)^-1``, from true to decoded weights."""
        try:
            return np.asarray(np.linalg.inv(np.diag(self.sigma) + self.E), np.float64)
        except np.linalg.LinAlgError:
            raise InputError("H: Sigma + E is singular, the components decode nothing.", parameter="H") from None

    @property
    def and_level(self) -> float:
        """The smallest l of AND's sense, ``E_2`` if ``sigma_2 <= 1/4``, else infinity."""
        return self.E_2 if self.sigma_2 <= 0.25 else float("inf")

    @property
    def purification_level(self) -> float:
        """The smallest l of Purification's sense, the larger of ``E_s`` and ``1 - min(sigma)``."""
        return max(self.E_s, 1.0 - float(self.sigma.min()))

    @property
    def satisfies_and(self) -> bool:
        """Whether this is an l-initialization by AND's Definition 2, N apart; with a rho an (l, rho)-initialization."""
        return self.and_level <= self.level and (self.rho is None or self.rho >= self.N_2)

    @property
    def satisfies_purification(self) -> bool:
        """Whether Purification's (A3) holds with l, to rounding; it says nothing on N: Theorem 6 bounds ``N_inf``."""
        return self.purification_level <= self.level + SLACK

    @property
    def satisfies_balancing(self) -> bool:
        """Whether it may be balanced (Section 6): (A3), Sigma at most 1 + l, and E nowhere negative, to rounding."""
        bounded = float(self.sigma.max()) <= 1.0 + self.level + SLACK
        return self.satisfies_purification and bounded and bool(self.E.min() >= -SLACK)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The norms, and the smallest l of either sense against the one asked for."""
        sizes = {"|Sigma - I|_2": self.sigma_2, "|E|_2": self.E_2, "|E|_1": self.E_1, "|E|_s": self.E_s}
        sizes |= {"|E+|_s": self.E_plus, "|E-|_s": self.E_minus}
        sizes |= {"|N|_2": self.N_2, "|N|_1": self.N_1, "|N|_inf": self.N_inf}
        return (
            *(Condition.quantity(*pair) for pair in sizes.items()),
            Condition("AND l", "<=", self.level, self.and_level, self.and_level <= self.level),
            *(() if self.rho is None else (Condition("AND rho", "<=", self.rho, self.N_2, self.rho >= self.N_2),)),
            Condition("Purification l", "<=", self.level, self.purification_level, self.satisfies_purification),
        )


def initialization(
    H: Any,
    truth: Any,
    *,
    level: float = 0.1,
    rho: float | None = None,
    rescale: bool = True,
    absolute: bool = False,
    match: bool = True,
) -> Initialization:
    r"""Write components by the true ones, and say whether they are a start that the theorems allow [1]_, [2]_.

    Components are matched to the true ones, then :math:`A = A^* (\Sigma + E) + N` is solved by least squares:
    Sigma diagonal, E off-diagonal and N outside the span of the truth. An l-initialization has

    - in AND (Definition 2) :math:`\|E\|_2 \le l` and :math:`\|\Sigma - I\|_2 \le 1/4`, an (l, rho)-initialization
      (Definition 4) :math:`\|N\|_2 \le \rho` too,
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
    rho : float, optional
        The rho to be tested; Theorem 5 asks for one of the order of the least singular value of the truth. By default
        nothing is asked of N.
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
        raise InputError(
            f"H has {len(C)} components and truth has {len(T)}: a start has one for each true one.", parameter="H"
        )
    basis = Basis.of(T)
    if basis is None:
        raise InputError(
            "truth has linearly dependent components: then E is not determined (assumption A1).", parameter="truth"
        )
    permutation = found.permutation if match else np.arange(len(T))
    sigma, scales, E, N = basis.parts(*basis.coordinates(C[permutation]), rescale=rescale, absolute=absolute)
    sigma = sigma / scales
    return Initialization(
        sigma=sigma,
        E=E,
        N=N,
        permutation=permutation,
        scales=scales,
        sigma_2=float(np.abs(sigma - 1.0).max()),
        level=level,
        rho=rho,
        **norms(E),
        **outside_norms(N),
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
    >>> found = measures([[4, 2, 0], [0, 2, 1]])
    >>> {name: found[name] for name in ("E_s", "E_plus", "E_minus", "sigma_min", "N_1")}
    {'E_s': 0.5, 'E_plus': 0.5, 'E_minus': 0.0, 'sigma_min': 2.0, 'N_1': 0.5}
    """

    names = ("error", "E_2", "E_1", "E_s", "E_plus", "E_minus", "sigma_min", "N_2", "N_1", "N_inf")

    def __init__(self, truth: Any, *, rescale: bool = True) -> None:
        T = as_components("truth", truth)
        self.shape = T.shape
        self.rescale = rescale
        self._basis = Basis.of(T)

    def __call__(self, H: npt.ArrayLike) -> dict[str, float]:
        """Measure ``H``; see `recovery_measures`."""
        C = np.asarray(H, np.float64)
        if C.ndim != 2 or C.shape[1] != self.shape[1]:
            raise InputError(f"H has shape {C.shape}: the truth has {self.shape[1]} features.", parameter="H")
        if self._basis is None or len(C) != self.shape[0] or not np.isfinite(C).all():
            return dict.fromkeys(self.names, float("nan"))
        with single_blas_thread():  # products this small are slower with more, and other bits
            return self._measure(C, self._basis)

    def _measure(self, C: Matrix, basis: Basis) -> dict[str, float]:
        B, N = basis.coordinates(C)
        flat = basis.flat(B, N)
        order, error = order_of(*flat), total_correlation_error(*flat)
        sigma, _, E, N = basis.parts(B[order], N[order], rescale=self.rescale)
        return {"error": error, **norms(E), "sigma_min": float(sigma.min()), **outside_norms(N)}


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
        "error" (that of `total_correlation_error`), "E_2" (spectral norm of E), "E_1" (largest sum of magnitudes of a
        component), "E_s" (symmetrised norm), "E_plus" and "E_minus" (that of the positive and negative part),
        "sigma_min" (smallest entry of Sigma, before rescaling), "N_2" (spectral norm of N), "N_1" (its largest sum of a
        component) and "N_inf" (of a feature).
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
