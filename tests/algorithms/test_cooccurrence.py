"""Pairs of words against loops over tokens; the bound of their error against simulated errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import partwise as pw
from partwise.algorithms.concentration import Deviation, separations
from partwise.exceptions import DegenerateDataWarning, InputError

RNG = np.random.default_rng(0)
DOCUMENTS = [RNG.integers(0, 6, RNG.integers(0, 7)).tolist() for _ in range(60)]
COUNTS = np.array([np.bincount(document, minlength=6) for document in DOCUMENTS], float)


def slide(documents: Sequence[Sequence[int]], m: int) -> np.ndarray:
    M = np.zeros((m, m))
    for document in documents:
        if len(document) >= 2:
            M[document[0], document[1]] += 1
    return M


def matrices(documents: Sequence[Sequence[int]], m: int) -> list[np.ndarray]:
    """Of each document the mean over its ordered pairs of tokens."""
    kept = [list(permutations(document, 2)) for document in documents if len(document) >= 2]
    return [sum(slide([pair], m) for pair in pairs) / len(pairs) for pairs in kept]  # type: ignore[misc]


def corpus(n: int, seed: int, k: int = 3, m: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Documents of two tokens, of topics whose anchors are the words 0 to k - 1, and the topics and mixtures."""
    rng = np.random.default_rng(seed)
    H = np.random.default_rng(99).dirichlet(np.ones(m), size=k)
    H[:, :k] = np.diag(np.full(k, 0.4))
    H /= H.sum(axis=1, keepdims=True)
    W = rng.dirichlet(np.full(k, 0.2), size=n)
    steps = np.cumsum(W @ H, axis=1)[:, None, :]
    return np.minimum((rng.random((n, 2, 1)) > steps).sum(axis=2), m - 1), H, W


# --- the matrices -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_given", [list, lambda d: [np.array(x, int) for x in d]], ids=["lists", "arrays"])
def test_first_pairs_are_the_slide(as_given: Any) -> None:
    pairs = pw.Cooccurrence.of_tokens(as_given(DOCUMENTS), n_words=6)
    kept = sum(len(document) >= 2 for document in DOCUMENTS)
    assert (pairs.n_documents, pairs.n_dropped) == (kept, len(DOCUMENTS) - kept)
    M = (pairs.n_documents * pairs.matrix()).toarray()
    np.testing.assert_allclose(M, slide(DOCUMENTS, 6), rtol=1e-14)
    np.testing.assert_allclose(pairs.probabilities, M.sum(axis=1) / kept)
    assert not np.array_equal(M, M.T)  # ordered


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, pw.open_source], ids=["dense", "csr", "source"])
def test_all_pairs_are_the_mean_over_the_order_of_tokens(form: Any) -> None:
    pairs = pw.Cooccurrence.of(form(COUNTS))
    expected = np.mean(matrices(DOCUMENTS, 6), axis=0)
    np.testing.assert_allclose(pairs.matrix().toarray(), expected, atol=1e-15)
    np.testing.assert_allclose(pairs.probabilities, expected.sum(axis=1), atol=1e-15)


def test_two_tokens_have_the_symmetric_part_of_the_slide() -> None:
    tokens, *_ = corpus(500, 0)
    counts = np.array([np.bincount(pair, minlength=12) for pair in tokens])
    M = pw.Cooccurrence.of_tokens(tokens, n_words=12).matrix().toarray()
    np.testing.assert_allclose(pw.Cooccurrence.of(counts).matrix().toarray(), (M + M.T) / 2, atol=1e-15)


def test_expectation_is_that_of_the_slide() -> None:
    """E(M) = V Y Y' V' for documents of these mixtures, within six standard errors of every entry."""
    tokens, H, W = corpus(40_000, 1)
    M = pw.Cooccurrence.of_tokens(tokens, n_words=12).matrix().toarray()
    expected = H.T @ (W.T @ W / len(W)) @ H
    assert (np.abs(M - expected) <= 6 * np.sqrt(expected / len(W)) + 1e-9).all()


