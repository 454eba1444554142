"""Blocks of a Dask collection are held against what was declared of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
X = np.random.default_rng(0).random((40, 6))


def masked() -> Any:
    mask = np.zeros(X.shape, bool)
    mask[3, 2] = True  # one entry, so that it is one block that is refused, whichever is read first
    return da.from_array(np.ma.masked_array(X, mask=mask), chunks=(10, 6), asarray=False)


def of_blocks(second: Any) -> Any:
    parts = [X[:10], second]
    arrays = [da.from_delayed(dask.delayed(part), (10, 6), dtype=float) for part in parts]
    return da.concatenate(arrays)


def outside() -> Any:
    matrix = sp.csr_array(X[10:20])
    matrix.indices[2] = -3
    return matrix


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (masked, "block 0 of X is a masked array"),
        (lambda: of_blocks(X[10:20] + 1j), "block 1 of X must hold real numbers, got dtype complex128"),
        (lambda: of_blocks(X[10:17]), r"block 1 of X was declared as 10 x 6, and has shape \(7, 6\)"),
        (lambda: of_blocks(X[10:20, :5]), r"block 1 of X was declared as 10 x 6, and has shape \(10, 5\)"),
        (lambda: [dask.delayed(sp.csr_array(X[:10])), dask.delayed(outside())], "damaged sparse matrix"),
    ],
    ids=["mask", "complex", "short", "narrow", "indices"],
)
def test_blocks_are_what_was_declared(make: Any, message: str):
    with pytest.raises(InputError, match=message):
        pw.HALS(2).fit(make())


def test_a_mask_without_masked_entries_is_none():
    whole = da.from_array(np.ma.masked_array(X, mask=X > 2.0), chunks=(10, 6), asarray=False)
    pw.HALS(2).fit(whole)
