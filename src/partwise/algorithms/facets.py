"""Facets: AND with fitted decoders and an adaptive threshold; ours.

Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong Correlations",
ICML 2017 (:mod:`partwise.algorithms.and_` has it as published) is where it comes from: decode with the inverse of the
components, set weights below a threshold to zero, update, lower the threshold.

Here the update fits the *decoder*.  A weight that is set to zero says that its sample lies on a facet of the cone, so
column j of the new ``P`` is the least-squares solution of ``X p_j = 0`` over the samples whose weight j was set to
zero, with ``(H P)_jj = 1``.  Where a step of the paper shrinks an error by the share of samples that have the part,
this one removes it: far fewer stages, and it still works where most weights are active.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from partwise.algorithms.hals import hals
from partwise.algorithms.loop import Ending, Progress, Stages, State, prefixed, under
from partwise.algorithms.schedule import Adaptive, Look, look, relative_weights
from partwise.algorithms.signal import Signal, nothing
from partwise.exceptions import DegenerateDataWarning, InputError, warn_user
from partwise.outcomes import CHANGE, KKT, Stop
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

SCHEDULE = Adaptive(slowest=1.3, fastest=1000.0, share=0.5)  # a fitted decoder leaves little of an error: fall fast
SUPPORT, SUPPORT_SHARE = 3, 4  # a facet is fitted to at least 3 k samples, if that is less than a quarter of them
PATIENCE, SETTLED = 8, 0.01  # stages at the lowest threshold, or until the change is this part of it
TENSOR_BYTES = 256 << 20  # how much the Gram matrices of all facets may take at a time
ROUNDING = 1e3  # weights that are negative by so many rounding units are zero
RIDGE = 1e-14  # of the mean diagonal entry, some rounding units: only where a Gram matrix is singular it is felt
SINGULAR = 1e12  # a change of this condition leaves four digits: two components have become one
DEPENDENT = 1e-10  # a pivot below this part of the largest: the component is a combination of the others
NO_SIZE = 1e-6  # of the largest size: components of about as much above zero as below it have none
FINISH_TOL = 1e-6  # KKT residual of the finish with non-negative components
FINISH = "finish."  # before the names of the state of HALS
SIGNED = 0.25  # components with this share of their squared size in negative entries are signed


def facets(
    source: RowSource,
    signal: Signal,
    T: Array | None,
    k: int,
    *,
    records: bool = False,
    floor: float,
    finish: Finish | None = None,
    tol: float,
    state: State | None = None,
) -> Stages:
    """Facets of the cone stage by stage, then the components by least squares if there is noise, then a finish.

    Parameters
    ----------
    signal : Signal
        The data in as many coordinates as there are components, or as its rank allows.
    T : ndarray of shape (rank, rank)
        The start, in those coordinates (:func:`independent`); not used where there are none, or with a state.
    k : int
        Number of components; those that the rank of the data does not allow are zero.
    records : bool, default=False
        Whether the start consists of samples: if their cone then holds all other samples, there is no smaller one.
    floor : float
        Thresholds stay above this many standard deviations of the noise in the decoded weights.
    finish : Finish, optional
        Go on with HALS for components without negative entries.
    tol : float
        Stop when no component changes by more than this relative to its size.
    state : mapping, optional
        Of an iteration of an earlier run on this data: the first iteration is the next one.

    Yields
    ------
    Progress
        The start, then every stage; ``residual`` is the change, ``objective`` half the sum of the squares of the
        weights below their thresholds, relative to the size of their sample, which a stage makes least; in the finish,
        those of HALS.
    """
    if not signal.rank:
        return (yield from nothing(k, source, state))
    ending = Ending(recover(source, signal, T, records=records, floor=floor, tol=tol, state=state))
    H, kept = (np.empty(0), {}) if state is None else (np.asarray(state["components"]), Stage.of(state).state())
    for progress in ending:
        H, kept = _padded(progress.components, k, source.dtype), progress.state
        yield replace(progress, components=H)
    stop = ending.stop
    return stop if finish is None else (yield from finish(source, H, before=stop, kept=kept, state=state))


@dataclass(frozen=True)
class Finish:
    """HALS from what the stages found, negative entries set to zero; for components that have none.

    Attributes
    ----------
    squared_norm : float
        Of the data.
    sweeps : int
        Of HALS.
    """

    squared_norm: float
    sweeps: int

    def __call__(self, source: RowSource, H: Array, *, before: Stop | None, kept: State, state: State | None) -> Stages:
        """Iterations from the components ``H`` of the stages that ended so, until the KKT residual is small.

        States hold that of the stages (``kept``) too: how they ended is found out again from it.
        """
        inner = under(FINISH, state)
        how: dict[str, Any] = {"squared_norm": self.squared_norm, "sweeps": self.sweeps, "tol": FINISH_TOL}
        if inner:
            kkt = float(inner.pop("kkt"))
            polish = hals(source, H, state=inner, **how)
        else:
            _check_signs(H)
            kkt = np.inf
            polish = hals(source, np.maximum(H, 0.0), **how)
            next(polish)  # its start is where the stages ended
        while kkt > FINISH_TOL:
            now = next(polish)
            kkt = now.residual if now.certified else np.inf
            own = prefixed(FINISH, {**now.state, "kkt": kkt})
            yield replace(now, certified=False, measure=KKT, state={**kept, **own})
        return Stop("converged", kkt, FINISH_TOL, measure=KKT, before=before)


def recover(
    source: RowSource,
    signal: Signal,
    T: Array | None,
    *,
    records: bool = False,
    floor: float,
    tol: float,
    state: State | None = None,
) -> Stages:
    """The stages, and if there is noise one more iteration: the components by least squares on the data itself."""
    stop, last = yield from facet_stages(signal, T, records=records, floor=floor, tol=tol, state=state)
    if last.decoder is not None and not signal.noiseless and not last.refitted:
        H = _refit(source, signal, last.decoder)
        change = float(np.abs(H - last.components(signal)).max() / np.abs(H).max())
        # the same decoder, so the same objective
        yield replace(replace(last, refitted=True).progress(signal), components=H, residual=change)
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


@dataclass(frozen=True)
class Stage:
    """What a stage leaves, and all that the next one begins with.

    Attributes
    ----------
    T : ndarray of shape (rank, rank)
        The components in the coordinates of the signal.
    alpha : ndarray of shape (rank,) or None
        The thresholds of the schedule; None before the first stage, and so is `decoder`.
    decoder : Decoder or None
        What the stage fitted.
    change, objective : float
        As in :func:`facets`.
    at_floor : bool
        Whether the noise or the number of samples, not the schedule, set all thresholds.
    waited : int
        How many stages it has been so.
    details : dict
        For the history.
    refitted : bool
        Whether the components were fitted to the data since, which comes last.
    """

    T: Array
    alpha: Array | None = None
    decoder: Decoder | None = None
    change: float = np.nan
    objective: float = np.nan
    at_floor: bool = False
    waited: int = 0
    details: Mapping[str, float] = field(default_factory=dict)
    refitted: bool = False

    @classmethod
    def of(cls, state: State) -> Stage:
        """From the state of a run that was broken off."""
        if "alpha" not in state:
            return cls(np.asarray(state["T"]))
        return cls(
            np.asarray(state["T"]),
            np.asarray(state["alpha"]),
            Decoder(*(np.asarray(state[name]) for name in ("P", "thresholds", "deviation"))),
            float(state["change"]),
            float(state["objective"]),
            bool(state["at_floor"]),
            int(state["waited"]),
            {name: float(state[name]) for name in ("threshold", "floor", "active")},
            bool(state["refitted"]),
        )

    def state(self) -> State:
        """All of it by name."""
        if self.decoder is None:
            return {"T": self.T}
        names = ("T", "alpha", "change", "objective", "at_floor", "waited", "refitted")
        return {**{name: getattr(self, name) for name in names}, **vars(self.decoder), **self.details}

    def components(self, signal: Signal) -> Array:
        """Each as large as the mean sample, where samples have a size."""
        return _sized(signal, self.T @ signal.basis)

    def progress(self, signal: Signal) -> Progress:
        """For the loop."""
        H = self.components(signal)
        return Progress(
            H, self.objective, self.change, details=self.details, certified=self.decoder is None, state=self.state()
        )

    def ending(self, tol: float) -> Stop | None:
        """Why there is no further stage, if there is none."""
        if self.change <= tol:
            return Stop("converged", self.change, tol, measure=CHANGE)
        level = self.details.get("floor", np.nan)
        if self.at_floor and (self.change <= SETTLED * level or self.waited > PATIENCE):
            return Stop("floor", level, cause="threshold")
        return None


def facet_stages(
    signal: Signal, T: Array | None, *, records: bool = False, floor: float, tol: float, state: State | None = None
) -> Generator[Progress, None, tuple[Stop, Stage]]:
    """The stages with fitted decoders; components are ``T @ signal.basis``, each as large as the mean sample."""
    now = Stage(np.asarray(T)) if state is None else Stage.of(state)
    eps = float(np.finfo(signal.rows.dtype).eps)
    told = state is not None  # the start
    while True:
        stop = now.ending(tol)
        if stop is not None:
            return stop, now
        P, T, seen, lowest = _look(signal, now.T)
        k = len(T)
        if now.alpha is None and records and signal.noiseless and seen.worst <= ROUNDING * eps:
            if not told:
                zero = ROUNDING * eps
                active = seen.above(zero) / signal.rows.shape[0]
                kept = replace(now, objective=0.0, details={"threshold": zero, "floor": zero, "active": active})
                yield replace(kept.progress(signal), residual=0.0, certified=False)
            return Stop("settled", cause="cone", details={"records": k}), now
        alpha = SCHEDULE.next(now.alpha, seen.error)
        deviation = floor * signal.colour * np.linalg.norm(P, axis=0)
        lowest = np.maximum(lowest, deviation * signal.relative_noise)
        trial = Decoder(P, np.maximum(alpha, lowest), deviation)
        C, before, objective, off = _fit_decoders(signal, trial)
        if not told:
            yield replace(now, objective=before).progress(signal)
            told = True
        change = float(np.abs(C - np.eye(k)).max())
        if not np.isfinite(change) or np.linalg.cond(C) > SINGULAR:
            return Stop("degenerate", cause="merged"), now
        at_floor = bool(np.all(alpha <= lowest))
        details = {
            "threshold": float(np.median(trial.thresholds)),
            "floor": float(np.median(lowest)),
            "active": float(k - off.sum() / max(1, signal.rows.shape[0])),
        }
        fitted = replace(trial, P=P @ C)
        now = Stage(np.linalg.solve(C, T), alpha, fitted, change, objective, at_floor, now.waited + at_floor, details)
        yield now.progress(signal)


def independent(T: Array, rank: int) -> Array:
    """As many rows of a start as the signal has dimensions, all independent: they are to be inverted."""
    triangle, order = qr(T.T, mode="r", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    usable = int((pivots > DEPENDENT * pivots.max(initial=0.0)).sum())
    if usable < rank:
        lost = ", ".join(map(str, sorted(order[usable:].tolist())[:10]))
        raise InputError(
            f"init: inside the span of the data, component(s) {lost} depend linearly on the others; "
            "Facets needs independent components to start from"
        )
    return np.asarray(T[np.sort(order[:rank])])


def _padded(H: Array, k: int, dtype: npt.DTypeLike) -> Array:
    """Zero components in the place of those that the rank of the data does not allow."""
    return np.vstack([H, np.zeros((k - len(H), H.shape[1]))]).astype(dtype, copy=False)


def _check_signs(H: Array) -> None:
    """Tell if much is lost by setting negative entries to zero."""
    share = float((np.minimum(H, 0.0) ** 2).sum() / max((H**2).sum(), np.finfo(float).tiny))
    if share > SIGNED:
        warn_user(
            f"nonnegative=True sets negative entries of the components to zero, {share:.0%} of their squared size: if "
            "the true parts are signed, leave it out",
            DegenerateDataWarning,
        )


def _sized(signal: Signal, H: Array) -> Array:
    """Components as large as the mean sample, where samples have a size."""
    size = H @ (signal.basis.T @ signal.size)
    factor = np.divide(signal.mean_size, size, out=np.ones_like(size), where=size > NO_SIZE * np.abs(size).max())
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
