"""AND with fitted decoders and an adaptive threshold: our form of the paper's algorithm.

Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong Correlations",
ICML 2017, Algorithm 1 (:mod:`partwise.algorithms.gradient` has it as published): decode with the inverse of the
components, set weights below a threshold to zero, update, lower the threshold.

Here the update fits the *decoder*.  A weight that is set to zero says that its sample lies on a facet of the cone, so
column j of the new ``P`` is the least-squares solution of ``X p_j = 0`` over the samples whose weight j was set to
zero, with ``(H P)_jj = 1``.  Where a step of the paper shrinks an error by the share of samples that have the part,
this one removes it: far fewer stages, and it still works where most weights are active.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.loop import Progress, Stages
from partwise.algorithms.schedule import Adaptive, Look, look, relative_weights
from partwise.algorithms.signal import Signal
from partwise.outcomes import CHANGE, Stop
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

SUPPORT, SUPPORT_SHARE = 3, 4  # a facet is fitted to at least 3 k samples, if that is less than a quarter of them
PATIENCE, SETTLED = 8, 0.01  # stages at the lowest threshold, or until the change is this part of it
TENSOR_BYTES = 256 << 20  # how much the Gram matrices of all facets may take at a time
ROUNDING = 1e3  # weights that are negative by so many rounding units are zero
RIDGE = 1e-14
SINGULAR = 1e12


def recover(source: RowSource, signal: Signal, T: Array, *, records: bool = False, floor: float, tol: float) -> Stages:
    """AND with facets, then the components by least squares if there is noise.

    Parameters
    ----------
    source : RowSource
        The data.
    signal : Signal
        The data in as many coordinates as there are components.
    T : ndarray of shape (k, k)
        The start, in those coordinates.
    records : bool, default=False
        Whether the start consists of samples: if their cone then holds all other samples, there is no smaller one.
    floor : float
        Thresholds stay above this many standard deviations of the noise in the decoded weights.
    tol : float
        Stop when no component changes by more than this relative to its size.

    Yields
    ------
    Progress
        The start, then every stage; ``residual`` is the change, ``objective`` half the sum of the squares of the
        weights below their thresholds, relative to the size of their sample, which a stage makes least.
    """
    stop, decoder, last = yield from facet_stages(signal, T, records=records, floor=floor, tol=tol)
    if decoder is not None and not signal.noiseless:
        H = _refit(source, signal, decoder)
        change = float(np.abs(H - last.components).max() / np.abs(H).max())
        yield replace(last, components=H, residual=change)  # the same decoder, so the same objective
    return stop


@dataclass(frozen=True)
class Decoder:
    """How a stage decodes: weights ``X P``, those of row i below ``max(thresholds, noise_i deviation)`` set to zero."""

    P: Array
    thresholds: Array
    deviation: Array

    def cast(self, dtype: npt.DTypeLike, basis: Array | None = None) -> Decoder:
        """The same for rows of this type, or for rows in other coordinates."""
        P = self.P if basis is None else basis.T @ self.P
        return replace(self, P=np.ascontiguousarray(P, dtype))


def facet_stages(
    signal: Signal, T: Array, *, records: bool = False, floor: float, tol: float
) -> Generator[Progress, None, tuple[Stop, Decoder | None, Progress]]:
    """The stages with fitted decoders; components are ``T @ signal.basis``, each as large as the mean sample."""
    k = len(T)
    decoder: Decoder | None = None
    last: Progress | None = None
    schedule = Adaptive(slowest=1.3, fastest=1000.0, share=0.5)
    alpha: Array | None = None
    eps = float(np.finfo(signal.rows.dtype).eps)
    waited = 0
    while True:
        P, T, seen, lowest = _look(signal, T)
        if last is None and records and signal.noiseless and seen.worst <= ROUNDING * eps:
            zero = ROUNDING * eps
            details = {"threshold": zero, "floor": zero, "active": seen.above(zero) / signal.rows.shape[0]}
            last = Progress(_sized(signal, T @ signal.basis), 0.0, 0.0, details=details, certified=False)
            yield last
            return Stop("settled", cause="cone", details={"records": k}), None, last
        alpha = schedule.next(alpha, seen.error)
        deviation = floor * np.linalg.norm(P, axis=0)
        lowest = np.maximum(lowest, deviation * signal.relative_noise)
        trial = Decoder(P, np.maximum(alpha, lowest), deviation)
        C, before, objective, off = _fit_decoders(signal, trial)
        if last is None:
            last = Progress(_sized(signal, T @ signal.basis), before)
            yield last
        change = float(np.abs(C - np.eye(k)).max())
        if not np.isfinite(change) or np.linalg.cond(C) > SINGULAR:
            return Stop("degenerate", cause="merged"), decoder, last
        T = np.linalg.solve(C, T)
        details = {
            "threshold": float(np.median(trial.thresholds)),
            "floor": float(np.median(lowest)),
            "active": float(k - off.sum() / max(1, signal.rows.shape[0])),
        }
        decoder = replace(trial, P=P @ C)
        last = Progress(_sized(signal, T @ signal.basis), objective, change, details=details, certified=False)
        yield last
        at_floor = bool(np.all(alpha <= lowest))
        waited += at_floor
        if change <= tol:
            return Stop("converged", change, tol, measure=CHANGE), decoder, last
        if at_floor and (change <= SETTLED * details["floor"] or waited > PATIENCE):
            return Stop("floor", details["floor"], cause="threshold"), decoder, last


def _sized(signal: Signal, H: Array) -> Array:
    """Components as large as the mean sample, where samples have a size."""
    size = H @ (signal.basis.T @ signal.size)
    factor = np.divide(signal.mean_size, size, out=np.ones_like(size), where=size > 1e-6 * np.abs(size).max())
    return np.asarray(H * factor[:, None])


def _look(signal: Signal, T: Array) -> tuple[Array, Array, Look, Array]:
    """The decoder of ``T`` and ``T`` scaled to largest weights of one, what they decode, and the least thresholds."""
    P = np.linalg.inv(T)
    seen = look(signal.rows, signal.inverse_size, P)
    k = len(T)
    least = min(SUPPORT * k, max(k - 1, signal.rows.shape[0] // SUPPORT_SHARE))
    return P / seen.unit, T * seen.unit[:, None], seen, seen.level(least) / seen.unit


def _refit(source: RowSource, signal: Signal, decoder: Decoder) -> Array:
    """Components by least squares on the decoded weights and the data itself."""
    fn = partial(_refit_block, decoder=decoder.cast(source.dtype, signal.basis))
    G, B = source.reduce(fn, signal.inverse_size, signal.row_noise)
    G, B = G.astype(np.float64), B.astype(np.float64)
    unused = np.diag(G) <= 0.0
    G[unused, unused] = 1.0
    H = np.linalg.lstsq(G, B.T, rcond=None)[0]
    H[unused] = (np.linalg.inv(decoder.P) @ signal.basis)[unused]
    return _sized(signal, H)


def _fit_decoders(signal: Signal, decoder: Decoder) -> tuple[Array, float, float, Array]:
    """The matrix C (unit diagonal) for which ``P C`` decodes the weights below their thresholds as zero.

    Rows with more noise than most, relative to their size, count for as much less: a few faint rows would decide.
    Also half the sum of the squares of those weights, before and after, and their number for every component.
    """
    k = len(decoder.P)
    C = np.eye(k)
    before, after, off = 0.0, 0.0, np.zeros(k)
    others = ~np.eye(k, dtype=bool)
    typical = np.inf if signal.noiseless else signal.relative_noise
    group = max(1, min(k, TENSOR_BYTES // (8 * k * k)))
    for first in range(0, k, group):
        js = np.arange(first, min(first + group, k))
        fn = partial(_facet_block, decoder=decoder.cast(signal.rows.dtype), components=js, typical=typical)
        grams, products, counts = signal.rows.reduce(fn, signal.inverse_size, signal.row_noise)
        off[js] = counts
        own = float(products[js, np.arange(len(js))].sum())
        A = np.stack([gram[np.ix_(others[j], others[j])] for gram, j in zip(grams, js, strict=True)])
        b = np.stack([products[others[j], t] for t, j in enumerate(js)])
        ridge = RIDGE * np.einsum("tii->t", grams) / k
        A += np.where(ridge > 0.0, ridge, 1.0)[:, None, None] * np.eye(k - 1)
        solved = np.linalg.solve(A, -b[:, :, None])[:, :, 0]
        before, after = before + 0.5 * own, after + 0.5 * (own + float(np.vdot(b, solved)))
        for t, j in enumerate(js):
            C[others[j], j] = solved[t]
    return C, before, max(after, 0.0), off


def _decode(Y: Block, inverse_size: Array, row_noise: Array, decoder: Decoder) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Weights relative to the size of their sample, and which of them are below their threshold."""
    V = relative_weights(Y, inverse_size, decoder.P)
    noise = (row_noise * inverse_size)[:, None]
    return V, np.maximum(decoder.thresholds, noise * decoder.deviation) >= V


