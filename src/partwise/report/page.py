"""From numbers to the page: every text and every place is settled here, the template only puts them in order."""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.io.preparation import KINDS
from partwise.io.versions import library_versions
from partwise.plots.pages import templates
from partwise.profiles import Panel
from partwise.report import charts
from partwise.report.cards import make_cards
from partwise.report.facts import Facts
from partwise.report.findings import LITTLE, Finding, findings, grave, halves_text
from partwise.report.maps import similarity_map, weights_map
from partwise.report.naming import Names, View, shown
from partwise.report.panels import drawn
from partwise.report.wording import (
    BETWEEN_HALVES,
    believed,
    count,
    ending,
    explained,
    halves_error,
    in_field,
    many,
    number,
    percent,
    seconds,
    weighed,
)
from partwise.sources import RowSource

Array = npt.NDArray[Any]

EXACT = 1e-20  # share (of squares) left unexplained that is rounding alone: 1e-10 of the entries
MOST_PARTS = 10  # with errors in a list: as many as a panel has room for beside its charts
NOTABLE = 0.01  # share of a sample left unexplained that is worth a line
TEMPLATES = "partwise.report"
TOPIC = "topic"


def render(
    facts: Facts,
    source: RowSource,
    names: Names,
    view: View,
    *,
    title: str = "",
    about: Mapping[str, str] | None = None,
    command: str = "",
    warnings: Sequence[str | Warning] = (),
    panels: Sequence[Panel] = (),
    words: tuple[str, str, str] = ("part", "sample", "feature"),
) -> str:
    """The report as HTML without any reference to another file.

    Parameters
    ----------
    source : RowSource
        The data: where samples are images, a few are shown.
    names : Names
        What features and samples are called.
    view : View
        How parts are drawn.
    title : str
        The headline; by default made of the numbers.
    about : mapping of str to str, optional
        Further facts.
    command : str
        What repeats the run.
    warnings : sequence of str or Warning
        What the reader should also be told.
    panels : sequence of Panel
        Pictures and tables of a field.
    words : (str, str, str)
        What a part, a sample and a feature are called.
    """
    n, k = facts.shape[0], len(facts.order)
    course = facts.course
    plural = [many(word) for word in words]
    called = [*(facts.part(i) for i in range(k)), *(map(shown, names.samples) if names.samples is not None else ())]

    def told(found: list[Finding]) -> list[Finding]:
        return [
            (in_field(one, words, called), in_field(text, words, called)) if one else (one, text) for one, text in found
        ]

    cards = make_cards(facts, source, names, view, (words[1], plural[1]))
    return str(
        templates(TEMPLATES)
        .get_template("report.html")
        .render(
            script=_script(),
            script_hash=base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode(),
            title=title or f"{count(k, words[0])} of {count(n, words[1], many(words[1]))}",
            parts=[facts.part(i) for i in range(k)],
            method=facts.method,
            lead=_lead(facts, words),
            panels=drawn(panels),
            words=words,
            plural=plural,
            tiles=_tiles(facts, words),
            decided=[(label, f"{text[:1].upper()}{text[1:]}.") for label, text in facts.decided],
            believed=believed([row.verdict for row in facts.verdicts], words[0], plural[1]),
            grave=told(grave(facts)),
            warnings=told([one for one in findings(facts, names, warnings) if one[0] != LITTLE or words[0] != TOPIC]),
            curves=[
                charts.curve(*curve, "iteration" if course.learnt is None else "samples") for curve in course.curves
            ],
            ending=ending(course.stop, course.n_iter, wanted=course.wanted),
            histogram=_histogram(facts.rows.unexplained, plural[1]),
            worst=[
                (names.sample(int(i)), percent(float(value)))
                for i, value in zip(facts.rows.worst.numbers, facts.rows.worst.values, strict=True)
                if value > NOTABLE
            ],
            halves=_halves(facts),
            heights=charts.share_heights(facts.shares[: len(cards)]),
            cards=cards,
            left_out=k - len(cards),
            view=view,
            named=names.samples is not None,
            axis=charts.axis_ticks(view.positions) if view.positions is not None else (),
            signed=facts.signed,
            similarity=similarity_map(facts, len(cards)),
            weights=weights_map(facts, len(cards)),
            about=[(shown(label), text) for label, text in (about or {}).items()],
            command=command,
            run=_run(facts),
        )
    )


