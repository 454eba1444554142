"""Where an iteration begins."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition._nmf import _initialize_nmf
from sklearn.frozen import FrozenEstimator

import partwise as pw
from partwise.algorithms.signal import Signal, find_signal
from partwise.algorithms.spa import spa
from partwise.exceptions import DegenerateDataWarning, InputError
from partwise.sources import inspect, source_of
from partwise.starts import INITS, make_start, near_pure_start, perturbed

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def start(init: Any, X: Any, k: int, seed: int = 0, rows: int | None = None, **options: Any) -> np.ndarray:
    source = source_of(X, block_rows=rows)
    return make_start(init, source, k, seen=inspect(source), rng=np.random.default_rng(seed), **options)


def make_data(n: int = 50, m: int = 14, k: int = 5) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.gamma(0.5, size=(n, k)) @ rng.gamma(0.5, size=(k, m)) + 0.02 * rng.random((n, m))


X = make_data()


@FORMS
@pytest.mark.parametrize("init", [*INITS, "auto"])
def test_every_start(form: Any, init: str) -> None:
    H = start(init, form(X), 4)
    assert H.shape == (4, 14)
    assert H.dtype == np.float64
    assert (H >= 0).all()
    assert (H.sum(axis=1) > 0).all()
    np.testing.assert_array_equal(start(init, form(X), 4), H)
    np.testing.assert_allclose(start(init, form(X), 4, rows=9), H, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("k", [4, 14])
@pytest.mark.parametrize("init", ["pure", "auto"])
def test_filled_records_are_no_start(init: str, k: int) -> None:
    """They led to minima of up to 2.8 times the error, and zeros of sparse ones could not be left."""
    found = start(init, X, k, filled=True)
    if k < min(X.shape):
        np.testing.assert_allclose(found, start("nndsvda", X, k), rtol=0.2, atol=0.05 * found.max())
    assert (found > 0.0).all()
    np.testing.assert_array_equal(start("nndsvd", X, k, filled=True), start("nndsvd", X, k))


# --- nndsvd -------------------------------------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("k", [1, 3, 4])
def test_nndsvd_is_scikit_learns(form: Any, k: int) -> None:
    expected = _initialize_nmf(X, k, init="nndsvd", random_state=0)[1]
    np.testing.assert_allclose(start("nndsvd", form(X), k, rows=20), expected, atol=2e-6 * expected.max())


def test_nndsvd_of_data_wider_than_the_subspace() -> None:
    wide = make_data(80, 60)
    expected = _initialize_nmf(wide, 4, init="nndsvd", random_state=0)[1]
    np.testing.assert_allclose(start("nndsvd", wide, 4), expected, atol=1e-3 * expected.max())


@pytest.mark.parametrize("c", [1e-6, 1.0, 1e6])
def test_nndsvda_fills_zeros_with_the_typical_entry(c: float) -> None:
    plain, filled = start("nndsvd", c * X, 4), start("nndsvda", c * X, 4)
    zero = plain == 0.0
    assert zero.any()
    np.testing.assert_array_equal(filled[~zero], plain[~zero])
    np.testing.assert_allclose(filled[zero], np.sqrt(c * X.mean() / 4))
    np.testing.assert_allclose(filled, np.sqrt(c) * start("nndsvda", X, 4), rtol=1e-6)


@pytest.mark.parametrize("init", ["nndsvd", "nndsvda"])
def test_nndsvd_leaves_no_component_dead(init: str) -> None:
    H = start(init, np.outer(np.arange(1.0, 8.0), np.arange(1.0, 6.0)), 3)
    assert np.isfinite(H).all()
    assert (H.sum(axis=1) > 0).all()


# --- random -------------------------------------------------------------------------------------------------


def test_random_is_seeded_and_of_the_size_of_the_data() -> None:
    assert not np.array_equal(start("random", X, 4, seed=0), start("random", X, 4, seed=1))
    H = start("random", 1e4 * X, 4)
    np.testing.assert_allclose(H, 100.0 * start("random", X, 4))
    big = start("random", np.full((10, 5000), 9.0), 4)
    np.testing.assert_allclose((big**2).mean(), 9.0 / 4, rtol=0.05)


# --- pure ---------------------------------------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("seed", range(4))
def test_pure_records_of_rows_scaled_over_orders_of_magnitude(form: Any, seed: int) -> None:
    data = pw.datasets.make_separable(n_samples=150, n_features=20, n_components=6, axis="samples", random_state=seed)
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-1.5, 1.0, 150)
    scale[data.anchors] = 10.0 ** rng.uniform(-1.5, -1.0, 6)  # the pure ones are among the faintest
    H = start("pure", form(data.X * scale[:, None]), 6, rows=40)
    assert pw.metrics.total_correlation_error(H, data.components) < 1e-9
    assert len(set(pw.metrics.match_components(H, data.components).permutation)) == 6


def test_pure_rows_are_as_large_as_the_mean_record() -> None:
    data = pw.datasets.make_separable(n_samples=80, n_features=20, n_components=4, axis="samples", random_state=0)
    H = start("pure", 1e3 * data.X, 4)
    np.testing.assert_allclose(H.sum(axis=1), 1e3 * data.X.sum() / 80)


def test_tiny_rows_are_noise_unless_there_is_nothing_else() -> None:
    noisy = X.copy()
    noisy[3] = 1e-5 * np.eye(14)[0]
    assert not np.array_equal(np.count_nonzero(start("pure", noisy, 4), axis=1).min(), 1)
    needed = np.vstack([np.eye(3)[:2], np.eye(3)[:2], 1e-6 * np.eye(3)[2:]])
    np.testing.assert_array_equal(np.count_nonzero(start("pure", needed, 3), axis=0), 1)


def test_pure_fills_up_with_random_ones_where_the_rank_is_lower() -> None:
    data = np.outer(np.arange(1.0, 8.0), np.arange(1.0, 6.0))
    with pytest.warns(DegenerateDataWarning, match=r"only 1 of 3 pure records were found .* numerical rank 1"):
        H = start("pure", data, 3)
    np.testing.assert_allclose(H[0] / H[0, 0], np.arange(1.0, 6.0))
    assert (H[1:] > 0).all()


def test_pure_of_signed_data_picks_raw_rows() -> None:
    rng = np.random.default_rng(0)
    signed = rng.standard_normal((30, 6))
    signed[[4, 9]] *= 10.0
    H = start("pure", signed, 2, nonnegative=False)
    assert {tuple(h) for h in H} == {tuple(signed[4]), tuple(signed[9])}


# --- given --------------------------------------------------------------------------------------------------


def test_a_given_array_is_copied() -> None:
    given = np.random.default_rng(0).random((4, 14))
    before = given.copy()
    H = start(given, X, 4)
    np.testing.assert_array_equal(H, given)
    H[:] = 0.0
    np.testing.assert_array_equal(given, before)
    np.testing.assert_array_equal(start(given.astype(np.float32), X, 4), given.astype(np.float32))


def test_a_fitted_estimator_gives_its_components() -> None:
    model = pw.HALS(4, max_iter=3, tol=0.0).fit(X)
    for init in (model, FrozenEstimator(model)):  # a frozen one keeps its components when its owner is cloned
        H = start(init, X, 4)
        np.testing.assert_array_equal(H, model.components_)
        assert not np.shares_memory(H, model.components_)


def test_what_is_refused() -> None:
    given = np.ones((4, 14))
    with pytest.raises(
        InputError, match="init must be one of pure, nndsvd, nndsvda, nndsvdar, random, an array or a fitted"
    ):
        start("unknown", X, 4)
    with pytest.raises(InputError, match="init has 4 components"):
        start(given, X, 3)
    with pytest.raises(InputError, match=r"init has 14 features \(columns\) but the data has 13"):
        start(given, X[:, :13], 4)
    with pytest.raises(InputError, match=r"init has 56 negative value\(s\), the first in row 0, column 0"):
        start(-given, X, 4)
    np.testing.assert_array_equal(start(-given, X, 4, nonnegative=False), -given)
    with pytest.raises(InputError, match="fit it first"):
        start(pw.ANLS(4), X, 4)


# --- perturbed truth ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.0, 0.05, 0.5])
def test_perturbed_is_the_papers_formula(level: float) -> None:
    """A = A* (I + U) with components as columns of A; here they are rows."""
    truth = np.random.default_rng(0).random((4, 9))
    U = np.random.default_rng(3).uniform(-level, level, (4, 4))
    np.testing.assert_allclose(perturbed(truth, level, random_state=3), (truth.T @ (np.eye(4) + U)).T, atol=1e-15)
    if level:
        assert not np.array_equal(perturbed(truth, level, random_state=4), perturbed(truth, level, random_state=3))


# --- near-pure records of a signal --------------------------------------------------------------------------


def signal_of(X: np.ndarray, k: int) -> Signal:
    squared_norm = float(np.vdot(X, X))
    return find_signal(source_of(X, block_rows=64), k, squared_norm=squared_norm, rng=np.random.default_rng(0))


def near_pure(X: np.ndarray, k: int) -> np.ndarray:
    signal = signal_of(X, k)
    return near_pure_start(signal, k=k, rng=np.random.default_rng(0)) @ signal.basis


def with_pure_records(seed: int, copies: int, *, signed: bool = False, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Mixtures of k parts, so many samples of each part alone, and the parts."""
    rng = np.random.default_rng(seed)
    H = rng.random((k, 40)) - 0.4 * signed
    W = np.vstack([rng.dirichlet(np.ones(k), 300), np.repeat(np.eye(k), copies, axis=0)])
    return W[rng.permutation(len(W))] @ H, H


