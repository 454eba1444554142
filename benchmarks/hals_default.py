"""The default fit as typed, own start and own stop, beside scikit-learn's: processor time and error, five data sets."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .checks import relative_error
from .harness import Arrays, Contender, Outcome, Row, chosen, problem, race
from .report import Target, finish, ratio, show

Data = tuple[Any, int]
# times faster than scikit-learn; on Jasper Ridge that stops after three iterations, at an error four times ours
DEFAULT = {"mnist": 8.0, "tdt2": 8.0, "pbmc3k": 5.0, "newsgroups": 25.0, "jasper": 1 / 1.5}


def load(name: str, size: str) -> Data:
    """A data set and its number of parts."""
    import partwise as pw

    if name == "mnist":
        X: Any = np.ascontiguousarray(pw.datasets.load_mnist().X[:12_000], np.float64)
        k = 50
    elif name == "jasper":
        X, k = np.asarray(pw.datasets.load_jasper_ridge().X, np.float64), 4
    elif name == "newsgroups":
        X, k = sp.csr_array(pw.datasets.load_newsgroups(weighting="tfidf").X, dtype=np.float64), 20
    elif name == "tdt2":
        X, k = sp.csr_array(pw.datasets.load_tdt2(weighting="tfidf").X, dtype=np.float64), 30
    else:
        X, k = sp.csr_array(pw.datasets.load_pbmc3k().X, dtype=np.float64), 15
        X.data = np.log1p(X.data)
    return (X, k) if size == "full" else (X[:400], 4)


def timed(make: Callable[[], Any], X: Any) -> Outcome:
    """A whole ``fit_transform``."""
    model = make()
    wall, processor = time.perf_counter(), time.process_time()
    W = model.fit_transform(X)
    seconds, wall = time.process_time() - processor, time.perf_counter() - wall
    return seconds, {"W": W, "H": model.components_}, {"n_iter": int(model.n_iter_), "wall": wall}


def ours(data: Arrays, params: dict[str, Any]) -> Outcome:
    """HALS(k)."""
    import partwise as pw

    pw.HALS(params["k"], max_iter=2, tol=0.0).fit(data["X"][:3000])  # compiles
    return timed(lambda: pw.HALS(params["k"], random_state=params["seed"]), data["X"])


def cheap(data: Arrays, params: dict[str, Any]) -> Outcome:
    """HALS(k, stop="objective")."""
    import partwise as pw

    pw.HALS(params["k"], max_iter=2, tol=0.0).fit(data["X"][:3000])
    return timed(lambda: pw.HALS(params["k"], stop="objective", random_state=params["seed"]), data["X"])


def sklearn(data: Arrays, params: dict[str, Any]) -> Outcome:
    """NMF(k)."""
    from sklearn.decomposition import NMF

    return timed(lambda: NMF(params["k"], random_state=params["seed"]), data["X"])


CONTENDERS = {
    "partwise": Contender(ours, {"partwise": "partwise"}, note="HALS(k), to optimality (KKT 1e-5)"),
    "partwise-objective": Contender(cheap, {"partwise": "partwise"}, note='HALS(k, stop="objective")'),
    "sklearn": Contender(sklearn, {"sklearn": "scikit-learn"}, note="NMF(k), its default tol=1e-4, max_iter=200"),
}


def compare(case: str, name: str, data: Data, arrays: Arrays, contenders: Any, options: Any) -> dict[str, Any]:
    """Everybody on one data set."""
    X, k = data

    def verify(found: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        return {"error": relative_error(X, found["W"], found["H"])}

    with problem({"X": X, **arrays}) as folder:
        rows = race(case, chosen(contenders, options), folder, {"k": k, "seed": options.seed}, verify, options)
    lines = [
        [one, f"{row.median:.3g}", *(format(row.facts[fact], ".4g") for fact in ("wall", "n_iter"))]
        + [f"{row.facts['error']:.6f}"]
        for one, row in rows.items()
        if row.facts
    ]
    title = f"{case}: {name}, {X.shape[0]} x {X.shape[1]}, k = {k}"
    show(title, ["", "processor s", "wall s", "iterations", "error"], lines)
    return {"data": name, "rows": rows}


def judge(part: dict[str, Any], goal: float) -> Target:
    """Times faster, where the error is no worse."""
    rows: dict[str, Row] = part["rows"]
    both = all(rows.get(name) and rows[name].facts for name in ("partwise", "sklearn"))
    good = both and rows["partwise"].facts["error"] <= rows["sklearn"].facts["error"] * (1 + 1e-6)
    what = f"{part['data']}: x faster than scikit-learn" + ("" if good else " (but its error is NOT reached)")
    return Target(what, ratio(rows, "sklearn") if good else 0.0, goal)


def main(options: Any) -> None:
    """Run the case."""
    parts = []
    for name in DEFAULT:
        data = load(name, options.size)
        parts.append(compare("hals-default", name, data, {}, CONTENDERS, options))
    finish("hals-default", parts, [judge(part, DEFAULT[part["data"]]) for part in parts], options)
