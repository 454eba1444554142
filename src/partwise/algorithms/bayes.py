"""Empirical-Bayes refinement of components under heavy noise, by variational expectation-maximisation.

Where noise is as large as the data, least squares fits the noise: it makes the parts worse, the more so the longer it
runs.  Here the weights are not estimated but averaged over what the noise leaves open, and the components are drawn
to their common profile as far as the noise demands it.  Nothing has to be chosen; with x_i = w_i H + noise,

- noise of each entry ~ N(0, sigma^2), sigma^2 from what lies outside the singular vectors that rise above noise, larger
  for records that lie much farther outside than most, so that no single record moves the parts;
- weights ~ (1 - pi) delta_0 + pi Exp(rate), with pi and the rate fitted;
- entries of a component ~ N(those of the mean record, tau^2), with tau^2 fitted by marginal likelihood.

Wang & Stephens (2021), "Empirical Bayes matrix factorization", is the general idea; Gavish & Donoho (2017), "Optimal
shrinkage of singular values", the start.  Weights factorise in the posterior (mean field), the components do not.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from partwise.algorithms.loop import Progress, Stages, State
from partwise.kernels.bayes import sweep
from partwise.linalg.nnls import Gram, decode_block
from partwise.linalg.svd import truncated_svd
from partwise.outcomes import CHANGE, Stop
from partwise.sources import RowSource, add, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

SWEEPS = 2  # over the weights of a record in a pass; they are kept from pass to pass, so few will do
FARTHER = 2.0  # a record this many times noisier than the median weighs less
SHARES = 1e-3  # share of weights above zero, and of those at zero, at least
LOST = 1e-6  # a component of whose sum less than this is left is no longer there
TINY = float(np.finfo(float).tiny)
SPREAD = 1e-12  # eigenvalues of second moments below this times the largest are rounding
# share of the squares of the signal that is negative, from which parts have both signs; noise alone makes less
BOTH_SIGNS = 0.02
NOISELESS = 1e-12  # noise relative to the data, in squares, below which it may be rounding


@dataclass(frozen=True)
class Noise:
    """The noise of the data, and the directions that rise above it.

    Attributes
    ----------
    variance : float
        Of an entry.
    basis : ndarray of shape (r, n_features)
        Leading right singular vectors.
    shrinkage : ndarray of shape (r,)
        What is left of each singular value when the noise in it is removed, 0 for those that noise alone would give.
    """

    variance: float
    basis: Array
    shrinkage: Array

    def remove(self, H: Array) -> Array:
        """Records or their means without the noise that can be told from the signal; non-negative."""
        return np.asarray(np.maximum((H @ self.basis.T * self.shrinkage) @ self.basis, 0.0))


def find_noise(source: RowSource, k: int, *, squared_norm: float, rng: np.random.Generator) -> Noise:
    """Noise outside the singular vectors that stand out of it; for white noise, the edge is sqrt(n) + sqrt(m)."""
    n, m = source.shape
    values, basis = truncated_svd(source, k, rng=rng)
    # noise takes part in the leading singular values too, so those below its edge are counted as noise
    r = min(k, n - 1, m - 1)
    while True:
        variance = max(squared_norm - float((values[:r] ** 2).sum()), 0.0) / max(1, (n - r) * (m - r))
        above = int((values[:r] > np.sqrt(variance) * (np.sqrt(n) + np.sqrt(m))).sum())
        if above == r:
            break
        r = above
    if variance * n * m <= max(NOISELESS, 10.0 * float(np.finfo(source.dtype).eps)) * squared_norm:
        return Noise(0.0, basis, np.ones(k))
    ratio = min(n, m) / max(n, m)
    y2 = (values / np.sqrt(variance * max(n, m))) ** 2
    kept = np.sqrt(np.maximum((y2 - ratio - 1.0) ** 2 - 4.0 * ratio, 0.0)) / np.maximum(y2, TINY)
    return Noise(variance, basis, np.where(np.arange(k) < r, kept, 0.0))


def negative_signal(source: RowSource, k: int, *, squared_norm: float) -> float:
    """Share of the squares of the signal, in k dimensions, that is negative: more than noise can have made so.

    Parameters
    ----------
    k : int
        Dimensions of the signal at most; those that do not stand above noise are left out.

    Returns
    -------
    float
        From 0 to 1; what the noise of so many dimensions has is taken off.
    """
    n, m = source.shape
    noise = find_noise(source, k, squared_norm=squared_norm, rng=np.random.default_rng(0))
    r = int((noise.shrinkage > 0.0).sum())
    below, total = source.reduce(partial(_below_block, basis=np.ascontiguousarray(noise.basis[:r], source.dtype)))
    return float(max(0.0, below - noise.variance * r * (n + m - r)) / total) if total > 0.0 else 0.0


@dataclass(frozen=True)
class Posterior:
    """What is known after a pass: components that sum to one, how sure they are, and the priors.

    Attributes
    ----------
    H : ndarray of shape (k, n_features)
        Means of the components.
    C : ndarray of shape (k, k)
        Covariance of the k entries of a feature, the same for all features.
    rate, share : float
        Prior of the weights.
    scale : ndarray of shape (k,)
        What the weights of the pass before are multiplied by: the components were divided by it.
    spread : float
        tau, the standard deviation of components around the common profile.
    """

    H: Array
    C: Array
    rate: float
    share: float
    scale: Array
    spread: float = np.nan


def refine(
    source: RowSource,
    H0: Array,
    *,
    squared_norm: float,
    rng: np.random.Generator,
    tol: float = 0.0,
    state: State | None = None,
) -> Stages:
    """Iterations from the components ``H0``, which are shrunk to the signal first.

    Parameters
    ----------
    source : RowSource
        The data; entries may be negative.
    H0 : ndarray of shape (k, n_features)
        Non-negative components; those of zeros stay zero.
    tol : float
        Stop when the components, which sum to one, change by less on average.
    state : mapping, optional
        Of an iteration of an earlier run from this start with this randomness: the first iteration is the next one.

    Yields
    ------
    Progress
        ``objective`` is the expected squared residual and ``residual`` the mean change of a component in the 1-norm.
    """
    n = source.shape[0]
    alive = H0.sum(axis=1) > 0.0
    k = int(alive.sum())
    if state is None:
        yield Progress(H0, squared_norm, np.inf, state={"pass": 0})
    if not k:
        return Stop("settled", cause="nothing-to-refine")
    noise = find_noise(source, k, squared_norm=squared_norm, rng=rng)
    if noise.variance == 0.0:
        return Stop("settled", cause="noiseless")
    profile = np.maximum(source.reduce(_total_block), 0.0)
    profile = _unit_sums(profile if profile.any() else H0.mean(axis=0))[0]
    variances = _record_noise(source, noise)
    number, change = (0, np.inf) if state is None else (int(state["pass"]), float(state.get("change", np.inf)))
    if state is None or not number:
        H = noise.remove(H0[alive])
        lost = H.sum(axis=1) <= LOST * H0[alive].sum(axis=1)
        H[lost] = profile
        H = _unit_sums(H)
        W, total = source.map_rows(partial(_first_block, gram=Gram.of(H, source.dtype)), width=k, combine=add)
        now = Posterior(H, np.zeros((k, k)), 0.5 * n * k / max(total, TINY), 0.5, np.ones(k))
    else:
        W = source.place(np.array(state["W"], order="C"))  # a copy: passes write over it
        now = Posterior(**{part.name: _plain(state[part.name]) for part in fields(Posterior)})
    while not change <= tol:
        pass_ = partial(_weights_block, now=now, variance=noise.variance)
        W, statistics = source.map_rows(pass_, W, variances, width=k, combine=add, out=W)
        new = _update(statistics, profile, noise.variance, n)
        change, number = float(np.abs(new.H - now.H).sum() / k), number + 1
        now = new
        components = np.zeros(H0.shape)
        components[alive] = now.H
        details = {"noise": float(np.sqrt(noise.variance)), "active": k * now.share, "spread": now.spread}
        kept = {"pass": number, "change": change, "W": source.deliver(W), **vars(now)}
        yield Progress(components, float(statistics[4]), change, details=details, state=kept)
    return Stop("converged", change, tol, measure=CHANGE)


def _plain(value: Any) -> Any:
    """An array, or the number that a file made an array of."""
    return np.asarray(value) if np.ndim(value) else float(value)


def _update(statistics: tuple[Any, ...], profile: Array, variance: float, n: int) -> Posterior:
    """The maximisation step: components given the moments of the weights, then the priors."""
    WW, WX, total, above, _ = statistics
    H, C, spread = shrunken(WW / variance, WX / variance, profile)
    H[H.sum(axis=1) <= LOST] = profile  # of a component that nothing is left of
    scale = H.sum(axis=1)
    share = float(np.clip(above / (n * len(H)), SHARES, 1.0 - SHARES))
    # the mean of what the weights will be once the components sum to one
    rate = float(above / max(float(total @ scale), TINY))
    return Posterior(H / scale[:, None], C / np.outer(scale, scale), rate, share, scale, spread)


def shrunken(WW: Array, WX: Array, profile: Array) -> tuple[Array, Array, float]:
    """Components drawn to their common profile: the posterior for H ~ N(profile, tau^2), tau^2 the most likely.

    With ``WW = V diag(d) V'`` the rows of ``V' (WX - WW profile)`` are independent N(0, d^2 tau^2 + d).

    Parameters
    ----------
    WW, WX : ndarray of shapes (k, k) and (k, n_features)
        Second moments of the weights, and of weights and data, over the variance of the noise.
    profile : ndarray of shape (n_features,)
        What components have in common.

    Returns
    -------
    H : ndarray of shape (k, n_features)
        Posterior means, negative ones set to zero.
    C : ndarray of shape (k, k)
        Posterior covariance of the entries of one feature.
    spread : float
        tau.
    """
    d, V = np.linalg.eigh(WW)
    d = np.maximum(d, SPREAD * d[-1])
    Z = V.T @ (WX - WW.sum(axis=1)[:, None] * profile)
    ratio = np.einsum("ij,ij->i", Z, Z) / (len(profile) * d)  # 1 + d tau^2 in expectation

    def cost(log: float) -> float:
        expected = 1.0 + d * np.exp(log)
        return float((np.log(expected) + ratio / expected).sum())

    # from "no direction tells components apart" to what the clearest one alone would say, and more
    bounds = (np.log(1e-9 / d[-1]), np.log((1.0 + ratio.max()) / d[0]) + 5.0)
    tau2 = float(np.exp(minimize_scalar(cost, bounds=bounds, method="bounded").x))
    share = tau2 / (1.0 + d * tau2)
    return np.maximum(V @ (Z * share[:, None]) + profile, 0.0), (V * share) @ V.T, float(np.sqrt(tau2))


def _unit_sums(H: Array) -> Array:
    H = np.atleast_2d(H)
    return np.asarray(H / np.maximum(H.sum(axis=1, keepdims=True), TINY))


def _record_noise(source: RowSource, noise: Noise) -> Array:
    """Variance of the entries of each record: that of all, or more where one lies much farther outside than most."""
    outside = partial(_outside_block, basis=np.ascontiguousarray(noise.basis.T, source.dtype))
    found = np.asarray(source.map_rows(outside, width=None, dtype=np.float64))
    # records of zeros say nothing
    typical = float(np.median(found[found > 0.0])) if found.any() else 1.0
    return np.asarray(noise.variance * np.maximum(1.0, found / (FARTHER * typical)))


def _outside_block(block: Block, *, basis: Array) -> Array:
    inside = blocks.squared_norms(blocks.dot(block, basis))
    return np.asarray(np.maximum(blocks.squared_norms(block) - inside, 0.0))


def _below_block(block: Block, *, basis: Array) -> tuple[float, float]:
    signal = blocks.dot(block, np.ascontiguousarray(basis.T)).astype(np.float64) @ basis.astype(np.float64)
    return float(np.square(np.minimum(signal, 0.0)).sum()), float(np.square(signal).sum())


def _total_block(block: Block) -> Array:
    return np.asarray(blocks.group_sums(block, np.zeros(block.shape[0], np.int32), 1)[0])


def _first_block(block: Block, *, gram: Gram) -> tuple[Array, float]:
    W = decode_block(block, gram)
    return W, float(W.sum())


def _weights_block(block: Block, W: Array, variances: Array, *, now: Posterior, variance: float) -> tuple[Array, Any]:
    """The expectation step: moments of the weights of a block, and of weights and data; noisy records weigh less."""
    HHt = now.H @ now.H.T + block.shape[1] * now.C
    XHt = blocks.dot(block, np.ascontiguousarray(now.H.T, block.dtype)).astype(np.float64)
    mean = W * now.scale
    variance_of = np.zeros(mean.shape)
    above = sweep(XHt, HHt, variances, now.rate, now.share, SWEEPS, mean, variance_of)
    weighted = mean * (variance / variances)[:, None]
    WW = weighted.T @ mean + np.diag((variance / variances) @ variance_of)
    residual = blocks.squared_norms(block).sum() - 2.0 * (XHt * mean).sum()
    residual += ((mean @ HHt) * mean).sum() + (variance_of @ np.diag(HHt)).sum()
    WX = blocks.tdot(block, weighted.astype(block.dtype)).T
    return mean, (WW, WX.astype(np.float64), mean.sum(axis=0), above, float(residual))
