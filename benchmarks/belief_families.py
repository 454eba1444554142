"""Noisy mixtures with a known truth, for what is said of how sure a part is.

``TUNED`` families were looked at while methods were made. ``KEPT`` ones differ in parts, weights, noise and sizes, but
are not untouched: seeds 1000 to 1002 decided that the limit of scores is 1 and not 0, seeds 3000 and 3001 the ends of
the intervals of `judge`, and seed 4000 showed that the room of a part counted for too much. Other seeds of them are
fresh, the families are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Generator = np.random.Generator


class Case(NamedTuple):
    """A table, its parts, and what divides its noise to one size (None: nothing does)."""

    X: Array
    H: Array
    scales: tuple[Array, Array] | None


def sparse_parts(rng: Generator, k: int, m: int) -> Array:
    """Dirichlet parts with zeros."""
    H = rng.dirichlet([0.5] * m, k)
    H[0.2 / m > H] = 0.0
    return H / H.sum(axis=1, keepdims=True)


def smooth_parts(rng: Generator, k: int, m: int) -> Array:
    """Spectra: a few peaks on a line each, and exact zeros away from them."""
    x = np.linspace(0.0, 1.0, m)
    H = np.zeros((k, m))
    for h in H:
        for centre, width, height in zip(
            rng.random(3), rng.uniform(0.02, 0.08, 3), rng.gamma(2.0, size=3), strict=True
        ):
            h += height * np.exp(-0.5 * ((x - centre) / width) ** 2)
        h[h < 0.02 * h.max()] = 0.0
    return H / H.sum(axis=1, keepdims=True)


def dirichlet(rng: Generator, n: int, k: int, concentration: float) -> Array:
    """Shares that sum to one."""
    return rng.dirichlet([concentration] * k, n)


def few(rng: Generator, n: int, k: int, share: float) -> Array:
    """Every part is there with some chance, in amounts of all sizes."""
    W = rng.gamma(1.5, size=(n, k)) * (rng.random((n, k)) < share)
    W[~W.any(axis=1), 0] = 1.0
    return W


def white(rng: Generator, S: Array, level: float) -> Case:
    """Normal noise of one size."""
    return Case(S + level * np.sqrt((S**2).mean()) * rng.standard_normal(S.shape), S, None)


def counts(rng: Generator, S: Array, total: float) -> Case:
    """Poisson counts; scales are the roots of the margins."""
    X = rng.poisson(S * total / S.sum(axis=1).mean()).astype(float)
    rows = np.sqrt(np.maximum(X.sum(axis=1), 1.0) / X.sum() * len(X))
    return Case(X, S, (rows, np.sqrt(np.maximum(X.mean(axis=0), 0.1 * X.mean()))))


def family(
    parts: Callable[..., Array], weights: Callable[..., Array], noise: Callable[..., Case],
    k: int, n: int, m: int, w: float, e: float,
) -> Callable[[int], Case]:  # fmt: skip
    """A case for every seed."""

    def make(seed: int) -> Case:
        rng = np.random.default_rng(seed)
        H = parts(rng, k, m)
        return noise(rng, weights(rng, n, k, w) @ H, e)._replace(H=H)

    return make


TUNED = {
    "white, k 3, dense weights": family(sparse_parts, dirichlet, white, 3, 300, 30, 2.0, 0.05),
    "white, k 4": family(sparse_parts, dirichlet, white, 4, 500, 40, 0.3, 0.05),
    "white, k 3, much noise": family(sparse_parts, dirichlet, white, 3, 300, 30, 0.5, 0.2),
    "white, k 5, little noise": family(sparse_parts, dirichlet, white, 5, 500, 60, 0.5, 0.02),
    "counts, k 4": family(sparse_parts, dirichlet, counts, 4, 500, 40, 0.5, 500.0),
    "counts, k 3, wide": family(sparse_parts, dirichlet, counts, 3, 300, 100, 0.3, 300.0),
}
KEPT = {
    "spectra, white, k 4": family(smooth_parts, few, white, 4, 400, 80, 0.5, 0.1),
    "spectra, white, k 3, dense": family(smooth_parts, dirichlet, white, 3, 200, 60, 1.0, 0.05),
    "spectra, white, k 6": family(smooth_parts, few, white, 6, 800, 120, 0.4, 0.05),
    "sparse, white, k 4, small": family(sparse_parts, few, white, 4, 150, 50, 0.6, 0.1),
    "spectra, counts, k 4": family(smooth_parts, few, counts, 4, 400, 80, 0.5, 1000.0),
    "sparse, counts, k 5": family(sparse_parts, dirichlet, counts, 5, 600, 60, 0.4, 400.0),
}
