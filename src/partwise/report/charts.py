"""Charts as paths and ticks in per cent of a plot; the template puts the ticks as text beside it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.report.wording import number, percent, power, times

Array = npt.NDArray[Any]
Ticks = tuple[tuple[float, str], ...]  # place in per cent from the left or the top, text

WIDTH, HEIGHT = 1000, 400  # of the view box of a plot; it is stretched to its place, so only digits depend on it
PROMINENT = 0.1  # of the height of a part, for what counts as a peak of it; a choice, lower ones show noise
AXIS_LETTERS = 27  # for which there is room under a spectrum
# points of a line, a choice between detail and the size of the page; of more the smallest and largest of every stretch
ENVELOPE = 400


@dataclass(frozen=True)
class Chart:
    """A plot: a path, and what is written beside its axes."""

    title: str
    path: str
    x: Ticks
    y: Ticks
    x_label: str = ""
    summary: str = ""


def curve(title: str, x: Array, y: Array, step: str = "iteration") -> Chart:
    """A line over iterations, or other steps, logarithmic upwards."""
    logs = np.log10(y)
    low, high = float(logs.min()), float(logs.max())
    # what hardly changes is shown so, and numbers beside it stay short
    pad = max(0.04 * (high - low), 1e-3 * max(1.0, abs(high)) - (high - low) / 2.0)
    low, high = low - pad, high + pad
    across = (x - x[0]) / (x[-1] - x[0]) * WIDTH
    up = (high - logs) / (high - low) * HEIGHT
    y_ticks = [(100.0 * (high - at) / (high - low), text) for at, text in log_ticks(low, high)]
    ends = [(0.0, f"{x[0]:,.0f}"), (100.0, f"{x[-1]:,.0f}")]
    summary = f"{title}: from {number(float(y[0]))} to {number(float(y[-1]))}"
    return Chart(f"{title} (log scale)", line(across, up), tuple(ends), tuple(y_ticks), step, summary)


def log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Powers of ten between two logarithms; round numbers where there are less than two of those."""
    first, last = int(np.ceil(low)), int(np.floor(high))
    if last > first:
        step = -(-(last - first + 1) // 5)
        return [(float(e), power(e)) for e in range(last, first - 1, -step)]
    values, step_size = round_values(10.0**low, 10.0**high, 3)
    return [(float(np.log10(value)), _round(float(value), step_size)) for value in values if value > 0.0]


def round_values(low: float, high: float, wanted: int) -> tuple[Array, float]:
    """About as many round numbers as wanted, two at least, and the step between them."""
    for pieces in (wanted, 2 * wanted, 4 * wanted):
        step = nice((high - low) / pieces)
        values = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 0.5) * step
        if len(values) > 1:
            break
    return values + 0.0, step  # a zero without a sign


def _round(value: float, step: float) -> str:
    exponent = int(np.floor(np.log10(abs(value))))
    figures = max(0, exponent - int(np.floor(np.log10(step))))
    if -4 < exponent < 6:
        return f"{value:,.{max(0, figures - exponent)}f}"
    return times(f"{value / 10.0**exponent:.{figures}f}", exponent)


def nice(step: float) -> float:
    """1, 2 or 5 times a power of ten, at least as large."""
    base = 10.0 ** np.floor(np.log10(step))
    return float(next(f * base for f in (1.0, 2.0, 5.0, 10.0) if f * base >= step * (1.0 - 1e-9)))


