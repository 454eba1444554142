"""The papers' noise, added to any mixture; each function returns a new mixture.

Whatever is done, ``noise`` of the result is ``X - weights @ components``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from partwise.datasets.checks import RandomState, as_generator, check_choice, check_integer, check_real, check_share
from partwise.datasets.mixture import Mixture
from partwise.exceptions import InputError

__all__ = [
    "add_adversarial_noise",
    "add_correlated_noise",
    "add_corruption",
    "add_gaussian_noise",
    "add_multinomial_noise",
    "add_unbiased_noise",
]


def add_gaussian_noise(
    mixture: Mixture, level: float = 1.0, *, clip: bool = False, random_state: RandomState = None
) -> Mixture:
    r"""Add Gaussian noise as large, at level 1, as the signal of each sample [1]_.

    The noise of sample j is ``level / sqrt(n_features) * ||(W H)_j||_2`` times standard normals.

    Parameters
    ----------
    mixture : Mixture
        What to add to; it is left as it is. Noise that it has stays in the sum.
    level : float, default=1.0
        The paper's beta: 0.5, 1 and 2 in its Table 2.
    clip : bool, default=False
        Set negative entries of the sum to 0 (the paper does not say so, and negative data then reaches
        the algorithms); ``noise`` is what remains added.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        The noisy data with the same truth.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under
       heavy noise", ICML 2016, Section 5.2, "Gaussian Noise".

    Examples
    --------
    >>> from partwise.datasets import add_gaussian_noise, make_separable
    >>> noisy = add_gaussian_noise(make_separable(random_state=0), 0.5, random_state=0)
    >>> noisy
    Mixture(n_samples=100, n_features=100, n_components=10, noisy)
    """
    level = check_real("level", level)
    signal = mixture.signal
    size = level / np.sqrt(signal.shape[1]) * np.linalg.norm(signal, axis=1, keepdims=True)
    N = size * as_generator(random_state).standard_normal(signal.shape)
    return _with_noise(mixture, N, clip)


def add_correlated_noise(
    mixture: Mixture,
    level: float,
    *,
    spread: float = 1.0,
    clip: bool = False,
    random_state: RandomState = None,
) -> Mixture:
    r"""Add Gaussian noise that differs from sample to sample and is correlated between features: Lemma 2 [1]_.

    Sample j has the covariance :math:`\Sigma_j = Q^T \mathrm{diag}(s_j^2) Q` of norm ``level**2``: Q is a random
    rotation, whose first direction raises a random half of the features and lowers the others, and the
    standard deviations s_j are uniform between ``(1 - spread) * level`` and `level`, which that first one has.

    Parameters
    ----------
    mixture : Mixture
        What to add to; it is left as it is. Noise that it has stays in the sum.
    level : float
        Standard deviation in the strongest direction, the root of the covariance's spectral norm.
    spread : float, default=1.0
        How far directions differ; 0 makes independent noise of this standard deviation on all entries, as in Lemma 1.
    clip : bool, default=False
        Set negative entries of the sum to 0; ``noise`` is what remains added.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        The noisy data with the same truth.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under
       heavy noise", ICML 2016, Section 2, "General Correlated Noise".

    Examples
    --------
    >>> from partwise.datasets import add_correlated_noise, make_dominant
    >>> add_correlated_noise(make_dominant(random_state=0), 0.01, random_state=0)
    Mixture(n_samples=100, n_features=100, n_components=10, noisy)
    """
    level, spread = check_real("level", level), check_share("spread", spread)
    rng = as_generator(random_state)
    n, d = mixture.X.shape
    if spread == 0.0:  # whatever the rotation
        return _with_noise(mixture, level * rng.standard_normal((n, d)), clip)
    directions = rng.standard_normal((d, d))
    directions[:, 0] = rng.permutation(np.where(np.arange(d) < d // 2, 1.0, -1.0))
    Q = np.linalg.qr(directions)[0].T
    deviations = level * rng.uniform(1.0 - spread, 1.0, size=(n, d))
    deviations[:, 0] = level
    return _with_noise(mixture, deviations * rng.standard_normal((n, d)) @ Q, clip)


def add_corruption(
    mixture: Mixture,
    share: float,
    *,
    size: float = 1.0,
    pattern: str = "spike",
    random_state: RandomState = None,
) -> Mixture:
    """Corrupt a few samples, each by as much as the sample itself: the adversary of Lemma 4 [1]_.

    Parameters
    ----------
    mixture : Mixture
        What to corrupt; it is left as it is. Noise that it has stays in the sum.
    share : float
        Share of the samples, rounded down to whole ones; Lemma 4 allows eps squared.
    size : float, default=1.0
        Largest l1 norm of what is done to a sample, 1 in Lemma 4, where samples sum to at most one.
    pattern : {"spike", "occlude"}, default="spike"
        "spike": all of `size` is added to one feature, the same for all samples, which is the worst for any mean of
        them. "occlude": the largest entries of a sample are set to zero, as far as `size` goes, as where
        something stands before a face.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Which samples, and which feature.

    Returns
    -------
    Mixture
        The corrupted data with the same truth.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under
       heavy noise", ICML 2016, Lemma 4.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.datasets import add_corruption, make_dominant
    >>> noisy = add_corruption(make_dominant(random_state=0), 0.05, random_state=0)
    >>> np.abs(noisy.noise).sum(axis=1).nonzero()[0].size
    5
    """
    share, size = check_share("share", share), check_real("size", size)
    check_choice("pattern", pattern, ("spike", "occlude"))
    rng = as_generator(random_state)
    n, d = mixture.X.shape
    chosen = rng.choice(n, int(share * n * (1.0 + 1e-12)), replace=False)  # 0.07 of 100 is 7, whatever the rounding
    N = np.zeros((n, d))
    if pattern == "spike":
        N[chosen, rng.integers(d)] = size
    else:
        order = np.argsort(-mixture.X[chosen], axis=1)
        falling = np.maximum(np.take_along_axis(mixture.X[chosen], order, axis=1), 0.0)
        before = np.cumsum(falling, axis=1) - falling
        removed = np.clip(size - before, 0.0, falling)
        N[chosen[:, None], order] = -removed
    return _with_noise(mixture, N, clip=False)


def add_multinomial_noise(mixture: Mixture, n_draws: int = 60, *, random_state: RandomState = None) -> Mixture:
    """Replace each sample by the averaged counts of a few draws from it, as in a short document [1]_.

    Components and weights are divided by their row sums first, so that each row of W H is a distribution over
    the features; the truth returned is the one so divided.

    Parameters
    ----------
    mixture : Mixture
        A noiseless, non-negative mixture; it is left as it is.
    n_draws : int, default=60
        Draws for each sample, the paper's m: 10, 60 and 100 in its Table 2. Fewer draws, more noise.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        The noisy data (each row sums to one) and the normalised truth.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under
       heavy noise", ICML 2016, Section 5.2, "Multinomial Noise".

    Examples
    --------
    >>> from partwise.datasets import add_multinomial_noise, make_dominant
    >>> noisy = add_multinomial_noise(make_dominant(random_state=0), 10, random_state=0)
    >>> bool((noisy.X * 10 % 1 < 1e-9).all())
    True
    """
    n_draws = check_integer("n_draws", n_draws)
    if mixture.noise is not None:
        raise InputError(
            "mixture has noise already: draws are taken from weights @ components, so start there.", parameter="mixture"
        )
    H, W = _distributions("components", mixture.components), _distributions("weights", mixture.weights)
    signal = W @ H
    signal_for_draws = signal / signal.sum(axis=1, keepdims=True)  # rounding: numpy refuses sums above 1
    X = as_generator(random_state).multinomial(n_draws, signal_for_draws) / n_draws
    return replace(mixture, X=X, components=H, weights=W, noise=X - signal)


def add_adversarial_noise(mixture: Mixture, level: float, *, pattern: str = "mirror", clip: bool = False) -> Mixture:
    r"""Add noise that is bounded but aimed at the truth: model (N1) of Purification [1]_.

    (N1) asks only that every entry is at most ``level`` in size; here every entry is at the bound, and the
    signs depend on the weights. Let t = 1 - 2 w / max w for each component, +1 where it is absent and -1
    where it is fully present.

    Parameters
    ----------
    mixture : Mixture
        What to add to; it is left as it is. Noise that it has stays in the sum.
    level : float
        The bound C_nu. Theorem 1 allows the order of 1 / max(m, k ||A^+||_inf).
    pattern : {"mirror", "absent", "constant"}, default="mirror"
        "mirror": sign(P t), P the pseudo-inverse of the components: of all bounded noise, that which moves
        the decoded weights X P furthest in the direction t, from present to absent components.
        "absent": sign of (mean absent component - mean present component), which moves samples from the
        features that they have to those that they lack. "constant": +1, the same bias on every entry.
    clip : bool, default=False
        Set negative entries of the sum to 0; ``noise`` is what remains added.

    Returns
    -------
    Mixture
        The noisy data with the same truth. Nothing is random.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery guarantee of non-negative matrix factorization via
       alternating updates", NIPS 2016, Section 3 and Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.datasets import add_adversarial_noise, make_binary_mixtures
    >>> noisy = add_adversarial_noise(make_binary_mixtures(n_samples=20, random_state=0), 1e-3)
    >>> bool((np.abs(noisy.noise) == 1e-3).all())
    True
    """
    level = check_real("level", level)
    check_choice("pattern", pattern, ("mirror", "absent", "constant"))
    H, W = mixture.components, mixture.weights
    largest = W.max(axis=0)
    present = np.divide(W, largest, out=np.zeros_like(W), where=largest > 0)
    if pattern == "mirror":
        direction = (1.0 - 2.0 * present) @ np.linalg.pinv(H).T
    elif pattern == "absent":
        direction = _mean_component(1.0 - present, H) - _mean_component(present, H)
    else:
        direction = np.ones(mixture.X.shape)
    # a zero has no sign, and every entry is meant to be at the bound
    return _with_noise(mixture, np.where(direction >= 0, level, -level), clip)


def add_unbiased_noise(
    mixture: Mixture,
    level: float,
    *,
    kind: str = "sign",
    clip: bool = False,
    random_state: RandomState = None,
) -> Mixture:
    """Add bounded noise whose mean given the weights is zero: model (N2) of Purification [1]_.

    Parameters
    ----------
    mixture : Mixture
        What to add to; it is left as it is. Noise that it has stays in the sum.
    level : float
        The bound C_nu; Theorem 2 allows sqrt(k) times more than Theorem 1.
    kind : {"sign", "uniform", "signal"}, default="sign"
        "sign": +level or -level, the largest variance within the bound. "uniform": uniform on [-level,
        level]. "signal": a random sign times level times the entry's share of the largest entry of
        W H, so that the size of the noise, though not its mean, depends on the weights.
    clip : bool, default=False
        Set negative entries of the sum to 0; the noise is then biased, which (N2) does not cover.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        The noisy data with the same truth.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery guarantee of non-negative matrix factorization via
       alternating updates", NIPS 2016, Section 3 and Theorem 2.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.datasets import add_unbiased_noise, make_binary_mixtures
    >>> mixture = make_binary_mixtures(n_samples=20, random_state=0)
    >>> noisy = add_unbiased_noise(mixture, 0.01, kind="uniform", random_state=0)
    >>> bool(np.abs(noisy.noise).max() <= 0.01)
    True
    """
    level = check_real("level", level)
    check_choice("kind", kind, ("sign", "uniform", "signal"))
    rng = as_generator(random_state)
    if kind == "uniform":
        return _with_noise(mixture, rng.uniform(-level, level, size=mixture.X.shape), clip)
    N = rng.choice([-level, level], size=mixture.X.shape)
    if kind == "signal":
        size = np.abs(mixture.signal)
        N *= size / max(size.max(), np.finfo(float).tiny)
    return _with_noise(mixture, N, clip)


def _with_noise(mixture: Mixture, N: np.ndarray, clip: bool) -> Mixture:
    """Return ``mixture`` with ``N`` added to its data and to its noise."""
    X = mixture.X + N
    if clip:
        X = np.maximum(X, 0.0)
        return replace(mixture, X=X, noise=X - mixture.signal)
    return replace(mixture, X=X, noise=N if mixture.noise is None else mixture.noise + N)


def _mean_component(share: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Return the mean of the components of each sample, weighted by ``share`` (zero where there is none)."""
    total = share.sum(axis=1, keepdims=True)
    result: np.ndarray = np.divide(share, total, out=np.zeros_like(share), where=total > 0) @ H
    return result


def _distributions(name: str, matrix: np.ndarray) -> np.ndarray:
    """Return rows divided by their sums, which must be positive."""
    sums = matrix.sum(axis=1, keepdims=True)
    if matrix.min() < 0 or sums.min() <= 0:
        raise InputError(f"mixture.{name} has a negative entry or a row of zeros: draws need distributions.")
    result: np.ndarray = matrix / sums
    return result
