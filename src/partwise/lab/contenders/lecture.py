"""What the lecture names: multiplicative updates, principal components, corners of the hull, topics from pairs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise.algorithms.cooccurrence import Cooccurrence
from partwise.algorithms.loop import Progress
from partwise.algorithms.topics import recover
from partwise.lab.contenders.base import fitted, summary
from partwise.lab.experiment import Contender, Found, Problem
from partwise.sources import MemorySource

SETTLED = 1500  # iterations of a few dozen rows after which little moves

# --- multiplicative updates -------------------------------------------------------------------------------------


class Factors:
    """How often an update factor is at least 1 without f' <= 0, or the other way round, among all entries that move.

    Entries whose derivative is zero up to rounding say nothing.
    """

    def __init__(self, X: np.ndarray) -> None:
        self.X = X
        self.last: tuple[np.ndarray, np.ndarray] | None = None
        self.wrong = self.entries = 0

    def __call__(self, progress: Progress) -> None:
        V, Y = np.array(progress.state["W"]), np.array(progress.components)
        if self.last is not None:
            V0, Y0 = self.last
            self._count(V0, V, self.X @ Y0.T, V0 @ (Y0 @ Y0.T))
            self._count(Y0, Y, V.T @ self.X, (V.T @ V) @ Y0)
        self.last = V, Y

    def _count(self, old: np.ndarray, new: np.ndarray, minus: np.ndarray, plus: np.ndarray) -> None:
        rounding = 2.0**-52 * sum(self.X.shape) * (minus + plus)
        normal = old > np.finfo(float).tiny * 2.0**52  # below this a product has fewer digits
        told = normal & (np.abs(plus - minus) > rounding)
        self.wrong += int(((new >= old) != (plus <= minus))[told].sum())
        self.entries += int(told.sum())


def given_pair(
    problem: Problem, seed: int, budget: float | None, *, zeros: float = 0.0, lift: bool = False, max_iter: int = 500
) -> Found:
    """The updates from a random pair, a share of whose entries is zero; lifted: from its components, as ours do."""
    import partwise as pw

    rng, (n, m), k = np.random.default_rng(seed), problem.X.shape, problem.k
    size = 2.0 * np.sqrt(problem.X.mean() / k)  # V Y is then as large as X, on average
    V, Y = (size * rng.random(shape) * (rng.random(shape) >= zeros) for shape in ((n, k), (k, m)))
    watch = Factors(problem.X)
    how: dict[str, Any] = {"max_iter": max_iter, "tol": 0.0, "callbacks": [watch]}
    model = pw.MU(init=Y, init_weights=None if lift else V, **how).fit(problem.X)
    assert watch.last is not None
    wrong = watch.wrong / max(1, watch.entries)
    return summary(model, weights=watch.last[0], disagree=wrong)


# --- pairs of words ---------------------------------------------------------------------------------------------


def first_tokens(counts: Any, rng: np.random.Generator) -> np.ndarray:
    """The first two tokens of every document: words are exchangeable, so two of them in a random order."""
    X = sp.csr_array(counts)
    words = np.repeat(X.indices, X.data.astype(np.int64))
    lengths = np.asarray(X.sum(axis=1)).ravel().astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    first = rng.integers(0, lengths)
    second = (first + rng.integers(1, lengths)) % lengths
    return np.stack([words[starts + first], words[starts + second]], axis=1)


def expected_pairs(problem: Problem) -> np.ndarray:
    """E(M) / n, given the documents' mixtures."""
    assert problem.truth is not None
    assert problem.weights is not None
    H, W = problem.truth, problem.weights
    result: np.ndarray = H.T @ (W.T @ W / len(W)) @ H
    return result


def pairs_hull(problem: Problem, seed: int, budget: float | None, *, all_pairs: bool = False) -> Found:
    """The hull of the rows of the co-occurrence, then every word as a mixture of anchors and Bayes."""
    import partwise as pw

    rng, m = np.random.default_rng(seed), problem.X.shape[1]
    tokens = first_tokens(problem.X, rng)
    pairs = Cooccurrence.of(problem.X) if all_pairs else Cooccurrence.of_tokens(tokens, n_words=m)
    M = pairs.matrix().toarray()
    anchors = pw.ConvexHull(problem.k).fit(M).anchors_
    topics, _, _ = recover(pairs, MemorySource(pairs.conditional(M)), anchors, "l2")
    facts = _certainty(pairs, problem) | {
        "deviation": float(np.linalg.norm(M - expected_pairs(problem), 2)),
        "bound": pairs.deviation(),
        "nothing": float(np.linalg.norm(expected_pairs(problem), 2)),
        "found": len(anchors),
    }
    return Found(topics, anchors=anchors, facts=facts)


