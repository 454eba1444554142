"""What can be done with a block is the same for a dense and a sparse one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.sources import MemorySource, blocks

RNG = np.random.default_rng(5)


def some_block(rows: int, columns: int) -> np.ndarray:
    X = RNG.integers(-4, 5, (rows, columns)) * (RNG.random((rows, columns)) < 0.5)
    X[::3] = 0
    return X.astype(float)


@pytest.fixture(params=["dense", "csr"])
def form(request: pytest.FixtureRequest) -> Any:
    return np.ascontiguousarray if request.param == "dense" else sp.csr_array


@pytest.fixture(params=[(0, 4), (1, 1), (5, 3), (7, 12), (3, 0)], ids=str)
def X(request: pytest.FixtureRequest) -> np.ndarray:
    return some_block(*request.param)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products(form: Any, X: np.ndarray, dtype: Any) -> None:
    block = form(X.astype(dtype))
    M, W = RNG.random((X.shape[1], 3)).astype(dtype), RNG.random((X.shape[0], 2)).astype(dtype)
    assert blocks.dot(block, M).dtype == blocks.tdot(block, W).dtype == dtype
    rtol = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(blocks.dot(block, M), X @ M, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(blocks.tdot(block, W), X.T @ W, rtol=rtol, atol=rtol)


def test_products_with_matrices_of_any_layout(form: Any) -> None:
    X = some_block(6, 4)
    M, W = np.asfortranarray(RNG.random((4, 3))), RNG.random((2, 6)).T
    np.testing.assert_allclose(blocks.dot(form(X), M), X @ M, rtol=1e-12)
    np.testing.assert_allclose(blocks.tdot(form(X), W), X.T @ W, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(blocks.dot(form(X), M.astype(np.float32)), X @ M, rtol=1e-6)


def test_values_and_products_at_them(form: Any, X: np.ndarray) -> None:
    block = form(X)
    W, Ht = RNG.random((X.shape[0], 2)), RNG.random((X.shape[1], 2))
    values, products = blocks.values(block), blocks.product_at(block, W, Ht)
    assert values.shape == products.shape
    expected = (W @ Ht.T) * (np.ones_like(X) if blocks.is_complete(block) else X != 0)
    np.testing.assert_allclose(blocks.to_dense(blocks.with_values(block, products)), expected, rtol=1e-12)
    np.testing.assert_array_equal(blocks.to_dense(blocks.with_values(block, 2 * values)), 2 * X)
    np.testing.assert_array_equal(blocks.to_dense(block), X)


def test_rows(form: Any, X: np.ndarray) -> None:
    block = form(X)
    np.testing.assert_array_equal(blocks.row_sums(block), X.sum(axis=1))
    np.testing.assert_array_equal(blocks.squared_norms(block), (X**2).sum(axis=1))
    factors = np.arange(1.0, X.shape[0] + 1)
    np.testing.assert_array_equal(blocks.to_dense(blocks.scale_rows(block, factors)), X * factors[:, None])
    factors = np.arange(1.0, X.shape[1] + 1)
    np.testing.assert_array_equal(blocks.to_dense(blocks.scale_columns(block, factors)), X * factors)


def test_norms_of_float32_are_double(form: Any) -> None:
    block = form(np.full((2, 1000), 0.1, np.float32))
    expected = 1000 * np.float64(np.float32(0.1)) ** 2
    np.testing.assert_allclose(blocks.squared_norms(block), expected, rtol=1e-14)
    np.testing.assert_allclose(blocks.row_sums(block), 1000 * np.float64(np.float32(0.1)), rtol=1e-14)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-150, 1.0, 1e150, 1e300])
def test_norms_at_any_scale(form: Any, scale: float) -> None:
    X = np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [5.0, 12.0, 0.0]])
    expected = np.array([5.0, 0.0, 13.0])
    np.testing.assert_allclose(blocks.norms(form(X * scale)), expected * scale, rtol=1e-12)
    np.testing.assert_array_equal(blocks.norms(form(np.zeros((3, 0)))), 0.0)
    np.testing.assert_array_equal(blocks.norms(form(np.array([[np.inf, 1.0], [np.nan, 1.0]]))), [np.inf, np.nan])


def test_residual_dot_goes_through_the_residual(form: Any, X: np.ndarray) -> None:
    W, M = RNG.random((X.shape[0], 2)), RNG.random((X.shape[1], 2))
    products, norms = blocks.residual_dot(form(X), W, M)
    np.testing.assert_allclose(products, (X - W @ M.T) @ M, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(norms, np.linalg.norm(X - W @ M.T, axis=1), rtol=1e-12)


def test_row_chunks_cover_the_rows() -> None:
    chunks = list(blocks.row_chunks(np.zeros((10, 8)), limit=3 * 64))
    assert chunks == [(0, 3), (3, 6), (6, 9), (9, 10)]


def shifted(array: np.ndarray) -> np.ndarray:
    """The same numbers at an odd address."""
    buffer = np.empty(array.nbytes + 1, np.uint8)
    start = 1 if buffer.ctypes.data % 2 == 0 else 0
    view = np.frombuffer(buffer.data, array.dtype, array.size, offset=start).reshape(array.shape)
    view[:] = array
    assert not view.flags.aligned
    return view


def test_misaligned_input_becomes_aligned(form: Any) -> None:
    X = some_block(5, 3)
    block = form(X)
    if form is sp.csr_array:
        block.data, block.indptr = shifted(block.data), shifted(block.indptr)
        arrays = blocks.aligned(block)
        assert all(a.flags.aligned for a in (arrays.data, arrays.indices, arrays.indptr))
    else:
        assert blocks.plain(shifted(block)).flags.aligned
        assert MemorySource(shifted(block)).block(0).flags.aligned
        arrays = blocks.aligned(shifted(block))
        assert arrays.flags.aligned
    np.testing.assert_array_equal(blocks.to_dense(arrays), X)


def test_aligned_goes_into_containers() -> None:
    x = shifted(np.arange(3.0))
    found = blocks.aligned((x, [x, 1], {"a": x, "b": "text"}, None))
    assert found[0].flags.aligned
    assert found[1][0].flags.aligned
    assert found[2]["a"].flags.aligned
    assert (found[1][1], found[2]["b"], found[3]) == (1, "text", None)


def test_stack(form: Any) -> None:
    parts = [some_block(2, 3), some_block(0, 3), some_block(4, 3)]
    stacked = blocks.stack([form(part) for part in parts])
    np.testing.assert_array_equal(blocks.to_dense(stacked), np.concatenate(parts))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("weights_form", [np.asarray, sp.csr_array], ids=["dense-weights", "csr-weights"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda dtype: dtype.__name__)
def test_multiply_leaves_out_what_has_no_weight(form: Any, weights_form: Any, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    X = (rng.random((6, 5)) * (rng.random((6, 5)) < 0.7)).astype(dtype)
    M = (rng.random((6, 5)) * (rng.random((6, 5)) < 0.7)).astype(dtype)
    holes = np.where((M == 0) & (rng.random(X.shape) < 0.5), np.nan, X).astype(dtype)
    product = blocks.multiply(form(holes), weights_form(M))
    assert product.dtype == dtype
    np.testing.assert_array_equal(np.nan_to_num(blocks.to_dense(product), nan=-1.0), X * M)
