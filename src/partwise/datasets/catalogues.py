"""Catalogues of mutations: counts that a few of many signatures make in each sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.datasets.checks import RandomState, as_generator, check_choice, check_integer, check_matrix
from partwise.datasets.mixture import Mixture
from partwise.exceptions import InputError

__all__ = ["make_catalogues"]

VARIANTS = ("base", "ubiquitous", "dense", "low", "noise")
CONTEXTS = 96  # of single base substitutions
ACTIVE = (3, 6)  # signatures in a sample, from and to
EVERYWHERE = (0.85, 0.8)  # how common the first two signatures are: those of age are nearly everywhere
RARE = (8, 0.03)  # samples, and share of them, that have a signature at least
DEPTH, LEAST_DEPTH, MOST_DEPTH = 3000.0, 500.0, 20_000.0  # counts of a sample: median, least and most
LOW_DEPTH, LEAST_LOW, MOST_LOW = 400.0, 60.0, 4000.0
DISPERSION = 100.0  # shape of the gamma law that "noise" multiplies means by: a deviation of a tenth


def make_catalogues(
    n_components: int = 10,
    n_samples: int = 300,
    *,
    components: Any = None,
    variant: str = "base",
    random_state: RandomState = None,
) -> Mixture:
    """Make counts of mutations: each sample has three to six signatures, a depth of its own, and Poisson noise.

    Signatures differ in how common they are; the first two are nearly everywhere. Shares in a sample are lognormal, and
    so are depths, between 500 and 20,000 counts.

    Parameters
    ----------
    n_components : int, default=10
        Number of signatures.
    n_samples : int, default=300
        Number of samples.
    components : array-like of shape (n_components, n_features), optional
        Signatures to use, such as some of `load_cosmic`; by default each is drawn from a Dirichlet(0.2) distribution
        over 96 contexts.
    variant : {"base", "ubiquitous", "dense", "low", "noise"}, default="base"
        "ubiquitous": the first two signatures are in every sample. "dense": each sample has three to five further ones,
        of a tenth of its depth or so. "low": depths around 400. "noise": means vary by a tenth more.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        ``X`` are counts, ``components`` sum to one, and ``weights`` are expected counts.

    Examples
    --------
    >>> from partwise.datasets import make_catalogues
    >>> make_catalogues(5, 200, random_state=0)
    Mixture(n_samples=200, n_features=96, n_components=5, noisy)
    """
    check_choice("variant", variant, VARIANTS)
    rng = as_generator(random_state)
    if components is None:
        k = check_integer("n_components", n_components)
        H = rng.dirichlet(np.full(CONTEXTS, 0.2), k)
    else:
        H = check_matrix("components", components)
        k = len(H)
        if (H < 0.0).any() or not (H.sum(axis=1) > 0.0).all():
            raise InputError("components must be non-negative, and none of them zero", parameter="components")
        H = H / H.sum(axis=1, keepdims=True)
    n = check_integer("n_samples", n_samples)
    if k < 3:
        raise InputError(f"n_components={k}: a sample has at least 3 signatures", parameter="n_components")
    W = _exposures(n, k, rng)
    X = rng.poisson(W @ H).astype(np.float64)
    if variant != "base":
        W, X = _varied(W, H, variant, rng)
    return Mixture(X, H, W, noise=X - W @ H)


def _exposures(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Expected counts of every signature in every sample."""
    common = rng.beta(1.2, 3.0, k) * 0.7 + 0.05
    common[: len(EVERYWHERE)] = EVERYWHERE
    present = np.zeros((n, k), bool)
    for i in range(n):
        count = rng.integers(ACTIVE[0], min(ACTIVE[1], k) + 1)
        chances = common * np.exp(0.5 * rng.standard_normal(k))
        present[i, rng.choice(k, count, replace=False, p=chances / chances.sum())] = True
    least = min(n, max(RARE[0], int(RARE[1] * n)))
    for j in range(k):
        missing = least - int(present[:, j].sum())
        if missing > 0:
            present[rng.choice(np.flatnonzero(~present[:, j]), missing, replace=False), j] = True
    W = np.where(present, np.exp(rng.normal(0.0, 1.0, (n, k))), 0.0) * np.exp(rng.normal(0.0, 0.5, k))
    depths = np.clip(np.exp(rng.normal(np.log(DEPTH), 0.9, n)), LEAST_DEPTH, MOST_DEPTH)
    return np.asarray(W / W.sum(axis=1, keepdims=True) * depths[:, None])


def _varied(W: np.ndarray, H: np.ndarray, variant: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Other expected counts and counts."""
    W, totals = W.copy(), W.sum(axis=1)
    if variant == "noise":
        means = W @ H
        return W, rng.poisson(means * rng.gamma(DISPERSION, 1.0 / DISPERSION, means.shape)).astype(np.float64)
    if variant == "ubiquitous":
        for j in range(2):
            zero = W[:, j] == 0.0
            W[zero, j] = totals[zero] * 0.15 * np.exp(rng.normal(0.0, 0.6, zero.sum()))
    elif variant == "dense":
        for i in range(len(W)):
            zero = np.flatnonzero(W[i] == 0.0)
            more = rng.choice(zero, min(len(zero), int(rng.integers(3, 6))), replace=False)
            W[i, more] = totals[i] * np.exp(rng.normal(-2.2, 0.8, len(more)))
    else:
        depths = np.clip(np.exp(rng.normal(np.log(LOW_DEPTH), 0.8, len(W))), LEAST_LOW, MOST_LOW)
        W = W / W.sum(axis=1, keepdims=True) * depths[:, None]
    return W, rng.poisson(W @ H).astype(np.float64)
