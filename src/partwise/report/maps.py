"""Two pictures of all parts at once: how similar they are, and how samples are made of them."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.report import charts, png
from partwise.report.facts import REDUNDANT, Facts, similar_pairs
from partwise.report.wording import percent

Array = npt.NDArray[Any]

CLOSEST = 6  # pairs named beside the map of similarity; a choice
WRITTEN = 8  # parts up to which a cosine has room in its cell
DARK = 0.5  # from which share of the scale on a colour needs light letters


def similarity_map(facts: Facts, parts: int) -> dict[str, Any] | None:
    """Cosines between the first parts; None for a single one."""
    if parts < 2:
        return None
    values = facts.similarity[:parts, :parts]
    negative = bool((values < -0.005).any())
    palette, low = ("diverging", -1.0) if negative else ("sequential", 0.0)
    closest = similar_pairs(values, 0.0, CLOSEST)
    return {
        "image": png.picture(values, palette, low, 1.0),
        "ticks": charts.part_ticks(parts),
        "cells": _cells(values) if parts <= WRITTEN else [],
        "key": _keys(facts, parts),
        "legend": _legend(palette),
        "low": "−1" if negative else "0",
        "high": "1",
        "pairs": [(i + 1, j + 1, f"{values[i, j]:.3f}", values[i, j] > REDUNDANT) for i, j in closest],
    }


def weights_map(facts: Facts, parts: int) -> dict[str, Any] | None:
    """Shares of the first parts in samples; None where there is nothing to compare."""
    values = facts.weights_map[:, :parts]
    if min(values.shape) < 2:
        return None
    top = float(values.max())
    return {
        "image": png.picture(values, "sequential", 0.0, top),
        "ticks": charts.part_ticks(values.shape[1]),
        "groups": _groups(values),
        "legend": _legend("sequential"),
        "low": "0",
        "high": percent(top),
        "binned": len(values) < np.count_nonzero(facts.rows.shares.any(axis=1)),
        "drawn": len(facts.rows.shares) if len(facts.rows.shares) < facts.shape[0] else 0,
    }


def _groups(values: Array) -> list[tuple[float, str]]:
    """Middle of the rows that have the same dominant part, where there is room for its number."""
    dominant = values.argmax(axis=1)
    edges = np.flatnonzero(np.diff(dominant, prepend=-1, append=-1))
    places: list[tuple[float, str]] = []
    for a, b in pairwise(edges.tolist()):
        at = 100.0 * (a + b) / 2.0 / len(values)
        if b - a >= 0.03 * len(values) and (not places or at - places[-1][0] >= 5.0):
            places.append((at, str(dominant[a] + 1)))
    return places


def _cells(values: Array) -> list[list[tuple[str, bool]]]:
    """Cosines as they are written into the map, and whether the colour beneath is dark."""
    return [[(f"{value:.2f}".replace("-", "−"), bool(abs(value) > DARK)) for value in row] for row in values]


def _keys(facts: Facts, parts: int) -> list[tuple[int, str]]:
    """Which number is which part, where their names do not say so."""
    named = [(j + 1, facts.part(j)) for j in range(parts)]
    return [] if all(name.split()[-1:] == [str(j)] for j, name in named) else named


@cache
def _legend(palette: str) -> str:
    return png.picture(np.arange(64.0)[None, :], palette, 0.0, 63.0)
