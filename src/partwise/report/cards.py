"""The parts one by one: how each is drawn, and the samples that show it best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.report import charts, png
from partwise.report.facts import Facts
from partwise.report.naming import Names, View
from partwise.report.wording import count, percent, verdict
from partwise.sources import RowSource, blocks

Array = npt.NDArray[Any]

MOST_CARDS = 300  # parts that are shown one by one; more make the page large and long
IMAGE_PIXELS = 2_000_000  # of all parts together, and of all samples: 2 MB at most, a byte each before compression
# of the samples kept for a part (rows.BEST): what fits a card, as lines and as a row of pictures
SAMPLES = 5
THUMBNAILS = 4


@dataclass(frozen=True)
class Card:
    """One part, ready to be shown."""

    number: int
    name: str
    share: str
    width: float
    dominant: str
    dead: bool
    similar: list[tuple[int, str]]
    bars: list[tuple[str, float, float, str]]
    paths: tuple[str, str] | None
    peaks: str
    image: str
    samples: list[tuple[str, str, str]]
    band: str
    verdict: str
    doubtful: bool


def make_cards(
    facts: Facts, source: RowSource, names: Names, view: View, sample: tuple[str, str] = ("sample", "samples")
) -> list[Card]:
    """The cards of the first parts.

    Parameters
    ----------
    source : RowSource
        The data: where samples are images, a few are shown.
    names : Names
        What features and samples are called.
    view : View
        How parts are drawn.
    sample : (str, str)
        What one of the samples is called, and several.

    Returns
    -------
    list of Card
        In the order of the parts.
    """
    parts = min(len(facts.order), MOST_CARDS)
    signed = facts.signed
    thumbnails = _thumbnails(facts, source, view, parts)
    largest = float(facts.shares.max()) or 1.0
    similar: dict[int, list[tuple[int, str]]] = {}
    for i, j in facts.redundant:
        for one, other in ((i, j), (j, i)):
            if other < parts:
                similar.setdefault(one, []).append((other + 1, f"{facts.similarity[i, j]:.3f}"))
    side = _side(view, parts, 128)
    cards = []
    for i in range(parts):
        h = facts.components[i]
        top, band = _band(facts, i, view)
        told = facts.verdicts[i] if facts.verdicts else None
        cards.append(
            Card(
                number=i + 1,
                name=facts.part(i),
                share=percent(float(facts.shares[i])),
                width=round(100.0 * float(facts.shares[i]) / largest, 1),
                dominant=count(int(facts.dominant[i]), *sample),
                dead=bool(facts.dead[i]),
                similar=similar.get(i, [])[:3],
                bars=_bars(h, facts.top[i], names, signed) if view.kind == "bars" else [],
                paths=charts.spectrum(h, view.positions, top) if view.positions is not None and h.any() else None,
                peaks=_peaks(h, names, view) if view.positions is not None else "",
                image=_image(h, view, side, signed) if view.kind == "image" else "",
                samples=_samples(facts, i, names, thumbnails),
                band=band,
                verdict="" if told is None else verdict(told.verdict, told.expected_error),
                doubtful=told is not None and told.verdict not in ("found again", "given"),
            )
        )
    return cards


def _band(facts: Facts, i: int, view: View) -> tuple[float, str]:
    """How high the band around a part goes, and its outline; nothing where there is none, or the part has signs."""
    if facts.bands is None or view.positions is None or (facts.components[i] < 0.0).any():
        return 0.0, ""
    lower, upper = facts.bands[0][i], np.maximum(facts.bands[1][i], facts.components[i])
    return float(upper.max()), charts.band(lower, upper, view.positions)


def _bars(h: Array, top: Array, names: Names, signed: bool) -> list[tuple[str, float, float, str]]:
    """Name, where the bar begins, how long it is, share in the part; zero is in the middle if there are signs."""
    zero, unit = (50.0, 50.0) if signed else (0.0, 100.0)
    largest, total = float(np.abs(h[top]).max()), float(np.abs(h).sum())  # the largest entry may not be shown
    bars = []
    for j in top[h[top] != 0.0]:
        length = unit * abs(float(h[j])) / largest
        share = percent(abs(float(h[j])) / total)
        begin = zero - length if h[j] < 0.0 else zero
        bars.append((names.feature(int(j)), round(begin, 1), round(length, 1), "−" * bool(h[j] < 0.0) + share))
    return bars


def _peaks(h: Array, names: Names, view: View) -> str:
    assert view.positions is not None
    found = charts.peaks(h)
    texts = [f"{view.positions[j]:.10g}" if names.features is not None else str(j) for j in found]
    return ", ".join(texts) + (f" {view.unit}" if view.unit and texts else "")


def _side(view: View, count: int, most: int) -> int:
    """Longest side of a picture, such that all of them together stay small."""
    if view.image_shape is None:
        return most
    height, width = view.image_shape
    longest = np.sqrt(IMAGE_PIXELS / count * max(height, width) / min(height, width))
    return int(np.clip(longest, 16, most))


def _image(h: Array, view: View, side: int, signed: bool) -> str:
    assert view.image_shape is not None
    image = png.shrunk(h.reshape(view.image_shape), side)
    largest = float(np.abs(image).max()) or 1.0
    if signed:
        return png.picture(image, "diverging", -largest, largest)
    return png.picture(image, "grey", 0.0, largest)


def _thumbnails(facts: Facts, source: RowSource, view: View, parts: int) -> dict[int, str]:
    """The samples that are shown, as pictures by their numbers."""
    if view.image_shape is None:
        return {}
    numbers = np.unique(np.concatenate([best.numbers[:THUMBNAILS] for best in facts.best[:parts]]))
    if not len(numbers):
        return {}
    side = _side(view, max(1, len(numbers)), 64)
    images = np.asarray(blocks.to_dense(source.take(numbers)), float)
    made = {}
    for i, x in zip(numbers.tolist(), images, strict=True):
        image = png.shrunk(x.reshape(view.image_shape), side)
        made[i] = png.picture(image, "grey", min(0.0, float(image.min())), float(image.max()))
    return made


def _samples(facts: Facts, i: int, names: Names, thumbnails: dict[int, str]) -> list[tuple[str, str, str]]:
    """Name, share and picture of the samples that show a part best; the purest of them first."""
    best = facts.best[i]
    name = names.brief_sample if thumbnails else names.sample
    chosen = range(min(len(best.numbers), THUMBNAILS if thumbnails else SAMPLES))
    rows = [(int(best.numbers[s]), float(best.values[s])) for s in sorted(chosen, key=lambda s: -best.values[s])]
    return [(name(number), percent(share), thumbnails.get(number, "")) for number, share in rows]
