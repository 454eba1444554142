"""The span of the data, its noise, and the sizes of its rows, against what the data was made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from partwise.algorithms.signal import NOISY_ROW, PRIOR_ROWS, Signal, clear_rows, find_signal, white_edge
from partwise.sources import source_of

N, M, K = 400, 30, 5
seeds = pytest.mark.parametrize("seed", range(4))


def parts(seed: int, *, signed: bool = False, n: int = N, m: int = M, k: int = K) -> tuple[np.ndarray, np.ndarray, Any]:
    """Weights (each part in half of the rows, no row without any), components, and more randomness."""
    rng = np.random.default_rng(seed)
    W = rng.random((n, k)) * (rng.random((n, k)) < 0.5) + 0.5 * np.eye(k)[rng.integers(k, size=n)]
    return W, rng.random((k, m)) - 0.5 * signed, rng


def signal_of(X: Any, k: int = K, seed: int = 0, **options: Any) -> Signal:
    source = source_of(X, **options)
    squared = sum(float(np.sum(np.square(b.data if sp.issparse(b) else b, dtype=float))) for b in source.batches(999))
    return find_signal(source, k, squared_norm=squared, rng=np.random.default_rng(seed))


def rows_of(signal: Signal) -> np.ndarray:
    return np.asarray(signal.rows.take(np.arange(signal.rows.shape[0])))


def directions(signal: Signal) -> np.ndarray:
    return (rows_of(signal) * signal.inverse_size[:, None]) @ signal.basis


# --- the span -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("block_rows", [None, 17], ids=["one-block", "blocks"])
@pytest.mark.parametrize("m", [M, 300], ids=["few-features", "many-features"])
def test_exact_data_is_its_span(form: Any, block_rows: int | None, m: int) -> None:
    W, H, _ = parts(0, m=m)
    signal = signal_of(form(W @ H), block_rows=block_rows)
    assert signal.rank == K
    assert signal.noiseless
    assert signal.outside < 1e-14
    assert signal.noise < 1e-14
    np.testing.assert_allclose(signal.basis @ signal.basis.T, np.eye(K), atol=1e-13)
    np.testing.assert_allclose(rows_of(signal) @ signal.basis, W @ H, atol=1e-12)


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
def test_weak_components_are_part_of_the_span(condition: float) -> None:
    W, H, _ = parts(1)
    H = H * np.geomspace(1.0, 1.0 / condition, K)[:, None]
    signal = signal_of(W @ H)
    assert (signal.rank, signal.noiseless) == (K, True)
    beyond = H - (H @ signal.basis.T) @ signal.basis
    assert (np.linalg.norm(beyond, axis=1) <= 1e-8 * np.linalg.norm(H, axis=1)).all()


@pytest.mark.parametrize("k", [1, 3, K, K + 1, 12, M])
def test_rank_is_found(k: int) -> None:
    W, H, _ = parts(2)
    signal = signal_of(W @ H, k)
    assert signal.rank == min(k, K)
    assert signal.rows.shape == (N, signal.rank)
    assert signal.noiseless == (k >= K)


def test_outside_is_the_part_that_the_span_leaves() -> None:
    W, H, rng = parts(3)
    X = W @ H + 0.05 * rng.standard_normal((N, M))
    values = np.linalg.svd(X, compute_uv=False)
    assert signal_of(X).outside == pytest.approx(np.sqrt((values[K:] ** 2).sum() / (values**2).sum()), rel=1e-9)
    assert signal_of(X, 3).outside == pytest.approx(np.sqrt((values[3:] ** 2).sum() / (values**2).sum()), rel=1e-9)


@pytest.mark.parametrize("noise", [1e-5, 1e-8, 1e-11])
def test_little_noise_is_not_lost_by_subtracting(noise: float) -> None:
    W, H, rng = parts(4)
    signal = signal_of(W @ H + noise * rng.standard_normal((N, M)))
    assert signal.noise == pytest.approx(noise, rel=0.05)
    assert not signal.noiseless


def test_as_many_dimensions_as_features() -> None:
    W, H, rng = parts(5, m=K)
    signal = signal_of(W @ H + 0.1 * rng.standard_normal((N, K)))
    assert (signal.rank, signal.noiseless) == (K, True)
    assert np.isnan(signal.noise)
    assert signal.outside < 1e-14
    assert (signal.row_noise < 1e-14).all()
    assert np.isfinite(signal.inverse_size).all()


def test_nothing_but_zeros() -> None:
    signal = signal_of(np.zeros((20, 7)), 3)
    assert (signal.rank, signal.outside, signal.noise) == (0, 0.0, 0.0)
    assert np.isfinite(signal.inverse_size).all()


# --- noise --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1e-3, 0.05])
def test_noise_is_unbiased(level: float) -> None:
    found = []
    for seed in range(8):
        W, H, rng = parts(seed)
        found.append(signal_of(W @ H + level * rng.standard_normal((N, M))).noise ** 2)
    # the variance of a mean of so many squares
    accuracy = np.sqrt(2.0 / (8 * (N - K) * (M - K)))
    assert np.mean(found) == pytest.approx(level**2, rel=4.0 * accuracy)


def test_noise_of_every_row() -> None:
    W, H, rng = parts(6, m=200)
    level = np.where(np.arange(N) % 4 == 0, 0.1, 0.01)
    signal = signal_of(W @ H + level[:, None] * rng.standard_normal((N, 200)))
    shrunk = np.sqrt(((195 * level**2) + PRIOR_ROWS * signal.noise**2) / (195 + PRIOR_ROWS))
    np.testing.assert_allclose(signal.row_noise, shrunk, rtol=0.25)
    for one in (0.1, 0.01):
        ratio = np.mean(signal.row_noise[level == one] ** 2 / shrunk[level == one] ** 2)
        assert np.sqrt(ratio) == pytest.approx(1.0, rel=0.1)  # the span is wrong by the noise of the noisy rows
    assert signal.noise == pytest.approx(np.sqrt(np.mean(level**2)), rel=0.03)


def test_noise_of_rows_is_the_common_one_where_there_is_little_to_see() -> None:
    W, H, rng = parts(7, m=K + 1)
    signal = signal_of(W @ H + 0.01 * rng.standard_normal((N, K + 1)))
    assert signal.row_noise.min() > 0.9 * 0.01
    assert np.median(signal.row_noise) == pytest.approx(signal.noise, rel=0.1)


# --- sizes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signed", [False, True], ids=["non-negative", "signed"])
@seeds
def test_factors_of_rows_do_not_change_directions(seed: int, signed: bool) -> None:
    W, H, rng = parts(seed, signed=signed)
    H[0] = np.abs(H[0]) if signed else H[0]
    W = W + (2.0 * np.eye(K)[0] if signed else 0.0)  # so that there is a side on which all rows lie
    factors = 10.0 ** rng.uniform(-1, 1, N)
    plain, scaled = signal_of(W @ H), signal_of(factors[:, None] * (W @ H))
    for signal in (plain, scaled):
        size = (rows_of(signal) @ signal.size) * signal.inverse_size
        np.testing.assert_allclose(size, signal.mean_size, rtol=1e-9)
    found = directions(scaled)
    expected = scaled.mean_size * (W @ H) / ((W @ H) @ (scaled.basis.T @ scaled.size))[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-10)


def test_size_of_non_negative_data_is_the_sum() -> None:
    W, H, _ = parts(8)
    signal = signal_of(W @ H)
    np.testing.assert_allclose(signal.inverse_size, signal.mean_size / (W @ H).sum(axis=1), rtol=1e-10)
    assert signal.mean_size == pytest.approx((W @ H).sum() / N, rel=1e-10)


def test_rows_on_all_sides_count_as_equally_large() -> None:
    X = np.random.default_rng(0).standard_normal((N, K)) @ np.random.default_rng(1).standard_normal((K, M))
    signal = signal_of(X)
    assert not signal.size.any()
    assert signal.mean_size == 1.0
    np.testing.assert_array_equal(signal.inverse_size, 1.0)


@pytest.mark.parametrize("share", [0.05, 0.4])
def test_rows_of_nothing_but_noise_have_no_say(share: float) -> None:
    """Background pixels: half of their sums are negative, and still all others have a size."""
    W, H, rng = parts(9)
    empty = rng.random(N) < share
    W[empty] = 0.0
    signal = signal_of(W @ H + 1e-3 * rng.standard_normal((N, M)))
    assert signal.size.any()
    expected = signal.mean_size / (W @ H).sum(axis=1)[~empty]
    np.testing.assert_allclose(signal.inverse_size[~empty], expected, rtol=0.02)
    # and they are not blown up to directions
    assert np.linalg.norm(directions(signal)[empty], axis=1).max() < 0.1 * np.linalg.norm(directions(signal)[~empty][0])


@pytest.mark.parametrize("tiny", [0.0, 1e-12, 1e-5], ids=["zero", "1e-12", "1e-5"])
def test_tiny_rows_stay_tiny(tiny: float) -> None:
    W, H, _ = parts(10)
    X = W @ H
    X[:20] *= tiny
    signal = signal_of(X)
    np.testing.assert_allclose(signal.inverse_size[:20], 1.0, rtol=1e-10)
    assert np.abs(directions(signal)[:20]).max() <= 1e-4 * np.abs(directions(signal)[20:]).max()
    np.testing.assert_allclose(signal.inverse_size[20:], signal.mean_size / X[20:].sum(axis=1), rtol=1e-9)


def test_rows_below_their_noise_are_not_blown_up() -> None:
    W, H, rng = parts(11)
    X = W @ H
    X[:50] *= 0.01
    signal = signal_of(X + 0.01 * rng.standard_normal((N, M)))
    length = np.linalg.norm(directions(signal)[50:], axis=1)
    # the noise in a direction is never more than this part of it
    noise = signal.row_noise * signal.inverse_size * np.sqrt(K)
    assert noise.max() <= 1.1 * np.median(length) / NOISY_ROW
    unguarded = signal.row_noise[:50] * np.sqrt(K) * signal.mean_size / X[:50].sum(axis=1)
    assert np.median(unguarded) > 10.0 * noise.max()


def test_clear_rows_are_more_than_noise() -> None:
    rng = np.random.default_rng(0)
    Y = 0.1 * rng.standard_normal((1000, 20))
    Y[::10, 0] += 2.0
    clear = clear_rows(Y, np.full(1000, 0.1))
    np.testing.assert_array_equal(np.flatnonzero(clear), np.arange(0, 1000, 10))
    np.testing.assert_array_equal(clear_rows(np.eye(3) * [1.0, 0.0, 1e-9], np.zeros(3)), [True, False, True])


# --- sources and types --------------------------------------------------------------------------------------


def test_where_the_rows_live_does_not_matter(tmp_path: Path) -> None:
    W, H, rng = parts(12)
    X = W @ H + 0.01 * rng.standard_normal((N, M))
    np.save(tmp_path / "X.npy", X)
    expected = signal_of(X, block_rows=50)
    others = {
        "memmap": signal_of(tmp_path / "X.npy", block_rows=50),
        "dask": signal_of(da.from_array(X, chunks=(50, M)), scheduler="synchronous"),
    }
    for signal in others.values():
        np.testing.assert_array_equal(signal.basis, expected.basis)
        np.testing.assert_array_equal(rows_of(signal), rows_of(expected))
        np.testing.assert_array_equal(signal.inverse_size, expected.inverse_size)
        np.testing.assert_array_equal(signal.row_noise, expected.row_noise)
        assert (signal.noise, signal.outside) == (expected.noise, expected.outside)


def test_single_precision() -> None:
    W, H, rng = parts(13)
    exact = signal_of((W @ H).astype(np.float32))
    assert (exact.rank, exact.noiseless, exact.rows.dtype) == (K, True, np.float32)
    assert exact.outside < 1e-6
    noisy = signal_of((W @ H + 0.01 * rng.standard_normal((N, M))).astype(np.float32))
    assert noisy.noise == pytest.approx(0.01, rel=0.05)
    assert not noisy.noiseless


@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_the_edge_of_noise_that_differs_from_row_to_row(spread: float) -> None:
    rng = np.random.default_rng(0)
    deviations = 0.3 * np.exp(spread * rng.standard_normal(1500))
    N = deviations[:, None] * rng.standard_normal((1500, 300))
    assert white_edge(deviations, 300) == pytest.approx(np.linalg.norm(N, 2), rel=0.1)  # one loud row decides


def test_rows_of_different_noise_have_no_colour_and_common_modes_have() -> None:
    rng = np.random.default_rng(1)
    W, H = rng.dirichlet([0.3] * 4, size=1000), rng.gamma(1.0, size=(4, 120))
    rows = 0.05 * np.exp(0.7 * rng.standard_normal((1000, 1))) * rng.standard_normal((1000, 120))
    modes = 0.1 * rng.standard_normal((1000, 3)) @ rng.standard_normal((3, 120))
    for noise, low, high in ((rows, 1.0, 1.1), (rows + modes, 3.0, 20.0)):
        X = W @ H + noise
        signal = find_signal(source_of(X), 4, squared_norm=float((X**2).sum()), rng=np.random.default_rng(0))
        assert low <= signal.colour <= high
