"""Posterior means of non-negative weights under a point mass at zero and an exponential: mean-field sweeps."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt

from partwise.kernels._jit import jit

Array = npt.NDArray[Any]

# from here on the asymptotic series of the hazard is exact to 1e-8, its variance to 3e-6, and no difference cancels
_FAR = 25.0


@jit
def _above_zero(mu: float, s: float) -> tuple[float, float, float]:
    """Mean, variance and hazard ``phi(a) / (1 - Phi(a))``, a = -mu/s, of a normal variable above zero."""
    a = -mu / s
    if a > _FAR:
        b = 1.0 / (a * a)
        excess = (1.0 - b * (2.0 - b * (10.0 - 74.0 * b))) / a  # hazard - a
        return s * excess, s * s * b * (1.0 - b * (6.0 - 50.0 * b)), a + excess
    hazard = math.exp(-0.5 * a * a) * 0.7978845608028654 / math.erfc(a * 0.7071067811865476)
    return mu + s * hazard, s * s * max(1.0 - hazard * (hazard - a), 0.0), hazard


@jit
def sweep(XHt: Array, HHt: Array, noise: Array, rate: float, share: float, sweeps: int, W: Array, V: Array) -> float:
    """Update the means ``W`` and variances ``V`` of all weights in place; return how many are expected above zero.

    Weight w of component j has the prior ``(1 - share) delta_0 + share Exp(rate)`` and, given the other weights, the
    likelihood N(b, s^2) with s^2 = noise / HHt[j, j].  The odds of w > 0 are ``share / (1 - share) rate s / hazard``:
    the ratio of the two marginal likelihoods, in which everything but the hazard cancels.
    """
    n, k = W.shape
    above = 0.0
    for i in range(n):
        for number in range(sweeps):
            for j in range(k):
                G = HHt[j, j]
                if G <= 0.0:
                    W[i, j] = 0.0
                    V[i, j] = 0.0
                    continue
                dot = 0.0
                for l in range(k):
                    dot += HHt[j, l] * W[i, l]
                s = math.sqrt(noise[i] / G)
                mean, variance, hazard = _above_zero(W[i, j] + (XHt[i, j] - dot) / G - rate * s * s, s)
                p = share * rate * s / (share * rate * s + (1.0 - share) * hazard)
                W[i, j] = p * mean
                V[i, j] = p * (variance + mean * mean) - W[i, j] * W[i, j]
                if number == sweeps - 1:
                    above += p
    return above
