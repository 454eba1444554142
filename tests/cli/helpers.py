"""Data of the tests of the program, and its manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

RNG = np.random.default_rng(7)
X = RNG.gamma(0.4, size=(60, 4)) @ RNG.gamma(0.4, size=(4, 12)) + 0.01 * RNG.random((60, 12))
FEATURES = [f"f{j}" for j in range(X.shape[1])]
SAMPLES = [f"s{i}" for i in range(len(X))]


def write_csv(path: str, rows: np.ndarray, columns: list[str], names: list[str]) -> None:
    """A table as users have it."""
    lines = [",".join(["id", *columns])]
    lines += [",".join([name, *map(repr, row)]) for name, row in zip(names, rows.tolist(), strict=True)]
    Path(path).write_text("\n".join(lines) + "\n")


def manifest(folder: str) -> dict[str, Any]:
    """The manifest of a run."""
    return json.loads(Path(folder, "manifest.json").read_text())
