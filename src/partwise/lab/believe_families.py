"""Families of mixtures whose number of parts is known: some that constants were chosen on, some that were kept aside.

A family draws its own sizes, so seeds differ in more than the noise.  `strength` says whether all parts can be seen
beside the noise: 1 is the least at which independent noise lets the weakest appear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import svdvals

Array = np.ndarray
Draw = Callable[[np.random.Generator], "Drawn"]


@dataclass(frozen=True, eq=False)
class Drawn:
    """A table, its parts, its weights, and how well the weakest part can be seen."""

    X: Array
    components: Array
    weights: Array
    strength: float


@dataclass(frozen=True)
class Family:
    """A way to draw tables.

    Parameters
    ----------
    name : str
        What it is called in tables.
    draw : callable
        ``draw(rng)``: a table.
    tuned : bool
        Whether constants of the library were chosen on it.
    independent : bool
        Whether its noise is of a kind that scales of rows and columns make one.
    """

    name: str
    draw: Draw
    tuned: bool
    independent: bool

    def drawn(self, seed: int) -> Drawn:
        """The table of a seed."""
        return self.draw(np.random.default_rng([seed, *self.name.encode()]))


# ---------------------------------------------------------------------------------------------------- signals
def sparse_parts(rng: np.random.Generator) -> tuple[Array, Array]:
    """Parts of few large entries, each in some of the samples."""
    n, m, k = _sizes(rng)
    H = rng.gamma(0.3, size=(k, m))
    W = rng.gamma(1.0, size=(n, k)) * (rng.random((n, k)) < min(1.0, 3.0 / k))
    W[~W.any(axis=1), 0] = 1.0
    return W, H


def smooth_parts(rng: np.random.Generator) -> tuple[Array, Array]:
    """Spectra of a few peaks over a background, mixed in proportions."""
    n, m, k = _sizes(rng)
    at, width = rng.uniform(0.0, 1.0, (k, 4)), rng.uniform(0.01, 0.06, (k, 4))
    x = np.linspace(0.0, 1.0, m)
    peaks = rng.gamma(2.0, size=(k, 4))[:, :, None] * np.exp(-0.5 * ((x - at[:, :, None]) / width[:, :, None]) ** 2)
    return rng.dirichlet(np.full(k, 0.4), n), peaks.sum(axis=1) + 0.05


def topics(rng: np.random.Generator) -> tuple[Array, Array]:
    """Topics over words of which few are frequent."""
    n, m, k = _sizes(rng)
    base = 1.0 / (1.0 + rng.permutation(m)) ** 0.8
    H = base * rng.gamma(0.4, size=(k, m)) + 0.02 * base
    return rng.dirichlet(np.full(k, 0.3), n), H / H.sum(axis=1, keepdims=True)


def clusters(rng: np.random.Generator) -> tuple[Array, Array]:
    """Samples of one part nearly alone, parts that differ in a fifth of their features."""
    n, m, k = _sizes(rng)
    W = 0.05 * rng.dirichlet(np.ones(k), n)
    W[np.arange(n), rng.integers(0, k, n)] += 1.0
    base = rng.gamma(0.7, size=m) + 0.05
    return W * rng.lognormal(0.0, 0.3, (n, 1)), base * np.where(
        rng.random((k, m)) < 0.2, rng.lognormal(0.5, 1.0, (k, m)), 1.0
    )


def unequal(rng: np.random.Generator) -> tuple[Array, Array]:
    """Overlapping blocks of features; each part is rarer than the one before."""
    n, m, k = _sizes(rng)
    H = np.full((k, m), 0.02)
    for row, first in zip(H, rng.integers(0, m - m // 4, k), strict=True):
        row[first : first + m // 4] = rng.uniform(0.5, 1.5, m // 4)
    W = rng.exponential(1.0, (n, k)) * (rng.random((n, k)) < np.maximum(0.85 ** np.arange(k), 0.3))
    W[~W.any(axis=1), 0] = 1.0
    return W, H


def _sizes(rng: np.random.Generator) -> tuple[int, int, int]:
    n, m = int(rng.integers(120, 600)), int(rng.integers(50, 260))
    return n, m, int(rng.integers(2, 11))


# ---------------------------------------------------------------------------------------------------- noise
def _strength(S: Array, k: int) -> float:
    """Of the weakest of k parts, noise having variance one."""
    return float(svdvals(S)[k - 1] / (S.shape[0] * S.shape[1]) ** 0.25)


def _level(S: Array, rng: np.random.Generator) -> float:
    """A size of noise: of some draws the weakest part is hardly seen, of some it is strong."""
    return float(np.sqrt(np.mean(S**2)) * np.exp(rng.uniform(np.log(0.03), np.log(1.0))))


def gaussian(signal: Any, rows: float, columns: float, law: str = "normal") -> Draw:
    """Independent noise whose size differs between rows and columns by these logarithmic deviations."""

    def draw(rng: np.random.Generator) -> Drawn:
        W, H = signal(rng)
        S = W @ H
        a = np.exp(rows * rng.standard_normal(len(S)))[:, None]
        b = np.exp(columns * rng.standard_normal(S.shape[1]))
        size = _level(S, rng) * a * b
        E = rng.standard_normal(S.shape) if law == "normal" else rng.laplace(scale=0.5**0.5, size=S.shape)
        return Drawn(S + size * E, H, W, _strength(S / size, len(H)))

    return draw


def counted(
    signal: Any, phi: float, depth: float, spread: float = 0.0, change: Callable[[Array], Array] | None = None
) -> Draw:
    """Counts of about so many a sample, of extra dispersion phi; possibly changed by a function of the table."""

    def draw(rng: np.random.Generator) -> Drawn:
        W, H = signal(rng)
        S = W @ H
        total = depth * S.shape[1] * np.exp(rng.uniform(-1.5, 1.5) + spread * rng.standard_normal((len(S), 1)))
        S = total * S / S.sum(axis=1, keepdims=True)
        mean = S * rng.gamma(1.0 / phi, phi, S.shape) if phi else S
        X = rng.poisson(mean).astype(float)
        V = S + phi * S * S
        u, v = V.mean(axis=1, keepdims=True), V.mean(axis=0)
        strength = _strength(S / np.sqrt(u * v / V.mean()), len(H))
        kept = X.any(axis=1)
        X, W = X[kept][:, X.any(axis=0)], W[kept]
        return Drawn(X if change is None else change(X), H, W, strength)

    return draw


def dependent(signal: Any, along: str, correlation: float) -> Draw:
    """Autocorrelated noise, along features or along samples."""

    def draw(rng: np.random.Generator) -> Drawn:
        W, H = signal(rng)
        S = W @ H
        E = rng.standard_normal(S.shape if along == "features" else S.shape[::-1])
        for j in range(1, E.shape[1]):
            E[:, j] = correlation * E[:, j - 1] + np.sqrt(1.0 - correlation**2) * E[:, j]
        E = _level(S, rng) * (E if along == "features" else E.T)
        # seen, if above all of the noise: sqrt(n) + sqrt(m) is where white noise of this size ends
        edge = svdvals(E)[0] / (np.sqrt(S.shape[0]) + np.sqrt(S.shape[1]))
        return Drawn(S + E, H, W, _strength(S / edge, len(H)))

    return draw


def heavy(signal: Any, contaminated: float = 0.0) -> Draw:
    """Noise of Student's law with three degrees of freedom, or normal with a share of entries far off."""

    def draw(rng: np.random.Generator) -> Drawn:
        W, H = signal(rng)
        S = W @ H
        if contaminated:
            E = rng.standard_normal(S.shape) * np.where(rng.random(S.shape) < contaminated, 12.0, 1.0)
        else:
            E = rng.standard_t(3.0, S.shape)
        E = 0.5 * _level(S, rng) * E
        edge = svdvals(E)[0] / (np.sqrt(S.shape[0]) + np.sqrt(S.shape[1]))
        return Drawn(S + E, H, W, _strength(S / edge, len(H)))

    return draw


