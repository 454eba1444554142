"""The table that opens the documentation's page on choosing: methods by data sets, errors with times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.estimators.catalog import METHODS
from partwise.lab.experiment import Reproduction
from partwise.lab.figures import methods
from partwise.lab.markdown import row
from partwise.lab.measures import MEASURES
from partwise.lab.peers import PEERS
from partwise.lab.truth import group_mean
from partwise.lab.truths.base import KINDS

KIND_WORDS = {
    "spectra": "mean angle to the true spectra, in degrees",
    "proportions": "mean absolute error of the proportions",
    "signatures": "F1 of the signatures at a cosine of 0.9",
    "images": "share of the images found (cosine above 0.99)",
    "texts": "NMI and accuracy of the class of the largest weight",
}


def table(result: Reproduction) -> str:
    """Methods as rows, data sets as columns: the mean error, and beneath it the processor's seconds.

    Parameters
    ----------
    result : Reproduction
        What was measured.

    Returns
    -------
    str
        Markdown, with what the numbers are.
    """
    groups = result.table.distinct("group")
    lines = [row(["", *groups]), row(["---", *["---:"] * len(groups)])]
    best = {group: _best(result, group) for group in groups}
    rows = [name for name in (*methods(result), *result.experiment.trivials) if len(result.table.where(method=name))]
    lines += [row([_named(name), *(_cell(result, name, group, best[group]) for group in groups)]) for name in rows]
    return "\n".join(lines) + "\n\n" + _legend(result, groups)


def _kind(result: Reproduction, group: str) -> Any:
    return KINDS[str(result.table.where(group=group)[0]["kind"])]


def _best(result: Reproduction, group: str) -> float:
    """What a method of ours or of others reaches at best, as it is printed."""
    measure = MEASURES[_kind(result, group).measures[0]]
    found = np.array([group_mean(result, name, column=measure.name, group=group) for name in methods(result)])
    found = found[np.isfinite(found)]
    if not len(found):
        return float("nan")
    return float(found.max() if measure.better == "higher" else found.min())


def _cell(result: Reproduction, name: str, group: str, best: float) -> str:
    measures = [MEASURES[measure] for measure in _kind(result, group).measures]
    numbers = [group_mean(result, name, column=measure.name, group=group) for measure in measures]
    if not np.isfinite(numbers).all():
        return "–"
    short = [format(number, measure.style) for number, measure in zip(numbers, measures, strict=True)]
    text = " / ".join(short)
    if name not in result.experiment.trivials and short[0] == format(best, measures[0].style):
        text = f"**{text}**"
    seconds = group_mean(result, name, column="processor", group=group)
    return f"{text}<br><small>{_seconds(seconds)}</small>" if np.isfinite(seconds) else text


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10.0 else f"{value:.0f} s"


def _named(name: str) -> str:
    pages = {method.estimator: method.name for method in METHODS.values()}
    return f"`{name}`" if name in pages else name


def _legend(result: Reproduction, groups: Sequence[str]) -> str:
    kinds: dict[str, list[str]] = {}
    for group in groups:
        kinds.setdefault(_kind(result, group).name, []).append(group)
    what = "; ".join(f"{', '.join(names)}: {KIND_WORDS[kind]}" for kind, names in kinds.items())
    seeds, size = result.manifest["seeds"], result.manifest["size"]
    limit = result.experiment.budget[size]
    notes = "; ".join(f"{name}: {PEERS[name].note}" for name in methods(result) if name in PEERS)
    return (
        f"{what}. A column of several data sets is their mean. Beneath, the processor's seconds for parts and weights. "
        f"The best is bold; – is not measured (not made for such data, or too large). Size {size}, "
        f"{seeds} seed{'s' if seeds != 1 else ''}; ours are stopped after {limit:g} s of it where they can be. "
        f"Others: {notes}. trivial-constant is no method: every part is the mean sample.\n"
    )
