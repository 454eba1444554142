"""HALS and ANLS on data with negative entries: without the clamp on the components, and with it on unclipped data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise.lab.contenders.base import lifted
from partwise.lab.experiment import Contender, Found, Problem
from partwise.linalg import nnls
from partwise.metrics import total_correlation_error

ITERATIONS = 250  # as many as the published AND has stages
Factors = tuple[np.ndarray, np.ndarray]


def on_clock(iterations: Callable[[Problem], Iterator[np.ndarray]]) -> Callable[[Problem, int, float | None], Found]:
    """A contender from an iterator of components, first the start; measuring the error is not on the clock."""

    def run(problem: Problem, seed: int, budget: float | None) -> Found:
        if problem.start is None or sp.issparse(problem.X):
            raise ValueError("this method is for dense data with a common start")
        curve: list[dict[str, float]] = []
        H, spent, begin = problem.start, 0.0, time.process_time()
        for count, H in enumerate(iterations(problem)):
            spent += time.process_time() - begin
            error = total_correlation_error(H, problem.truth) if problem.truth is not None else np.nan
            curve.append({"n_iter": count, "time": spent, "error": float(error)})
            if count == ITERATIONS or (budget is not None and spent > budget):
                break
            begin = time.process_time()
        least = min(point["error"] for point in curve)
        return Found(H, curve=curve, facts={"seconds": spent, "iterations": len(curve) - 1, "least_error": least})

    return run


def without_clamp(problem: Problem, update: Callable[..., Factors]) -> Iterator[np.ndarray]:
    """Components of any sign and non-negative weights, in turn, from the common start."""
    X, H = problem.X, np.array(problem.start, float)
    W = np.asarray(nnls(H, X))
    yield H
    while True:
        W, H = update(X, W, H)
        yield H


def least_squares(X: np.ndarray, W: np.ndarray, H: np.ndarray) -> Factors:
    """ANLS: plain least squares for the components, then exact non-negative weights."""
    H = np.linalg.lstsq(W, X)[0]
    return np.asarray(nnls(H, X)), H


def coordinates(X: np.ndarray, W: np.ndarray, H: np.ndarray) -> Factors:
    """HALS: a component at a time by least squares, then the weights of one at a time, which alone are clamped."""
    W, H = W.copy(), H.copy()
    G, B = W.T @ W, W.T @ X
    for j in np.flatnonzero(G.diagonal()):
        H[j] += (B[j] - G[j] @ H) / G[j, j]
    G, B = H @ H.T, X @ H.T
    for j in np.flatnonzero(G.diagonal()):
        W[:, j] = np.maximum(W[:, j] + (B[:, j] - W @ G[:, j]) / G[j, j], 0.0)
    return W, H


def unclipped(problem: Problem, name: str) -> Iterator[np.ndarray]:
    """HALS or ANLS as they are, for non-negative components, on data that keeps its negative entries."""
    from partwise.algorithms import anls, hals
    from partwise.sources import source_of

    norm = float(np.square(problem.X).sum())
    known: dict[str, Callable[..., Any]] = {"hals": partial(hals.hals, sweeps=1, extrapolate=False), "anls": anls.anls}
    for progress in known[name](source_of(problem.X), lifted(problem), squared_norm=norm):
        yield progress.components


CONTENDERS: tuple[Contender, ...] = (
    Contender(
        "hals-signed",
        "HALS whose components may be negative (no clamp on them), data as it is, common start",
        on_clock(partial(without_clamp, update=coordinates)),
        literal=True,
    ),
    Contender(
        "anls-signed",
        "ANLS whose components may be negative (no clamp on them), data as it is, common start",
        on_clock(partial(without_clamp, update=least_squares)),
        literal=True,
    ),
    *(
        Contender(
            f"{name}-unclipped",
            f"{name.upper()} for non-negative components, on data that keeps its negative entries, common start",
            on_clock(partial(unclipped, name=name)),
            literal=True,
        )
        for name in ("hals", "anls")
    ),
)
