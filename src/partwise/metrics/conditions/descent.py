"""What AND's theorems and lemmas say of a run: threshold, decoding, update and noise (Li & Liang 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.metrics.checks import Matrix, as_components
from partwise.metrics.conditions.basis import Basis, spectral
from partwise.metrics.conditions.start import initialization
from partwise.metrics.conditions.table import Condition, ConditionTable

BINARY_THRESHOLD = 0.25  # Theorem 1: 1/4 in all stages, where weights are 0 or 1


def decoding_threshold(E_2: float, *, r: float, lam: float, q: float) -> float:
    r"""The threshold of a stage by the rule after Theorem 4 [1]_, :math:`\alpha = (\lambda \|E_0\|_2 / r)^{2/(q+1)}`.

    The rule has no constant, as in the paper. As q grows it tends to 1, the largest weight, which leaves nothing; for
    infinite q (weights of 0 and 1) the result is Theorem 1's 1/4.

    Parameters
    ----------
    E_2 : float
        Spectral norm of the error at the beginning of the stage, such as ``initialization(H, truth).E_2``.
    r, lam : float
        Of the general correlation conditions, such as those of `correlation_conditions`.
    q : float
        Order of decay (Definition 3), at least 1 in the theorem.

    Returns
    -------
    float
        The threshold.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong
       Correlations", ICML 2017, Section 6.1.

    Examples
    --------
    >>> from partwise.metrics import decoding_threshold
    >>> decoding_threshold(0.5, r=4.0, lam=0.8, q=1.0), decoding_threshold(0.5, r=4.0, lam=0.8, q=3.0)
    (0.1, 0.31622776601683794)
    """
    _check_sizes(E_2=E_2, r=r, lam=lam, q=q)
    if not r:
        raise InputError(f"r={r!r} must be above 0.", parameter="r")
    if q == np.inf:
        return BINARY_THRESHOLD
    return float((lam * E_2 / r) ** (2.0 / (q + 1.0)))


def _check_sizes(**values: Any) -> None:
    for name, value in values.items():
        if not (isinstance(value, Real) and float(value) >= 0.0):
            raise InputError(f"{name}={value!r} must be a number of at least 0.", parameter=name)


def noise_error_bound(truth: Any, *, gamma: float, r: float, lam: float) -> float:
    r"""Theorem 5's error under noise [1]_, :math:`r \, \sigma_{max}(A^*) \gamma / (\sigma_{min}(A^*) \lambda)`.

    The theorem is for weights of 0 and 1 and noise :math:`\gamma N(0, I/W)`, and says that
    :math:`\|A - A^* \Sigma\|_2` is at most an unnamed constant times this (and what further iterations take away).
    :func:`spectral_error` measures the left side.

    Parameters
    ----------
    truth : array-like of shape (n_components, n_features)
        The true components.
    gamma : float
        The noise in a sample, its Euclidean norm.
    r, lam : float
        Of the general correlation conditions.

    Returns
    -------
    float
        The bound; infinite if the components are dependent or ``lam`` is 0.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong
       Correlations", ICML 2017, Theorem 5.

    Examples
    --------
    >>> from partwise.metrics import noise_error_bound
    >>> noise_error_bound([[2, 0, 0], [0, 1, 0]], gamma=0.1, r=2.0, lam=0.5)
    0.8
    """
    _check_sizes(gamma=gamma, r=r, lam=lam)
    T = as_components("truth", truth)
    if Basis.of(T) is None or not lam:
        return float("inf")
    singular = np.linalg.svd(T, compute_uv=False)
    return float(r * singular[0] * gamma / (singular[-1] * lam))


def spectral_error(H: Any, truth: Any) -> float:
    r"""The left side of AND's theorems, :math:`\|A - A^* \Sigma\|_2` with a diagonal :math:`\Sigma \succeq I/2`.

    Components are matched with the true ones and keep their scale; Sigma is how much of the true one is in each, as in
    `initialization`, but at least 1/2, as the theorems have it: zeros are not near the truth.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features)
        Components, one a row, in any order.
    truth : array-like of shape (n_components, n_features)
        The true ones, linearly independent.

    Returns
    -------
    float
        The error, in the unit of ``H``.

    Examples
    --------
    >>> from partwise.metrics import spectral_error
    >>> spectral_error([[0, 3, 0], [2, 0, 0.5]], [[1, 0, 0], [0, 1, 0]])
    0.5
    """
    found = initialization(H, truth, rescale=False)
    short = np.minimum(found.sigma - 0.5, 0.0)
    return spectral((found.E + np.diag(short)).T @ as_components("truth", truth) + found.N)


@dataclass(frozen=True, eq=False, repr=False)
class DecodingErrors(ConditionTable):
    """How far decoded weights are from the true ones, in the two ways of AND's Lemma 2.

    Matrices are in the paper's orientation, ``A(0) = A* (Sigma0 + E0)``.

    Attributes
    ----------
    first, second : float
        Spectral norms of ``E[Sigma x x'] - E[z x']`` and of ``E[Sigma x z'] - E[z z']``.
    first_linear, second_linear : float
        The same without a threshold.
    E_2 : float
        Spectral norm of the off-diagonal part of ``(Sigma0 + E0)^-1``.
    sigma : ndarray of shape (n_components,)
        Its diagonal, Sigma.
    delta : ndarray of shape (n_components, n_components)
        Second moments of the weights, ``E[x x']``.
    zx, zz : ndarray of shape (n_components, n_components)
        ``E[z x']`` and ``E[z z']``, with the threshold.

    Examples
    --------
    >>> from partwise.metrics import decoding_errors
    >>> print(decoding_errors([[1, 0], [0, 1]], [[1, 0.1], [0.1, 1]], [[1, 0], [0, 1]], alpha=0.25))
    first            0
    second           0
    without    0.05051
    |E|_2        0.101
    """

    first: float
    second: float
    first_linear: float
    second_linear: float
    E_2: float
    sigma: Matrix
    delta: Matrix
    zx: Matrix
    zz: Matrix

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The errors."""
        found = {"first": self.first, "second": self.second, "without": self.first_linear, "|E|_2": self.E_2}
        return tuple(Condition.quantity(*pair) for pair in found.items())

    @property
    def curvature(self) -> Matrix:
        """Lambda of Lemma 3, ``Sigma Delta Sigma``."""
        return np.asarray(self.sigma[:, None] * self.delta * self.sigma)

    def remainder(self, M: Matrix) -> Matrix:
        """R_t of the proof at ``A(t) = A* M``: what the update is off from that of weights ``Sigma x``.

        Parameters
        ----------
        M : ndarray of shape (n_components, n_components)
            ``Sigma_t + E_t``.

        Returns
        -------
        ndarray of shape (n_components, n_components)
            ``(E[x z'] - Delta Sigma) - M (E[z z'] - Sigma Delta Sigma)``.
        """
        return np.asarray(self.zx.T - self.delta * self.sigma - M @ (self.zz - self.curvature))


def decoding_errors(W: Any, H: Any, truth: Any, *, alpha: float) -> DecodingErrors:
    r"""Lemma 2 of AND [1]_, measured: what thresholding the decoded weights is worth.

    With the components :math:`A^{(0)} = A^*(\Sigma_0 + E_0)` a sample of weights x is decoded as
    :math:`z = \varphi_\alpha((\Sigma_0 + E_0)^{-1} x)`. With :math:`\Sigma` and :math:`E` the diagonal and the rest of
    that inverse the lemma says that, for a good threshold,
    :math:`E[\Sigma x x^\top] \approx E[z x^\top]` and :math:`E[\Sigma x z^\top] \approx E[z z^\top]`.

    Parameters
    ----------
    W : array-like of shape (n_samples, n_components)
        The true weights.
    H : array-like of shape (n_components, n_features)
        Components, in the order and the scale of the truth. What is outside the span of the truth plays no part.
    truth : array-like of shape (n_components, n_features)
        The true ones, linearly independent.
    alpha : float
        The threshold.

    Returns
    -------
    DecodingErrors
        The errors, with and without the threshold, and the moments they are from.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong
       Correlations", ICML 2017, Lemma 2.

    Examples
    --------
    >>> from partwise.metrics import decoding_errors
    >>> found = decoding_errors([[1, 0], [0, 1]], [[1, 0.1], [0.1, 1]], [[1, 0], [0, 1]], alpha=0.25)
    >>> bool(found.first < 1e-15 < found.first_linear)
    True
    """
    start = initialization(H, truth, rescale=False, match=False)
    x = as_components("W", W)
    if x.shape[1] != len(start.sigma):
        raise InputError(f"W has {x.shape[1]} columns for {len(start.sigma)} components.", parameter="W")
    if np.isnan(alpha):
        raise InputError("alpha is NaN: give a number.", parameter="alpha")
    inverse = start.inverse
    sigma, E = inverse.diagonal(), inverse - np.diag(inverse.diagonal())
    linear = x @ inverse.T
    z = np.where(linear >= alpha, linear, 0.0)
    delta, zx, zz = (a.T @ b / len(x) for a, b in ((x, x), (z, x), (z, z)))
    return DecodingErrors(
        first=spectral(sigma[:, None] * delta - zx),
        second=spectral(sigma[:, None] * zx.T - zz),
        first_linear=spectral(E @ delta),
        second_linear=spectral(E @ delta @ inverse.T),
        E_2=spectral(E),
        sigma=sigma,
        delta=delta,
        zx=zx,
        zz=zz,
    )


def update_bound(distance: float, curvature: Any, *, eta: float, steps: int, error: float = 0.0) -> float:
    r"""Lemma 3 of AND [1]_: how far gradient steps can be from their goal.

    The steps :math:`M_{t+1} = M_t (I - \eta\Lambda) + \eta Q \Lambda + \eta R_t` with :math:`\|R_t\|_2 \le C''` have

    .. math:: \|M_t - Q\|_2 \le \|M_0 - Q\|_2 (1 - \eta\lambda_{min}(\Lambda))^t + C'' / \lambda_{min}(\Lambda).

    Needed, though the informal lemma does not say so: :math:`\eta\lambda_{max}(\Lambda) \le 1`.

    Parameters
    ----------
    distance : float
        :math:`\|M_0 - Q\|_2`.
    curvature : array-like of shape (n, n)
        Lambda, symmetric and semi-definite.
    eta : float
        The step.
    steps : int
        Their number, t.
    error : float, default=0.0
        C''.

    Returns
    -------
    float
        The bound; infinite where Lambda is singular and there is an error.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong
       Correlations", ICML 2017, Lemma 3.

    Examples
    --------
    >>> from partwise.metrics import update_bound
    >>> update_bound(1.0, [[0.5, 0.0], [0.0, 1.0]], eta=1.0, steps=3, error=0.1)
    0.325
    """
    L = as_components("curvature", curvature)
    slack = 1e-12 * np.abs(L).max()
    values = np.linalg.eigvalsh(L) if L.shape[0] == L.shape[1] and np.abs(L - L.T).max() <= slack else None
    if values is None or values[0] < -slack:
        raise InputError("curvature must be symmetric and have no negative eigenvalue.", parameter="curvature")
    if not (eta > 0.0 and eta * values[-1] <= 1.0 + 1e-12):
        raise InputError(f"eta={eta!r} must be above 0, and at most 1 over {values[-1]:g}.", parameter="eta")
    if not steps >= 0:
        raise InputError(f"steps={steps!r} must be at least 0.", parameter="steps")
    least = max(float(values[0]), 0.0)
    rest = (error / least if least else float("inf")) if error else 0.0
    return float(distance * (1.0 - eta * least) ** steps + rest)
