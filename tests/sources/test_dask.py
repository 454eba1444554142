"""What only Dask collections have: chunks along features, delayed blocks of unknown shape, empty blocks."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from partwise.exceptions import InputError, MissingDependencyError
from partwise.sources import blocks, source_of

X = np.arange(24.0).reshape(6, 4)


@pytest.fixture(autouse=True)
def in_this_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def delayed(*parts: Any) -> list[Any]:
    return [dask.delayed(part, traverse=False) for part in parts]


def total(block: Any) -> float:
    return float(blocks.row_sums(block).sum())


def test_chunks_along_features_are_merged() -> None:
    source = source_of(da.from_array(X, chunks=(4, 1)))
    assert list(source.bounds) == [(0, 4), (4, 6)]
    np.testing.assert_array_equal(source.take([5, 0]), X[[5, 0]])


@pytest.mark.parametrize("persist", [True, False])
def test_blocks_are_made_once_if_persisted(persist: bool) -> None:
    made = []

    def make(i: int) -> np.ndarray:
        made.append(i)
        return X[3 * i : 3 * i + 3]

    parts = [dask.delayed(make)(i) for i in range(2)]
    source = source_of(parts, shapes=[(3, 4), (3, 4)], dtype=np.float64, persist=persist)
    assert source.reduce(total) == source.reduce(total) == X.sum()
    assert len(made) == (2 if persist else 4)


def test_shapes_and_type_of_delayed_blocks_are_found() -> None:
    source = source_of(delayed(X[:2].astype(np.float32), X[2:].astype(np.float32)))
    assert (source.shape, source.dtype) == ((6, 4), np.float32)


def test_a_given_type_is_kept() -> None:
    source = source_of(delayed(X[:2], X[2:]), dtype=np.float32)
    assert source.dtype == np.float32
    assert source.take([0]).dtype == np.float32


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, sp.coo_array], ids=["csr-matrix", "csc", "coo"])
def test_delayed_sparse_blocks_of_any_format(form: Any) -> None:
    source = source_of(delayed(form(X[:4]), form(X[4:])))
    taken = source.take([4, 1])
    assert taken.format == "csr"
    np.testing.assert_array_equal(taken.toarray(), X[[4, 1]])


@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "csr"])
def test_empty_blocks(form: Any) -> None:
    source = source_of(delayed(form(X[:0]), form(X[:4]), form(X[:0]), form(X[4:]), form(X[:0])))
    assert source.shape == (6, 4)
    assert source.reduce(total) == X.sum()
    np.testing.assert_array_equal(blocks.to_dense(source.take([0, 5, 3, 4])), X[[0, 5, 3, 4]])
    np.testing.assert_array_equal(source.map_rows(blocks.row_sums, width=None), X.sum(axis=1))
    batches = [blocks.to_dense(batch) for batch in source.batches(4)]
    np.testing.assert_array_equal(np.concatenate(batches), X)


def test_row_state_is_a_dask_array_when_asked() -> None:
    source = source_of(da.from_array(X, chunks=(4, 4)))
    rows = source.map_rows(blocks.to_dense, width=4)
    array = rows.to_dask()
    assert array.chunks == ((4, 2), (4,))
    np.testing.assert_array_equal(array.compute(), X)
    assert np.asarray(rows, np.float32).dtype == np.float32


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.ones(5), r"X must have two dimensions .* got shape \(5,\)"),
        (lambda: da.ones((4, 2), dtype=complex), "X must hold real numbers, got dtype complex128"),
        (lambda: da.from_array(X)[da.from_array(X)[:, 0] > 3], "known chunk sizes"),
        (lambda: delayed(X, X[:, :2]), r"same number of columns, got shapes \[\(6, 4\), \(6, 2\)\]"),
        (lambda: delayed(X.astype(str)), "X must hold real numbers"),
    ],
    ids=["1-d", "complex", "unknown-chunks", "columns", "strings"],
)
def test_collections_that_cannot_be_used(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        source_of(make())


def test_block_rows_are_the_collections_own() -> None:
    with pytest.raises(InputError, match=r"block_rows: .* use X\.rechunk"):
        source_of(da.from_array(X), block_rows=2)


def test_a_missing_dask_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "partwise.sources.dask", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'partwise\[dask\]'"):
        source_of(da.from_array(X))


def test_errors_of_a_block_come_through() -> None:
    def fail(block: np.ndarray) -> float:
        raise ZeroDivisionError("in a block")

    with warnings.catch_warnings(), pytest.raises(ZeroDivisionError, match="in a block"):
        source_of(da.from_array(X, chunks=(2, 4))).reduce(fail)
