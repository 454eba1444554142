"""Facets and AND under noise, CTM, 5000 x 2000, k = 100: the final error against the least on the way and an oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .harness import Arrays
from .recovery import SIZES, contender, error, fact, solved, topics, worst
from .report import Target, finish, show

LEVELS = (0.1, 0.05, 0.01, 0.005, 0.001, 0.0005)
PUBLISHED = {"steps": 100, "max_iter": 150, "tol": 0.0, "odd": "keep"}


def fit(name: str, **settings: Any) -> Callable[[Arrays], tuple[np.ndarray, dict[str, Any]]]:
    """From the cold start; the truth is there for the error in the history only."""

    def solve(data: Arrays) -> tuple[np.ndarray, dict[str, Any]]:
        import partwise as pw

        truth = data["truth"]
        model = getattr(pw, name)(len(truth), random_state=0, **settings).fit(data["X"], truth=truth)
        return model.components_, {"least": float(model.history_["error"].min()), "stages": model.n_iter_}

    return solve


OURS = {"partwise": "partwise"}
CONTENDERS = {
    "partwise": contender(fit("Facets"), OURS, "cold start, defaults"),
    "published": contender(fit("AND", **PUBLISHED), OURS, "the paper's algorithm, from the same start"),
}


def oracle(mixture: Any) -> float:
    """The error of least squares on the true weights: nobody who must find the weights has so much to go on."""
    return error(np.linalg.lstsq(mixture.weights, mixture.X)[0], mixture.components)


def main(options: Any) -> None:
    """Run the case."""
    seeds = options.seeds or (5 if options.size == "full" else 1)
    n, k, features = SIZES[options.size]
    parts, targets, lines = [], [], []
    for gamma in LEVELS:
        final, over_least, over_oracle, again = [], [], [], []
        for seed in range(options.seed, options.seed + seeds):
            mixture = topics("ctm", options.size, seed, noise=gamma)
            best, label = oracle(mixture), f"gamma {gamma:g}, seed {seed}"
            rows = solved(CONTENDERS, mixture, label, options, {"truth": mixture.components})
            final.append(fact(rows, "partwise"))
            over_least.append(fact(rows, "partwise") / fact(rows, "partwise", "least"))
            over_oracle.append(fact(rows, "partwise") / best)
            again.append(fact(rows, "published") / fact(rows, "published", "least"))
            parts.append({"label": label, "oracle": best, "rows": rows})
        cells = [f"{value:.2f}" for value in (worst(over_least), worst(over_oracle), worst(again))]
        lines.append([f"{gamma:g}", f"{np.median(final):.2e}", *cells])
        targets += [
            Target(f"gamma {gamma:g}: final / least error of the path", worst(over_least), 1.5, at_most=True),
            Target(f"gamma {gamma:g}: final / oracle's error", worst(over_oracle), 3, at_most=True),
        ]
    columns = ["gamma", "median error", "final / least", "final / oracle", "published: final / least"]
    show(f"and-noise: ctm, {n} x {features['ctm']}, k = {k}, worst of {seeds} seeds", columns, lines)
    finish("and-noise", parts, targets, options)
