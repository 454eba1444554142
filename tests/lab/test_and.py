"""The topics behind AND's figures: Arora et al. (2013), step by step."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from partwise.exceptions import DataNotFoundError
from partwise.lab import and_

K, M, N, SEED = 4, 30, 600, 8


def corpus() -> np.ndarray:
    """Documents of 6 to 15 words over topics that share their words, a third of which are rare."""
    rng = np.random.default_rng(SEED)
    H = rng.dirichlet(np.where(np.arange(M) < 2 * M // 3, 0.3, 0.01), size=K)
    weights = rng.dirichlet(np.full(K, 0.3), size=N)
    counts = np.array([rng.multinomial(rng.integers(6, 16), w @ H) for w in weights])
    return counts[:, counts.any(axis=0)]


def farthest(rows: np.ndarray, words: list[int]) -> int:
    """The row with the largest distance to the span of some."""
    span = np.linalg.pinv(rows[words]) @ rows[words] if words else np.zeros((rows.shape[1],) * 2)
    return int(np.argmax(np.linalg.norm(rows - rows @ span, axis=1)))


def mixture(corners: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Least squares on the simplex; that weights sum to one is an equation that weighs a million times the others."""
    A = np.vstack([corners.T, np.full(len(corners), 1e6)])
    return scipy.optimize.nnls(A, np.append(row, 1e6))[0]


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> Iterator[np.ndarray]:
    counts = corpus()
    and_.nips_topics.cache_clear()
    monkeypatch.setattr(and_.datasets, "load_nips", lambda: SimpleNamespace(X=sp.csr_array(counts.astype(float))))
    yield counts
    and_.nips_topics.cache_clear()


def test_topics_are_those_of_the_cited_algorithm(documents: np.ndarray) -> None:
    """Pairs of different tokens, every document alike; both rounds; RecoverL2 on whole rows; Bayes; nothing more."""
    lengths = documents.sum(axis=1)
    Q = sum((np.outer(x, x) - np.diag(x)) / (n * (n - 1)) for x, n in zip(documents, lengths, strict=True)) / N
    p = Q.sum(axis=1)
    rows = Q / p[:, None]
    enough = (documents > 0).sum(axis=0) >= N // 20  # words of less documents are no anchors
    candidates = np.where(enough[:, None], rows, 0.0)
    greedy: list[int] = []
    for _ in range(K):
        greedy.append(farthest(candidates, greedy))
    anchors = greedy.copy()
    for i in range(K):
        anchors[i] = farthest(candidates, anchors[:i] + anchors[i + 1 :])
    assert anchors != greedy  # each of the steps makes a difference here
    assert farthest(rows, []) not in anchors
    joint = np.array([mixture(rows[anchors], row) for row in rows]).T * p
    found = and_.nips_topics(K)
    assert found is not None
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), atol=1e-5)


def test_without_the_corpus_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise DataNotFoundError("nowhere")

    and_.nips_topics.cache_clear()
    monkeypatch.setattr(and_.datasets, "load_nips", missing)
    assert and_.nips_topics(K) is None
    and_.nips_topics.cache_clear()