def repeated(signal: Any, share: float) -> Draw:
    """White noise, and a share of the samples twice."""
    plain = gaussian(signal, 0.0, 0.0)

    def draw(rng: np.random.Generator) -> Drawn:
        found = plain(rng)
        more = rng.choice(len(found.X), int(share * len(found.X)))
        order = rng.permutation(len(found.X) + len(more))
        X, W = (np.vstack([table, table[more]])[order] for table in (found.X, found.weights))
        return Drawn(X, found.components, W, found.strength)

    return draw


def blurred(signal: Any) -> Draw:
    """Noise that was averaged over two neighbours, among features and among samples."""

    def draw(rng: np.random.Generator) -> Drawn:
        W, H = signal(rng)
        S = W @ H
        E = rng.standard_normal((S.shape[0] + 1, S.shape[1] + 1))
        E = _level(S, rng) * (E[1:, 1:] + E[:-1, 1:] + E[1:, :-1] + E[:-1, :-1]) / 2.0
        edge = svdvals(E)[0] / (np.sqrt(S.shape[0]) + np.sqrt(S.shape[1]))
        return Drawn(S + E, H, W, _strength(S / edge, len(H)))

    return draw


def multiplied(signal: Any) -> Draw:
    """Every entry off by a factor of its own."""

    def draw(rng: np.random.Generator) -> Drawn:
        W, H = signal(rng)
        S = W @ H
        E = S * np.expm1(np.exp(rng.uniform(np.log(0.03), np.log(0.4))) * rng.standard_normal(S.shape))
        edge = svdvals(E)[0] / (np.sqrt(S.shape[0]) + np.sqrt(S.shape[1]))
        return Drawn(S + E, H, W, _strength(S / edge, len(H)))

    return draw


