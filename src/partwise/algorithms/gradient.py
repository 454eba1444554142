"""AND as the paper has it: stages of gradient steps on the components, with the whole data or with batches.

Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong Correlations",
ICML 2017, Algorithm 1: a stage decodes with the Moore-Penrose inverse of its first components, sets weights below a
threshold to zero, and takes T steps ``H <- H + eta W' (X - W H)``.

With all the data as the batch (as in the paper's experiments) the weights are the same in all steps of a stage, so
``G = W' W`` and ``B = W' X`` are computed once, and with ``G = V diag(l) V'`` the steps collapse to
``H_T = V [(1 - eta l)^T V' H + ((1 - (1 - eta l)^T) / l) V' B]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.loop import Progress, Stages
from partwise.algorithms.schedule import Adaptive, look
from partwise.algorithms.signal import Signal
from partwise.outcomes import CHANGE, Stop
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

# the paper's steps shrink an error more slowly than fitted decoders do, so the threshold must wait for them
ADAPTIVE = Adaptive(slowest=1.1, fastest=2.0, share=8.0)
PAPER_FIRST, PAPER_DECAY, PAPER_STEPS = 0.1, 1.1, 50
IN_SPAN = 1e-12  # a start that lies outside the span of the data by no more than this lies in it


@dataclass
class FallingThresholds(Iterator[float]):
    """``first / decay^j`` for j = 0, 1, ...; unlike a generator it can be pickled, as models on a stream are.

    Attributes
    ----------
    first : float
        The threshold of the first stage.
    decay : float
        Factor by which thresholds fall; 1 keeps them as they are.
    stage : int
        The next j.
    """

    first: float
    decay: float
    stage: int = 0

    def __next__(self) -> float:
        self.stage += 1
        return self.first / self.decay ** (self.stage - 1)


def paper_thresholds(decay: float = PAPER_DECAY) -> FallingThresholds:
    """The thresholds of the paper's experiments, ``0.1 / decay^j``."""
    return FallingThresholds(PAPER_FIRST, decay)


def gradient_stages(
    source: RowSource,
    H0: Array,
    *,
    thresholds: Iterator[float] | Adaptive,
    steps: int | None,
    step_size: float = 1.0,
    signal: Signal,
    floor: float,
    squared_norm: float,
    tol: float,
) -> Stages:
    """The paper's algorithm with all the data as the batch.

    Parameters
    ----------
    source : RowSource
        The data.
    H0 : ndarray of shape (k, n_features)
        The start.
    thresholds : iterator of float, or Adaptive
        One for each stage, and the run ends with it; or the rule that finds them.
    steps : int or None
        Gradient steps of a stage, T; ``None`` is the limit of many, a least-squares solution.
    step_size : float, default=1
        The step eta, relative to one over the largest eigenvalue of ``W' W``; below 2 the steps converge.
    signal : Signal
        The data in few coordinates, used instead of it where it is the data to rounding; and its noise.
    floor : float
        Thresholds stay above this many standard deviations of the noise in the decoded weights, and the run stops
        there; 0 is the algorithm as published.
    squared_norm : float
        Squared norm of the data.
    tol : float
        Stop when no component changes by more than this relative to the largest.

    Yields
    ------
    Progress
        The start, then every stage; ``residual`` is the change.
    """
    rows, basis = _coordinates(source, signal, H0)
    T = np.array(H0 if basis is None else H0 @ basis.T, np.float64)
    started = False
    typical_noise = float(np.median(signal.row_noise))
    alpha: Array | float | None = None
    everywhere = np.ones(source.shape[0])
    above = isinstance(thresholds, Adaptive)  # a constant that never was above the floor does not fall to it
    while True:
        P = np.linalg.pinv(T)
        if isinstance(thresholds, Adaptive):
            seen = look(rows, everywhere, P)
            P, T = P / seen.unit, T * seen.unit[:, None]  # the largest weight of every component is one
            alpha = thresholds.next(None if alpha is None else np.asarray(alpha), seen.error)
        else:
            alpha = next(thresholds, None)
            if alpha is None:
                return Stop("done", cause="thresholds")
        deviation = floor * np.linalg.norm(P, axis=0)
        fn = partial(_stage_block, P=np.ascontiguousarray(P, rows.dtype), alpha=np.asarray(alpha), deviation=deviation)
        G, B, active = rows.reduce(fn, signal.row_noise)
        G, B = G.astype(np.float64), B.T.astype(np.float64)
        if not started:
            yield Progress(_components(T, basis), half_squared_residual(T, G, B, squared_norm))
            started = True
        new = take_steps(T, G, B, steps=steps, step_size=step_size)
        change = _change(new, T)
        T = new
        level = float(np.median(deviation) * typical_noise)
        typical = float(np.median(alpha))
        details = {"threshold": max(typical, level), "floor": level, "active": active / max(1, source.shape[0])}
        objective = half_squared_residual(T, G, B, squared_norm)
        yield Progress(_components(T, basis), objective, change, details=details, certified=False)
        if not np.isfinite(change):
            return Stop("diverged", cause="step_size")
        above = above or bool(np.any(alpha > level))
        if above and level > 0.0 and np.all(alpha <= level):
            return Stop("floor", level, cause="noise")
        if change <= tol:
            return Stop("converged", change, tol, measure=CHANGE)


