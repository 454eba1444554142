"""Leading singular vectors by passes against LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.linalg.svd import orthonormal, truncated_svd
from partwise.sources import source_of

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


@FORMS
@pytest.mark.parametrize("shape", [(60, 12), (12, 60), (9, 9), (5, 1), (1, 5)], ids=str)
def test_small_data_is_exact(form: Any, shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).random(shape)
    k = min(4, *shape)
    values, vectors = truncated_svd(source_of(form(X), block_rows=7), k, rng=np.random.default_rng(1))
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(values, s[:k], rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(vectors * Vt[:k], axis=1)), 1.0, rtol=1e-8)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(k), atol=1e-12)
    assert (vectors[np.arange(k), np.abs(vectors).argmax(axis=1)] > 0).all()


@FORMS
def test_large_data_to_its_tolerance(form: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((300, 5)) @ np.diag([9.0, 6.0, 4.0, 3.0, 2.0]) @ rng.random((5, 90)) + 0.05 * rng.random((300, 90))
    values, vectors = truncated_svd(source_of(form(X), block_rows=64), 5, rng=np.random.default_rng(1))
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(values, s[:5], rtol=1e-5)
    assert np.abs(np.sum(vectors * Vt[:5], axis=1)).min() > 1 - 1e-5


def test_nothing_asked_for_is_nothing() -> None:
    values, vectors = truncated_svd(source_of(np.eye(5)), 0, rng=np.random.default_rng(0))
    assert (values.shape, vectors.shape) == ((0,), (0, 5))


def test_rank_below_k() -> None:
    X = np.outer(np.arange(1.0, 31.0), np.arange(1.0, 21.0))
    values, vectors = truncated_svd(source_of(X), 4, rng=np.random.default_rng(1))
    np.testing.assert_allclose(values, [np.linalg.norm(X), 0.0, 0.0, 0.0], atol=1e-4)
    assert np.isfinite(vectors).all()


# --- small singular values ----------------------------------------------------------------------------------


def with_spectrum(n: int, m: int, values: Any, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((size, len(values))))[0] for size in (n, m))
    return np.asarray((U * values) @ V.T)


def outside(vectors: np.ndarray, Vt: np.ndarray) -> np.ndarray:
    """How far each true direction lies outside the span that was found."""
    return np.linalg.norm(Vt - (Vt @ vectors.T) @ vectors, axis=1)


@FORMS
@pytest.mark.parametrize("m", [30, 300], ids=["few-features", "many-features"])
@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
def test_small_singular_directions_are_accurate(form: Any, m: int, condition: float) -> None:
    s = np.geomspace(1.0, 1.0 / condition, 6)
    X = with_spectrum(120, m, s)
    values, vectors = truncated_svd(source_of(form(X), block_rows=50), 6, rng=np.random.default_rng(1))
    Vt = np.linalg.svd(X, full_matrices=False)[2][:6]
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(6), atol=1e-12)
    assert outside(vectors, Vt).max() < 1e-9
    # values come from squares, whose rounding errors are a part of the largest one's
    np.testing.assert_allclose(values, s, rtol=1e-9 + 1e-15 * condition**2)
    assert (np.diff(values) <= 0.0).all()


@pytest.mark.parametrize("m", [30, 300], ids=["few-features", "many-features"])
def test_every_direction_has_its_own_place(m: int) -> None:
    s = np.geomspace(1.0, 1e-5, 5)
    X = with_spectrum(90, m, s, seed=3)
    _, vectors = truncated_svd(source_of(X), 5, rng=np.random.default_rng(1))
    Vt = np.linalg.svd(X, full_matrices=False)[2][:5]
    np.testing.assert_allclose(np.abs(vectors @ Vt.T), np.eye(5), atol=1e-5)


@FORMS
@pytest.mark.parametrize("shape", [(50, 20), (50, 200), (8, 200)], ids=str)
def test_rank_deficient_data_keeps_its_span(form: Any, shape: tuple[int, int]) -> None:
    X = with_spectrum(*shape, [5.0, 1.0, 0.01])
    values, vectors = truncated_svd(source_of(form(X), block_rows=16), 7, rng=np.random.default_rng(1))
    np.testing.assert_allclose(values, [5.0, 1.0, 0.01, 0.0, 0.0, 0.0, 0.0], atol=2e-7)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(7), atol=1e-12)
    assert np.linalg.norm(X - (X @ vectors.T) @ vectors) < 1e-12


def test_nothing_but_zeros() -> None:
    for m in (10, 200):
        values, vectors = truncated_svd(source_of(np.zeros((30, m))), 3, rng=np.random.default_rng(1))
        np.testing.assert_array_equal(values, 0.0)
        np.testing.assert_allclose(vectors @ vectors.T, np.eye(3), atol=1e-12)


def test_single_precision() -> None:
    X = with_spectrum(80, 60, [3.0, 1.0, 0.3]).astype(np.float32)
    values, vectors = truncated_svd(source_of(X), 3, rng=np.random.default_rng(1))
    assert values.dtype == vectors.dtype == np.float64
    np.testing.assert_allclose(values, [3.0, 1.0, 0.3], rtol=1e-5)
    assert np.linalg.norm(X - (X @ vectors.T) @ vectors) < 1e-5


def test_partition_and_seed_hardly_matter() -> None:
    X = np.random.default_rng(5).random((200, 300))
    X = X + 5.0 * with_spectrum(200, 300, [90.0, 60.0, 40.0])
    spans = [
        truncated_svd(source_of(X, block_rows=rows), 3, rng=np.random.default_rng(seed))[1]
        for rows, seed in [(200, 0), (7, 0), (200, 1)]
    ]
    assert outside(spans[1], spans[0]).max() < 1e-12
    assert outside(spans[2], spans[0]).max() < 1e-5


@pytest.mark.parametrize("scales", [1.0, 1e-9], ids=["even", "steep"])
@pytest.mark.parametrize("rank", [6, 4], ids=["independent", "dependent"])
def test_orthonormal_columns_span_those_up_to_them(scales: float, rank: int) -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((500, rank)) @ rng.standard_normal((rank, 6)) * np.geomspace(1.0, scales, 6)
    Q = orthonormal(A)
    np.testing.assert_allclose(Q.T @ Q, np.eye(6), atol=1e-13)
    inside = A - Q @ (Q.T @ A)
    assert np.all(np.linalg.norm(inside, axis=0) <= 1e-12 * np.linalg.norm(A, axis=0))
    assert np.abs(np.tril(Q.T @ A, -1)).max() <= 1e-12 * np.linalg.norm(A)