def _certainty(pairs: Cooccurrence, problem: Problem) -> dict[str, float]:
    """What is said of the true anchors, the words 0 to k - 1, and of a word beside them that is none: a mixture."""
    k = problem.k
    told = pairs.certainty(np.arange(k))
    mixed = [pairs.certainty([*range(k), word]).certain[-1] for word in range(k, min(2 * k, len(pairs.probabilities)))]
    return {"certain": float(np.mean(told.certain)), "documents_until_certain": float(np.max(told.documents))} | (
        {"certain_mixed": float(np.mean(mixed))} if mixed else {}
    )


def hull_of_expected(problem: Problem, seed: int, budget: float | None) -> Found:
    """The hull of the rows of E(M), not told how many corners there are."""
    import partwise as pw

    M = expected_pairs(problem)
    anchors = pw.ConvexHull().fit(M).anchors_
    p = M.sum(axis=1, keepdims=True)
    pairs = M / np.where(p > 0.0, p, 1.0)
    W = np.asarray(pw.nnls(pairs[anchors], pairs))  # every word as a mixture of anchors
    joint = (W * p).T
    return Found(joint / joint.sum(axis=1, keepdims=True), anchors=anchors, facts={"found": len(anchors)})


# Arora et al. (2013) as published; the rest of the defaults is (RecoverL2, pairs of different words). Their random
# projection only saves time, and only in the search
CITED: dict[str, Any] = {"search": "fast-anchor-words", "projection": None, "weighting": "equal", "refine": 0}


def any_hull(problem: Problem, seed: int, budget: float | None) -> Found:
    """All corners of the hull of the samples."""
    import partwise as pw

    model = pw.ConvexHull().fit(np.maximum(problem.X, 0.0))
    return Found(model.components_, facts={"found": len(model.components_)})


def pca(problem: Problem, seed: int, budget: float | None) -> Found:
    """As many principal components, with their own weights."""
    from partwise.linalg.svd import truncated_svd
    from partwise.sources import source_of

    _, V = truncated_svd(source_of(problem.X), problem.k, rng=np.random.default_rng(seed))
    return Found(V, weights=problem.X @ V.T)


CONTENDERS: tuple[Contender, ...] = (
    Contender(
        "mu-random",
        "Lee & Seung's multiplicative updates from a random pair, uniform in [0, c], 500 iterations",
        given_pair,
        literal=True,
    ),
    Contender(
        "mu-settled",
        f"Lee & Seung's multiplicative updates from a random positive pair, {SETTLED} iterations",
        partial(given_pair, max_iter=SETTLED),
        literal=True,
    ),
    Contender(
        "mu-zeros",
        "the same from a pair a tenth of whose entries is zero",
        partial(given_pair, max_iter=SETTLED, zeros=0.1),
        literal=True,
    ),
    Contender(
        "mu-lifted",
        "from the same components, as ours do: zeros are lifted, first weights are the best ones",
        partial(given_pair, max_iter=SETTLED, zeros=0.1, lift=True),
    ),
    Contender(
        "pairs-hull",
        "the lecture's M of first and second tokens, the hull of its rows (told r), RecoverL2",
        pairs_hull,
        literal=True,
    ),
    Contender("pairs-hull-all", "the same from all pairs of a document", partial(pairs_hull, all_pairs=True)),
    Contender("pairs-expected", "the hull of the rows of E(M) itself, not told r", hull_of_expected, literal=True),
    Contender("pca", "principal components, which may be negative", pca, literal=True),
    Contender("hull", "corners of the convex hull of the samples (Arora et al. 2012)", fitted("ConvexHull", clip=True)),
    Contender("hull-any", "the same, not told how many corners there are", any_hull, literal=True),
    Contender("anchor-topics", "anchor words, RecoverL2, our defaults", fitted("AnchorTopics", anchored=True)),
    Contender(
        "anchor-topics-published",
        "anchor words as published: every document alike, FastAnchorWords, RecoverL2 on whole rows, no refinement",
        fitted("AnchorTopics", anchored=True, **CITED),
        literal=True,
    ),
)
