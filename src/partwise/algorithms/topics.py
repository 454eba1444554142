"""Topics by anchor words: from the co-occurrence of words, without knowing the topics of any document.

Arora, Ge & Moitra (2012), "Learning topic models - going beyond SVD"; Arora, Ge, Halpern, Mimno, Moitra, Sontag, Wu &
Zhu (2013), "A practical algorithm for topic modeling with provable guarantees" (FastAnchorWords, RecoverL2, RecoverKL).

A document is a mixture w of topics, words are drawn from w H.  The expected co-occurrence of two words of a document is
``Q = H' R H`` with ``R = E[w' w]``.  Divided by its sum, the row of a word is the mixture of the rows of anchor words
(words that one topic alone has) by the probabilities of the topics given that word; Bayes' rule turns these into H.

Two things here are ours.  Any weighting of documents by their length only changes R, so documents are weighted by what
they say: one of length l has l - 1 times the pairs of one of length two, not the same say.  And rows may be multiplied
by any matrix M before they are compared: the span of the leading eigenvectors of Q keeps the topics and loses the
noise of thousands of other directions, where a random M keeps both.  Products ``Q M`` are passes over the documents, so
Q itself, which can be dense, is only made where its rows are needed (RecoverKL, and rows as they are).
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from partwise.algorithms.cooccurrence import AllPairs, Cooccurrence
from partwise.algorithms.hull import convex_hull
from partwise.algorithms.rectified import Rectified
from partwise.algorithms.spa import fast_anchor_words, spa
from partwise.linalg.simplex import Loss, MixtureCertificate, likeliest, mixture_weights, proportions
from partwise.sources import MemorySource, RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]
Pairs = AllPairs | Rectified
Projection = Literal["spectral", "random"]
Search = Literal["spa", "fast-anchor-words", "hull"]

OVERSAMPLE = 10  # further dimensions of the subspace in which eigenvectors are sought,
PASSES = 8  # and passes over the documents
RANDOM_DIMENSIONS = 1000  # as in Arora et al. (2013)
SMOOTHING = 1e-3  # share of the corpus in the topics that refinement starts from: EM never leaves a zero
EM_TOL = 1e-4  # nats a word by which weights may miss the best ones while topics still move


def word_rows(Q: Pairs, k: int, projection: Projection | None, rng: np.random.Generator) -> RowSource:
    """The rows of words, divided by their sums, times a matrix; ``None``: as they are."""
    if projection is None:
        return MemorySource(Q.conditional(Q.matrix()))
    m = len(Q.probabilities)
    if projection == "random":
        width = min(RANDOM_DIMENSIONS, m)
        return MemorySource(Q.conditional(Q.dot(rng.standard_normal((m, width)) / np.sqrt(width))))
    M = np.linalg.qr(rng.standard_normal((m, min(k + OVERSAMPLE, m))))[0]
    for _ in range(PASSES):  # subspace iteration; that it has converged is not needed, any M would do
        M = np.linalg.qr(Q.dot(M))[0]
    Z = Q.dot(M)
    MZ = M.T @ Z
    values, U = np.linalg.eigh((MZ + MZ.T) / 2.0)
    leading = np.argsort(-np.abs(values))[:k]
    return MemorySource(Q.conditional(Z @ U[:, leading]))


def find_anchors(rows: RowSource, k: int, candidates: npt.NDArray[np.bool_], search: Search = "spa") -> Index:
    """Words whose rows hold the others, by SPA, by both rounds of FastAnchorWords, or as corners of the hull.

    Fewer than ``k`` where nothing is left to pick.
    """
    if search == "hull":
        places = np.flatnonzero(candidates)
        return np.asarray(places[convex_hull(MemorySource(rows.take(places)), k).anchors])
    scale = candidates.astype(np.float64)
    return spa(rows, k, row_scale=scale).anchors if search == "spa" else fast_anchor_words(rows, k, row_scale=scale)


def recover(Q: Cooccurrence, rows: RowSource, anchors: Index, loss: Loss) -> tuple[Array, Array, MixtureCertificate]:
    """Every word as a mixture of anchors, then Bayes: topics, their probabilities, and the proof of the mixtures.

    "kl" compares distributions, so it needs the rows as they are.
    """
    corners = blocks.to_dense(rows.take(anchors)).astype(np.float64)
    C, certificate = mixture_weights(corners, rows, loss=loss, return_certificate=True)
    H, prior = bayes(C, Q.probabilities)
    return H, prior, certificate


def bayes(C: Array, probabilities: Array) -> tuple[Array, Array]:
    """p(word | topic) and p(topic) from p(topic | word), the rows of ``C``, and p(word)."""
    joint = (C * probabilities[:, None]).T
    prior = joint.sum(axis=1)
    # a topic without a word is possible only if the rows of two anchors are the same
    return np.divide(joint, prior[:, None], out=np.zeros_like(joint), where=prior[:, None] > 0.0), prior


def refine(source: RowSource, H: Array, prior: Array, probabilities: Array, steps: int) -> tuple[Array, Array]:
    """A few steps of expectation maximisation for the topics, each with the likeliest weights of all documents."""
    if steps:
        H = (1.0 - SMOOTHING) * H + SMOOTHING * probabilities
    for _ in range(steps):
        joint = H * source.reduce(partial(_expected_block, H=H)).T
        prior = joint.sum(axis=1)
        # a topic that no document has stays as it is
        H = np.divide(joint, prior[:, None], out=H, where=prior[:, None] > 0.0)
    return H, prior / prior.sum()


def _expected_block(block: Block, H: Array) -> Array:
    Ht = np.ascontiguousarray(H.T)
    W = explain_block(block, Ht, EM_TOL)
    x, y = blocks.values(block), blocks.product_at(block, W, Ht)
    ratio = np.divide(x, y, out=np.zeros(len(y)), where=y > 0.0)
    return blocks.tdot(blocks.with_values(block, ratio), W)


def explain_block(block: Block, Ht: Array, tol: float) -> Array:
    """The likeliest weights of documents, of the sum of the words that some topic has."""
    x, sums = proportions(block, Ht)
    return likeliest(x, Ht, tol)[0] * sums[:, None]


def topic_moments(Q: Pairs, H: Array) -> Array:
    """``R = E[w' w]`` from ``Q = H' R H`` by least squares."""
    P = np.linalg.pinv(H)
    R = P.T @ Q.dot(P)
    return np.asarray((R + R.T) / 2.0)
