"""The singular values of white noise: their law, its upper edge, and how well a spectrum agrees with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh, qr, svd
from scipy.special import ndtr

Array = npt.NDArray[Any]

CAP = 0.6  # of the shorter side: no more dimensions of signal than this, there is too little beside them to be noise
SLACK = 3.0  # Tracy-Widom units above the edge: two count noise now and then, three hardly ever
GRAM_EPS = 1e-10  # squares of singular values below this times the largest are lost in a Gram matrix
# the logarithm of the misfit of noise that was scaled by estimates is close to normal with mean CENTRE + GROWTH log q
# and deviation SPREAD: white, heteroscedastic and Poisson noise beside 2 to 10 parts, 12 x 60 to 300 x 900, 450 draws
# (eigenvalues are rigid, so it hardly grows with their number q)
CENTRE, GROWTH, SPREAD = -0.10, 0.205, 0.17


@dataclass(frozen=True)
class Spectrum:
    """A small matrix by its singular values, falling, and vectors."""

    values: Array
    left: Array
    right: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return len(self.left), self.right.shape[1]

    def residual(self, Y: Array, k: int) -> Array:
        """What is left of the matrix without its ``k`` leading directions."""
        return np.asarray(Y - (self.left[:, :k] * self.values[:k]) @ self.right[:k])

    def variance(self, k: int) -> float:
        """Variance of an entry of the noise, from what is left behind ``k`` directions."""
        n, m = self.shape
        return float((self.values[k:] ** 2).sum() / max((n - k) * (m - k), 1))

    def count(self) -> int:
        """Directions above the edge of noise as large as what they leave: the last above, not the first below."""
        (n, m), s = self.shape, self.values
        tails = np.cumsum((s**2)[::-1])[::-1]
        most = max(1, int(CAP * len(s)))
        above = [r for r in range(most) if s[r] ** 2 > tails[r] / ((n - r) * (m - r)) * edge(n - r, m - r)]
        return above[-1] + 1 if above else 0

    def colour(self, k: int) -> float:
        """The first singular value behind ``k`` directions over the end of the Marchenko-Pastur law of the rest."""
        n, m = self.shape
        variance = self.variance(k)
        if k >= len(self.values) or variance <= 0.0:
            return 1.0
        return float(self.values[k] / np.sqrt(variance) / (np.sqrt(n - k) + np.sqrt(m - k)))

    def misfit(self, k: int) -> float:
        """Kolmogorov's distance of what is left from the law of Marchenko and Pastur, times the number of values."""
        n, m = self.shape[0] - k, self.shape[1] - k
        q = min(n, m)
        if q < 1:
            return 0.0
        squares = np.sort(self.values[k : k + q] ** 2)
        law = _distribution(squares / max(float(squares.mean()), np.finfo(np.float64).tiny), q / max(n, m))
        i = np.arange(1, q + 1)
        return float(max(np.abs(q * law - i).max(), np.abs(q * law - i + 1).max()))

    def chance(self, k: int) -> float:
        """How often the singular values of white noise agree no better with their law."""
        found, q = self.misfit(k), min(self.shape) - k
        if found <= 0.0:
            return 1.0
        return float(ndtr(-(np.log(found) - CENTRE - GROWTH * np.log(max(q, 2))) / SPREAD))


def spectrum_of(Y: Array) -> Spectrum:
    """All singular values and vectors, by the Gram matrix of the shorter side where that loses nothing."""
    wide = Y.shape[0] < Y.shape[1]
    T = Y.T if wide else Y
    squares, V = eigh(T.T @ T, check_finite=False, driver="evd")
    if squares[0] > GRAM_EPS * squares[-1]:
        s = np.sqrt(squares[::-1])
        V = V[:, ::-1]
        U = T @ (V / s)
    else:
        Q, R = qr(T, mode="economic", check_finite=False)
        small, s, Vt = svd(R, check_finite=False)
        U, V = Q @ small, Vt.T
    left, right = (V, U.T) if wide else (U, V.T)
    return Spectrum(s, left, right)


def edge(n: float, m: float, slack: float = SLACK) -> float:
    """The square that no singular value of n x m white noise of variance one exceeds, but for chance.

    The upper end of the Marchenko-Pastur law and ``slack`` widths of the Tracy-Widom law above it (Johnstone 2001).
    """
    a, b = np.sqrt(max(n, 1.0)), np.sqrt(max(m, 1.0))
    return float((a + b) ** 2 + slack * (a + b) * (1.0 / a + 1.0 / b) ** (1.0 / 3.0))


def _distribution(x: Array, beta: float) -> Array:
    """Distribution function of Marchenko and Pastur's law of mean one and ratio ``beta``, by the trapezoid rule."""
    low, high = (1.0 - np.sqrt(beta)) ** 2, (1.0 + np.sqrt(beta)) ** 2
    # nodes that crowd at both ends, where the density has the shape of a root
    t = (low + high) / 2.0 - (high - low) / 2.0 * np.cos(np.linspace(0.0, np.pi, 4001))
    density = np.sqrt(np.maximum((high - t) * (t - low), 0.0)) / np.maximum(t, 1e-12)
    area = np.append(0.0, np.cumsum((density[1:] + density[:-1]) / 2.0 * np.diff(t)))
    return np.asarray(np.interp(x, t, area / area[-1], left=0.0, right=1.0))
