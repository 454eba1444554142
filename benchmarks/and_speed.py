"""AND against the paper's algorithm taken literally, and against scikit-learn: time to an error, DIR, CTM and NEG."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .harness import ONE_BLAS, Arrays, Contender, Outcome, Row, best_of, chosen, problem, race
from .peers import sklearn_cd
from .reach import SEARCH_SHARE
from .recovery import SIZES, error, topics
from .report import Target, finish, show

KINDS = ("dir", "ctm", "neg")
FINE, COARSE = 1e-9, 1e-6
STEPS, MOST = 50, 400
PAPER: dict[str, Any] = {"steps": STEPS, "tol": 0.0, "odd": "keep"}
REACHED = {FINE: "fine", COARSE: "coarse"}


def literal(X: np.ndarray, H: np.ndarray) -> Iterator[np.ndarray]:
    """The paper's stages as they are written: both products in every step."""
    for alpha in (0.1 / 1.1**j for j in range(MOST)):
        Z = X @ np.linalg.pinv(H)
        Z[alpha > Z] = 0.0
        eta = 1.0 / np.linalg.eigvalsh(Z.T @ Z)[-1]
        for _ in range(STEPS):
            H = H + eta * (Z.T @ (X - Z @ H))
        yield H


def reference(data: Arrays, params: dict[str, Any]) -> Outcome:
    """Time the first stages; all cost the same, so the time of as many as are needed is known."""
    count = min(params["stages"] or params["needed"], params["needed"])
    next(literal(data["X"][:500], data["H0"]))
    begin = time.perf_counter()
    path = [H for _, H in zip(range(count), literal(data["X"], data["H0"]), strict=False)]
    seconds = time.perf_counter() - begin
    kept = np.array(path[: params["compared"]])
    return seconds, {"path": kept, "H": path[-1]}, {"scale": params["needed"] / count, "n_iter": count}


def ours(name: str, settings: Callable[[Arrays, dict[str, Any]], dict[str, Any]]) -> Callable[..., Outcome]:
    """Time a whole fit without the truth; then read from another's history when an error was reached."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        import partwise as pw

        X, truth = data["X"], data["truth"]
        k, more = len(truth), settings(data, params)
        tiny = pw.datasets.make_topics("dir", n_samples=300, n_features=60, n_components=5, random_state=0)
        kind = getattr(pw, name)
        kind(5).fit(tiny.X, truth=tiny.components)
        seconds, model = best_of(lambda: kind(k, random_state=0, **more).fit(X))
        history = kind(k, random_state=0, **more).fit(X, truth=truth).history_
        facts: dict[str, Any] = {"n_iter": model.n_iter_}
        for goal, word in REACHED.items():
            there = np.flatnonzero(history["error"] < goal)
            first = float(history["time"][there[0]]) if there.size else float("inf")
            facts[word] = min(first, params["known"].get(word, float("inf")))
        return seconds, {"H": model.components_}, facts

    return run


def sklearn(data: Arrays, params: dict[str, Any]) -> Outcome:
    """Coordinate descent from the same start, its weights given, until the error is reached."""
    X, truth, W, H = data["X"], data["truth"], data["W0"], np.maximum(data["H0"], 0.0)
    sklearn_cd(X[:200], W[:200], H, 2)
    n_iter = params["known"].get("n_iter", 0)
    if n_iter:
        begin = time.perf_counter()
        W, H = sklearn_cd(X, W, H, n_iter)
        seconds = time.perf_counter() - begin
        return seconds, {"H": H}, {"n_iter": n_iter, "coarse": min(seconds, params["known"]["coarse"])}
    # in chunks, after each of which the error is measured; those that led there are all counted
    done, spent = 0, 0.0
    while spent < SEARCH_SHARE * params["timeout"]:
        chunk = max(5, done // 20)
        begin = time.perf_counter()
        W, H = sklearn_cd(X, W, H, chunk)
        spent, done = spent + time.perf_counter() - begin, done + chunk
        if error(H, truth) < COARSE:
            return spent, {"H": H}, {"n_iter": done, "coarse": spent}
    return spent, {"H": H}, {"n_iter": 0, "coarse": spent, "walked": done}


OURS, SKLEARN = {"partwise": "partwise"}, {"sklearn": "scikit-learn"}
CONTENDERS = {
    "partwise": Contender(ours("Facets", lambda data, params: {}), OURS, note="cold start, defaults, own stop"),
    "partwise-warm": Contender(
        ours("Facets", lambda data, params: {"init": data["H0"]}), OURS, note="the paper's start, own stop"
    ),
    "partwise-paper": Contender(
        ours("AND", lambda data, params: PAPER | {"init": data["H0"], "max_iter": params["needed"]}),
        OURS,
        note="the paper's iterates",
    ),
    "reference": Contender(reference, {}, note="NumPy, the paper's algorithm literally"),
    "reference-single": Contender(reference, {}, ONE_BLAS, note="the same with one BLAS thread"),
    "sklearn": Contender(sklearn, SKLEARN, note=f"cd from the paper's start, to {COARSE:g}"),
    "sklearn-single": Contender(sklearn, SKLEARN, ONE_BLAS, note="the same with one BLAS thread"),
}


def fastest(rows: dict[str, Row], family: str) -> float:
    """Seconds of the fastest of a family: a loaded machine can make more BLAS threads the slower choice."""
    medians = (row.median for row in rows.values() if row.name.split("-")[0] == family and row.seconds)
    return min(medians, default=np.nan)


def stages_needed(X: np.ndarray, H0: np.ndarray, truth: np.ndarray, keep: int) -> tuple[int, np.ndarray]:
    """How many of the paper's stages the error takes, and the first iterates."""
    import partwise as pw

    path: list[np.ndarray] = []

    def watch(progress: Any) -> bool:
        if 0 < progress.n_iter <= keep:
            path.append(np.array(progress.components))
        return error(progress.components, truth) < FINE

    model = pw.AND(len(truth), init=H0, max_iter=MOST, callbacks=[watch], **PAPER).fit(X)
    return model.n_iter_, np.array(path)


