"""Feasible bands: against Borgen's construction, on Laurberg's family, coverage and width under noise, time."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import numpy as np

from .belief_families import KEPT, sparse_parts
from .borgen import Regions
from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .report import Target, finish, show

FRESH = 2000  # first seed: those below were looked at while the limit of scores was chosen


def three_parts(cases: int) -> list[float]:
    """By how much bands of exact data end short of Borgen's regions, relative to the largest value of the feature."""
    import partwise as pw

    short: list[float] = []
    seed = FRESH
    while len(short) < cases:
        rng = np.random.default_rng(seed)
        seed += 1
        H = sparse_parts(rng, 3, int(rng.integers(6, 14)))
        W = rng.dirichlet([rng.uniform(0.5, 2.0)] * 3, int(rng.integers(30, 200)))
        lower, upper, separate = Regions(W, H).extremes(np.eye(3))
        if not separate:  # where regions of two parts meet, a part is not the same part any more
            continue
        bands = pw.feasible_bands(W @ H, H, starts=0)
        height = np.maximum(H.max(axis=0), 1e-3)
        short.append(float(max(((bands.lower - lower) / height).max(), ((upper - bands.upper) / height).max())))
    return short


def under_noise(seeds: int) -> list[list[Any]]:
    """Family, coverage of the truth by the 95% intervals, mean half-width over mean error, and with the error alone."""
    import partwise as pw

    lines: list[list[Any]] = []
    for name, make in KEPT.items():
        for seed in range(FRESH, FRESH + seeds):
            case = make(seed)
            model = pw.ANLS(len(case.H), random_state=0).fit(np.maximum(case.X, 0.0))
            noise = (
                None if case.scales is None else SimpleNamespace(row_scale=case.scales[0], column_scale=case.scales[1])
            )
            bands = pw.feasible_bands(case.X, model, noise=noise, starts=0, seconds=30.0)
            total = bands.parts.sum(axis=1, keepdims=True)
            truth = pw.metrics.match_components(case.H, bands.parts).aligned(case.H)
            truth *= total / truth.sum(axis=1, keepdims=True)
            (lower, upper), away = bands.interval(), np.abs(truth - bands.parts) / total
            inside = float(((lower <= truth + 1e-9 * total) & (truth <= upper + 1e-9 * total)).mean())
            width = float(((upper - lower) / total).mean() / 2.0 / away.mean())
            alone = float((away <= 1.96 * bands.error / total).mean())
            lines.append([name, inside, width, alone, bands.misfit, bands.done])
    return lines


def run(data: Arrays, params: dict[str, Any]) -> Outcome:
    """All of it."""
    import partwise as pw

    begin = time.perf_counter()
    rng = np.random.default_rng(FRESH)
    rigid = [
        pw.feasible_bands(d.X, d.components).verdict for d in map(pw.datasets.make_laurberg, (0.1, 0.3, 0.45, 0.49))
    ]
    times = {}
    for k, n, m in ((10, 600, 60), (30, 2000, 300)):
        H = sparse_parts(rng, k, m)
        X = rng.dirichlet([1.5] * k, n) @ H
        bands = pw.feasible_bands(X, H, seconds=120.0)
        times[f"k = {k}"] = [bands.seconds, bands.done]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        noise = under_noise(params["seeds"])
    facts = {"short": three_parts(params["cases"]), "rigid": rigid, "noise": noise, "times": times}
    return time.perf_counter() - begin, {}, facts


CONTENDERS = {"partwise": Contender(run, {"partwise": "partwise"}, note="feasible_bands")}


def main(options: Any) -> None:
    """Run the case."""
    full = options.size == "full"
    params = {"cases": 20 if full else 3, "seeds": options.seeds or (5 if full else 1)}
    with problem({"X": np.zeros((1, 1))}) as folder:
        once = Namespace(**(vars(options) | {"repeat": 1}))
        rows = race("bands", chosen(CONTENDERS, options), folder, params, lambda arrays, facts: {}, once)
    facts = rows["partwise"].facts
    lines = [[name, *(f"{value:.3g}" for value in values)] for name, *values in facts["noise"]]
    show("95% intervals", ["family", "covered", "width / error", "by error alone", "misfit", "search"], lines)
    covered, width = (np.array([line[i] for line in facts["noise"]]) for i in (1, 2))
    targets = [
        Target("largest shortfall from Borgen's regions", max(facts["short"]), 1e-3, at_most=True),
        Target("Laurberg's family below 0.5 proved rigid", float(np.mean([v == "rigid" for v in facts["rigid"]])), 1.0),
        Target("coverage, mean", float(covered.mean()), 0.95),
        Target("width over error, median", float(np.median(width)), 3.0, at_most=True),
        Target("k = 10, all parts together, seconds", facts["times"]["k = 10"][0], 60.0, at_most=True),
        Target("k = 30, one part alone, seconds", facts["times"]["k = 30"][0], 30.0, at_most=True),
    ]
    finish("bands", [{"data": "generated", "rows": rows}], targets, options)
