"""Sums of rows by cluster against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.kernels.cluster import csr_group_sums, dense_group_sums
from partwise.sources import blocks

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(0, 4), (5, 0), (1, 1), (50, 7)], ids=["no-rows", "no-columns", "one", "many"])
def test_group_sums(shape: tuple[int, int], dtype: str) -> None:
    X = (RNG.standard_normal(shape) * (RNG.random(shape) < 0.5)).astype(dtype)
    groups = RNG.integers(-1, 4, len(X)).astype(np.int32)
    expected = np.array([X[groups == g].sum(axis=0, dtype=np.float64) for g in range(5)])  # the last one is empty
    sums = np.ones((5, shape[1])), np.ones((5, shape[1]))
    dense_group_sums(X, groups, sums[0])
    A = sp.csr_array(X)
    csr_group_sums(A.indptr, A.indices, A.data, groups, sums[1])
    for found in sums:
        np.testing.assert_allclose(found, 1.0 + expected, rtol=1e-13, atol=1e-13)
    for form in (np.asarray, sp.csr_array):
        np.testing.assert_allclose(blocks.group_sums(form(X), groups, 5), expected, rtol=1e-13, atol=1e-13)


def test_single_precision_is_added_in_double() -> None:
    X: Any = np.full((20_000, 1), 0.1, np.float32)
    groups = np.zeros(len(X), np.int32)
    for form in (np.asarray, sp.csr_array):
        assert blocks.group_sums(form(X), groups, 1)[0, 0] == pytest.approx(len(X) * float(X[0, 0]), rel=1e-12)
