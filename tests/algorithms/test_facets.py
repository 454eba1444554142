"""Facets: one stage against least squares, whole runs against what the data was made of."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from partwise.algorithms import facets as module
from partwise.algorithms.facets import Decoder, _fit_decoders, _refit, facet_stages, recover
from partwise.algorithms.loop import Progress, run
from partwise.algorithms.signal import Signal, find_signal
from partwise.metrics import match_components
from partwise.sources import RowSource, source_of
from partwise.starts import near_pure_start, perturbed

K, M, N = 5, 30, 400


@cache
def mixture(seed: int = 0, signed: bool = False, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights that are zero or at least 0.3, components, and data."""
    rng = np.random.default_rng(seed)
    W = (0.3 + 0.7 * rng.random((N, K))) * (rng.random((N, K)) < 0.5)
    W += 0.5 * np.eye(K)[rng.integers(K, size=N)] * (W.sum(axis=1) == 0.0)[:, None]
    H = rng.random((K, M)) - 0.5 * signed
    return W, H, W @ H + noise * rng.standard_normal((N, M))


def opened(X: Any, **options: Any) -> tuple[RowSource, Signal]:
    source = source_of(X, **options)
    squared_norm = float(sum(np.sum(np.square(b.toarray() if sp.issparse(b) else b)) for b in source.batches(999)))
    return source, find_signal(source, K, squared_norm=squared_norm, rng=np.random.default_rng(0))


def errors(H: np.ndarray, truth: np.ndarray) -> float:
    """Largest relative error of a component."""
    return float(match_components(H, truth).errors.max())


def rows_of(signal: Signal) -> np.ndarray:
    return np.asarray(signal.rows.take(np.arange(N)))


def drained(generator: Any) -> tuple[list[Progress], Any]:
    found = []
    while True:
        try:
            found.append(next(generator))
        except StopIteration as end:
            return found, end.value


# --- one fit of the decoders --------------------------------------------------------------------------------


def decoded(signal: Signal, decoder: Decoder) -> tuple[np.ndarray, np.ndarray]:
    """Weights relative to the size of their row, and which are off."""
    V = (rows_of(signal) @ decoder.P) * signal.inverse_size[:, None]
    noise = signal.row_noise * signal.inverse_size
    return V, np.maximum(decoder.thresholds, noise[:, None] * decoder.deviation) >= V


def weighted(V: np.ndarray, signal: Signal) -> np.ndarray:
    """Rows of more than the median noise count for as much less, if there is noise."""
    noise = signal.row_noise * signal.inverse_size
    return V if signal.noiseless else V * np.minimum(1.0, np.median(noise) / noise)[:, None]


