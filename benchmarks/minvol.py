"""Scenes without pure pixels: mean angle to the true spectra of MinVol, and of methods that pick or average pixels.

Four kinds of scenes at a purity of 0.8 (exact, white noise, materials that vary in size, in size and shape), and other
purities and numbers of materials under white noise.
"""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from typing import Any

import numpy as np

from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .report import Target, finish, show
from .scenes import Scene

SCENES = {
    "exact": Scene(),
    "white noise": Scene(snr=30.0),
    "6 materials": Scene(k=6, concentration=0.4, snr=40.0),
    "sizes vary": Scene(scale=0.3, snr=35.0),
    "shapes vary": Scene(scale=0.2, shape=0.06, snr=35.0),
    "purity 0.6": Scene(purity=0.6, snr=35.0),
    "purity 0.7, 3": Scene(k=3, purity=0.7, snr=35.0),
    "purity 0.9, 5": Scene(k=5, purity=0.9, snr=35.0),
}
SHAPES, ASKED = "shapes vary", 3.0  # the one with coloured noise; by what factor MinVol is to be better


def contender(name: str, note: str) -> Contender:
    """One of our estimators with its defaults, on all scenes."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        import partwise as pw

        def make(k: int) -> Any:
            model = getattr(pw, name)(k)
            return model.set_params(random_state=0) if "random_state" in model.get_params() else model

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make(3).fit(data["X0"][:200])  # compiles
            begin = time.perf_counter()
            found = [make(k).fit(data[f"X{i}"]).components_ for i, k in enumerate(params["k"])]
        seconds = (time.perf_counter() - begin) / len(found)
        return seconds, {f"H{i}": H for i, H in enumerate(found)}, {}

    return Contender(run, {"partwise": "partwise"}, note=note)


CONTENDERS = {
    "partwise": contender("MinVol", "MinVol, defaults"),
    "archetypes": contender("Archetypes", "Archetypes, which refine themselves"),
    "facets": contender("Facets", "Facets, defaults"),
    "spa": contender("SPA", "SPA"),
    "pw-spa": contender("PreconditionedSPA", "PW-SPA"),
    "er-spa": contender("EllipsoidalSPA", "ER-SPA"),
    "xray": contender("XRAY", "XRAY"),
}
PICKING = ("spa", "pw-spa", "er-spa", "xray")


def main(options: Any) -> None:
    """Run the case."""
    import partwise as pw

    repeats = options.seeds or (5 if options.size == "full" else 1)
    names = [name for name in SCENES for _ in range(repeats)]
    seeds = [options.seed + 1000 * j for _ in SCENES for j in range(repeats)]
    made = [SCENES[name].make(seed) for name, seed in zip(names, seeds, strict=True)]

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        angles = [pw.metrics.spectral_angles(arrays[f"H{i}"], E).mean() for i, (_, E) in enumerate(made)]
        return {name: float(np.mean([a for a, of in zip(angles, names, strict=True) if of == name])) for name in SCENES}

    with problem({f"X{i}": X for i, (X, _) in enumerate(made)}) as folder:
        once = Namespace(**(vars(options) | {"repeat": 1}))
        params = {"k": [len(E) for _, E in made]}
        rows = race("minvol", chosen(CONTENDERS, options), folder, params, verify, once)
    lines = [
        [name, *(f"{row.facts[scene]:.2f}" for scene in SCENES), f"{row.best:.2f}"]
        for name, row in rows.items()
        if row.facts
    ]
    show(f"scenes without pure pixels, {repeats} of each, degrees", ["method", *SCENES, "seconds"], lines)
    targets = []
    for scene in SCENES:
        best = min((rows[name].facts.get(scene, np.nan) for name in PICKING if name in rows), default=np.nan)
        ratio = best / max(rows["partwise"].facts.get(scene, np.nan), 1e-12)
        targets.append(Target(f"{scene}: times below the best that picks pixels", ratio, ASKED))
    targets.append(
        Target("Archetypes where shapes vary, degrees", rows["archetypes"].facts.get(SHAPES, np.nan), 3.0, at_most=True)
        if "archetypes" in rows
        else Target("MinVol where shapes vary, degrees", rows["partwise"].facts.get(SHAPES, np.nan), 3.0, at_most=True)
    )
    finish("minvol", [{"data": "scenes", "rows": rows}], targets, options)
