"""Methods that pick anchors: whether they find them, Table 2's row of the linear program, the speed of the hull."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np

from .harness import Arrays, Contender, Outcome, Row, best_of, problem, race
from .report import Target, finish, ratio, show

# points, dimension, k, data sets; the linear programs take part in the first
PROBLEMS = {
    "full": [(150, 100, 10, 100), (2_000, 2_000, 50, 100), (100_000, 100, 50, 10)],
    "small": [(60, 40, 5, 3), (1_000, 200, 20, 2)],
}
HULL = {"full": (500, 100, 10), "small": (80, 30, 5)}
SETS = {"full": 10, "small": 1}  # of each column of the table
SAME = 1e-9  # distance, relative to the longest anchor, at which a point is a copy of it
SHARE = 0.99  # of the noise that the theorem on SPA allows


def mixture(params: dict[str, Any], seed: int) -> tuple[Any, np.ndarray, float]:
    """Separable data, what the methods get of it, and how far from the anchors a pick may be."""
    import partwise as pw

    n, m, k = params["shape"]
    data = pw.datasets.make_separable(n_samples=n, n_features=m, n_components=k, axis="samples", random_state=seed)
    A = data.X[data.anchors]
    smallest, longest = np.linalg.svd(A, compute_uv=False)[-1], np.linalg.norm(A, axis=1).max()
    if not params["noisy"]:
        return data, data.X, SAME * longest
    factor = 1.0 + 80.0 * (longest / smallest) ** 2
    limit = SHARE * smallest * min(0.5 / np.sqrt(k - 1), 0.25) / factor
    N = np.random.default_rng(seed).standard_normal(data.X.shape)
    N *= limit / np.linalg.norm(N, axis=1, keepdims=True)
    # what is non-negative already stays so for XRAY and the hull: clipping only lessens noise
    return data, np.maximum(data.X + N, 0.0), limit * factor


def table_data(params: dict[str, Any], seed: int) -> Any:
    """A data set of a column of Table 2, noise unclipped."""
    import partwise as pw

    make = pw.datasets.make_separable if params["data"] == "separable" else pw.datasets.make_dominant
    add = pw.datasets.add_gaussian_noise if params["noise"] == "gaussian" else pw.datasets.add_multinomial_noise
    clean = make(n_samples=100, n_features=100, n_components=10, random_state=seed)
    return add(clean, params["level"], random_state=seed + 1000)


def picker(name: str, **settings: Any) -> Contender:
    """Pick the anchors of every data set of a problem."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        import partwise as pw

        seconds, anchors = 0.0, []
        for seed in params["seeds"]:
            X = table_data(params, seed).X if "level" in params else mixture(params, seed)[1]
            model = getattr(pw, name)(params["k"], axis=params["axis"], **settings)
            spent, _ = best_of(lambda model=model, X=X: model.fit(X), most=1)
            seconds += spent
            anchors.append(np.pad(model.anchors_, (0, params["k"] - len(model.anchors_)), constant_values=-1))
        return seconds, {"anchors": np.array(anchors)}, {}

    return Contender(run, {"partwise": "partwise"}, note=name)


