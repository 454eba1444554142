"""Empirical Bayes for both factors: parts and weights are averaged over what the noise leaves open, not fitted to it.

With ``X = W H + noise`` and noise of one size (weigh the data first), entries of both factors are zero with some chance
and otherwise of a normal distribution above zero, whose limit is the exponential; each part has numbers of its own that
are fitted: parts and weights may be as sparse or as dense as the data says.  All entries are independent in the
posterior (mean field), and what is maximised is the evidence lower bound, in every step.

Wang & Stephens (2021), "Empirical Bayes matrix factorization", with point-normal families above zero for both factors.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.bayes import SHARES, SWEEPS, TINY, find_noise
from partwise.algorithms.loop import Progress, Stages, State
from partwise.kernels.bayes import normal_above_zero, sweep_parts
from partwise.linalg.nnls import Gram, decode_block
from partwise.outcomes import CHANGE, Stop
from partwise.sources import RowSource, add, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Prior = Array  # (k, 4): share above zero, rate, bend and size of what is there, see `sweep_parts`

NOISELESS = 1e-10  # of the mean square of the data: less noise is taken for this, which is least squares
GONE = 1e-100
PRESENT = 1e-6  # of the largest entry of its part: an entry of the start that is there


def empirical_bayes(
    source: RowSource,
    H0: Array,
    *,
    squared_norm: float,
    rng: np.random.Generator,
    tol: float = 0.0,
    state: State | None = None,
) -> Stages:
    """Iterations from the components ``H0``; see :class:`partwise.Bayes`.

    Parameters
    ----------
    source : RowSource
        The data, with noise of one size; entries may be negative.
    H0 : ndarray of shape (k, n_features)
        Components; negative entries are taken for zeros.
    rng : numpy.random.Generator
        For the singular vectors that the noise is measured outside of.
    tol : float
        Stop when the components, of length one, change by less on average.
    state : mapping, optional
        Of an iteration of an earlier run from this start with this randomness: the first iteration is the next one.

    Yields
    ------
    Progress
        ``objective`` is minus the evidence of an entry and ``residual`` the mean change of a component.
    """
    n, m = source.shape
    H0 = np.maximum(H0, 0.0).astype(np.float64)
    if state is None:
        alone = 0.5 * (1.0 + np.log(2.0 * np.pi * max(squared_norm / (n * m), TINY)))  # all of it is noise
        yield Progress(H0.astype(source.dtype), alone, np.inf, state={"pass": 0})
    if not H0.any() or squared_norm == 0.0:
        return Stop("settled", cause="nothing-to-refine")
    # as many parts as dimensions leave nothing over to measure noise by
    measured = len(H0) < min(n, m)
    noise = find_noise(source, len(H0), squared_norm=squared_norm, rng=rng).variance if measured else 0.0
    variance = max(noise, NOISELESS * squared_norm / (n * m))
    if state is None or not state["pass"]:
        H, W, of_W = _start(source, H0)
        of_H, V, number, change = _prior_of(H.T), np.zeros((m, len(H))), 0, np.inf
    else:
        H, V, number, change = np.array(state["H"]), np.asarray(state["V"]), int(state["pass"]), float(state["change"])
        W = source.place(np.array(state["W"], order="C"))  # a copy: passes write over it
        of_W, of_H = np.asarray(state["of_W"]), np.asarray(state["of_H"])
    while not change <= tol:
        pass_ = partial(_weights_block, H=H, spread=V.sum(axis=0), variance=variance, prior=of_W)
        W, (WW, WX, VW, total, above, apart) = source.map_rows(pass_, W, width=len(H), combine=add, out=W)
        of_W = _fitted(above, total, np.diag(WW) + VW, n)
        before, H = H, H.copy()
        V, of_H, apart_H = _update_parts(WW + np.diag(VW), WX, H, variance, of_H)
        left = _expected_residual(squared_norm, WW, WX, VW, H, V)
        entries = float(n) * m
        evidence = -0.5 * np.log(2.0 * np.pi * variance) - (0.5 * left / variance + apart + apart_H) / entries
        change, number = float(np.linalg.norm(_unit(H) - _unit(before), axis=1).mean()), number + 1
        kept = {"pass": number, "change": change, "W": source.deliver(W), "H": H, "V": V, "of_W": of_W, "of_H": of_H}
        details = {"noise": float(np.sqrt(variance)), "active": float(of_W[:, 0].sum())}
        yield Progress(H.astype(source.dtype), -float(evidence), change, details=details, state=kept)
    return Stop("converged", change, tol, measure=CHANGE)


def _start(source: RowSource, H0: Array) -> tuple[Array, Any, Prior]:
    """Parts and weights of equal size, and the prior of the weights as they are."""
    H = _unit(H0)
    W, total = source.map_rows(partial(_first_block, gram=Gram.of(H, source.dtype)), width=len(H), combine=add)
    mean = total / source.shape[0]
    size = np.sqrt(np.where(mean > 0.0, mean, 1.0))
    heights = source.reduce(partial(_heights_block, size=size), W, combine=np.maximum)
    pass_ = partial(_sized_block, size=size, heights=heights)
    W, (above, total, squares) = source.map_rows(pass_, W, width=len(H), combine=add)
    return H * size[:, None], W, _fitted(above, total, squares, source.shape[0])


def _prior_of(A: Array) -> Prior:
    """The prior that columns of a factor seem to be drawn from."""
    return _fitted(*_moments(A, A.max(axis=0)), len(A))


def _moments(A: Array, heights: Array) -> tuple[Array, Array, Array]:
    """How many entries of each column are there, their sum and the sum of their squares."""
    return (PRESENT * heights < A).sum(axis=0).astype(float), A.sum(axis=0), np.square(A).sum(axis=0)


def _fitted(above: Array, total: Array, squares: Array, n: int) -> Prior:
    """The likeliest prior of each part."""
    prior = np.tile([SHARES, 1.0, 0.0, 0.0], (len(above), 1))  # of a part that has gone, which cannot come back
    for j in np.flatnonzero((above > GONE) & (total > GONE * above)):
        mean = total[j] / above[j]
        prior[j, 0] = np.clip(above[j] / n, SHARES, 1.0 - SHARES)
        prior[j, 1:] = normal_above_zero(mean, max(squares[j] / above[j] - mean * mean, 0.0))
    return prior


def _update_parts(WW: Array, WX: Array, H: Array, variance: float, prior: Prior) -> tuple[Array, Prior, float]:
    """Features are to the parts what samples are to the weights; `H` is written over."""
    m = H.shape[1]
    means, V, above = np.ascontiguousarray(H.T), np.zeros((m, len(H))), np.zeros(len(H))
    XtW = np.ascontiguousarray(WX.T)
    apart = sweep_parts(XtW, WW, np.full(m, variance), prior, SWEEPS, means, V, above)
    H[:] = means.T
    return V, _fitted(above, means.sum(axis=0), (np.square(means) + V).sum(axis=0), m), apart


def _expected_residual(squared_norm: float, WW: Array, WX: Array, VW: Array, H: Array, V: Array) -> float:
    """``E |X - W H|^2`` over the posterior of both factors."""
    fitted = squared_norm - 2.0 * float((WX * H).sum()) + float((WW * (H @ H.T)).sum())
    spread = V.sum(axis=0)
    return fitted + float((np.diag(WW) + VW) @ spread) + float(VW @ np.square(H).sum(axis=1))


def _unit(H: Array) -> Array:
    return np.asarray(H / np.maximum(np.linalg.norm(H, axis=1, keepdims=True), TINY))


def _first_block(block: Block, *, gram: Gram) -> tuple[Array, Array]:
    W = decode_block(block, gram).astype(np.float64)
    return W, W.sum(axis=0)


def _heights_block(block: Block, W: Array, *, size: Array) -> Array:
    return np.asarray((W / size).max(axis=0))


def _sized_block(block: Block, W: Array, *, size: Array, heights: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    W = W / size
    return W, _moments(W, heights)


def _weights_block(
    block: Block, W: Array, *, H: Array, spread: Array, variance: float, prior: Prior
) -> tuple[Array, Any]:
    """Moments of the weights of a block, and of weights and data; what they are apart from their prior."""
    XHt = blocks.dot(block, np.ascontiguousarray(H.T, block.dtype)).astype(np.float64)
    mean, V, above = W.copy(), np.zeros(W.shape), np.zeros(len(H))
    noise = np.full(len(mean), variance)
    apart = sweep_parts(XHt, H @ H.T + np.diag(spread), noise, prior, SWEEPS, mean, V, above)
    WX = blocks.tdot(block, mean.astype(block.dtype)).T.astype(np.float64)
    return mean, (mean.T @ mean, WX, V.sum(axis=0), mean.sum(axis=0), above, apart)
