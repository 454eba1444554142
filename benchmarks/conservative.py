"""Conservative online learning: speed of a pass, digits out of mixtures, errors on MNIST, agreement of starts."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .harness import ONE_BLAS, Arrays, Contender, Outcome, Row, best_of, chosen, problem, race
from .problems import mnist
from .report import Target, finish, ratio, show

W_MNIST = 1e-5
PUBLISHED = {50: 0.0177, 100: 0.0122, 200: 0.00770}  # mean |Delta| / sqrt(784) of unit images
OPTIMUM = 0.0144  # the same of batch NMF with 50 features
AVERAGED: dict[str, Any] = {"w": 1e-4, "relaxation": (1.0, 5000.0)}
FAST: dict[str, Any] = {"w": 0.3, "cg_steps": 5}
RECOVERED = 0.99
TIMED_ROWS = 4000  # a short time for everybody, taken often: the machine may be busy
OFTEN: dict[str, Any] = {"budget": 6.0, "most": 40}


def unit_rows(n: int) -> np.ndarray:
    """MNIST images of unit length."""
    X = mnist(n)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


# --- speed --------------------------------------------------------------------------------------------------


def ours(dtype: Any) -> Any:
    """A pass of the compiled kernel."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        from partwise.algorithms.conservative import Decay, Learner, Rule

        X = data["X"][:TIMED_ROWS].astype(dtype)
        learner = Learner.random(params["k"], X.shape[1], dtype, np.random.default_rng(0), Rule(Decay(W_MNIST)))
        list(learner.feed(X[:100]))
        seconds, _ = best_of(lambda: list(learner.feed(X)), **OFTEN)
        return seconds, {}, {"scale": len(data["X"]) / len(X)}

    return run


def numpy_loop(data: Arrays, params: dict[str, Any]) -> Outcome:
    """The steps in NumPy."""
    X, k = data["X"][:TIMED_ROWS], params["k"]
    E, D = np.random.default_rng(0).uniform(-1, 1, (k, X.shape[1])), np.zeros((X.shape[1], k))

    def one_pass() -> None:
        nonlocal E, D
        for x in X:
            y0 = E @ x
            y = np.maximum(0.0, y0)
            delta = x - D @ y
            g = D.T @ delta
            c = 1.0 / (g @ g / (delta @ delta) + W_MNIST * (y @ y))
            D = np.maximum(0.0, D + np.outer((W_MNIST * c) * delta, y))
            E = E + np.outer(y - y0 + c * g, x)

    seconds, _ = best_of(one_pass, **OFTEN)
    return seconds, {}, {"scale": len(data["X"]) / len(X)}


