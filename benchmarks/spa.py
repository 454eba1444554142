"""Successive projection on 100,000 samples, k = 20, against deflation and against the speed of memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from . import problems
from .harness import Arrays, Contender, Outcome, Row, best_of, chosen, problem, race
from .report import Target, finish, ratio, show

SIZES = {"full": (100_000, 1_000, 20), "small": (5_000, 200, 8)}


def partwise(X: np.ndarray, k: int) -> np.ndarray:
    """Ours, over a source."""
    import partwise as pw
    from partwise.algorithms.spa import spa

    return np.asarray(spa(pw.open_source(X), k).anchors)


def deflation(X: np.ndarray, k: int) -> np.ndarray:
    """The textbook: keep the residual matrix, project every pick out of it."""
    R, anchors = X.copy(), []
    for _ in range(k):
        anchors.append(int(np.argmax(np.einsum("ij,ij->i", R, R))))
        u = R[anchors[-1]] / np.linalg.norm(R[anchors[-1]])
        R -= np.outer(R @ u, u)
    return np.array(anchors)


def passes(X: np.ndarray, k: int) -> np.ndarray:
    """The yardstick: read X k times with the same threads."""
    threads = int(os.environ["OMP_NUM_THREADS"])
    blocks = np.array_split(X, threads)
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(k):
            list(pool.map(np.sum, blocks))
    return np.empty(0, dtype=int)


def products(X: np.ndarray, k: int) -> np.ndarray:
    """The other yardstick: k products of X and a vector by BLAS."""
    v = np.ones(X.shape[1])
    for _ in range(k):
        X @ v
    return np.empty(0, dtype=int)


def contender(pick: Callable[[np.ndarray, int], np.ndarray], needs: dict[str, str], note: str) -> Contender:
    """Time `pick` after a warm-up on a few rows."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        pick(data["X"][:500], 2)
        seconds, anchors = best_of(lambda: pick(data["X"], params["k"]))
        return seconds, {"anchors": anchors}, {"picks": bool(len(anchors))}

    return Contender(run, needs, note=note)


CONTENDERS = {
    "partwise": contender(partwise, {"partwise": "partwise"}, "norms only"),
    "numpy": contender(deflation, {}, "deflation of a residual matrix"),
    "passes": contender(passes, {}, "yardstick: np.sum over X, k times"),
    "products": contender(products, {}, "yardstick: X @ v by BLAS, k times"),
}


def table(title: str, rows: dict[str, Row]) -> None:
    """Print times, ratios and whether the anchors are the right ones."""
    lines = []
    for name, row in rows.items():
        ok = row.status == "ok"
        right = "-" if not ok or not row.facts["picks"] else "yes" if row.facts["same"] else "NO"
        times = [f"{row.median:.3f}", f"{row.median / rows['partwise'].median:.2f}"] if ok else ["-", "-"]
        lines.append([name, *times, right, row.note if ok else row.status])
    show(title, ["contender", "seconds", "x partwise", "same anchors", "note"], lines)


def main(options: Any) -> None:
    """Run the case."""
    n, m, k = SIZES[options.size]
    k = (options.k or [k])[0]
    X = problems.separable(n, m, k, options.seed)
    truth = deflation(X, k)  # the driver's own, in the order of the picks

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        return {"same": np.array_equal(arrays["anchors"], truth)} if facts["picks"] else {}

    with problem({"X": X}) as folder:
        rows = race("spa", chosen(CONTENDERS, options), folder, {"k": k}, verify, options)
    table(f"spa: {n} x {m}, k = {k}, {options.threads} threads", rows)
    targets = [
        Target("x faster than NumPy deflation", ratio(rows, "numpy"), 9),
        Target("time over k memory passes", 1 / ratio(rows, "passes"), 2, at_most=True),
        Target("same anchors", float(rows["partwise"].facts.get("same", np.nan)), 1),
    ]
    finish("spa", [{"shape": X.shape, "k": k, "rows": rows}], targets, options)
