"""A fit that goes on where another was killed: a model in the middle of its fit, and the rest of that fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from partwise.algorithms.loop import History, Progress
from partwise.estimators.and_ import AND
from partwise.estimators.base import Factorization
from partwise.estimators.conservative import ConservativeNMF
from partwise.outcomes import Stop

CHANGED = ("init", "max_iter", "thresholds")  # parameters that the rest of a fit has values of its own for
LINES = ("n_iter", "time", "objective", "residual")


class Recorder:
    """A callback that keeps the history of a fit as far as it has come, behind that of the fit it continues.

    Parameters
    ----------
    before : History, optional
        What was recorded before this fit began; its first row, the start, is then the last row of that.
    """

    def __init__(self, before: History | None = None) -> None:
        self.before = before
        self.rows: list[dict[str, float]] = []

    def __call__(self, progress: Progress) -> None:
        """Remember an iteration."""
        row = dict(zip(LINES, (progress.n_iter, progress.seconds, progress.objective, progress.residual), strict=True))
        self.rows.append(row | dict(progress.details))

    def history(self) -> History:
        """All rows so far."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        now = History({name: [row.get(name, np.nan) for row in self.rows] for name in names})
        return now if self.before is None else joined(self.before, now)


def can_resume(model: Factorization) -> bool:
    """Whether the method iterates from components that can be given to it; others are done at once."""
    return isinstance(model, ConservativeNMF) or "init" in model.get_params(deep=False)


def snapshot(model: Any, components: Any, history: History) -> Any:
    """A model as it is in the middle of its fit: it can be saved, used, and gone on from.

    Parameters
    ----------
    model : estimator
        The one that is being fitted.
    components : ndarray of shape (n_components, n_features)
        What it has found so far.
    history : History
        Its iterations so far.

    Returns
    -------
    estimator
        Another one of the same class.
    """
    found = type(model)(**{**model.get_params(deep=False), "callbacks": ()}).set_preparation(model.preparation)
    found.components_ = np.ascontiguousarray(components)
    found.n_components_, found.n_features_in_ = len(components), components.shape[1]
    for name in ("feature_names_in_", "preparation_"):
        if name in vars(model):
            setattr(found, name, vars(model)[name])
    found.history_, found.n_iter_ = history, int(history["n_iter"][-1])
    found.stop_ = Stop("running", n_iter=found.n_iter_)
    found.reconstruction_error_ = np.nan
    if isinstance(model, ConservativeNMF):
        found._learner, found.error_ = model._learner, float(history["objective"][-1])
        found._publish()
    else:
        found.residual_ = float(history["residual"][-1])
    return found


def go_on(model: Any, checkpoint: Any, fit: Callable[[Any], Any]) -> None:
    """Fit from where another fit had come to; history and number of iterations continue.

    :class:`ConservativeNMF` ends with the same bits as a fit without a break; the others begin a new iteration, with
    new momentum or thresholds, at the components of the checkpoint.

    Parameters
    ----------
    model : estimator
        With the parameters of the fit as a whole.
    checkpoint : estimator
        A snapshot of it, or what an interrupted fit has left.
    fit : callable
        Is given the model and fits it.
    """
    done = int(checkpoint.history_["n_iter"][-1])
    whole = {name: value for name, value in model.get_params(deep=False).items() if name in CHANGED}
    if isinstance(model, ConservativeNMF):
        model._state = checkpoint._learner.state()
    else:
        model.set_params(init=checkpoint.components_, max_iter=max(1, int(model.max_iter) - done))
    if isinstance(model, AND) and not model._adaptive():  # those of the stages that are left
        levels = list(islice(model._thresholds(), int(whole["max_iter"]) + 1))
        model.thresholds = levels[done:] or levels[-1:]

    try:
        fit(model)
    finally:
        model.set_params(**whole)
        model.__dict__.pop("_state", None)  # where the fit did not come to use it
    model.history_, model.n_iter_ = joined(checkpoint.history_, model.history_), model.n_iter_ + done
    model.stop_ = replace(model.stop_, n_iter=model.n_iter_)


def joined(before: History, after: History) -> History:
    """One history of two fits, the second of which began where the first had come to."""
    columns: dict[str, Any] = {}
    for name in dict.fromkeys([*before, *after]):
        first = before[name] if name in before else np.full(before.n_rows, np.nan)
        second = after[name][1:] if name in after else np.full(after.n_rows - 1, np.nan)
        offset = first[-1] if name in ("n_iter", "time") else 0
        columns[name] = np.concatenate([first, second + offset])
    return History(columns)
