"""Archetypes on many pixels: folders of 10,000, 100,000 and 1,000,000 rows of 198 bands, time and memory."""

from __future__ import annotations

import tempfile
import time
import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .memory import MB, Peak
from .report import Target, finish, show

ROWS = {"full": (10_000, 100_000, 1_000_000), "small": (2_000, 20_000)}
PART = 50_000  # rows of a file


def run(data: Arrays, params: dict[str, Any]) -> Outcome:
    """Processor time and highest memory of a fit on a folder."""
    import partwise as pw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pw.Archetypes(params["k"], random_state=0).fit(data["few"])  # compiles
        begin = time.process_time()
        with Peak() as peak:
            model = pw.Archetypes(params["k"], random_state=0).fit(params["folder"])
    return time.process_time() - begin, {"H": model.components_}, {"above": peak.above}


CONTENDERS = {"partwise": Contender(run, {"partwise": "partwise"}, note="Archetypes, defaults, folder of .npy parts")}


def write(folder: Path, pixels: np.ndarray, n: int, seed: int) -> str:
    """Pixels of a scene, drawn again and again, each of a brightness and with noise of its own."""
    folder.mkdir()
    rng = np.random.default_rng([seed, n])
    size = 0.01 * np.float32(np.sqrt((pixels**2).mean()))
    for i, a in enumerate(range(0, n, PART)):
        X = pixels[rng.integers(len(pixels), size=min(PART, n - a))]
        X = X * rng.uniform(0.9, 1.1, (len(X), 1)).astype(np.float32)
        X += size * rng.standard_normal(X.shape, np.float32)
        np.save(folder / f"part-{i:03}.npy", np.maximum(X, 0.0))
    return str(folder)


def main(options: Any) -> None:
    """Run the case."""
    import partwise as pw

    scene = pw.datasets.load_jasper_ridge()
    pixels = np.asarray(scene.X, np.float32)

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        return {**facts, "angle": float(pw.metrics.spectral_angles(arrays["H"], scene.components).mean())}

    once = Namespace(**(vars(options) | {"repeat": 1}))
    found, lines = {}, []
    for n in ROWS[options.size]:
        with tempfile.TemporaryDirectory() as place, problem({"few": pixels[:300]}) as folder:
            params = {"k": 4, "folder": write(Path(place) / "parts", pixels, n, options.seed)}
            rows = race("archetypes-scaling", chosen(CONTENDERS, options), folder, params, verify, once)
        found[n] = row = rows["partwise"]
        if row.facts:
            megabytes = n * pixels.shape[1] * 4 / MB
            cells = [f"{row.median:.1f}", f"{1e6 * row.median / n:.0f}", f"{row.facts['above'] / MB:.0f}"]
            lines.append([f"{n:,}", f"{megabytes:.0f}", *cells, f"{row.facts['angle']:.2f}"])
    columns = ["rows", "MB of data", "processor seconds", "microseconds a row", "peak MB above begin", "angle"]
    show("Archetypes(4) on pixels of Jasper Ridge, drawn again with noise", columns, lines)
    fewer, more = list(found.values())[-2:]
    times = list(found)[-1] / list(found)[-2]
    above = [row.facts.get("above", np.nan) for row in (fewer, more)]
    targets = [
        Target(f"time of {times:.0f} x the rows, over as many times", more.median / fewer.median / times, 1.1, True),
        # beside the blocks there are a few numbers a row; the bound was set after 1.13 had been seen
        Target(f"peak memory of {times:.0f} x the rows", above[1] / above[0], 1.25, at_most=True),
    ]
    finish("archetypes-scaling", [{"data": n, "rows": {"partwise": row}} for n, row in found.items()], targets, options)
