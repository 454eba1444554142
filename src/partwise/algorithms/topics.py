"""Topics by anchor words: from the co-occurrence of words, without knowing the topics of any document.

Arora, Ge & Moitra (2012), "Learning topic models - going beyond SVD"; Arora, Ge, Halpern, Mimno, Moitra, Sontag, Wu &
Zhu (2013), "A practical algorithm for topic modeling with provable guarantees" (RecoverL2, RecoverKL).

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

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from partwise.algorithms.spa import spa
from partwise.exceptions import InputError
from partwise.linalg.simplex import Loss, MixtureCertificate, likeliest, mixture_weights, proportions
from partwise.sources import MemorySource, RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]
Weighting = Literal["length", "equal"]
Projection = Literal["spectral", "random"]

OVERSAMPLE = 10  # further dimensions of the subspace in which eigenvectors are sought,
PASSES = 8  # and passes over the documents
RANDOM_DIMENSIONS = 1000  # as in Arora et al. (2013)
SMOOTHING = 1e-3  # share of the corpus in the topics that refinement starts from: EM never leaves a zero
EM_TOL = 1e-4  # nats a word by which weights may miss the best ones while topics still move


@dataclass(frozen=True)
class Counting:
    """What a document says about co-occurrence.

    Parameters
    ----------
    weighting : {"length", "equal"}
        The say of a document.
    unbiased : bool
        Whether rows are counts of words that were drawn (pairs are of different words of the document, and there are
        none in a document of less than two), or exact frequencies of any scale.
    """

    weighting: Weighting = "length"
    unbiased: bool = True

    def per_pair(self, lengths: Array) -> tuple[Array, Array]:
        """The factor of the pairs of each document, zero if it is dropped; and its say in all."""
        pairs = lengths * (lengths - 1.0) if self.unbiased else lengths**2
        kept = lengths >= 2.0 if self.unbiased else lengths > 0.0
        say = np.ones_like(lengths)
        if self.weighting == "length":
            say = lengths - 1.0 if self.unbiased else lengths
        factor = np.divide(say, pairs, out=np.zeros_like(lengths), where=kept)
        return factor, np.where(kept, say, 0.0)


@dataclass(frozen=True)
class Cooccurrence:
    """The estimate of ``Q``, the probabilities of ordered pairs of words, as an operator on the documents.

    Attributes
    ----------
    probabilities : ndarray of shape (n_words,)
        The sums of its rows: how often the first word of a pair is this one.
    documents : ndarray of shape (n_words,)
        Number of documents that have the word, dropped ones left out.
    n_dropped : int
        Documents with no pair of words.
    n_words : float
        Words of all the other documents; infinite where rows are exact frequencies.
    """

    source: RowSource
    counting: Counting
    probabilities: Array
    documents: Index
    n_dropped: int
    n_words: float
    total: float
    selves: Array  # pairs of a word with itself to be taken away, as many as times it occurs

    @classmethod
    def of(cls, source: RowSource, *, weighting: Weighting = "length", unbiased: bool = True) -> Cooccurrence:
        """Look at the documents once."""
        counting = Counting(weighting, unbiased)
        total, dropped, n_words, sums, documents, selves = source.reduce(partial(_count_block, counting=counting))
        if not total > 0.0:
            least = "two words" if unbiased else "one word"
            raise InputError(
                f"{{parameter}} has no document of at least {least}: topics are in what occurs together",
                parameter="X",
                kind="empty",
            )
        n_words = n_words if unbiased else np.inf
        p = np.maximum(sums - selves, 0.0) / total
        return cls(source, counting, p, documents, dropped, n_words, total, selves)

    def dot(self, M: Array) -> Array:
        """``Q M``, in one pass."""
        product = self.source.reduce(partial(_dot_block, M=np.ascontiguousarray(M), counting=self.counting))
        return np.asarray((product - self.selves[:, None] * M) / self.total)

    def matrix(self) -> sp.csr_array:
        """``Q`` itself, as sparse as it is."""
        Q = sp.csr_array(self.source.reduce(partial(_matrix_block, counting=self.counting)))
        diagonal = Q.diagonal()
        left = diagonal - self.selves
        left[left <= 1e-12 * diagonal] = 0.0  # the two sums differ by rounding
        Q = sp.csr_array(Q + sp.diags_array(left - diagonal))
        Q.eliminate_zeros()
        return sp.csr_array(Q / self.total)

    def conditional(self, Z: Any) -> Any:
        """Rows divided by the probability of their word; zero for words that have no pair."""
        p = self.probabilities
        return blocks.scale_rows(Z, np.divide(1.0, p, out=np.zeros_like(p), where=p > 0.0))


def _lengths(block: Block, counting: Counting) -> tuple[Array, Array, Array]:
    lengths = blocks.row_sums(block)
    return lengths, *counting.per_pair(lengths)


def _count_block(block: Block, counting: Counting) -> tuple[float, int, float, Array, Index, Array]:
    lengths, factor, say = _lengths(block, counting)
    x = blocks.values(block).astype(np.float64)
    present = blocks.with_values(block, (x > 0.0).astype(np.float64))
    kept = (factor > 0.0).astype(np.float64)
    sums = blocks.tdot(block, (factor * lengths)[:, None])[:, 0].astype(np.float64)
    selves = np.zeros(block.shape[1])
    if counting.unbiased:  # min: of a number below one, which is no count, no pair is left, and not less
        selves = blocks.tdot(blocks.with_values(block, np.minimum(x, x * x)), factor[:, None])[:, 0]
    documents = blocks.tdot(present, kept[:, None])[:, 0].astype(np.int64)
    return float(say.sum()), int((factor == 0.0).sum()), float((lengths * kept).sum()), sums, documents, selves


def _dot_block(block: Block, M: Array, counting: Counting) -> Array:
    _, factor, _ = _lengths(block, counting)
    return blocks.tdot(block, factor[:, None] * blocks.dot(block, M))


def _matrix_block(block: Block, counting: Counting) -> sp.csr_array:
    x = sp.csr_array(block, dtype=np.float64)
    _, factor, _ = _lengths(block, counting)
    return sp.csr_array(x.T @ blocks.scale_rows(x, factor))


def word_rows(Q: Cooccurrence, k: int, projection: Projection | None, rng: np.random.Generator) -> RowSource:
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


def find_anchors(rows: RowSource, k: int, candidates: npt.NDArray[np.bool_]) -> Index:
    """Words whose rows hold the others, by SPA; fewer than ``k`` where nothing is left to pick."""
    return spa(rows, k, row_scale=candidates.astype(np.float64)).anchors


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


def topic_moments(Q: Cooccurrence, H: Array) -> Array:
    """``R = E[w' w]`` from ``Q = H' R H`` by least squares."""
    P = np.linalg.pinv(H)
    R = P.T @ Q.dot(P)
    return np.asarray((R + R.T) / 2.0)