def _refit_block(block: Block, inverse_size: Array, row_noise: Array, *, decoder: Decoder) -> tuple[Array, Array]:
    V, off = _decode(block, inverse_size, row_noise, decoder)
    W = np.where(off, 0.0, V / inverse_size[:, None]).astype(block.dtype)
    return W.T @ W, blocks.tdot(block, W)


def _facet_block(
    Y: Block, inverse_size: Array, row_noise: Array, *, decoder: Decoder, components: Array, typical: float
) -> tuple[Array, Array, Array]:
    """Gram matrices of the decoded weights over the samples whose weight j is off, for some j."""
    V, off = _decode(Y, inverse_size, row_noise, decoder)
    V *= np.minimum(1.0, typical / np.maximum(row_noise * inverse_size, np.finfo(float).tiny))[:, None]
    k = V.shape[1]
    off = off[:, components]
    whole = V.T @ V
    grams = np.empty((len(components), k, k))
    for t in range(len(components)):
        here = np.flatnonzero(off[:, t])
        if 2 * len(here) <= len(V):
            part = V[here]
            grams[t] = part.T @ part
        else:
            part = V[~off[:, t]]
            grams[t] = whole - part.T @ part
    return grams, V.T @ (off * V[:, components]), off.sum(axis=0, dtype=np.float64)
