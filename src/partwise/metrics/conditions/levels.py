"""Lemmas 1 to 4 of the Dominant NMF paper as numbers: how much noise of a kind is heavy noise and no more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partwise.exceptions import InputError
from partwise.metrics.conditions.table import Condition, ConditionTable

ODDS = 1e-6  # probability with which noise at the Gaussian levels may still violate equation 2


@dataclass(frozen=True, eq=False, repr=False)
class NoiseLevels(ConditionTable):
    """How much noise satisfies equation 2, of each kind that Lemmas 1 to 4 are about.

    Attributes
    ----------
    eps : float
        The constant of equation 2.
    gaussian : float
        Lemma 1: standard deviation of independent entries with which it holds, but for a probability of 1e-6.
    covariance : float
        Lemma 2: the spectral norm of the covariance matrices of records with which it holds, as surely.
    draws : float
        Lemma 3: with so many draws a record, or more, it holds for enough records.
    corrupted : float
        Lemma 4: the share of records that may be corrupted, each by an l1 norm of at most 1.
    likelihood : float
        Lemma 1, second part: the standard deviation above which the maximum likelihood estimate of one component is
        further off than eps, in the mean.
    visible : float
        Lemma 1, third part: the standard deviation at which the noise of a record has an l1 norm of 1, in the mean,
        which is that of the record itself.
    """

    eps: float
    gaussian: float
    covariance: float
    draws: float
    corrupted: float
    likelihood: float
    visible: float

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The levels; nothing is asked of them."""
        levels = {
            "Lemma 1 sigma": self.gaussian,
            "Lemma 1 sigma of the MLE": self.likelihood,
            "Lemma 1 sigma, |N_j| = 1": self.visible,
            "Lemma 2 |Sigma|_2": self.covariance,
            "Lemma 3 draws": self.draws,
            "Lemma 4 share": self.corrupted,
        }
        return tuple(Condition.quantity(*pair) for pair in levels.items())


def heavy_noise_levels(n_samples: int, n_features: int, *, eps: float, c0: float = 2.0) -> NoiseLevels:
    r"""Noise that Lemmas 1 to 4 allow: levels at which equation 2 holds, and where nothing can help [1]_.

    The paper gives orders of magnitude, its supplement the constants, which is not to be had; these are derived here.
    For n records of d features, with a set T of :math:`\varepsilon n` records,

    .. math:: \frac{1}{|T|} \Big\| \sum_{j \in T} N_{\cdot,j} \Big\|_1 \le \sqrt{\frac{d}{\varepsilon n}} \, \|N\|_2,
              \qquad \|N\|_2 \le \sigma (\sqrt n + \sqrt d + t)

    but for a probability of :math:`e^{-t^2/2}` (Davidson and Szarek [2]_; by Gaussian comparison also for columns
    with covariances of norm at most :math:`\sigma^2`). So equation 2 holds for

    .. math:: \sigma \le \varepsilon^{3/2} / \big(\sqrt d \, (1 + \sqrt{d/n} + t/\sqrt n)\big), \qquad
              \|\Sigma_j\|_2 \le \sigma^2.

    The second is of the order 1/d, where the paper prints :math:`1/\sqrt d`: the root is meant, for independent noise
    of variance :math:`1/\sqrt d` violates equation 2 by Lemma 1's own second part. Lemma 3 asks for
    :math:`m \ge 8 c_0^2/\varepsilon^4` draws, Lemma 4 for at most :math:`\varepsilon^2` of the records.
    The maximum likelihood estimate of one component, with all weights 1, is the mean record, whose error is
    :math:`\sigma d \sqrt{2/(\pi n)}` in the mean: of the order of :math:`\sigma \sqrt d` only if there are about as
    many records as features, and less with more.

    Parameters
    ----------
    n_samples, n_features : int
        Records n and features d.
    eps : float
        The constant of equation 2.
    c0 : float, default=2.0
        Largest l1 norm of a single draw, in Lemma 3; that of a draw of one feature, less its mean, is below 2.

    Returns
    -------
    NoiseLevels
        One for each kind of noise.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Section 2, Lemmas 1 to 4.
    .. [2] K. Davidson, S. Szarek, "Local operator theory, random matrices and Banach spaces", Handbook of the Geometry
       of Banach Spaces 1, 2001, Theorem II.13.

    Examples
    --------
    >>> from partwise.metrics import heavy_noise_levels
    >>> found = heavy_noise_levels(400, 100, eps=0.25)
    >>> round(found.gaussian * 100**0.5, 4), found.draws, found.corrupted
    (0.0709, 8192.0, 0.0625)
    """
    if not 0.0 < eps < 1.0:
        raise InputError(f"eps={eps!r} must be between 0 and 1.", parameter="eps")
    for name, size in (("n_samples", n_samples), ("n_features", n_features)):
        if size < 1:
            raise InputError(f"{name}={size!r} must be at least 1.", parameter=name)
    if not c0 > 0.0:
        raise InputError(f"c0={c0!r} must be positive.", parameter="c0")
    n, d = float(n_samples), float(n_features)
    t = np.sqrt(-2.0 * np.log(ODDS))
    sigma = eps**1.5 / (np.sqrt(d) * (1.0 + np.sqrt(d / n) + t / np.sqrt(n)))
    return NoiseLevels(
        eps=eps,
        gaussian=float(sigma),
        covariance=float(sigma**2),
        draws=8.0 * c0**2 / eps**4,
        corrupted=eps**2,
        likelihood=float(eps * np.sqrt(np.pi * n / 2.0) / d),
        visible=float(np.sqrt(np.pi / 2.0) / d),
    )
