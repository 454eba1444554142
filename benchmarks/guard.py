"""What became slower: processor times as ratios to a peer in the same process, against those stored in guard.json.

Every case is ours and a yardstick on the same arrays, one thread each, interleaved; the ratio is that of the medians.
Ratios carry from machine to machine better than seconds, yet not exactly: `--store` keeps those of this one. A case
that seems slower by 20% is measured again, twice, before it is named; then the exit code is 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from .harness import Contender
from .problems import corpus
from .report import machine, show

STORED = Path(__file__).parent / "guard.json"
SLOWER = 1.2
REPEATS = 5
CONTENDERS: dict[str, Contender] = {}

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def mixture(n: int, m: int, k: int, active: float) -> tuple[np.ndarray, np.ndarray]:
    """Components, and mixtures of them of which so many weights are positive."""
    rng = np.random.default_rng(0)
    H = rng.random((k, m))
    return H, (rng.random((n, k)) * (rng.random((n, k)) < active)) @ H + 0.2 * rng.standard_normal((n, m))


def floor(H: np.ndarray, X: np.ndarray) -> np.ndarray:
    """One product and one Cholesky solve for all samples."""
    from scipy.linalg import cho_factor, cho_solve

    return np.asarray(cho_solve(cho_factor(H @ H.T), H @ X.T).T)


def weights(k: int, active: float) -> Pair:
    """Exact weights beside the floor."""
    from partwise.linalg.nnls import nnls

    H, X = mixture(20_000, 400, k, active)
    return lambda: nnls(H, X), lambda: floor(H, X)


def factors(X: Any, k: int) -> Pair:
    """Twenty rounds of HALS beside twenty of scikit-learn's coordinate descent, own starts."""
    from sklearn.decomposition import NMF

    import partwise as pw

    return (
        lambda: pw.HALS(k, init="random", random_state=0, tol=0.0, max_iter=20).fit(X),
        lambda: NMF(k, init="random", random_state=0, tol=0.0, max_iter=20).fit(X),
    )


def hals_dense() -> Pair:
    """A dense matrix."""
    return factors(np.maximum(mixture(4_000, 500, 30, 0.3)[1], 0.0), 30)


def hals_sparse() -> Pair:
    """A sparse one."""
    return factors(corpus(4_000, 8_000, 400_000, 0), 20)


def counts() -> Pair:
    """Most likely weights of counts beside scikit-learn's multiplicative updates of them."""
    from sklearn.decomposition import non_negative_factorization

    import partwise as pw

    rng = np.random.default_rng(0)
    H = rng.dirichlet(np.full(500, 0.1), 10)
    X = sp.csr_array(rng.poisson(300 * rng.dirichlet(np.full(10, 0.3), 1_000) @ H).astype(float))
    how = {"solver": "mu", "beta_loss": "kullback-leibler", "update_H": False, "init": "custom", "tol": 0.0}
    return (
        lambda: pw.linalg.poisson_weights(H, X),
        lambda: non_negative_factorization(X, H=H, n_components=10, max_iter=100, **how),
    )


def picking() -> Pair:
    """SPA beside as many products with a vector."""
    import partwise as pw

    X = np.abs(mixture(20_000, 400, 20, 0.3)[1])
    v = np.ones(400)
    return lambda: pw.algorithms.spa.spa(pw.open_source(X), 20), lambda: [X @ v for _ in range(20)]


def command(*words: str) -> Callable[[], Any]:
    """A process of its own."""
    return lambda: subprocess.run([sys.executable, *words], check=True, capture_output=True)


CASES: dict[str, Callable[[], Pair]] = {
    "nnls, k = 50, 90% positive": lambda: weights(50, 0.9),
    "nnls, k = 50, 20% positive": lambda: weights(50, 0.2),
    "HALS, dense": hals_dense,
    "HALS, sparse": hals_sparse,
    "weights of counts": counts,
    "SPA": picking,
    "partwise --version": lambda: (command("-m", "partwise", "--version"), command("-c", "import numpy")),
}


def spent(function: Callable[[], Any]) -> float:
    """Processor seconds, of children too."""
    import resource

    def now() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + used.ru_utime + used.ru_stime

    begin = now()
    function()
    return now() - begin


def measured(pair: Pair) -> float:
    """Ours over the yardstick."""
    ours, other = pair
    ours(), other()  # compiles, and touches the memory
    times = [(spent(ours), spent(other)) for _ in range(REPEATS)]
    return float(np.divide(*np.median(times, axis=0)))


def main(options: Any) -> None:
    """Measure all, compare or store."""
    known = json.loads(STORED.read_text())["ratios"] if STORED.exists() else {}
    found: dict[str, float] = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in CASES.items():
            pair = make()
            found[name] = measured(pair)
            for _ in range(2):
                if options.store or found[name] <= SLOWER * known.get(name, np.inf):
                    break
                found[name] = min(found[name], measured(pair))
            print(f"  {name}: {found[name]:.3g}", flush=True)
    if options.store:
        where = {key: value for key, value in machine().items() if key != "platform"}
        STORED.write_text(json.dumps({"machine": where, "ratios": found}, indent=2) + "\n")
    lines = [[name, f"{value:.3g}", f"{known.get(name, float('nan')):.3g}"] for name, value in found.items()]
    show("processor time over that of the yardstick", ["", "now", "stored"], lines)
    slower = [name for name, value in found.items() if value > SLOWER * known.get(name, np.inf)]
    if slower and not options.store:
        raise SystemExit("slower by more than 20%: " + "; ".join(slower))
