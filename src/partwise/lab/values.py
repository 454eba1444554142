"""The statistics that claims of every experiment may name: ``f(result, method, **arguments)``, NaN if not measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from partwise.lab.claim import Statistic
from partwise.lab.experiment import Reproduction
from partwise.lab.measurements import Measurements

NOTHING = float("nan")


def mean(result: Reproduction, method: str, *, column: str, **equal: Any) -> float:
    """The mean of a column over the rows that have these values."""
    return result.table.mean(column, method=method, **equal)


def worst(result: Reproduction, method: str, *, column: str, **equal: Any) -> float:
    """The largest of a column over the rows that have these values."""
    return result.table.worst(column, method=method, **equal)


def least(result: Reproduction, method: str, *, column: str, **equal: Any) -> float:
    """The least of a column over the rows that have these values."""
    values = result.table.values(column, method=method, **equal)
    return float(np.min(values)) if len(values) else NOTHING


def ratio(
    result: Reproduction,
    method: str,
    *,
    column: str,
    of: Mapping[str, Any] | None = None,
    to: Mapping[str, Any] | None = None,
    how: str = "mean",
    **equal: Any,
) -> float:
    """The quotient of two means (or `how` "worst"): rows that have these values and `of`, over those with `to`.

    Both are of the method, unless `of` or `to` name another.
    """
    number = result.table.mean if how == "mean" else result.table.worst
    rows = {"method": method, **equal}
    return quotient(number(column, **(rows | dict(of or {}))), number(column, **(rows | dict(to or {}))))


def over_best(result: Reproduction, method: str, *, column: str, than: Sequence[str], **equal: Any) -> float:
    """The mean of a column over the least mean of several others: of what is no method too, if it is named."""
    others = [result.table.mean(column, method=name, **equal) for name in than]
    return quotient(result.table.mean(column, method=method, **equal), float(np.min(others)))


def spread(result: Reproduction, method: str, *, column: str, **equal: Any) -> float:
    """The largest of a column over its least."""
    values = result.table.values(column, method=method, **equal)
    return quotient(float(np.max(values)), float(np.min(values))) if len(values) > 1 else NOTHING


def worst_ratio(result: Reproduction, method: str, *, column: str, than: str) -> float:
    """The largest quotient, over the cases, of a mean of the method and that of another."""
    cases = result.table.distinct("case")
    shares = [ratio(result, method, column=column, to={"method": than}, case=case) for case in cases]
    return float(np.max(shares)) if shares else NOTHING


def straightness(result: Reproduction, method: str, *, case: str, factor: float, of: str = "error") -> float:
    """Squared correlation of log(`of`) with the iteration, until the error is within a factor of its least.

    0 if the error never falls by that factor; NaN if it does in fewer than three iterations, too few for a line.
    """
    rows = result.curves.where(case=case, method=method, seed=0)
    error, values, step = (rows.values(column) for column in ("error", of, "n_iter"))
    above = error > factor * np.min(error, initial=np.inf)
    falling = above & np.isfinite(values) & (values > 0.0)
    if falling.sum() < 3:
        return 0.0 if len(error) > 2 and not above.any() else NOTHING
    return float(np.corrcoef(step[falling], np.log(values[falling]))[0, 1] ** 2)


def along(rows: Measurements, column: str, by: str, *, style: str = ".3f", label: str = "{:g}") -> str:
    """The worst of a column at every value of another one, in words."""
    places = sorted(rows.distinct(by))
    return ", ".join(f"{told(rows.worst(column, **{by: x}), style)} ({label.format(x)})" for x in places)


def exponent(result: Reproduction, method: str, *, x: str, y: str, most: float = np.inf, **equal: Any) -> float:
    """Slope of log(y) against log(x), for x up to `most`: y is proportional to this power of x."""
    rows = result.table.where(method=method, **equal)
    places = [place for place in rows.distinct(x) if place <= most]
    means = np.array([rows.mean(y, **{x: place}) for place in places])
    known = ~np.isnan(means) & (means > 0.0)
    if known.sum() < 2 or np.isinf(means).any():
        return NOTHING
    return float(np.polyfit(np.log(np.array(places, float)[known]), np.log(means[known]), 1)[0])


def quotient(above: float, below: float) -> float:
    """One number over another; nothing over an exact zero."""
    return above / below if below else NOTHING


def told(value: float, style: str) -> str:
    """A number as part of an explanation, which may have been left out by ``--methods``."""
    return "not measured" if np.isnan(value) else format(value, style)


STATISTICS: dict[str, Statistic] = {
    function.__name__: function
    for function in (mean, worst, least, ratio, over_best, worst_ratio, spread, straightness, exponent)
}
