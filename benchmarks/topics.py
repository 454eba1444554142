"""AnchorTopics: known topics come back, 20 Newsgroups is read coherently, RecoverL2 beats a loop of scipy's nnls."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp

from .harness import Arrays, Contender, Outcome, Row, best_of, chosen, problem, race
from .report import Target, finish, ratio, show

# documents, words, topics and length of the corpus; topics of the newsgroups; topics of the NIPS papers
SIZES = {"full": ((50_000, 5000, 20, 100), 20, 100), "small": ((2000, 300, 5, 100), 5, 10)}
LOOP_STRIDE = {"scipy": 100, "scipy-reduced": 10}  # loops solve every so many rows; their time is scaled up
ANCHOR_SHARE = 0.01
PENALTY = 1e3  # weight of the sum, times the largest entry: the usual way to put the equation into nnls


def corpus(size: str, seed: int) -> tuple[sp.csr_array, np.ndarray]:
    """Documents of fixed length: Dirichlet(0.05) topics with one anchor word each, Dirichlet(0.1) weights."""
    n, m, k, length = SIZES[size][0]
    rng = np.random.default_rng(seed)
    H = rng.dirichlet(np.full(m, 0.05), size=k)
    anchors = rng.choice(m, k, replace=False)
    H[:, anchors] = 0.0
    H *= (1.0 - ANCHOR_SHARE) / H.sum(axis=1, keepdims=True)
    H[np.arange(k), anchors] = ANCHOR_SHARE
    parts = []
    for begin in range(0, n, 2000):
        P = rng.dirichlet(np.full(k, 0.1), size=min(2000, n - begin)) @ H
        parts.append(sp.csr_array(rng.multinomial(length, P / P.sum(axis=1, keepdims=True)).astype(np.float64)))
    return sp.csr_array(sp.vstack(parts)), H


def anchor_topics(data: Arrays, k: int, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Ours: topics, and the columns of their top words."""
    import partwise as pw

    model = pw.AnchorTopics(k, random_state=0, **options).fit(data["X"])
    return model.components_, np.array(model.top_words(10))


def sklearn_nmf(data: Arrays, k: int) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's NMF as it comes, on logarithmic tf-idf of unit length."""
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    H = NMF(k, random_state=0).fit(TfidfTransformer(sublinear_tf=True).fit_transform(data["X"])).components_
    return H, np.argsort(-H, axis=1, kind="stable")[:, :10]


def sklearn_lda(data: Arrays, k: int) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's LDA as it comes."""
    from sklearn.decomposition import LatentDirichletAllocation

    H = LatentDirichletAllocation(k, random_state=0).fit(data["X"]).components_
    H = H / H.sum(axis=1, keepdims=True)
    return H, np.argsort(-H, axis=1, kind="stable")[:, :10]


def recover_l2(data: Arrays) -> np.ndarray:
    """Ours, certificate and all."""
    import partwise as pw

    W, _ = pw.linalg.mixture_weights(data["H"], data["X"], return_certificate=True)
    return W


def scipy_loop(data: Arrays) -> np.ndarray:
    """nnls with one more equation, the sum, of large weight."""
    H = data["H"]
    weight = PENALTY * np.abs(H).max()
    A = np.vstack([H.T, np.full(len(H), weight)])
    rows = (data["X"][[i]].toarray()[0] for i in range(data["X"].shape[0]))
    return np.array([scipy.optimize.nnls(A, np.append(x, weight))[0] for x in rows])


def scipy_reduced(data: Arrays) -> np.ndarray:
    """The same on k + 1 equations: with HHt = Rt R, |x - w H| and |R w - R^-t H x| have one minimiser."""
    H = data["H"]
    R = scipy.linalg.cholesky(H @ H.T)
    targets = scipy.linalg.solve_triangular(R, (data["X"] @ H.T).T, trans="T").T
    weight = PENALTY * np.abs(R).max()
    A = np.vstack([R, np.full(len(H), weight)])
    return np.array([scipy.optimize.nnls(A, np.append(x, weight))[0] for x in targets])


def modeller(solve: Callable[..., Any], needs: dict[str, str], note: str, **options: Any) -> Contender:
    """Fit once; topics and top words come back."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        seconds, (H, words) = best_of(lambda: solve(data, params["k"], **options), most=1)
        return seconds, {"H": H, "words": words}, {}

    return Contender(run, needs, note=note)


def solver(solve: Callable[[Arrays], np.ndarray], needs: dict[str, str], note: str, stride: int = 1) -> Contender:
    """Time `solve` after a warm-up on a few rows; loops get a share of the rows."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        X = sp.csr_array(data["X"])
        step = stride if params["scale_loops"] else 1
        part = sp.csr_array(X[::step])
        solve({"H": data["H"], "X": X[:8]})
        seconds, W = best_of(lambda: solve({"H": data["H"], "X": part}))
        return seconds, {"W": W}, {"scale": X.shape[0] / part.shape[0], "stride": step}

    return Contender(run, needs, note=note)


