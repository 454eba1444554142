"""The steps of TSVDNMF against the paper's, written out as loops over sets; recovery of dominant parts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

import partwise as pw
from partwise.algorithms.kmeans import Clustering
from partwise.algorithms.tsvdnmf import (
    Parts,
    Thresholds,
    basis_vectors,
    cluster,
    dominant_features,
    find_thresholds,
    means_of,
    programmed_thresholds,
    prune,
    prune_programmed,
    purest_records,
    tsvd_thresholds,
    usable,
)
from partwise.datasets import Mixture, add_gaussian_noise, add_multinomial_noise, make_dominant
from partwise.exceptions import DegenerateDataWarning
from partwise.sources import MemorySource, RowSource, blocks, source_of

forms = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
seeds = pytest.mark.parametrize("seed", range(8))


def some_data(seed: int, n: int = 120, m: int = 14) -> np.ndarray:
    """Sparse, signed, with many ties; some features occur nearly wherever another one does."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 9, (n, m)) / 4.0 * (rng.random((n, m)) < rng.uniform(0.05, 0.9, m))
    for j in range(0, m - 1, 4):
        X[:, j] = 2.0 * (rng.random(n) < 0.25)
        X[:, j + 1] = (X[:, j] > 0) | (rng.random(n) < 0.3)
    X[:, m - 1] = rng.standard_normal(n)
    return X


# --- the paper's procedures, literally; A is d x n as there ---------------------------------------------------