def blas2(dtype: Any) -> Any:
    """The five products of a sample and nothing else: gemv three times, ger twice."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        from scipy.linalg import get_blas_funcs

        X, k = data["X"][:TIMED_ROWS].astype(dtype), params["k"]
        rng = np.random.default_rng(0)
        E = np.asfortranarray(rng.random((k, X.shape[1])), dtype)
        D = np.asfortranarray(rng.random((X.shape[1], k)), dtype)
        gemv, ger = get_blas_funcs(("gemv", "ger"), (E, X))
        y, r, g = np.zeros(k, dtype), np.zeros(X.shape[1], dtype), np.zeros(k, dtype)

        def one_pass() -> None:
            for x in X:
                gemv(1.0, E, x, y=y, overwrite_y=True)
                gemv(1.0, D, y, y=r, overwrite_y=True)
                gemv(1.0, D, r, y=g, trans=1, overwrite_y=True)
                ger(1e-30, r, y, a=D, overwrite_a=True)
                ger(1e-30, g, x, a=E, overwrite_a=True)

        seconds, _ = best_of(one_pass, **OFTEN)
        return seconds, {}, {"scale": len(data["X"]) / len(X)}

    return run


OURS = {"partwise": "partwise"}
CONTENDERS = {
    "partwise": Contender(ours(np.float64), OURS, note="a pass, float64"),
    "partwise-single": Contender(ours(np.float32), OURS, note="a pass, float32"),
    "numpy": Contender(numpy_loop, {}, ONE_BLAS, note="the steps in NumPy, one BLAS thread"),
    "blas": Contender(blas2(np.float64), {"scipy": "scipy"}, ONE_BLAS, note="three gemv and two ger, one thread"),
    "blas-single": Contender(blas2(np.float32), {"scipy": "scipy"}, ONE_BLAS, note="the same in float32"),
}


def speed(options: Any, X: np.ndarray, k: int) -> tuple[dict[str, Any], list[Target]]:
    """Seconds of a pass."""
    with problem({"X": X}) as folder:
        rows = race("conservative", chosen(CONTENDERS, options), folder, {"k": k}, lambda arrays, facts: {}, options)
    ours = rows["partwise"].median
    lines = [
        [name, f"{row.median:.2f}", f"{len(X) / row.median:,.0f}", f"{row.median / ours:.2f}", row.note]
        for name, row in rows.items()
        if row.seconds
    ]
    columns = ["contender", "seconds a pass", "samples/s", "/ partwise", "note"]
    show(f"conservative: a pass over {len(X)} x {X.shape[1]}, k = {k}", columns, lines)
    targets = [
        Target("samples/s, float64", len(X) / ours, 30_000),
        Target("x a NumPy loop", ratio(rows, "numpy"), 10),
        Target("time / that of five BLAS-2 operations", 1.0 / ratio(rows, "blas"), 1.5, at_most=True),
        Target(
            "float32: time / that of five BLAS-2",
            1.0 / ratio(rows, "blas-single", "partwise-single"),
            1.5,
            at_most=True,
        ),
        Target("float64 / float32", ratio(rows, "partwise", "partwise-single"), 1.5),
    ]
    return {"label": "speed", "rows": rows}, targets


# --- what is found ------------------------------------------------------------------------------------------


def samples_needed(mixture: Any, seed: int, passes: int, settings: dict[str, Any]) -> tuple[float, int]:
    """Samples until every image is recovered (infinite if not), and how many are at the end."""
    import partwise as pw

    k = len(mixture.components)
    found = [0]

    def watch(progress: Any) -> bool:
        if progress.n_iter:
            match = pw.metrics.match_components(progress.components, mixture.components)
            found[0] = int((match.cosines > RECOVERED).sum())
        return found[0] == k

    batch = {"max_passes": passes, "batch_size": len(mixture.X), "callbacks": [watch]}
    model = pw.ConservativeNMF(k, random_state=seed, **batch, **settings).fit(mixture.X)
    return (model.n_samples_seen_ if found[0] == k else float("inf")), found[0]


def digits(options: Any) -> tuple[dict[str, Any], list[Target]]:
    """The synthetic demonstration, from several starts."""
    import partwise as pw

    full = options.size == "full"
    seeds = options.seeds or (5 if full else 2)
    size: dict[str, Any] = {} if full else {"n_samples": 1000, "n_components": 10, "per_sample": 3}
    mixture = pw.datasets.make_digit_mixtures("mnist" if full else "digits", random_state=options.seed, **size)
    needed: dict[str, list[float]] = {}
    for name, passes, settings in (("published", 400, {"w": 1.0}), ("partwise", 130, FAST)):
        needed[name] = []
        for seed in range(seeds):
            begin = time.perf_counter()
            samples, found = samples_needed(mixture, seed, passes, settings)
            needed[name].append(samples)
            print(
                f"  {name}, start {seed}: {found} images, {samples:,.0f} samples, {time.perf_counter() - begin:.0f} s"
            )
    share = max(b / a for a, b in zip(needed["published"], needed["partwise"], strict=True))
    rows = {name: Row(name, facts={"samples": [s for s in values if s < np.inf]}) for name, values in needed.items()}
    k = len(mixture.components)
    targets = [
        Target(f"starts that recover all {k}, published rule", sum(s < np.inf for s in needed["published"]), seeds),
        Target(f"starts that recover all {k}, ours", sum(s < np.inf for s in needed["partwise"]), seeds),
        Target("largest share of the published rule's samples that ours needs", share, 1 / 3, at_most=True),
    ]
    return {"label": "digits", "rows": rows}, targets


def per_pixel(X: np.ndarray, W: np.ndarray, H: np.ndarray) -> float:
    """The document's measure: mean over samples of |x - D y|, divided by the root of the number of pixels."""
    return float(np.linalg.norm(X - W @ H, axis=1).mean() / np.sqrt(X.shape[1]))


