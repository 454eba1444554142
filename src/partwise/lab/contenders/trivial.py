"""What nobody would call a method: the start, nothing, and the mean. A claim that one of them meets says nothing."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from partwise.lab.experiment import Contender, Found, Problem
from partwise.lab.measures.and_ import correlation_error

POINTS = 10  # of a curve that does not fall


def _still(problem: Problem, components: np.ndarray) -> Found:
    """Components that stay what they are, with a history in which nothing happens."""
    facts = {"seconds": 0.0, "iterations": 0, "found": len(components)}
    if problem.truth is None:
        return Found(components, facts=facts)
    error = correlation_error(problem, Found(components))
    curve = [{"n_iter": i, "time": float(i), "error": error} for i in range(POINTS)]
    return Found(components, curve=curve, facts=facts | {"least_error": error})


def _dense(X: object) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, float)  # type: ignore[attr-defined]


def start(problem: Problem, seed: int, budget: float | None) -> Found:
    """The start that the methods share; where there is none, the first samples."""
    given = problem.start if problem.start is not None else _dense(problem.X[: problem.k])
    return _still(problem, given)


def zero(problem: Problem, seed: int, budget: float | None) -> Found:
    """The zero matrix."""
    return _still(problem, np.zeros((problem.k, problem.X.shape[1])))


def constant(problem: Problem, seed: int, budget: float | None) -> Found:
    """Every component is the mean sample."""
    mean = np.asarray(problem.X.mean(axis=0), float).reshape(1, -1)
    return _still(problem, np.repeat(mean, problem.k, axis=0))


CONTENDERS: tuple[Contender, ...] = (
    Contender("trivial-start", "the start itself (the first samples where none is given): nothing is done", start),
    Contender("trivial-zero", "the zero matrix", zero),
    Contender("trivial-constant", "every component is the mean sample", constant),
)