def hull(find: Callable[[np.ndarray], Any], needs: dict[str, str], note: str) -> Contender:
    """Time the corners of the convex hull."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        find(data["X"][:10])
        seconds, corners = best_of(lambda: find(data["X"]), most=1)
        return seconds, {"corners": np.sort(corners)}, {}

    return Contender(run, needs, note=note)


def corners_by_partwise(X: np.ndarray) -> np.ndarray:
    """Ours."""
    import partwise as pw
    from partwise.algorithms.hull import convex_hull

    return convex_hull(pw.open_source(X), len(X)).anchors


def corners_by_linprog(X: np.ndarray) -> list[int]:
    """The lecture: a linear program a row, against all rows that are left."""
    from scipy.optimize import linprog

    P, left = X / X.sum(axis=1, keepdims=True), list(range(len(X)))
    for i in range(len(P)):
        others = [j for j in left if j != i]
        A = np.vstack([P[others].T, np.ones(len(others))])
        if linprog(np.zeros(len(others)), A_eq=A, b_eq=np.append(P[i], 1.0), method="highs").status == 0:
            left = others
    return left


FAST = {
    "partwise-spa": picker("SPA"),
    "partwise-pw-spa": picker("PreconditionedSPA", random_state=0),
    "partwise-er-spa": picker("EllipsoidalSPA", random_state=0),
    "partwise-xray": picker("XRAY"),
}
PROGRAMS = {"partwise-lp": picker("SeparableLP", time_limit=300.0), "partwise-hull": picker("ConvexHull")}
SPEED = {
    "partwise": hull(corners_by_partwise, {"partwise": "partwise"}, "rows that are surely inside first"),
    "linprog": hull(corners_by_linprog, {}, "scipy.optimize.linprog, a loop over rows"),
}
CONTENDERS = FAST | PROGRAMS | SPEED


def recovered(shape: tuple[int, int, int], count: int, noisy: bool, options: Any) -> dict[str, Row]:
    """Who finds the anchors, in how many of the data sets."""
    seeds = list(range(options.seed, options.seed + count))
    params = {"shape": shape, "k": shape[2], "axis": "samples", "noisy": noisy, "seeds": seeds}

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        exact = right = 0
        for seed, found in zip(seeds, arrays["anchors"], strict=True):
            data, X, allowed = mixture(params, seed)
            exact += set(found.tolist()) == set(data.anchors.tolist())
            apart = np.linalg.norm(X[found][:, None] - data.X[data.anchors], axis=2)
            one_each = len(set(apart.argmin(axis=1))) == len(found) and found.min() >= 0
            right += bool(one_each and apart.min(axis=1).max() <= allowed)
        return {"exact": exact / count, "right": right / count}

    contenders = FAST | (PROGRAMS if shape[0] <= 150 else {})
    with problem({}) as folder:
        return race(options.case, contenders, folder, params, verify, options)


def column(data: str, noise: str, level: float, sets: int, options: Any) -> dict[str, Row]:
    """Mean of ``1 - |WH - W^H^| / |WH|`` of the linear program on a column of the table."""
    seeds = list(range(options.seed, options.seed + sets))
    params = {"data": data, "noise": noise, "level": level, "k": 10, "axis": "features", "seeds": seeds}

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        import partwise as pw

        scores = []
        for seed, found in zip(seeds, arrays["anchors"], strict=True):
            made = table_data(params, seed)
            A = made.X[:, found]
            H = pw.nnls(A.T, np.ascontiguousarray(made.X.T)).T
            scores.append(pw.metrics.l1_residual(made.signal, A, H))
        return {"score": float(np.mean(scores))}

    with problem({}) as folder:
        return race(options.case, {"partwise-lp": PROGRAMS["partwise-lp"]}, folder, params, verify, options)


def hull_speed(options: Any) -> dict[str, Row]:
    """The hull against the loop."""
    n, m, k = HULL[options.size]
    data, X, _ = mixture({"shape": (n, m, k), "noisy": False}, options.seed)

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        return {"same": float(set(arrays["corners"].tolist()) == set(data.anchors.tolist()))}

    with problem({"X": X}) as folder:
        return race(options.case, SPEED, folder, {}, verify, options)


def main(options: Any) -> None:
    """Run the case."""
    from partwise.lab.tsvdnmf import COLUMNS, TABLE2_EXPERIMENT

    once = Namespace(**(vars(options) | {"repeat": 1}))
    parts, targets, lines = [], [], []
    for n, m, k, count in PROBLEMS[options.size]:
        for noisy in (False, True):
            label = f"{n} x {m}, k = {k}, {'noise of the theorem' if noisy else 'noiseless'}"
            print(f"{label}:")
            rows = recovered((n, m, k), options.seeds or count, noisy, once)
            parts.append({"label": label, "rows": rows})
            for name, row in rows.items():
                right, exact = (row.facts.get(key, np.nan) for key in ("right", "exact"))
                lines.append([label, name, f"{right:.2f}", f"{exact:.2f}", f"{row.median:.1f}", row.status])
                targets.append(Target(f"{label}, {name}: share of data sets recovered", right, 1.0))
    show("separable: anchors found", ["data", "method", "within bound", "exact", "seconds", "status"], lines)
    sets, close, lines = options.seeds or SETS[options.size], 0, []
    for (data, noise, level), paper in zip(
        COLUMNS, TABLE2_EXPERIMENT.published("score")["gillis-lp"].values(), strict=True
    ):
        rows = column(data, noise, level, sets, once)
        parts.append({"label": f"table, {data}, {noise}, {level}", "rows": rows})
        score = rows["partwise-lp"].facts.get("score", np.nan)
        close += abs(score - paper) <= 0.03
        lines.append([data, noise, f"{level:g}", f"{score:.3f}", f"{paper:.3f}", f"{score - paper:+.3f}"])
    show("separable: SeparableLP on Table 2", ["data", "noise", "level", "ours", "published", "difference"], lines)
    targets.append(Target("Table 2, columns within 0.03 of the paper", close, 10))
    rows = hull_speed(options)
    parts.append({"label": "hull", "rows": rows})
    targets.append(Target("hull: x faster than a loop of linprog", ratio(rows, "linprog"), 5))
    targets.append(Target("hull: same corners", min(row.facts.get("same", np.nan) for row in rows.values()), 1))
    finish("separable", parts, targets, options)
