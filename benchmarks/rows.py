"""Ten times the rows, from files and on Dask: plain fits, masks, weights, known parts, batches, in processor time."""

from __future__ import annotations

import tempfile
import time
import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from .harness import Contender

CONTENDERS: dict[str, Contender] = {}
WANTED, TIMES, ROUNDS = 11.0, 10, 10
SIZES = {"full": (5_000, 100, 10), "small": (2_000, 60, 5)}


def main(options: Namespace) -> None:
    """Fit small and large, in a fixed number of rounds, and compare."""
    import dask.array as da

    n, m, k = SIZES[options.size]
    rng = np.random.default_rng(options.seed)
    H = rng.gamma(0.3, size=(k, m))
    with tempfile.TemporaryDirectory() as made:
        for name, holes in (("whole", 0.0), ("holes", 0.3)):
            for part in range(TIMES):  # parts of n rows: one folder has one of them, the other all
                X = rng.gamma(0.3, size=(n, k)) @ H + 0.01 * rng.random((n, m))
                X[rng.random(X.shape) < holes] = np.nan
                for times in (1, TIMES):
                    folder = Path(made, f"{name}{times}")
                    folder.mkdir(exist_ok=True)
                    if part < times:
                        np.save(folder / f"{part:02}.npy", X)
        for case, (name, fit) in cases(H).items():
            for kind in ("files", "dask"):
                best: dict[int, float] = {}
                for number, times in enumerate([1, *([1, TIMES] * options.repeat)]):  # the first compiles
                    folder = Path(made, f"{name}{times}")
                    data: Any = folder
                    if kind == "dask":
                        parts = [np.load(file, mmap_mode="r") for file in sorted(folder.iterdir())]
                        data = da.concatenate([da.from_array(part, chunks=(n // 5, m)) for part in parts])
                    begin = time.process_time()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        fit(data, n * times)
                    if number:
                        best[times] = min(best.get(times, np.inf), time.process_time() - begin)
                ratio = best[TIMES] / best[1]
                told = "ok" if ratio <= WANTED else "MISSED"
                print(f"{case:16} {kind:6} {best[1]:7.2f} s {best[TIMES]:7.2f} s  {ratio:5.2f} x  {told}", flush=True)


def cases(H: Any) -> dict[str, tuple[str, Any]]:
    """Which data, and what is fitted to it."""
    import partwise as pw

    how: dict[str, Any] = {"max_iter": ROUNDS, "tol": 0.0, "init": H[::-1], "n_components": len(H)}
    return {
        "HALS": ("whole", lambda X, n: pw.HALS(**how).fit(X)),
        "Likelihood": ("whole", lambda X, n: pw.Likelihood(**how).fit(X)),
        "weights": ("whole", lambda X, n: np.asarray(pw.nnls(H, X)).sum()),
        "holes": ("holes", lambda X, n: pw.HALS(missing="nan", **how).fit(X)),
        "holes, counts": ("holes", lambda X, n: pw.Likelihood(missing="nan", **how).fit(X)),
        "sample weights": ("whole", lambda X, n: pw.HALS(**how).fit(X, sample_weight=np.arange(n) % 3 + 1.0)),
        "known parts": ("whole", lambda X, n: pw.HALS(fixed=H[:2], **how | {"init": "random"}).fit(X)),
        "mini-batches": ("whole", lambda X, n: pw.MiniBatchNMF(max_no_improvement=None, **how).fit(X)),
    }
