"""AND as the paper has it: stages of gradient steps on the components, with the whole data or with batches.

Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong Correlations",
ICML 2017, Algorithm 1: a stage decodes with the Moore-Penrose inverse of its first components, sets weights below a
threshold to zero, and takes T steps ``H <- H + eta W' (X - W H)``.

With all the data as the batch (as in the paper's experiments) the weights are the same in all steps of a stage, so
``G = W' W`` and ``B = W' X`` are computed once, and with ``G = V diag(l) V'`` the steps collapse to
``H_T = V [(1 - eta l)^T V' H + ((1 - (1 - eta l)^T) / l) V' B]``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine.squared import count_of, weighted_sums
from partwise.algorithms.loop import Progress, Stages, State
from partwise.algorithms.randomness import Shuffled
from partwise.algorithms.schedule import Adaptive, look
from partwise.algorithms.signal import Signal, median
from partwise.algorithms.thresholds import ByTheorem, Listed, Thresholds
from partwise.outcomes import CHANGE, Stop
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

LOST = 1e6  # components that are so many times larger than the start's are on their way to infinity
IN_SPAN = 1e-12  # a start that lies outside the span of the data by no more than this lies in it


def gradient_stages(
    source: RowSource,
    H0: Array,
    *,
    thresholds: Thresholds | Adaptive | ByTheorem,
    steps: int | None,
    step_size: float = 1.0,
    eta: float | None = None,
    signal: Signal,
    floor: float,
    squared_norm: float,
    tol: float,
    state: State | None = None,
) -> Stages:
    """The paper's algorithm with all the data as the batch; samples count as often as the signal has it.

    Parameters
    ----------
    H0 : ndarray of shape (k, n_features)
        The start; a state goes with that of its run.
    thresholds : Falling, Listed, Adaptive or ByTheorem
        One for each stage, and the run ends with them; or the rule that finds them.
    steps : int or None
        Gradient steps of a stage, T; ``None`` is the limit of many, a least-squares solution.
    step_size : float, default=1
        The step eta, relative to one over the largest eigenvalue of ``W' W``; below 2 the steps converge.
    eta : float, optional
        The step itself, of the mean over the samples, in place of ``step_size``.
    signal : Signal
        The data in few coordinates, used instead of it where it is the data to rounding; and its noise.
    floor : float
        Thresholds stay above this many standard deviations of the noise in the decoded weights, and the run stops
        there; 0 is the algorithm as published.
    squared_norm : float
        Squared norm of the data.
    tol : float
        Stop when no component changes by more than this relative to the largest.
    state : mapping, optional
        Of an iteration of an earlier run on this data: the first iteration is the next one.

    Yields
    ------
    Progress
        The start, then every stage; ``residual`` is the change.
    """
    rows, basis = _coordinates(source, signal, H0)
    T = np.array(H0 if basis is None else H0 @ basis.T, np.float64)
    typical_noise = median(signal.row_noise, signal.samples)
    alpha: Array | float | None = None
    # a constant that never was above the floor does not fall to it
    stage, change, level, above = 0, np.nan, 0.0, isinstance(thresholds, Adaptive)
    if state is not None:
        T, stage = np.asarray(state["T"]), int(state["stage"])
        if stage:
            alpha, change = np.asarray(state["alpha"]), float(state["change"])
            level, above = float(state["level"]), bool(state["above"])
    while True:
        if stage:
            stop = _ending(change, np.asarray(alpha), level, above, tol) or _exhausted(thresholds, stage)
            if stop is not None:
                return stop
        before = T
        alpha, P, T = _begun(thresholds, stage, alpha, rows, T, basis)
        deviation = floor * signal.colour * np.linalg.norm(P, axis=0)
        fn = partial(_stage_block, P=np.ascontiguousarray(P, rows.dtype), alpha=np.asarray(alpha), deviation=deviation)
        G, B, active = rows.reduce(fn, signal.row_noise, *signal.beside)
        G, B = G.astype(np.float64), B.T.astype(np.float64)
        if state is None and not stage:
            objective = half_squared_residual(T, G, B, squared_norm)
            yield Progress(_components(T, basis, source.dtype), objective, state={"T": before, "stage": 0})
        step = None if eta is None else eta / signal.n_samples
        if step is not None and steps is not None and step * np.linalg.norm(G, 2) >= 2.0:
            return Stop("diverged", cause="eta")  # every step would go further from the least squares solution
        new = take_steps(T, G, B, steps=steps, step_size=step_size, eta=step)
        change = _change(new, T)
        T, stage = new, stage + 1
        level = float(np.median(deviation) * typical_noise)
        above = above or bool(np.any(alpha > level))
        details = {
            "threshold": max(float(np.median(alpha)), level),
            "floor": level,
            "active": active / max(1.0, signal.n_samples),
        }
        objective = half_squared_residual(T, G, B, squared_norm)
        kept = {"T": T, "stage": stage, "alpha": alpha, "change": change, "level": level, "above": above}
        yield Progress(
            _components(T, basis, source.dtype),
            objective,
            change,
            details=details,
            certified=False,
            stop=_ending(change, np.asarray(alpha), level, above, tol) or _exhausted(thresholds, stage),
            state=kept,
        )


def _begun(
    thresholds: Thresholds | Adaptive | ByTheorem,
    stage: int,
    alpha: Array | float | None,
    rows: RowSource,
    T: Array,
    basis: Array | None,
) -> tuple[Array | float, Array, Array]:
    """The threshold of a stage, behind the last one, the decoder, and its components."""
    P = np.linalg.pinv(T)
    if isinstance(thresholds, Adaptive):
        seen = look(rows, np.ones(rows.shape[0]), P)
        P, T = P / seen.unit, T * seen.unit[:, None]  # the largest weight of every component is one
        return thresholds.next(None if alpha is None else np.asarray(alpha), seen.error), P, T
    if isinstance(thresholds, ByTheorem):
        return thresholds.next(alpha, rows, P, _components(T, basis, np.float64)), P, T
    level = thresholds.at(stage)
    assert level is not None
    return level, P, T


def _exhausted(thresholds: Thresholds | Adaptive | ByTheorem, stage: int) -> Stop | None:
    """That no stage follows, if there is no threshold for it."""
    return Stop("done", cause="thresholds") if isinstance(thresholds, Listed) and thresholds.at(stage) is None else None


def _ending(change: float, alpha: Array, level: float, above: bool, tol: float) -> Stop | None:
    """Why no stage follows one that changed the components so much, if none does."""
    if not np.isfinite(change):
        return Stop("diverged", cause="step_size")
    if above and level > 0.0 and np.all(alpha <= level):
        return Stop("floor", level, cause="noise")
    if change <= tol:
        return Stop("converged", change, tol, measure=CHANGE)
    return None


def take_steps(
    H: Array, G: Array, B: Array, *, steps: int | None, step_size: float = 1.0, eta: float | None = None
) -> Array:
    """``steps`` gradient steps on ``1/2 |X - W H|^2`` at once, from ``G = W' W`` and ``B = W' X``.

    The step is ``eta``, or else ``step_size`` over the largest eigenvalue of ``G``.

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
    step = step_size / largest if eta is None else eta
    kept = np.zeros(len(G)) if steps is None else (1.0 - step * values) ** steps
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
    thresholds : Falling or Listed
        The thresholds of the stages.
    steps : int
        Batches of a stage, T.
    step_size : float
        As in :func:`gradient_stages`.
    eta : float, optional
        As in :func:`gradient_stages`: with one sample a batch, lines 5 and 6 of the paper's Algorithm 1.
    noise : float
        Thresholds stay above this times the length of a component's decoder: the standard deviation of an entry's noise
        times how many of them count.
    stage : int
        The stage that is under way.
    taken : int
        Steps of it that have been taken.
    diverged : bool
        Whether the last step led out of all bounds, and was not taken.
    """

    H: Array
    thresholds: Thresholds
    steps: int
    step_size: float = 1.0
    noise: float = 0.0
    stage: int = 0
    eta: float | None = None
    diverged: bool = field(default=False, init=False)
    limit: float = field(init=False)
    taken: int = field(init=False)
    alpha: float = field(init=False)
    P: Array = field(init=False)
    floors: Array = field(init=False)

    def __post_init__(self) -> None:
        self.H = np.array(self.H, np.float64)
        self.limit = LOST * float(np.abs(self.H).max())
        self._begin_stage()

    def _begin_stage(self) -> None:
        alpha = self.thresholds.at(self.stage)
        assert alpha is not None
        self.P = np.linalg.pinv(self.H)
        self.alpha = alpha
        self.floors = self.noise * np.linalg.norm(self.P, axis=0)
        self.taken = 0

    @property
    def over(self) -> bool:
        """Whether there is no threshold for a further step."""
        return self.taken >= self.steps and self.thresholds.at(self.stage + 1) is None

    def ending(self, change: float, tol: float) -> Stop | None:
        """Why no stage follows the one that is complete and changed the components so much, if none does."""
        level = float(np.median(self.floors))
        if change <= tol:
            return Stop("converged", change, tol, measure=CHANGE)
        if self.thresholds.fall and self.alpha <= level:
            return Stop("floor", level, cause="noise")
        return Stop("done", cause="thresholds") if self.over else None

    def step(self, batch: Block, samples: Array | None = None) -> float:
        """One gradient step on a batch whose samples count so often; half its squared residual before that."""
        if self.taken >= self.steps:
            self.stage += 1
            self._begin_stage()
        W = blocks.dot(batch, np.ascontiguousarray(self.P, batch.dtype))
        W[np.maximum(self.alpha, self.floors) > W] = 0.0
        G, B = (sums.astype(np.float64) for sums in weighted_sums(batch, W, samples))
        B, squares = B.T, blocks.squared_norms(batch)
        objective = half_squared_residual(self.H, G, B, float(squares.sum() if samples is None else samples @ squares))
        if self.eta is None:
            self.H = take_steps(self.H, G, B, steps=1, step_size=self.step_size)
        else:
            H = self.H + self.eta / count_of(batch, samples) * (B - G @ self.H)
            self.diverged = not np.abs(H).max() <= self.limit
            self.H = self.H if self.diverged else H
        self.taken += not self.diverged
        return objective


def batch_stages(
    source: RowSource,
    online: BatchState,
    *,
    batch_size: int,
    rng: np.random.Generator,
    tol: float,
    samples: Array | None = None,
    state: State | None = None,
) -> Stages:
    """Stages over shuffled batches of the data; as many passes over it as the stages need.

    Parameters
    ----------
    online : BatchState
        The start; it is changed in place.
    batch_size : int
        Samples of a batch.
    tol : float
        Stop when no component changes by more than this in a stage, relative to the largest.
    samples : ndarray of shape (n_samples,), optional
        How often each sample counts.
    state : mapping, optional
        Of a stage of an earlier run on this data: the first stage is the next one.

    Yields
    ------
    Progress
        The start, then every stage.
    """
    stream = Shuffled(source, batch_size, rng, state, beside=samples)
    batches = iter(stream)
    change, done = np.nan, 0
    if state is not None and int(state["stage"]):
        change, done = float(state["change"]), int(state["stage"])
        online.H, online.alpha, online.floors = np.array(state["H"]), float(state["alpha"]), np.asarray(state["floors"])
        online.stage, online.taken = done - 1, online.steps  # it is complete: the next step begins another
    while True:
        stop = online.ending(change, tol) if done else None
        if stop is not None:
            return stop
        before, objective, start = online.H, 0.0, {"stage": 0, **stream.state()}
        for number in range(online.steps):
            value = online.step(*next(batches))
            if state is None and not done and not number:
                yield Progress(_components(before, None, source.dtype), value, state=start)
            objective += value
            if online.diverged:  # the stages before are kept
                return Stop("diverged", cause="eta")
        change, done = _change(online.H, before), done + 1
        level = float(np.median(online.floors))
        details = {"threshold": max(online.alpha, level), "floor": level}
        kept = {"stage": done, "H": online.H, "change": change, "alpha": online.alpha, "floors": online.floors}
        kept |= stream.state()
        H = _components(online.H, None, source.dtype)
        stop = online.ending(change, tol)
        yield Progress(H, objective / online.steps, change, details=details, certified=False, stop=stop, state=kept)


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


def _components(T: Array, basis: Array | None, dtype: npt.DTypeLike) -> Array:
    return np.asarray(T if basis is None else T @ basis).astype(dtype, copy=False)


def _stage_block(
    block: Block, row_noise: Array, samples: Array | None = None, *, P: Array, alpha: Array, deviation: Array
) -> tuple[Array, Array, float]:
    """``W' W``, ``X' W`` and the number of weights that are left; samples as often as they count."""
    W = blocks.dot(block, P)
    W[np.maximum(alpha, row_noise[:, None] * deviation) > W] = 0.0
    G, B = weighted_sums(block, W, samples)
    return G, B, float(np.count_nonzero(W) if samples is None else samples @ np.count_nonzero(W, axis=1))