def lost(X: Array) -> Array:
    """Counts of which every fifth was not seen at all."""
    return np.asarray(X * (np.random.default_rng(X.size).random(X.shape) < 0.8))


def tf_idf(X: Array) -> Array:
    """Logarithmic tf-idf, rows of unit length."""
    T = np.log1p(X) * np.log(len(X) / np.maximum((X > 0.0).sum(axis=0), 1.0))
    lengths = np.linalg.norm(T, axis=1, keepdims=True)
    return np.asarray(T / np.where(lengths > 0.0, lengths, 1.0))


def log_of_shares(X: Array) -> Array:
    """log(1 + 10,000 times the share)."""
    return np.asarray(np.log1p(1e4 * X / X.sum(axis=1, keepdims=True)))


FAMILIES: tuple[Family, ...] = (
    Family("white", gaussian(sparse_parts, 0.0, 0.0), tuned=True, independent=True),
    Family("rows", gaussian(sparse_parts, 0.5, 0.0), tuned=True, independent=True),
    Family("columns", gaussian(sparse_parts, 0.0, 0.7), tuned=True, independent=True),
    Family("rows and columns", gaussian(sparse_parts, 0.4, 0.5), tuned=True, independent=True),
    Family("Poisson", counted(sparse_parts, 0.0, 3.0), tuned=True, independent=True),
    Family("over-dispersed", counted(sparse_parts, 0.1, 8.0), tuned=True, independent=True),
    Family("autocorrelated", dependent(sparse_parts, "features", 0.7), tuned=True, independent=False),
    Family("heavy tails", heavy(sparse_parts), tuned=True, independent=False),
    Family("log1p", counted(sparse_parts, 0.1, 8.0, change=np.log1p), tuned=True, independent=False),
    Family("square root", counted(sparse_parts, 0.0, 5.0, change=np.sqrt), tuned=True, independent=False),
    Family("tf-idf", counted(sparse_parts, 0.0, 1.0, change=tf_idf), tuned=True, independent=False),
    Family("duplicates", repeated(sparse_parts, 0.3), tuned=True, independent=False),
    Family("spectra, white", gaussian(smooth_parts, 0.0, 0.0), tuned=True, independent=True),
    Family("spectra, by band", gaussian(smooth_parts, 0.0, 0.5), tuned=True, independent=True),
    Family("topics, Laplace", gaussian(topics, 0.3, 0.3, "laplace"), tuned=True, independent=True),
    Family("topics, Poisson", counted(topics, 0.0, 3.0, spread=0.4), tuned=True, independent=True),
    Family("spectra, counted", counted(smooth_parts, 0.2, 20.0), tuned=True, independent=True),
    Family("spectra, drifting", dependent(smooth_parts, "samples", 0.6), tuned=True, independent=False),
    Family("spectra, smoothed", dependent(smooth_parts, "features", 0.5), tuned=True, independent=False),
    Family("topics, contaminated", heavy(topics, 0.01), tuned=True, independent=False),
    Family("topics, log of shares", counted(topics, 0.05, 8.0, change=log_of_shares), tuned=True, independent=False),
    Family("spectra, square root", counted(smooth_parts, 0.0, 5.0, change=np.sqrt), tuned=True, independent=False),
    Family("topics, tf-idf", counted(topics, 0.0, 1.0, change=tf_idf), tuned=True, independent=False),
    Family("topics, duplicates", repeated(topics, 0.5), tuned=True, independent=False),
    # not looked at before constants were fixed
    Family("clusters, white", gaussian(clusters, 0.0, 0.0), tuned=False, independent=True),
    Family("clusters, over-dispersed", counted(clusters, 0.3, 6.0, spread=0.3), tuned=False, independent=True),
    Family("unequal, by rows and columns", gaussian(unequal, 0.3, 0.4), tuned=False, independent=True),
    Family("unequal, Poisson", counted(unequal, 0.0, 2.0), tuned=False, independent=True),
    Family("unequal, blurred", blurred(unequal), tuned=False, independent=False),
    Family("unequal, multiplied", multiplied(unequal), tuned=False, independent=False),
    Family("clusters, counts lost", counted(clusters, 0.1, 6.0, change=lost), tuned=False, independent=False),
    Family(
        "clusters, log of shares", counted(clusters, 0.1, 8.0, change=log_of_shares), tuned=False, independent=False
    ),
    Family("clusters, tf-idf", counted(clusters, 0.0, 2.0, change=tf_idf), tuned=False, independent=False),
    Family("unequal, heavy tails", heavy(unequal), tuned=False, independent=False),
)
