"""Exact non-negative weights of MNIST rows for 50 given components, well and ill conditioned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize

from . import problems
from .checks import kkt_residual
from .harness import Arrays, Contender, Outcome, Row, best_of, chosen, problem, race
from .report import Target, finish, ratio, show

SIZES = {"full": (60_000, 50), "small": (1_000, 10)}
LOOP_STRIDE = 10  # loops a row at a time solve every 10th row; their time is scaled up
Solve = Callable[[np.ndarray, np.ndarray], np.ndarray]


def partwise(H: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Ours, certificate and all."""
    import partwise as pw

    W, _ = pw.linalg.nnls(H, X, return_certificate=True)
    return W


def scipy_loop(H: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The usual loop."""
    Ht = np.ascontiguousarray(H.T)
    return np.array([scipy.optimize.nnls(Ht, x)[0] for x in X])


def scipy_reduced(H: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The same loop on k equations: with HHt = Rt R, |x - w H| and |R w - R^-t H x| have one minimiser."""
    R = scipy.linalg.cholesky(H @ H.T)
    targets = scipy.linalg.solve_triangular(R, H @ X.T, trans="T").T
    return np.array([scipy.optimize.nnls(R, target)[0] for target in np.ascontiguousarray(targets)])


def sklearn_cd(H: np.ndarray, X: np.ndarray) -> np.ndarray:
    """scikit-learn's transform; its tolerance is relative to the first sweep, over all samples."""
    from sklearn.decomposition import non_negative_factorization

    settings: dict[str, Any] = {"init": "custom", "update_H": False, "tol": 1e-8, "max_iter": 1000}
    return non_negative_factorization(X, H=H, n_components=H.shape[0], solver="cd", **settings)[0]


def fnnls_eigen(H: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Bro and de Jong's FNNLS in C++, with its cache of the Gram matrix."""
    import fnnlsEigen

    Ht, solver = np.ascontiguousarray(H.T), fnnlsEigen.CachePreComputeNNLS()
    return np.array([solver.fnnls(Ht, x) for x in X])


def nmf_torch(H: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Block principal pivoting of nmf-torch, in float64."""
    from nmf.cylib.nnls_bpp_utils import _nnls_bpp

    W = np.zeros((X.shape[0], H.shape[0]))
    _nnls_bpp(H @ H.T, H @ X.T, W.T, "cpu")
    return W


def floor(H: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The yardstick: the product and one unconstrained solve, which every exact method does at least once."""
    return scipy.linalg.cho_solve(scipy.linalg.cho_factor(H @ H.T), (X @ H.T).T).T


def contender(solve: Solve, needs: dict[str, str], stride: int = 1, note: str = "") -> Contender:
    """Time `solve` on the rows it is given, after a warm-up on a few."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        H, X = data["H"], np.ascontiguousarray(data["X"][:: stride if params["scale_loops"] else 1])
        solve(H, X[:64])
        seconds, W = best_of(lambda: solve(H, X))
        return seconds, {"W": W}, {"scale": data["X"].shape[0] / X.shape[0]}

    return Contender(run, needs, note=note)


LOOP = "a loop over rows"
CONTENDERS = {
    "partwise": contender(partwise, {"partwise": "partwise"}, note="with certificate"),
    "floor": contender(floor, {}, note="GEMM + one Cholesky solve (not a solution)"),
    "scipy": contender(scipy_loop, {}, LOOP_STRIDE, LOOP),
    "scipy-reduced": contender(scipy_reduced, {}, LOOP_STRIDE, f"Cholesky-reduced, {LOOP}"),
    "sklearn": contender(sklearn_cd, {"sklearn": "scikit-learn"}, note="cd, tol=1e-8, max_iter=1000"),
    "fnnlsEigen": contender(fnnls_eigen, {"fnnlsEigen": "fnnlsEigen"}, LOOP_STRIDE, LOOP),
    "nmf-torch": contender(nmf_torch, {"nmf": "nmf-torch"}, note="block principal pivoting, float64"),
}


def table(title: str, rows: dict[str, Row]) -> None:
    """Print times, ratios and KKT residuals."""
    lines = []
    for name, row in rows.items():
        ok = row.status == "ok"
        share = row.facts.get("scale", 1.0)
        note = row.note + (f"; 1/{share:.0f} of the rows, scaled" if share > 1 else "")
        lines.append(
            [
                name,
                f"{row.median:.3f}" if ok else "-",
                f"{row.median / rows['partwise'].median:.2f}" if ok else "-",
                f"{row.facts['kkt']:.1e}" if ok else "-",
                f"{row.facts['kkt_median']:.1e}" if ok else "-",
                note if ok else row.status,
            ]
        )
    show(title, ["contender", "seconds", "x partwise", "worst KKT", "median KKT", "note"], lines)


def solve_all(label: str, H: np.ndarray, X: np.ndarray, options: Any, without: tuple[str, ...] = ()) -> dict[str, Row]:
    """Race on one set of components."""

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        stride = round(facts["scale"])
        residual = kkt_residual(X[::stride], arrays["W"], H)
        return {"kkt": float(residual.max()), "kkt_median": float(np.median(residual))}

    params = {"scale_loops": options.size == "full"}
    with problem({"X": X, "H": H}) as folder:
        contenders = {name: c for name, c in chosen(CONTENDERS, options).items() if name not in without}
        rows = race("nnls", contenders, folder, params, verify, options)
    table(f"nnls, {label}: {X.shape[0]} x {X.shape[1]}, k = {H.shape[0]}, {options.threads} threads", rows)
    return rows


def judge(well: dict[str, Row], ill: dict[str, Row]) -> list[Target]:
    """The figures to reach."""
    ours, theirs = well["partwise"].facts.get("kkt", np.nan), ill["partwise"].facts.get("kkt", np.nan)
    sklearn = well["sklearn"].facts.get("kkt", np.nan) if "sklearn" in well else np.nan
    return [
        Target("x faster than the scipy loop", ratio(well, "scipy"), 100),
        Target("x faster than the reduced scipy loop", ratio(well, "scipy-reduced"), 25),
        Target("x faster than scikit-learn", ratio(well, "sklearn"), 40),
        Target("our KKT over scikit-learn's", ours / sklearn, 1, at_most=True),
        Target("time over the floor", 1 / ratio(well, "floor"), 2, at_most=True),
        Target("worst KKT residual", ours, 1e-10, at_most=True),
        Target("ill conditioned: x faster than the reduced scipy loop", ratio(ill, "scipy-reduced"), 10),
        Target("ill conditioned: worst KKT residual", theirs, 1e-10, at_most=True),
    ]


def main(options: Any) -> None:
    """Run the case."""
    n_rows, k = SIZES[options.size]
    X = problems.mnist(n_rows)
    H = problems.short_hals(X, (options.k or [k])[0], options.seed)
    parts, races = [], []
    for label, components in {"well": H, "cond 1e8": problems.blurred(H, 1e8)}.items():
        condition = float(np.linalg.cond(components) ** 2)
        print(f"nnls, {label}: cond(HHt) = {condition:.1e}")
        # at this condition number coordinate descent alone takes minutes and does not arrive
        races.append(solve_all(label, components, X, options, () if label == "well" else ("sklearn",)))
        facts = {"label": label, "shape": X.shape, "k": H.shape[0], "condition": condition}
        parts.append(facts | {"rows": races[-1]})
    finish("nnls", parts, judge(*races), options)
