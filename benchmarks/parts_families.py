"""Mixtures of many sorts with a known truth, for which method is right for which.

``TUNED`` families were looked at while the rule of :class:`partwise.Parts` was made. ``KEPT`` ones were not, until
their first result (20 of 26 cells) lowered one limit: within how many standard errors the likeliest parts of counts
are those of Bayes, from 2 to 1. ``FRESH`` ones were written after that and have changed nothing. In ``DENSE`` ones
every part is in every sample, and readings below zero are cut off: tables like these (seeds 7 to 41) showed that
averages under small noise stay where they begin, and that noise that is cut off was taken for noise that samples share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Generator = np.random.Generator


class Case(NamedTuple):
    """A table and its parts."""

    X: Array
    H: Array


# --- parts ------------------------------------------------------------------------------------------------------


def sparse(rng: Generator, k: int, m: int) -> Array:
    """Most entries are next to nothing."""
    return rng.gamma(0.3, size=(k, m))


def zeros(rng: Generator, k: int, m: int) -> Array:
    """Most entries are zero."""
    H = rng.gamma(1.0, size=(k, m)) * (rng.random((k, m)) < 0.3)
    H[:, :k] += np.eye(k)  # none is empty
    return H


def full(rng: Generator, k: int, m: int) -> Array:
    """No entry is near zero: parts say nothing of themselves."""
    return rng.random((k, m)) + 0.3


def spectra(rng: Generator, k: int, m: int) -> Array:
    """Peaks on a line, over a background."""
    x = np.linspace(0.0, 1.0, m)
    H = np.full((k, m), 0.05)
    for h in H:
        for _ in range(4):
            h += rng.gamma(2.0) * np.exp(-0.5 * ((x - rng.random()) / rng.uniform(0.02, 0.1)) ** 2)
    return H


def signed(rng: Generator, k: int, m: int) -> Array:
    """Parts of both signs."""
    return rng.standard_normal((k, m))


def close(rng: Generator, k: int, m: int) -> Array:
    """Parts that have much in common."""
    return 0.5 * rng.gamma(0.5, size=(1, m)) + rng.gamma(0.3, size=(k, m))


# --- weights ----------------------------------------------------------------------------------------------------


def few(rng: Generator, n: int, k: int) -> Array:
    """About three parts in a sample, in amounts of all sizes."""
    W = rng.gamma(1.0, size=(n, k)) * (rng.random((n, k)) < min(0.7, 3.0 / k))
    W[~W.any(axis=1), 0] = 1.0
    return W


def pure(rng: Generator, n: int, k: int) -> Array:
    """Shares, most samples nearly of one part."""
    return rng.dirichlet([0.15] * k, n)


def mixed(rng: Generator, n: int, k: int) -> Array:
    """Shares, with few zeros and hardly a pure sample."""
    return rng.dirichlet([0.6] * k, n)


def capped(rng: Generator, n: int, k: int) -> Array:
    """Shares, none above 0.8."""
    W = np.vstack([rng.dirichlet([0.4] * k, n) for _ in range(20)])
    return W[W.max(axis=1) < 0.8][:n]


def counts_of(rng: Generator, n: int, k: int) -> Array:
    """As `few`, and samples differ tenfold in size."""
    return few(rng, n, k) * np.exp(rng.standard_normal((n, 1)))


def dense(rng: Generator, n: int, k: int) -> Array:
    """Every part in every sample, of some next to nothing."""
    return rng.exponential(size=(n, k))


def even(rng: Generator, n: int, k: int) -> Array:
    """Every part in every sample, in amounts that differ little."""
    return rng.gamma(3.0, size=(n, k))


# --- noise ------------------------------------------------------------------------------------------------------


def exact(rng: Generator, W: Array, H: Array, level: float) -> Array:
    """None."""
    return W @ H


def white(rng: Generator, W: Array, H: Array, level: float) -> Array:
    """Of one size, relative to the data."""
    S = W @ H
    return S + level * np.sqrt((S**2).mean()) * rng.standard_normal(S.shape)


def positive(rng: Generator, W: Array, H: Array, level: float) -> Array:
    """White, and what is below zero is cut off, as detectors do."""
    return np.maximum(white(rng, W, H, level), 0.0)


def by_column(rng: Generator, W: Array, H: Array, level: float) -> Array:
    """Of another size in every feature."""
    S = W @ H
    size = level * np.sqrt((S**2).mean()) * np.exp(0.7 * rng.standard_normal(S.shape[1]))
    return S + size * rng.standard_normal(S.shape)


def poisson(rng: Generator, W: Array, H: Array, level: float) -> Array:
    """Counts, so many in a sample on average."""
    S = W @ H
    return rng.poisson(S * level / S.sum(axis=1).mean()).astype(float)


def dispersed(rng: Generator, W: Array, H: Array, level: float) -> Array:
    """Counts that vary more."""
    S = W @ H
    return rng.poisson(S * level / S.sum(axis=1).mean() * rng.gamma(10.0, 0.1, S.shape)).astype(float)


def correlated(rng: Generator, W: Array, H: Array, level: float) -> Array:
    """Neighbouring features have similar noise."""
    S = W @ H
    E = rng.standard_normal(S.shape)
    for j in range(1, E.shape[1]):
        E[:, j] = 0.7 * E[:, j - 1] + np.sqrt(0.51) * E[:, j]
    return S + level * np.sqrt((S**2).mean()) * E


def varying(rng: Generator, W: Array, H: Array, level: float) -> Array:
    """Every sample has parts of its own shape, and there is a little white noise."""
    n, (k, m) = len(W), H.shape
    basis = np.array([np.cos(np.pi * q * np.linspace(0.0, 1.0, m)) for q in range(1, 6)])
    X = np.zeros((n, m))
    for j in range(k):
        X += W[:, [j]] * H[j] * np.exp(level * rng.standard_normal((n, 5)) @ basis)
    return np.maximum(X + 0.01 * np.sqrt((X**2).mean()) * rng.standard_normal(X.shape), 0.0)


def heavy(rng: Generator, W: Array, H: Array, level: float) -> Array:
    """Mostly small, sometimes large."""
    S = W @ H
    return S + level * np.sqrt((S**2).mean()) * rng.standard_t(2.5, S.shape)


def family(
    parts: Callable[..., Array], weights: Callable[..., Array], noise: Callable[..., Array],
    k: int, n: int, m: int, level: float = 0.0,
) -> tuple[str, Callable[[int], Case]]:  # fmt: skip
    """A name, and a case for every seed."""

    def make(seed: int) -> Case:
        rng = np.random.default_rng(seed)
        H = parts(rng, k, m)
        return Case(noise(rng, weights(rng, n, k), H, level), H)

    return f"{parts.__name__}, {weights.__name__}, {noise.__name__} {level:g}, k {k}, {n} x {m}", make


TUNED = dict(
    [
        family(sparse, few, exact, 6, 400, 60),
        family(full, few, exact, 6, 400, 60),
        family(full, mixed, exact, 4, 400, 60),
        family(signed, few, exact, 5, 400, 60),
        family(zeros, mixed, exact, 5, 400, 60),
        family(sparse, few, white, 6, 400, 100, 0.1),
        family(sparse, few, white, 6, 400, 100, 0.5),
        family(sparse, few, white, 6, 400, 100, 1.5),
        family(full, few, white, 5, 400, 60, 0.03),
        family(full, few, white, 5, 400, 60, 0.15),
        family(full, pure, white, 5, 400, 60, 0.1),
        family(signed, few, white, 5, 400, 60, 0.2),
        family(zeros, mixed, white, 5, 400, 60, 0.1),
        family(spectra, mixed, white, 4, 400, 80, 0.05),
        family(spectra, capped, white, 4, 400, 80, 0.02),
        family(spectra, pure, positive, 4, 400, 80, 0.1),
        family(sparse, few, by_column, 6, 400, 100, 0.3),
        family(full, few, by_column, 4, 400, 60, 0.1),
        family(sparse, few, poisson, 6, 400, 100, 500.0),
        family(sparse, counts_of, poisson, 8, 400, 100, 2000.0),
        family(full, pure, poisson, 4, 400, 60, 500.0),
        family(close, mixed, poisson, 4, 400, 80, 1000.0),
        family(sparse, few, dispersed, 6, 400, 100, 1000.0),
        family(sparse, few, correlated, 6, 400, 100, 0.15),
        family(spectra, mixed, correlated, 4, 400, 80, 0.1),
        family(spectra, pure, varying, 4, 600, 80, 0.08),
        family(spectra, mixed, varying, 4, 600, 80, 0.05),
        family(full, few, varying, 5, 600, 60, 0.08),
        family(sparse, few, heavy, 6, 400, 100, 0.1),
        family(close, few, white, 6, 400, 80, 0.1),
        family(sparse, few, white, 15, 800, 120, 0.2),
    ]
)
KEPT = dict(
    [
        family(zeros, few, exact, 8, 300, 50),
        family(full, pure, exact, 4, 300, 40),
        family(close, few, exact, 5, 500, 50),
        family(zeros, few, white, 4, 200, 80, 0.3),
        family(close, few, white, 5, 500, 60, 0.3),
        family(zeros, pure, white, 8, 500, 80, 1.0),
        family(spectra, few, white, 6, 500, 120, 0.1),
        family(full, few, positive, 4, 500, 50, 0.05),
        family(signed, few, white, 4, 300, 80, 0.05),
        family(signed, pure, white, 6, 500, 80, 0.5),
        family(spectra, few, by_column, 5, 300, 100, 0.2),
        family(zeros, few, by_column, 4, 500, 60, 0.6),
        family(zeros, few, poisson, 5, 300, 80, 200.0),
        family(close, counts_of, poisson, 5, 500, 100, 3000.0),
        family(spectra, few, poisson, 4, 300, 100, 1000.0),
        family(full, few, poisson, 4, 500, 40, 5000.0),
        family(zeros, counts_of, dispersed, 5, 500, 80, 2000.0),
        family(zeros, few, correlated, 5, 500, 80, 0.3),
        family(close, pure, correlated, 4, 400, 60, 0.1),
        family(close, pure, varying, 4, 500, 80, 0.1),
        family(spectra, capped, varying, 3, 800, 80, 0.03),
        family(zeros, few, varying, 5, 500, 60, 0.1),
        family(zeros, few, heavy, 5, 400, 80, 0.15),
        family(spectra, pure, heavy, 4, 400, 80, 0.05),
        family(sparse, few, white, 20, 1000, 150, 0.1),
        family(sparse, mixed, poisson, 3, 150, 200, 2000.0),
    ]
)
FRESH = dict(
    [
        family(sparse, pure, exact, 5, 250, 60),
        family(spectra, few, exact, 5, 300, 70),
        family(sparse, pure, white, 5, 350, 90, 0.4),
        family(zeros, few, white, 10, 600, 90, 0.2),
        family(full, few, white, 3, 300, 80, 0.08),
        family(spectra, pure, white, 5, 500, 100, 0.15),
        family(close, few, positive, 4, 300, 70, 0.1),
        family(signed, few, by_column, 4, 400, 60, 0.2),
        family(sparse, pure, by_column, 5, 300, 80, 0.4),
        family(full, pure, by_column, 4, 300, 50, 0.15),
        family(zeros, pure, poisson, 6, 400, 70, 300.0),
        family(sparse, few, poisson, 10, 600, 96, 1500.0),
        family(full, pure, poisson, 3, 600, 50, 2000.0),
        family(sparse, pure, dispersed, 4, 300, 90, 800.0),
        family(sparse, pure, correlated, 5, 500, 100, 0.2),
        family(spectra, pure, varying, 5, 700, 100, 0.06),
        family(full, pure, varying, 4, 500, 70, 0.1),
        family(sparse, few, heavy, 4, 300, 60, 0.2),
    ]
)
DENSE = dict(
    [
        family(parts, weights, positive, k, n, m, level)
        for (parts, k, n, m) in ((zeros, 5, 300, 60), (sparse, 4, 350, 80), (spectra, 4, 300, 90), (full, 4, 400, 50))
        for weights in (dense, even)
        for level in (0.005, 0.05, 0.3)
    ]
)
