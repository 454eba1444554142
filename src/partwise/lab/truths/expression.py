"""RNA and cells that were mixed in known proportions."""

from __future__ import annotations

from functools import partial
from typing import Any

from partwise import datasets
from partwise.lab.experiment import Problem, Size
from partwise.lab.truths.base import Truth


def make(load: Any, size: Size, seed: int) -> Problem:
    """The table, and the means of samples of one part alone."""
    found = load()
    note = "{:,} samples, {:,} genes, k = 3: {}".format(*found.X.shape, ", ".join(found.component_names))
    return Problem(found.X, 3, truth=found.components, weights=found.weights, note=note)


TRUTHS = (
    Truth("shen_orr", "proportions", partial(make, datasets.load_shen_orr), quick="whole"),
    Truth("cellmix4", "proportions", partial(make, datasets.load_cellmix4), quick=""),
)
