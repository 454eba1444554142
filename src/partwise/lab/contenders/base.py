"""What contenders have in common: our estimators with settings, on a clock, under the names of the lab."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise.algorithms.loop import Progress
from partwise.lab.experiment import Found, Problem
from partwise.outcomes import Stop

SIGNIFICANT = 0.01  # of the dip test, component by component
Runner = Callable[[Problem, int, float | None], Found]


def fitted(
    estimator: str,
    *,
    start: bool = False,
    clip: bool = False,
    labels: bool = False,
    weights: bool = False,
    anchored: bool = False,
    fresh: bool = False,
    codes: bool = False,
    once: int = 0,
    **settings: Any,
) -> Runner:
    """Fit one of our estimators.

    Parameters
    ----------
    start : bool, default=False
        Begin at the start that the experiment gives to all.
    clip : bool, default=False
        The method needs non-negative data: negative entries (noise below zero, mostly) are set to 0.
    labels, weights : bool, default=False
        Take clusters from ``labels_``; compute the weights while the data is there.
    anchored : bool, default=False
        Weights are the values of the anchor features, as in separable NMF's papers, and not refitted.
    fresh : bool, default=False
        Give new samples to every iteration, where the problem can draw them.
    codes : bool, default=False
        Say how many components of the codes are bimodal; see :func:`modes_of`.
    once : int, default=0
        Products with the data before the first iteration, where there are more than the algorithm's own two in each.
    **settings
        Parameters of the estimator.

    Returns
    -------
    callable
        For a :class:`Contender`.
    """

    def run(problem: Problem, seed: int, budget: float | None) -> Found:
        import partwise as pw

        model = getattr(pw, estimator)(problem.k, **settings)
        known = model.get_params()
        more: dict[str, Any] = {"random_state": seed} if "random_state" in known else {}
        if start and problem.start is not None:
            more["init"] = lifted(problem) if clip else problem.start
        clock = WorkClock(budget)
        if "callbacks" in known:
            more["callbacks"] = [clock]
        model.set_params(**more)
        X = _data(problem, clip, seed if fresh else None)
        # the truth goes into the history alone, and measuring it is not on the clock
        told = "truth" in inspect.signature(model.fit).parameters and problem.truth is not None
        begin, work = time.perf_counter(), time.process_time()
        W = (model.fit_transform if weights else model.fit)(X, **({"truth": problem.truth} if told else {}))
        seconds, work = time.perf_counter() - begin, time.process_time() - work
        return Found(
            model.components_,
            weights=W if weights else None,
            labels=np.asarray(model.labels_) if labels else None,
            anchors=np.asarray(model.anchors_) if anchored else None,
            detectors=getattr(model, "detectors_", None),
            curve=_curve(model, clock.work),
            facts=facts_of(model, seconds)
            | (modes_of(np.asarray(model.encode(X))) if codes else {})
            | {"processor_seconds": clock.work[-1] if told and clock.work else work}
            | ({"once": once} if once else {}),
        )

    return run


def summary(model: Any, *, weights: Any = None, **facts: Any) -> Found:
    """What a fitted model found, its way there and further facts."""
    return Found(model.components_, weights=weights, curve=_curve(model), facts=facts_of(model, np.nan) | facts)


def modes_of(codes: np.ndarray) -> dict[str, float]:
    """Shares of the components of codes that are "absent or present with a fixed magnitude", ever more strictly.

    "bimodal": more than one mode, zeros included; "bimodal_positive": of the positive codes alone; "fixed": bimodal,
    and positive codes vary less about their mean than those of a uniform law from zero on, 1 / sqrt(3).  By Hartigan's
    dip test: zeros and a density that falls from zero on have one mode.
    """
    from partwise.metrics import dip_test

    rows = []
    for y in codes.T:
        positive = y[y > 0.0]
        bimodal = dip_test(y).p_value < SIGNIFICANT
        variation = positive.std() / positive.mean() if len(positive) else np.inf
        apart = len(positive) > 0 and dip_test(positive).p_value < SIGNIFICANT
        rows.append((bimodal, apart, bimodal and variation < 3.0**-0.5, variation))
    *shares, variations = np.array(rows, float).T
    named = zip(("bimodal", "bimodal_positive", "fixed"), shares, strict=True)
    return {name: float(share.mean()) for name, share in named} | {"variation": float(np.median(variations))}


def _data(problem: Problem, clip: bool, fresh_seed: int | None) -> Any:
    if fresh_seed is not None and problem.draw is not None:
        from partwise.sources import GeneratedSource

        return GeneratedSource(problem.draw, problem.X.shape[0], random_state=fresh_seed)
    return np.maximum(problem.X, 0.0) if clip and not sp.issparse(problem.X) else problem.X


def lifted(problem: Problem) -> np.ndarray:
    """The common start without negative entries; a little above zero, which a multiplicative update never leaves."""
    assert problem.start is not None
    start: np.ndarray = np.maximum(problem.start, 1e-6 * np.abs(problem.start).mean())
    return start


class WorkClock:
    """A callback with a processor clock: it ends a fit after `budget` seconds of work, and keeps every reading.

    All contenders are limited and drawn by this clock. It runs from the first product with the data, stands still
    while the error against the truth is measured, and no load of the machine moves it.
    """

    def __init__(self, budget: float | None = None) -> None:
        self.budget = np.inf if budget is None else budget
        self.work: list[float] = []

    def __call__(self, progress: Progress) -> Stop | None:
        self.work.append(progress.work)
        return Stop("time", progress.work, self.budget) if progress.work > self.budget else None


def facts_of(model: Any, seconds: float) -> dict[str, Any]:
    """What a fitted model knows of itself."""
    history = getattr(model, "history_", {})
    # the history's clock stands still while the error against the truth is measured
    facts: dict[str, Any] = {"seconds": float(history["time"][-1]) if "time" in history else seconds}
    facts["found"] = len(model.components_)
    if hasattr(model, "n_iter_"):
        facts["iterations"] = int(model.n_iter_)
    if hasattr(model, "stop_"):
        facts["stop"], facts["reason"] = model.stop_.kind, str(model.stop_reason_)
    if hasattr(model, "inverse_norm_"):
        facts["amplification"] = float(model.inverse_norm_)
    if hasattr(model, "inverse_"):
        facts["left_inverse"], facts["balanced"] = model.inverse_, bool(model.balance)
    if hasattr(model, "halves_"):
        errors = model.halves_.error
        facts |= {"predicted": float(np.median(errors)), "apart": float(np.mean(~model.halves_.agree))}
        facts["unexplained"] = float(model.reconstruction_error_)
    if "error" in history:
        facts["least_error"] = float(np.min(history["error"]))
    return facts


def _curve(model: Any, work: Sequence[float] = ()) -> Sequence[Mapping[str, float]]:
    """The history, its time that of the processor where a clock of the same iterations was kept."""
    history = dict(getattr(model, "history_", {}))
    if work and len(work) == len(history.get("time", ())):
        history["time"] = work
    names = [name for name in ("n_iter", "time", "objective", "error", "threshold", "samples") if name in history]
    if not names:
        return ()
    rows = zip(*(np.asarray(history[name], float) for name in names), strict=True)
    return [dict(zip(names, map(float, row), strict=True)) for row in rows]
