"""The model of Purification: every weight is independent of the others; present or absent, or of any law in [0, 1]."""

from __future__ import annotations

import numpy as np

from partwise.datasets.checks import RandomState, as_generator, check_choice, check_integer, check_real
from partwise.datasets.mixture import Mixture
from partwise.exceptions import InputError

__all__ = ["make_binary_mixtures", "make_independent_mixtures"]


def make_binary_mixtures(
    *,
    n_samples: int = 20000,
    n_features: int = 200,
    n_components: int = 30,
    n_active: float = 3.0,
    signed: bool = False,
    concentration: float = 1.0,
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
    concentration : float, default=1.0
        Components are drawn from the Dirichlet distribution of this parameter: 1 is uniform on the simplex, far below 1
        each has most of its mass on a few features.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        Noiseless. Components have unit l1 norm. Samples can be zero, with probability (1 - s/k)^k.

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
    s = check_real("n_active", n_active, strict=True)
    if s > k:
        raise InputError(f"n_active={s:g} is more than n_components={k}: s/k is a probability.", parameter="n_active")
    rng = as_generator(random_state)
    H = _parts(k, n_features, signed, concentration, rng)
    W = (rng.random((n, k)) < s / k).astype(float)
    return Mixture(W @ H, H, W)


def make_independent_mixtures(
    *,
    n_samples: int = 20000,
    n_features: int = 200,
    n_components: int = 30,
    first: float = 3.0,
    second: tuple[float, float] = (1.0, 2.0),
    vary: str = "proportions",
    width: float = 8.0,
    signed: bool = False,
    concentration: float = 1.0,
    random_state: RandomState = None,
) -> Mixture:
    r"""Make sums of components with independent weights of given moments: Purification's (A1) and (A2) [1]_.

    With k components, :math:`E[x_i] \le C_1/k`, one of them equal, and :math:`E[x_i^2]` runs from :math:`c_2/k` to
    :math:`C_2/k` in equal ratios. A weight is zero, or from a Beta distribution. Theorem 6 asks for
    :math:`C_2 \le 2 c_2` and :math:`C_1^3 \le G c_2^2 k`; :math:`C_1 = c_2 = C_2` are binary weights.

    Parameters
    ----------
    n_samples, n_features, n_components : int, default=20000, 200, 30
        The sizes.
    first : float, default=3.0
        C1, at least C2 since weights are at most 1.
    second : (float, float), default=(1.0, 2.0)
        The moments c2 and C2.
    vary : {"proportions", "laws"}, default="proportions"
        What makes the second moments differ: how often components are present, the weights of those present being of
        one law; or that law, all components having the mean C1/k.
    width : float, default=8.0
        The larger, the narrower the Beta distributions: ``a + b + 1`` of their parameters; above ``C1 / c2``.
    signed : bool, default=False
        Give every entry of the components a random sign.
    concentration : float, default=1.0
        Of the Dirichlet distribution of the components: see `make_binary_mixtures`.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        Noiseless, with components of unit l1 norm.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery guarantee of non-negative matrix factorization via
       alternating updates", NIPS 2016, Assumption (A2), Section 6.

    Examples
    --------
    >>> from partwise.datasets import make_independent_mixtures
    >>> from partwise.metrics import moment_constants
    >>> mixture = make_independent_mixtures(n_samples=200_000, n_features=8, n_components=6, random_state=0)
    >>> found = moment_constants(mixture.weights, scale=1.0)
    >>> round(found.C1, 1), round(found.c2, 1), round(found.C2, 1)
    (3.0, 1.0, 2.0)
    """
    n, k = check_integer("n_samples", n_samples), check_integer("n_components", n_components)
    C1 = check_real("first", first, strict=True)
    if np.shape(second) != (2,):
        raise InputError(f"second={second!r} must be two numbers, c2 and C2.", parameter="second")
    c2, C2 = (check_real("second", value, strict=True) for value in second)
    check_choice("vary", vary, ("proportions", "laws"))
    width = check_real("width", width, 1.0, strict=True)
    if not c2 <= C2 <= C1:
        raise InputError(f"second={second!r} must rise and be at most first={C1:g}: x**2 <= x.", parameter="second")
    seconds = np.geomspace(c2, C2, k) / k
    firsts = seconds * (C1 / C2) if vary == "proportions" else np.full(k, C1 / k)
    sizes = seconds / firsts  # E[u**2] / E[u] of a weight u that is there: (a + 1) / (a + b + 1) of a Beta(a, b)
    a, b = sizes * width - 1.0, (1.0 - sizes) * width
    if a.min() <= 0.0:
        raise InputError(f"width={width:g} must be above {1.0 / sizes.min():g} for these moments.", parameter="width")
    present = firsts * (a + b) / a
    if present.max() > 1.0:
        raise InputError(f"first={C1:g} is too much: a component would be there more than always.", parameter="first")
    rng = as_generator(random_state)
    H = _parts(k, n_features, signed, concentration, rng)
    W = np.where(b > 0.0, rng.beta(a, np.where(b > 0.0, b, 1.0), (n, k)), 1.0) * (rng.random((n, k)) < present)
    return Mixture(W @ H, H, W)


def _parts(k: int, n_features: int, signed: bool, concentration: float, rng: np.random.Generator) -> np.ndarray:
    m = check_integer("n_features", n_features)
    if m < k:
        raise InputError(
            f"n_features={m} is below n_components={k}: components must be linearly independent (A1).",
            parameter="n_features",
        )
    H = rng.dirichlet(np.full(m, check_real("concentration", concentration, strict=True)), size=k)
    if signed:
        H *= rng.choice([-1.0, 1.0], size=H.shape)
    result: np.ndarray = H
    return result