def take_steps(H: Array, G: Array, B: Array, *, steps: int | None, step_size: float) -> Array:
    """``steps`` gradient steps on ``1/2 |X - W H|^2`` at once, from ``G = W' W`` and ``B = W' X``.

    Examples
    --------
    >>> import numpy as np
    >>> W, X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]), np.eye(3)
    >>> H, G, B = np.ones((2, 3)), W.T @ W, W.T @ X
    >>> slow = H
    >>> for _ in range(7):
    ...     slow = slow + 1 / np.linalg.eigvalsh(G)[-1] * W.T @ (X - W @ slow)
    >>> np.allclose(take_steps(H, G, B, steps=7, step_size=1.0), slow)
    True
    """
    values, V = np.linalg.eigh(G)
    largest = max(values[-1], 0.0)
    if largest == 0.0:
        return H
    # below rounding an eigenvalue is zero: nothing is known in that direction and nothing moves
    known = values > len(G) * np.finfo(float).eps * largest
    values = np.where(known, values, 0.0)
    kept = np.zeros(len(G)) if steps is None else (1.0 - step_size * values / largest) ** steps
    kept = np.where(known, kept, 1.0)
    gain = np.divide(1.0 - kept, values, out=np.zeros_like(values), where=known)
    return np.asarray(V @ (kept[:, None] * (V.T @ H) + gain[:, None] * (V.T @ B)))


@dataclass
class BatchState:
    """Where a run over batches stands: the paper's algorithm, one batch a step.

    Attributes
    ----------
    H : ndarray of shape (k, n_features)
        The components.
    thresholds : iterator of float
        The thresholds of the stages to come.
    steps : int
        Batches of a stage, T.
    step_size : float
        As in :func:`gradient_stages`.
    noise : float
        Thresholds stay above this times the length of a component's decoder: the standard deviation of an entry's noise
        times how many of them count.
    """

    H: Array
    thresholds: Iterator[float]
    steps: int
    step_size: float
    noise: float = 0.0
    alpha: float = np.nan
    taken: int = 0
    stage: int = 0
    P: Array = field(init=False)
    floors: Array = field(init=False)

    def __post_init__(self) -> None:
        self.H = np.array(self.H, np.float64)
        self._begin_stage()

    def _begin_stage(self) -> None:
        self.P = np.linalg.pinv(self.H)
        self.alpha = float(next(self.thresholds))
        self.floors = self.noise * np.linalg.norm(self.P, axis=0)
        self.taken = 0

    def step(self, batch: Block) -> float:
        """One gradient step on a batch; returns half the squared residual of the batch before it."""
        if self.taken >= self.steps:
            self.stage += 1
            self._begin_stage()
        W = blocks.dot(batch, np.ascontiguousarray(self.P, batch.dtype))
        W[np.maximum(self.alpha, self.floors) > W] = 0.0
        G = (W.T @ W).astype(np.float64)
        B = blocks.tdot(batch, W).T.astype(np.float64)
        objective = half_squared_residual(self.H, G, B, float(blocks.squared_norms(batch).sum()))
        self.H = take_steps(self.H, G, B, steps=1, step_size=self.step_size)
        self.taken += 1
        return objective