def slow_fit(V: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Column j solves ``V c = 0`` over the rows whose weight j is off, with ``c_j = 1``."""
    C = np.eye(V.shape[1])
    for j in range(V.shape[1]):
        others = np.arange(V.shape[1]) != j
        here = V[off[:, j]]
        C[others, j] = np.linalg.lstsq(here[:, others], -here[:, j], rcond=None)[0]
    return C


def some_decoder(signal: Signal, H: np.ndarray, thresholds: Any, floor: float = 2.0) -> Decoder:
    P = np.linalg.inv(H @ signal.basis.T)
    return Decoder(P, np.broadcast_to(np.asarray(thresholds, float), (K,)), floor * np.linalg.norm(P, axis=0))


@pytest.mark.parametrize("bytes_", [1, 2 * 8 * K * K, 1 << 28], ids=["one-by-one", "two-at-a-time", "all-at-once"])
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("threshold", [0.02, 0.15, 0.6], ids=["few-off", "half-off", "most-off"])
def test_decoders_are_least_squares(
    threshold: float, noise: float, bytes_: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TENSOR_BYTES", bytes_)
    _, H, X = mixture(1, noise=noise)
    _, signal = opened(X, block_rows=60)
    decoder = some_decoder(signal, perturbed(H, 0.1, random_state=0), threshold * signal.inverse_size.mean())
    V, off = decoded(signal, decoder)
    V = weighted(V, signal)
    C, before, after, count = _fit_decoders(signal, decoder)
    expected = slow_fit(V, off)
    np.testing.assert_allclose(C, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(np.diag(C), 1.0)
    np.testing.assert_array_equal(count, off.sum(axis=0))
    assert before == pytest.approx(0.5 * sum(V[off[:, j], j] @ V[off[:, j], j] for j in range(K)), rel=1e-10)
    left = 0.5 * sum(np.sum((V[off[:, j]] @ expected[:, j]) ** 2) for j in range(K))
    assert after == pytest.approx(left, rel=1e-7, abs=1e-12 * before)


def test_every_component_has_its_own_threshold_and_every_row_its_noise() -> None:
    _, H, X = mixture(2, noise=0.02)
    X = X * np.where(np.arange(N) % 3 == 0, 0.1, 1.0)[:, None]
    _, signal = opened(X)
    decoder = some_decoder(signal, H, np.linspace(0.001, 0.02, K))
    V, off = decoded(signal, decoder)
    plain = decoder.thresholds >= V
    assert (off & ~plain).any()
    C, _, _, count = _fit_decoders(signal, decoder)
    np.testing.assert_array_equal(count, off.sum(axis=0))
    np.testing.assert_allclose(C, slow_fit(weighted(V, signal), off), rtol=1e-7, atol=1e-9)
    assert np.abs(C - slow_fit(V, off)).max() > 1e-4


def test_a_component_that_is_never_off_keeps_its_decoder() -> None:
    W, H, _ = mixture(3)
    W = W + 0.5 * np.eye(K)[2]
    _, signal = opened(W @ H)
    decoder = some_decoder(signal, H, 0.1 * signal.inverse_size.mean())
    C, _, _, count = _fit_decoders(signal, decoder)
    assert count[2] == 0.0
    np.testing.assert_array_equal(C[:, 2], np.eye(K)[2])
    assert np.isfinite(C).all()


# --- stages -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signed", [False, True], ids=["non-negative", "signed"])
@pytest.mark.parametrize("level", [1e-6, 1e-3, 0.03])
def test_one_fit_is_exact_where_supports_are_known(level: float, signed: bool) -> None:
    """All weights that are set to zero are zeros, so their rows span the facets themselves."""
    W, H, X = mixture(4, signed)
    _, signal = opened(X)
    T = perturbed(H, level, random_state=1) @ signal.basis.T
    decoder = Decoder(np.linalg.inv(T), 0.15 * np.ones(K), np.zeros(K))
    plain = dataclasses.replace(signal, inverse_size=np.ones(N))
    np.testing.assert_array_equal(decoded(plain, decoder)[1], W == 0.0)
    C = _fit_decoders(plain, decoder)[0]
    assert errors(T @ signal.basis, H) > 0.1 * level
    assert errors(np.linalg.solve(C, T) @ signal.basis, H) < 1e-11


@pytest.mark.parametrize("start", ["inside", "around", "across"])
@pytest.mark.parametrize("seed", range(3))
def test_few_stages_from_any_side(seed: int, start: str) -> None:
    """Around: a start whose cone holds all the data, so that no weight is negative and tells of an error."""
    _, H, X = mixture(seed)
    _, signal = opened(X)
    E = np.random.default_rng(seed).uniform(0.0, 0.05, (K, K))
    U = {"inside": E, "around": -E, "across": 2.0 * E - 0.05}[start]
    T = (np.eye(K) + U) @ H @ signal.basis.T
    negative = (rows_of(signal) @ np.linalg.inv(T) < -1e-9).any()
    assert negative == (start != "around")
    found, (stop, _) = drained(facet_stages(signal, T, floor=2.0, tol=1e-10))
    assert errors(found[-1].components, H) < 1e-11
    assert len(found) <= 6
    assert (stop.kind, stop.measure) == ("converged", "change")


def test_stages_report_what_they_did() -> None:
    _, H, X = mixture(5)
    _, signal = opened(X)
    found, (stop, last) = drained(
        facet_stages(signal, perturbed(H, 0.1, random_state=0) @ signal.basis.T, floor=2.0, tol=1e-10)
    )
    assert np.isnan(found[0].residual)
    assert found[0].details == {}
    for progress in found[1:]:
        assert set(progress.details) == {"threshold", "floor", "active"}
        assert 0.0 <= progress.details["active"] <= K
        assert not progress.certified
    thresholds = [p.details["threshold"] for p in found[1:]]
    assert thresholds == sorted(thresholds, reverse=True)
    np.testing.assert_array_equal(last.components(signal), found[-1].components)
    assert (stop.kind, stop.value, stop.tolerance) == ("converged", last.change, 1e-10)
    # the decoder is the inverse of the components, but for their scale
    product = (last.components(signal) @ signal.basis.T) @ last.decoder.P
    np.testing.assert_allclose(product / np.diag(product), np.eye(K), atol=1e-9)


@pytest.mark.parametrize("signed", [False, True], ids=["non-negative", "signed"])
def test_components_are_as_large_as_the_mean_sample(signed: bool) -> None:
    W, H, _ = mixture(6, signed)
    H = H + 0.3 * signed
    X = W @ H
    _, signal = opened(X)
    found, _ = drained(facet_stages(signal, near_pure_start(signal, k=K, rng=None), floor=2.0, tol=1e-10))
    for progress in found:
        sums = progress.components.sum(axis=1)
        np.testing.assert_allclose(sums, X.sum() / N, rtol=1e-9)


def test_two_components_that_fall_together_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    _, H, X = mixture(7)
    source, signal = opened(X)
    real, calls = _fit_decoders, []

    def fails(*given: Any) -> Any:
        calls.append(1)
        C, *rest = real(*given)
        return (np.ones((K, K)) if len(calls) == 3 else C), *rest

    monkeypatch.setattr(module, "_fit_decoders", fails)
    T = perturbed(H, 0.1, random_state=0) @ signal.basis.T
    result = run(recover(source, signal, T, floor=2.0, tol=0.0), max_iter=50, tol=0.0)
    assert result.n_iter == 2
    assert (result.stop.kind, result.stop.cause) == ("degenerate", "merged")
    assert not result.converged
    assert errors(result.components, H) < 1e-9


# --- noise --------------------------------------------------------------------------------------------------


def test_refit_is_least_squares_on_the_thresholded_weights() -> None:
    _, H, X = mixture(8, noise=0.03)
    source, signal = opened(X, block_rows=70)
    T = near_pure_start(signal, k=K, rng=np.random.default_rng(0))
    before, (_, last) = drained(facet_stages(signal, T, floor=2.0, tol=1e-10))
    found = list(recover(source, signal, T, floor=2.0, tol=1e-10))
    assert len(found) == len(before) + 1
    V, off = decoded(signal, last.decoder)
    W = np.where(off, 0.0, V / signal.inverse_size[:, None])
    literal = np.linalg.lstsq(W, X, rcond=None)[0]
    assert found[-1].objective == found[-2].objective  # of the same decoder
    literal *= (X.sum() / N / literal.sum(axis=1))[:, None]
    np.testing.assert_allclose(found[-1].components, literal, rtol=2e-2, atol=1e-8)
    assert errors(found[-1].components, literal) < 1e-9
    assert errors(found[-1].components, H) < 0.02


def test_refit_leaves_a_component_that_no_sample_uses() -> None:
    _, H, X = mixture(8, noise=0.03)
    source, signal = opened(X)
    decoder = some_decoder(signal, H, [1e9 if j == 3 else 1e-3 for j in range(K)])
    found = _refit(source, signal, decoder)
    inside = (H @ signal.basis.T) @ signal.basis
    assert match_components(found[3:4], inside[3:4]).errors[0] < 1e-9
    assert match_components(found[:3], inside[:3]).errors.max() > 1e-3


def test_without_noise_there_is_nothing_to_refit() -> None:
    _, _, X = mixture(9)
    source, signal = opened(X)
    T = near_pure_start(signal, k=K, rng=np.random.default_rng(0))
    before, _ = drained(facet_stages(signal, T, floor=2.0, tol=1e-10))
    assert len(list(recover(source, signal, T, floor=2.0, tol=1e-10))) == len(before)


@pytest.mark.parametrize("noise", [0.01, 0.05])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_floor_is_the_noise_in_the_weights(seed: int, noise: float) -> None:
    W, H, X = mixture(seed, noise=noise)
    source, signal = opened(X)
    T = near_pure_start(signal, k=K, rng=np.random.default_rng(0))
    result = run(recover(source, signal, T, floor=2.0, tol=1e-10), max_iter=100, tol=0.0)
    assert (result.stop.kind, result.stop.cause) == ("floor", "threshold")
    # thresholds are relative to the largest weight of a row of size one
    shares = (W * H.sum(axis=1)) / X.sum(axis=1)[:, None]
    unit = shares.max(axis=0) / H.sum(axis=1)
    deviation = noise * np.linalg.norm(np.linalg.pinv(H), axis=0) / np.median(X.sum(axis=1)) / unit
    assert result.history["floor"][-1] == pytest.approx(2.0 * np.median(deviation), rel=0.3)


# --- where rows live ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.03], ids=["exact", "noisy"])
def test_any_source_gives_the_same_bits(noise: float, tmp_path: Path) -> None:
    _, _, X = mixture(10, noise=noise)
    np.save(tmp_path / "X.npy", X)

    def result(X: Any, **options: Any) -> np.ndarray:
        source, signal = opened(X, **options)
        T = near_pure_start(signal, k=K, rng=np.random.default_rng(0))
        stages = recover(source, signal, T, floor=2.0, tol=1e-10)
        return run(stages, max_iter=100, tol=0.0).components

    expected = result(X, block_rows=90)
    np.testing.assert_array_equal(result(tmp_path / "X.npy", block_rows=90), expected)
    np.testing.assert_array_equal(result(da.from_array(X, chunks=(90, M)), scheduler="synchronous"), expected)
    np.testing.assert_allclose(result(X, block_rows=33), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(result(sp.csr_array(X), block_rows=90), expected, rtol=1e-9, atol=1e-9)
