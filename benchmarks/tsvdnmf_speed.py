"""TSVDNMF on Reuters10 beside the same steps in NumPy and scikit-learn; ten times the records; two million records."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import problems
from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .memory import Peak
from .report import Target, finish, ratio, show

GIB = 2**30
ROWS = {"full": (20_000, 200_000, 2_000_000), "small": (2_000, 20_000, 20_000)}
FEATURES, PER_ROW, TOPICS = 20_000, 100, 20


def plain(X: Any, k: int, eps0: float, n_pure: int) -> np.ndarray:
    """The steps of the paper as one would write them: everything dense."""
    from scipy.sparse.linalg import svds
    from sklearn.cluster import KMeans

    A = X.toarray()
    n = len(A)
    rank = max(1, int(eps0 * n / 2))
    levels = 0.9 * np.partition(A, n - rank, axis=0)[n - rank]
    kept = np.flatnonzero(levels > 0)
    inside = A[:, kept] >= levels[kept]
    D = np.where(inside, np.sqrt(levels[kept]), 0.0)
    sizes = inside.sum(axis=0)
    common = inside.T.astype(np.float32) @ inside.astype(np.float32)
    order = np.argsort(sizes, kind="stable")
    free = np.ones(len(kept), bool)
    for place, i in enumerate(order):
        if free[i]:
            later = order[place + 1 :]
            nearly = (sizes[i] <= sizes[later] - eps0 * n / 8) & (sizes[i] - common[i, later] <= eps0 * n / 4)
            for j in later[free[later] & nearly]:
                D[~inside[:, i], j] = 0.0
                free[j] = False
    U, s, _ = svds(D, k, random_state=0)
    start = KMeans(k, n_init=10, random_state=0).fit(U * s).labels_
    centres = np.array([D[start == l].mean(axis=0) for l in range(k)])
    labels = KMeans(k, init=centres, n_init=1, max_iter=100).fit(D).labels_
    g = np.zeros((k, A.shape[1]))
    for l in range(k):
        rows = A[labels == l]
        g[l] = np.partition(rows, len(rows) - min(rank, len(rows)), axis=0)[len(rows) - min(rank, len(rows))]
    H = np.empty_like(g)
    for l in range(k):
        dominant = g[l] > 1.15 * np.delete(g, l, axis=0).max(axis=0)
        top = np.argsort(-A[:, dominant].sum(axis=1), kind="stable")[:n_pure]
        H[l] = A[top].mean(axis=0) if dominant.any() else A[labels == l].mean(axis=0)
    return H


def timed(fit: Callable[[Any, dict[str, Any]], np.ndarray], needs: dict[str, str], note: str) -> Contender:
    """Time `fit` on the whole after a warm-up on a part."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit(data["X"][:400], params)
            begin = time.perf_counter()
            H = fit(data["X"], params)
        return time.perf_counter() - begin, {"H": H}, {}

    return Contender(run, needs, note=note)


def ours(X: Any, params: dict[str, Any]) -> np.ndarray:
    """Our fit, with the reconstruction error that it computes."""
    import partwise as pw

    return pw.TSVDNMF(params["k"], eps0=params["eps0"], n_pure=params["n_pure"], random_state=0).fit(X).components_


class Generated:
    """Blocks of documents made when they are read: 100 different words each, one from each stratum of their topic."""

    BLOCK = 20_000

    def __new__(cls, n: int, seed: int) -> Any:
        from partwise.sources.memory import BlockedSource

        class Source(BlockedSource):
            def __init__(self) -> None:
                rng = np.random.default_rng(seed)
                self.order = np.array([rng.permutation(FEATURES) for _ in range(TOPICS)], np.int32)
                self.shape, self.dtype = (n, FEATURES), np.dtype(np.float32)
                self.bounds = [(a, min(a + cls.BLOCK, n)) for a in range(0, n, cls.BLOCK)]

            def block(self, i: int) -> Any:
                a, b = self.bounds[i]
                rng = np.random.default_rng([seed, i])
                rows, stratum = b - a, FEATURES // PER_ROW
                topic = rng.integers(TOPICS, size=rows)
                u = rng.random((rows, PER_ROW), np.float32)
                place = (u * u * u * stratum).astype(np.int32) + np.arange(0, FEATURES, stratum, dtype=np.int32)
                indices = self.order[topic[:, None], place].ravel()
                values = 1.0 + np.floor(3.0 * rng.random(rows * PER_ROW, np.float32))
                return sp.csr_array(
                    (values, indices, np.arange(0, rows * PER_ROW + 1, PER_ROW)), shape=(rows, FEATURES)
                )

        return Source()


