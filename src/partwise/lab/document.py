"""The documentation's page of the lab, from small files that are kept with it: no number without its file.

``docs/lab/<experiment>`` has ``results.csv`` (a row a case and method: means over the seeds, and their standard
deviations), ``claims.csv`` (values and verdicts; words are in the register), ``curves.csv`` (what figures need) and
``manifest.json``. ``docs/lab.md`` and its figures are functions of these files and of the register.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partwise.lab.claim import GOOD, SIDES, UNKNOWN, Claim
from partwise.lab.experiment import Experiment, Reproduction
from partwise.lab.measurements import Measurements, Row, write_bytes
from partwise.lab.measures import MEASURES
from partwise.lab.registry import experiments
from partwise.lab.truth_table import insert

PAGE, FILES = "lab.md", "lab"  # in the folder of the documentation
CHOOSING, OPENING = "choosing.md", "truth"  # a page that the table of an experiment opens
MARK = "<!-- results -->\n"  # where the results go in the text of the page
POINTS = 30  # of a curve, for a figure of the documentation: more cannot be told apart at its width
DIGITS = {"claims": ".10g"}  # a verdict must follow from its number, however near to the bound; else five are enough
MANIFEST = ("experiment", "size", "seeds", "methods", "skipped", "cells", "versions", "seconds")
WORDY = ("data", "reason", "stop", "image", "failure", "seed")  # columns that the documentation does not need


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of a run."""

    result: Reproduction
    claims: Mapping[str, Row]

    @property
    def experiment(self) -> Experiment:
        """What was run."""
        return self.result.experiment

    def lines(self) -> Iterable[tuple[Claim, Row]]:
        """Claims of the register with the row of the run; those that it does not have are left out."""
        return ((claim, self.claims[claim.id]) for claim in self.experiment.claims if claim.id in self.claims)

    def counted(self, side: str) -> tuple[int, int]:
        """Claims that hold, and all that were measured."""
        names = [row[f"{side}_verdict"] for _, row in self.lines() if row[f"{side}_verdict"] not in ("", UNKNOWN)]
        return sum(name in GOOD for name in names), len(names)