def batch_stages(
    source: RowSource, state: BatchState, *, batch_size: int, rng: np.random.Generator, tol: float
) -> Stages:
    """Stages over shuffled batches of the data; as many passes over it as the stages need.

    Yields
    ------
    Progress
        The start, then every stage.
    """
    stream = _endless(source, batch_size, rng)
    falling = not (isinstance(state.thresholds, FallingThresholds) and state.thresholds.decay == 1.0)
    started = False
    while True:
        before, objective, alpha = state.H, 0.0, state.alpha
        try:
            for _ in range(state.steps):
                value = state.step(next(stream))
                if not started:
                    yield Progress(before, value)
                    started = True
                objective, alpha = objective + value, state.alpha
        except StopIteration:
            return Stop("done", cause="thresholds")
        change = _change(state.H, before)
        level = float(np.median(state.floors))
        details = {"threshold": max(alpha, level), "floor": level}
        yield Progress(state.H, objective / state.steps, change, details=details, certified=False)
        if change <= tol:
            return Stop("converged", change, tol, measure=CHANGE)
        if falling and alpha <= level:
            return Stop("floor", level, cause="noise")


def _endless(source: RowSource, batch_size: int, rng: np.random.Generator) -> Iterator[Block]:
    while True:
        yield from source.batches(batch_size, rng)


def _coordinates(source: RowSource, signal: Signal, H0: Array) -> tuple[RowSource, Array | None]:
    """Rows in few coordinates and their basis where that is exact and saves work; else the data as it is."""
    if not signal.noiseless:
        return source, None
    basis = signal.basis
    beyond = H0 - (H0 @ basis.T) @ basis
    if np.linalg.norm(beyond) > IN_SPAN * np.linalg.norm(H0):
        # the paper's start need not lie in the span of the data; what lies outside decodes to nothing but is decoded
        extra = np.linalg.qr(beyond.T)[0].T
        extra = extra - (extra @ basis.T) @ basis
        basis = np.linalg.qr(np.vstack([basis, extra]).T)[0].T
    if 2 * len(basis) > source.shape[1]:
        return source, None
    return (signal.rows if basis is signal.basis else source.project(basis.T)), basis


def half_squared_residual(H: Array, G: Array, B: Array, squared_norm: float) -> float:
    """``1/2 |X - W H|^2`` from ``G = W' W`` and ``B = W' X``."""
    return max(0.5 * squared_norm - float(np.vdot(B, H)) + 0.5 * float(np.vdot(G, H @ H.T)), 0.0)


def _change(new: Array, old: Array) -> float:
    """The largest change of an entry relative to the largest entry."""
    return float(np.abs(new - old).max() / max(np.abs(new).max(), np.finfo(float).tiny))


def _components(T: Array, basis: Array | None) -> Array:
    return T if basis is None else np.asarray(T @ basis)


def _stage_block(
    block: Block, row_noise: Array, *, P: Array, alpha: Array, deviation: Array
) -> tuple[Array, Array, float]:
    """``W' W``, ``X' W`` and the number of weights that are left."""
    W = blocks.dot(block, P)
    W[np.maximum(alpha, row_noise[:, None] * deviation) > W] = 0.0
    return W.T @ W, blocks.tdot(block, W), float(np.count_nonzero(W))
