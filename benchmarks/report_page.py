"""The report of a large model: ``python -m benchmarks.report_page``.

100,000 documents over 5,000 words, 100 topics; the report with words as bars, as spectra and as images: size of the
file (less than 5 MB is asked), time to write it, and time until a headless Chromium has loaded and painted it (less
than 2 s, the median of several; none without a browser).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import partwise as pw
from tests.browser import Browser, find_browser

from .report import Target, show

MEGABYTES, SECONDS = 5.0, 2.0
WORDS, TOPICS = 60, 3  # in a document


def documents(n: int, m: int, k: int, seed: int = 0) -> sp.csr_array:
    """Counts of words, each drawn from one of a few topics of its document."""
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.dirichlet(np.full(m, 0.02), size=k), axis=1)
    topic = rng.integers(k, size=(n, TOPICS))[np.arange(n)[:, None], rng.integers(TOPICS, size=(n, WORDS))].ravel()
    # topic t's steps lie in (t, t + 1]: one search for the words of all
    places = np.searchsorted((steps / steps[:, -1:] + np.arange(k)[:, None]).ravel(), topic + rng.random(n * WORDS))
    words = np.minimum(places - topic * m, m - 1)
    counts = sp.coo_array((np.ones(n * WORDS), (np.repeat(np.arange(n), WORDS), words)), shape=(n, m))
    return counts.tocsr()


def measure(path: Path, opened: int) -> list[float]:
    """Seconds until the page has been painted, each time in a new tab."""
    if find_browser() is None:
        return [float("nan")]
    with Browser() as browser:
        times = []
        for _ in range(opened):
            page = browser.open(path)
            times.append(page.seconds)
            if problems := page.problems():
                raise RuntimeError(f"{path.name}: {problems[0]}")
            page.close()
    return times


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=5000)
    parser.add_argument("--parts", type=int, default=100)
    parser.add_argument("--opened", type=int, default=5, help="how many times each page is opened")
    parser.add_argument("--keep", type=Path, help="folder for the pages")
    chosen = parser.parse_args()
    n, m, k = chosen.samples, chosen.features, chosen.parts
    X = documents(n, m, k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit is not what is measured
        model = pw.HALS(k, max_iter=20, random_state=0).fit(X[: max(k, n // 20)])
    side = next(d for d in range(int(np.sqrt(m)), 0, -1) if m % d == 0)
    views: dict[str, dict[str, Any]] = {
        "bars": {"feature_names": [f"word {chr(97 + j % 26)}{j}" for j in range(m)]},
        "spectra": {},
        "images": {"image_shape": (side, m // side)},
    }
    names = [f"document {i:06d}" for i in range(n)]
    lines, targets = [], []
    with tempfile.TemporaryDirectory() as folder:
        for view, options in views.items():
            path = (chosen.keep or Path(folder)) / f"{view}.html"
            begin = time.perf_counter()
            pw.write_report(path, model, X, sample_names=names, **options)
            written = time.perf_counter() - begin
            size, times = path.stat().st_size / 1e6, measure(path, chosen.opened)
            middle = statistics.median(times)
            lines.append(
                [view, f"{size:.2f}", f"{written:.1f}", f"{times[0]:.2f}", f"{middle:.2f}", f"{max(times):.2f}"]
            )
            targets += [
                Target(f"{view}: megabytes", size, MEGABYTES, at_most=True),
                Target(f"{view}: seconds to open, first time", times[0], SECONDS, at_most=True),
            ]
    columns = ["parts as", "MB", "written in s", "first opened in s", "median", "largest"]
    show(f"report of {n:,} samples x {m:,} features, {k} parts", columns, lines)
    for target in targets:
        print(target.line())
    raise SystemExit(1 if any(target.met is False for target in targets) else 0)


if __name__ == "__main__":
    main()
