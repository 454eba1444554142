"""Where recovery ends: statistics of a grid of cases, and its picture with a theorem's bound as a curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from partwise.lab.experiment import Reproduction
from partwise.lab.figures import Draw, chart, methods
from partwise.lab.measurements import Measurements
from partwise.lab.values import NOTHING
from partwise.plots.style import BAD, INK

RECOVERED = 1e-6  # of the size of the components: a run that is on its way to rounding, and none that is stuck


def _reached(rows: Measurements, along: str) -> float:
    """The largest value of a column up to which, from the least on, all rows are recovered; NaN if not measured."""
    last = 0.0
    for place in sorted(rows.distinct(along)):
        if not rows.worst("relative", **{along: place}) < RECOVERED:
            break
        last = float(place)
    return last if len(rows) else NOTHING


def borders(result: Reproduction, method: str, along: str, by: str, **equal: Any) -> dict[Any, float]:
    """For every value of `by`: the largest of `along` up to which the truth is recovered."""
    rows = result.table.where(method=method, **equal)
    return {place: _reached(rows.where(**{by: place}), along) for place in sorted(rows.distinct(by))}


def least_border(result: Reproduction, method: str, *, along: str, by: str, **equal: Any) -> float:
    """The border where it is least."""
    found = borders(result, method, along, by, **equal)
    return min(found.values()) if found else NOTHING


def border_gain(result: Reproduction, method: str, *, along: str, by: str, **equal: Any) -> float:
    """The border at the largest value of `by` minus that at the least."""
    found = list(borders(result, method, along, by, **equal).values())
    return found[-1] - found[0] if len(found) > 1 else NOTHING


def border_exponent(result: Reproduction, method: str, *, along: str, by: str, **equal: Any) -> float:
    """Slope of the logarithm of the border against that of `by`; -inf where for some `by` nothing is recovered."""
    found = borders(result, method, along, by, **equal)
    if len(found) < 2 or np.isnan(list(found.values())).any():
        return NOTHING
    if not all(found.values()):
        return -np.inf
    return float(np.polyfit(np.log(list(found)), np.log(list(found.values())), 1)[0])


def constant(
    result: Reproduction, method: str, *, along: str, by: str, bound: str = "correlation_bound", **equal: Any
) -> float:
    """The unnamed constant of a bound on m: how many times it m is where recovery ends, at the least value of `by`.

    0 if there is no recovery at all.
    """
    rows = result.table.where(**equal)
    nowhere = 0.0 if np.isfinite(rows.values(bound, method=method)).any() else NOTHING
    found = _bound(rows, along, by, method, bound)[1]
    return nowhere if np.isnan(found) else found


STATISTICS = {
    "least_border": least_border,
    "border_gain": border_gain,
    "border_exponent": border_exponent,
    "constant": constant,
}


def _bound(rows: Measurements, along: str, by: str, method: str, bound: str) -> tuple[Mapping[Any, float], float]:
    """For every `by` where m reaches C times the bound; C is that of the last recovery at the first value of `by`."""
    ends: dict[Any, float] = {}
    constant = NOTHING
    for place in sorted(rows.distinct(by)):
        here = rows.where(method=method, **{by: place})
        at = np.array(sorted(here.distinct(along)), float)
        ratios = np.log(np.maximum([here.mean(bound, **{along: one}) for one in at], 1e-12))
        finite = np.isfinite(ratios)
        at, ratios = at[finite], np.maximum.accumulate(ratios[finite])
        if np.isnan(constant) and len(at) and here.worst("relative", **{along: at[0]}) < RECOVERED:
            constant = float(np.interp(_reached(here, along), at, ratios))
        ends[place] = float(np.interp(constant, ratios, at)) if len(at) else NOTHING
    return ends, float(np.exp(constant))


def phase(
    along: str, by: str, *, across: str, up: str, panel: str | None = None, bound: str = "correlation_bound"
) -> Draw:
    """A panel a method: the error of every cell (dark: recovered), and the theorem's bound on m as a curve.

    The bound has an unnamed constant, which is taken from where recovery ends in the lowest row.
    """

    def draw(result: Reproduction) -> dict[str, Any]:
        panels = {}
        for value in result.table.distinct(panel) if panel else [""]:
            rows = result.table.where(**{panel: value}) if panel else result.table
            for method in (name for name in methods(result) if len(rows.where(method=name))):
                title = ", ".join(filter(None, (str(value), method)))
                panels[title] = _panel(rows, method, (along, across), (by, up), bound)
        return panels

    return draw


def _panel(rows: Measurements, method: str, right: tuple[str, str], upwards: tuple[str, str], bound: str) -> Any:
    (along, across), (by, up) = right, upwards
    xs, ys = (sorted(rows.distinct(column)) for column in (along, by))
    table = np.array([[rows.mean("relative", method=method, **{along: x, by: y}) for x in xs] for y in ys])
    tall = 1.1 + 0.34 * len(ys)
    figure, axes = chart(across, up, height=tall, bottom=0.55 / tall)
    axes.grid(visible=False)
    shade = -np.log10(np.clip(np.nan_to_num(table, nan=1.0, posinf=1.0), 1e-16, 1.0))
    axes.imshow(shade, cmap="Blues", aspect="auto", vmin=-0.5, vmax=18, origin="lower")
    for i, j in np.ndindex(*table.shape):
        text = "" if np.isnan(table[i, j]) else f"{np.log10(np.maximum(table[i, j], 1e-17)):.0f}"
        axes.text(j, i, text, ha="center", va="center", fontsize=8, color="white" if shade[i, j] > 8 else "#202020")
    ends, constant = _bound(rows, along, by, method, bound)
    known = [(place, end) for place, end in ends.items() if np.isfinite(end)]
    if known and np.isfinite(constant):
        places = np.interp([end for _, end in known], np.array(xs, float), np.arange(len(xs)))
        axes.plot(places, [ys.index(place) for place, _ in known], color=BAD, lw=1.8, alpha=0.85)
        axes.set_title(f"log₁₀ of the error; line: m = {constant:.0e} × bound", fontsize=9, color=INK)
    axes.set_xticks(range(len(xs)), [f"{x:g}" for x in xs])
    axes.set_yticks(range(len(ys)), [f"{y:g}" for y in ys])
    axes.tick_params(length=0)
    box = axes.get_position()
    axes.set_position((box.x0, box.y0, box.width, 1.0 - box.y0 - 0.3 / tall))  # the title above
    return figure