def histogram(unexplained: Array, samples: str = "samples") -> Chart:
    """How many samples are left unexplained to which share; logarithmic where half of them are nearly explained."""
    if np.median(unexplained) >= 0.03:
        top = 1.0 if unexplained.max() <= 1.0 else 1.2
        edges = np.linspace(0.0, top, round(40 * top) + 1)
        places = np.minimum(unexplained, top - 1e-9)
        x = [(100.0 * share / top, f"{100 * share:.0f}%") for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    else:
        logs = np.log10(np.maximum(unexplained, 1e-16))
        low, high = int(np.floor(logs.min())), int(np.ceil(logs.max()))
        high = max(high, low + 1)
        edges = np.linspace(low, high, (high - low) * max(2, 40 // (high - low)) + 1)
        places = logs
        step = -(-(high - low + 1) // 6)
        x = [(100.0 * (e - low) / (high - low), power(e)) for e in range(high, low - 1, -step)]
    counts, _ = np.histogram(places, edges)
    median = float(np.median(unexplained))
    left = percent(median) if median >= 0.001 else number(median)
    summary = f"Of half of the {samples}, a share of at most {left} is not explained"
    scale = "" if np.median(unexplained) >= 0.03 else ", log scale"
    y = ((0.0, f"{int(counts.max()):,}"), (100.0, "0"))
    return Chart(f"number of {samples}", columns(counts), tuple(x), y, f"share that is not explained{scale}", summary)


def columns(counts: Array) -> str:
    """Columns that stand beside each other, with a little room between them."""
    top = max(1, int(counts.max()))
    width = WIDTH / len(counts)
    room = min(2.0, 0.15 * width)
    path = ""
    for i in np.flatnonzero(counts):
        left, right = i * width + room, (i + 1) * width - room
        height = HEIGHT * max(float(counts[i]) / top, 0.008)  # even one sample is seen
        path += f"M{left:.0f} {HEIGHT}V{HEIGHT - height:.0f}H{right:.0f}V{HEIGHT}z"
    return path


def spectrum(values: Array, positions: Array, top: float = 0.0) -> tuple[str, str]:
    """A part over its ordered features: what is above its zero line, and what is below; each part fills its height.

    With `top`, it leaves room for a band that goes as high.
    """
    across, values = envelope(*_across(positions, values))
    above, below = max(0.0, top, float(values.max())), max(0.0, -float(values.min()))
    zero = 16 + (HEIGHT - 16 - 8 * (below > 0.0)) * (above / ((above + below) or 1.0))
    unit = (zero - 16) / above if above else (HEIGHT - 24) / (below or 1.0)

    def area(part: Array) -> str:
        return f"M{across[0]:.0f} {zero:.0f}L" + line(across, zero - unit * part)[1:] + f"V{zero:.0f}H{across[0]:.0f}"

    return area(np.maximum(values, 0.0)), area(np.minimum(values, 0.0)) if below else ""


def band(lower: Array, upper: Array, positions: Array) -> str:
    """Where a non-negative part may lie, as an area, in the scale of a spectrum with the top of `upper`."""
    unit = (HEIGHT - 16) / (float(upper.max()) or 1.0)
    x, up = envelope(*_across(positions, upper))
    x_back, down = envelope(*_across(positions, lower))
    return line(x, HEIGHT - unit * up) + "L" + line(x_back[::-1], HEIGHT - unit * down[::-1])[1:] + "z"


def _across(positions: Array, values: Array) -> tuple[Array, Array]:
    """Places from the left to the right, and values in that order."""
    low, high = float(positions.min()), float(positions.max())
    across = (positions - low) / (high - low or 1.0) * WIDTH
    return (across[::-1], values[::-1]) if across[0] > across[-1] else (across, values)


def envelope(x: Array, y: Array, points: int = ENVELOPE) -> tuple[Array, Array]:
    """At most `points` points with the same outline: the smallest and the largest of every stretch, in their order."""
    if len(x) <= points:
        return x, y
    edges = np.linspace(0, len(x), points // 2 + 1).round().astype(int)
    kept = []
    for a, b in pairwise(edges.tolist()):
        kept += sorted({a + int(y[a:b].argmin()), a + int(y[a:b].argmax())})
    return x[kept], y[kept]


def line(x: Array, y: Array) -> str:
    """Straight lines from point to point."""
    return "M" + " ".join(f"{a:.0f} {b:.0f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def peaks(values: Array, most: int = 3) -> Array:
    """The highest places (by magnitude) that stand out from their surroundings, the highest first.

    As ``scipy.signal.find_peaks`` has them, which takes longer to import than a small fit takes.
    """
    size = np.pad(np.abs(values), 1)
    steps = np.flatnonzero(np.diff(size))  # ends of runs of equal values
    rises = np.diff(size)[steps] > 0.0
    tops = np.flatnonzero(rises[:-1] & ~rises[1:])
    tops = (steps[tops] + 1 + steps[tops + 1]) // 2
    least, found = PROMINENT * float(size.max()), list[int]()
    for top in tops[np.argsort(-size[tops], kind="stable")].tolist():
        left, right = size[: top + 1][::-1], size[top:]
        if size[top] - max(_foot(left), _foot(right)) >= least:
            found.append(top - 1)
        if len(found) == most:
            break
    return np.array(found, dtype=np.intp)


def _foot(way: Array) -> float:
    """The lowest place on a way from a top until it is higher than the top."""
    higher = np.flatnonzero(way > way[0])
    return float(way[: higher[0]].min() if len(higher) else way.min())


def part_ticks(parts: int) -> Ticks:
    """Numbers of parts along a side of a map, not more than can be read."""
    most = 16 if parts < 100 else 10  # a phone has room for that
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if parts / s <= most)
    shown = [i for i in range(parts) if (i + 1) % step == 0 or (i == 0 and step > 2)]
    return tuple((100.0 * (i + 0.5) / parts, str(i + 1)) for i in shown)


def axis_ticks(positions: Array) -> Ticks:
    """A few round places along a spectrum's axis."""
    low, high = float(positions.min()), float(positions.max())
    for wanted in (5, 3, 1):
        values = round_values(low, high, wanted)[0]
        texts = [f"{value:.10g}" for value in values]
        if sum(map(len, texts)) <= AXIS_LETTERS:
            break
    return tuple((100.0 * float(value - low) / (high - low), text) for value, text in zip(values, texts, strict=True))


def share_heights(shares: Array) -> list[tuple[float, str]]:
    """Heights in per cent, of the largest, and texts."""
    top = float(shares.max()) or 1.0
    return [(round(100.0 * float(share) / top, 1), percent(float(share))) for share in shares]
