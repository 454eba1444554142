"""The induction in the proof of Purification's theorems: the coupled potential, its claims and recurrences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.metrics.checks import Matrix, as_components
from partwise.metrics.conditions.basis import Basis, norms, order_of, outside_norms
from partwise.metrics.conditions.start import Initialization
from partwise.metrics.conditions.table import Condition, ConditionTable
from partwise.metrics.conditions.update import lemma_constants
from partwise.sources.passes import single_blas_thread

# The recurrences make a_t + beta b_t fall by 1 - eta / 25 if 7 + beta (1 - 24) / 25 <= 0 and beta / 100 <= 2 / 25: the
# paper's "some beta in (1, 8)" is one of [175 / 23, 8].
BETA = 7.8
NAN = float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class Induction(ConditionTable):
    """The three claims of the induction after an iteration, and how far the recurrences hold.

    Attributes
    ----------
    a, b : float
        The potentials before it: symmetrised norms of the positive and negative part of E.
    next_a, next_b : float
        Those after it.
    sigma_min, E_s, N_s : float
        The smallest entry of Sigma and the symmetrised norms of E and N after it.
    step : float
        The paper's eta.
    level, c : float
        The theorem's l and c.
    beta : float
        The weight of b.
    """

    a: float
    b: float
    next_a: float
    next_b: float
    sigma_min: float
    E_s: float
    N_s: float
    step: float
    level: float
    c: float
    beta: float = BETA

    @property
    def potential(self) -> float:
        """The coupled potential ``a + beta b`` before the iteration."""
        return self.a + self.beta * self.b

    @property
    def next_potential(self) -> float:
        """The coupled potential after it."""
        return self.next_a + self.beta * self.next_b

    @property
    def h(self) -> float:
        """The least h of the three: below zero all fall faster than the proof says."""
        return max(self.h_a, self.h_b, self.h_potential)

    @property
    def h_a(self) -> float:
        """The least h with ``a' <= (1 - 3/25 eta) a + 7 eta b + eta h``."""
        return (self.next_a - self.a) / self.step + 3.0 / 25.0 * self.a - 7.0 * self.b

    @property
    def h_b(self) -> float:
        """The least h with ``b' <= (1 - 24/25 eta) b + 1/100 eta a + eta h``."""
        return (self.next_b - self.b) / self.step + 24.0 / 25.0 * self.b - self.a / 100.0

    @property
    def h_potential(self) -> float:
        """The least h with ``a' + beta b' <= (1 - 1/25 eta) (a + beta b) + eta h``."""
        return (self.next_potential - self.potential) / self.step + self.potential / 25.0

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The claims, and the least h, which the paper calls "some small value"."""
        return (
            Condition.check("(1) Sigma", ">=", 1.0 - self.level, self.sigma_min),
            Condition.check("(2) |E|_s", "<=", 1.0 / 8.0, self.E_s),
            Condition.bounded("(2) h of a + beta b", max(self.h_potential, 0.0)),
            Condition.check("(3) |N|_s", "<=", self.c / 10.0, self.N_s),
            Condition.bounded("h of a", max(self.h_a, 0.0)),
            Condition.bounded("h of b", max(self.h_b, 0.0)),
        )


def induction(
    before: Initialization, after: Initialization, *, step: float, c: float = 1.0, beta: float = BETA
) -> Induction:
    r"""Return the claims of the induction on one iteration, and its recurrences [1]_.

    With :math:`a_t = \|E_+^{(t)}\|_s`, :math:`b_t = \|E_-^{(t)}\|_s` and the coupled potential :math:`a_t + \beta b_t`:
    (1) :math:`\Sigma^{(t)} \succeq (1 - l) I`; (2) :math:`\|E^{(t)}\|_s \le 1/8` and
    :math:`a_t + \beta b_t \le (1 - \eta/25) (a_{t-1} + \beta b_{t-1}) + \eta h`; (3) :math:`\|N^{(t)}\|_s \le c/10`.

    Parameters
    ----------
    before, after : Initialization
        Sigma, E and N before and after an iteration, not rescaled; l is the level of `after`.
    step : float
        The paper's eta; its proof takes l/6.
    c : float, default=1.0
        The theorem's c.
    beta : float, default=7.8
        In [175/23, 8] the recurrences of a and b imply that of the potential.

    Returns
    -------
    Induction
        The claims.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery Guarantee of Non-negative Matrix Factorization via Alternating
       Updates", NIPS 2016, Section 5.2, "Induction by iterations".

    Examples
    --------
    >>> from partwise.metrics import induction, initialization
    >>> before, after = (initialization([[1, e], [0, 1]], [[1, 0], [0, 1]], rescale=False) for e in (0.1, 0.05))
    >>> found = induction(before, after, step=0.5)
    >>> round(found.potential, 12), round(found.next_potential, 12), found.h < 0
    (0.1, 0.05, True)
    """
    if not step > 0.0:
        raise InputError(f"step={step!r} must be above 0.", parameter="step")
    return Induction(
        before.E_plus,
        before.E_minus,
        after.E_plus,
        after.E_minus,
        float(after.sigma.min()),
        after.E_s,
        max(after.N_1, after.N_inf),
        step,
        after.level,
        c,
        beta,
    )


class ProofMeasures:
    """What one iteration of Purification does in the terms of its proof, for every row of a history.

    A callable, made once from the truth. Components are taken as they are, in the unit of the truth: Sigma is near 1 if
    the truth is that of weights up to 1.

    Parameters
    ----------
    truth : array-like of shape (n_components, n_features)
        The true components. If they are linearly dependent all measures are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.metrics import ProofMeasures
    >>> H = np.array([[1.0, 0.1], [0.0, 1.0]])
    >>> found = ProofMeasures(np.eye(2))(H, np.eye(2), scale=1.0, step=0.5, threshold=0.0)
    >>> round(found["potential"], 12), round(found["h"], 12), found["sigma_update"]
    (0.1, -0.001, 1.0)
    """

    names = ("potential", "h", "sigma_update", "E_update", "N_update", "lemma_3", "lemma_4", "lemma_5")

    def __init__(self, truth: Any) -> None:
        self.truth = as_components("truth", truth)
        self._basis = Basis.of(self.truth)

    def __call__(
        self, H: npt.ArrayLike, update: npt.ArrayLike, *, scale: float, step: float, threshold: float
    ) -> dict[str, float]:
        """Measure the components ``H`` and the step that follows from them.

        Parameters
        ----------
        H : array-like of shape (n_components, n_features)
            The components.
        update : array-like of shape (n_components, n_features)
            ``2 Cov(w, x)`` of their weights.
        scale, step, threshold : float
            The paper's r, eta and alpha.

        Returns
        -------
        dict of str to float
            "potential" (``a_t + beta b_t``), "h" (the least with which the recurrences and the second claim hold in
            this step), "sigma_update", "E_update" and "N_update" (the least entry of Sigma~ and the column norms of
            E~ and N~), "lemma_3" (its largest constant, for c = 1), "lemma_4", and "lemma_5" (times the largest entry
            of the noise).
        """
        C, U = np.asarray(H, np.float64), np.asarray(update, np.float64)
        usable = self._basis is not None and C.shape == U.shape == self.truth.shape
        if not (usable and np.isfinite(C).all() and np.isfinite(U).all() and np.isfinite(scale)):
            return dict.fromkeys(self.names, NAN)
        assert self._basis is not None
        with single_blas_thread():
            coordinates = [self._basis.coordinates(M) for M in (C, C + step * (scale * U - C), U)]
            order = order_of(*self._basis.flat(*coordinates[0]))
            now, moved, parts = (self._parts(B[order], N[order]) for B, N in coordinates)
            try:
                lemmas = lemma_constants(now, parts, threshold=threshold, noise=1.0)
            except InputError:  # Sigma + E is singular: nothing is decoded
                return dict.fromkeys(self.names, NAN)
        found = induction(now, moved, step=step)
        values = (found.potential, found.h, float(parts.sigma.min()), parts.E_1, parts.N_1)
        three = max(lemmas.negative, lemmas.lower, lemmas.upper)
        return dict(zip(self.names, (*values, three, lemmas.diagonal, lemmas.outside), strict=True))

    def _parts(self, B: Matrix, N: Matrix) -> Initialization:
        assert self._basis is not None
        sigma, scales, E, N = self._basis.parts(B, N, rescale=False)
        return Initialization(
            sigma=sigma,
            E=E,
            N=N,
            permutation=np.arange(len(B)),
            scales=scales,
            sigma_2=float(np.abs(sigma - 1.0).max()),
            level=0.1,
            **norms(E),
            **outside_norms(N),
        )
