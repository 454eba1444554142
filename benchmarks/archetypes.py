"""Jasper Ridge, 4 surveyed materials: mean angle to their spectra from a cold start, over ten seeds, and the time."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from typing import Any

import numpy as np

from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .report import Target, finish, show


def contender(make: Any, package: str, note: str) -> Contender:
    """Components for some seeds, by a method with its defaults."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make(params["k"], 0).fit(data["X"][:200])  # compiles
            begin = time.process_time()
            found = [make(params["k"], seed).fit(data["X"]).components_ for seed in params["seeds"]]
        return (time.process_time() - begin) / len(found), {"H": np.array(found)}, {}

    return Contender(run, {package: package}, note=note)


def ours(name: str) -> Any:
    """One of our estimators."""

    def make(k: int, seed: int) -> Any:
        import partwise as pw

        return getattr(pw, name)(k, random_state=seed)

    return make


def theirs(k: int, seed: int) -> Any:
    """scikit-learn's."""
    from sklearn.decomposition import NMF

    return NMF(k, random_state=seed)


CONTENDERS = {
    "partwise": contender(ours("Archetypes"), "partwise", "Archetypes, defaults"),
    "facets": contender(ours("Facets"), "partwise", "Facets, defaults"),
    "tsvdnmf": contender(ours("TSVDNMF"), "partwise", "TSVDNMF, defaults"),
    "sklearn": contender(theirs, "scikit-learn", "NMF, defaults"),
}


def main(options: Any) -> None:
    """Run the case."""
    import partwise as pw

    scene = pw.datasets.load_jasper_ridge()
    seeds = list(range(options.seed, options.seed + (options.seeds or (10 if options.size == "full" else 2))))

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        angles = [float(pw.metrics.spectral_angles(H, scene.components).mean()) for H in arrays["H"]]
        return {"angle": float(np.mean(angles)), "worst": float(np.max(angles))}

    with problem({"X": np.asarray(scene.X, float)}) as folder:
        once = Namespace(**(vars(options) | {"repeat": 1}))
        rows = race("archetypes", chosen(CONTENDERS, options), folder, {"k": 4, "seeds": seeds}, verify, once)
    lines = [
        [name, f"{row.facts['angle']:.2f}", f"{row.facts['worst']:.2f}", f"{row.median:.2f}"]
        for name, row in rows.items()
        if row.facts
    ]
    show(
        f"Jasper Ridge, {len(seeds)} seeds, degrees", ["method", "mean angle", "worst seed", "processor seconds"], lines
    )
    facts = rows["partwise"].facts
    targets = [
        Target("mean angle, degrees", facts.get("angle", np.nan), 4.0, at_most=True),
        Target("processor seconds for 10,000 x 198", rows["partwise"].median, 3.0, at_most=True),
    ]
    finish("archetypes", [{"data": "jasper ridge", "rows": rows}], targets, options)
