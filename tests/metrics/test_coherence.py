from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_matrix, csr_array

from partwise.exceptions import InputError
from partwise.metrics.coherence import topic_coherence

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.5, size=(40, 12))
H = RNG.random((3, 12))


def by_definition(words, counts, measure):
    B, n = counts > 0, len(counts)
    values = []
    for l, m in combinations(words, 2):
        Dl, Dm, D = B[:, l].sum(), B[:, m].sum(), (B[:, l] & B[:, m]).sum()
        if measure == "umass":
            values.append(np.log((D + 1) / Dl))
        elif measure == "uci":
            values.append(np.log((D / n + 1e-12) / (Dl / n * Dm / n)))
        else:
            values.append(np.log(D / n / (Dl / n * Dm / n)) / -np.log(D / n) if D else -1.0)
    return np.sum(values) if measure == "umass" else np.mean(values)


@pytest.mark.parametrize("measure", ["npmi", "umass", "uci"])
@pytest.mark.parametrize("form", [np.asarray, csr_array, csc_matrix, coo_array, np.ndarray.tolist], ids=str)
def test_formulas(measure, form):
    expected = [by_definition(np.argsort(-row)[:5], COUNTS, measure) for row in H]
    given = form(COUNTS)
    np.testing.assert_allclose(topic_coherence(H, given, measure, top=5), expected)
    if not isinstance(given, list):
        np.testing.assert_array_equal(given.toarray() if hasattr(given, "toarray") else given, COUNTS)


def test_topics_as_numbers_and_names():
    words = np.argsort(-H, axis=1)[:, :4]
    names = [f"w{j}" for j in range(12)]
    expected = topic_coherence(H, COUNTS, top=4)
    np.testing.assert_array_equal(topic_coherence(words, COUNTS, top=4), expected)
    named = [[names[j] for j in row] for row in words]
    np.testing.assert_array_equal(topic_coherence(named, COUNTS, top=4, feature_names=names), expected)
    uneven = topic_coherence([words[0].tolist(), words[1, :2].tolist()], COUNTS)
    assert uneven[0] == expected[0]


def test_bounds_and_limits():
    counts = csr_array([[1, 1, 0, 1, 0], [2, 5, 0, 1, 0], [0, 0, 3, 1, 0], [0, 0, 0, 1, 0]])
    together, never, always, absent = [0, 1], [0, 2], [3, 0], [0, 4]
    assert topic_coherence([together], counts)[0] == pytest.approx(1.0)
    assert topic_coherence([never], counts)[0] == -1.0
    assert topic_coherence([always], counts)[0] == pytest.approx(0.0)  # independent of a word that is everywhere
    assert topic_coherence([absent], counts)[0] == -1.0
    assert topic_coherence([absent], counts, "umass")[0] == pytest.approx(np.log(1 / 4))
    assert topic_coherence([absent], counts, "uci")[0] == pytest.approx(np.log(1e-12))
    everywhere = np.ones((3, 2), dtype=int)
    assert topic_coherence([[1.0, 0.5]], everywhere)[0] == 1.0


def test_only_positive_weights_are_words():
    H = np.zeros((3, 12))
    H[0, 3], H[1, [2, 5]] = 1.0, [0.1, 0.2]
    values = topic_coherence(H, COUNTS)
    assert np.isnan(values[[0, 2]]).all()
    assert values[1] == pytest.approx(by_definition([5, 2], COUNTS, "npmi"))
    assert np.isnan(topic_coherence(np.zeros((2, 12)), COUNTS)).all()


def test_explicit_zeros_and_duplicates_are_no_occurrences():
    counts = coo_array(([1, 1, 0, 2], ([0, 0, 1, 1], [0, 0, 0, 1])), shape=(3, 2))
    # word 0 in document 0 (twice), word 1 in document 1; the explicit zero does not count
    assert topic_coherence([[0.5, 0.5]], counts)[0] == -1.0
    assert topic_coherence([[0.6, 0.4]], counts, "umass")[0] == pytest.approx(np.log(1 / 1))


def test_large_sparse_counts_stay_sparse():
    n, m = 200_000, 100_000  # dense would be 160 GB
    rows, columns = RNG.integers(n, size=10**6), RNG.integers(m, size=10**6)
    counts = csr_array((np.ones(10**6), (rows, columns)), shape=(n, m))
    assert topic_coherence([[1, 2, 3]], counts).shape == (1,)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"measure": "cv"}, "measure"),
        ({"top": 1}, "top"),
        ({"top": 2.0}, "top"),
        ({"topics": []}, "topics"),
        ({"topics": np.ones((2, 5))}, "topics has rows"),
        ({"topics": [[0, 12]]}, "outside"),
        ({"topics": [[0, 0]]}, "twice"),
        ({"topics": [["w1", "w2"]]}, "feature_names"),
        ({"topics": [["w1", "w2"]], "feature_names": ["w1"]}, "feature_names"),
        ({"topics": [["w1", "x"]], "feature_names": [f"w{j}" for j in range(12)]}, "'x'"),
        ({"topics": H * np.nan}, "NaN"),
        ({"topics": [[[1]]]}, "two-dimensional"),
        ({"counts": -COUNTS}, "counts"),
        ({"counts": np.ones(3)}, "counts"),
        ({"counts": np.full((2, 12), np.nan)}, "counts"),
    ],
    ids=str,
)
def test_bad_input_is_named(arguments, word):
    with pytest.raises(InputError, match=word):
        topic_coherence(**{"topics": H, "counts": COUNTS, **arguments})
