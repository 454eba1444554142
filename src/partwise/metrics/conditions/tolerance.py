"""The noise that Purification's theorems allow (Li, Liang & Risteski 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.linalg.inverse import left_inverse
from partwise.metrics.checks import as_components, open_matrix
from partwise.metrics.conditions.moments import MomentConstants, moments_of
from partwise.metrics.conditions.table import Condition, ConditionTable
from partwise.metrics.conditions.weights import column_divisors, ratio


@dataclass(frozen=True, eq=False, repr=False)
class NoiseTolerance(ConditionTable):
    """The noise levels C_nu of Purification's theorems.

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
    |A+|_inf                                 1
    Theorem 1 (adversarial, binary)       0.25
    Theorem 2 (unbiased, binary)        0.3536
    Theorem 6 (adversarial)                nan
    Theorem 7 (unbiased)                   nan
    |N(0)|_inf (start, Theorem 6)          nan
    unit                                     1
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

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The levels; nothing is asked of them."""
        levels = {
            "|A+|_inf": self.inverse_norm,
            "Theorem 1 (adversarial, binary)": self.theorem_1,
            "Theorem 2 (unbiased, binary)": self.theorem_2,
            "Theorem 6 (adversarial)": self.theorem_6,
            "Theorem 7 (unbiased)": self.theorem_7,
            "|N(0)|_inf (start, Theorem 6)": self.start,
            "unit": self.unit,
        }
        return tuple(Condition.quantity(*pair) for pair in levels.items())


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
        raise InputError(f"c={c!r} must be between 0 and 1.", parameter="c")
    T = as_components("truth", truth)
    empty = np.flatnonzero(~T.any(axis=1))
    if empty.size:
        raise InputError(
            f"truth has only zeros in row {empty[0]}: its components must be linearly independent.", parameter="truth"
        )
    n, m = T.shape
    sums = np.abs(T).sum(axis=1) if normalize else np.ones(n)
    inverse_norm = float(np.abs(np.asarray(left_inverse(T / sums[:, None], norm="inf"))).sum(axis=0).max())
    largest = max(float(m), n * inverse_norm)
    moments, unit = None, 1.0
    theorem_6 = theorem_7 = start = float("nan")
    if W is not None:
        source = open_matrix("W", W)
        if source.shape[1] != n:
            raise InputError(f"W has {source.shape[1]} components and truth has {n}.", parameter="W")
        divisors, inside = column_divisors(source, None, sums)
        moments = moments_of(source, divisors, inside)
        unit = float(divisors[0] * sums[0])
        C1, c2 = moments.C1, moments.c2
        theorem_6 = G * c * min(ratio(c2**2, C1**2 * m), ratio(c2**4, C1**5 * n * inverse_norm))
        theorem_7 = G * np.sqrt(c * n) * ratio(c2, C1 * largest)
        start = G * c * ratio(c2**2, C1**3 * inverse_norm)
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
