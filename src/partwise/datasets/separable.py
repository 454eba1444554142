"""Separable and dominant data, and a factorization known to be unique."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.datasets.checks import (
    RandomState,
    as_generator,
    check_choice,
    check_integer,
    check_matrix,
    check_real,
    check_share,
)
from partwise.datasets.mixture import Mixture
from partwise.exceptions import InputError

__all__ = ["make_dominant", "make_laurberg", "make_separable", "make_strictly_dominant"]


def make_separable(
    *,
    n_samples: int = 100,
    n_features: int | None = None,
    n_components: int | None = None,
    axis: str = "features",
    components: Any = None,
    random_state: RandomState = None,
) -> Mixture:
    """Make data in which every component has a feature, or a sample, of its own.

    With ``axis="features"`` this is the synthetic data of Gillis and Luce [1]_ used by the TSVDNMF
    paper [2]_: in its notation A = Pi B C with C uniform on [0, 1] and B = [I B~]^T, where the columns
    of B~ are Dirichlet with one parameter vector, itself uniform on [0, 1]. Here H = [I B~], with its
    columns permuted, and W = C^T.

    Parameters
    ----------
    n_samples : int, default=100
        Number of records (the paper's n).
    n_features : int, optional
        Number of features (the paper's d), 100 by default.
    n_components : int, optional
        Number of components k, 10 by default.
    axis : {"features", "samples"}, default="features"
        Which of them are pure. "samples": W = [I; W~] with its rows permuted, the rows of W~ Dirichlet
        as above, and H uniform on [0, 1] or given.
    components : array-like of shape (n_components, n_features), optional
        The components, for ``axis="samples"`` only.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        Noiseless; ``anchors[l]`` is the pure feature (or sample) of component ``l``.

    References
    ----------
    .. [1] N. Gillis, R. Luce, "Robust near-separable nonnegative matrix factorization using linear
       optimization", JMLR 15, 2014.
    .. [2] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under
       heavy noise", ICML 2016, Section 5.2, "Separable data".

    Examples
    --------
    >>> from partwise.datasets import make_separable
    >>> mixture = make_separable(n_components=3, random_state=0)
    >>> mixture.components[:, mixture.anchors]
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    check_choice("axis", axis, ("features", "samples"))
    rng = as_generator(random_state)
    if components is not None:
        if axis == "features":
            raise InputError("components can be given with axis='samples' only: pure features are made.")
        components = check_matrix("components", components, (n_components, n_features))
        n_components, n_features = components.shape
    n = check_integer("n_samples", n_samples)
    m = check_integer("n_features", 100 if n_features is None else n_features)
    length, name = (m, "n_features") if axis == "features" else (n, "n_samples")
    k = check_integer("n_components", 10 if n_components is None else n_components)
    if k > length:
        raise InputError(
            f"n_components={k} is more than {name}={length}: each component needs one of its own.",
            parameter="n_components",
        )

    mixing = np.vstack([np.eye(k), rng.dirichlet(rng.uniform(size=k), size=length - k)])
    order = rng.permutation(length)
    mixing = mixing[order]
    anchors = np.argsort(order)[:k]  # where the rows 0..k-1 of the identity have gone
    if axis == "features":
        H, W = np.ascontiguousarray(mixing.T), rng.uniform(size=(n, k))
    else:
        H, W = (rng.uniform(size=(k, m)) if components is None else components), mixing
    return Mixture(W @ H, H, W, anchors=anchors)


def make_dominant(
    *,
    n_samples: int = 100,
    n_features: int = 100,
    n_components: int = 10,
    n_dominant: int = 3,
    dominant_weight: float = 0.1,
    random_state: RandomState = None,
) -> Mixture:
    r"""Make data with dominant features and dominant components, as in the TSVDNMF paper [1]_.

    Component l is Dirichlet with parameter 1 for every feature, multiplied for its `n_dominant` own
    features by eta = eta0/(1 - eta0) (d - c)/c, which makes eta0 the expected sum of their weights.
    The weights of each sample are Dirichlet with parameter 1/(2k).

    Parameters
    ----------
    n_samples, n_features, n_components : int, default=100, 100, 10
        The sizes n, d and k.
    n_dominant : int, default=3
        Dominant features of each component, the paper's c.
    dominant_weight : float, default=0.1
        Expected share of the dominant features in their component, the paper's eta_0.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        Noiseless. ``dominant_features[l]`` are the features made dominant for component l, after the
        permutation Pi of the features (the paper's S_l), and ``labels`` the component of largest
        weight of each sample (its T_l). Both are what the model favours: with random draws the
        inequalities of assumptions D1 and D2 hold for most, not for all.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under
       heavy noise", ICML 2016, Section 5.2, "Dominant data".

    Examples
    --------
    >>> from partwise.datasets import make_dominant
    >>> mixture = make_dominant(random_state=0)
    >>> len(mixture.dominant_features), mixture.dominant_features[0].size
    (10, 3)
    """
    n, k = check_integer("n_samples", n_samples), check_integer("n_components", n_components)
    c = check_integer("n_dominant", n_dominant)
    d = check_integer("n_features", n_features)
    if c * k >= d:
        raise InputError(
            f"n_features={d} is too few: n_components * n_dominant = {c * k} are dominant, give more.",
            parameter="n_features",
        )
    share = check_real("dominant_weight", dominant_weight, strict=True)
    if share >= 1.0:
        raise InputError(
            f"dominant_weight={share!r} is a share of one component: give a number below 1.",
            parameter="dominant_weight",
        )
    rng = as_generator(random_state)

    eta = share / (1.0 - share) * (d - c) / c
    parameters = np.ones((k, d))
    for l in range(k):
        parameters[l, c * l : c * (l + 1)] *= eta
    H = np.array([rng.dirichlet(row) for row in parameters])
    order = rng.permutation(d)
    place = np.argsort(order)
    W = rng.dirichlet(np.full(k, 1.0 / (2 * k)), size=n)
    dominant = tuple(np.sort(place[c * l : c * (l + 1)]) for l in range(k))
    H = np.ascontiguousarray(H[:, order])
    return Mixture(W @ H, H, W, dominant_features=dominant, labels=W.argmax(axis=1))


def make_strictly_dominant(
    *,
    n_samples: int = 500,
    n_components: int = 2,
    n_dominant: int = 2,
    n_shared: int = 6,
    dominant_weight: float = 0.9,
    rho: float = 0.0,
    alpha: float = 0.9,
    pure: float = 0.8,
    random_state: RandomState = None,
) -> Mixture:
    r"""Make data on which conditions D1 to D3 of the Dominant NMF model hold by construction [1]_.

    `make_dominant`, the paper's own, favours them and promises nothing. Here component l has `dominant_weight`
    in equal parts on `n_dominant` features of its own, `rho` times as much on each of those of the others, and the
    rest, in random parts, on features that all share. A share `pure` of the samples is one component alone, equally
    many for each (D3); in the others one has a weight between `alpha` and 1, and the others what is left, so that
    D2 holds with :math:`\beta = 1 - \alpha`. Weights and components sum to one.

    Parameters
    ----------
    n_samples, n_components : int, default=500, 2
        The sizes n and k.
    n_dominant, n_shared : int, default=2, 6
        Features that a component has to itself, and that all have.
    dominant_weight : float, default=0.9
        The paper's p0, of D1; gamma is ``dominant_weight / n_dominant``.
    rho : float, default=0.0
        The paper's, of D1.
    alpha : float, default=0.9
        Least weight of the dominant component, of D2.
    pure : float, default=0.8
        Share of the samples that are pure; eps0 of D3 is ``pure / n_components``, rounded down to whole samples.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        Noiseless; ``dominant_features`` are the sets S_l, and ``labels`` say which T_l a sample is in.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under
       heavy noise", ICML 2016, Section 3.

    Examples
    --------
    >>> from partwise.datasets import make_strictly_dominant
    >>> from partwise.metrics import dominant_conditions
    >>> data = make_strictly_dominant(random_state=0)
    >>> asked = {"rho": 0.0, "p0": 0.9, "alpha": 0.9, "beta": 0.1, "w0": 0.5, "eps0": 0.4, "eps4": 1e-3}
    >>> found = dominant_conditions(data.components, data.weights, 0.0 * data.X, **asked)
    >>> found.theorem_1
    True
    """
    n, k = check_integer("n_samples", n_samples), check_integer("n_components", n_components)
    c, shared = check_integer("n_dominant", n_dominant), check_integer("n_shared", n_shared, 0)
    shares = {"dominant_weight": dominant_weight, "rho": rho, "alpha": alpha, "pure": pure}
    for name, value in shares.items():
        check_share(name, value)
    left = 1.0 - dominant_weight * (1.0 + rho * (k - 1))
    if left < -1e-12 or not dominant_weight or (left > 1e-12 and not shared):
        raise InputError(
            f"dominant_weight={dominant_weight!r} with rho={rho!r} leaves {left:.3g} of a component for "
            f"n_shared={shared} features: what it has must sum to one.",
            parameter="dominant_weight",
        )
    rng = as_generator(random_state)
    own = np.repeat(np.where(np.eye(k, dtype=bool), 1.0, rho), c, axis=1) * dominant_weight / c
    rest = max(left, 0.0) * rng.dirichlet(np.ones(shared), size=k) if shared else np.zeros((k, 0))
    order = rng.permutation(c * k + shared)
    H = np.ascontiguousarray(np.hstack([own, rest])[:, order])
    place = np.argsort(order)
    labels = rng.permutation(np.arange(n) % k)
    W = np.eye(k)[labels]
    for l in range(k if k > 1 else 0):
        members = np.flatnonzero(labels == l)
        mixed = members[int(np.ceil(pure * len(members) - 1e-9)) :]
        W[mixed, l] = rng.uniform(alpha, 1.0, size=len(mixed))
        others = np.delete(np.arange(k), l)
        W[mixed[:, None], others] = (1.0 - W[mixed, l])[:, None] * rng.dirichlet(np.ones(k - 1), size=len(mixed))
    dominant = tuple(np.sort(place[c * l : c * (l + 1)]) for l in range(k))
    return Mixture(W @ H, H, W, dominant_features=dominant, labels=labels)


def make_laurberg(alpha: float = 0.1) -> Mixture:
    """Make Laurberg's 6 x 6 matrix, whose factorization into three parts is known to be unique.

    H is the 3 x 6 matrix of [1]_, Section 5, equation 9, and X = H^T H. For alpha below 0.5 the only
    non-negative factorization with three parts, up to order and scale, is H^T times H; above, there are
    others. The paper shows it for 0.1 and 0.3, the first test that any algorithm here must pass.

    Parameters
    ----------
    alpha : float, default=0.1
        The overlap of the parts.

    Returns
    -------
    Mixture
        Noiseless.

    References
    ----------
    .. [1] H. Laurberg, M. G. Christensen, M. D. Plumbley, L. K. Hansen, S. H. Jensen, "Theorems on
       positive data: on the uniqueness of NMF", Computational Intelligence and Neuroscience, 2008.

    Examples
    --------
    >>> from partwise.datasets import make_laurberg
    >>> make_laurberg(0.3).components
    array([[0.3, 1. , 1. , 0.3, 0. , 0. ],
           [1. , 0.3, 0. , 0. , 0.3, 1. ],
           [0. , 0. , 0.3, 1. , 1. , 0.3]])
    """
    a = check_real("alpha", alpha)
    H = np.array([[a, 1, 1, a, 0, 0], [1, a, 0, 0, a, 1], [0, 0, a, 1, 1, a]], dtype=float)
    W = np.ascontiguousarray(H.T)
    return Mixture(W @ H, H, W)
