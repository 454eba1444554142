"""Mixtures of images of digits: the demonstration of conservative online learning."""

from __future__ import annotations

from os import PathLike

import numpy as np

from partwise.datasets.checks import RandomState, as_generator, check_choice, check_integer
from partwise.datasets.loaders.images import load_mnist
from partwise.datasets.mixture import Mixture
from partwise.exceptions import InputError

__all__ = ["make_digit_mixtures"]

# An image nearer than this (as a share of its length) to the span of those chosen before it is passed over:
# no method could recover components that are mixtures of one another.
INDEPENDENCE = 0.05


def make_digit_mixtures(
    source: str = "digits",
    *,
    n_samples: int = 10000,
    n_components: int | None = None,
    per_sample: int = 8,
    data_home: str | PathLike[str] | None = None,
    random_state: RandomState = None,
) -> Mixture:
    """Mix images of digits, eight at a time, with uniform coefficients: Elser's synthetic data [1]_.

    Parameters
    ----------
    source : {"digits", "mnist"}, default="digits"
        Where images come from: the 8 x 8 digits that scikit-learn brings along, or MNIST
        (28 x 28, the paper's; see `load_mnist` for where it must be).
    n_samples : int, default=10000
        Number of mixtures.
    n_components : int, optional
        Number of images; by default 30 of "digits", whose 64 pixels leave room for few more, and the
        paper's 64 of "mnist". They are linearly independent, and all ten digits occur among them.
    per_sample : int, default=8
        Images in each mixture, a random subset.
    data_home : path-like, optional
        Where MNIST is, if not under ``PARTWISE_DATA``.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        Noiseless, with ``image_shape``. Pixels of the images are in [0, 1], coefficients uniform on [0, 1).

    References
    ----------
    .. [1] V. Elser, "Conservative online non-negative matrix factorization", "Demonstration with
       synthetic data".

    Examples
    --------
    >>> from partwise.datasets import make_digit_mixtures
    >>> mixture = make_digit_mixtures(n_samples=5, random_state=0)
    >>> mixture.components.shape, mixture.image_shape, (mixture.weights > 0).sum(axis=1).tolist()
    ((30, 64), (8, 8), [8, 8, 8, 8, 8])
    """
    from sklearn.datasets import load_digits  # slow to import

    check_choice("source", source, ("digits", "mnist"))
    n = check_integer("n_samples", n_samples)
    default = 30 if source == "digits" else 64
    k = check_integer("n_components", default if n_components is None else n_components)
    size = check_integer("per_sample", per_sample, 1, k)
    rng = as_generator(random_state)
    if source == "digits":
        bunch = load_digits()
        images, labels, shape = bunch.data / 16.0, bunch.target, (8, 8)
    else:
        mnist = load_mnist("train", data_home=data_home)
        images, labels, shape = mnist.X, mnist.labels, (28, 28)
    H = _independent_images(images, labels, k, rng)
    if source == "mnist":
        H = H / 255.0
    # the first entries of a random order are a random subset
    chosen = rng.random((n, k)).argpartition(size - 1, axis=1)[:, :size]
    W = np.zeros((n, k))
    np.put_along_axis(W, chosen, rng.random((n, size)), axis=1)
    return Mixture(W @ H, H, W, image_shape=shape)


def _independent_images(images: np.ndarray, labels: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Pick ``k`` linearly independent images at random, one digit after the other."""
    order = rng.permutation(len(labels))
    # the t-th image of each digit comes in round t, so all digits occur before any comes twice
    rounds = np.empty(len(labels), dtype=int)
    for digit in np.unique(labels):
        where = np.flatnonzero(labels[order] == digit)
        rounds[where] = np.arange(where.size)
    order = order[np.argsort(rounds, kind="stable")]
    chosen: list[int] = []
    basis = np.zeros((0, images.shape[1]))
    for i in order:
        x = images[i].astype(float)
        rest = x - basis.T @ (basis @ x)
        rest -= basis.T @ (basis @ rest)  # twice is enough (Kahan)
        length = np.linalg.norm(rest)
        if length <= INDEPENDENCE * np.linalg.norm(x):
            continue
        chosen.append(i)
        basis = np.vstack([basis, rest / length])
        if len(chosen) == k:
            return images[chosen].astype(float)
    raise InputError(
        f"n_components={k} is too many: only {len(chosen)} images are linearly independent, ask for fewer."
    )
