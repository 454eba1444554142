"""From numbers to the page: every text and every place is settled here, the template only puts them in order."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.io.preparation import KINDS
from partwise.io.versions import library_versions
from partwise.plots.pages import templates
from partwise.report import charts
from partwise.report.cards import make_cards
from partwise.report.facts import Facts
from partwise.report.findings import findings, halves_text
from partwise.report.maps import similarity_map, weights_map
from partwise.report.naming import Names, View, shown
from partwise.report.wording import (
    BETWEEN_HALVES,
    count,
    ending,
    explained,
    halves_error,
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


def render(
    facts: Facts,
    source: RowSource,
    names: Names,
    view: View,
    *,
    title: str = "",
    about: Mapping[str, str] | None = None,
    command: str = "",
    warnings: Sequence[str] = (),
) -> str:
    """The report as HTML without any reference to another file.

    Parameters
    ----------
    facts : Facts
        The numbers.
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
    warnings : sequence of str
        What the reader should also be told.

    Returns
    -------
    str
        The page.
    """
    n, k = facts.shape[0], len(facts.order)
    course = facts.course
    cards = make_cards(facts, source, names, view)
    return str(
        templates(TEMPLATES)
        .get_template("report.html")
        .render(
            title=title or f"{count(k, 'part')} of {count(n, 'sample')}",
            method=facts.method,
            lead=_lead(facts),
            tiles=_tiles(facts),
            warnings=findings(facts, names, warnings),
            curves=[
                charts.curve(*curve, "iteration" if course.learnt is None else "samples") for curve in course.curves
            ],
            ending=ending(course.stop, course.n_iter, wanted=course.wanted),
            histogram=_histogram(facts.rows.unexplained),
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


def _lead(facts: Facts) -> str:
    n, m = facts.shape
    parts = count(len(facts.order), "part")
    text = f"{facts.method} found {parts} in {count(n, 'sample')} of {count(m, 'feature')}. "
    if facts.rows.norm == 0.0:
        return text + "The data is all zero."
    if facts.preparation != "none":
        text += f"The data was prepared by {facts.preparation}, and parts, weights and errors are in its units. "
    if facts.weighing:
        text += weighed(facts.weighing)
    share = explained(facts.unexplained).replace(">", "more than ").replace("<", "less than ")
    return text + f"{'Together they explain' if len(facts.order) > 1 else 'It explains'} {share} of the data."


def _tiles(facts: Facts) -> list[tuple[str, str]]:
    course = facts.course
    tiles = [
        ("explained", explained(facts.unexplained)),
        ("relative error", number(facts.relative_error)),
        ("parts", f"{len(facts.order):,}"),
        ("samples", f"{facts.shape[0]:,}"),
        ("features", f"{facts.shape[1]:,}"),
    ]
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
        "text": halves_text(found),
        "errors": halves_error(found.errors),
        "curves": [charts.curve(BETWEEN_HALVES[name], x, y) for name, x, y in found.curves],
        "parts": [(int(i) + 1, number(float(found.errors[i])), not found.agree[i]) for i in worst[:MOST_PARTS]],
    }


def _histogram(unexplained: Array) -> charts.Chart | None:
    """None where there is nothing to compare: a single sample, or all of them exact."""
    if len(unexplained) < 2 or unexplained.max() < EXACT:
        return None
    return charts.histogram(unexplained)


def _run(facts: Facts) -> list[tuple[str, str]]:
    known = [("Method", f"{facts.method}: {facts.about_method}"), ("Settings", facts.settings)]
    if facts.preparation != "none":
        known.append(("Preparation", f"{facts.preparation}: {KINDS[facts.preparation]}"))
    if facts.weighing:
        known.append(("Weighing", f"noise: {facts.weighing}"))
    if facts.noise is not None:
        told = str(facts.noise)
        known.append(("Noise", f"{told[:1].upper()}{told[1:]}."))
    if facts.course.residual is not None:
        name = facts.course.residual_name
        known.append((name[:1].upper() + name[1:], number(facts.course.residual)))
    return [*known, ("Versions", _versions())]


@cache
def _versions() -> str:
    every = library_versions() | {"Python": platform.python_version()}
    return ", ".join(f"{name} {version}" for name, version in every.items())
