"""Our numbers for the claims: functions of a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from partwise.lab.experiment import Reproduction

Value = Callable[[Reproduction], float]
NOTHING = float("nan")


def mean(column: str, **equal: Any) -> Value:
    """The mean of a column over the rows that have these values."""
    return lambda result: result.table.mean(column, **equal)


def worst(column: str, **equal: Any) -> Value:
    """The largest of a column over the rows that have these values."""
    return lambda result: result.table.worst(column, **equal)


def ratio(column: str, above: Mapping[str, Any], below: Mapping[str, Any]) -> Value:
    """The quotient of two means."""

    return lambda result: quotient(result.table.mean(column, **above), result.table.mean(column, **below))


def quotient(above: float, below: float) -> float:
    """One number over another; nothing over an exact zero."""
    return above / below if below else NOTHING


def told(value: float, style: str) -> str:
    """A number as part of an explanation, which may have been left out by ``--methods``."""
    return "not measured" if np.isnan(value) else format(value, style)


def straightness(case: str, method: str, factor: float) -> Value:
    """Squared correlation of log(error) with the iteration, until the error is within a factor of its least."""

    def value(result: Reproduction) -> float:
        rows = result.curves.where(case=case, method=method, seed=0)
        error, step = rows.values("error"), rows.values("n_iter")
        falling = error > factor * np.min(error) if len(error) else np.zeros(0, bool)
        if falling.sum() < 3:
            return NOTHING
        return float(np.corrcoef(step[falling], np.log(error[falling]))[0, 1] ** 2)

    return value


def exponent(x: str, y: str, **equal: Any) -> Value:
    """Slope of log(y) against log(x): y is proportional to this power of x."""

    def value(result: Reproduction) -> float:
        rows = result.table.where(**equal)
        places = np.array(rows.distinct(x), float)
        means = np.array([rows.mean(y, **{x: place}) for place in rows.distinct(x)])
        known = np.isfinite(means) & (means > 0.0)
        if known.sum() < 2:
            return NOTHING
        return float(np.polyfit(np.log(places[known]), np.log(means[known]), 1)[0])

    return value
