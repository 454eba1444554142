"""Facets from its cold start on the paper's data DIR, CTM and NEG, 5000 samples, k = 100: the error that is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from .harness import Arrays
from .recovery import SIZES, contender, fact, solved, topics, worst
from .report import Target, finish, show

KINDS = ("dir", "ctm", "neg")


def cold(data: Arrays) -> tuple[np.ndarray, dict[str, Any]]:
    """Facets as it comes."""
    import partwise as pw

    model = pw.Facets(int(data["k"]), random_state=0).fit(data["X"])
    return model.components_, {"stages": model.n_iter_, "reason": model.stop_reason_}


CONTENDERS = {"partwise": contender(cold, {"partwise": "partwise"}, "cold start, defaults")}


def main(options: Any) -> None:
    """Run the case."""
    seeds = options.seeds or (10 if options.size == "full" else 2)
    n, k, features = SIZES[options.size]
    parts, targets, lines = [], [], []
    for kind in KINDS:
        runs = []
        for seed in range(options.seed, options.seed + seeds):
            rows = solved(CONTENDERS, topics(kind, options.size, seed), f"{kind}, seed {seed}", options, {"k": k})
            parts.append({"label": f"{kind}, seed {seed}", "rows": rows})
            runs.append(rows)
        errors, stages = ([fact(rows, "partwise", key) for rows in runs] for key in ("error", "stages"))
        failed = sum(value != value for value in errors)
        cells = [f"{np.median(errors):.1e}", f"{worst(errors):.1e}", f"{worst(stages):.0f}"]
        lines.append([kind, f"{n} x {features[kind]}", str(k), str(seeds), *cells, str(failed)])
        # a run that failed has not recovered anything
        value = float("inf") if failed else worst(errors)
        targets.append(Target(f"{kind}: largest error of {seeds} seeds", value, 1e-8, at_most=True))
    columns = ["data", "shape", "k", "seeds", "median error", "largest error", "most stages", "failed"]
    show("and-recovery: total correlation error, cold start", columns, lines)
    finish("and-recovery", parts, targets, options)