OURS, PEER = {"partwise": "partwise"}, {"sklearn": "scikit-learn"}
MODELS = {
    "partwise": modeller(anchor_topics, OURS, "defaults"),
    "partwise-published": modeller(
        anchor_topics,
        OURS,
        "no refinement, random projection, equal say",
        refine=0,
        projection="random",
        weighting="equal",
    ),
    "sklearn-nmf": modeller(sklearn_nmf, PEER, "tf-idf, defaults"),
    "sklearn-lda": modeller(sklearn_lda, PEER, "counts, defaults"),
}
SOLVERS = {
    "partwise-l2": solver(recover_l2, OURS, "with certificate"),
    "scipy": solver(scipy_loop, {}, "a loop over words, all columns", LOOP_STRIDE["scipy"]),
    "scipy-reduced": solver(scipy_reduced, {}, "a loop over words, Cholesky-reduced", LOOP_STRIDE["scipy-reduced"]),
}
CONTENDERS = MODELS | SOLVERS


def l1_errors(H: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Distance of each true topic from the one that is matched to it."""
    H = H / np.maximum(H.sum(axis=1, keepdims=True), 1e-300)
    distances = np.array([[np.abs(h - t).sum() for t in truth] for h in H])
    return distances[scipy.optimize.linear_sum_assignment(distances)]


def known(options: Any) -> tuple[dict[str, Any], list[Target]]:
    """Topics that made the documents."""
    X, truth = corpus(options.size, options.seed)

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        errors = l1_errors(arrays["H"], truth)
        return {"l1": float(errors.max()), "l1_mean": float(errors.mean())}

    rows = modelled(
        {name: MODELS[name] for name in ("partwise", "partwise-published", "sklearn-lda")},
        X,
        len(truth),
        verify,
        options,
    )
    table("topics, known topics", rows, {"largest l1": "l1", "mean l1": "l1_mean"})
    target = Target("known topics: largest l1 error", fact(rows, "partwise", "l1"), 0.1, at_most=True)
    return {"label": "known", "shape": X.shape, "k": len(truth), "rows": rows}, [target]


def newsgroups(options: Any) -> tuple[dict[str, Any], list[Target]]:
    """Coherence of top words."""
    import partwise as pw

    posts = {"full": {}, "small": {"subset": "test", "min_count": 50}}[options.size]
    counts, k = pw.datasets.load_newsgroups(**posts).X.astype(np.float64), SIZES[options.size][1]

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        return {"npmi": float(pw.metrics.topic_coherence(list(arrays["words"]), counts).mean())}

    rows = modelled(MODELS, counts, k, verify, options)
    table("topics, 20 Newsgroups", rows, {"NPMI of 10 words": "npmi"})
    ours = fact(rows, "partwise", "npmi")
    targets = [
        Target(f"20 Newsgroups: NPMI above {peer}", ours - fact(rows, peer, "npmi"), 0)
        for peer in ("sklearn-nmf", "sklearn-lda")
    ]
    return {"label": "newsgroups", "shape": counts.shape, "k": k, "rows": rows}, targets


def nips(options: Any) -> tuple[dict[str, Any], list[Target]]:
    """Every word of the NIPS papers as a mixture of anchors, on the rows of Q themselves."""
    import partwise as pw
    from partwise.algorithms.topics import Cooccurrence, find_anchors, word_rows

    k, rng = SIZES[options.size][2], np.random.default_rng(options.seed)
    Q = Cooccurrence.of(pw.open_source(pw.datasets.load_nips().X))
    anchors = find_anchors(word_rows(Q, k, "spectral", rng), k, Q.documents >= 50)
    X = sp.csr_array(Q.conditional(Q.matrix()))
    H = X[anchors].toarray()

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        W = arrays["W"] / arrays["W"].sum(axis=1, keepdims=True)
        g = W @ (H @ H.T) - X[:: facts["stride"]] @ H.T
        return {"gap": float((np.vecdot(W, g) - g.min(axis=1)).max() / (H * H).sum(axis=1).max())}

    with problem({"X": X, "H": H}) as folder:
        contenders = {name: c for name, c in chosen(CONTENDERS, options).items() if name in SOLVERS}
        rows = race("topics", contenders, folder, {"scale_loops": options.size == "full"}, verify, options)
    table("topics, RecoverL2 on NIPS", rows, {"duality gap": "gap"})
    target = Target("NIPS: x faster than the scipy loop", ratio(rows, "scipy", "partwise-l2"), 20)
    return {"label": "nips", "shape": X.shape, "k": k, "rows": rows}, [target]


def modelled(models: dict[str, Contender], X: Any, k: int, verify: Any, options: Any) -> dict[str, Row]:
    """Let each fit once."""
    with problem({"X": X}) as folder:
        contenders = {name: c for name, c in chosen(CONTENDERS, options).items() if name in models}
        once = Namespace(**(vars(options) | {"repeat": 1}))
        return race("topics", contenders, folder, {"k": k}, verify, once)


def fact(rows: dict[str, Row], name: str, key: str) -> float:
    """What is known of a contender; nan where nothing is."""
    return float(rows[name].facts.get(key, np.nan)) if name in rows else float("nan")


def table(title: str, rows: dict[str, Row], facts: dict[str, str]) -> None:
    """Print times and facts."""
    lines = []
    for name, row in rows.items():
        ok = row.status == "ok"
        cells = [f"{fact(rows, name, key):.3g}" if ok else "-" for key in facts.values()]
        lines.append([name, f"{row.median:.3f}" if ok else "-", *cells, row.note if ok else row.status])
    show(title, ["contender", "seconds", *facts, "note"], lines)


def main(options: Any) -> None:
    """Run the case."""
    parts, targets = zip(*(part(options) for part in (known, newsgroups, nips)), strict=True)
    finish("topics", list(parts), [target for some in targets for target in some], options)