@pytest.mark.parametrize(
    ("documents", "told"),
    [
        ([[0], []], "documents has no document of at least two words"),
        ([[0, -1]], "documents has a negative number of a word"),
        ([[0.5, 1.0]], "documents must hold numbers of words"),
        ([[0], [0, 1], [-1, 0]], "in row 2, column 0"),
        ([[0, 9]], "n_words=6 must be a whole number above all words, the largest of which is 9"),
        ([0, 1, 2], "documents must be documents"),
        (np.arange(3), "documents must be documents"),
    ],
)
def test_no_documents(documents: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        pw.Cooccurrence.of_tokens(documents, n_words=6)


# --- the bound ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [None, [1, 4]], ids=["all", "some"])
@pytest.mark.parametrize("kind", ["first", "all"])
def test_variance_is_that_of_independent_pairs(kind: str, words: list[int] | None) -> None:
    """Of all pairs, one of floor(l / 2) without a common word is any ordered pair, and has two orders."""
    kept = [document for document in DOCUMENTS if len(document) >= 2]
    if kind == "first":
        pairs: Any = pw.Cooccurrence.of_tokens(DOCUMENTS, n_words=6)
        weighted = [(1.0, slide([document], 6)) for document in kept]
    else:
        pairs = pw.Cooccurrence.of(COUNTS)
        weighted = []
        for document in kept:
            orders = list(permutations(document, 2))
            share = 1.0 / (len(orders) * (len(document) // 2))
            weighted += [(share, (slide([pair], 6) + slide([pair], 6).T) / 2) for pair in orders]
    S = [(share, s if words is None else s[words]) for share, s in weighted]
    left, right = (np.sum([share * f(s) for share, s in S], axis=0) for f in (lambda s: s @ s.T, lambda s: s.T @ s))
    chosen = np.isin(np.arange(6), range(6) if words is None else words)
    sums = pairs._row_sums(chosen)
    np.testing.assert_allclose(sums, np.concatenate([left.sum(axis=1), right.sum(axis=1)]), atol=1e-12)
    assert max(np.linalg.norm(left, 2), np.linalg.norm(right, 2)) <= sums.max() + 1e-12


def test_bound_is_bernsteins() -> None:
    deviation = Deviation.of(np.array([3.0, 40.0]), 1000, 0.9)
    c, t = np.log(4 / 0.1), deviation.bound
    assert deviation.variance * 1000 - np.sqrt(2 * deviation.variance * 1000 * c) == pytest.approx(40.0)
    assert 2 * np.exp(-1000 * t**2 / 2 / (deviation.variance + np.sqrt(2) * t / 3)) == pytest.approx(0.05)
    assert deviation.needed(t) == pytest.approx(1000)
    # numbers of a hundredth
    smaller = Deviation.of(np.array([3.0, 40.0]) / 100, 1000, 0.9, scale=0.01)
    assert smaller.variance == pytest.approx(deviation.variance / 100)
    assert np.isinf(deviation.needed(0.0))


@pytest.mark.parametrize("kind", ["first", "all"])
def test_bound_holds_and_shrinks(kind: str) -> None:
    bounds = {}
    for n in (500, 8000):
        for seed in range(20):
            tokens, H, W = corpus(n, seed)
            pairs: Any = pw.Cooccurrence.of_tokens(tokens, n_words=12)
            if kind == "all":
                pairs = pw.Cooccurrence.of(np.array([np.bincount(pair, minlength=12) for pair in tokens]))
            expected = H.T @ (W.T @ W / n) @ H
            error = pairs.matrix().toarray() - expected
            bound = pairs.deviation(0.95)
            assert np.linalg.norm(error, 2) <= bound
            assert np.linalg.norm(error[[0, 2]], 2) <= pairs.deviation(0.95, [0, 2]) <= bound
        bounds[n] = bound
        assert np.linalg.norm(expected, 2) > bound or n == 500  # nothing at all is no estimate that would pass
    assert 3.5 < bounds[500] / bounds[8000] < 6.0  # sqrt(16), and what falls faster


def test_long_documents_are_many_pairs() -> None:
    """A document of 40 words is twenty pairs: the bound holds, and is much less than that of its first pair."""
    rng = np.random.default_rng(0)
    _, H, W = corpus(1000, 0)
    for _ in range(10):
        counts = rng.multinomial(40, W @ H)
        pairs = pw.Cooccurrence.of(counts)
        error = np.linalg.norm(pairs.matrix().toarray() - H.T @ (W.T @ W / 1000) @ H, 2)
        assert error <= pairs.deviation()
    tokens = corpus(1000, 0)[0]
    assert pairs.deviation() < 0.3 * pw.Cooccurrence.of_tokens(tokens, n_words=12).deviation()


def test_what_is_no_count() -> None:
    for X, told in (([[1, -1, 2]], "Negative"), ([[1, np.nan, 2]], "NaN")):
        with pytest.raises(InputError, match=told):
            pw.Cooccurrence.of(X)
    with pytest.raises(InputError, match="weighting='even'"):
        pw.Cooccurrence.of(COUNTS, weighting="even")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rows are counts"):
        pw.Cooccurrence.of(COUNTS / 2.0).deviation()
    with pytest.raises(InputError, match=r"n_words=2\.5"):
        pw.Cooccurrence.of_tokens([[0, 1]], n_words=2.5)  # type: ignore[arg-type]


def test_bad_questions() -> None:
    pairs = pw.Cooccurrence.of(COUNTS, weighting="length")
    for asked in (pairs, pw.Cooccurrence.of(COUNTS, unbiased=False)):
        with pytest.raises(InputError, match="weighting='equal', unbiased=True"):
            asked.deviation()
    pairs = pw.Cooccurrence.of(COUNTS)
    for words, told in (
        ([6], "from 0 to 5"),
        ([-1], "from 0 to 5"),
        ([1, 1], "twice"),
        ([], "from 0"),
        ([0.5], "from 0"),
    ):
        with pytest.raises(InputError, match=told):
            pairs.certainty(words)
    with pytest.raises(InputError, match=r"confidence=1\.0"):
        pairs.deviation(1.0)


# --- anchors ------------------------------------------------------------------------------------------------


def least_ratio(Z: np.ndarray, w: int) -> float:
    """The least |z_w - c Z| / sqrt(1 + |c|^2) over c >= 0 that many searches find."""
    others = np.delete(Z, w, axis=0)

    def ratio(c: np.ndarray) -> tuple[float, np.ndarray]:
        left = Z[w] - c @ others
        value = np.linalg.norm(left) / np.sqrt(1 + c @ c)
        return float(value), -(others @ left / value + value * c) / (1 + c @ c)

    starts = np.random.default_rng(1).random((20, len(others))) * 2
    return min(minimize(ratio, c, jac=True, bounds=[(0, None)] * len(c), tol=1e-12).fun for c in starts)


@pytest.mark.parametrize("seed", range(6))
def test_separation_is_the_least_error_that_joins(seed: int) -> None:
    Z = np.random.default_rng(seed).random((4, 9))
    for w, found in enumerate(separations(Z)):
        best, limit = least_ratio(Z, w), float(np.linalg.svd(np.delete(Z, w, axis=0), compute_uv=False)[-1])
        assert found == pytest.approx(min(best, limit), rel=1e-5)


def test_certainty_is_sound_and_comes_with_documents() -> None:
    """Anchors become certain at about the number that was told; a word of two topics never does."""
    told = []
    for n in (4000, 64_000):
        pairs = pw.Cooccurrence.of_tokens(corpus(n, 5)[0], n_words=12)
        told.append(pairs.certainty([0, 1, 2]))
        mixed = pairs.certainty([0, 1, 2, 7])
        assert not mixed.certain[3]
        assert mixed.documents[3] > 4 * n
    assert told[1].certain.all()
    assert (told[1].documents < 64_000).all()
    np.testing.assert_array_equal(told[0].certain, told[0].documents < 4000)
    assert (np.abs(np.log(told[0].documents / told[1].documents)) < np.log(3)).all()


def test_hull_of_the_expected_pairs_is_the_anchors() -> None:
    _, H, W = corpus(50, 0)
    M = H.T @ (W.T @ W) @ H
    with pytest.warns(DegenerateDataWarning, match="only 3 of 12"):  # r is not told
        found = pw.ConvexHull().fit(M)
    assert sorted(found.anchors_) == [0, 1, 2]


def test_anchor_topics_by_the_hull() -> None:
    _, H, W = corpus(300, 0)
    model = pw.AnchorTopics(3, search="hull", projection=None, weighting="equal", unbiased=False, refine=0).fit(W @ H)
    assert sorted(model.anchors_) == [0, 1, 2]
    match = pw.metrics.match_components(model.components_, H)
    assert match.errors.max() < 1e-8