def table(title: str, rows: dict[str, Row]) -> None:
    """Print times, ratios and errors."""
    lines = []
    for name, row in rows.items():
        f, ok = row.facts, row.status == "ok"
        least = "" if ok else ">"
        scaled = f" ({f['n_iter']} timed)" if f.get("scale", 1.0) > 1.0 else ""
        lines.append(
            [
                name,
                f"{least}{row.median:.3f}" if row.seconds else "-",
                f"{f['fine']:.3f}" if "fine" in f else "-",
                f"{least}{f['coarse']:.3f}" if "coarse" in f else "-",
                f"{fastest(rows, 'reference') / row.median:.1f}" if ok and not name.startswith("sklearn") else "-",
                f"{round(f.get('n_iter', 0) * f.get('scale', 1.0)) or f.get('walked', 0)}{scaled}",
                f"{f['error']:.1e}" if "error" in f and not scaled else "-",
                row.note if ok else row.status,
            ]
        )
    columns = ["contender", "seconds", f"to {FINE:g}", f"to {COARSE:g}", "reference /", "iterations", "error", "note"]
    show(title, columns, lines)


def judge(kind: str, rows: dict[str, Row]) -> list[Target]:
    """The figures to reach."""

    def facts(name: str, key: str) -> float:
        return float(rows[name].facts.get(key, np.nan)) if name in rows else float("nan")

    slow = fastest(rows, "reference")
    targets = [
        Target(f"{kind}: iterates off the reference's, relative", facts("reference", "apart"), 1e-9, at_most=True),
        Target(f"{kind}: x the reference, the paper's thresholds", slow / rows["partwise-paper"].median, 100),
        Target(f"{kind}: x the reference, cold start, whole fit", slow / rows["partwise"].median, 300),
        Target(f"{kind}: x the reference, cold start, until {FINE:g}", slow / facts("partwise", "fine"), 300),
        Target(f"{kind}: error of the cold start", facts("partwise", "error"), FINE, at_most=True),
    ]
    if kind != "neg":
        for name, start in (("partwise", "cold"), ("partwise-warm", "its own")):
            share = fastest(rows, "sklearn") / facts(name, "coarse")
            targets.append(Target(f"{kind}: x scikit-learn to {COARSE:g}, from {start} start", share, 10))
    return targets


def main(options: Any) -> None:
    """Run the case."""
    import partwise as pw

    n, k, features = SIZES[options.size]
    parts, targets = [], []
    for kind in KINDS:
        mixture = topics(kind, options.size, options.seed)
        X, truth = mixture.X, mixture.components
        H0 = pw.starts.perturbed(truth, random_state=options.seed)
        compared = options.stages or MOST
        needed, path = stages_needed(X, H0, truth, compared)
        print(f"{kind}: the paper's algorithm needs {needed} stages to {FINE:g}")
        contenders, arrays = chosen(CONTENDERS, options), {"X": X, "H0": H0, "truth": truth}
        if kind == "neg":
            # components have negative entries
            contenders = {name: c for name, c in contenders.items() if not name.startswith("sklearn")}
        else:
            arrays["W0"] = pw.linalg.nnls(np.maximum(H0, 0.0), X)

        def verify(
            arrays: dict[str, Any], facts: dict[str, Any], truth: Any = truth, path: Any = path
        ) -> dict[str, Any]:
            found: dict[str, Any] = {"error": error(arrays["H"], truth)}
            if "path" in arrays:
                m = min(len(path), len(arrays["path"]))
                size = np.abs(path[:m]).max(axis=(1, 2))
                found["apart"] = float((np.abs(arrays["path"][:m] - path[:m]).max(axis=(1, 2)) / size).max())
            if facts.get("n_iter") == 0:
                found["status"] = f"not reached: error {found['error']:.1e}"
            return found

        with problem(arrays) as folder:
            params = {"needed": needed, "stages": options.stages, "compared": compared, "timeout": options.timeout}
            rows = race("and-speed", contenders, folder, params, verify, options)
        table(f"and-speed: {kind}, {n} x {features[kind]}, k = {k}, {options.threads} threads", rows)
        targets += judge(kind, rows)
        parts.append({"label": kind, "shape": X.shape, "k": k, "stages": needed, "rows": rows})
    finish("and-speed", parts, targets, options)
