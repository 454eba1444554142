"""Leading singular vectors by passes against LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.linalg.svd import truncated_svd
from partwise.sources import open_source

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


@FORMS
@pytest.mark.parametrize("shape", [(60, 12), (12, 60), (9, 9), (5, 1), (1, 5)], ids=str)
def test_small_data_is_exact(form: Any, shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).random(shape)
    k = min(4, *shape)
    values, vectors = truncated_svd(open_source(form(X), block_rows=7), k, rng=np.random.default_rng(1))
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(values, s[:k], rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(vectors * Vt[:k], axis=1)), 1.0, rtol=1e-8)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(k), atol=1e-12)
    assert (vectors[np.arange(k), np.abs(vectors).argmax(axis=1)] > 0).all()


@FORMS
def test_large_data_to_its_tolerance(form: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((300, 5)) @ np.diag([9.0, 6.0, 4.0, 3.0, 2.0]) @ rng.random((5, 90)) + 0.05 * rng.random((300, 90))
    values, vectors = truncated_svd(open_source(form(X), block_rows=64), 5, rng=np.random.default_rng(1))
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(values, s[:5], rtol=1e-5)
    assert np.abs(np.sum(vectors * Vt[:5], axis=1)).min() > 1 - 1e-5


def test_rank_below_k() -> None:
    X = np.outer(np.arange(1.0, 31.0), np.arange(1.0, 21.0))
    values, vectors = truncated_svd(open_source(X), 4, rng=np.random.default_rng(1))
    np.testing.assert_allclose(values, [np.linalg.norm(X), 0.0, 0.0, 0.0], atol=1e-4)
    assert np.isfinite(vectors).all()
