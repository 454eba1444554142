"""Scenes without pure pixels: mean angle to the true spectra of MinVol, and of methods that pick or average pixels.

Families of the scenes at a purity of 0.8 (exact, white noise, six materials, materials that vary in size, in size and
shape), and other purities and numbers of materials under white noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .harness import chosen
from .report import Target, finish, show
from .scenes import MIXED, MIXED_ONES, SUITE, angles_of, contender

ASKED = 3.0  # by what factor MinVol is to be better
SUITE.update(
    {
        "purity 0.6": MIXED | {"purity": 0.6, "snr": 35.0},
        "purity 0.7, 3": MIXED | {"n_components": 3, "purity": 0.7, "snr": 35.0},
        "purity 0.9, 5": MIXED | {"n_components": 5, "purity": 0.9, "snr": 35.0},
    }
)
FAMILIES = [*MIXED_ONES, *(name for name in SUITE if "purity" in name)]

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
    count = options.seeds or (5 if options.size == "full" else 1)
    scenes = [(name, options.seed + j) for name in FAMILIES for j in range(count)]
    rows, found = angles_of(scenes, chosen(CONTENDERS, options), options, "minvol")
    lines = [
        [who, *(f"{np.mean(of[name]):.2f}" for name in FAMILIES), f"{rows[who].median:.2f}"]
        for who, of in found.items()
    ]
    title = f"scenes without pure pixels, means of {count}, degrees"
    show(title, ["method", *FAMILIES, "processor seconds"], lines)
    picking = [found[who] for who in PICKING if who in found]
    targets = []
    for name in FAMILIES:
        best = np.min([of[name] for of in picking], axis=0) if picking else np.full(count, np.nan)
        ratios = best / np.maximum(found["partwise"][name], 1e-12) if "partwise" in found else best * np.nan
        print(f"{name}: times below the best that picks, a scene each:", *(f"{ratio:.1f}" for ratio in ratios))
        means = float(np.mean(best) / np.mean(found["partwise"][name])) if "partwise" in found else np.nan
        targets.append(Target(f"{name}: times below the best that picks pixels, of means", means, ASKED))
    finish("minvol", [{"data": "scenes", "families": FAMILIES, "rows": rows}], targets, options)
