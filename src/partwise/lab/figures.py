"""The lab's figures as functions of a result; every panel is a figure of its own, for a phone shows one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.lab.experiment import SAMPLES, Reproduction, detectors_of
from partwise.lab.measures import MEASURES
from partwise.plots.style import BAD, FAINT, GOOD, INK, LINE, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

Draw = Callable[[Reproduction], Mapping[str, Any]]

COLOURS = (
    *(GOOD, BAD, "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7B5EA7", "#7F7F00", FAINT, "#B04A5A"),
    *("#8C564B", "#17BECF"),
)
MARKERS = "osD^vPX*hp<>"
WIDTH, HEIGHT = 4.8, 3.3  # inches: panels are meant for a phone too
TYPE = 10.0  # points
SMALLEST = 1e-17  # what a logarithmic axis shows of an exact zero: just below rounding, 1e-16


def way(x: str = "time", y: str = "error", *, across: str = "seconds", log: bool = False) -> Draw:
    """A panel a case: how `y` falls, one line a method and seed, from the histories."""

    def draw(result: Reproduction) -> dict[str, Any]:
        panels = {}
        for case in result.curves.distinct("case"):
            rows = result.curves.where(case=case)
            figure, axes = chart(across, label(y))
            for method in methods(result):
                for seed in rows.distinct("seed"):
                    one = rows.where(method=method, seed=seed)
                    if not len(one):
                        continue
                    place, value = one.values(x), one.values(y)
                    known = np.isfinite(place) & np.isfinite(value)
                    if not known.any():
                        continue
                    name = method if seed == 0 else None
                    axes.plot(
                        place[known],
                        np.maximum(value[known], SMALLEST),
                        color=colour(result, method),
                        lw=1.5,
                        label=name,
                    )
            axes.set_yscale("log")
            if log:
                axes.set_xscale("symlog", linthresh=1e-2)
                axes.set_xlim(left=0.0)
            legend(axes)
            panels[str(case)] = figure
        return panels

    return draw


def against(x: str, y: str, *, across: str, panel: str | None = None, logs: str = "xy") -> Draw:
    """The mean of `y` over the seeds against a column of the cases, one line a method; a panel for each of `panel`."""

    def draw(result: Reproduction) -> dict[str, Any]:
        panels = {}
        for value in result.table.distinct(panel) if panel else [""]:
            rows = result.table.where(**{panel: value}) if panel else result.table
            figure, axes = chart(across, label(y))
            for i, method in enumerate(methods(result)):
                at = sorted(rows.where(method=method).distinct(x))
                means = np.array([rows.mean(y, method=method, **{x: place}) for place in at])
                known = np.isfinite(means)
                if not known.any():
                    continue
                if "y" in logs:
                    means = np.maximum(means, SMALLEST)
                style: dict[str, Any] = {
                    "color": colour(result, method),
                    "marker": MARKERS[i % len(MARKERS)],
                    "ms": 4,
                    "lw": 1.3,
                }
                axes.plot(np.array(at)[known], means[known], label=method, **style)
            for axis in logs:
                getattr(axes, f"set_{axis}scale")("log")
            legend(axes)
            panels[str(value)] = figure
        return panels

    return draw


def beside(y: str) -> Draw:
    """Our means against the published numbers, cell by cell: on the line they agree, above it ours are larger."""

    def draw(result: Reproduction) -> dict[str, Any]:
        figure, axes = chart("published", "ours")
        everything: list[float] = []
        for i, (method, numbers) in enumerate(result.experiment.published(y).items()):
            pairs = [(value, result.table.mean(y, method=method, case=case)) for case, value in numbers.items()]
            known = [pair for pair in pairs if np.isfinite(pair[1])]
            if known:
                theirs, ours = np.array(known).T
                axes.scatter(theirs, ours, s=22, color=COLOURS[i], marker=MARKERS[i], label=method, lw=0)
                everything += [*theirs, *ours]
        if everything:
            ends = [min(everything), max(everything)]
            axes.plot(ends, ends, color=FAINT, lw=0.8, ls="--")
        legend(axes)
        return {label(y): figure}

    return draw


def bars(y: str) -> Draw:
    """A panel a case: the mean of a measure for every method, with a mark at the published number."""

    def draw(result: Reproduction) -> dict[str, Any]:
        panels = {}
        names, published = methods(result), result.experiment.published(y)
        for case in result.table.distinct("case"):
            values = [result.table.mean(y, case=case, method=method) for method in names]
            tall = 0.8 + 0.24 * len(names)
            figure, axes = chart(label(y), "", height=tall, left=0.34, bottom=0.5 / tall)
            places = np.arange(len(names))[::-1]
            ends = np.where(np.isfinite(values), values, 0.0)
            axes.barh(places, ends, color=[colour(result, name) for name in names], height=0.62)
            for place, method, value, end in zip(places, names, values, ends, strict=True):
                number = published.get(method, {}).get(case)
                if number is not None:
                    axes.plot([number, number], [place - 0.42, place + 0.42], color=INK, lw=1.6)
                text = "–" if np.isnan(value) else format(value, MEASURES[y].style if y in MEASURES else ".3g")
                axes.annotate(
                    text,
                    (max(end, 0.0), place),
                    (3, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=TYPE - 1.5,
                    color=INK,
                )
            axes.set_yticks(places, names)
            axes.margins(x=0.15)
            panels[str(case)] = figure
        return panels

    return draw


def pictures(count: int = 25, exponent: float = 1.0) -> Draw:
    """A panel a case and method: the components that were kept, as images; before them, some samples."""

    def draw(result: Reproduction) -> dict[str, Any]:
        from partwise.plots import feature_grid

        return {
            f"{case}, {what}": feature_grid(np.abs(rows[:count]), shape, exponent=exponent, columns=_columns(count))
            for case, what, rows, shape in _kept(result, [SAMPLES, *methods(result)])
        }

    return draw


def receptive_fields(count: int = 25) -> Draw:
    """A panel a case and method: the detectors that were kept, as images, red where positive and blue where not."""

    def draw(result: Reproduction) -> dict[str, Any]:
        from partwise.plots import detector_grid

        return {
            f"{case}, {what}": detector_grid(rows[:count], shape, columns=_columns(count))
            for case, what, rows, shape in _kept(result, [detectors_of(method) for method in methods(result)])
        }

    return draw


def _columns(count: int) -> int:
    return 5 if count <= 25 else 10


def _kept(result: Reproduction, names: list[str]) -> Iterator[tuple[str, str, np.ndarray, tuple[int, int]]]:
    for case in result.table.distinct("case"):
        image = next((str(row["image"]) for row in result.table.where(case=case, seed=0) if row.get("image")), "")
        for what in names:
            rows = result.kept(case, what, 0)
            if rows is not None and image:
                high, wide = map(int, image.split("x"))
                yield case, what, rows, (high, wide)


def heat(y: str) -> Draw:
    """Cases by methods: the darker the better, on a logarithmic scale; the best of each row has a frame."""

    def draw(result: Reproduction) -> dict[str, Any]:
        cases, names = result.table.distinct("case"), methods(result)
        table = np.array([[result.table.mean(y, case=case, method=name) for name in names] for case in cases])
        if not names:
            return {}
        known = np.isfinite(table)
        margin = 0.3 + 0.075 * max(map(len, map(str, cases)), default=0)  # inches for the names of the cases
        wide, tall = margin + 0.5 * len(names), 1.3 + 0.26 * len(cases)
        figure, axes = chart("", "", width=wide, height=tall, left=margin / wide, bottom=1.2 / tall)
        axes.grid(visible=False)
        shade = np.log10(np.maximum(np.nan_to_num(table, nan=1.0, posinf=1.0), 1e-9))
        axes.imshow(-shade, cmap="Blues", aspect="auto", vmin=-0.3, vmax=7)
        for i in range(len(cases)):
            for j in range(len(names)):
                text = "–" if np.isnan(table[i, j]) else f"{table[i, j]:.0e}".replace("e-0", "e-")
                ink = "white" if -shade[i, j] > 3.5 else "#202020"
                best = known[i, j] and table[i, j] == np.min(table[i], where=known[i], initial=np.inf)
                weight = "bold" if best else "normal"
                axes.text(j, i, text, ha="center", va="center", fontsize=TYPE - 3, color=ink, weight=weight)
                if best:
                    axes.plot(
                        j + 0.48 * np.array([-1, 1, 1, -1, -1]),
                        i + 0.46 * np.array([-1, -1, 1, 1, -1]),
                        color=BAD,
                        lw=1.4,
                    )
        axes.set_xticks(range(len(names)), names, rotation=50, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(cases)), cases)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        return {"": figure}

    return draw


def methods(result: Reproduction) -> list[str]:
    """The methods that have a row, in the experiment's order, without what is none."""
    present = set(result.table.distinct("method")) - set(result.experiment.trivials)
    return [name for name in result.manifest["methods"] if name in present]


