"""Products of a CSR block against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.kernels.sparse import csr_dot, csr_sampled_dot, csr_tdot

RNG = np.random.default_rng(1)


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return np.dtype(request.param)


@pytest.fixture(params=["int32", "int64"])
def index(request: pytest.FixtureRequest) -> Any:
    return np.dtype(request.param)


@pytest.fixture(
    params=[(0, 5, 0.5), (5, 0, 0.5), (1, 1, 1.0), (4, 6, 0.0), (9, 7, 0.4), (3, 40, 1.0)],
    ids=["no-rows", "no-columns", "one", "all-zero", "sparse", "full"],
)
def A(request: pytest.FixtureRequest, dtype: Any, index: Any) -> sp.csr_array:
    rows, columns, density = request.param
    X = RNG.standard_normal((rows, columns)) * (RNG.random((rows, columns)) < density)
    X[1::3] = 0.0
    A = sp.csr_array(X.astype(dtype))
    A.indptr, A.indices = A.indptr.astype(index), A.indices.astype(index)
    return A


def close(found: np.ndarray, expected: np.ndarray) -> None:
    tolerance = 1e-5 if found.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# one by one; half a cache line and three of them; whole ones
@pytest.mark.parametrize("width", [1, 3, 8, 27, 45, 128])
def test_csr_dot(A: sp.csr_array, dtype: Any, width: int) -> None:
    M = RNG.standard_normal((A.shape[1], width)).astype(dtype)
    out = np.full((A.shape[0], width), np.nan, dtype)
    csr_dot(A.indptr, A.indices, A.data, M, out)
    close(out, A.toarray() @ M)


@pytest.mark.parametrize("step", [2, -1], ids=["every-second", "backwards"])
def test_csr_dot_of_arrays_with_strides(step: int) -> None:
    A = sp.csr_array(np.round(RNG.random((20, 30)), 2) * (RNG.random((20, 30)) < 0.3))

    def strided(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, 2)[::2] if step == 2 else values[::-1].copy()[::-1]

    M, out = RNG.random((30, 8)), np.full((20, 8), np.nan)
    csr_dot(A.indptr, strided(A.indices), strided(A.data), M, out)
    close(out, A.toarray() @ M)


@pytest.mark.parametrize("width", [1, 3, 8])
def test_csr_tdot_adds_to_what_is_there(A: sp.csr_array, dtype: Any, width: int) -> None:
    W = RNG.standard_normal((A.shape[0], width)).astype(dtype)
    out = np.ones((A.shape[1], width), dtype)
    csr_tdot(A.indptr, A.indices, A.data, W, out)
    close(out, 1 + A.toarray().T @ W)


@pytest.mark.parametrize("width", [1, 3, 8])
def test_csr_sampled_dot(A: sp.csr_array, dtype: Any, width: int) -> None:
    W = RNG.standard_normal((A.shape[0], width)).astype(dtype)
    Ht = RNG.standard_normal((A.shape[1], width)).astype(dtype)
    out = np.empty(A.nnz, dtype)
    csr_sampled_dot(A.indptr, A.indices, W, Ht, out)
    rows, columns = A.nonzero()
    close(out, (W @ Ht.T)[rows, columns])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_shows(value: float) -> None:
    A = sp.csr_array(np.array([[1.0, value, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 0.0, 1.0]]))
    out = np.empty((2, 2))
    csr_dot(A.indptr, A.indices, A.data, np.ones((5, 2)), out)
    assert not np.isfinite(out[0]).any()
    np.testing.assert_array_equal(out[1], 2.0)


@pytest.mark.parametrize("width", [1, 3, 8, 27, 50])
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (90, 70), (300, 4)], ids=str)
def test_columns_give_the_bits_of_rows(shape: tuple[int, int], dtype: Any, width: int) -> None:
    X = RNG.standard_normal(shape) * (RNG.random(shape) < 0.4)
    A = sp.csr_array(X.astype(dtype))
    columns, W = sp.csr_array(A.T.tocsr()), RNG.standard_normal((shape[0], width)).astype(dtype)
    expected, out = np.zeros((shape[1], width), dtype), np.full((shape[1], width), np.nan, dtype)
    csr_tdot(A.indptr, A.indices, A.data, W, expected)
    csr_dot(columns.indptr, columns.indices, columns.data, W, out)
    np.testing.assert_array_equal(out, expected)
