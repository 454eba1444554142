"""Empirical-Bayes refinement: noise is measured, components drawn to their profile, parts come nearer to the truth."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms.bayes import (
    SWEEPS,
    Noise,
    Posterior,
    _update,
    _weights_block,
    find_noise,
    refine,
    shrunken,
)
from partwise.algorithms.hals import hals
from partwise.algorithms.loop import Result, run
from partwise.datasets import Mixture, add_gaussian_noise, add_multinomial_noise, make_dominant
from partwise.kernels.bayes import sweep
from partwise.sources import MemorySource, RowSource, inspect

# --- how large the noise is -----------------------------------------------------------------------------------


def low_rank(n: int, m: int, values: list[float], sigma: float, seed: int = 0) -> np.ndarray:
    """Signal with these singular values, in units of the largest one of the noise, and white noise."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((size, max(1, len(values)))))[0] for size in (n, m))
    edge = sigma * (np.sqrt(n) + np.sqrt(m))
    signal = (U[:, : len(values)] * (edge * np.array(values))) @ V[:, : len(values)].T if values else 0.0
    return signal + sigma * rng.standard_normal((n, m))


def noise_of(X: Any, k: int, dtype: Any = np.float64) -> Noise:
    source = MemorySource(X.astype(dtype))
    return find_noise(source, k, squared_norm=inspect(source).squared_norm, rng=np.random.default_rng(0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("n", "m"), [(300, 60), (100, 100), (50, 400)], ids=str)
@pytest.mark.parametrize(
    ("values", "k"),
    [([20.0, 5.0, 3.0], 3), ([20.0, 5.0], 8), ([20.0, 0.4, 0.3], 3), ([], 4)],
    ids=["k-above", "more-asked-for", "some-below-the-edge", "nothing-but-noise"],
)
def test_noise_is_measured(values: list[float], k: int, n: int, m: int, dtype: Any) -> None:
    sigma = 0.3
    noise = noise_of(low_rank(n, m, values, sigma), k, dtype)
    assert np.sqrt(noise.variance) == pytest.approx(sigma, rel=0.03)
    clear = sum(value > 1.5 for value in values)
    assert (noise.shrinkage[:clear] > 0.3).all()
    assert not noise.shrinkage[clear:].any()
    assert noise.basis.shape == (k, m)


def test_shrinkage_is_that_of_gavish_and_donoho() -> None:
    """The singular values left are those that are nearest to the signal in the Frobenius norm."""
    n, m, sigma = 400, 100, 0.1
    X = low_rank(n, m, [6.0, 2.5, 1.3], sigma)
    noise = noise_of(X, 3)
    y = np.linalg.svd(X, compute_uv=False)[:3] / np.sqrt(noise.variance * n)
    beta = m / n
    np.testing.assert_allclose(noise.shrinkage, np.sqrt((y**2 - beta - 1) ** 2 - 4 * beta) / y**2, rtol=1e-6)


def test_records_without_their_noise_are_nearer_to_the_signal() -> None:
    n, m = 400, 100
    rng = np.random.default_rng(1)
    truth = np.outer(np.linspace(1, 2, n), rng.random(m))
    noisy = truth + 0.3 * rng.standard_normal((n, m))
    assert np.linalg.norm(noise_of(noisy, 4).remove(noisy) - truth) < 0.3 * np.linalg.norm(noisy - truth)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("seed", range(5))
def test_rounding_is_not_noise(seed: int, dtype: Any) -> None:
    X = make_dominant(n_samples=400, random_state=seed).X
    noise = noise_of(X, 10, dtype)
    assert noise.variance == 0.0
    np.testing.assert_array_equal(noise.shrinkage, np.ones(10))
    H = X[:3].astype(dtype)
    np.testing.assert_allclose(noise.remove(H), H, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (2, 2)], ids=str)
def test_noise_of_very_small_data(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).random(shape)
    noise = noise_of(X, min(shape))
    assert np.isfinite(noise.variance)
    assert np.isfinite(noise.shrinkage).all()


# --- components given the moments -----------------------------------------------------------------------------


