"""Most likely weights of BBC counts for 20 known parts: processor time a sample, and the KKT residual."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .checks import poisson_residual
from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .kl import counts, start, timed
from .report import Target, finish, ratio, show

SIZES = {"full": (2225, 20), "small": (200, 4)}


def ours(data: Arrays, params: dict[str, Any]) -> Outcome:
    """`transform` is this for every block of rows."""
    import partwise as pw

    pw.linalg.poisson_weights(data["H"], data["X"][:20])
    seconds, wall, W = timed(lambda: pw.linalg.poisson_weights(data["H"], data["X"]))
    return seconds, {"W": W}, {"wall": wall}


def sklearn(data: Arrays, params: dict[str, Any]) -> Outcome:
    """scikit-learn's `transform`: multiplicative updates with fixed components, as typed."""
    from sklearn.decomposition import NMF

    X, H = sp.csr_matrix(data["X"]), data["H"]
    model = NMF(len(H), init="random", solver="mu", beta_loss="kullback-leibler", max_iter=1).fit(X)
    model.components_ = H
    model.set_params(max_iter=200)
    seconds, wall, W = timed(lambda: model.transform(X))
    return seconds, {"W": W}, {"wall": wall}


CONTENDERS = {
    "partwise": Contender(ours, {"partwise": "partwise"}, note="exact, certified"),
    "sklearn": Contender(sklearn, {"sklearn": "scikit-learn"}, note="NMF.transform, tol=1e-4"),
}


def main(options: Any) -> None:
    """Run the case."""
    import partwise as pw

    n, k = SIZES[options.size]
    X = counts(n)
    H = pw.Likelihood(k, init=start(X, k, options.seed), tol=1e-3).fit(X).components_

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        return {"kkt": float(poisson_residual(X, arrays["W"], H).max())}

    with problem({"X": X, "H": H}) as folder:
        rows = race("kl-transform", chosen(CONTENDERS, options), folder, {}, verify, options)
    lines = [
        [name, f"{1e6 * row.median / n:.1f}", f"{1e6 * row.facts['wall'] / n:.1f}", f"{row.facts['kkt']:.1e}"]
        for name, row in rows.items()
        if row.facts
    ]
    title = f"kl-transform: {n} x {X.shape[1]}, k = {k}"
    show(title, ["", "processor us a sample", "wall us a sample", "KKT residual"], lines)
    targets = [
        Target("us a sample", 1e6 * rows["partwise"].median / n, 150, at_most=True),
        Target("KKT residual", rows["partwise"].facts.get("kkt", np.nan), 1e-8, at_most=True),
        Target("x faster than scikit-learn", ratio(rows, "sklearn"), 1),
    ]
    finish("kl-transform", [{"shape": X.shape, "k": k, "rows": rows}], targets, options)