def keep(result: Reproduction, docs: Path) -> Path:
    """Write what the documentation keeps of a run.

    Parameters
    ----------
    result : Reproduction
        A run.
    docs : Path
        The folder of the documentation.

    Returns
    -------
    Path
        The folder of the files.
    """
    folder = docs / FILES / result.experiment.name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    _write(_means(result), folder / "results.csv")
    _write(_claims(result), folder / "claims.csv")
    if any(figure.documented == "curves" for figure in result.experiment.figures):
        _write(_thin(result), folder / "curves.csv")
    kept = {name: result.manifest[name] for name in MANIFEST if name in result.manifest}
    write_bytes(folder / "manifest.json", (json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode())
    return folder


def load_kept(docs: Path) -> list[Kept]:
    """Read what the documentation keeps, in the order of the experiments.

    Parameters
    ----------
    docs : Path
        The folder of the documentation.

    Returns
    -------
    list of Kept
        Experiments that are not kept are missing.
    """
    found = []
    for name, experiment in experiments().items():
        folder = docs / FILES / name
        if (folder / "manifest.json").exists():
            manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            tables = [Measurements(_read(folder / f"{what}.csv")) for what in ("results", "curves", "claims")]
            result = Reproduction(experiment, tables[0], tables[1], manifest)
            found.append(Kept(result, {row["id"]: row for row in tables[2]}))
    return found


def write_document(docs: Path) -> Path:
    """Make the page and its figures of what is kept.

    Parameters
    ----------
    docs : Path
        The folder of the documentation.

    Returns
    -------
    Path
        The page.
    """
    found = load_kept(docs)
    for one in found:
        for name, drawing in _figures(one):
            write_bytes(docs / name, _drawn(drawing))
    write_bytes(docs / PAGE, render(found).encode())
    if (docs / CHOOSING).exists():
        write_bytes(docs / CHOOSING, opened(docs, found).encode())
    return docs / PAGE


def opened(docs: Path, found: Sequence[Kept]) -> str:
    """The page on choosing a method with the table of the truth made anew.

    Parameters
    ----------
    docs : Path
        The folder of the documentation.
    found : sequence of Kept
        What is kept.

    Returns
    -------
    str
        The page.
    """
    results = [one.result for one in found if one.experiment.name == OPENING]
    return insert((docs / CHOOSING).read_text(encoding="utf-8"), results)


def render(found: Sequence[Kept]) -> str:
    """The page, in Markdown.

    Parameters
    ----------
    found : sequence of Kept
        What is kept.

    Returns
    -------
    str
        The text of ``templates/lab.md`` with the results.
    """
    text = (Path(__file__).parent / "templates" / "lab.md").read_text(encoding="utf-8")
    parts = [_counts(found), _table(found), _pictures(found), _missed(found), _changes(found)]
    return text.replace(MARK, "\n".join(part for part in parts if part))


def _counts(found: Sequence[Kept]) -> str:
    pairs = {side: np.sum([one.counted(side) for one in found] or [(0, 0)], axis=0) for side in SIDES}
    good = [f"{pairs[side][0]} of {pairs[side][1]}" for side in SIDES]
    missing = [name for name in experiments() if name not in {one.experiment.name for one in found}]
    absent = f" Without results so far: {', '.join(f'`{name}`' for name in missing)}." if missing else ""
    return f"**As published {good[0]} claims are reproduced, with our methods {good[1]}**, of those measured.{absent}\n"


def _table(found: Sequence[Kept]) -> str:
    lines = [
        "| experiment | size, seeds | claims | as published | ours | the most telling number |",
        "|---|---|---:|---:|---:|---|",
    ]
    document = ""
    for one in found:
        name, manifest = one.experiment.name, one.result.manifest
        if one.experiment.document.partition(", appendix")[0] != document:
            document = one.experiment.document
            lines.append(_row([f"*{document}*", *[""] * 5]))
        sides = ["{} of {}".format(*one.counted(side)) if one.counted(side)[1] else "–" for side in SIDES]
        cells = [f"[`{name}`]({FILES}/{name}/claims.csv)", f"{manifest['size']}, {manifest['seeds']}"]
        lines.append(_row([*cells, str(len(one.experiment.claims)), *sides, _telling(one)]))
    return "\n".join(lines) + "\n"


def _telling(one: Kept) -> str:
    measured = [(claim, row) for claim, row in one.lines() if any(_known(row, side) for side in SIDES)]
    chosen = next((pair for pair in measured if pair[0].telling), measured[0] if measured else None)
    return f"{chosen[0].text}: {_values(*chosen)}" if chosen else "not measured at this size"


def _known(row: Row, side: str) -> bool:
    return row[f"{side}_verdict"] not in ("", UNKNOWN)


def _values(claim: Claim, row: Row) -> str:
    """The numbers of both sides beside what is asked."""
    words = {"literal": f"as published ({claim.literal})", "ours": f"ours ({claim.ours})"}
    told = [f"{words[side]} {format(row[f'{side}_value'], claim.style)}" for side in SIDES if _known(row, side)]
    return f"{', '.join(told)}; asked {claim.stated}"


def _missed(found: Sequence[Kept]) -> str:
    """Everything that is not reproduced, with the reason."""
    lines = ["## What is not reproduced\n"]
    for one in found:
        missed = [
            (claim, row)
            for claim, row in one.lines()
            if any(_known(row, side) and row[f"{side}_verdict"] not in GOOD for side in SIDES)
        ]
        if missed:
            lines += [f"**`{one.experiment.name}`** ({one.result.manifest['size']})", ""]
            lines += [_bullet(claim, row) for claim, row in missed]
            changed = [one.experiment.changed] if one.experiment.changed else []
            lines += [*(f"\n{text}" for text in changed), ""]
    return "\n".join(lines)


def _bullet(claim: Claim, row: Row) -> str:
    marks = [
        {"literal": "as published", "ours": "ours"}[side]
        for side in SIDES
        if _known(row, side) and row[f"{side}_verdict"] not in GOOD
    ]
    why = f" {row['explanation']}" if row["explanation"] else ""
    return f"- {claim.text}: not reproduced {' and '.join(marks)}: {_values(claim, row)}.{why}"


def _changes(found: Sequence[Kept]) -> str:
    """What was changed after a run, each once."""
    lines = dict.fromkeys(
        f"- `{experiment.name}`, {change}"
        for experiment in (one.experiment for one in found)
        for change in (*experiment.changes, *(change for claim in experiment.claims for change in claim.changed))
    )
    return "\n".join(["## Changed after a run\n", *lines]) + "\n" if lines else ""


def _pictures(found: Sequence[Kept]) -> str:
    lines = []
    for one in found:
        captions = [figure.caption for figure in one.experiment.figures if figure.documented]
        names = [name for name, _ in _figures(one)]
        if names:
            lines.append(f"`{one.experiment.name}`: {'; '.join(captions)}.\n")
            lines.append("\n".join(f"![{Path(name).stem}]({name})" for name in names) + "\n")
    return "\n".join(["## Figures\n", *lines]) if lines else ""


def _figures(one: Kept) -> list[tuple[str, Any]]:
    """Address and drawing of each panel of the figures that are for the documentation."""
    found = []
    for number, figure in enumerate((figure for figure in one.experiment.figures if figure.documented), 1):
        for title, drawing in figure.draw(one.result).items():
            plain = re.sub(r"[^A-Za-z0-9.]+", "-", f"figure {number} {title}").strip("-")
            found.append((f"{FILES}/{one.experiment.name}/{plain}.svg", drawing))
    return found


def _drawn(drawing: Any) -> bytes:
    """An SVG on white: the site may be dark."""
    from partwise.lab.page import as_svg
    from partwise.plots.style import INK

    drawing.patch.set(facecolor="white", alpha=1.0)
    return as_svg(drawing).replace("currentColor", INK).encode()


def _means(result: Reproduction) -> list[Row]:
    rows: list[Row] = []
    for case in result.table.distinct("case"):
        for method in result.table.where(case=case).distinct("method"):
            group = result.table.where(case=case, method=method)
            row: dict[str, Any] = {"case": case, "method": method, "seeds": len(group)}
            for column in group.columns:
                values = group.values(column)
                if column in row or column in WORDY:
                    continue
                if np.isnan(values).all():
                    row[column] = group[0].get(column, "")
                    continue
                row[column] = group.mean(column)
                if column in MEASURES and len(values) > 1:
                    row[f"{column}_sd"] = float(np.std(values, ddof=1)) if np.isfinite(values).all() else np.nan
            rows.append(row)
    return rows


def _claims(result: Reproduction) -> list[Row]:
    rows: list[Row] = []
    for one in result.verdicts():
        row: dict[str, Any] = {"id": one.claim.id}
        for side in SIDES:
            verdict = one.sides.get(side)
            row[f"{side}_value"] = verdict.value if verdict else np.nan
            row[f"{side}_tolerance"] = verdict.tolerance if verdict else np.nan
            row[f"{side}_verdict"] = verdict.name if verdict else ""
        rows.append(row | {"met_by": " ".join(one.met_by), "explanation": " ".join(one.explanations)})
    return rows


def _thin(result: Reproduction) -> list[Row]:
    rows: list[Row] = []
    for case in result.curves.distinct("case"):
        for method in result.curves.distinct("method"):
            curve = result.curves.where(case=case, method=method, seed=0)
            for place in np.unique(np.linspace(0, len(curve) - 1, POINTS).astype(int)) if len(curve) else ():
                point = curve[int(place)]
                names = [name for name in ("n_iter", "time", "error", "objective") if name in point]
                rows.append({"case": case, "method": method, "seed": 0} | {name: point[name] for name in names})
    return rows


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _write(rows: Sequence[Row], path: Path) -> None:
    if rows:
        style = DIGITS.get(path.stem, ".5g")
        short = [{name: _short(value, style) for name, value in row.items()} for row in rows]
        write_bytes(path, Measurements(short).csv().encode())


def _short(value: Any, style: str) -> Any:
    if isinstance(value, float):
        return "" if np.isnan(value) else format(value, style)
    return value


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _number(name, value) for name, value in row.items()} for row in csv.DictReader(file)]


def _number(name: str, value: str) -> Any:
    """A cell as it was: a number if it is one; nothing is NaN where numbers are."""
    if value == "" and name.endswith(("_value", "_tolerance")):
        return float("nan")
    try:
        return int(value) if name == "seed" else float(value)
    except ValueError:
        return value
