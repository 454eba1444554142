"""The documentation's page of the lab: no number without its file.

``docs/lab.md`` and its figures are functions of what is kept (:mod:`partwise.lab.kept`) and of the register. Numbers of
the lab on other pages are links to their file, by which they are written anew: ``claims.csv#ours:<id>`` in the folder
of the experiment (or ``literal:``), or ``results.csv#<method>:<column>``, the mean over the cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.lab import grid_table, truth_table
from partwise.lab.claim import GOOD, SIDES, UNKNOWN, Change, Claim
from partwise.lab.kept import FILES, Kept, load_kept
from partwise.lab.markdown import insert, row
from partwise.lab.measurements import Row, write_bytes
from partwise.lab.measures import MEASURES
from partwise.lab.registry import experiments

PAGE = "lab.md"  # in the folder of the documentation
CHOOSING = "choosing.md"  # a page with tables of experiments
TABLES = {"truth": truth_table.table, "cold-start-grid": grid_table.table}
PROGRAM = "tsvdnmf-program"
NAMED = 4  # claims that a change of many names
CHANGES = "CHANGELOG.md"  # beside the folder of the documentation
CITED = re.compile(r"\[[^\]]*\]\(([\w./]*lab/([\w-]+)/(claims|results)\.csv#([\w.-]+):([\w.-]+))\)")
MARK = "<!-- results -->\n"  # where the results go in the text of the page


def write_document(docs: Path) -> Path:
    """Make the page and its figures of what is kept."""
    found = load_kept(docs)
    for one in found:
        for name, drawing in _figures(one):
            write_bytes(docs / name, _drawn(drawing))
    write_bytes(docs / PAGE, render(found).encode())
    if (docs / CHOOSING).exists():
        write_bytes(docs / CHOOSING, opened(docs, found).encode())
    for path in pages(docs):
        text = path.read_text(encoding="utf-8")
        if (new := cited(text, found)) != text:
            write_bytes(path, new.encode())
    return docs / PAGE


def pages(docs: Path) -> list[Path]:
    """The pages that may cite numbers of the lab.

    Returns
    -------
    list of Path
        All of it, and the changelog where there is one.
    """
    return sorted(docs.rglob("*.md")) + [path for path in [docs.parent / CHANGES] if path.exists()]


def cited(page: str, found: Sequence[Kept]) -> str:
    """A page whose numbers of the lab are those that are kept.

    Parameters
    ----------
    page : str
        The page, in Markdown.

    Returns
    -------
    str
        The page; an `InputError` names a link to what is not kept.
    """
    kept = {one.experiment.name: one for one in found}

    def number(link: re.Match[str]) -> str:
        address, name, table, of, what = link.groups()
        value, style = float("nan"), ".3g"
        if name in kept and table == "results":
            value, style = kept[name].result.table.mean(what, method=of), _style(what)
        elif name in kept:
            told = {claim.id: (row[f"{of}_value"], claim.style) for claim, row in kept[name].lines() if of in SIDES}
            value, style = told.get(what, (value, style))
        if np.isnan(value):
            raise InputError(f"{address}: there is no such number")
        return f"[{format(value, style)}]({address})"

    return CITED.sub(number, page)


def opened(docs: Path, found: Sequence[Kept]) -> str:
    """The page on choosing a method with its tables made anew."""
    kept = {one.experiment.name: one.result for one in found}
    page = (docs / CHOOSING).read_text(encoding="utf-8")
    for name, table in TABLES.items():
        page = insert(page, name, table(kept[name]) if name in kept else "")
    return page


def render(found: Sequence[Kept]) -> str:
    """The page, in Markdown.

    Returns
    -------
    str
        The text of ``templates/lab.md`` with the results.
    """
    text = (Path(__file__).parent / "templates" / "lab.md").read_text(encoding="utf-8")
    parts = [_counts(found), _table(found), _pictures(found), _missed(found), _changes(found)]
    return text.replace(MARK, "\n".join(part for part in parts if part))


def _counts(found: Sequence[Kept]) -> str:
    """Verdicts counted, and which experiments have run at the published size so far."""
    literal, ours = _good(found)
    lines = [f"**As published {literal} claims are reproduced, with our methods {ours}**, of those measured.", ""]
    lines += _by_program(found) + _met_anyway(found)
    words = {"full": "At the published size", "quick": "Smaller than published, full runs to come"}
    for size, text in words.items():
        some = [one for one in found if one.size == size]
        literal, ours = _good(some)
        held = f" (as published {literal}, ours {ours}): {_listed(one.experiment.name for one in some)}" if some else ""
        held = f", {sum(one.all_seeds for one in some)} of them with all defined seeds{held}" if some else held
        lines.append(f"- {text}: {len(some)} of {len(experiments())} experiments{held}.")
    missing = [name for name in experiments() if name not in {one.experiment.name for one in found}]
    if missing:
        lines.append(f"- Without results so far: {_listed(missing)}.")
    return "\n".join(lines) + "\n"


def _by_program(found: Sequence[Kept]) -> list[str]:
    """How many of the first number are of a program that has other constants than its paper prints."""
    rows = [row for one in found for claim, row in one.lines() if claim.literal == PROGRAM and _known(row, "literal")]
    good = sum(row["literal_verdict"] in GOOD for row in rows)
    about = "are of the constants of TSVDNMF's own program, which its paper does not print"
    return [f"Of the first, {good} of {len(rows)} {about} (`{PROGRAM}`).", ""] if rows else []


def _met_anyway(found: Sequence[Kept]) -> list[str]:
    """How many claims hold that what is no method meets too, for a reason that the register has."""
    rows = [row for one in found for _, row in one.lines() if row["met_by"]]
    met = [sum(row[f"{side}_verdict"] in GOOD for row in rows) for side in SIDES]
    about = "are met by the start, the zero matrix or the mean sample too; the register says why they may be"
    return ["Of those that hold, {} as published and {} of ours {}.".format(*met, about), ""] if any(met) else []


def _good(found: Sequence[Kept]) -> list[str]:
    """Claims that hold of those measured, as published and with ours."""
    pairs = [np.sum([one.counted(side) for one in found] or [(0, 0)], axis=0) for side in SIDES]
    return [f"{good} of {measured}" for good, measured in pairs]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(found: Sequence[Kept]) -> str:
    lines = [
        "| experiment | size, seeds | claims | as published | ours | the most telling number |",
        "|---|---|---:|---:|---:|---|",
    ]
    document = ""
    for one in found:
        name = one.experiment.name
        if one.experiment.document.partition(", appendix")[0] != document:
            document = one.experiment.document
            lines.append(_row([f"*{document}*", *[""] * 5]))
        sides = ["{} of {}".format(*one.counted(side)) if one.counted(side)[1] else "–" for side in SIDES]
        cells = [f"[`{name}`]({FILES}/{name}/claims.csv)", f"{one.size}, {one.seeds}"]
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
            lines += [f"**`{one.experiment.name}`** ({one.size})", ""]
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
    """What was changed after a run, each once, with the claims that it changed."""
    lines = []
    for experiment in (one.experiment for one in found):
        claims: dict[Change, list[str]] = {change: [] for change in experiment.changes}
        for claim in experiment.claims:
            for change in claim.changed:
                claims.setdefault(change, []).append(claim.id)
        lines += [f"- `{experiment.name}`{_ids(names)}, {change}" for change, names in claims.items()]
    return "\n".join(["## Changed after a run\n", *lines]) + "\n" if lines else ""


def _ids(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f": {_listed(names[:NAMED])}{more}" if names else ""


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


def _style(column: str) -> str:
    return MEASURES[column].style if column in MEASURES else ".3g"


def _drawn(drawing: Any) -> bytes:
    """An SVG on white, for the site may be dark; without what only a reader of its text would miss."""
    from partwise.lab.page import as_svg
    from partwise.plots.style import INK

    drawing.patch.set(facecolor="white", alpha=1.0)
    text = as_svg(drawing).replace("currentColor", INK)
    return re.sub(r">\s+<", "><", re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)).encode()


def _row(cells: Iterable[str]) -> str:
    """With bars in the words of claims, which are none of the table's."""
    return row(cell.replace("|", chr(92) + "|") for cell in cells)
