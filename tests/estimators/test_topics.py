"""AnchorTopics: what it recovers, what it says about it, and the words it shows."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import partwise as pw
from partwise.exceptions import DegenerateDataWarning, InputError

K, M, N = 5, 150, 4000


def make_corpus(length: int = 60) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Documents over topics that have an anchor each, the words 0, 30, 60, ...; the first three are too short."""
    rng = np.random.default_rng(1)
    H = rng.dirichlet(np.full(M, 0.1), size=K)
    anchors = 30 * np.arange(K)
    H[:, anchors] = 0.0
    H *= 0.96 / H.sum(axis=1, keepdims=True)
    H[np.arange(K), anchors] = 0.04
    W = rng.dirichlet(np.full(K, 0.2), size=N)
    P = W @ H
    X = rng.multinomial(length, P / P.sum(axis=1, keepdims=True))
    X[:3] = 0
    X[1:3, 5] = 1
    return sp.csr_array(X.astype(float)), H, W


X, H, W = make_corpus()
NAMES = [f"word{j}" for j in range(M)]
ignore_empty = pytest.mark.filterwarnings("ignore:X has .* all-zero")


def fitted(data: Any = X, **params: Any) -> pw.AnchorTopics:
    return pw.AnchorTopics(**{"n_components": K, "random_state": 0, **params}).fit(data)


def matched(model: pw.AnchorTopics) -> tuple[np.ndarray, np.ndarray]:
    """The l1 error of each topic, and the found ones in the order of the truth."""
    distances = np.abs(model.components_[:, None] - H[None]).sum(axis=2)
    order = distances.argmin(axis=0)
    assert sorted(order) == list(range(K))
    return distances.min(axis=0), order


@ignore_empty
@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({}, 0.06),
        ({"refine": 0}, 0.2),
        ({"recover": "kl"}, 0.06),
        ({"recover": "kl", "refine": 0}, 0.2),
        ({"projection": "random"}, 0.06),
        ({"projection": None}, 0.06),
        ({"weighting": "equal"}, 0.06),
    ],
    ids=lambda value: "-".join(map(str, value.values())) or "defaults" if isinstance(value, dict) else "",
)
def test_topics_are_recovered(params: dict[str, Any], error: float) -> None:
    model = fitted(**params)
    errors, order = matched(model)
    assert errors.max() < error
    assert model.certificate_.largest < 1e-10
    assert model.certificate_.gap.shape == (M,)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.topic_prior_[order], W.mean(axis=0), atol=0.2 * error)
    np.testing.assert_allclose(model.topic_covariance_[np.ix_(order, order)], W.T @ W / N, atol=0.2 * error)
    np.testing.assert_allclose(model.word_probabilities_.sum(), 1.0)


def test_documents_with_fewer_words_than_topics_are_not_refined() -> None:
    rng = np.random.default_rng(0)
    H = rng.dirichlet(np.full(30, 0.3), size=4)
    pairs = sp.csr_array(rng.multinomial(2, rng.dirichlet(np.full(4, 0.2), size=3000) @ H).astype(float))
    models = [pw.AnchorTopics(k, refine=refine, random_state=0).fit(pairs) for k in (4, 2) for refine in (0, 5)]
    assert np.array_equal(models[0].components_, models[1].components_)
    assert not np.array_equal(models[2].components_, models[3].components_)


@ignore_empty
def test_refinement_comes_near_to_knowing_the_weights() -> None:
    oracle = np.asarray(W.T @ X)
    best = np.abs(oracle / oracle.sum(axis=1, keepdims=True) - H).sum(axis=1)
    assert matched(fitted(refine=20))[0].mean() < 0.06 < best.mean()  # EM also knows which word is whose


@ignore_empty
def test_short_documents_are_dropped_and_counted() -> None:
    model = fitted()
    assert model.n_dropped_ == 3
    assert model.document_frequencies_[5] == (X[3:, [5]] > 0).sum()
    long = pw.AnchorTopics(K, refine=0, random_state=0).fit(X[3:])
    assert long.n_dropped_ == 0
    np.testing.assert_allclose(long.components_, fitted(refine=0).components_, atol=1e-9)


@ignore_empty
def test_anchors_are_words_of_enough_documents() -> None:
    model = fitted(min_documents=700)
    assert model.min_documents_ == 700
    assert (model.document_frequencies_[model.anchors_] >= 700).all()
    assert fitted().min_documents_ == 50
    assert pw.AnchorTopics(2, random_state=0).fit(X[10:110]).min_documents_ == 5
    with pytest.raises(InputError, match=r"only \d words occur in at least min_documents=3000 documents"):
        fitted(min_documents=3000)


