"""Generated scenes: what spectra of real scenes do, one after the other."""

from __future__ import annotations

from functools import partial
from typing import Any

from partwise import datasets
from partwise.lab.experiment import Problem, Size
from partwise.lab.truths.base import Truth

SHAPES: dict[str, dict[str, int]] = {"quick": {"n_samples": 600, "n_features": 80}, "full": {}}
VARIABLE: dict[str, Any] = {"scale": 0.3, "shape": 0.06, "snr": 35.0}
MILD = VARIABLE | {"shape": 0.04}
SCENES: dict[str, dict[str, Any]] = {
    "white noise": {"n_components": 6, "snr": 30.0},
    "variable": VARIABLE,
    "variable, one dark": VARIABLE | {"dark": 0.12},
    "variable, rare": MILD | {"rare": 0.02},
    "variable, outliers": MILD | {"outliers": 0.02},
    "variable, a close pair": MILD | {"pair": 12.0},
    "variable, eight": MILD | {"n_components": 8},
    "variable, mixed": {"scale": 0.2, "shape": 0.06, "snr": 35.0}
    | {"abundances": "dirichlet", "concentration": 0.5, "purity": 0.8},
}
QUICK = ("white noise", "variable", "variable, mixed")


def make(name: str, size: Size, seed: int) -> Problem:
    """A scene; another one for every seed."""
    scene = datasets.make_scene(**(SCENES[name] | SHAPES[size]), random_state=seed)
    return Problem.of(scene, note=f"generated: {name}")


TRUTHS = tuple(
    Truth(f"scene, {name}", "spectra", partial(make, name), "scenes", "small" if name in QUICK else "")
    for name in SCENES
)
