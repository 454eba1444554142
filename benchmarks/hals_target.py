"""Processor time to scikit-learn's final objective, from its own start (default `NMF(k)`), five data sets."""

from __future__ import annotations

from typing import Any

from .hals_default import compare, judge, load, sklearn, timed
from .harness import Arrays, Contender, Outcome
from .report import finish

TARGET = {
    "mnist": 25.0,
    "tdt2": 15.0,
    "newsgroups": 30.0,
    "pbmc3k": 6.0,
    "jasper": 1 / 1.5,
}  # times faster than scikit-learn


def ours(data: Arrays, params: dict[str, Any]) -> Outcome:
    """HALS from both factors of scikit-learn's start, ended by a callback at its final objective."""
    import partwise as pw

    H0, goal = data["H0"], float(data["goal"])
    start = data["W0"], H0
    pw.HALS(params["k"], init=H0, max_iter=2, tol=0.0).fit(data["X"][:3000])
    return timed(lambda: pw.HALS(params["k"], init=start, callbacks=[lambda now: now.objective <= goal]), data["X"])


CONTENDERS = {
    "partwise": Contender(ours, {"partwise": "partwise"}, note="HALS from the same start"),
    "sklearn": Contender(sklearn, {"sklearn": "scikit-learn"}, note="NMF(k)"),
}


def main(options: Any) -> None:
    """Run the case."""
    from sklearn.decomposition import NMF
    from sklearn.decomposition._nmf import _initialize_nmf

    parts = []
    for name in TARGET:
        X, k = load(name, options.size)
        model = NMF(k, random_state=options.seed).fit(X)
        W0, H0 = _initialize_nmf(X, k, init="nndsvda", random_state=options.seed)
        arrays = {"W0": W0, "H0": H0, "goal": 0.5 * model.reconstruction_err_**2}
        parts.append(compare("hals-target", name, (X, k), arrays, CONTENDERS, options))
    finish("hals-target", parts, [judge(part, TARGET[part["data"]]) for part in parts], options)
