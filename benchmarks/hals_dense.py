"""Dense factorization of MNIST, from one start: time to within 1% of the best relative error."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from . import peers, problems
from .harness import ONE_BLAS, Arrays, Contender, Outcome, Row, chosen, problem, race
from .reach import ours, ours_to_target, peer_to_target, table, verifier
from .report import Target, finish, ratio

SIZES = {"full": (60_000, [50, 100]), "small": (1_000, [10])}
REFERENCE_ITERATIONS = {"full": 500, "small": 200}
SLACK = 1.01


def reference(data: Arrays, params: dict[str, Any]) -> Outcome:
    """Ours for long, only to know the best error."""
    begin = time.perf_counter()
    model, W = ours(data["X"], (data["W0"], data["H0"]), params["iterations"])
    return time.perf_counter() - begin, {"W": W, "H": model.components_}, {"n_iter": params["iterations"]}


OURS = {"partwise": "partwise"}
TORCH = {"torch": "torch"}
PLANC = {"pyplanc": "pyplanc"}
CONTENDERS = {
    "partwise": Contender(ours_to_target(), OURS, note="float64"),
    "partwise-float32": Contender(ours_to_target(np.float32), OURS, note="float32"),
    "sklearn": Contender(peer_to_target(peers.SKLEARN), {"sklearn": "scikit-learn"}, note="cd, float64"),
    "sklearn-float32": Contender(
        peer_to_target(peers.SKLEARN_FLOAT32), {"sklearn": "scikit-learn"}, note="cd, float32"
    ),
    "nmf-torch-hals": Contender(
        peer_to_target(peers.NMF_TORCH_HALS), TORCH | {"nmf": "nmf-torch"}, note="halsvar, float32"
    ),
    "nmf-torch-bpp": Contender(
        peer_to_target(peers.NMF_TORCH_BPP), TORCH | {"nmf": "nmf-torch"}, note="block pivoting, float32"
    ),
    "torchnmf": Contender(
        peer_to_target(peers.TORCHNMF), TORCH | {"torchnmf": "torchnmf"}, note="MU (it has no other), float32"
    ),
    "pyplanc-bpp": Contender(peer_to_target(peers.PYPLANC_BPP), PLANC, ONE_BLAS, note="anlsbpp, float64"),
    "pyplanc-hals": Contender(peer_to_target(peers.PYPLANC_HALS), PLANC, note="hals, float64"),
    "nimfa": Contender(peer_to_target(peers.NIMFA), {"nimfa": "nimfa"}, note="Lsnmf, float64"),
}
HIDDEN = {"reference": Contender(reference, OURS)}


def best_error(X: np.ndarray, folder: Any, options: Any) -> float:
    """The error that a long fit of ours reaches from the common start."""
    once = argparse.Namespace(**vars(options) | {"repeat": 1})
    params = {"iterations": REFERENCE_ITERATIONS[options.size]}
    row = race("hals-dense", HIDDEN, folder, params, verifier(X, 1.0), once)["reference"]
    if row.status != "ok":
        raise SystemExit(f"the reference run {row.status}; give the best known error with --best")
    return row.facts["error"]


def factorize_all(X: np.ndarray, k: int, best: float | None, options: Any) -> dict[str, Any]:
    """Race at one number of components."""
    W0, H0 = problems.start(X, k, options.seed)
    with problem({"X": X, "W0": W0, "H0": H0}) as folder:
        best = best_error(X, folder, options) if best is None else best
        params = {"target": SLACK * best, "timeout": options.timeout}
        print(f"hals-dense, k = {k}: best {best:.5f}, target {params['target']:.5f}")
        rows = race("hals-dense", chosen(CONTENDERS, options), folder, params, verifier(X, params["target"]), options)
    table(
        f"hals-dense: {X.shape[0]} x {X.shape[1]}, k = {k}, to error {params['target']:.5f}, {options.threads} threads",
        rows,
    )
    return {"shape": X.shape, "k": k, "best": best, "target": params["target"], "rows": rows}


def judge(k: int, rows: dict[str, Row]) -> list[Target]:
    """At least 4 x scikit-learn, and ahead of everybody else."""
    others = [name for name in rows if not name.startswith(("partwise", "sklearn"))]
    return [Target(f"k = {k}: x faster than scikit-learn", ratio(rows, "sklearn"), 4)] + [
        Target(f"k = {k}: x faster than {name}", ratio(rows, name), 1) for name in others
    ]


def main(options: Any) -> None:
    """Run the case."""
    n_rows, numbers = SIZES[options.size]
    numbers = options.k or numbers
    bests = options.best or [None] * len(numbers)
    X = problems.mnist(options.rows or n_rows)
    parts = [factorize_all(X, k, best, options) for k, best in zip(numbers, bests, strict=True)]
    targets = [target for part in parts for target in judge(part["k"], part["rows"])]
    finish("hals-dense", parts, targets, options)
