"""Purification: decode by a left inverse and a ReLU, update by the covariance of weights and samples.

Li, Liang & Risteski (2016), "Recovery guarantee of non-negative matrix factorization via alternating updates",
Algorithm 1.  Its A is ``H.T`` here, its y a row x of ``X``, its x a row w of ``W``, its n the number of components.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from partwise.algorithms.decoding import Activation, Decoder, merge, moments_block
from partwise.algorithms.loop import Ending, Progress, Stages, State, prefixed, under
from partwise.algorithms.randomness import Shuffled, packed, unpack
from partwise.algorithms.scaling import suggested_scale
from partwise.exceptions import InputError
from partwise.outcomes import CHANGE, FIXED_POINT, Stop
from partwise.sources import GeneratedSource, MemorySource, RowSource

Array = npt.NDArray[Any]

EXACT = 1e-10  # exact steps end when they change the components by less, relative to them (or to rounding)
FALL = 0.9  # a residual falls if it gets below this times the least one so far;
PATIENCE = 50  # it has stopped falling after so many iterations on the same samples,
FRESH_PATIENCE = 10  # and after so many on fresh ones, where it ends at their sampling error.
COLLAPSED = 100.0  # how far the norm of the inverse may grow
POLISH = "polish."  # before the names of the state of the finish
STANDING = ("H", "target", "scale", "step", "residual", "averaged", "iteration", "first_norm", "least", "waited")
KEPT = (*STANDING, "samples", "drawn", "pass", "taken")  # the state of Purification itself, and of fresh samples
AVERAGED = 100  # Then the updates of so many iterations are averaged, which leaves a tenth of that error.


def purify(
    source: RowSource,
    H0: Array,
    *,
    finish: bool,
    threshold: float = 0.3,
    tol: float = 0.0,
    state: State | None = None,
    **options: Any,
) -> Stages:
    """Purification from the components ``H0``, then exact steps if there is to be a finish.

    Parameters
    ----------
    H0 : ndarray of shape (k, n_features)
        The start; not used with a state.
    finish : bool
        Whether :func:`polish` follows; not where the components came to depend on each other.
    threshold, tol, **options
        As of :func:`purification`.
    state : mapping, optional
        Of an iteration of an earlier run on this data: the first iteration is the next one.

    Yields
    ------
    Progress
        Of both, in one sequence. States of the finish hold the last one before it too: how that stage ended is found
        out again from it.
    """
    first = Ending(purification(source, H0, threshold=threshold, tol=tol, state=state, **options))
    yield from first
    stop = first.stop
    assert stop is not None
    if not finish or stop.cause == "collapsed":
        return stop
    inner = under(POLISH, state)
    if first.last is None:
        assert state is not None
        H, kept = state["components"], {name: state[name] for name in KEPT if name in state}
    else:
        H, kept = first.last.components, dict(first.last.state)
    second = Ending(polish(source, H, threshold=threshold, state=inner))
    for progress in second if inner else islice(second, 1, None):  # the first is where we are
        yield replace(progress, measure=CHANGE, state={**kept, **prefixed(POLISH, progress.state)})
    assert second.stop is not None
    # exact steps make good an iteration that did not settle only if they settle themselves
    if stop.converged or not second.stop.converged or second.stop.value <= tol:
        return replace(second.stop, before=stop)
    return replace(second.stop, kind="stalled", before=stop)


def purification(
    source: RowSource,
    H0: Array,
    *,
    threshold: float = 0.3,
    step: float = 0.5,
    scale: float | None = None,
    inverse: str = "least-inf",
    relu: bool = True,
    fresh: Fresh | None = None,
    tol: float = 0.0,
    endless: bool = False,
    state: State | None = None,
) -> Stages:
    """Iterations of Purification from the components ``H0``; returns why it stopped.

    See :class:`partwise.Purification` for the parameters.  ``H0`` is taken as it is: weights must be of order one
    (:func:`unit_weights`).  ``fresh`` gives the samples of every iteration; without it they are those of ``source``.
    ``endless`` is Algorithm 1 to the letter: it never settles, and steps do not get shorter.

    No function is known to fall, so ``objective`` and ``residual`` are both the fixed-point residual
    ``|2 r Cov(w, x) - H| / |H|`` of the components beside them.
    """
    activation: Activation = "relu" if relu else "identity"
    settling = _Settling(PATIENCE if fresh is None else FRESH_PATIENCE, state)
    if state is None:
        H = np.array(H0, np.float64)
        decoder = Decoder.of(H, threshold, inverse, activation)
        first_norm = decoder.norm
        averaged = iteration = 0
    else:
        H, target = np.asarray(state["H"]), np.asarray(state["target"])
        first_norm, residual, step = (float(state[name]) for name in ("first_norm", "residual", "step"))
        scale = float(state["scale"]) if np.isfinite(state["scale"]) else None
        averaged, iteration, samples = (int(state[name]) for name in ("averaged", "iteration", "samples"))
    while True:
        if state is None:
            sample = source if fresh is None else next(fresh)
            moments = sample.reduce(partial(moments_block, decoder=decoder.cast(sample.dtype)), combine=merge)
            if scale is None:
                scale = suggested_scale(moments.variances(sample.dtype), threshold if relu else 0.0)
            target = 2.0 * (scale or 0.0) * moments.covariance - H
            residual, samples = _relative(target, H), sample.shape[0]
            details = _details(decoder, step, scale)
            kept: dict[str, Any] = {"H": H, "target": target, "scale": details["scale"], "step": step}
            kept |= {"residual": residual, "samples": samples, "averaged": averaged, "iteration": iteration}
            kept |= {"first_norm": first_norm, **settling.state(), **({} if fresh is None else fresh.state())}
            yield Progress(H.astype(source.dtype), residual, residual, details=details, certified=False, state=kept)
        state = None  # of what was measured above; from here on all is as in an unbroken run
        if scale is None:
            return Stop("degenerate", cause="constant-weights")
        if iteration and residual <= tol:
            return Stop("converged", residual, tol, measure=FIXED_POINT)
        if averaged and (averaged >= AVERAGED or residual <= tol * np.sqrt(averaged)):
            numbers = {"samples": samples, "averaged": averaged}
            return Stop("floor", residual, measure=FIXED_POINT, cause="sampling", details=numbers)
        settling.see(residual)
        over = settling.over and not endless
        if over and fresh is None:
            return Stop("stalled", residual, tol, measure=FIXED_POINT)
        if averaged or over:
            averaged += 1
            step /= 1.0 + step  # the mean of all targets from here on: their sampling errors average out
        new = H + step * target
        try:
            decoder = Decoder.of(new, threshold, inverse, activation)
        except InputError:
            # long steps overflow; components that come to depend on each other find too little in the data
            return Stop("degenerate", cause="dependent") if np.isfinite(new).all() else Stop("diverged", cause="step")
        if decoder.norm > COLLAPSED * first_norm:
            return Stop("degenerate", cause="collapsed", details={"norm": decoder.norm, "first_norm": first_norm})
        H = new
        iteration += 1


class Fresh(Protocol):
    """Other samples in every iteration, and where they stand."""

    def __next__(self) -> RowSource:
        """The samples of the next iteration."""

    def state(self) -> dict[str, Any]:
        """What the next ones follow from."""


class Drawn:
    """Samples drawn anew from a model.

    Parameters
    ----------
    source : GeneratedSource
        The model.
    rng : numpy.random.Generator
        Randomness.
    state : mapping, optional
        Where earlier ones stood.
    """

    def __init__(self, source: GeneratedSource, rng: np.random.Generator, state: State | None = None) -> None:
        self.source, self.rng = source, rng
        if state is not None:
            unpack(state["drawn"], rng)

    def __next__(self) -> RowSource:
        return self.source.fresh(self.rng)

    def state(self) -> dict[str, Any]:
        """The generator."""
        return {"drawn": packed(self.rng)}


class Batched:
    """Shuffled batches of the data without end, each as a source; a short last batch of a round is left out.

    Parameters
    ----------
    source : RowSource
        The data.
    size : int
        Samples of a batch, or all if there are fewer.
    rng : numpy.random.Generator
        Shuffles.
    state : mapping, optional
        Where earlier ones stood.
    """

    def __init__(self, source: RowSource, size: int, rng: np.random.Generator, state: State | None = None) -> None:
        self.size = min(size, source.shape[0])
        self.stream = Shuffled(source, self.size, rng, state)
        self.batches = iter(self.stream)

    def __next__(self) -> RowSource:
        return MemorySource(next(batch for batch, _ in self.batches if batch.shape[0] == self.size))

    def state(self) -> dict[str, Any]:
        """That of the passes."""
        return self.stream.state()


def polish(source: RowSource, H0: Array, *, threshold: float, state: State | None = None) -> Stages:
    """Exact steps without sampling error: weights ``x P`` that reach the threshold, then least squares for ``H``.

    Where the support of the weights is right and there is no noise, the true components are a fixed point, whatever
    the correlations of the weights in the sample.  As in Purification itself, weights and samples are taken about
    their means: least squares with an intercept, which a constant part of the noise does not move.
    """
    settling = _Settling(FRESH_PATIENCE, state)
    if state:
        H, change, active = (np.asarray(state[name]) for name in ("H", "change", "active"))
        residual = float(state["residual"])
    else:
        H = np.array(H0, np.float64)
    while True:
        if not state:
            try:
                decoder = Decoder.of(H, threshold, "pinv", "hard").cast(source.dtype)
            except InputError:
                return Stop("degenerate", cause="dependent")
            moments = source.reduce(partial(moments_block, decoder=decoder), combine=merge)
            active = np.flatnonzero(moments.variances(source.dtype) > 0.0)  # the others stay as they are
            gram = moments.gram[np.ix_(active, active)]
            # the least change, also where weights depend on each other
            change = np.linalg.lstsq(gram, moments.products.T[active] - gram @ H[active], rcond=None)[0]
            residual = _relative(change, H)
            kept = {"H": H, "change": change, "active": active, "residual": residual, **settling.state()}
            yield Progress(H.astype(source.dtype), residual, residual, certified=False, state=kept)
        state = None
        settling.see(residual)
        if residual <= max(EXACT, 8.0 * float(np.finfo(source.dtype).eps)):
            return Stop("converged", residual, EXACT, measure=CHANGE)
        if settling.over:
            return Stop("settled", residual, measure=CHANGE, cause="change")
        H = H.copy()
        H[active] += change


class _Settling:
    """Whether a residual has stopped falling."""

    def __init__(self, patience: int, state: State | None = None) -> None:
        self.patience = patience
        self.least, self.waited = (float(state["least"]), int(state["waited"])) if state else (np.inf, 0)

    def state(self) -> dict[str, float]:
        """What it goes on from."""
        return {"least": self.least, "waited": self.waited}

    def see(self, residual: float) -> None:
        falls = residual < FALL * self.least
        self.least, self.waited = (residual, 0) if falls else (self.least, self.waited + 1)

    @property
    def over(self) -> bool:
        return self.waited >= self.patience


def _relative(change: Array, H: Array) -> float:
    """``|change| / |H|``, whatever the unit of the data."""
    unit = float(np.abs(H).max())
    return float(np.linalg.norm(change / unit) / np.linalg.norm(H / unit))


def _details(decoder: Decoder, step: float, scale: float | None) -> dict[str, float]:
    return {
        "threshold": decoder.threshold,
        "step": step,
        "scale": np.nan if scale is None else scale,
        "inverse_norm": decoder.norm,
        "gap": decoder.gap,
    }
