"""Verdicts on parts: how often a part that is found again is right, and expected errors against true ones."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from typing import Any

import numpy as np

from .belief_families import KEPT
from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .report import Target, finish, show

FRESH = 5000  # first seed: those below were looked at while thresholds and intervals were chosen
RIGHT = 0.2  # error of a part that is right
METHODS = ("ANLS", "Archetypes")


def run(data: Arrays, params: dict[str, Any]) -> Outcome:
    """Family, method, parts too many, true error, expected error, verdict, of every part."""
    import partwise as pw

    begin = time.perf_counter()
    lines: list[list[Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in KEPT.items():
            for seed in range(FRESH, FRESH + params["seeds"]):
                case = make(seed)
                X = np.maximum(case.X, 0.0)
                for method in METHODS:
                    for more in (0, 1):
                        model = getattr(pw, method)(len(case.H) + more, random_state=0).fit(X)
                        true = pw.metrics.match_components(case.H, model.components_).errors
                        lines += [
                            [name, method, more, float(true[row.part]), row.expected_error, row.verdict]
                            for row in pw.judge(model, X)
                        ]
    return time.perf_counter() - begin, {}, {"lines": lines}


CONTENDERS = {"partwise": Contender(run, {"partwise": "partwise"}, note="judge")}


def summary(lines: list[list[Any]]) -> dict[str, float]:
    """Shares and ratios over some parts."""
    true, expected = np.array([line[3] for line in lines]), np.array([line[4] for line in lines])
    again = np.array([line[5] == "found again" for line in lines])
    ratio = expected / np.maximum(true, 1e-12)
    return {
        "parts": len(lines),
        "found again": float(again.mean()),
        "right": float((true[again] <= RIGHT).mean()) if again.any() else np.nan,
        "expected / true": float(np.median(ratio)),
        "within 3": float((ratio >= 1.0 / 3.0).mean()),
    }


def main(options: Any) -> None:
    """Run the case."""
    params = {"seeds": options.seeds or (4 if options.size == "full" else 1)}
    with problem({"X": np.zeros((1, 1))}) as folder:
        once = Namespace(**(vars(options) | {"repeat": 1}))
        rows = race("judge", chosen(CONTENDERS, options), folder, params, lambda arrays, facts: {}, once)
    lines = rows["partwise"].facts["lines"]
    groups = {"all": lines}
    groups |= {f"{more} parts too many": [line for line in lines if line[2] == more] for more in (0, 1)}
    groups |= {name: [line for line in lines if line[1] == name] for name in METHODS}
    groups |= {name: [line for line in lines if line[0] == name] for name in KEPT}
    table = {name: summary(some) for name, some in groups.items() if some}
    show(
        "Verdicts", ["of", *table["all"]], [[name, *(f"{v:.3g}" for v in row.values())] for name, row in table.items()]
    )
    true_k = table["0 parts too many"]
    targets = [
        Target("found again: error at most 0.2, the number of parts right", true_k["right"], 0.98),
        Target("found again: error at most 0.2, all (no gate)", table["all"]["right"], 0.98),
        Target("expected over true error, median, at least", true_k["expected / true"], 0.8),
        Target("expected over true error, median, at most", true_k["expected / true"], 1.25, at_most=True),
        Target("true error at most 3 x expected", true_k["within 3"], 0.9),
    ]
    finish("judge", [{"data": "generated", "rows": rows}], targets, options)
