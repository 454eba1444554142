"""Parts told the number of parts, beside every method of the catalog: how often it is nearly as good as the best."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from typing import Any

import numpy as np

from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .parts_families import DENSE, FRESH, KEPT, TUNED
from .report import Target, finish, show

FIRST = 40  # seed
SOLVED = 0.3  # error below which a method has found the parts
NEAR = 1.05
SAME = 1e-3  # errors that differ by less are the same
SKIPPED = ("Parts", "SeparableLP", "ConvexHull", "ConservativeNMF")  # the last three take minutes, or one pass


def run(data: Arrays, params: dict[str, Any]) -> Outcome:
    """Family, error of Parts, the method that it took, errors of all others."""
    import partwise as pw
    from partwise.estimators.catalog import METHODS

    begin = time.perf_counter()
    lines: list[list[Any]] = []
    families = {"tuned": TUNED, "kept": KEPT, "dense": DENSE, "fresh": FRESH}[params["families"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in families.items():
            for seed in range(FIRST, FIRST + params["seeds"]):
                case = make(seed)
                k = len(case.H)
                model = pw.Parts(k, judge=False, random_state=0).fit(case.X)
                errors = {
                    method.estimator: _error(method.kind(k), case)
                    for method in METHODS.values()
                    if method.estimator not in SKIPPED
                }
                lines.append([name, _away(model, case.H), model.method_.name, errors])
    return time.perf_counter() - begin, {}, {"lines": lines}


def _away(model: Any, H: Any) -> float:
    import partwise as pw

    return float(pw.metrics.match_components(np.asarray(model.components_, float), H).errors.mean())


def _error(model: Any, case: Any) -> float:
    """Of data that is not negative where a method takes no other; 1 where it fails."""
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    if "unbiased" in model.get_params():
        model.set_params(unbiased=False)
    try:
        return _away(model.fit(case.X if model._allow_negative else np.maximum(case.X, 0.0)), case.H)
    except (ValueError, RuntimeError):
        return 1.0


CONTENDERS = {"partwise": Contender(run, {"partwise": "partwise"}, note="Parts")}


def summary(lines: list[list[Any]]) -> dict[str, float]:
    """Shares of the cells that any method solves."""
    solved = [line for line in lines if min(line[1], *line[3].values()) < SOLVED]
    best = np.array([min(line[3].values()) for line in solved])

    def near(errors: Any) -> float:
        return float(np.mean(np.array(errors) <= np.maximum(NEAR * best, best + SAME)))

    shares = {"Parts": near([line[1] for line in solved])}
    shares |= {
        name: near([line[3][name] for line in solved]) for name in ("Facets", "AND", "Archetypes", "Bayes", "HALS")
    }
    worst = max(line[1] - line[3]["AND"] for line in solved)
    mean = {
        f"{name}'s mean error": float(np.mean(errors))
        for name, errors in (("Parts", [line[1] for line in solved]), ("the best", best))
    }
    return {"cells": len(solved), **shares, "worst beside AND": worst, **mean}


def main(options: Any) -> None:
    """Run the case."""
    seeds = options.seeds or 1
    names = ("tuned", "kept", "dense", "fresh") if options.size == "full" else ("fresh",)
    table, rows = {}, {}
    for name in names:
        with problem({"X": np.zeros((1, 1))}) as folder:
            once = Namespace(**(vars(options) | {"repeat": 1}))
            params = {"seeds": seeds, "families": name}
            rows = race("parts", chosen(CONTENDERS, options), folder, params, lambda arrays, facts: {}, once)
        lines = rows["partwise"].facts["lines"]
        table[name] = summary(lines)
        for line in lines:
            best = min(line[3], key=line[3].get)
            if line[1] > max(NEAR * line[3][best], line[3][best] + SAME):
                print(f"{name}: {line[0]}: {line[1]:.4f} by {line[2]}, {best} {line[3][best]:.4f}")
    show("Within 1.05 of the best", ["families", *table[names[-1]]], [
        [name, *(f"{v:.3g}" for v in row.values())] for name, row in table.items()
    ])  # fmt: skip
    last = table[names[-1]]
    targets = [
        Target("within 1.05 x of the best of all methods, families not used for tuning", last["Parts"], 0.92),
        Target("worse than AND by at most", last["worst beside AND"], 0.05, at_most=True),
    ]
    finish("parts", [{"data": "generated", "rows": rows}], targets, options)
