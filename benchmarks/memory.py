"""Peak memory above the data on a sparse matrix, against the bound 3 (n + m) k floats plus one block."""

from __future__ import annotations

import gc
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import problems
from .checks import kkt_residual, relative_error
from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .peers import Factors, sklearn_cd
from .reach import ours
from .report import Target, finish, show

SIZES = {"full": (20_000, 25_000, 2_000_000, 50), "small": (2_000, 2_500, 40_000, 10)}
ITERATIONS = 10
MB = 1e6


class Peak:
    """The highest resident memory inside the `with`, above that at its begin, in bytes.

    The kernel's own high-water mark where it lets itself be reset; else what a sampling thread saw.
    """

    above = 0.0

    def __enter__(self) -> Peak:
        gc.collect()
        self._exact = self._reset()
        self._begin = self._highest = self._resident()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        mark = int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]) * 1024
        self.above = (max(mark, self._highest) if self._exact else self._highest) - self._begin

    def _watch(self) -> None:
        while not self._done.wait(0.002):
            self._highest = max(self._highest, self._resident())

    @staticmethod
    def _resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    @staticmethod
    def _reset() -> bool:
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return False
        return True


def partwise_hals(X: Any, W0: np.ndarray, H0: np.ndarray) -> Factors:
    """Our fit."""
    model, W = ours(X, H0, ITERATIONS)
    return W, model.components_


def partwise_nnls(X: Any, W0: np.ndarray, H0: np.ndarray) -> Factors:
    """Our weights."""
    import partwise as pw

    return pw.linalg.nnls(H0, X, return_certificate=True)[0], H0


def sklearn_hals(X: Any, W0: np.ndarray, H0: np.ndarray) -> Factors:
    """scikit-learn's fit."""
    return sklearn_cd(X, W0, H0, ITERATIONS)


def sklearn_nnls(X: Any, W0: np.ndarray, H0: np.ndarray) -> Factors:
    """scikit-learn's transform."""
    from sklearn.decomposition import non_negative_factorization

    settings = {"n_components": len(H0), "init": "custom", "update_H": False, "max_iter": 100}
    return non_negative_factorization(X, H=H0, **settings)[0], H0


def contender(work: Callable[..., Factors], needs: dict[str, str], note: str) -> Contender:
    """Watch `work`, after a warm-up that has compiled everything and filled the buffers of BLAS."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        X, W0, H0 = data["X"], data["W0"], data["H0"]
        work(X[:200], W0[:200], H0)
        square = np.ones((1024, 1024))
        square @ square
        del square
        begin = time.perf_counter()
        with Peak() as peak:
            W, H = work(X, W0, H0)
        return time.perf_counter() - begin, {"W": W, "H": H}, {"above": peak.above}

    return Contender(run, needs, note=note)


OURS, SKLEARN = {"partwise": "partwise"}, {"sklearn": "scikit-learn"}
CONTENDERS = {
    "partwise-hals": contender(partwise_hals, OURS, f"{ITERATIONS} iterations"),
    "partwise-nnls": contender(partwise_nnls, OURS, "with certificate"),
    "sklearn-hals": contender(sklearn_hals, SKLEARN, f"cd, {ITERATIONS} iterations"),
    "sklearn-nnls": contender(sklearn_nnls, SKLEARN, "transform, default tolerance"),
}


def block_bytes(X: sp.csr_matrix) -> int:
    """Give the size of the blocks that our sources cut X into."""
    import partwise as pw

    first = pw.open_source(X).block(0)
    return first.data.nbytes + first.indices.nbytes + first.indptr.nbytes


def main(options: Any) -> None:
    """Run the case."""
    n, m, nnz, k = SIZES[options.size]
    k = (options.k or [k])[0]
    X = problems.corpus(n, m, nnz, options.seed, options.uniform)
    W0, H0 = problems.start(X, k, options.seed)
    block = block_bytes(X)
    bound = 3 * (n + m) * k * 8 + block

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        W, H = arrays["W"], arrays["H"]
        return {"error": relative_error(X, W, H), "kkt": float(kkt_residual(X, W, H).max())}

    with problem({"X": X, "W0": W0, "H0": H0}) as folder:
        rows = race("memory", chosen(CONTENDERS, options), folder, {}, verify, options)
    lines = []
    for name, row in rows.items():
        ok = row.status == "ok"
        above = [f"{row.facts['above'] / MB:.1f}", f"{row.facts['above'] / bound:.2f}"] if ok else ["-", "-"]
        error = f"{row.facts['error']:.5f}" if ok else "-"
        lines.append([name, *above, error, row.note if ok else row.status])
    print(f"\nbound {bound / MB:.1f} MB, {block / MB:.1f} of it a block; n x m would be {n * m * 8 / MB:.0f} MB")
    show(
        f"memory: {n} x {m}, {X.nnz} entries, k = {k}",
        ["contender", "MB above data", "x bound", "relative error", "note"],
        lines,
    )
    targets = [
        Target(f"{name}: peak over the bound", row.facts.get("above", np.nan) / bound, 1, at_most=True)
        for name, row in rows.items()
        if name.startswith("partwise")
    ]
    part = {"shape": X.shape, "nnz": X.nnz, "k": k, "bound": bound, "rows": rows}
    finish("memory", [part], targets, options)
