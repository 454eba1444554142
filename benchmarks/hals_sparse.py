"""Sparse factorization, 2 million entries: time to scikit-learn's error after 100 iterations."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import peers, problems
from .checks import relative_error
from .harness import ONE_BLAS, Arrays, Contender, Outcome, Row, chosen, problem, race
from .reach import ours_to_target, peer_to_target, table, verifier
from .report import Target, finish, ratio

SIZES = {"full": (20_000, 25_000, 2_000_000, [20, 100]), "small": (1_000, 1_200, 20_000, [5])}
ITERATIONS = 100


def goal(data: Arrays, params: dict[str, Any]) -> Outcome:
    """scikit-learn's fixed number of iterations: its error is everybody's target, its own among them."""
    begin = time.perf_counter()
    W, H = peers.sklearn_cd(data["X"], data["W0"], data["H0"], ITERATIONS)
    return time.perf_counter() - begin, {"W": W, "H": H}, {"n_iter": ITERATIONS}


def gensim(data: Arrays, params: dict[str, Any]) -> Outcome:
    """gensim's online NMF, with more passes until it reaches the target, stands still or is out of time.

    It starts by itself and has no weights to give: it is judged with the exact ones for its components.
    """
    from gensim.models.nmf import Nmf

    import partwise as pw

    X, k = data["X"], data["H0"].shape[0]
    A, names = sp.csc_matrix(X.T), {j: str(j) for j in range(X.shape[1])}
    settings: dict[str, Any] = {"id2word": names, "eval_every": 0, "normalize": False, "random_state": 0}
    Nmf(A[:, :200], num_topics=2, **settings)
    passes, before, spent = params["known"].get("n_iter", 1), np.inf, 0.0
    while True:
        begin = time.perf_counter()
        model = Nmf(A, num_topics=k, passes=passes, **settings)
        seconds = time.perf_counter() - begin
        spent += seconds
        H = np.ascontiguousarray(model.get_topics(normalize=False))
        W = pw.linalg.nnls(H, X)
        error = relative_error(X, W, H)
        stuck = error > 0.999 * before or 3 * spent > 0.5 * params["timeout"]
        if error <= params["target"] or stuck or "n_iter" in params["known"]:
            return seconds, {"W": W, "H": H}, {"n_iter": passes}
        passes, before = 2 * passes, error


def rcppml(data: Arrays, params: dict[str, Any]) -> Outcome:
    """R's RcppML for as many iterations, from a random start of its own."""
    X, k = data["X"], data["H0"].shape[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # the CSR arrays of X are the CSC arrays of its transpose
        X.indices.astype(np.int32).tofile(folder / "i.bin")
        X.indptr.astype(np.int32).tofile(folder / "p.bin")
        X.data.astype(np.float64).tofile(folder / "x.bin")
        numbers = [X.shape[1], X.shape[0], k, ITERATIONS, os.environ["OMP_NUM_THREADS"], params["seed"] + 1]
        command = ["Rscript", str(Path(__file__).with_name("rcppml.R")), name, *map(str, numbers)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        w, d, h = (np.fromfile(folder / f"{factor}.bin") for factor in "wdh")
    W, H = h.reshape(X.shape[0], k) * d, w.reshape(k, X.shape[1])
    return float(said[0]), {"W": W, "H": H}, {"n_iter": int(said[2]), "version": said[1]}


def rcppml_ready() -> bool:
    """Whether R and RcppML are here."""
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(RcppML)"], capture_output=True).returncode == 0


OURS = {"partwise": "partwise"}
PLANC = {"pyplanc": "pyplanc"}
HIDDEN = {"goal": Contender(goal, {"sklearn": "scikit-learn"})}
CONTENDERS = {
    "partwise": Contender(ours_to_target(), OURS, note="float64"),
    "partwise-float32": Contender(ours_to_target(np.float32), OURS, note="float32"),
    "sklearn": Contender(peer_to_target(peers.SKLEARN), {"sklearn": "scikit-learn"}, note="cd, float64"),
    "pyplanc-bpp": Contender(peer_to_target(peers.PYPLANC_BPP), PLANC, ONE_BLAS, note="anlsbpp"),
    "pyplanc-hals": Contender(peer_to_target(peers.PYPLANC_HALS), PLANC, note="hals"),
    "gensim": Contender(gensim, OURS | {"gensim": "gensim"}, note="passes; own start, exact weights given"),
    "RcppML": Contender(rcppml, ready=rcppml_ready, note=f"{ITERATIONS} iterations, own start"),
}


def factorize_all(X: sp.csr_matrix, k: int, options: Any) -> dict[str, Any]:
    """Race at one number of components, after a run of scikit-learn that sets the target."""
    W0, H0 = problems.start(X, k, options.seed)
    params = {"seed": options.seed, "timeout": options.timeout}
    with problem({"X": X, "W0": W0, "H0": H0}) as folder:
        once = argparse.Namespace(**vars(options) | {"repeat": 1})
        first = race("hals-sparse", HIDDEN, folder, params, verifier(X, np.inf), once)["goal"]
        if first.status != "ok":
            raise SystemExit(f"scikit-learn sets the target, and {first.status}")
        # a last digit of room: scikit-learn itself must not miss its own error by rounding
        params["target"] = first.facts["error"] * (1 + max(options.slack, 1e-9))
        verify = verifier(X, params["target"])
        rows = race("hals-sparse", chosen(CONTENDERS, options), folder, params, verify, options)
    size = f"{X.shape[0]} x {X.shape[1]}, {X.nnz} entries"
    table(f"hals-sparse: {size}, k = {k}, to error {params['target']:.6f}, {options.threads} threads", rows)
    return {"shape": X.shape, "nnz": X.nnz, "k": k, "target": params["target"], "rows": rows}


def judge(k: int, rows: dict[str, Row]) -> list[Target]:
    """At least 4 x scikit-learn at k = 100, 2 x at 20, and ahead of everybody else."""
    others = [name for name in rows if not name.startswith(("partwise", "sklearn"))]
    return [Target(f"k = {k}: x faster than scikit-learn", ratio(rows, "sklearn"), 4 if k >= 100 else 2)] + [
        Target(f"k = {k}: x faster than {name}", ratio(rows, name), 1) for name in others
    ]


def main(options: Any) -> None:
    """Run the case."""
    n, m, nnz, numbers = SIZES[options.size]
    X = problems.corpus(n, m, nnz, options.seed, options.uniform)
    parts = [factorize_all(X, k, options) for k in options.k or numbers]
    targets = [target for part in parts for target in judge(part["k"], part["rows"])]
    finish("hals-sparse" + ("-uniform" if options.uniform else ""), parts, targets, options)