@pytest.mark.parametrize("signed", [False, True], ids=["non-negative", "signed"])
@pytest.mark.parametrize("seed", range(3))
def test_near_pure_finds_pure_records_of_any_size(seed: int, signed: bool) -> None:
    data, truth = with_pure_records(seed, 1, signed=signed)
    factors = 10.0 ** np.random.default_rng(seed).uniform(-1, 1, len(data))
    match = pw.metrics.match_components(near_pure(data * factors[:, None], 5), truth)
    assert sorted(match.permutation) == list(range(5))
    assert match.errors.max() < 1e-9


def test_near_pure_records_are_as_large_as_the_mean_one() -> None:
    data, _ = with_pure_records(0, 2)
    np.testing.assert_allclose(near_pure(1e3 * data, 5).sum(axis=1), 1e3 * data.sum() / len(data), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_near_pure_averages_over_what_noise_cannot_tell_apart(seed: int) -> None:
    """The error of the mean of many, where a single record would have that of the noise."""
    data, truth = with_pure_records(seed, 60)
    noise = 0.02
    data = data + noise * np.random.default_rng(seed).standard_normal(data.shape)
    signal = signal_of(data, 5)
    picked = spa(signal.rows, 5, row_scale=signal.inverse_size).anchors
    alone = pw.metrics.match_components(data[picked] @ signal.basis.T @ signal.basis, truth).errors
    found = pw.metrics.match_components(near_pure(data, 5), truth)
    assert sorted(found.permutation) == list(range(5))
    assert found.errors.max() < 0.5 * alone.max()
    assert found.errors.max() < noise * np.sqrt(5) / np.linalg.norm(truth, axis=1).min()


def test_near_pure_is_the_mean_of_directions_near_the_picked_ones() -> None:
    data, _ = with_pure_records(4, 20)
    data = data + 0.01 * np.random.default_rng(4).standard_normal(data.shape)
    signal = signal_of(data, 5)
    rows = np.asarray(signal.rows.take(np.arange(len(data))))
    D, noise = rows * signal.inverse_size[:, None], signal.row_noise * signal.inverse_size
    expected = []
    for a in spa(signal.rows, 5, row_scale=signal.inverse_size).anchors:
        spread = 5 + 3 * np.sqrt(2 * 5)  # mean and three deviations of a sum of five squares
        near = [d for d, s in zip(D, noise, strict=True) if np.sum((d - D[a]) ** 2) <= spread * (s**2 + noise[a] ** 2)]
        assert len(near) > 10
        expected.append(np.mean(near, axis=0))
    found = near_pure_start(signal, k=5, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found, np.array(expected), rtol=1e-9)


@pytest.mark.parametrize("junk", ["noise", "tiny", "zero"])
def test_near_pure_does_not_pick_what_has_no_direction(junk: str) -> None:
    data, truth = with_pure_records(5, 30)
    data = data + 1e-3 * np.random.default_rng(5).standard_normal(data.shape)
    rng = np.random.default_rng(6)
    data[:60] = {"noise": 1e-3, "tiny": 1e-7, "zero": 0.0}[junk] * rng.standard_normal((60, 40))
    match = pw.metrics.match_components(near_pure(data, 5), truth)
    assert sorted(match.permutation) == list(range(5))
    assert match.errors.max() < 1e-2


def test_near_pure_does_not_average_all_records_into_one() -> None:
    """Where noise cannot tell any records apart, and none is clear of it, the picked ones themselves are kept."""
    data, truth = with_pure_records(7, 1)
    exact = signal_of(data, 5)
    signal = dataclasses.replace(exact, row_noise=np.full(len(data), 10.0))
    T = near_pure_start(signal, k=5, rng=np.random.default_rng(0))
    assert pw.metrics.match_components(T @ signal.basis, truth).errors.max() < 1e-9


def test_near_pure_tells_that_the_rank_is_lower() -> None:
    data, truth = with_pure_records(8, 1, k=3)
    with pytest.warns(DegenerateDataWarning, match=r"only 3 of 6 components .* numerical rank 3"):
        H = near_pure(data, 6)
    assert H.shape == (3, 40)
    assert pw.metrics.match_components(H, truth).errors.max() < 1e-9


def test_near_pure_fills_up_where_records_have_a_lower_rank_than_their_span() -> None:
    rows = np.outer(np.arange(1.0, 11.0), [1.0, 2.0, 3.0])
    signal = dataclasses.replace(signal_of(np.random.default_rng(0).random((10, 3)), 3), rows=source_of(rows))
    T = near_pure_start(signal, k=3, rng=np.random.default_rng(1))
    assert T.shape == (3, 3)
    assert np.linalg.cond(T) < 1e6


def test_the_automatic_start_follows_how_much_is_zero() -> None:
    sparse = np.where(np.random.default_rng(1).random(X.shape) < 0.1, X, 0.0)
    for form in (np.asarray, sp.csr_array):
        np.testing.assert_array_equal(start("auto", form(X), 4), start("pure", form(X), 4))
        np.testing.assert_allclose(
            start("auto", form(sparse), 4), start("nndsvda", form(sparse), 4), rtol=1e-2, atol=1e-2
        )
    records = np.eye(4, 14)  # as many parts as records: these leave nothing
    np.testing.assert_array_equal(start("auto", records, 4), start("pure", records, 4))
    with pytest.warns(DegenerateDataWarning, match="pure records"):  # there are no 15 singular vectors
        assert start("auto", sparse, 15).shape == (15, 14)
