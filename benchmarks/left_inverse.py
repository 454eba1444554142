"""Left inverse of least infinity norm, 500 x 50 and 5000 x 100, against HiGHS a column at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from .checks import duality_gap
from .harness import Arrays, Contender, Outcome, Row, best_of, chosen, problem, race
from .report import Target, finish, ratio, show

# shape of H and whether HiGHS, which takes minutes for the last, is in the race
SIZES = {"full": {"500 x 50": (50, 500, True), "5000 x 100": (100, 5000, False)}, "small": {"60 x 10": (10, 60, True)}}
KINDS = {"uniform": "random", "normal": "standard_normal"}


def partwise(H: np.ndarray) -> np.ndarray:
    """Ours, certificate and all."""
    import partwise as pw

    P, _ = pw.linalg.left_inverse(H, return_certificate=True)
    return P


def highs(H: np.ndarray) -> np.ndarray:
    """min sum(p+ + p-) with H (p+ - p-) = e_j, for every j."""
    k, m = H.shape
    both, ones = np.hstack([H, -H]), np.ones(2 * m)
    found = (scipy.optimize.linprog(ones, A_eq=both, b_eq=e, method="highs").x for e in np.eye(k))
    return np.array([x[:m] - x[m:] for x in found]).T


def contender(solve: Callable[[np.ndarray], np.ndarray], needs: dict[str, str], note: str) -> Contender:
    """Time `solve` after a warm-up on a small problem."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        solve(np.eye(3, 9))
        seconds, P = best_of(lambda: solve(data["H"]))
        return seconds, {"P": P}, {}

    return Contender(run, needs, note=note)


CONTENDERS = {
    "partwise": contender(partwise, {"partwise": "partwise"}, "with certificate"),
    "highs": contender(highs, {}, "scipy.optimize.linprog, a loop over columns"),
}


def table(title: str, rows: dict[str, Row]) -> None:
    """Print times, ratios, gaps and residuals."""
    lines = []
    for name, row in rows.items():
        cells = ["-"] * 4
        if row.status == "ok":
            share = row.median / rows["partwise"].median
            cells = [f"{row.median:.4f}", f"{share:.1f}", f"{row.facts['gap']:.1e}", f"{row.facts['residual']:.1e}"]
        lines.append([name, *cells, row.note if row.status == "ok" else row.status])
    show(title, ["contender", "seconds", "x partwise", "duality gap", "|HP - I|", "note"], lines)


def invert(label: str, kind: str, H: np.ndarray, options: Any, without: tuple[str, ...]) -> dict[str, Row]:
    """Race on one matrix."""
    import partwise as pw

    # bounds that hold for everybody: any y does, and these are scaled here
    Y = pw.linalg.left_inverse(H, return_certificate=True)[1].dual

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        P = arrays["P"]
        return {"gap": duality_gap(H, P, Y), "residual": float(np.abs(H @ P - np.eye(len(H))).max())}

    with problem({"H": H}) as folder:
        contenders = {name: c for name, c in chosen(CONTENDERS, options).items() if name not in without}
        rows = race("left-inverse", contenders, folder, {}, verify, options)
    table(f"left-inverse, {label}, {kind}, {options.threads} threads", rows)
    return rows


def judge(label: str, kind: str, rows: dict[str, Row]) -> list[Target]:
    """The figures to reach."""
    ours, what = rows["partwise"], f"{label}, {kind}"
    speed = Target(f"{what}: seconds", ours.median, 2, at_most=True)
    if "highs" in rows:
        speed = Target(f"{what}: x faster than HiGHS", ratio(rows, "highs"), 20)
    return [speed, Target(f"{what}: duality gap", ours.facts.get("gap", np.nan), 1e-8, at_most=True)]


def main(options: Any) -> None:
    """Run the case."""
    parts, targets = [], []
    for label, (k, m, with_highs) in SIZES[options.size].items():
        for kind, draw in KINDS.items():
            H = getattr(np.random.default_rng(options.seed), draw)((k, m))
            rows = invert(label, kind, H, options, () if with_highs else ("highs",))
            targets += judge(label, kind, rows)
            parts.append({"label": f"{label}, {kind}", "shape": H.shape, "k": k, "rows": rows})
    finish("left-inverse", parts, targets, options)
