"""Counts for order statistics against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.kernels.order import count_digits, count_positive
from partwise.sources import blocks

RNG = np.random.default_rng(2)


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return np.dtype(request.param)


@pytest.fixture(params=["dense", "csr"])
def form(request: pytest.FixtureRequest) -> Any:
    return np.asarray if request.param == "dense" else sp.csr_array


@pytest.fixture(
    params=[(0, 5, 0.5), (5, 0, 0.5), (1, 1, 1.0), (4, 6, 0.0), (40, 7, 0.4), (30, 3, 1.0)],
    ids=["no-rows", "no-columns", "one", "all-zero", "sparse", "full"],
)
def X(request: pytest.FixtureRequest, dtype: Any) -> np.ndarray:
    rows, columns, density = request.param
    X = RNG.standard_normal((rows, columns)) * (RNG.random((rows, columns)) < density)
    return X.astype(dtype)


def groups_of(X: np.ndarray) -> np.ndarray:
    return RNG.integers(-1, 3, len(X)).astype(np.int32)


def test_count_positive_adds_to_what_is_there(X: np.ndarray, form: Any) -> None:
    groups = groups_of(X)
    counts = np.ones((3, X.shape[1]), np.int64)
    count_positive(*blocks.triple(form(X)), groups, counts)
    np.testing.assert_array_equal(counts, 1 + np.array([(X[groups == g] > 0).sum(axis=0) for g in range(3)]))


@pytest.mark.parametrize(("shift", "width"), [(55, 8), (52, 3), (48, 4)])
def test_count_digits(X: np.ndarray, form: Any, shift: int, width: int) -> None:
    groups = groups_of(X)
    cells = np.full((3, X.shape[1]), -1, np.int32)
    asked = RNG.random(cells.shape) < 0.7
    cells[asked] = np.arange(asked.sum())
    high = X.astype(np.float64).view(np.int64) >> (shift + width)
    # the prefix of some entry, so that something is counted
    prefixes = np.array(
        [RNG.choice(high[:, j][X[:, j] > 0], 1)[0] if (X[:, j] > 0).any() else 0 for _, j in np.argwhere(asked)],
        np.int64,
    )
    counts = np.ones((asked.sum(), 1 << width), np.int64)
    indptr, indices, data = blocks.triple(form(X))
    bits = data.astype(np.float64).view(np.int64)
    count_digits(indptr, indices, bits, groups, cells, prefixes, shift, width, counts)
    expected = np.ones_like(counts)
    for c, (g, j) in enumerate(np.argwhere(asked)):
        column = X[groups == g, j].astype(np.float64)
        entries = column[column > 0].view(np.int64)
        digits = (entries[entries >> (shift + width) == prefixes[c]] >> shift) % (1 << width)
        expected[c] += np.bincount(digits, minlength=1 << width)
    np.testing.assert_array_equal(counts, expected)
    assert not (X > 0).any() or len(X) == 1 or counts.sum() > counts.size


@pytest.mark.parametrize("value", [-1.0, -0.0, 0.0, -5e-324], ids=str)
def test_what_is_not_positive_is_not_counted(value: float) -> None:
    counts, digits = np.zeros((1, 1), np.int64), np.zeros((1, 256), np.int64)
    indptr, indices, data = np.array([0, 1]), np.array([0]), np.array([value])
    count_positive(indptr, indices, data, np.array([0]), counts)
    cells, prefixes = np.array([[0]]), np.array([0])
    count_digits(indptr, indices, data.view(np.int64), np.array([0]), cells, prefixes, 0, 8, digits)
    assert not counts.any()
    assert not digits.any()
