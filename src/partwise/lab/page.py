"""The page of a result, and the summary of many: one HTML file each, with everything in it."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partwise.lab.claim import SIDES, UNKNOWN, VERDICTS, Judgement
from partwise.lab.contenders import CONTENDERS
from partwise.lab.experiment import Reproduction
from partwise.lab.measurements import write_bytes
from partwise.lab.measures import MEASURES
from partwise.plots.pages import templates
from partwise.plots.style import INK

PAGE = "index.html"


def write_page(result: Reproduction, folder: Path) -> Path:
    """Write ``index.html``."""
    path = folder / PAGE
    write_bytes(path, render(result).encode())
    return path


def render(result: Reproduction) -> str:
    """The page of one experiment.

    Returns
    -------
    str
        HTML without any reference to another file.
    """
    verdicts = result.verdicts()
    experiment, manifest = result.experiment, result.manifest
    return str(
        templates("partwise.lab")
        .get_template("experiment.html")
        .render(
            experiment=experiment,
            manifest=manifest,
            small=manifest["size"] != "full",
            verdicts=verdicts,
            counts=counts(verdicts),
            misses=misses(verdicts),
            figures=[(figure.caption, _panels(figure.draw(result))) for figure in experiment.figures]
            if len(result.table)
            else [],
            tables=[_pivot(result, name) for name in ("seconds", *experiment.measures)][::-1],
            methods=[CONTENDERS[name] for name in manifest["methods"] if name in CONTENDERS],
            once=[case.name for case in experiment.cases(manifest["size"]) if case.evidence],
            data=_data(result),
            failures=[row for row in result.table if row.get("failure")],
        )
    )


def write_summary(results: Sequence[tuple[str, Reproduction]], folder: Path) -> Path:
    """Write the page that has every claim of several experiments.

    Parameters
    ----------
    results : sequence of (str, Reproduction)
        Each with the address of its page, relative to `folder`.
    """
    sections = [(address, result, result.verdicts()) for address, result in results]
    everything = [judgement for _, _, verdicts in sections for judgement in verdicts]
    page = templates("partwise.lab").get_template("summary.html").render(sections=sections, counts=counts(everything))
    write_bytes(folder / PAGE, page.encode())
    return folder / PAGE


def as_svg(drawing: Any) -> str:
    """A figure as an element of the page; its ink is the page's, so that it can be read in the dark too.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    from matplotlib import rc_context

    data = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "partwise"}):
        drawing.savefig(data, format="svg", metadata=nothing)
    text = data.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    # the size is the page's business; the view box keeps the proportions
    return re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*"([^>]*?) (?:width|height)="[^"]*"', r"\1\2", text, count=1)


def _panels(drawn: Any) -> list[tuple[str, str, float]]:
    return [(title, as_svg(figure), figure.get_size_inches()[0]) for title, figure in drawn.items()]


def counts(verdicts: Sequence[Judgement]) -> dict[str, dict[str, int]]:
    """How many verdicts of each name there are, for the literal methods and for ours.

    Parameters
    ----------
    verdicts : sequence of Judgement
        Of one experiment or of several.

    Returns
    -------
    dict of str to dict of str to int
        By side, then by verdict, in the order of `VERDICTS`.
    """
    found = {side: Counter(one.sides[side].name for one in verdicts if side in one.sides) for side in SIDES}
    return {side: {name: numbers[name] for name in VERDICTS if numbers[name]} for side, numbers in found.items()}


def misses(verdicts: Sequence[Judgement]) -> dict[str, tuple[int, int]]:
    """The literal methods that do not reproduce all of their own claims.

    Parameters
    ----------
    verdicts : sequence of Judgement
        Of one experiment.

    Returns
    -------
    dict of str to (int, int)
        By method: claims that are reproduced, and all that were measured.
    """
    literal = [one.literal for one in verdicts if one.literal and one.literal.name != UNKNOWN]
    methods = dict.fromkeys(verdict.method for verdict in literal)
    found = {name: [verdict.good for verdict in literal if verdict.method == name] for name in methods}
    return {name: (sum(good), len(good)) for name, good in found.items() if not all(good)}


def _pivot(result: Reproduction, measure: str) -> dict[str, Any]:
    """Cases by methods, means over the seeds; the best of each row is marked."""
    table, names = result.table, [str(name) for name in result.manifest["methods"]]
    label, better, style = "seconds", "", ".2g"
    if measure in MEASURES:
        label, better, style = MEASURES[measure].label, MEASURES[measure].better, MEASURES[measure].style
    rows = []
    for case in table.distinct("case"):
        means = np.array([table.mean(measure, case=case, method=name) for name in names])
        if measure in MEASURES and np.isnan(means).all():
            continue  # not a measure of this case
        best = _best(means, names, better, result.experiment.trivials)
        cells = [
            ("–" if np.isnan(value) else format(value, style), bool(mark))
            for value, mark in zip(means, best, strict=True)
        ]
        rows.append((case, cells))
    return {"label": label, "better": better, "methods": names, "rows": rows}


def _best(means: np.ndarray, names: Sequence[str], better: str, trivials: Sequence[str]) -> np.ndarray:
    # what knows the truth is no competitor, nor is what does nothing
    fair = np.array([not name.startswith("true-") and name not in trivials for name in names]) & np.isfinite(means)
    if not better or fair.sum() < 2:
        return np.zeros(len(means), bool)
    sign = 1.0 if better == "higher" else -1.0
    top = np.max(sign * means[fair])
    result: np.ndarray = fair & (sign * means == top)
    return result


def _data(result: Reproduction) -> list[tuple[str, str]]:
    notes = {row["case"]: row.get("data", "") for row in result.table}
    return list(notes.items())