def colour(result: Reproduction, method: str) -> str:
    """The same colour for a method in all panels of a result."""
    return COLOURS[list(result.manifest["methods"]).index(method) % len(COLOURS)]


def _sparse(value: float, _: int) -> str:
    """Labels of a few minor ticks."""
    leading = value / 10.0 ** np.floor(np.log10(value))
    return f"{value:g}" if round(leading) in (2, 5) else ""


def label(measure: str) -> str:
    """What an axis is called."""
    return MEASURES[measure].label if measure in MEASURES else measure.replace("_", " ")


def chart(
    across: str, up: str, *, width: float = WIDTH, height: float = HEIGHT, left: float = 0.15, bottom: float = 0.16
) -> tuple[Drawing, Axes]:
    """An empty panel without a background, which the page gives it."""
    figure, sheet = canvas(width, height)
    sheet.remove()
    figure.patch.set_alpha(0.0)
    axes = figure.add_axes((left, bottom, 0.97 - left, 0.96 - bottom))
    axes.patch.set_alpha(0.0)
    axes.set_xlabel(across, fontsize=TYPE, color=INK)
    axes.set_ylabel(up, fontsize=TYPE, color=INK)
    axes.tick_params(which="both", labelsize=TYPE - 1, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.grid(color=LINE, lw=0.4, alpha=0.3)
    axes.set_axisbelow(True)
    return figure, axes


def legend(axes: Axes) -> None:
    """Names of the lines, without a box; and labels on a logarithmic axis at decades alone, where there are two."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter

    if axes.get_xscale() == "linear" and axes.get_xlim()[1] >= 1e4:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # 200k
    for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axis.get_scale() == "log":
            decades = np.floor(np.log10(ends[1])) - np.ceil(np.log10(ends[0])) + 1
            axis.set_minor_formatter(NullFormatter() if decades >= 2 else FuncFormatter(_sparse))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=TYPE - 1.5, labelcolor=INK, handlelength=1.5)
