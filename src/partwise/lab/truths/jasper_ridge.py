"""Jasper Ridge: a scene from the air with four surveyed materials."""

from __future__ import annotations

import numpy as np

from partwise import datasets
from partwise.lab.experiment import Problem, Size
from partwise.lab.truths.base import Truth

QUICK = 2500  # pixels, a quarter


def make(size: Size, seed: int) -> Problem:
    """The scene; at the quick size some of its pixels, others for every seed."""
    scene = datasets.load_jasper_ridge()
    X, note = scene.X, "10,000 pixels in 198 bands, k = 4 surveyed materials"
    if size != "full":
        X = X[np.sort(np.random.default_rng(seed).choice(len(X), QUICK, replace=False))]
        note = f"{QUICK:,} of {note}"
    return Problem(X, 4, truth=scene.components, note=note)


TRUTHS = (Truth("Jasper Ridge", "spectra", make),)
