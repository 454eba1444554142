"""How many parts, and which to believe: calibration on families that were and were not used for choosing constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from partwise import datasets
from partwise.lab.believe_families import FAMILIES, Family
from partwise.lab.claim import Claim
from partwise.lab.experiment import Case, Experiment, Figure, Reproduction, Size
from partwise.lab.figures import chart, colour, methods
from partwise.lab.measures.believe import Counted
from partwise.lab.rivals import RIVALS
from partwise.lab.values import NOTHING

FRESH = 6000  # first seed: those below were looked at while constants were chosen
JUDGED = ("white", "Poisson", "clusters, white", "clusters, over-dispersed", "unequal, Poisson")
REAL = "real"
OURS = ("choose_k", "choose_k without halves")
FAST = ("Onatski", "Gavish-Donoho", "parallel analysis", "MDL", "bi-cross-validation")
# data sets and between which numbers the truth lies: classes, lines, surveyed materials, signatures of the literature
SETS: dict[str, tuple[Callable[[], Any], int, int]] = {
    "all_aml": (datasets.load_all_aml, 3, 3),
    "brca21": (datasets.load_brca21, 4, 5),
    "sc_dropseq": (datasets.load_sc_dropseq, 3, 3),
    "cellmix4": (datasets.load_cellmix4, 3, 3),
    "shen_orr": (datasets.load_shen_orr, 3, 3),
    "BBC": (datasets.load_bbc, 5, 5),
    "Reuters10": (partial(datasets.load_reuters, 10), 10, 10),
    "pbmc3k": (datasets.load_pbmc3k, 9, 9),
    "Jasper Ridge": (datasets.load_jasper_ridge, 4, 4),
    "20 Newsgroups": (datasets.load_newsgroups, 20, 20),
}
QUICK_SETS = ("brca21", "all_aml", "shen_orr")


def group_of(family: Family) -> str:
    """Where a family stands: its noise, and whether constants were chosen on it."""
    noise = "independent" if family.independent else "misspecified"
    return f"{noise}, {'used' if family.tuned else 'kept aside'}"


def _drawn(family: Family, seed: int) -> Counted:
    found = family.drawn(FRESH + seed)
    (n, m), k = found.X.shape, len(found.components)
    note = f"{n} x {m}, k = {k}, strength of the weakest part {found.strength:.1f}"
    truth = found.components if found.components.shape[1] == m else None
    return Counted(found.X, k, truth=truth, weights=found.weights, note=note, strength=found.strength)


def _real(name: str, seed: int) -> Counted:
    load, k, most = SETS[name]
    found = load()
    n, m = found.X.shape
    between = f"{k}" if k == most else f"{k} to {most}"
    return Counted(found.X, k, most=most, note=f"{n:,} x {m:,}, {between} parts")


def _toy(seed: int) -> Counted:
    rng = np.random.default_rng(seed)
    H = rng.gamma(0.5, size=(2, 14))
    W = rng.gamma(0.5, size=(40, 2)) + 0.1
    return Counted(rng.poisson(40.0 * W @ H).astype(float), 2, truth=H, weights=W, note="a toy")


@cache
def _cases(size: Size) -> Sequence[Case]:
    if size == "tiny":
        return [Case("toy", _toy, {"group": "toy"})]
    cases = [
        Case(
            family.name,
            partial(_drawn, family),
            {"group": group_of(family)},
            skip=() if family.name in JUDGED else ("judge",),
        )
        for family in FAMILIES
    ]
    asked = ("choose_k", *FAST)
    names = SETS if size == "full" else QUICK_SETS
    return [*cases, *(Case(name, partial(_real, name), {"group": REAL}, evidence=asked) for name in names)]


def share(result: Reproduction, method: str, *, column: str, groups: Sequence[str]) -> float:
    """The mean of a column over the rows of some groups whose parts can all be seen."""
    values = np.concatenate(
        [result.table.values(column, method=method, group=group, k_detectable=1.0) for group in groups]
    )
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else NOTHING


def again_right(result: Reproduction, method: str) -> float:
    """Share of the parts that are called found again whose error is at most 0.2."""
    again, right = (result.table.values(name, method=method).sum() for name in ("again", "again_right"))
    return float(right / again) if again else NOTHING


def _which(result: Reproduction, method: str, claim: Claim) -> str:
    """The tables whose number is not right, and what is said of them."""
    rows = [
        row
        for row in result.table.where(method=method, k_detectable=1.0)
        if row["group"] in claim.arguments["groups"] and row["k_exact"] == 0.0
    ]
    named = ", ".join(f"{row['case']} ({'no number' if row['k_none'] else 'another number'})" for row in rows)
    covered = sum(row["k_covers"] == 1.0 for row in rows)
    return f"Not right: {named or 'none'}. The interval holds the true number in {covered} of these {len(rows)}."


def _right(result: Reproduction) -> dict[str, Any]:
    """A panel a group of families: the share of tables with the right number, for every method."""
    panels = {}
    names = [name for name in methods(result) if name != "judge"]
    for group in result.table.distinct("group"):
        values = [share(result, name, column="k_exact", groups=[group]) for name in names]
        tall = 0.8 + 0.24 * len(names)
        figure, axes = chart("share of tables with the right number", "", height=tall, left=0.4, bottom=0.5 / tall)
        places = np.arange(len(names))[::-1]
        axes.barh(places, np.nan_to_num(values), color=[colour(result, name) for name in names], height=0.62)
        axes.set_yticks(places, names)
        axes.set_xlim(0.0, 1.0)
        panels[group] = figure
    return panels


BELIEVE = Experiment(
    name="believe",
    title="How many parts, and which to believe",
    document="This library",
    about="Tables whose number of parts is known: families whose noise is independent or is not what it seems "
    "(correlated, of heavy tails, logarithms, roots, tf-idf, copies of samples), some of which constants were chosen "
    "on, and some that were kept aside, all with seeds that were not looked at before; and real sets. Each draws its "
    "own sizes, parts and size of the noise. Counted are those whose weakest part has a strength of 1.5, 1 being the "
    "least that anybody can see beside independent noise. Ours gives a number, an interval and how sure it is; others "
    "a number. Of verdicts on parts it is told how often a part that is found again is right.",
    cases=_cases,
    methods=(*OURS, *RIVALS, "judge"),
    measures=(
        *("k_exact", "k_near", "k_over", "k_none", "k_covers", "k_decides", "k_decided_right", "k_detectable"),
        "processor",
    ),
    statistics={"share": share, "again_right": again_right},
    explanations={"which": _which},
    seeds={"quick": 1, "full": 6},
    slow=("choose_k without halves", "thinning", "NMFk", "cophenetic", "ARD", "judge"),
    trivials=(),
    figures=(Figure("How often each says the right number of parts, family by family", _right),),
)

EXPERIMENTS = (BELIEVE,)
