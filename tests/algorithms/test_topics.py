"""Co-occurrence against a triple loop; anchors, recovery and moments where they are exact."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from partwise.algorithms.cooccurrence import Cooccurrence
from partwise.algorithms.counting import Counting
from partwise.algorithms.topics import (
    bayes,
    explain_block,
    find_anchors,
    recover,
    refine,
    topic_moments,
    word_rows,
)
from partwise.exceptions import InputError
from partwise.sources import source_of

COUNTS = np.random.default_rng(0).poisson(0.7, (30, 8)).astype(float)
COUNTS[3] = 0.0
COUNTS[4] = np.eye(8)[2]
COUNTS[:, 6] = 0.0


def by_pairs(X: np.ndarray, weighting: str) -> np.ndarray:
    """The share of (word, word) among ordered pairs of different tokens of a document."""
    Q, total = np.zeros((X.shape[1],) * 2), 0.0
    for x in X.astype(int):
        tokens = np.repeat(np.arange(len(x)), x)
        pairs = np.zeros_like(Q)
        for s, first in enumerate(tokens):
            for t, second in enumerate(tokens):
                pairs[first, second] += s != t
        if len(tokens) >= 2:
            say = len(tokens) - 1 if weighting == "length" else 1
            Q += say * pairs / pairs.sum()
            total += say
    return Q / total


@pytest.mark.parametrize("weighting", ["length", "equal"])
@pytest.mark.parametrize("form", ["dense", "csr", "chunked", "dask"])
def test_cooccurrence_counts_pairs_of_tokens(form: str, weighting: Any) -> None:
    forms: dict[str, Any] = {
        "dense": COUNTS,
        "csr": sp.csr_array(COUNTS),
        "chunked": source_of(sp.csr_array(COUNTS), block_rows=4),
        "dask": da.from_array(COUNTS, chunks=(7, 8)),
    }
    Q = Cooccurrence.of(source_of(forms[form]), weighting=weighting)
    expected = by_pairs(COUNTS, weighting)
    matrix = Q.matrix()
    assert isinstance(matrix, sp.csr_array)
    np.testing.assert_allclose(matrix.toarray(), expected, atol=1e-15)
    np.testing.assert_allclose(Q.dot(np.eye(8)), expected, atol=1e-15)
    np.testing.assert_allclose(Q.probabilities, expected.sum(axis=1), atol=1e-15)
    assert Q.n_dropped == (COUNTS.sum(axis=1) < 2).sum() >= 2
    np.testing.assert_array_equal(Q.documents, (COUNTS[COUNTS.sum(axis=1) >= 2] > 0).sum(axis=0))


def test_a_word_that_never_repeats_has_no_pair_with_itself() -> None:
    X = sp.csr_array((np.random.default_rng(0).random((50, 6)) < 0.6).astype(float))
    Q = Cooccurrence.of(source_of(X)).matrix()
    assert not Q.diagonal().any()
    assert Q.nnz == 30


@pytest.mark.parametrize("weighting", ["length", "equal"])
def test_estimate_is_unbiased(weighting: Any) -> None:
    """The mean over all outcomes of two short documents, by enumeration."""
    p = np.array([0.5, 0.3, 0.2])
    expected = np.zeros((3, 3))
    for a in range(3):
        for b in range(3):
            for c in range(3):
                X = np.array([np.bincount([a, b], minlength=3), np.bincount([a, b, c], minlength=3)], float)
                expected += p[a] * p[b] * p[c] * Cooccurrence.of(source_of(X), weighting=weighting).dot(np.eye(3))
    np.testing.assert_allclose(expected, np.outer(p, p), atol=1e-15)


def test_exact_frequencies_lose_nothing() -> None:
    X = np.random.default_rng(0).dirichlet(np.ones(5), size=20)
    Q = Cooccurrence.of(source_of(7.0 * X), unbiased=False, weighting="equal")
    np.testing.assert_allclose(Q.dot(np.eye(5)), X.T @ X / 20, atol=1e-15)
    assert Q.n_dropped == 0


def test_documents_of_one_word_are_refused() -> None:
    with pytest.raises(InputError, match="no document of at least two words"):
        Cooccurrence.of(source_of(np.eye(4)))


def test_numbers_that_are_no_counts_make_no_negative_pairs() -> None:
    X = np.random.default_rng(0).random((20, 6)) * 1.5
    Q = Cooccurrence.of(source_of(X))
    assert (Q.matrix().toarray() >= 0).all()
    np.testing.assert_allclose(Q.dot(np.eye(6)), Q.matrix().toarray(), atol=1e-15)


def test_dropped_documents_have_no_say() -> None:
    factor, say = Counting().per_pair(np.array([0.0, 1.0, 2.0, 5.0]))
    np.testing.assert_allclose(factor, [0, 0, 0.5, 0.2])
    np.testing.assert_allclose(say, [0, 0, 1, 4])


def population(k: int = 5, m: int = 60, n: int = 400) -> tuple[np.ndarray, ...]:
    """Exact frequencies of documents over topics that have an anchor each, the words 3, 13, 23, ..."""
    rng = np.random.default_rng(k)
    H = rng.dirichlet(np.full(m, 0.3), size=k)
    anchors = 3 + 10 * np.arange(k)
    H[:, anchors] = 0.0
    H[np.arange(k), anchors] = 0.05
    H /= H.sum(axis=1, keepdims=True)
    W = rng.dirichlet(np.full(k, 0.4), size=n)
    return W @ H, H, W, anchors


@pytest.mark.parametrize("projection", ["spectral", "random", None])
@pytest.mark.parametrize("loss", ["l2", "kl"])
def test_population_gives_the_topics_exactly(projection: Any, loss: Any) -> None:
    X, H, W, anchors = population()
    Q = Cooccurrence.of(source_of(X), unbiased=False)
    rows = word_rows(Q, 5, projection, np.random.default_rng(0))
    found = find_anchors(rows, 5, np.ones(60, bool))
    order = np.argsort(found)
    np.testing.assert_array_equal(found[order], anchors)
    exact = word_rows(Q, 5, None, np.random.default_rng(0)) if loss == "kl" else rows
    topics, prior, certificate = recover(Q, exact, found, loss)
    assert certificate.largest < 1e-10
    np.testing.assert_allclose(topics[order], H, atol=1e-6 if loss == "kl" else 1e-10)
    np.testing.assert_allclose(prior[order], W.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(topic_moments(Q, topics[order]), W.T @ W / 400, atol=1e-6)


def test_anchors_are_sought_among_candidates() -> None:
    X, _, _, anchors = population()
    rows = word_rows(Cooccurrence.of(source_of(X), unbiased=False), 5, None, np.random.default_rng(0))
    candidates = np.ones(60, bool)
    candidates[anchors[:2]] = False
    found = find_anchors(rows, 5, candidates)
    assert set(anchors[2:]) <= set(found)
    assert not set(anchors[:2]) & set(found)


def test_bayes() -> None:
    joint = np.random.default_rng(0).random((3, 7))
    joint /= joint.sum()
    H, prior = bayes((joint / joint.sum(axis=0)).T, joint.sum(axis=0))
    np.testing.assert_allclose(prior, joint.sum(axis=1))
    np.testing.assert_allclose(H * prior[:, None], joint)


def log_likelihood(X: np.ndarray, H: np.ndarray) -> float:
    W = explain_block(X, np.ascontiguousarray(H.T), 1e-11)
    return float((X * np.log(np.where(X > 0, W @ H / X.sum(axis=1, keepdims=True), 1.0))).sum())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_refinement_raises_the_likelihood(form: Any) -> None:
    P, H, _, _ = population(n=150)
    X = np.random.default_rng(0).multinomial(60, P).astype(float)
    rough = 0.7 * H + 0.3 * P.mean(axis=0)
    found = [rough]
    for _ in range(4):
        source = source_of(form(X), block_rows=40)
        found.append(refine(source, found[-1].copy(), np.full(5, 0.2), P.mean(axis=0), 1)[0])
    values = [log_likelihood(X, topics) for topics in found]
    assert np.diff(values).min() > 0
    np.testing.assert_allclose(found[-1].sum(axis=1), 1.0)
    assert np.abs(found[-1] - H).sum() < 0.8 * np.abs(rough - H).sum()


def test_no_refinement_changes_nothing() -> None:
    H, prior = np.eye(2), np.array([0.25, 0.75])
    same, kept = refine(source_of(np.eye(2)), H, prior, np.ones(2) / 2, 0)
    np.testing.assert_array_equal(same, np.eye(2))
    np.testing.assert_array_equal(kept, prior)


def test_explained_words_sum_to_those_that_topics_have() -> None:
    X = np.array([[2.0, 3.0, 4.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    W = explain_block(sp.csr_array(X), np.array([[1.0, 0.2], [0.0, 0.8], [0.0, 0.0]]), 1e-11)
    np.testing.assert_allclose(W.sum(axis=1), [5.0, 0.0, 0.0])
