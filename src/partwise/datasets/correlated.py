"""The weights of AND's theorems: sparse, correlated as strongly as wanted, with a chosen order of decay."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from partwise.datasets.checks import RandomState, as_generator, check_integer, check_matrix, check_real, check_share
from partwise.datasets.mixture import Mixture
from partwise.exceptions import InputError

__all__ = ["make_correlated_mixtures"]


def make_correlated_mixtures(
    *,
    n_samples: int = 5000,
    n_features: int = 200,
    n_components: int = 30,
    n_active: int = 2,
    ratio: float = 0.0,
    group_size: int = 1,
    q: float = np.inf,
    absent: float = 0.0,
    components: ArrayLike | None = None,
    signed: bool = False,
    random_state: RandomState = None,
) -> Mixture:
    r"""Make sums of few components that like to come together: the weights of AND's theorems [1]_.

    Components stand in groups of `group_size`, the first ones in the first group. In each sample exactly `n_active`
    groups are active, all sets of them alike. Of an active group all components are there with probability c, or else
    a single one, each alike; c is such that for two components of a group

    .. math:: \Pr[x_i, x_j \text{ there}] / \min(\Pr[x_i \text{ there}], \Pr[x_j \text{ there}]) = \text{ratio},

    which for weights of 0 and 1 is :math:`E[x_i x_j] / \min(E[x_i], E[x_j])`, at most 1: then the components of a group
    are never apart, and nobody can tell them apart. Groups of one are the s-sparse vectors of Proposition 1.

    Parameters
    ----------
    n_samples, n_features, n_components : int, default=5000, 200, 30
        The sizes. The number of components must be a multiple of `group_size`.
    n_active : int, default=2
        Number of active groups of a sample, s; the l1 norm of a sample is at most ``n_active * group_size``.
    ratio : float, default=0.0
        The correlation inside a group, from 0 (never together) to 1 (never apart).
    group_size : int, default=1
        Components of a group.
    q : float, default=inf
        Weights that are there have the distribution function :math:`a^q` on [0, 1], independently of each other: the
        decay condition of order q (Definition 3) with equality. Infinity: they are 1.
    absent : float, default=0.0
        The weight of components that are not there. ``1 / n_components`` is the paper's example of weights that satisfy
        the general correlation conditions and cannot be learnt (Section 6.1).
    components : array-like of shape (n_components, n_features), optional
        Components to use as they are, whatever `n_features` and `signed`; else each is uniform on the simplex.
    signed : bool, default=False
        Give every entry of the components a random sign: AND asks for linear independence only.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        Noiseless.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong
       Correlations", ICML 2017, Definitions 1 and 3, Proposition 1, Section 6.1.

    Examples
    --------
    >>> from partwise.datasets import make_correlated_mixtures
    >>> W = make_correlated_mixtures(ratio=0.8, group_size=2, random_state=0).weights
    >>> round(float((W[:, 0] * W[:, 1]).mean() / min(W[:, 0].mean(), W[:, 1].mean())), 1)
    0.8
    """
    n, k = check_integer("n_samples", n_samples), check_integer("n_components", n_components)
    size = check_integer("group_size", group_size, maximum=k)
    if k % size:
        raise InputError(f"n_components={k} is no multiple of group_size={size}.", parameter="group_size")
    s = check_integer("n_active", n_active, maximum=k // size)
    ratio, absent = check_share("ratio", ratio), check_share("absent", absent)
    if ratio and size == 1:
        raise InputError(f"ratio={ratio:g} is between components of a group: give group_size >= 2.", parameter="ratio")
    if q != np.inf:
        check_real("q", q, strict=True)
    rng = as_generator(random_state)
    if components is None:
        m = check_integer("n_features", n_features, minimum=k)  # linearly independent
        H = rng.dirichlet(np.ones(m), size=k)
        H = H * rng.choice([-1.0, 1.0], size=H.shape) if signed else H
    else:
        H = check_matrix("components", components, (k, None))
        if H.shape[1] < k:
            raise InputError(f"components has {k} rows of {H.shape[1]}: they are dependent.", parameter="components")
    present = _presence(n, k, s, size, ratio, rng)
    values = np.ones((n, k)) if q == np.inf else rng.random((n, k)) ** (1.0 / q)
    W = np.where(present, values, absent)
    return Mixture(W @ H, H, W)


def _presence(n: int, k: int, s: int, size: int, ratio: float, rng: np.random.Generator) -> np.ndarray:
    """Which components are there: with c = Pr[all | active], Pr[one] ~ c + (1 - c)/size and Pr[two] ~ c."""
    groups = k // size
    active = rng.random((n, groups)).argsort(axis=1) < s  # exactly s, all sets alike
    together = rng.random((n, groups)) < ratio / (size - (size - 1) * ratio)
    alone = rng.integers(size, size=(n, groups))[:, :, None] == np.arange(size)
    present: np.ndarray = active[:, :, None] & (together[:, :, None] | alone)
    return present.reshape(n, k)
