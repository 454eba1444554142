"""Error against processor time on the way, the default fits of HALS and of scikit-learn's NMF, three data sets."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from .checks import relative_error
from .hals_default import load
from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .report import finish

DATA = ("mnist", "newsgroups", "pbmc3k")
ITERATIONS = (1, 2, 5, 10, 20, 40, 80, 160)  # scikit-learn tells nothing on the way: as many fits of so many


def ours(data: Arrays, params: dict[str, Any]) -> Outcome:
    """HALS(k): every round as it is told."""
    import partwise as pw

    X, seen = data["X"], []
    pw.HALS(params["k"], max_iter=2, tol=0.0).fit(X[:3000])
    norm = float(np.sqrt((X.data**2).sum() if hasattr(X, "indptr") else np.vdot(X, X)))
    note = [lambda now: seen.append((now.work, float(np.sqrt(2.0 * now.objective)) / norm))]
    pw.HALS(params["k"], random_state=params["seed"], callbacks=note).fit(X)
    return seen[-1][0], {}, {"curve": seen}


def sklearn(data: Arrays, params: dict[str, Any]) -> Outcome:
    """NMF(k, max_iter=i)."""
    from sklearn.decomposition import NMF

    X, seen = data["X"], []
    warnings.simplefilter("ignore")
    for i in ITERATIONS:
        model, start = NMF(params["k"], max_iter=i, random_state=params["seed"]), time.process_time()
        W = model.fit_transform(X)
        seen.append((time.process_time() - start, relative_error(X, W, model.components_)))
        if model.n_iter_ < i:
            break
    return seen[-1][0], {}, {"curve": seen}


CONTENDERS = {
    "partwise": Contender(ours, {"partwise": "partwise"}, note="HALS(k)"),
    "sklearn": Contender(sklearn, {"sklearn": "scikit-learn"}, note="NMF(k)"),
}


def main(options: Any) -> None:
    """Run the case."""
    parts = []
    for name in DATA:
        X, k = load(name, options.size)
        with problem({"X": X}) as folder:
            params = {"k": k, "seed": options.seed}
            rows = race("hals-curves", chosen(CONTENDERS, options), folder, params, lambda *_: {}, options)
        parts.append({"data": name, "rows": rows})
    finish("hals-curves", parts, [], options)
