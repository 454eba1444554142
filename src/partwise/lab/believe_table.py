"""The table of the documentation's page on the number of parts: what failed first, then who is right how often.

``python -m partwise.lab.believe_table RUN docs/rank.md`` makes it anew of the folder of a run: it counts single tables,
and the documentation keeps means over seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partwise.lab import markdown
from partwise.lab.believe import BELIEVE, OURS, REAL, share
from partwise.lab.experiment import Reproduction
from partwise.lab.run import load_result

BEGIN = "<!-- believe: made by `python -m partwise.lab.believe_table`, change nothing in here -->\n"
END = "<!-- end of believe -->\n"
GROUPS = ("independent, used", "independent, kept aside", "misspecified, used", "misspecified, kept aside")
FAILING = 0.9  # families below this are told by name


def insert(page: str, results: Sequence[Reproduction]) -> str:
    """A page with the table between its marks made anew; as it is without marks or results.

    Parameters
    ----------
    page : str
        The page, in Markdown.
    """
    if not results or BEGIN not in page or END not in page:
        return page
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table(results[0])}\n{END}{rest.partition(END)[2]}"


def table(result: Reproduction) -> str:
    """What failed, who is right how often, and real sets.

    Parameters
    ----------
    result : Reproduction
        What was measured.

    Returns
    -------
    str
        Markdown.
    """
    return "\n".join([_failures(result), *_shares(result), "", *_real(result), "", _judged(result)])


def _ours(result: Reproduction) -> str:
    """With halves where all tables were asked so, which takes long."""
    return max(OURS, key=lambda name: len(result.table.where(method=name, group=GROUPS)))


def _failures(result: Reproduction) -> str:
    rows = result.table.where(method=_ours(result), k_detectable=1.0)
    families = [name for name in rows.distinct("case") if rows.where(case=name)[0]["group"] != REAL]
    weak = sorted((rows.mean("k_exact", case=name), name) for name in families)
    told = [f"{name} ({value:.2f})" for value, name in weak if value < FAILING]
    sure = [
        f"{row['case']} (seed {row['seed']}: {row['k']} in place of {_true(row)})"
        for row in rows
        if row.get("k_decided_right") == 0.0
    ]
    real = result.table.where(group=REAL, method=OURS[0])
    missed = [str(row["case"]) for row in real if row["k_covers"] == 0.0]
    lines = [
        f"**Families in which `choose_k` is right less often than {FAILING:.0%}**: {', '.join(told) or 'none'}.",
        f"**Sure and wrong**: {', '.join(sure) or 'none'}.",
    ]
    if len(real):
        lines.append(f"**Real sets with `low` above the truth**: {', '.join(missed) or 'none'}.")
    return "\n\n".join(lines) + "\n"


def _true(row: Any) -> str:
    return str(row["data"]).partition("k = ")[2].partition(",")[0]


def _shares(result: Reproduction) -> list[str]:
    """Methods by groups of families: share of tables with the right number, and of those with one too large."""
    methods = [name for name in result.table.distinct("method") if name != "judge"]
    cells = {name: [_cell(result, name, group) for group in GROUPS] for name in methods}
    lines = [markdown.row(["right (too large)", *GROUPS]), markdown.row(["---", *["---:"] * len(GROUPS)])]
    lines += [markdown.row([f"`{name}`" if name in OURS else name, *found]) for name, found in cells.items()]
    ours = _ours(result)
    for label, column in (("it is sure", "k_decides"), ("right if sure", "k_decided_right"), ("covers", "k_covers")):
        values = [share(result, ours, column=column, groups=[group]) for group in GROUPS]
        lines.append(markdown.row([f"`{ours}`: {label}", *(f"{value:.2f}" for value in values)]))
    counts = [len(result.table.where(method=ours, group=group, k_detectable=1.0)) for group in GROUPS]
    return [*lines, markdown.row(["tables", *map(str, counts)])]


def _cell(result: Reproduction, method: str, group: str) -> str:
    right, over = (share(result, method, column=name, groups=[group]) for name in ("k_exact", "k_over"))
    return f"{right:.2f} ({over:.2f})" if np.isfinite(right) else "–"


def _real(result: Reproduction) -> list[str]:
    rows = result.table.where(group=REAL)
    if not len(rows.where(method=OURS[0])):
        return []
    measured = [name for name in rows.distinct("method") if np.isfinite(rows.mean("k_exact", method=name))]
    others = [name for name in measured if name not in OURS]
    lines = [markdown.row(["real set", "truth", "`k`", "`low`", "verdict", "seconds", *others])]
    lines.append(markdown.row(["---", "---:", "---:", "---:", "---", "---:", *["---:"] * len(others)]))
    for case in rows.distinct("case"):
        for row in rows.where(case=case, method=OURS[0]):
            truth = str(row["data"]).rpartition(", ")[2].removesuffix(" parts")
            found = [_number(rows.where(case=case, method=name)) for name in others]
            k = "–" if row["k"] is None else str(row["k"])
            seconds = f"{row['processor']:.0f}"
            lines.append(markdown.row([case, truth, k, str(row["low"]), str(row["verdict"]), seconds, *found]))
    return lines


def _number(rows: Any) -> str:
    found = [row["k"] for row in rows if "k" in row]
    return str(found[0]) if found else ""


def _judged(result: Reproduction) -> str:
    rows = result.table.where(method="judge")
    totals = {name: np.nansum(rows.values(name)) for name in ("parts", "again", "again_right", "within")}
    if not totals["parts"]:
        return ""
    ratio = float(np.nanmedian(rows.values("ratio")))
    right, within = totals["again_right"] / max(totals["again"], 1.0), totals["within"] / totals["parts"]
    return (
        f"`judge`, of parts of `Archetypes`: {totals['again']:.0f} of {totals['parts']:.0f} parts are called found "
        f"again, {right:.1%} of them have an error of at most 0.2; expected over true error {ratio:.2f} in the median, "
        f"and the true one is at most three times the expected one of {within:.0%}.\n"
    )


if __name__ == "__main__":
    run, page = map(Path, sys.argv[1:])
    page.write_text(insert(page.read_text("utf-8"), [load_result(BELIEVE, run)]), "utf-8")
