"""Posterior means of non-negative weights under a point mass at zero and a truncated normal: mean-field sweeps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
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
def _log_constant(a: float) -> float:
    """``-log(sqrt(2 pi) (1 - Phi(a)))``; far out of its asymptotic series."""
    if a > _FAR:
        b = 1.0 / (a * a)
        return 0.5 * a * a + math.log(a) - math.log1p(-b * (1.0 - b * (3.0 - 15.0 * b)))
    return math.log(0.7978845608028654 / math.erfc(a * 0.7071067811865476))


@jit
def sweep_parts(
    XHt: Array, HHt: Array, noise: Array, prior: Array, sweeps: int, W: Array, V: Array, above: Array
) -> float:
    """Update the means ``W`` and variances ``V`` of all weights in place; return their divergence from the prior.

    Weight w of component j has the prior ``(1 - share) delta_0 + share exp(-rate w - bend w^2 / 2 - size)``, a normal
    above zero or, without a bend, an exponential, whose four numbers are ``prior[j]``.  Given the other weights its
    likelihood is N(b, noise / HHt[j, j]), so its posterior above zero is the normal N(mu, s^2), and the odds of w > 0
    are ``share / (1 - share) exp(-size) s / hazard``, the hazard being ``phi(mu/s) / Phi(mu/s)``: the ratio of the two
    marginal likelihoods, in which everything else cancels.  How many weights of each component are expected above zero
    is added to ``above``.
    """
    n, k = W.shape
    divergence = 0.0
    for i in range(n):
        for number in range(sweeps):
            for j in range(k):
                G = HHt[j, j]
                if G <= 0.0:
                    W[i, j] = 0.0
                    V[i, j] = 0.0
                    continue
                share, rate, bend, size = prior[j, 0], prior[j, 1], prior[j, 2], prior[j, 3]
                dot = 0.0
                for l in range(k):
                    dot += HHt[j, l] * W[i, l]
                s2 = noise[i] / (G + bend * noise[i])
                s = math.sqrt(s2)
                mu = s2 * ((G * W[i, j] + XHt[i, j] - dot) / noise[i] - rate)
                mean, variance, _ = _above_zero(mu, s)
                # in logarithms: a narrow prior far from zero has a size of thousands
                constant = _log_constant(-mu / s) - math.log(s)
                log_odds = math.log(share / (1.0 - share)) - size + 0.5 * mu * mu / s2 - constant
                p = 1.0 / (1.0 + math.exp(-log_odds)) if log_odds > -700.0 else 0.0
                W[i, j] = p * mean
                V[i, j] = p * (variance + mean * mean) - W[i, j] * W[i, j]
                if number == sweeps - 1:
                    above[j] += p
                    if p < 1.0:
                        divergence += (1.0 - p) * math.log((1.0 - p) / (1.0 - share))
                    if p > 0.0:
                        # E log q above zero, and minus E log of the prior there
                        slab = constant - 0.5 * ((mean - mu) ** 2 + variance) / s2
                        slab += size + rate * mean + 0.5 * bend * (mean * mean + variance)
                        divergence += p * (math.log(p / share) + slab)
    return divergence


@jit
def normal_above_zero(mean: float, variance: float) -> tuple[float, float, float]:
    """Rate, bend and size of the likeliest density ``exp(-rate w - bend w^2 / 2 - size)``, w > 0, for these moments.

    A normal above zero whose moments are these; of a variance of mean^2 or more no such normal has them, and the
    exponential is the likeliest of all.
    """
    ratio = variance / (mean * mean)
    low, high = -1e3, _FAR
    if ratio < 1e-6:  # narrower than a thousandth: numbers that are all the same, within rounding
        ratio = 1e-6
    m, v, _ = _above_zero(-high, 1.0)
    if ratio >= v / (m * m):
        return 1.0 / mean, 0.0, math.log(mean)
    for _ in range(60):  # the ratio rises with a = -mu / s
        a = 0.5 * (low + high)
        m, v, _ = _above_zero(-a, 1.0)
        if v < ratio * m * m:
            low = a
        else:
            high = a
    a = 0.5 * (low + high)
    m, v, _ = _above_zero(-a, 1.0)
    s = mean / m
    # exp(-(w - mu)^2 / 2 s^2) / (s sqrt(2 pi) (1 - Phi(a))), mu = -a s
    return a / s, 1.0 / (s * s), math.log(s) + 0.5 * a * a - _log_constant(a)


@jit
def sweep(XHt: Array, HHt: Array, noise: Array, rate: float, share: float, sweeps: int, W: Array, V: Array) -> float:
    """`sweep_parts` with an exponential of one rate for all; returns how many weights are expected above zero."""
    k = W.shape[1]
    above = np.zeros(k)
    prior = np.empty((k, 4))
    for j in range(k):
        prior[j, 0], prior[j, 1], prior[j, 2], prior[j, 3] = share, rate, 0.0, -math.log(rate)
    sweep_parts(XHt, HHt, noise, prior, sweeps, W, V, above)
    return float(above.sum())
