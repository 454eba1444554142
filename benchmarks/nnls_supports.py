"""Exact non-negative weights of 40,000 x 600, from all components active to two thirds: times the least possible."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .checks import kkt_residual
from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .nnls import floor, partwise
from .report import Target, finish, ratio, show

# components, share of weights that are drawn positive, and how many times the floor is asked for
KINDS = ((50, 0.9, 1.3), (50, 0.98, 1.3), (100, 0.66, 2.2), (20, 1.0, 1.3), (10, 1.0, 1.2))
KKT = 1e-12


def make(n: int, k: int, active: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Components and samples; noise leaves about the asked share of the weights positive."""
    rng = np.random.default_rng(seed)
    H = rng.random((k, 600))
    W = rng.random((n, k)) * (rng.random((n, k)) > 1.5 * (1.0 - active)) + (0.3 if active == 1.0 else 0.0)
    return H, W @ H + (0.5 if active < 1.0 else 0.05) * rng.standard_normal((n, 600))


def timed(solve: Any) -> Contender:
    """Processor time of a whole call, after a warm-up."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        solve(data["H"], data["X"][:64])
        wall, processor = time.perf_counter(), time.process_time()
        W = solve(data["H"], data["X"])
        seconds, wall = time.process_time() - processor, time.perf_counter() - wall
        return seconds, {"W": W}, {"wall": wall}

    return Contender(run, {"partwise": "partwise"} if solve is partwise else {})


CONTENDERS = {"partwise": timed(partwise), "floor": timed(floor)}


def main(options: Any) -> None:
    """Run the case."""
    parts, targets = [], []
    for k, active, goal in KINDS:
        H, X = make(40_000 if options.size == "full" else 500, k, active, options.seed)

        def verify(found: dict[str, Any], facts: dict[str, Any], H: Any = H, X: Any = X) -> dict[str, Any]:
            return {"kkt": float(kkt_residual(X, found["W"], H).max()), "active": float((found["W"] > 0.0).mean())}

        with problem({"H": H, "X": X}) as folder:
            rows = race("nnls-supports", chosen(CONTENDERS, options), folder, {}, verify, options)
        name = f"k = {k}, {100 * rows['partwise'].facts['active']:.0f}% active"
        lines = [
            [one, f"{row.median:.3g}", f"{row.facts['wall']:.3g}", f"{row.facts['kkt']:.1e}"]
            for one, row in rows.items()
        ]
        show(f"nnls-supports: {name}", ["", "processor s", "wall s", "worst KKT"], lines)
        parts.append({"kind": name, "rows": rows})
        exact = rows["partwise"].facts["kkt"] <= KKT
        what = f"{name}: the floor's share of our time" + ("" if exact else f" (but KKT above {KKT:g})")
        targets.append(Target(what, ratio(rows, "floor") if exact else 0.0, 1.0 / goal))
    finish("nnls-supports", parts, targets, options)
