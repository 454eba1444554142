"""Rectified co-occurrence is what topics could have made, and helps where documents are few and short."""

from __future__ import annotations

import numpy as np
import pytest

import partwise as pw
from partwise.algorithms import rectified
from partwise.algorithms.rectified import rectify
from partwise.exceptions import InputError


def documents(seed: int, n: int, length: int, k: int = 6, m: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    H = rng.dirichlet([0.1] * m, k)
    H[:, :k] = 0.05 * np.eye(k)  # anchors
    H /= H.sum(axis=1, keepdims=True)
    W = rng.dirichlet([0.1] * k, n)
    X = np.array([rng.multinomial(length, w @ H) for w in W]).astype(float)
    seen = X.any(axis=0)
    return X[:, seen], H[:, seen]


def error(X: np.ndarray, H: np.ndarray, **options: object) -> float:
    """Mean l1 distance of the topics from the true ones."""
    model = pw.AnchorTopics(len(H), refine=0, random_state=0, **options).fit(X)
    matched = pw.metrics.match_components(model.components_, H)
    return float(np.abs(model.components_[matched.permutation] - H).sum(axis=1).mean())


def test_what_topics_could_have_made() -> None:
    X, _ = documents(0, 1000, 5)
    C = rectify(pw.Cooccurrence.of(X), 6).C
    assert C.min() >= 0.0
    np.testing.assert_allclose(C.sum(), 1.0)
    np.testing.assert_allclose(C, C.T, atol=1e-15)
    values = np.linalg.eigvalsh(C)
    assert values[-1] > 0.0
    # but for the last projection, onto non-negative matrices
    assert np.abs(values[:-6]).max() < 0.05 * values[-6]
    raw = np.linalg.eigvalsh(pw.Cooccurrence.of(X).matrix().toarray())
    assert np.abs(raw[:-6]).max() > 5.0 * np.abs(values[:-6]).max()


def test_exact_cooccurrence_stays_as_it_is() -> None:
    rng = np.random.default_rng(0)
    H = rng.dirichlet([0.5] * 30, 4)
    W = rng.dirichlet([0.3] * 4, 500)
    pairs = pw.Cooccurrence.of(W @ H, unbiased=False)
    np.testing.assert_allclose(rectify(pairs, 4).C, pairs.matrix().toarray(), atol=1e-12)


@pytest.mark.parametrize("projection", ["spectral", None])
def test_it_helps_where_documents_are_few_and_short(projection: str | None) -> None:
    before, after = np.mean(
        [
            [error(*documents(seed, 500, 4), projection=projection, rectify=rectify) for rectify in (False, True)]
            for seed in range(4)
        ],
        axis=0,
    )
    assert after < 0.95 * before


def test_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = documents(0, 100, 5)
    monkeypatch.setattr(rectified, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match=r"\d+ x \d+ words is too large; leave out rare words"):
        pw.AnchorTopics(6, rectify=True).fit(X)
    monkeypatch.undo()
    with pytest.raises(InputError, match="is not bounded"):
        rectify(pw.Cooccurrence.of(X), 6).deviation()
