"""Thresholding and pruning of features against NumPy and Python's sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.kernels.threshold import _popcount, find_partners, find_partners_listed, set_bits, threshold_rows
from partwise.sources import blocks

RNG = np.random.default_rng(3)


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return np.dtype(request.param)


@pytest.fixture(params=["dense", "csr"])
def form(request: pytest.FixtureRequest) -> Any:
    return np.asarray if request.param == "dense" else sp.csr_array


def thresholded(
    block: Any, levels: np.ndarray, place: np.ndarray, partner: np.ndarray, values: np.ndarray
) -> sp.csr_array:
    indptr, indices, data = blocks.triple(block)
    out = np.zeros(block.shape[0] + 1, np.int64), np.empty(len(data), np.int32), np.empty(len(data), values.dtype)
    threshold_rows(indptr, indices, data, levels, place, partner, values, *out)
    count = out[0][-1]
    return sp.csr_array((out[2][:count], out[1][:count], out[0]), shape=(block.shape[0], len(values)))


@pytest.mark.parametrize(
    ("rows", "columns", "density"),
    [(0, 5, 0.5), (1, 2, 1.0), (4, 6, 0.0), (30, 9, 0.5), (70, 4, 1.0)],
    ids=["no-rows", "one-row", "all-zero", "sparse", "full"],
)
def test_threshold_rows(rows: int, columns: int, density: float, form: Any, dtype: Any) -> None:
    # few values, so that many entries are equal to their level
    X = (RNG.integers(-2, 5, (rows, columns)) * (RNG.random((rows, columns)) < density)).astype(dtype)
    kept = np.flatnonzero(np.arange(columns) % 3 != 1)
    place = np.full(columns, -1, np.int64)
    place[kept] = np.arange(len(kept))
    levels = RNG.integers(1, 4, len(kept)).astype(float)
    partner = np.full(len(kept), -1, np.int64)
    partner[1:] = np.where(RNG.random(len(kept) - 1) < 0.5, 0, -1)
    values = np.sqrt(levels).astype(dtype)
    D = thresholded(form(X), levels, place, partner, values)
    counts = X[:, kept] >= levels
    expected = counts & np.where(partner >= 0, counts[:, partner], True) if len(kept) else counts
    assert D.dtype == dtype
    assert D.has_canonical_format
    np.testing.assert_array_equal(D.toarray(), expected * values)


def test_no_feature_is_kept(form: Any) -> None:
    none = np.empty(0)
    D = thresholded(form(np.ones((3, 2))), none, np.full(2, -1), np.empty(0, np.int64), none)
    assert (D.shape, D.nnz) == ((3, 0), 0)


def test_a_level_is_compared_in_double_precision() -> None:
    X = np.array([[0.1]], np.float32)
    for level, reached in ((float(X[0, 0]), 1), (np.nextafter(float(X[0, 0]), 1.0), 0)):
        assert thresholded(X, np.array([level]), np.array([0]), np.array([-1]), np.ones(1)).nnz == reached


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 200])
def test_set_bits(rows: int) -> None:
    A = RNG.random((rows, 5)) < 0.4
    block = sp.csr_array(A.astype(float))
    bits = np.zeros((5, -(-rows // 64)), np.uint64)
    set_bits(block.indptr, block.indices, bits)
    unpacked = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little", count=rows)
    np.testing.assert_array_equal(unpacked.astype(bool), A.T)


def test_popcount() -> None:
    words = np.concatenate([RNG.integers(0, 2**64, 200, np.uint64), np.array([0, 1, 2**63, 2**64 - 1], np.uint64)])
    assert [_popcount(word) for word in words] == [int(word).bit_count() for word in words]


def partners_by_sets(W: list[set[int]], order: np.ndarray, gap: float, slack: float) -> list[int]:
    partner, R = [-1] * len(W), set(range(len(W)))
    for a, i in enumerate(order):
        if i in R:
            for other in order[a + 1 :]:
                if other in R and len(W[i]) <= len(W[other]) - gap and len(W[i] - W[other]) <= slack:
                    partner[other] = int(i)
                    R.remove(other)
    return partner


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("gap", "slack"), [(0.5, 0.0), (2.0, 4.0), (3.75, 7.5), (1000.0, 1000.0)])
def test_find_partners(gap: float, slack: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, rows = 25, 150
    A = rng.random((rows, n)) < rng.uniform(0.02, 0.6, n)
    for j in range(0, n - 1, 3):  # nearly contained ones
        A[:, j] = A[:, j + 1] & (rng.random(rows) < 0.5)
    bits = np.zeros((n, -(-rows // 64)), np.uint64)
    block = sp.csr_array(A.astype(float))
    set_bits(block.indptr, block.indices, bits)
    sizes = A.sum(axis=0)
    order = np.argsort(sizes, kind="stable")
    partner = np.full(n, -1, np.int64)
    find_partners(bits, sizes, order, gap, slack, partner)
    expected = partners_by_sets([set(np.flatnonzero(A[:, j]).tolist()) for j in range(n)], order, gap, slack)
    assert partner.tolist() == expected
    listed = np.full(n, -1, np.int64)
    by_feature = sp.csc_array(block)
    lists = block.indptr, block.indices, by_feature.indptr, by_feature.indices
    find_partners_listed(*lists, sizes, order, gap, slack, listed)
    assert listed.tolist() == expected
    assert (max(expected) >= 0) == (gap < 1000.0)


def test_there_are_no_sets() -> None:
    partner = np.empty(0, np.int64)
    none = np.empty(0, np.int64)
    find_partners(np.zeros((0, 3), np.uint64), none, none, 1.0, 1.0, partner)
    find_partners_listed(np.zeros(4, np.int32), none, np.zeros(1, np.int32), none, none, none, 1.0, 1.0, partner)
