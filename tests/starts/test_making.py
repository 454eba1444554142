"""Where an iteration begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition._nmf import _initialize_nmf
from sklearn.frozen import FrozenEstimator

import partwise as pw
from partwise.exceptions import DegenerateDataWarning, InputError
from partwise.sources import inspect, open_source
from partwise.starts import INITS, make_start, perturbed

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def start(init: Any, X: Any, k: int, seed: int = 0, rows: int | None = None, **options: Any) -> np.ndarray:
    source = open_source(X, block_rows=rows)
    return make_start(init, source, k, seen=inspect(source), rng=np.random.default_rng(seed), **options)


def make_data(n: int = 50, m: int = 14, k: int = 5) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.gamma(0.5, size=(n, k)) @ rng.gamma(0.5, size=(k, m)) + 0.02 * rng.random((n, m))


X = make_data()


@FORMS
@pytest.mark.parametrize("init", INITS)
def test_every_start(form: Any, init: str) -> None:
    H = start(init, form(X), 4)
    assert H.shape == (4, 14)
    assert H.dtype == np.float64
    assert (H >= 0).all()
    assert (H.sum(axis=1) > 0).all()
    np.testing.assert_array_equal(start(init, form(X), 4), H)
    np.testing.assert_allclose(start(init, form(X), 4, rows=9), H, rtol=1e-8, atol=1e-10)


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
    with pytest.raises(InputError, match="init must be one of pure, nndsvd, nndsvda, random, an array or a fitted"):
        start("unknown", X, 4)
    with pytest.raises(InputError, match="init has 4 components"):
        start(given, X, 3)
    with pytest.raises(InputError, match=r"init has 14 features \(columns\) but X has 13"):
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
