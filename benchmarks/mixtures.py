"""RNA and cells mixed in known proportions: mean error of the proportions from a cold start, and with odd samples."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .report import Target, finish, show

ASKED = {"shen_orr": 0.04, "cellmix4": 0.095}
ODD = (0, 1, 3, 10)
KINDS = ("tissue", "empty", "gene")
SPOILT = 1.1  # times the error of clean data: what odd samples may do


def spoil(X: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The data with odd samples in it (another tissue, an empty well, one gene at a hundred times its count)."""
    rng = np.random.default_rng(seed)
    n, m = X.shape
    tissue = X.mean(axis=0)[rng.permutation(m)]
    counts = not np.any(X % 1.0)
    new = np.zeros((count, m))
    for i in range(count):
        kind = KINDS[(i + seed) % 3]
        if kind == "tissue":
            means = tissue / tissue.sum() * X.sum(axis=1).mean() * np.exp(0.2 * rng.standard_normal())
            new[i] = rng.poisson(means) if counts else means * np.exp(0.1 * rng.standard_normal(m))
        elif kind == "gene":
            new[i] = X[rng.integers(n)]
            new[i, rng.choice(np.flatnonzero(new[i] > np.median(new[i][new[i] > 0.0])))] *= 100.0
    at = np.sort(rng.choice(n + count, count, replace=False))
    return np.insert(X, at - np.arange(count), new, axis=0), at


def contender(make: Any, package: str, note: str) -> Contender:
    """Proportions for some seeds, by a method with its defaults."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make(data["X"][:, :50], params["k"], 0)  # compiles
            begin = time.process_time()
            found = [make(data["X"], params["k"], seed) for seed in params["seeds"]]
        odd = [sorted(map(int, o)) for _, o in found]
        return (time.process_time() - begin) / len(found), {"P": np.array([P for P, _ in found])}, {"odd": odd}

    return Contender(run, {package: package.replace("sklearn", "scikit-learn")}, note=note)


def ours(name: str, how: str | None) -> Any:
    """One of our estimators."""

    def make(X: np.ndarray, k: int, seed: int) -> Any:
        import partwise as pw

        model = getattr(pw, name)(k, random_state=seed)
        model = (model if how is None else model.set_weighing(how)).fit(X)
        return np.nan_to_num(model.proportions(X)), model.odd_samples_

    return make


def theirs(X: np.ndarray, k: int, seed: int) -> Any:
    """scikit-learn's, with shares of counts."""
    from sklearn.decomposition import NMF

    model = NMF(k, random_state=seed)
    W = model.fit_transform(X) * model.components_.sum(axis=1)
    return W / np.maximum(W.sum(axis=1, keepdims=True), 1e-300), ()


CONTENDERS = {
    "partwise": contender(ours("Archetypes", None), "partwise", "Archetypes, defaults"),
    "archetypes": contender(ours("Archetypes", "noise"), "partwise", "Archetypes, weighed"),
    "facets": contender(ours("Facets", "noise"), "partwise", "Facets, weighed"),
    "sklearn": contender(theirs, "sklearn", "NMF, defaults"),
}


def proportion_error(P: np.ndarray, truth: np.ndarray) -> float:
    """Mean absolute difference, parts in the order that makes it least."""
    cost = np.abs(P[:, :, None] - truth[:, None, :]).mean(axis=0)
    i, j = linear_sum_assignment(cost)
    return float(cost[i, j].mean())


def verified(arrays: dict[str, Any], facts: dict[str, Any], *, kept: Any, odd: set[int], truth: Any) -> dict[str, Any]:
    """Errors of the samples that belong there, and whether all others were named."""
    errors = [proportion_error(P[kept], truth) for P in arrays["P"]]
    named = [odd <= set(one) for one in facts["odd"]]
    return {"error": float(np.mean(errors)), "worst": float(np.max(errors)), "named": float(np.mean(named))}


def main(options: Any) -> None:
    """Run the case."""
    import partwise as pw

    seeds = list(range(options.seed, options.seed + (options.seeds or (10 if options.size == "full" else 1))))
    targets, results, lines = [], [], []
    for name, asked in ASKED.items():
        data = getattr(pw.datasets, f"load_{name}")()
        clean = np.nan
        for count in ODD:
            X, at = spoil(np.asarray(data.X, float), count, options.seed)
            kept = np.setdiff1d(np.arange(len(X)), at)

            with problem({"X": X}) as folder:
                once = Namespace(**(vars(options) | {"repeat": 1}))
                some = seeds if count == 0 else seeds[:3]
                verify = partial(verified, kept=kept, odd=set(map(int, at)), truth=data.weights)
                rows = race("mixtures", chosen(CONTENDERS, options), folder, {"k": 3, "seeds": some}, verify, once)
            results.append({"data": name, "odd": count, "rows": rows})
            lines += [
                [name, count, who, f"{row.facts['error']:.4f}", f"{row.facts['named']:.0%}", f"{row.median:.2f}"]
                for who, row in rows.items()
                if row.facts
            ]
            facts = rows["partwise"].facts
            error = facts.get("error", np.nan)
            if count == 0:
                clean = error
                targets.append(Target(f"{name}: error of the proportions", error, asked, at_most=True))
            else:
                targets.append(
                    Target(f"{name}, {count} odd: error over that without", error / clean, SPOILT, at_most=True)
                )
                targets.append(Target(f"{name}, {count} odd: named", facts.get("named", np.nan), 1.0))
    show(
        "Mean error of the proportions",
        ["data", "odd", "method", "error", "odd ones named", "processor seconds"],
        lines,
    )
    finish("mixtures", results, targets, options)
