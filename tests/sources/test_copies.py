"""Copies of the data in memory: the rule, what they hold, and that results do not depend on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms.hals import hals
from partwise.sources import RowSource, blocks, copies, source_of

RNG = np.random.default_rng(3)
X = RNG.poisson(0.6, (73, 19)).astype(float)
NONZERO = int(np.count_nonzero(X))


def folder(tmp: Path) -> RowSource:
    np.save(tmp / "a.npy", X[:40])
    np.save(tmp / "b.npy", X[40:])
    return pw.open_source(tmp)


SOURCES = {
    "dense": lambda tmp: source_of(X, block_rows=10),
    "csr": lambda tmp: source_of(sp.csr_array(X), block_rows=10),
    "float32": lambda tmp: source_of(X.astype(np.float32)),
    "folder": folder,
    "dask": lambda tmp: source_of(da.from_array(X, chunks=(30, -1))),
    "derived": lambda tmp: source_of(2.0 * X).derive(half),
}


def half(block: Any) -> Any:
    return block / 2.0


@pytest.mark.parametrize("kind", SOURCES)
def test_both_ways_hold_the_data(kind: str, tmp_path: Path) -> None:
    found = copies.both_ways(SOURCES[kind](tmp_path), NONZERO)
    assert found is not None
    for source, expected in zip(found, (X, X.T), strict=True):
        rows = source.take(np.arange(source.shape[0]))
        np.testing.assert_array_equal(rows.toarray(), expected)
        assert (rows.nnz, rows.dtype, rows.indices.dtype) == (NONZERO, np.float64, np.int32)


def test_stored_zeros_are_left_out() -> None:
    A = sp.csr_array(X)
    A.data[::3] = 0.0
    kept = blocks.counts(A)
    assert kept.data.all()
    np.testing.assert_array_equal(kept.toarray(), A.toarray())


def test_too_much_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(sp.csr_array(X))
    monkeypatch.setattr(copies, "MOST_COPIED", NONZERO - 1)
    assert copies.both_ways(source, NONZERO) is None
    assert copies.with_columns(source) is source


@pytest.mark.parametrize("kind", ["dense", "folder", "dask"])
def test_columns_are_for_sparse_rows_in_memory(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    assert copies.with_columns(source) is source


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hals_has_the_same_bits_with_and_without_columns(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    H0 = RNG.random((4, X.shape[1]))
    found = []
    for most in (copies.MOST_COPIED, 0):
        monkeypatch.setattr(copies, "MOST_COPIED", most)
        source = source_of(sp.csr_array(X.astype(dtype)), block_rows=20)
        rounds = hals(source, H0, squared_norm=float((X**2).sum()))
        found.append([next(rounds) for _ in range(15)][-1])
    np.testing.assert_array_equal(found[0].components, found[1].components)
    assert (found[0].objective, found[0].residual) == (found[1].objective, found[1].residual)