def errors(options: Any, X: np.ndarray) -> tuple[dict[str, Any], list[Target]]:
    """MNIST's errors, published rule and averaged."""
    import partwise as pw

    rows, targets, lines = {}, [], []
    for k in options.k or (PUBLISHED if options.size == "full" else (50,)):
        for name, settings in (("published", {"w": W_MNIST}), ("averaged", AVERAGED)):
            model = pw.ConservativeNMF(k, max_passes=10, batch_size=len(X), random_state=options.seed, **settings).fit(
                X
            )
            running = float(model.history_["objective"][-1] / np.sqrt(X.shape[1]))
            exact, encoded = (per_pixel(X, W, model.components_) for W in (model.transform(X), model.encode(X)))
            rows[f"{name}, k = {k}"] = Row(name, facts={"running": running, "nnls": exact, "encoder": encoded})
            lines.append([name, str(k), f"{running:.5f}", f"{exact:.5f}", f"{encoded:.5f}", f"{PUBLISHED.get(k, 0):g}"])
            if name == "published" and k in PUBLISHED:
                targets.append(Target(f"k = {k}: running error in the tenth pass", running, PUBLISHED[k], at_most=True))
            elif k == 50:
                half = 0.5 * (PUBLISHED[50] + OPTIMUM)
                targets += [
                    Target("k = 50, averaged: error with exact weights", exact, half, at_most=True),
                    Target("k = 50, averaged: error of the frozen encoder", encoded, half, at_most=True),
                ]
    columns = ["rule", "k", "running", "exact weights", "encoder", "document"]
    show("conservative: MNIST, root of mean square a pixel, ten passes", columns, lines)
    return {"label": "errors", "rows": rows}, targets


def agreement(options: Any, X: np.ndarray, k: int) -> tuple[dict[str, Any], list[Target]]:
    """Mean cosine of matched features over all pairs of starts."""
    from sklearn.decomposition import MiniBatchNMF

    import partwise as pw

    def conservative(seed: int, **settings: Any) -> Any:
        return pw.ConservativeNMF(k, max_passes=10, random_state=seed, **settings)

    makers: dict[str, Any] = {
        "published": lambda seed: conservative(seed, w=W_MNIST),
        "averaged": lambda seed: conservative(seed, **AVERAGED),
        "HALS": lambda seed: pw.HALS(k, init="random", max_iter=200, tol=0.0, random_state=seed),
        "sklearn MiniBatchNMF": lambda seed: MiniBatchNMF(
            k, init="random", max_iter=10, batch_size=1024, random_state=seed
        ),
    }
    rows, lines = {}, []
    for name, make in makers.items():
        found = [make(seed).fit(X).components_ for seed in range(options.seeds or 5)]
        rows[name] = Row(name, facts={"stability": pw.metrics.stability(found)})
        lines.append([name, f"{rows[name].facts['stability']:.3f}"])
    show(f"conservative: agreement of {options.seeds or 5} starts, k = {k}", ["method", "mean matched cosine"], lines)
    return {"label": "agreement", "rows": rows}, []


def main(options: Any) -> None:
    """Run the case."""
    full = options.size == "full"
    X = unit_rows(60_000 if full else 5000)
    outcomes = [speed(options, X, 50), digits(options), errors(options, X), agreement(options, X, 100 if full else 20)]
    finish("conservative", [part for part, _ in outcomes], [t for _, targets in outcomes for t in targets], options)