@ignore_empty
def test_weights_explain_the_words_of_a_document() -> None:
    model = fitted()
    found = model.transform(X)
    np.testing.assert_allclose(found.sum(axis=1), X.sum(axis=1))
    assert not found[0].any()
    _, order = matched(model)
    shares = found[3:, order] / found[3:].sum(axis=1, keepdims=True)
    assert np.abs(shares - W[3:]).mean() < 0.03
    dense = X.toarray()
    r = (dense / np.where(dense > 0, found @ model.components_, 1.0)) @ model.components_.T
    assert r.max() <= 1.0 + 1e-9  # no topic would explain another word better
    np.testing.assert_array_equal(model.fit_transform(X), found)


@ignore_empty
@pytest.mark.parametrize("form", ["dense", "chunked", "dask", "int32", "float32"])
def test_where_documents_live_does_not_matter(form: str) -> None:
    forms: dict[str, Any] = {
        "dense": lambda: X.toarray(),
        "chunked": lambda: pw.open_source(X, block_rows=900),
        "dask": lambda: da.from_array(X.toarray(), chunks=(1100, M)),
        "int32": lambda: X.astype(np.int32),
        "float32": lambda: X.astype(np.float32),
    }
    model, other = fitted(refine=1), fitted(forms[form](), refine=1)
    np.testing.assert_array_equal(other.anchors_, model.anchors_)
    np.testing.assert_allclose(other.components_, model.components_, atol=1e-5 if form == "float32" else 1e-9)
    assert other.n_dropped_ == 3


@ignore_empty
def test_top_words() -> None:
    model = fitted(feature_names=NAMES)
    frequent = model.top_words(3, relevance=1.0)
    expected = np.argsort(-model.components_, axis=1)[:, :3]
    assert frequent == [[NAMES[j] for j in row] for row in expected]
    assert fitted().top_words(3, relevance=1) == expected.tolist()
    own = model.top_words(1, relevance=0.0)
    lift = model.components_ / np.maximum(model.word_probabilities_, 1e-300)
    assert [NAMES.index(words[0]) for words in own] == lift.argmax(axis=1).tolist()
    assert [len(words) for words in model.top_words(10_000)] == (model.components_ > 0).sum(axis=1).tolist()


@ignore_empty
def test_names_of_a_data_frame() -> None:
    model = fitted(pd.DataFrame(X.toarray(), columns=NAMES), refine=0)
    assert all(word in NAMES for words in model.top_words() for word in words)


def test_output_of_a_count_vectorizer() -> None:
    texts = ["cat dog cat", "dog cat", "sun moon sun", "moon sun moon", "dog dog cat", "sun moon"] * 4
    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(texts)
    model = pw.AnchorTopics(2, feature_names=vectorizer.get_feature_names_out(), random_state=0).fit(counts)
    assert sorted(map(sorted, model.top_words(2))) == [["cat", "dog"], ["moon", "sun"]]
    assert model.transform(counts)[:2].round(6).max(axis=1).tolist() == [3, 2]
    weights = make_pipeline(CountVectorizer(), clone(model)).fit_transform(texts)
    assert weights.shape == (24, 2)


def test_exact_frequencies_of_any_scale() -> None:
    model = fitted(1e-3 * (W @ H), unbiased=False, refine=0)
    assert matched(model)[0].max() < 1e-9
    assert sorted(model.anchors_) == (30 * np.arange(K)).tolist()


def test_fewer_topics_than_asked_for_are_told() -> None:
    two = np.repeat([[4.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 3.0]], 30, axis=0)
    with pytest.warns(DegenerateDataWarning, match="only 2 of 3 anchors"):
        model = fitted(two, n_components=3, unbiased=False)
    assert model.n_components_ == 2


@ignore_empty
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"feature_names": ["a", "b"]}, "feature_names has 2 names for the 150 columns"),
        ({"recover": "l1"}, "'recover' parameter"),
        ({"min_documents": 0}, "'min_documents' parameter"),
    ],
    ids=["names", "recover", "min-documents"],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(**params)


@ignore_empty
@pytest.mark.parametrize("arguments", [{"n_words": 0}, {"n_words": 1.5}, {"relevance": 2.0}], ids=str)
def test_bad_arguments_of_top_words(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="cannot be used"):
        fitted(refine=0).top_words(**arguments)
