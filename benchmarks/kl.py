"""Poisson likelihood of BBC counts, k = 20: processor time of a fit to that of 100 and 1,000 multiplicative updates."""

from __future__ import annotations

import argparse
import time
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from .checks import divergence
from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .report import Target, finish, ratio, show

SIZES = {"full": (2225, 20, (100, 1000), 8), "small": (200, 4, (20, 100), 2)}


def counts(rows: int) -> sp.csr_array:
    """BBC, words that occur in these articles."""
    import partwise as pw

    X = sp.csr_array(pw.datasets.load_bbc().X, dtype=np.float64)[:rows]
    return sp.csr_array(X[:, np.flatnonzero(X.sum(axis=0))])


def start(X: sp.csr_array, k: int, seed: int) -> np.ndarray:
    """Random components, of scikit-learn's size."""
    rng = np.random.default_rng(seed)
    return np.sqrt(X.mean() / k) * np.abs(rng.standard_normal((k, X.shape[1])))


def timed(work: Any) -> tuple[float, float, Any]:
    """Processor time, wall time, result."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return time.process_time() - processor, time.perf_counter() - wall, result


def likelihood(data: Arrays, params: dict[str, Any]) -> Outcome:
    """Likelihood as typed, ended by a callback at the target; the exact weights at its end are in the time."""
    import partwise as pw

    X, H0 = data["X"], data["H0"]
    pw.Likelihood(len(H0), init=H0, max_iter=40, tol=0.0).fit(X[:60])  # compiles
    ended = [] if params["target"] is None else [lambda progress: progress.objective <= params["target"]]
    model = pw.Likelihood(len(H0), init=H0, callbacks=ended)
    seconds, wall, W = timed(lambda: model.fit_transform(X))
    facts = {"n_iter": model.n_iter_, "wall": wall, "kkt": model.kkt_}
    return seconds, {"W": W, "H": model.components_}, facts


def multiplicative(data: Arrays, params: dict[str, Any]) -> Outcome:
    """Our MU for as many iterations as made the target."""
    import partwise as pw

    X, H0 = data["X"], data["H0"]
    options = {"init": H0, "beta_loss": "kullback-leibler", "tol": 0.0}
    pw.MU(len(H0), **options, max_iter=2).fit(X[:60])
    model = pw.MU(len(H0), **options, max_iter=params["iterations"])
    seconds, wall, W = timed(lambda: model.fit_transform(X))
    return seconds, {"W": W, "H": model.components_}, {"n_iter": model.n_iter_, "wall": wall}


def sklearn(data: Arrays, params: dict[str, Any]) -> Outcome:
    """scikit-learn's multiplicative updates from the same pair; a tenth of a thousand is timed and scaled."""
    from sklearn.decomposition import NMF

    X, H0, W0 = sp.csr_matrix(data["X"]), data["H0"], data["W0"]
    asked = params["iterations"]
    done = min(asked, 100)
    model = NMF(len(H0), init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=done, tol=0)
    seconds, wall, W = timed(lambda: model.fit_transform(X, W=W0.copy(), H=H0.copy()))
    scale = asked / done
    return scale * seconds, {"W": W, "H": model.components_}, {"n_iter": asked, "wall": scale * wall, "part": done}


OURS = {"partwise": "partwise"}
CONTENDERS = {
    "partwise": Contender(likelihood, OURS, note="Likelihood, exact weights at the end included"),
    "partwise-mu": Contender(multiplicative, OURS, note="MU, exact weights at the end included"),
    "sklearn": Contender(sklearn, {"sklearn": "scikit-learn"}, note="NMF(solver='mu', beta_loss='kullback-leibler')"),
}


def goals(X: sp.csr_array, H0: np.ndarray, iterations: tuple[int, ...]) -> dict[int, float]:
    """The divergence after so many multiplicative updates: the first rounds of ours are exactly these."""
    from partwise.algorithms.likelihood import likelihood
    from partwise.sources import source_of

    walk = likelihood(source_of(X), H0, nonzero=X.nnz, opening=max(iterations))
    seen = {number: progress.objective for number, progress in enumerate(islice(walk, max(iterations) + 1))}
    return {number: seen[number] for number in iterations}


def race_to(X: sp.csr_array, H0: np.ndarray, iterations: int, target: float, options: Any) -> dict[str, Any]:
    """Everybody to the likelihood of so many updates."""
    mass = np.asarray(X.sum(axis=1)).ravel()
    W0 = np.repeat((mass / H0.sum())[:, None], len(H0), axis=1)
    params = {"target": target * (1 + 1e-9), "iterations": iterations}

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        value = divergence(X, arrays["W"], arrays["H"])
        late = "part" not in facts and value > params["target"] * (1 + 1e-6)
        return {"divergence": value} | ({"status": f"not reached: {value:.0f}"} if late else {})

    contenders = chosen(CONTENDERS, options)
    if iterations > 100:
        contenders.pop("partwise-mu", None)
    with problem({"X": X, "W0": W0, "H0": H0}) as folder:
        rows = race("kl", contenders, folder, params, verify, options)
    title = f"kl: {X.shape[0]} x {X.shape[1]}, k = {len(H0)}, to the divergence {target:.0f} of {iterations} updates"
    lines = [
        [
            name,
            f"{row.median:.3g}",
            f"{row.facts['wall']:.3g}",
            str(row.facts["n_iter"]),
            f"{row.facts['divergence']:.0f}",
        ]
        for name, row in rows.items()
        if row.facts
    ]
    show(title, ["", "processor s", "wall s", "iterations", "divergence"], lines)
    return {"iterations": iterations, "target": target, "rows": rows}


def starts(X: sp.csr_array, k: int, iterations: int, count: int, options: Any) -> int:
    """From how many random starts a whole fit ends at or below so many multiplicative updates."""
    below = 0
    for seed in range(options.seed, options.seed + count):
        H0 = start(X, k, seed)
        target = goals(X, H0, (iterations,))[iterations]
        _, arrays, facts = likelihood({"X": X, "H0": H0}, {"target": None})
        value = divergence(X, arrays["W"], arrays["H"])
        below += value <= target
        print(
            f"  start {seed}: {value:.1f} after {facts['n_iter']} iterations (KKT {facts['kkt']:.1e}), MU {target:.1f}"
        )
    return below


def main(options: Any) -> None:
    """Run the case."""
    n, k, iterations, count = SIZES[options.size]
    X = counts(n)
    H0 = start(X, k, options.seed)
    targets_of = goals(X, H0, iterations)
    parts = [race_to(X, H0, number, targets_of[number], options) for number in iterations]
    first, last = parts[0]["rows"], parts[-1]["rows"]
    count = options.seeds if options.seeds is not None else count
    targets = [
        Target(f"x faster than MU, to {iterations[0]} updates", ratio(first, "partwise-mu"), 15),
        Target(f"x faster than scikit-learn, to {iterations[0]} updates", ratio(first, "sklearn"), 40),
        Target(f"x faster than scikit-learn, to {iterations[-1]} updates", ratio(last, "sklearn"), 300),
    ]
    if count:
        below = starts(X, k, iterations[-1], count, argparse.Namespace(seed=options.seed))
        targets.append(Target(f"starts of {count} at or below {iterations[-1]} updates", below, count))
    finish("kl", parts, targets, options)