def stream(data: Arrays, params: dict[str, Any]) -> Outcome:
    """Our fit on documents that are never all there; the highest resident memory of the process."""
    import partwise as pw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pw.TSVDNMF(TOPICS, random_state=0).fit(Generated(2_000, 1))
        begin = time.perf_counter()
        with Peak() as peak:
            source = Generated(params["rows"], 0)
            model = pw.TSVDNMF(TOPICS, random_state=0).fit(source)
    truth = np.array([np.bincount(order[:: FEATURES // PER_ROW], minlength=FEATURES) for order in source.order])
    found = [model.components_[l] @ truth.T for l in range(TOPICS)]
    right = len({int(np.argmax(row)) for row in found})
    facts = {"peak": peak.above + peak._begin, "topics": right, "passes": model.n_iter_}
    return time.perf_counter() - begin, {"H": model.components_}, facts


OURS, PLAIN = {"partwise": "partwise"}, {"sklearn": "scikit-learn"}
CONTENDERS = {
    "partwise": timed(ours, OURS, "Reuters10"),
    "plain": timed(lambda X, p: plain(X, p["k"], p["eps0"], p["n_pure"]), PLAIN, "dense threshold, svds, KMeans"),
    "partwise-stream": Contender(stream, OURS, note="documents made on the fly"),
}


def reuters() -> Any:
    """Reuters10 with numbers among its words, as in the paper, which has 12,418 of them."""
    from sklearn.feature_extraction.text import CountVectorizer

    from partwise import datasets
    from partwise.datasets.loaders.text import weigh

    texts = datasets.load_reuters(10).texts
    counts = sp.csr_array(CountVectorizer(stop_words="english").fit_transform(texts))
    return weigh(sp.csr_array(counts[:, np.flatnonzero(counts.sum(axis=0) >= 5)]), "tfidf", 0.0)


def main(options: Any) -> None:
    """Run the case."""
    few, many, stream_rows = ROWS[options.size]
    parts, targets, lines = [], [], []

    def nothing(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        return {}

    wanted = chosen(CONTENDERS, options)
    X = reuters() if options.size == "full" else problems.corpus(few, 1000, few * 40, options.seed, False)
    params = {"k": 10, "eps0": 0.01, "n_pure": 18}
    with problem({"X": sp.csr_matrix(X)}) as folder:
        both = {name: wanted[name] for name in ("partwise", "plain") if name in wanted}
        rows = race("tsvdnmf-speed", both, folder, params, nothing, options)
    lines += [[f"Reuters10, {X.shape[0]} x {X.shape[1]}", name, f"{row.median:.3f}"] for name, row in rows.items()]
    targets.append(Target("Reuters10: times faster than the plain steps", ratio(rows, "plain"), 3))
    parts.append({"data": "reuters10", "rows": rows})
    seconds = []
    for n in (few, many):
        corpus = problems.corpus(n, FEATURES, n * PER_ROW, options.seed, False)
        with problem({"X": corpus}) as folder:
            scaled = {"k": TOPICS, "eps0": 0.01, "n_pure": max(8, int(0.01 * n / 4))}
            rows = race("tsvdnmf-speed", {"partwise": wanted["partwise"]}, folder, scaled, nothing, options)
        seconds.append(rows["partwise"].median)
        lines.append([f"{n} x {FEATURES}, {PER_ROW} entries a row", "partwise", f"{seconds[-1]:.2f}"])
        parts.append({"data": n, "rows": rows})
    targets.append(Target(f"{many} records against {few}: times the time", seconds[1] / seconds[0], 12, at_most=True))
    with problem({}) as folder:
        once = Namespace(**(vars(options) | {"repeat": 1}))
        only = {"partwise-stream": wanted["partwise-stream"]}
        rows = race("tsvdnmf-speed", only, folder, {"rows": stream_rows}, nothing, once)
    facts = rows["partwise-stream"].facts
    lines.append([f"{stream_rows} x {FEATURES}, made on the fly", "partwise", f"{rows['partwise-stream'].median:.1f}"])
    parts.append({"data": "stream", "rows": rows})
    targets.append(Target("made on the fly: GiB resident", facts.get("peak", np.nan) / GIB, 4, at_most=True))
    targets.append(Target("made on the fly: topics found", facts.get("topics", np.nan), TOPICS))
    show("tsvdnmf-speed", ["data", "contender", "seconds"], lines)
    finish("tsvdnmf-speed", parts, targets, options)
