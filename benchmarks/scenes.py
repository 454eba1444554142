"""Generated scenes: smooth spectra, weights up to a purity, parts that vary in size and shape, white noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d

Array = npt.NDArray[Any]

APART = 8.0  # degrees between any two spectra at least


@dataclass(frozen=True)
class Scene:
    """What a scene is made of.

    Attributes
    ----------
    k : int
        Number of materials.
    purity : float
        No pixel has more of one material.
    concentration : float
        Of the Dirichlet law of the weights, before what is above the purity is given to the others.
    scale, shape : float
        By how much the size of a material's spectrum, and its shape, vary from pixel to pixel, relatively.
    snr : float
        In decibels.
    n, m : int
        Pixels and bands.
    """

    k: int = 4
    purity: float = 0.8
    concentration: float = 0.5
    scale: float = 0.0
    shape: float = 0.0
    snr: float = np.inf
    n: int = 4000
    m: int = 150

    def make(self, seed: int) -> tuple[Array, Array]:
        """The pixels and the true spectra."""
        rng = np.random.default_rng(seed)
        spectra = _library(rng, self.k, self.m)
        A = _capped(rng, rng.dirichlet([self.concentration] * self.k, self.n), self.purity)
        A *= rng.uniform(1.0 - self.scale, 1.0 + self.scale, A.shape)
        X = A @ spectra
        if self.shape:
            for j in range(self.k):
                modes = _smooth(rng, 3, self.m, self.m / 8)
                amounts = self.shape * np.array([1.0, 0.5, 0.25]) * rng.standard_normal((self.n, 3))
                X += A[:, [j]] * spectra[j] * (np.exp(np.clip(amounts @ modes, -1.0, 1.0)) - 1.0)
        if np.isfinite(self.snr):
            noise = np.sqrt((X**2).mean() / 10.0 ** (self.snr / 10.0))
            X = np.maximum(X + noise * rng.standard_normal(X.shape), 0.0)
        return X, spectra


def _smooth(rng: np.random.Generator, count: int, m: int, width: float) -> Array:
    """Random curves that change over so many bands, with deviation one."""
    margin = 4 * int(width) + 4
    curves = gaussian_filter1d(rng.standard_normal((count, m + 2 * margin)), width, axis=1)[:, margin : margin + m]
    return np.asarray(curves / curves.std(axis=1, keepdims=True))


def _library(rng: np.random.Generator, k: int, m: int) -> Array:
    """Positive spectra: broad shapes with some absorption lines, apart from each other."""
    found: list[Array] = []
    x = np.arange(m)
    while len(found) < k:
        s = np.exp(0.55 * _smooth(rng, 1, m, m / 8)[0] + 0.25 * _smooth(rng, 1, m, m / 20)[0])
        for _ in range(rng.integers(1, 5)):
            place, width = rng.uniform(0.0, m), rng.uniform(0.01, 0.06) * m
            s *= 1.0 - rng.uniform(0.1, 0.6) * np.exp(-0.5 * ((x - place) / width) ** 2)
        s *= rng.uniform(0.6, 1.4) / s.mean()
        cosines = [s @ t / (np.linalg.norm(s) * np.linalg.norm(t)) for t in found]
        if all(c < np.cos(np.radians(APART)) for c in cosines):
            found.append(s)
    return np.array(found)


def _capped(rng: np.random.Generator, A: Array, purity: float) -> Array:
    """What is above the purity goes to the other materials, at random."""
    n, k = A.shape
    largest = A.max(axis=1)
    others = rng.dirichlet(np.ones(k), n)
    others[np.arange(n), A.argmax(axis=1)] = 0.0
    others /= others.sum(axis=1, keepdims=True)
    share = np.maximum(largest - purity, 0.0) / largest
    return np.asarray(A * (1.0 - share[:, None]) + share[:, None] * others)
