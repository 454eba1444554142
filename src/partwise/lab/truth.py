"""Every data set with a truth by every method, ours and others', cold, with defaults: who finds it, and how fast.

Data sets are the files of :mod:`partwise.lab.truths`, methods the catalog and the files of :mod:`partwise.lab.peers`:
a new file in either folder, or a new line of the catalog, is in the next run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from partwise import datasets
from partwise.lab.claim import Claim
from partwise.lab.contenders.ours import CONTENDERS
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.pictures import beside_truth
from partwise.lab.truths import TRUTHS
from partwise.lab.truths.base import KINDS, Truth
from partwise.lab.values import NOTHING, told


def _case(truth: Truth, size: Size) -> Case:
    kind = KINDS[truth.kind]
    part = ", a part" if size != "full" and truth.quick == "small" else ""
    return Case(
        truth.name + part,
        partial(truth.make, size),
        {"kind": kind.name, "group": (truth.group or truth.name) + part},
        skip=tuple(one.name for one in CONTENDERS if one.kinds and truth.kind not in one.kinds),
        measures=("processor", *kind.measures),
        picture=kind.picture,
    )


def _toy(seed: int) -> Problem:
    scene = datasets.make_scene(n_samples=60, n_features=12, n_components=2, min_angle=5.0, random_state=seed)
    return Problem.of(scene, note="a toy")


@cache
def _cases(size: Size) -> Sequence[Case]:
    if size == "tiny":
        texts = tuple(one.name for one in CONTENDERS if one.kinds)
        kind = KINDS["spectra"]
        at = {"kind": kind.name, "group": "toy"}
        measures = ("processor", *kind.measures)
        return [Case("toy", _toy, at, skip=texts, measures=measures, picture=kind.picture)]
    return [_case(truth, size) for truth in TRUTHS.values() if size == "full" or truth.quick]


def group_mean(result: Reproduction, method: str, *, column: str, group: str, worst: bool = False) -> float:
    """The mean of a column over the data sets of a group, or the largest mean of one of them."""
    rows = result.table.where(group=group)
    means = [rows.mean(column, case=case, method=method) for case in rows.distinct("case")]
    if not means:
        return NOTHING
    return max(means) if worst else sum(means) / len(means)


def _data_set_by_data_set(result: Reproduction, method: str, claim: Claim) -> str:
    """What the method has on each data set of the claim, and who is nearest to the truth there."""
    column = str(claim.arguments["column"])
    rows = result.table.where(**{name: claim.arguments[name] for name in ("group", "case") if name in claim.arguments})
    nearer = min if claim.better == "lower" else max

    def of(case: str) -> str:
        here = {name: rows.mean(column, case=case, method=name) for name in rows.distinct("method")}
        known = {name: value for name, value in here.items() if np.isfinite(value)}
        first = nearer(known, key=lambda name: known[name])
        beside = "" if known[first] == here[method] else f" ({first} {told(known[first], claim.style)})"
        return f"{case} {told(here[method], claim.style)}{beside}"

    return (
        f"By data set, beside it the method that is nearest to the truth: {'; '.join(map(of, rows.distinct('case')))}."
    )


MEASURED = tuple(dict.fromkeys(measure for kind in KINDS.values() for measure in kind.measures))
TRUTH = Experiment(
    name="truth",
    title="Who finds the truth, from a cold start",
    document="This library",
    about="Every data set here whose truth is known (a surveyed scene, generated scenes, RNA and cells mixed in known "
    "proportions, mutational signatures, images of digits, texts with classes) by every method of the catalog "
    "and of other libraries, with defaults: told the number of parts and nothing else. Errors are those of the "
    "field: the mean angle to the true spectra, the mean error of the proportions, F1 of signatures at a cosine "
    "of 0.9, the share of images found, and NMI and accuracy of the class of the largest weight. Times are of "
    "the processor, for parts and weights.",
    cases=_cases,
    methods=tuple(one.name for one in CONTENDERS),
    measures=("processor", *MEASURED),
    statistics={"group_mean": group_mean},
    explanations={"data_set_by_data_set": _data_set_by_data_set},
    seeds={"quick": 1, "full": 5},
    budget={"quick": 0.3, "full": 5.0},
    # linear programs, and a consensus of many runs
    slow=("SeparableLP", "ConvexHull", "cnmf-recipe"),
    keep=True,
    timed=True,
    trivials=("trivial-constant",),
    figures=(Figure("Each truth beside what was found: ours and others that come nearest", beside_truth),),
)

EXPERIMENTS = (TRUTH,)
