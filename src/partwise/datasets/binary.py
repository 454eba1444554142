"""The model of Purification: each feature is present or absent, independently of the others."""

from __future__ import annotations

import numpy as np

from partwise.datasets.checks import RandomState, as_generator, check_integer, check_real
from partwise.datasets.mixture import Mixture
from partwise.exceptions import InputError

__all__ = ["make_binary_mixtures"]


def make_binary_mixtures(
    *,
    n_samples: int = 20000,
    n_features: int = 200,
    n_components: int = 30,
    n_active: float = 3.0,
    signed: bool = False,
    random_state: RandomState = None,
) -> Mixture:
    """Make sums of random subsets of the components: assumptions (A1) and (A2') of Purification [1]_.

    Each weight is 1 with probability s/k and 0 otherwise, independently of all others.

    Parameters
    ----------
    n_samples, n_features, n_components : int, default=20000, 200, 30
        The sizes.
    n_active : float, default=3.0
        Expected number s of components in a sample, at most `n_components`.
    signed : bool, default=False
        Give every entry of the components a random sign: the method asks for linear independence only.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        Noiseless. Components have unit l1 norm: uniform on the simplex (before the signs). Samples can
        be zero, with probability (1 - s/k)^k.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery guarantee of non-negative matrix factorization via
       alternating updates", NIPS 2016, Section 5.

    Examples
    --------
    >>> from partwise.datasets import make_binary_mixtures
    >>> mixture = make_binary_mixtures(n_samples=10, random_state=0)
    >>> sorted(set(mixture.weights.ravel().tolist()))
    [0.0, 1.0]
    """
    n, k = check_integer("n_samples", n_samples), check_integer("n_components", n_components)
    m = check_integer("n_features", n_features)
    if m < k:
        raise InputError(
            f"n_features={m} is below n_components={k}: components must be linearly independent (A1).",
            parameter="n_features",
        )
    s = check_real("n_active", n_active, strict=True)
    if s > k:
        raise InputError(f"n_active={s:g} is more than n_components={k}: s/k is a probability.", parameter="n_active")
    rng = as_generator(random_state)
    H = rng.dirichlet(np.ones(m), size=k)
    if signed:
        H *= rng.choice([-1.0, 1.0], size=H.shape)
    W = (rng.random((n, k)) < s / k).astype(float)
    return Mixture(W @ H, H, W)