def literal_thresholding(
    A: np.ndarray, rank: int, alpha: float, eps4: float, eps0: float | None, T: list[int] | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Section 4.1; without steps 3 and 4 if eps0 is None.  Returns D, zeta and by whom each feature is pruned."""
    d, n = A.shape
    T = list(range(n)) if T is None else T
    D, zetas, pruned_by = np.zeros((d, n)), np.zeros(d), np.full(d, -1)
    W: list[set[int]] = [set() for _ in range(d)]
    R = []
    for i in range(d):
        zeta = alpha * sorted(A[i], reverse=True)[rank - 1] - 2.0 * eps4
        if zeta <= 0.0:  # at zero the paper keeps the feature, with entries sqrt(0)
            continue
        R.append(i)
        zetas[i] = zeta
        W[i] = {j for j in range(n) if A[i, j] >= zeta * (1.0 - 1e-15)}
        for j in W[i]:
            D[i, j] = np.sqrt(zeta)
    if eps0 is None:
        return D, zetas, pruned_by
    compared = [W[i] & set(T) for i in range(d)]
    share = eps0 * len(T)
    R.sort(key=lambda i: len(compared[i]))  # stable
    for a, i in enumerate(list(R)):
        if pruned_by[i] >= 0:
            continue
        for other in R[a + 1 :]:
            if pruned_by[other] >= 0 or len(compared[i]) > len(compared[other]) - share / 8.0:
                continue
            if len(compared[i] - compared[other]) <= share / 4.0:
                pruned_by[other] = i
                for j in W[other] - W[i]:
                    D[other, j] = 0.0
    return D, zetas, pruned_by


def literal_tsvd_threshold(values: np.ndarray, rank: int, most_equal: float) -> set[int]:
    """Records above the largest positive value with ``rank`` entries above and few equal to it; above zero if none."""
    best = 0.0
    if (values > 0).sum() < rank:
        return set()
    for v in set(values.tolist()):
        if v > best and (values > v).sum() >= rank and (values == v).sum() <= most_equal:
            best = v
    return set(np.flatnonzero(values > best).tolist())


def literal_dominant(A: np.ndarray, clusters: list[list[int]], rank: int, nu: float) -> list[list[int]]:
    g = [[sorted(A[i, R], reverse=True)[min(rank, len(R)) - 1] if R else 0.0 for R in clusters] for i in range(len(A))]
    others = [[max([0.0, *(row[o] for o in range(len(row)) if o != l)]) for l in range(len(row))] for row in g]
    return [[i for i in range(len(A)) if g[i][l] > nu * others[i][l]] for l in range(len(clusters))]


def literal_purest(A: np.ndarray, J: list[int], count: int) -> list[int]:
    sums = A[J].sum(axis=0)
    return sorted(range(A.shape[1]), key=lambda j: (-sums[j], j))[:count]


# --- steps 1 and 2 of the thresholding procedure --------------------------------------------------------------


@seeds
@forms
@pytest.mark.parametrize("eps4", [0.0, 0.1])
def test_thresholds(form: Any, seed: int, eps4: float) -> None:
    X = some_data(seed)
    source = MemorySource(form(X), block_rows=33)
    thresholds = find_thresholds(source, 12, alpha=0.9, eps4=eps4)
    D, zetas, _ = literal_thresholding(X.T, 12, 0.9, eps4, None)
    np.testing.assert_allclose(thresholds.levels, zetas, rtol=1e-15)
    assert (thresholds.partner == -1).all()
    np.testing.assert_array_equal(thresholds.kept, np.flatnonzero(zetas))
    assert len(thresholds.kept) > 5
    found = thresholds.apply(source)
    assert found.shape == (len(X), len(thresholds.kept))
    np.testing.assert_allclose(blocks.to_dense(found.take(np.arange(len(X)))), D[zetas > 0].T, rtol=1e-15)


@seeds
@forms
def test_thresholds_of_the_program(form: Any, seed: int) -> None:
    X = some_data(seed)
    thresholds = programmed_thresholds(MemorySource(form(X), block_rows=33), 30, alpha=0.9)
    for i, column in enumerate(X.T):
        positive = np.sort(column[column > 0.0])[::-1]
        expected = 0.0 if not len(positive) else positive[min(30, len(positive)) - 1]
        assert thresholds.levels[i] == pytest.approx(0.9 * expected, rel=1e-15)


@seeds
@forms
def test_pruning_of_the_program(form: Any, seed: int) -> None:
    """Written out: sets of more than 2 slack records, smaller by the gap, contained but for slack records."""
    X, gap, slack = some_data(seed), 6.0, 5.0
    source = MemorySource(form(X), block_rows=33)
    thresholds = programmed_thresholds(source, 12, alpha=0.9)
    found = prune_programmed(source, thresholds, gap=gap, slack=slack)
    level = thresholds.levels * (1.0 - 1e-12)
    W = [set(np.flatnonzero(X[:, i] >= level[i]).tolist()) if level[i] > 0 else set() for i in range(X.shape[1])]
    order = sorted((i for i in range(X.shape[1]) if W[i]), key=lambda i: len(W[i]))
    expected = np.full(X.shape[1], -1)
    for a, i in enumerate(order):
        if expected[i] >= 0 or len(W[i]) <= 2 * slack:
            continue
        for other in order[a + 1 :]:
            if expected[other] < 0 and len(W[other]) >= len(W[i]) + gap and len(W[i] - W[other]) <= slack:
                expected[other] = i
    np.testing.assert_array_equal(found.partner, expected)
    np.testing.assert_array_equal(found.levels, thresholds.levels)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_entries_equal_to_the_threshold_count(dtype: Any) -> None:
    X = np.array([[0.3], [0.3], [0.1], [0.7], [0.0]], dtype)
    thresholds = find_thresholds(MemorySource(X), 3, alpha=1.0, eps4=0.0)
    D = thresholds.apply(MemorySource(X))
    assert D.dtype == dtype
    np.testing.assert_array_equal(blocks.to_dense(D.take(np.arange(5)))[:, 0] > 0, [True, True, False, True, False])


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("unit", [0.01, 1 / 60, 1 / 7, 1e-30], ids=str)
def test_rounding_does_not_decide_about_shares_of_counts(unit: float, dtype: Any) -> None:
    X = (unit * np.arange(1, 41)[:, None]).astype(dtype)
    for rank in (1, 11, 21, 31):  # 40, 30, 20, 10, of which 0.9 is a count again
        D = find_thresholds(MemorySource(X), rank, alpha=0.9, eps4=0.0).apply(MemorySource(X))
        assert D.take(np.arange(40)).nnz == 40 - 0.9 * (41 - rank) + 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@forms
def test_rounding_does_not_decide_about_equally_pure_records(form: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(60, np.full(8, 1 / 8), size=400)
    features = np.array([0, 2, 3, 5, 7])
    for unit in (1 / 60, 1e-3):
        found = purest_records(MemorySource(form((unit * counts).astype(dtype)), block_rows=37), [features], 30)[0]
        assert found.tolist() == literal_purest(counts.T, features.tolist(), 30)


@forms
def test_thresholded_rows_stay_sparse(form: Any) -> None:
    X = some_data(0)
    D = find_thresholds(MemorySource(form(X)), 12, alpha=0.9, eps4=0.0).apply(MemorySource(form(X)))
    block = D.take(np.arange(len(X)))
    assert sp.issparse(block)
    assert block.has_canonical_format
    assert (block.data > 0).all()


# --- pruning --------------------------------------------------------------------------------------------------


def pruned(source: RowSource, rank: int, eps0: float, **options: Any) -> Thresholds:
    thresholds = find_thresholds(source, rank, alpha=0.9, eps4=0.0)
    return prune(source, thresholds, 3, eps0, np.random.default_rng(5), **options)


@seeds
@forms
@pytest.mark.parametrize("eps0", [0.08, 0.2])
def test_pruning(form: Any, seed: int, eps0: float) -> None:
    X = some_data(seed)
    source = MemorySource(form(X), block_rows=50)
    rank = int(eps0 * len(X) / 2)
    found = pruned(source, rank, eps0)
    D, zetas, pruned_by = literal_thresholding(X.T, rank, 0.9, 0.0, eps0)
    np.testing.assert_array_equal(found.partner, pruned_by)
    assert (pruned_by >= 0).any()
    np.testing.assert_allclose(found.levels, zetas, rtol=1e-15)
    thresholded = blocks.to_dense(found.apply(source).take(np.arange(len(X))))
    np.testing.assert_allclose(thresholded, D[zetas > 0].T, rtol=1e-15)


@seeds
def test_pruning_on_a_sample(seed: int) -> None:
    X = some_data(seed, n=200)
    source = MemorySource(X)
    size = 90
    # the sample is the first that the generator draws
    sampled = size * 0.1 / (3 * np.log(X.shape[1])) * (1 + 1e-12)
    T = np.sort(np.random.default_rng(5).choice(len(X), size, replace=False)).tolist()
    found = pruned(source, 10, 0.1, sampled=sampled)
    D, zetas, pruned_by = literal_thresholding(X.T, 10, 0.9, 0.0, 0.1, T)
    np.testing.assert_array_equal(found.partner, pruned_by)
    np.testing.assert_allclose(blocks.to_dense(found.apply(source).take(np.arange(len(X)))), D[zetas > 0].T, rtol=1e-15)
    # a sample of all is all
    np.testing.assert_array_equal(pruned(source, 10, 0.1, sampled=1e9).partner, pruned(source, 10, 0.1).partner)


def test_pruning_of_nothing() -> None:
    X = np.zeros((20, 4))
    assert (pruned(MemorySource(X), 2, 0.2).partner == -1).all()


def test_who_is_pruned_prunes_nobody() -> None:
    """A chain of sets, each in the next: all are pruned to the first, none to one that is pruned itself."""
    n = 100
    X = np.array([[float(j < 20 * (i + 1)) for i in range(4)] for j in range(n)])
    assert pruned(MemorySource(X), 10, 0.2).partner.tolist() == [-1, 0, 0, 0]


# --- TSVD's thresholds ----------------------------------------------------------------------------------------


@seeds
@forms
@pytest.mark.parametrize("most_equal", [0.0, 6.0, 15.0, 1e9])
def test_tsvd_thresholds(form: Any, seed: int, most_equal: float) -> None:
    X = some_data(seed)
    source = MemorySource(form(X), block_rows=40)
    thresholds = tsvd_thresholds(source, 12, most_equal=most_equal)
    for i in range(X.shape[1]):
        level = thresholds.levels[i]
        found = set(np.flatnonzero(X[:, i] >= level).tolist()) if level > 0 else set()
        assert found == literal_tsvd_threshold(X[:, i], 12, most_equal), i
    if most_equal == 1e9:  # then it is the rank-th largest
        np.testing.assert_array_equal(thresholds.levels, find_thresholds(source, 12, alpha=1.0, eps4=0.0).levels)


# --- fewer positive entries than asked for ----------------------------------------------------------------------


def test_rank_is_halved_until_a_threshold_is_positive() -> None:
    X = np.zeros((40, 3))
    X[:6, 1] = 1.0
    source = MemorySource(X)
    thresholds, rank, notes = usable(lambda rank: find_thresholds(source, rank, alpha=0.9, eps4=0.0), 20)
    assert rank == 5
    assert thresholds.kept.tolist() == [1]
    assert notes == ["no threshold is positive for the 20-th largest entries: they are of the 5-th largest"]


def test_no_rank_makes_a_threshold_positive() -> None:
    find = lambda rank: find_thresholds(MemorySource(np.zeros((40, 3))), rank, alpha=0.9, eps4=0.0)  # noqa: E731
    thresholds, rank, notes = usable(find, 20)
    assert (rank, len(thresholds.kept)) == (1, 0)
    assert notes == ["no threshold is positive: all records are in one cluster"]


# --- clusters -------------------------------------------------------------------------------------------------


@forms
def test_clusters_of_blocks(form: Any) -> None:
    D = np.kron(np.eye(4), np.ones((25, 3)))
    found = cluster(MemorySource(form(D)), 4, np.random.default_rng(0), n_init=5, max_iter=50)
    assert pw.metrics.clustering_accuracy(np.repeat(np.arange(4), 25), found.labels) == 1.0
    assert found.settled
    assert found.inertia == pytest.approx(0.0, abs=1e-10)


@seeds
@forms
def test_clusters_are_those_of_the_projection_moved_by_lloyd(form: Any, seed: int) -> None:
    """Steps 2 and 3 by NumPy and scikit-learn: the best k-means of the rank-k approximation, then Lloyd on D."""
    rng = np.random.default_rng(seed)
    D = 1.5 * np.repeat(np.eye(3, 12), 40, axis=0) + rng.random((120, 12))
    U, s, Vt = np.linalg.svd(D, full_matrices=False)
    start = KMeans(3, n_init=20, random_state=0).fit((U * s)[:, :3])
    expected = KMeans(3, init=start.cluster_centers_ @ Vt[:3], n_init=1, tol=0.0).fit(D)
    found = cluster(MemorySource(form(D), block_rows=50), 3, np.random.default_rng(0), n_init=20, max_iter=100)
    assert pw.metrics.clustering_accuracy(expected.labels_, found.labels) == 1.0
    assert found.inertia == pytest.approx(expected.inertia_, rel=1e-9)


def test_without_features_there_is_one_cluster() -> None:
    found = cluster(MemorySource(np.zeros((7, 0))), 3, np.random.default_rng(0), n_init=5, max_iter=50)
    assert found.sizes.tolist() == [7, 0, 0]
    assert not found.labels.any()


def test_more_clusters_than_features_are_kept() -> None:
    D = np.array([[0.0], [1.0], [2.0]] * 10)
    found = cluster(MemorySource(D), 3, np.random.default_rng(0), n_init=5, max_iter=50)
    assert found.sizes.tolist() == [10, 10, 10]


# --- steps 4 and 5 --------------------------------------------------------------------------------------------


@seeds
@forms
@pytest.mark.parametrize("nu", [1.0, 1.15])
def test_dominant_features(form: Any, seed: int, nu: float) -> None:
    X = some_data(seed)
    labels = np.random.default_rng(seed).integers(0, 3, len(X)).astype(np.int32)
    labels[labels == 2] = np.where(np.arange((labels == 2).sum()) < 5, 2, 0)  # fewer records than the rank
    sizes = np.bincount(labels, minlength=4)  # and an empty cluster
    found = dominant_features(MemorySource(form(X)), labels, np.minimum(8, sizes), nu=nu, least=0.0)
    clusters = [np.flatnonzero(labels == l).tolist() for l in range(4)]
    assert [J.tolist() for J in found] == literal_dominant(X.T, clusters, 8, nu)
    assert len(found[3]) == 0
    assert any(len(J) for J in found)


def test_features_must_also_exceed_the_least() -> None:
    X, labels = np.array([[3.0, 0.5], [0.0, 0.0]]), np.array([0, 1], np.int32)
    for least, expected in ((0.0, [0, 1]), (0.5, [0]), (3.0, [])):
        J = dominant_features(MemorySource(X), labels, np.array([1, 1]), nu=1.15, least=least)
        assert J[0].tolist() == expected


def test_a_feature_as_large_in_two_clusters_dominates_neither() -> None:
    X, labels = np.ones((6, 2)), np.array([0, 0, 0, 1, 1, 1], np.int32)
    assert [len(J) for J in dominant_features(MemorySource(X), labels, np.array([2, 2]), nu=1.0, least=0.0)] == [0, 0]


@seeds
@forms
@pytest.mark.parametrize("count", [1, 9, 120])
def test_purest_records(form: Any, seed: int, count: int) -> None:
    X = some_data(seed)  # quarters, so sums are exact and equal ones are equal
    X[:, -1] = 0.0
    features = [np.array([0, 3, 5]), np.array([2]), np.array([], int), np.arange(13)]
    found = purest_records(MemorySource(form(X), block_rows=17), features, count)
    for J, rows in zip(features, found, strict=True):
        assert rows.tolist() == literal_purest(X.T, J.tolist(), count)
    means = means_of(MemorySource(form(X), block_rows=17), found)
    np.testing.assert_allclose(means, [X[rows].mean(axis=0) for rows in found], rtol=1e-12, atol=1e-15)


def test_the_first_of_equally_pure_records_wins() -> None:
    X = np.ones((30, 2))
    for block_rows in (4, 7, 30):
        assert purest_records(MemorySource(X, block_rows=block_rows), [np.array([0])], 5)[0].tolist() == [0, 1, 2, 3, 4]


def test_mean_of_no_record_is_zero() -> None:
    X = some_data(0)
    means = means_of(MemorySource(X, block_rows=7), [np.array([5, 1]), np.array([], int)])
    np.testing.assert_allclose(means, [(X[1] + X[5]) / 2, np.zeros(14)])


@forms
def test_without_dominant_features_the_cluster_is_averaged(form: Any) -> None:
    X = np.vstack([np.tile([4.0, 0.0, 1.0], (10, 1)), np.tile([1.0, 0.0, 1.0], (10, 1))])
    labels = np.repeat([0, 1], 10).astype(np.int32)
    sizes = np.array([10, 10, 0])
    clusters = Clustering(labels, np.zeros((3, 3)), sizes, 0.0, 1, True)
    parts = basis_vectors(
        MemorySource(form(X), block_rows=6),
        Thresholds(np.ones(3), np.full(3, -1)),
        clusters,
        rank=4,
        n_pure=3,
        nu=1.15,
        least=0.0,
    )
    assert [J.tolist() for J in parts.dominant] == [[0], [], []]
    assert [rows.tolist() for rows in parts.pure] == [[0, 1, 2], [], []]
    np.testing.assert_allclose(parts.components, [[4, 0, 1], [1, 0, 1], [0, 0, 0]])
    assert parts.notes == [
        "cluster(s) 1 have no dominant feature: their component is the mean record",
        "only 2 of 3 clusters could be told apart: component(s) 2 are zero",
    ]


def test_negative_means_become_zero() -> None:
    clusters = Clustering(np.zeros(2, np.int32), np.array([[-1.0, 2.0]]), np.array([2]), 0.0, 1, True)
    parts = Parts.of_clusters(clusters)
    assert parts.notes == []
    fixed = parts.nonnegative()
    np.testing.assert_array_equal(fixed.components, [[0.0, 2.0]])
    assert fixed.notes == ["1 entries of the components, means of data with negative entries, were set to zero"]
    assert fixed.nonnegative() is fixed


# --- the whole algorithm ----------------------------------------------------------------------------------------


@cache
def dominant(seed: int = 0, n: int = 1500, **options: Any) -> Mixture:
    """Components of the paper's experiments, and weights that satisfy D2 with alpha = 0.9 and D3."""
    made = make_dominant(
        **{"n_components": 6, "n_features": 60, "dominant_weight": 0.4, "random_state": seed, **options}
    )
    rng = np.random.default_rng(seed)
    labels = rng.integers(6, size=n)
    rest = rng.uniform(0.0, 0.1, (n, 1)) * (rng.random((n, 1)) < 0.7)
    W = rest * rng.dirichlet(np.ones(6), n) + (1.0 - rest) * np.eye(6)[labels]
    return replace(made, X=W @ made.components, weights=W, labels=labels)


def matched(model: Any, data: Mixture) -> tuple[np.ndarray, np.ndarray]:
    """The components in the order of the truth, and that order."""
    order = pw.metrics.match_components(model.components_, data.components).permutation
    return model.components_[order], order


def l1_errors(model: Any, data: Mixture) -> np.ndarray:
    found = matched(model, data)[0]
    return np.abs(found / found.sum(axis=1, keepdims=True) - data.components).sum(axis=1)


def clear_features(data: Mixture, l: int) -> set[int]:
    """Features twice as large in a component as in any other."""
    others = np.delete(data.components, l, axis=0).max(axis=0)
    return set(np.flatnonzero(data.components[l] > 2.0 * others).tolist())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("options", [{}, {"literal": True}, {"prune": False}], ids=["plain", "literal", "unpruned"])
@pytest.mark.parametrize("seed", range(3))
def test_recovers_parts_without_noise(seed: int, options: dict[str, Any], form: Any) -> None:
    data = dominant(seed)
    model = pw.TSVDNMF(6, random_state=0, **options).fit(form(data.X))
    assert pw.metrics.clustering_accuracy(data.labels, model.labels_) == 1.0
    assert l1_errors(model, data).max() < 0.1 * model.eps0_  # Theorem 1 promises eps0
    found, order = matched(model, data)
    for l in range(6):
        assert clear_features(data, l) <= set(model.dominant_features_[order[l]].tolist())
        rows = model.pure_records_[order[l]]
        assert (data.labels[rows] == l).all()
        assert (data.weights[rows, l] > 0.99).all()
        np.testing.assert_allclose(found[l], data.X[rows].mean(axis=0), rtol=1e-12)


NOISES: dict[str, Any] = {
    "gaussian": lambda data: add_gaussian_noise(data, 1.0, random_state=1),
    "multinomial": lambda data: add_multinomial_noise(data, 60, random_state=1),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.filterwarnings("ignore:.* entries of the components:partwise.exceptions.DegenerateDataWarning")
def test_recovers_parts_under_heavy_noise(noise: str) -> None:
    data = NOISES[noise](dominant(0, 3000))
    in_a_record = np.median(np.abs(data.noise).sum(axis=1) / data.signal.sum(axis=1))
    assert in_a_record > 0.6
    model = pw.TSVDNMF(6, eps0=0.2, n_pure=60, random_state=0).fit(data.X)
    assert l1_errors(model, data).max() < 0.5 * in_a_record
    assert pw.metrics.clustering_accuracy(data.labels, model.labels_) > 0.9
    order = matched(model, data)[1]
    found = [len(clear_features(data, l) & set(model.dominant_features_[order[l]].tolist())) for l in range(6)]
    assert min(found) >= 1


@pytest.mark.filterwarnings("ignore:cluster:partwise.exceptions.DegenerateDataWarning")
@pytest.mark.parametrize("seed", range(3))
def test_the_papers_own_weights(seed: int) -> None:
    """Records without a dominant weight reach no threshold; those with one are found, and so are the parts."""
    data = make_dominant(n_samples=1500, n_components=6, n_features=60, random_state=seed)
    model = pw.TSVDNMF(6, random_state=0).fit(data.X)
    clear = data.weights.max(axis=1) > 0.95
    assert pw.metrics.clustering_accuracy(data.labels[clear], model.labels_[clear]) > 0.99
    assert l1_errors(model, data).max() < 0.06


def test_corrupted_records_do_not_matter() -> None:
    """Lemma 4: a few records that are nothing but noise, each as large as a record."""
    data = dominant(0)
    rng = np.random.default_rng(0)
    X = data.X.copy()
    X[rng.choice(len(X), 4, replace=False)] = rng.dirichlet(np.full(60, 0.05), 4)
    model = pw.TSVDNMF(6, n_pure=60, random_state=0).fit(X)
    assert l1_errors(model, data).max() < 4 * 2.0 / 60 + 0.01  # if all four are among the 60
    assert pw.metrics.clustering_accuracy(data.labels, model.labels_) > 0.99


def attributes(model: Any) -> dict[str, np.ndarray]:
    return {
        "components": model.components_,
        "labels": np.asarray(model.labels_),
        "thresholds": model.thresholds_,
        "pruned": model.pruned_,
        "dominant": np.concatenate(model.dominant_features_),
        "pure": np.concatenate(model.pure_records_),
    }


@pytest.mark.parametrize("options", [{}, {"refine": True}], ids=["plain", "refined"])
def test_the_same_partition_gives_the_same_bits(options: dict[str, Any], tmp_path: Path) -> None:
    data = add_multinomial_noise(dominant(0, 600), 60, random_state=0)
    X, A = data.X, sp.csr_array(data.X)
    np.save(tmp_path / "X.npy", X)
    cuts = [(a, a + 150) for a in range(0, 600, 150)]
    (tmp_path / "parts").mkdir()
    for a, b in cuts:
        sp.save_npz(tmp_path / "parts" / f"{a}.npz", A[a:b])
    dense: dict[str, Any] = {
        "memory": MemorySource(X, block_rows=150),
        "memmap": source_of(tmp_path / "X.npy", block_rows=150),
        "dask": da.from_array(X, chunks=(150, 60)),
    }
    sparse: dict[str, Any] = {
        "memory-csr": MemorySource(A, block_rows=150),
        "folder-csr": source_of(tmp_path / "parts"),
        "delayed-csr": [dask.delayed(A[a:b], traverse=False) for a, b in cuts],
    }
    found: dict[str, Any] = {}
    with dask.config.set(scheduler="synchronous"):
        for kinds in (dense, sparse):
            for name, source in kinds.items():
                found[name] = attributes(pw.TSVDNMF(6, random_state=0, max_iter=20, tol=1e-2, **options).fit(source))
                first = found[next(iter(kinds))]
                for attribute, value in found[name].items():
                    np.testing.assert_array_equal(value, first[attribute], err_msg=f"{name}: {attribute}")
    for attribute, value in found["memory"].items():
        np.testing.assert_allclose(found["memory-csr"][attribute], value, rtol=1e-9, atol=1e-12)


def test_notes_are_one_warning() -> None:
    X = np.zeros((30, 4))
    X[:4, 0], X[4:6, 1] = 1.0, 1.0
    with pytest.warns(DegenerateDataWarning) as told:
        pw.TSVDNMF(3, random_state=0).fit(X)
    notes = [str(w.message) for w in told if "all-zero" not in str(w.message)]
    assert len(notes) == 1
    assert "no threshold is positive for the 10-th largest entries: they are of the" in notes[0]
