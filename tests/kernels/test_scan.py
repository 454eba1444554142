"""One look at every entry, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.kernels.scan import count_flaws, csr_support, dense_support, scan_values

VALUES = {
    "empty": [],
    "zeros": [0.0, -0.0, 0.0],
    "good": [0.0, 2.0, 0.5, 3.0],
    "negative": [1.0, -2.0, 0.5, -3.0],
    "nan": [1.0, np.nan, -2.0, np.nan],
    "inf": [np.inf, -1.0, -np.inf],
    "nothing-finite": [np.nan, np.inf],
}


def first(mask: np.ndarray) -> int:
    return int(np.argmax(mask)) if mask.any() else -1


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return np.dtype(request.param)


@pytest.mark.parametrize("name", VALUES)
def test_scan_values(name: str, dtype: Any) -> None:
    values = np.array(VALUES[name], dtype)
    good = values[np.isfinite(values)].astype(float)
    bad, negative, largest, total, squares = scan_values(values)
    assert bad == first(~np.isfinite(values))
    assert negative == first(np.isfinite(values) & (values < 0))
    assert largest == np.abs(good).max(initial=0.0)
    assert (total, squares) == (good.sum(), (good**2).sum())


@pytest.mark.parametrize("name", VALUES)
def test_count_flaws(name: str, dtype: Any) -> None:
    values = np.array(VALUES[name], dtype)
    finite = np.isfinite(values)
    assert count_flaws(values) == ((~finite).sum(), (finite & (values < 0)).sum())


def test_sums_are_double() -> None:
    values = np.full(10_000, 0.1, np.float32)
    assert scan_values(values)[3] == pytest.approx(10_000 * float(np.float32(0.1)), rel=1e-12)


@pytest.mark.parametrize("read_only", [False, True])
def test_long_vectors(read_only: bool) -> None:
    values = np.random.default_rng(0).standard_normal(1003)
    values.flags.writeable = not read_only
    bad, negative, largest, total, squares = scan_values(values)
    assert (bad, negative) == (-1, first(values < 0))
    assert largest == np.abs(values).max()
    assert total == pytest.approx(values.sum(), rel=1e-12)
    assert squares == pytest.approx(values @ values, rel=1e-12)


BLOCKS = {
    "no-rows": np.zeros((0, 3)),
    "no-columns": np.zeros((3, 0)),
    "zero": np.zeros((2, 3)),
    "some": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, -1.0, 2.0]]),
    "nan": np.array([[np.nan, 0.0], [0.0, 0.0]]),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_dense_support(name: str, dtype: Any) -> None:
    X = BLOCKS[name].astype(dtype)
    rows, columns = np.zeros(X.shape[0], bool), np.zeros(X.shape[1], bool)
    dense_support(X, rows, columns)
    np.testing.assert_array_equal(rows, (X != 0).any(axis=1))
    np.testing.assert_array_equal(columns, (X != 0).any(axis=0))


@pytest.mark.parametrize("stored_zeros", [False, True])
@pytest.mark.parametrize("name", BLOCKS)
def test_csr_support(name: str, dtype: Any, stored_zeros: bool) -> None:
    X = BLOCKS[name].astype(dtype)
    A = sp.csr_array(X)
    if stored_zeros:
        A = sp.csr_array(X + (X == 0))
        A.data[X.ravel() == 0] = 0.0
        assert A.nnz == X.size
    rows, columns = np.zeros(X.shape[0], bool), np.zeros(X.shape[1], bool)
    csr_support(A.indptr, A.indices, A.data, rows, columns)
    np.testing.assert_array_equal(rows, (X != 0).any(axis=1))
    np.testing.assert_array_equal(columns, (X != 0).any(axis=0))