def moments(seed: int, k: int = 4, m: int = 30, tau: float = 0.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    W = rng.random((200, k))
    profile = rng.uniform(1, 2, m)
    H = profile + tau * rng.standard_normal((k, m))
    X = W @ H + rng.standard_normal((200, m))
    return W.T @ W, W.T @ X, profile


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tau", [0.05, 0.5, 5.0])
def test_shrunken_is_ridge_to_the_profile(seed: int, tau: float) -> None:
    WW, WX, profile = moments(seed, tau=tau)
    H, C, spread = shrunken(WW, WX, profile)
    A = WW + np.eye(4) / spread**2
    np.testing.assert_allclose(H, np.maximum(np.linalg.solve(A, WX + profile / spread**2), 0.0), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(C, np.linalg.inv(A), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tau", [0.0, 0.3, 3.0])
def test_spread_is_the_most_likely(seed: int, tau: float) -> None:
    """WX of the noise is N(WW profile, WW + tau^2 WW^2) for every feature."""
    WW, WX, profile = moments(seed, tau=tau)
    spread = shrunken(WW, WX, profile)[2]
    Z = WX - WW.sum(axis=1)[:, None] * profile

    def cost(t: float) -> float:
        S = WW + t * t * WW @ WW
        return float(len(profile) * np.linalg.slogdet(S)[1] + np.einsum("ij,ij->", Z, np.linalg.solve(S, Z)))

    grid = np.geomspace(1e-3, 30.0, 400)
    best = min(map(cost, grid))
    assert cost(spread) <= best + 1e-3
    if tau:
        assert spread == pytest.approx(tau, rel=0.35)


def test_one_component_and_a_direction_without_weights() -> None:
    WW, WX, profile = moments(0, k=1)
    assert shrunken(WW, WX, profile)[0].shape == (1, 30)
    WW, WX, profile = moments(0, k=2)
    WW[1], WW[:, 1], WX[1] = 0.0, 0.0, 0.0
    H, C, spread = shrunken(WW, WX, profile)
    # nothing is known of it but the prior
    np.testing.assert_allclose(H[1], profile, rtol=1e-6)
    assert C[1, 1] == pytest.approx(spread**2, rel=1e-3)


# --- one iteration --------------------------------------------------------------------------------------------


def test_moments_of_the_weights() -> None:
    """What a pass adds up, against averages over draws of weights and components from the posterior."""
    rng = np.random.default_rng(0)
    n, k, m, variance = 12, 3, 10, 0.01
    H, W0 = rng.dirichlet(np.ones(m), k), rng.random((n, k))
    X = rng.random((n, k)) @ H + 0.1 * rng.standard_normal((n, m))
    root = 0.05 * rng.standard_normal((k, k))
    now = Posterior(H, root @ root.T, rate=1.5, share=0.4, scale=np.array([0.5, 1.0, 2.0]))
    variances = variance * np.where(np.arange(n) == 3, 7.0, 1.0)
    found, (WW, WX, total, above, residual) = _weights_block(X, W0, variances, now=now, variance=variance)

    mean, spread = W0 * now.scale, np.zeros((n, k))
    expected_above = sweep(X @ H.T, H @ H.T + m * now.C, variances, 1.5, 0.4, SWEEPS, mean, spread)
    np.testing.assert_allclose(found, mean, rtol=1e-12)
    assert above == pytest.approx(expected_above)
    np.testing.assert_allclose(total, mean.sum(axis=0))
    weights = variance / variances
    np.testing.assert_allclose(WX, (mean * weights[:, None]).T @ X, rtol=1e-12)
    draws = [mean + np.sqrt(spread) * rng.standard_normal((n, k)) for _ in range(4000)]
    np.testing.assert_allclose(WW, np.mean([(W * weights[:, None]).T @ W for W in draws], axis=0), rtol=0.02)
    parts = [H + root @ rng.standard_normal((k, m)) for _ in draws]
    residuals = [((X - W @ part) ** 2).sum() for W, part in zip(draws, parts, strict=True)]
    assert residual == pytest.approx(np.mean(residuals), rel=0.02)


def test_components_are_divided_by_their_sums_and_weights_multiplied() -> None:
    rng = np.random.default_rng(0)
    n, k, m, variance = 300, 3, 10, 0.04
    H, W = rng.uniform(0.5, 3.0, (k, m)), rng.exponential(1.0, (n, k))
    X = W @ H + np.sqrt(variance) * rng.standard_normal((n, m))
    statistics = (W.T @ W, W.T @ X, W.sum(axis=0), 200.0, 0.0)
    profile = np.full(m, 1 / m)
    new = _update(statistics, profile, variance, n)
    plain, C, spread = shrunken(W.T @ W / variance, W.T @ X / variance, profile)
    np.testing.assert_allclose(new.H.sum(axis=1), 1.0)
    np.testing.assert_allclose(new.H * new.scale[:, None], plain)
    np.testing.assert_allclose(new.C * np.outer(new.scale, new.scale), C)
    assert new.spread == spread
    assert new.share == pytest.approx(200.0 / (n * k))
    # 200 positive weights that add up to what they are in the new scale
    assert new.rate == pytest.approx(200.0 / (W * new.scale).sum())


# --- refinement -----------------------------------------------------------------------------------------------


@cache
def dominant(seed: int, noise: str) -> Mixture:
    data = make_dominant(n_samples=600, n_features=80, n_components=6, random_state=seed)
    if noise == "gaussian":
        return add_gaussian_noise(data, 1.0, random_state=seed)
    return add_multinomial_noise(data, 60, random_state=seed)


def near_start(data: Mixture, seed: int = 0) -> np.ndarray:
    """Means of a few of the purest records of every component, as TSVDNMF finds them."""
    rows = np.argsort(-data.weights, axis=0)[:15].T
    return np.maximum(data.X[rows].mean(axis=1), 0.0)


def errors(H: np.ndarray, data: Mixture) -> np.ndarray:
    """l1 distances of components that sum to one, in the order in which they are."""
    return np.abs(H / H.sum(axis=1, keepdims=True) - data.components).sum(axis=1)


def refined(X: Any, H0: np.ndarray, tol: float = 1e-3, max_iter: int = 100) -> Result:
    source: RowSource = X if isinstance(X, MemorySource) else MemorySource(X)
    iterations = refine(source, H0, squared_norm=inspect(source).squared_norm, rng=np.random.default_rng(0), tol=tol)
    return run(iterations, max_iter=max_iter, tol=0.0)


@pytest.mark.parametrize("noise", ["gaussian", "multinomial"])
@pytest.mark.parametrize("seed", range(4))
def test_is_nearer_to_the_truth_than_the_start_and_least_squares(seed: int, noise: str) -> None:
    data = dominant(seed, noise)
    H0 = near_start(data)
    start = errors(H0, data).mean()
    found = refined(data.X, H0)
    X = np.maximum(data.X, 0.0)  # HALS is for non-negative data
    source = MemorySource(X)
    least_squares = run(hals(source, H0, squared_norm=inspect(source).squared_norm), max_iter=20, tol=0.0).components
    assert errors(found.components, data).mean() < 0.75 * start
    assert errors(found.components, data).mean() < 0.75 * errors(least_squares, data).mean()
    assert found.converged
    np.testing.assert_allclose(found.components.sum(axis=1), 1.0)


@pytest.mark.parametrize("noise", ["gaussian", "multinomial"])
@pytest.mark.parametrize(("size", "peaks"), [(1.0, 0.05), (10.0, 1.0)], ids=["peaked", "ten-times-as-large"])
def test_corrupted_records_do_not_ruin_it(size: float, peaks: float, noise: str) -> None:
    """Lemma 4: one record in twenty has nothing to do with the parts."""
    data = dominant(0, noise)
    H0 = near_start(data)
    rng = np.random.default_rng(0)
    X = data.X.copy()
    bad = rng.choice(len(X), len(X) // 20, replace=False)
    X[bad] = size * rng.dirichlet(np.full(X.shape[1], peaks), len(bad))
    assert errors(refined(X, H0).components, data).mean() < 0.8 * errors(H0, data).mean()


def test_records_of_zeros_say_nothing() -> None:
    data = dominant(0, "gaussian")
    H0 = near_start(data)
    X = np.vstack([data.X, np.zeros((900, data.X.shape[1]))])  # most of them
    assert errors(refined(X, H0).components, data).mean() < 0.75 * errors(H0, data).mean()


def test_noiseless_data_is_left_alone() -> None:
    data = make_dominant(n_samples=300, n_components=6, random_state=0)
    H0 = near_start(data)
    found = refined(data.X, H0)
    np.testing.assert_array_equal(found.components, H0)
    assert found.stop.cause == "noiseless"
    assert found.n_iter == 0


def test_nothing_to_refine() -> None:
    found = refined(np.ones((5, 3)), np.zeros((2, 3)))
    assert found.stop.cause == "nothing-to-refine"
    assert not found.components.any()


def test_components_of_zeros_stay_zero() -> None:
    data = dominant(0, "gaussian")
    H0 = near_start(data)
    H0[2] = 0.0
    found = refined(data.X, H0, max_iter=3)
    assert not found.components[2].any()
    np.testing.assert_allclose(np.delete(found.components, 2, axis=0).sum(axis=1), 1.0)


@pytest.mark.parametrize("unit", [1e-120, 1e-3, 1e100])
def test_unit_of_the_data_does_not_matter(unit: float) -> None:
    data = dominant(0, "gaussian")
    H0 = near_start(data)
    one, other = refined(data.X, H0), refined(unit * data.X, unit * H0)
    np.testing.assert_allclose(other.components, one.components, rtol=1e-8, atol=1e-12)
    assert other.n_iter == one.n_iter
    np.testing.assert_allclose(other.history["noise"][1:] / unit, one.history["noise"][1:], rtol=1e-9)


def test_scale_of_the_start_does_not_matter() -> None:
    data = dominant(0, "gaussian")
    H0 = near_start(data)
    scales = np.geomspace(1e-3, 1e3, len(H0))[:, None]
    np.testing.assert_allclose(refined(data.X, scales * H0).components, refined(data.X, H0).components, rtol=1e-8)


def test_every_format_partition_and_precision() -> None:
    data = dominant(0, "multinomial")
    H0 = near_start(data)
    expected = refined(data.X, H0, max_iter=5).components
    for X, atol in (
        (MemorySource(data.X, block_rows=97), 1e-10),
        (sp.csr_array(data.X), 1e-10),
        (data.X.astype(np.float32), 1e-5),
    ):
        np.testing.assert_allclose(refined(X, H0, max_iter=5).components, expected, rtol=0, atol=atol)


def test_the_record_of_iterations() -> None:
    data = dominant(0, "gaussian")
    found = refined(data.X, near_start(data))
    assert {"noise", "active", "spread"} <= set(found.history)
    sigma = np.sqrt((data.noise**2).mean())
    assert found.history["noise"][-1] == pytest.approx(sigma, rel=0.05)
    assert 0.0 < found.history["active"][-1] < 6.0
    # expected squared residual: what is left when the parts are right is the noise
    assert found.history["objective"][-1] == pytest.approx((data.noise**2).sum(), rel=0.1)
    changes = found.history["residual"]
    assert changes[-1] <= 1e-3 < changes[-2]
    assert (found.stop.kind, found.stop.value, found.stop.tolerance) == ("converged", changes[-1], 1e-3)


def test_start_is_not_modified() -> None:
    data = replace(dominant(0, "gaussian"))
    H0, X = near_start(data), data.X.copy()
    before = H0.copy()
    refined(X, H0, max_iter=2)
    np.testing.assert_array_equal(H0, before)
    np.testing.assert_array_equal(X, data.X)


def test_weights_of_the_truth_come_back() -> None:
    """With a clear signal the refined components are those of the truth up to sampling error."""
    data = add_gaussian_noise(
        make_dominant(n_samples=2000, n_components=4, n_features=40, random_state=1), 0.1, random_state=0
    )
    found = refined(data.X, near_start(data))
    assert errors(found.components, data).max() < 0.02
    W = pw.nnls(found.components, data.X)
    assert np.abs(W - data.weights).mean() < 0.05
