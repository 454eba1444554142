"""The constants of the Dominant NMF model: what Theorem 1 asks of them, and Theorem 2, identifiability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.metrics.conditions.features import DominantFeatures, dominant_features
from partwise.metrics.conditions.normalization import check_shares
from partwise.metrics.conditions.table import Condition, ConditionTable


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DominantConstants(ConditionTable):
    r"""The constants of the model, and the inequalities between them that Theorem 1 assumes [1]_.

    .. math:: \varepsilon < \varepsilon_0/20, \quad \beta + \rho \le (1 - 5 \varepsilon) \alpha, \quad
              \varepsilon_4 \le \alpha \gamma \varepsilon / 2,\ \varepsilon_0 w_0 p_0 / (16 k^3),\ \varepsilon_0^2/4

    Parameters
    ----------
    n_components : int
        The paper's k.
    rho, gamma, p0 : float
        Ratio, smallest entry and mass of the dominant features of D1.
    alpha, beta, w0 : float
        The bounds on weights, and the size of the sets, of D2.
    eps0, eps4 : float
        The size of the sets of D3, and what is pure in them.
    eps : float, optional
        By default nearly the largest that the first two inequalities allow, as the third is easiest with it.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Section 4.

    Examples
    --------
    >>> from partwise.metrics import DominantConstants
    >>> DominantConstants(
    ...     n_components=2, rho=0.1, gamma=0.1, p0=0.5, alpha=0.9, beta=0.05, w0=0.5, eps0=0.4, eps4=8e-4
    ... )
    DominantConstants:
    eps           0.01998 <  0.02       holds
    beta + rho       0.15 <= 0.8101     holds
    eps4 (1)       0.0008 <= 0.0008991  holds
    eps4 (2)       0.0008 <= 0.0007813  fails
    eps4 (3)       0.0008 <= 0.04       holds
    """

    n_components: int
    rho: float
    gamma: float
    p0: float
    alpha: float
    beta: float
    w0: float
    eps0: float
    eps4: float
    eps: float | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        given.pop("n_components")
        check_shares(**given)

    @property
    def epsilon(self) -> float:
        """``eps``, or what is taken for it."""
        if self.eps is not None:
            return self.eps
        room = 1.0 - (self.beta + self.rho) / self.alpha if self.alpha > 0.0 else 0.0
        return max(0.0, min(0.999 * self.eps0 / 20.0, room / 5.0))

    @property
    def nu(self) -> float:
        """``(1 - alpha eps) / (beta + rho + 2 alpha eps)``, which step 4 of TSVDNMF uses."""
        share = self.alpha * self.epsilon
        below = self.beta + self.rho + 2.0 * share
        return (1.0 - share) / below if below > 0.0 else float("inf")

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The inequalities; there are three on eps4."""
        eps, smallest = self.epsilon, self.eps0 * self.w0 * self.p0
        return (
            Condition.check("eps", "<", self.eps0 / 20.0, eps),
            Condition.check("beta + rho", "<=", (1.0 - 5.0 * eps) * self.alpha, self.beta + self.rho),
            Condition.check("eps4 (1)", "<=", self.alpha * self.gamma * eps / 2.0, self.eps4),
            Condition.check("eps4 (2)", "<=", smallest / (16.0 * self.n_components**3), self.eps4),
            Condition.check("eps4 (3)", "<=", self.eps0**2 / 4.0, self.eps4),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Identifiability(ConditionTable):
    """The conditions of Theorem 2, and what follows from them.

    Attributes
    ----------
    n_components : int
        The paper's k.
    p0, p1 : float
        The least mass of a component on its dominant features, and the most of another on them.
    eps4 : float
        The constant of D3.
    delta : float
        The distance of two factorizations, of equation 4.
    """

    n_components: int
    p0: float
    p1: float
    eps4: float
    delta: float

    @property
    def delta_prime(self) -> float:
        """``2 eps4 + 6 delta``."""
        return 2.0 * self.eps4 + 6.0 * self.delta

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """``(p0 - delta')**2 > 4 k (p1 + delta')`` and ``2 delta' < p0 - p1``."""
        d = self.delta_prime
        return (
            Condition.check("Theorem 2 (a)", ">", 4.0 * self.n_components * (self.p1 + d), (self.p0 - d) ** 2),
            Condition.check("Theorem 2 (b)", "<", self.p0 - self.p1, 2.0 * d),
        )

    @property
    def bound(self) -> float:
        """Theorem 2's bound on the l1 distance of a component from that of another factorization; else infinite."""
        d = self.delta_prime
        return 2.0 * d + 4.0 * self.n_components * (self.p1 + d) / (self.p0 - d) if self.holds else float("inf")

    @property
    def largest_delta(self) -> float:
        """The conditions hold for every delta below this; if it is not positive, for none."""
        p0, p1, k = self.p0, self.p1, self.n_components
        # the smaller root of (p0 - d)**2 = 4 k (p1 + d), without cancellation
        root = (p0**2 - 4.0 * k * p1) / (p0 + 2.0 * k + 2.0 * np.sqrt(k * (k + p0 + p1)))
        return float(min(root, (p0 - p1) / 2.0) - 2.0 * self.eps4) / 6.0


def identifiability(
    H: Any, *, rho: float = 0.05, gamma: float = 0.0, eps4: float = 0.05, delta: float = 0.0
) -> Identifiability:
    r"""Whether components are the only ones, nearly: the conditions of Theorem 2 [1]_.

    Suppose that D1 and D3 hold, and that B', C' explain the pure records in the mean as well as B, C do:
    :math:`\| \sum_{j \in P_l} (BC - B'C')_{\cdot,j} \|_1 \le \delta \sum_{j \in P_l} \|C_{\cdot,j}\|_1` for all l
    (the paper has :math:`R_l` on the left, taken here for the same set). If, with
    :math:`\delta' = 2 \varepsilon_4 + 6 \delta`,

    .. math:: (p_0 - \delta')^2 > 4k (p_1 + \delta') \quad \text{(a)}, \qquad 2 \delta' < p_0 - p_1 \quad \text{(b)},

    then, up to order and scale of the columns of B',
    :math:`\|B_{\cdot,j} - B'_{\cdot,j}\|_1 \le 2 \delta' + 4k (p_1 + \delta')/(p_0 - \delta')`.
    D3 itself is a matter of the weights: see `pure_records`. What p1 is, see `dominant_features`.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features) or fitted estimator
        Components, in any scale.
    rho, gamma : float, default=0.05, 0.0
        The constants of D1, which choose the dominant features: with fewer of them p0 and p1 are smaller.
    eps4 : float, default=0.05
        What is pure in D3.
    delta : float, default=0.0
        The distance of the factorizations.

    Returns
    -------
    Identifiability
        The conditions, the bound, and the largest delta.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Theorem 2, equation 4.

    Examples
    --------
    >>> from partwise.metrics import identifiability
    >>> found = identifiability([[9, 0, 1], [0, 9, 1]], eps4=0.01)
    >>> found.holds, round(found.bound, 4), round(found.largest_delta, 4)
    (True, 0.2218, 0.0106)
    """
    return theorem_2(dominant_features(H, rho=rho, gamma=gamma), eps4, delta)


def theorem_2(features: DominantFeatures, eps4: float, delta: float) -> Identifiability:
    check_shares(eps4=eps4)
    if not 0.0 <= delta < np.inf:
        raise InputError(f"delta={delta!r} is a distance: give a finite number >= 0.", parameter="delta")
    return Identifiability(len(features.masses), features.p0, features.p1, eps4, delta)