def _lead(facts: Facts, words: tuple[str, str, str]) -> str:
    n, m = facts.shape
    part, sample, feature = words
    parts = count(len(facts.order), part)
    text = f"{facts.method} found {parts} in {count(n, sample, many(sample))} of {count(m, feature, many(feature))}. "
    if facts.rows.norm == 0.0:
        return text + "The data is all zero."
    if facts.preparation != "none":
        text += f"The data was prepared by {facts.preparation}, and parts, weights and errors are in its units. "
    if facts.weighing:
        text += weighed(facts.weighing)
    if part == TOPIC:  # what is left of short texts is large, and says nothing about topics
        return text.rstrip()
    share = explained(facts.unexplained).replace(">", "more than ").replace("<", "less than ")
    return text + f"{'Together they explain' if len(facts.order) > 1 else 'It explains'} {share} of the data."


def _tiles(facts: Facts, words: tuple[str, str, str]) -> list[tuple[str, str]]:
    course = facts.course
    sizes = (len(facts.order), *facts.shape)
    fit = [("explained", explained(facts.unexplained)), ("relative error", number(facts.relative_error))]
    told = [(many(word), f"{size:,}") for word, size in zip(words, sizes, strict=True)]
    tiles = [*told, *fit[1:]] if words[0] == TOPIC else [*fit, *told]
    if course.learnt is not None:
        tiles.append(("samples learnt", f"{course.learnt:,}"))
    elif course.n_iter is not None:
        tiles.append(("iterations", f"{course.n_iter:,}"))
    if course.seconds is not None:
        tiles.append(("time", seconds(course.seconds)))
    return tiles


def _halves(facts: Facts) -> dict[str, Any] | None:
    """The section on two halves of the samples, where there were any; the parts with the largest errors first."""
    found = facts.agreement
    if found is None:
        return None
    worst = np.argsort(-found.errors, kind="stable")
    return {
        "text": halves_text(facts, found),
        "errors": halves_error(found.errors),
        "curves": [charts.curve(BETWEEN_HALVES[name], x, y) for name, x, y in found.curves],
        "parts": [
            (int(i) + 1, facts.part(int(i)), number(float(found.errors[i])), not found.agree[i])
            for i in worst[:MOST_PARTS]
        ],
    }


def _histogram(unexplained: Array, samples: str) -> charts.Chart | None:
    """None where there is nothing to compare: a single sample, or all of them exact."""
    if len(unexplained) < 2 or unexplained.max() < EXACT:
        return None
    return charts.histogram(unexplained, samples)


def _run(facts: Facts) -> list[tuple[str, str]]:
    known = [("Method", f"{facts.method}: {facts.about_method}"), ("Settings", facts.settings)]
    if facts.preparation != "none":
        known.append(("Preparation", f"{facts.preparation}: {KINDS[facts.preparation]}"))
    if facts.noise is not None:
        told = str(facts.noise)
        known.append(("Noise", f"{told[:1].upper()}{told[1:]}."))
    if facts.weighing:
        known.append(("Weighing", f"noise: {facts.weighing}"))
    if facts.course.residual is not None:
        name = facts.course.residual_name
        known.append((name[:1].upper() + name[1:], number(facts.course.residual)))
    return [*known, ("Versions", _versions())]


@cache
def _script() -> str:
    """The page's one script, whose hash its policy names: no other one runs."""
    return resources.files("partwise.report").joinpath("templates/report.js").read_text(encoding="utf-8")


@cache
def _versions() -> str:
    every = library_versions() | {"Python": platform.python_version()}
    return ", ".join(f"{name} {version}" for name, version in every.items())
