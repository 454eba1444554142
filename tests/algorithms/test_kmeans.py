"""Lloyd's algorithm against scikit-learn's from the same start; empty clusters, duplicates, samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from partwise.algorithms import kmeans as module
from partwise.algorithms.kmeans import Clustering, Rule, best_start, kmeans, lloyd, plus_plus
from partwise.sources import MemorySource, RowSource, source_of

forms = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


def blobs(seed: int = 0, n: int = 300, k: int = 5, m: int = 8, noise: float = 0.15) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.random((k, m))
    labels = rng.integers(k, size=n)
    X = np.maximum(centres[labels] + noise * rng.standard_normal((n, m)), 0.0)
    return X * (rng.random(X.shape) < 0.8), labels


def from_centres(source: RowSource, centres: np.ndarray, **options: Any) -> Clustering:
    return lloyd(source, Rule.nearest(centres, source.dtype), **options)


def inertia_of(X: np.ndarray, clustering: Clustering) -> float:
    return float(((X - clustering.centres[np.asarray(clustering.labels)]) ** 2).sum())


# --- Lloyd --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@forms
@dtypes
def test_is_scikit_learns_from_the_same_start(form: Any, dtype: Any, seed: int) -> None:
    X = blobs(seed)[0].astype(dtype)
    start = X[np.random.default_rng(seed).choice(len(X), 5, replace=False)].astype(np.float64)
    found = from_centres(MemorySource(form(X), block_rows=64), start)
    expected = KMeans(5, init=start, n_init=1, tol=0.0, max_iter=100).fit(X.astype(np.float64))
    assert found.settled
    np.testing.assert_array_equal(found.labels, expected.labels_)
    rtol = 1e-5 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found.centres, expected.cluster_centers_, rtol=rtol, atol=rtol)
    assert found.inertia == pytest.approx(expected.inertia_, rel=rtol)
    np.testing.assert_array_equal(found.sizes, np.bincount(expected.labels_, minlength=5))
    assert found.labels.dtype == np.int32


def test_centres_are_the_means_whenever_it_stops() -> None:
    X = blobs()[0]
    for max_iter in (1, 2, 3, 100):
        found = from_centres(MemorySource(X, block_rows=64), X[:5], max_iter=max_iter)
        means = np.array([X[found.labels == l].mean(axis=0) for l in range(5)])
        np.testing.assert_allclose(found.centres, means, rtol=1e-12)
        assert found.n_iter <= max_iter
        assert found.settled == (found.n_iter < max_iter)


def test_tol_stops_earlier_at_an_inertia_near_the_last() -> None:
    X = blobs(noise=0.4)[0]
    exact = from_centres(MemorySource(X), X[:5])
    early = from_centres(MemorySource(X), X[:5], tol=0.01)
    assert early.n_iter < exact.n_iter
    assert early.settled
    assert exact.inertia <= early.inertia <= 1.1 * exact.inertia


def test_a_start_in_coordinates_of_a_basis() -> None:
    X = blobs()[0]
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 3)))[0].T
    centres = (X @ V.T)[:5]
    found = lloyd(MemorySource(X), Rule.nearest(centres, X.dtype, basis=V), max_iter=1)
    distances = ((X @ V.T)[:, None] - centres) ** 2
    np.testing.assert_array_equal(found.labels, distances.sum(axis=2).argmin(axis=1))
    # of the points themselves from the centres, which lie in the plane
    expected = ((X - (centres @ V)[found.labels]) ** 2).sum()
    assert found.inertia == pytest.approx(expected, rel=1e-12)


# --- empty clusters -----------------------------------------------------------------------------------------


@forms
@pytest.mark.parametrize("block_rows", [7, 1000], ids=["many-blocks", "one-block"])
def test_an_empty_cluster_starts_at_the_farthest_record(form: Any, block_rows: int) -> None:
    X = np.abs(np.random.default_rng(0).normal(1.0, 0.05, (60, 4)))
    X[17], X[41] = 9.0, 30.0  # 41 is the farthest by far, 17 comes next
    start = np.vstack([X.mean(axis=0), np.full((2, 4), 1e3)])
    source = MemorySource(form(X), block_rows=block_rows)
    second = from_centres(source, start, max_iter=2)
    assert second.labels[41] == 1
    assert second.labels[17] == 2
    found = from_centres(source, start)
    assert sorted(found.sizes.tolist()) == [1, 1, 58]
    assert found.inertia < 2.0


@pytest.mark.parametrize("seed", range(5))
def test_one_of_many_clusters_is_empty(seed: int) -> None:
    X = np.random.default_rng(seed).random((3000, 3))
    start = np.vstack([X[:199], np.full((1, 3), 1e3)])
    first = from_centres(MemorySource(X), start, max_iter=1)
    farthest = ((X - start[first.labels]) ** 2).sum(axis=1).argmax()
    second = from_centres(MemorySource(X), start, max_iter=2)
    assert second.labels[farthest] == 199
    assert second.sizes[199] >= 1


def test_an_empty_cluster_is_not_given_a_centre_at_the_last_pass() -> None:
    X = blobs()[0]
    found = from_centres(MemorySource(X), np.vstack([X[:3], np.full((1, 8), 1e3)]), max_iter=1)
    assert found.sizes[3] == 0
    assert not found.centres[3].any()
    assert not found.settled


@forms
@dtypes
@pytest.mark.parametrize("seed", range(4))
def test_fewer_distinct_records_than_clusters(form: Any, dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distinct = rng.random((3, 37))
    which = np.concatenate([np.arange(3), rng.integers(3, size=100)])
    X = distinct[which].astype(dtype)
    found = kmeans(MemorySource(form(X)), 6, rng=rng, n_init=2)
    assert found.settled
    assert found.n_iter <= 3  # rounding is no reason to go on
    assert (found.sizes > 0).sum() >= 3  # rounding may part equal records of two equal centres
    assert found.inertia == pytest.approx(0.0, abs=1e-3 if dtype == np.float32 else 1e-11)
    for l in np.flatnonzero(found.sizes):
        assert len(set(which[found.labels == l].tolist())) == 1
    assert not found.centres[found.sizes == 0].any()


def test_one_cluster() -> None:
    X = blobs()[0]
    found = kmeans(MemorySource(X), 1, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.centres[0], X.mean(axis=0), rtol=1e-12)
    assert found.inertia == pytest.approx(((X - X.mean(axis=0)) ** 2).sum())
    assert found.n_iter <= 2


def test_as_many_clusters_as_records() -> None:
    X = np.random.default_rng(0).random((9, 4))
    found = kmeans(MemorySource(X), 9, rng=np.random.default_rng(0))
    assert sorted(found.labels.tolist()) == list(range(9))
    assert found.inertia == pytest.approx(0.0, abs=1e-12)


def test_nothing_but_zeros() -> None:
    found = kmeans(MemorySource(np.zeros((10, 3))), 3, rng=np.random.default_rng(0))
    assert sorted(found.sizes.tolist()) == [0, 0, 10]
    assert found.inertia == 0.0
    assert found.settled


# --- starts -------------------------------------------------------------------------------------------------


@forms
@pytest.mark.parametrize("seed", range(2))
def test_is_as_good_as_scikit_learns(form: Any, seed: int) -> None:
    X = blobs(seed, n=400, noise=0.05)[0]
    found = kmeans(MemorySource(form(X), block_rows=100), 5, rng=np.random.default_rng(seed))
    expected = KMeans(5, n_init=10, random_state=seed).fit(X)
    assert found.inertia <= 1.001 * expected.inertia_
    assert inertia_of(X, found) == pytest.approx(found.inertia, rel=1e-10)


@forms
def test_plus_plus_draws_records_far_apart(form: Any) -> None:
    X = np.repeat(np.eye(6), 20, axis=0)
    for seed in range(10):
        centres = plus_plus(form(X), 6, np.random.default_rng(seed))
        assert centres.dtype == np.float64
        np.testing.assert_array_equal(centres.sum(axis=0), np.ones(6))  # one of each
    # when there are no more, some are drawn again
    assert plus_plus(form(X), 8, np.random.default_rng(0)).shape == (8, 6)


def test_plus_plus_draws_by_squared_distance() -> None:
    X = np.array([[0.0], [1.0], [3.0]] * 2)
    trials = 2 + int(np.log(2))  # candidates, of which the best is taken: for a first record of 0 that is 3
    first_is_zero = [c[1, 0] for c in (plus_plus(X, 2, np.random.default_rng(s)) for s in range(400)) if c[0, 0] == 0.0]
    assert np.mean(np.array(first_is_zero) == 3.0) == pytest.approx(1.0 - 0.1**trials, abs=0.03)


def test_large_data_is_compared_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    X = blobs(n=2000, noise=0.02)[0]
    taken: list[int] = []
    take = MemorySource.take

    def counted(self: MemorySource, rows: Any) -> Any:
        taken.append(len(np.atleast_1d(rows)))
        return take(self, rows)

    monkeypatch.setattr(MemorySource, "take", counted)
    whole = kmeans(MemorySource(X), 5, rng=np.random.default_rng(0))
    assert taken[0] == 2000
    taken.clear()
    monkeypatch.setattr(module, "SAMPLE", 100)
    monkeypatch.setattr(module, "SAMPLE_PER_CLUSTER", 40)
    found = kmeans(MemorySource(X), 5, rng=np.random.default_rng(0))
    assert taken[0] == 200
    assert found.inertia == pytest.approx(whole.inertia, rel=1e-3)
    assert found.sizes.sum() == 2000
    assert best_start(MemorySource(X), 5, rng=np.random.default_rng(0), n_init=2).shape == (5, 8)


def test_more_starts_are_not_worse() -> None:
    X = np.random.default_rng(0).random((200, 5))
    one, many = (kmeans(MemorySource(X), 8, rng=np.random.default_rng(3), n_init=n).inertia for n in (1, 20))
    assert many <= one


# --- every kind of data -------------------------------------------------------------------------------------


def test_is_reproducible_and_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    X = blobs(noise=0.3)[0]
    found = []
    for threads in ("1", "2", "2"):
        monkeypatch.setenv("PARTWISE_NUM_THREADS", threads)
        found.append(kmeans(MemorySource(X, block_rows=50), 5, rng=np.random.default_rng(1)))
    for other in found[1:]:
        np.testing.assert_array_equal(other.labels, found[0].labels)
        np.testing.assert_array_equal(other.centres, found[0].centres)
        assert other.inertia == found[0].inertia


def test_the_same_partition_gives_the_same_bits(tmp_path: Path) -> None:
    X = blobs(noise=0.3)[0]
    np.save(tmp_path / "X.npy", X)
    expected = kmeans(MemorySource(X, block_rows=50), 5, rng=np.random.default_rng(1))
    kinds = {
        "memmap": source_of(tmp_path / "X.npy", block_rows=50),
        "dask": source_of(da.from_array(X, chunks=(50, 8)), scheduler="synchronous"),
    }
    for name, source in kinds.items():
        found = kmeans(source, 5, rng=np.random.default_rng(1))
        np.testing.assert_array_equal(np.asarray(found.labels), expected.labels, err_msg=name)
        np.testing.assert_array_equal(found.centres, expected.centres, err_msg=name)
    sparse = kmeans(MemorySource(sp.csr_array(X), block_rows=31), 5, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(sparse.labels, expected.labels)
    np.testing.assert_allclose(sparse.centres, expected.centres, rtol=1e-12)
