"""What AND promises: recovery without a warm start, under noise, of signed parts and of rows of any size."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import partwise as pw
from partwise.algorithms.gradient import BatchState, paper_thresholds
from partwise.datasets import Mixture
from partwise.exceptions import DegenerateDataWarning, InputError

K = 8
kinds = pytest.mark.parametrize("kind", ["dir", "ctm", "neg"])
seeds = pytest.mark.parametrize("seed", range(3))


@cache
def topics(kind: str = "dir", seed: int = 0, noise: float = 0.0, n: int = 500, **options: Any) -> Mixture:
    given = {"n_samples": n, "n_features": 60, "n_components": K, **options}
    return pw.datasets.make_topics(kind, noise=noise, random_state=seed, **given)


@cache
def sparse_weights(seed: int = 0, noise: float = 0.0, signed: bool = False, n: int = 800) -> Mixture:
    """Each part in four of ten samples, a few samples empty, and parts without any zero."""
    rng = np.random.default_rng(seed)
    W = rng.random((n, 6)) * (rng.random((n, 6)) < 0.4)
    H = rng.random((6, 50)) - 0.5 * signed
    N = noise * rng.standard_normal((n, 50))
    if not noise:
        W = W[W.any(axis=1)]
        N = np.zeros((len(W), 50))
    return Mixture(W @ H + N, H, W, noise=N)


def fitted(data: Mixture, X: Any = None, **params: Any) -> pw.AND:
    model = pw.AND(len(data.components), **{"random_state": 0, **params})
    return model.fit(data.X if X is None else X, truth=data.components)


def error(model: Any, data: Mixture) -> float:
    return pw.metrics.total_correlation_error(model.components_, data.components)


def oracle(data: Mixture) -> float:
    """What least squares with the true weights is wrong by."""
    return pw.metrics.total_correlation_error(np.linalg.lstsq(data.weights, data.X, rcond=None)[0], data.components)


# --- recovery -----------------------------------------------------------------------------------------------


@kinds
@seeds
def test_recovers_topics_from_a_cold_start(kind: str, seed: int) -> None:
    data = topics(kind, seed)
    model = fitted(data)
    assert error(model, data) < 1e-8
    assert sorted(pw.metrics.match_components(model.components_, data.components).permutation) == list(range(K))
    assert model.n_iter_ <= 20
    assert model.converged_
    assert model.stop_reason_.startswith("components changed by")
    assert model.reconstruction_error_ < 1e-8
    assert model.outside_ < 1e-13
    np.testing.assert_array_equal(model.history_["error"][-1], error(model, data))


@pytest.mark.parametrize("signed", [False, True], ids=["non-negative", "signed"])
@seeds
def test_recovers_parts_that_are_in_many_samples(seed: int, signed: bool) -> None:
    data = sparse_weights(seed, signed=signed)
    assert error(fitted(data), data) < 1e-11


@pytest.mark.parametrize("signed", [False, True], ids=["non-negative", "signed"])
@seeds
def test_recovers_from_rows_of_very_different_size(seed: int, signed: bool) -> None:
    data = sparse_weights(seed, signed=signed)
    factors = 10.0 ** np.random.default_rng(seed).uniform(-3, 3, len(data.X))
    model = fitted(data, factors[:, None] * data.X)
    assert error(model, data) < 1e-8


@pytest.mark.parametrize("unit", [1e-60, 1e-3, 1e60])
def test_unit_of_the_data(unit: float) -> None:
    data = topics()
    model = fitted(data, unit * data.X)
    assert error(model, data) < 1e-8
    np.testing.assert_allclose(model.components_.sum(axis=1), unit * data.X.sum() / len(data.X), rtol=1e-9)


def test_from_a_start_that_holds_all_the_data() -> None:
    """No weight is negative, so none says that the start is wrong."""
    data = sparse_weights()
    around = (np.eye(6) - 0.05) @ data.components
    assert (data.X @ np.linalg.pinv(around)).min() > -1e-12
    assert error(fitted(data, init=around), data) < 1e-11


@pytest.mark.parametrize("init", ["array", "estimator", "random", "nndsvd"])
def test_other_starts(init: str) -> None:
    data = topics("ctm")
    warm = data.warm_start(0.05, random_state=0)
    start = {"array": warm, "estimator": fitted(data, init=warm, max_iter=2, tol=0.0)}.get(init, init)
    model = fitted(data, init=start)
    assert np.isfinite(model.components_).all()
    if init in ("array", "estimator"):
        assert error(model, data) < 1e-8


def test_as_many_components_as_features() -> None:
    rng = np.random.default_rng(0)
    H = rng.random((5, 5)) + np.eye(5)
    W = rng.random((400, 5)) * (rng.random((400, 5)) < 0.5)
    with pytest.warns(DegenerateDataWarning, match="all-zero row"):
        model = pw.AND(5, random_state=0).fit(W @ H)
    assert pw.metrics.total_correlation_error(model.components_, H) < 1e-10
    assert np.isnan(model.noise_)
    assert model.outside_ < 1e-13


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_rank_below_the_number_of_components(rank: int) -> None:
    rng = np.random.default_rng(rank)
    H, W = rng.random((rank, 20)), rng.dirichlet(np.full(rank, 0.05), 200)
    with pytest.warns(DegenerateDataWarning, match=f"only {rank} of 6 components"):
        model = pw.AND(6, random_state=0).fit(W @ H)
    assert model.components_.shape == (6, 20)
    used = np.linalg.norm(model.components_, axis=1) > 0
    assert used.sum() == rank
    assert pw.metrics.total_correlation_error(model.components_[used], H) < 1e-8
    np.testing.assert_array_equal(model.weight_noise_[~used], 0.0)
    assert model.transform(W @ H)[:, ~used].max() == 0.0


# --- noise --------------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("noise", [1e-3, 0.03])
@pytest.mark.parametrize("seed", [0, 1])
def test_noise_costs_little_more_than_it_must(kind: str, noise: float, seed: int) -> None:
    data = topics(kind, seed, noise, n=1000)
    model = fitted(data)
    assert error(model, data) < 2.0 * oracle(data)
    path = model.history_["error"]
    assert path[-1] <= 1.5 * path.min()
    assert path[-1] < path[0]
    assert model.noise_ == pytest.approx(noise / np.sqrt(60), rel=0.02)


@pytest.mark.parametrize("signed", [False, True], ids=["non-negative", "signed"])
@pytest.mark.parametrize("noise", [1e-4, 1e-3, 1e-2])
@seeds
def test_noise_with_empty_samples(seed: int, noise: float, signed: bool) -> None:
    """Samples of nothing but noise have sums of any sign, which must not hide that all others have a size."""
    data = sparse_weights(seed, noise, signed)
    model = fitted(data)
    assert error(model, data) < 1.3 * oracle(data)
    assert model.history_["error"][-1] <= 1.5 * model.history_["error"].min()


@pytest.mark.parametrize("noise", ["of-the-sample", "of-the-instrument"])
@seeds
def test_noise_with_rows_of_different_size(seed: int, noise: str) -> None:
    """Noise that is as large as its sample, or alike in bright and in dark ones, where dark ones are mostly noise."""
    data = sparse_weights(seed)
    rng = np.random.default_rng(seed)
    factors = 10.0 ** rng.uniform(-1, 1, (len(data.X), 1))
    N = 1e-3 * rng.standard_normal(data.X.shape) * (factors if noise == "of-the-sample" else 1.0)
    scaled = Mixture(factors * data.X + N, data.components, factors * data.weights, noise=N)
    assert error(fitted(scaled), scaled) < 2.0 * oracle(scaled)


@kinds
def test_without_a_floor_the_error_rises_again(kind: str) -> None:
    data = topics(kind, 0, 0.01, n=1000)
    published, floored = fitted(data, floor=0.0), fitted(data, floor=2.0)
    assert error(published, data) > 2.0 * error(floored, data)
    assert published.history_["error"][-1] > 1.5 * published.history_["error"].min()
    np.testing.assert_array_equal(published.threshold_floor_, 0.0)


@pytest.mark.parametrize("floor", [0.0, 2.0])
def test_floor_does_not_matter_without_noise(floor: float) -> None:
    data = topics()
    assert error(fitted(data, floor=floor), data) < 1e-8


def test_noise_attributes_are_those_of_theory() -> None:
    data = topics("dir", 0, 0.05, n=2000)
    model = fitted(data, floor=3.0)
    sigma = 0.05 / np.sqrt(60)
    assert model.noise_ == pytest.approx(sigma, rel=0.01)
    # the noise of an entry, times the lengths of the columns of the pseudo-inverse
    P = np.linalg.pinv(model.components_)
    np.testing.assert_allclose(model.weight_noise_, model.noise_ * np.linalg.norm(P, axis=0), rtol=1e-9)
    np.testing.assert_allclose(model.threshold_floor_, 3.0 * model.weight_noise_, rtol=1e-14)
    # and what noise does to weights that are decoded so
    moved = data.noise @ P
    np.testing.assert_allclose(moved.std(axis=0), model.weight_noise_, rtol=0.06)
    values = np.linalg.svd(data.X, compute_uv=False)
    assert model.outside_ == pytest.approx(np.sqrt((values[K:] ** 2).sum() / (values**2).sum()), rel=1e-6)


# --- non-negative components --------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_nonnegative_components_help_where_weights_have_no_zeros(noise: float) -> None:
    data = topics("dir", 0, noise, n=1000, concentration=1.0)
    free, bound = fitted(data), fitted(data, nonnegative=True, max_iter=1000)
    assert free.components_.min() < 0.0
    assert bound.components_.min() >= 0.0
    assert bound.n_iter_ > free.n_iter_
    assert bound.history_.n_rows == bound.n_iter_ + 1
    assert np.isnan(bound.history_["threshold"][-1])
    assert error(bound, data) < 0.3 * error(free, data)
    assert bound.converged_


def test_nonnegative_of_exact_data_is_as_exact() -> None:
    data = topics("ctm")
    model = fitted(data, nonnegative=True)
    assert model.components_.min() >= 0.0
    assert error(model, data) < 1e-8


# --- single precision, sparse and lazy data -----------------------------------------------------------------


@kinds
def test_single_precision(kind: str) -> None:
    data = topics(kind)
    model = fitted(data, data.X.astype(np.float32))
    assert model.components_.dtype == np.float32
    assert error(model, data) < 3e-4 * np.linalg.norm(data.components, axis=1).sum()
    assert model.outside_ < 1e-6


def lazy(X: np.ndarray, tmp: Path) -> Any:
    return da.from_array(X, chunks=(200, 60))


def on_disk(X: np.ndarray, tmp: Path) -> Any:
    np.save(tmp / "X.npy", X)
    return np.load(tmp / "X.npy", mmap_mode="r")


OTHER_FORMS: dict[str, Any] = {
    "csr": lambda X, tmp: sp.csr_array(X),
    "memmap": on_disk,
    "dask": lazy,
    "blocks": lambda X, tmp: pw.open_source(X, block_rows=71),
}


@pytest.mark.parametrize("form", OTHER_FORMS)
@pytest.mark.parametrize("noise", [0.0, 0.01], ids=["exact", "noisy"])
@pytest.mark.parametrize("params", [{}, {"thresholds": "paper", "max_iter": 30, "tol": 0.0}], ids=["facets", "paper"])
def test_where_the_rows_live_does_not_matter(form: str, noise: float, params: Any, tmp_path: Path) -> None:
    data = topics("dir", 1, noise)
    expected, other = fitted(data, **params), fitted(data, OTHER_FORMS[form](data.X, tmp_path), **params)
    largest = np.abs(expected.components_).max()
    np.testing.assert_allclose(other.components_, expected.components_, rtol=0, atol=1e-8 * largest)
    assert other.n_iter_ == expected.n_iter_
    assert other.noise_ == pytest.approx(expected.noise_, rel=1e-6, abs=1e-15)


# --- what is recorded ---------------------------------------------------------------------------------------


def test_history_has_the_quantities_of_the_proofs() -> None:
    data = topics()
    history = fitted(data, max_iter=4, tol=0.0).history_
    theory = pw.metrics.RecoveryMeasures(data.components)
    model = fitted(data, max_iter=4, tol=0.0)
    final = theory(model.components_)
    assert {"n_iter", "time", "objective", "residual", "threshold", "floor", "active", "error", *final} == set(history)
    for name, value in final.items():
        assert history[name][-1] == pytest.approx(value, rel=1e-12, nan_ok=True)
    assert history["E_2"][-1] < history["E_2"][0]
    assert "E_2" not in pw.AND(K, max_iter=2, tol=0.0).fit(data.X).history_


def test_active_is_the_mean_number_of_weights_in_use() -> None:
    data = sparse_weights()
    assert fitted(data).history_["active"][-1] == pytest.approx(np.mean(np.count_nonzero(data.weights, axis=1)))


@pytest.mark.parametrize(
    "params", [{}, {"thresholds": "paper"}, {"batch_size": 50}], ids=["facets", "paper", "batches"]
)
def test_an_interrupted_fit_can_be_used(params: Any) -> None:
    data = topics()

    def interrupt(progress: Any) -> None:
        if progress.n_iter == 3:
            raise KeyboardInterrupt

    model = pw.AND(K, callbacks=[interrupt], random_state=0, tol=0.0, **params)
    with pytest.warns(RuntimeWarning, match="interrupted by the user after iteration 3"):
        model.fit(data.X)
    assert (model.n_iter_, model.converged_) == (3, False)
    assert model.weight_noise_.shape == (K,)
    assert model.transform(data.X).shape == (500, K)
    stopped = pw.AND(K, max_iter=3, random_state=0, tol=0.0, **params).fit(data.X)
    np.testing.assert_array_equal(model.components_, stopped.components_)


def test_fits_are_reproducible() -> None:
    data = topics("ctm", 0, 0.01)
    for params in ({}, {"batch_size": 64, "max_iter": 5, "tol": 0.0}):
        first, second = fitted(data, **params), fitted(data, **params)
        np.testing.assert_array_equal(first.components_, second.components_)
    other = fitted(data, batch_size=64, max_iter=5, tol=0.0, random_state=1)
    assert not np.array_equal(other.components_, first.components_)


# --- thresholds and steps -----------------------------------------------------------------------------------


def last_thresholds(model: pw.AND) -> list[float]:
    return model.history_["threshold"][1:].tolist()


@pytest.mark.parametrize(
    ("thresholds", "expected"),
    [
        pytest.param("paper", 0.1 / 1.5 ** np.arange(4), id="paper"),
        pytest.param(0.03, [0.03] * 4, id="number"),
        pytest.param(np.float64(0.03), [0.03] * 4, id="numpy-number"),
        pytest.param(0, [0.0] * 4, id="zero"),
        pytest.param([0.1, 0.02, 0.01], [0.1, 0.02, 0.01], id="list"),
        pytest.param(np.array([0.1, 0.02, 0.0, 0.0, 0.0]), [0.1, 0.02, 0.0, 0.0], id="array"),
    ],
)
def test_forms_of_thresholds(thresholds: Any, expected: Any) -> None:
    data = topics("dir", 0, 0.01)
    model = fitted(data, thresholds=thresholds, decay=1.5, max_iter=4, tol=0.0, floor=0.0)
    np.testing.assert_allclose(last_thresholds(model), expected)
    ended = len(expected) < 4
    assert model.stop_reason_ == ("the sequence of thresholds ended" if ended else "max_iter=4 reached")


@kinds
def test_paper_stages_recover_from_a_cold_start_too(kind: str) -> None:
    data = topics(kind)
    model = fitted(data, thresholds="paper", decay=1.2, steps="exact")
    assert error(model, data) < 1e-6


def test_steps_decide_what_a_stage_does() -> None:
    data = topics("dir", 0, 0.01)
    few = {"thresholds": "paper", "max_iter": 3, "tol": 0.0, "floor": 0.0}
    assert np.array_equal(fitted(data, **few).components_, fitted(data, steps=50, **few).components_)
    exact, many = fitted(data, steps="exact", **few), fitted(data, steps=10**7, **few)
    np.testing.assert_allclose(exact.components_, many.components_, rtol=1e-6, atol=1e-9)
    assert not np.allclose(fitted(data, steps=1, **few).components_, exact.components_, rtol=1e-3)
    auto, facets = (fitted(data, steps=steps) for steps in ("auto", "facets"))
    np.testing.assert_array_equal(auto.components_, facets.components_)


# --- batches and streams ------------------------------------------------------------------------------------


def test_batches_come_near() -> None:
    data = topics("dir", n=2000)
    start = data.warm_start(0.05, random_state=0)
    model = fitted(data, init=start, batch_size=200, max_iter=60, tol=0.0)
    assert error(model, data) < 0.05 * pw.metrics.total_correlation_error(start, data.components)


def some_stream(data: Mixture, count: int = 12) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [data.X[rng.integers(len(data.X), size=100)] for _ in range(count)]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("init", ["array", "estimator", "pure"])
def test_partial_fit_is_a_run_over_batches(init: str, form: Any) -> None:
    data = topics("dir", 0, 0.01)
    batches = [form(batch) for batch in some_stream(data)]
    warm = data.warm_start(0.05, random_state=0)
    start = {"array": warm, "estimator": pw.AND(K, init=warm, max_iter=1, tol=0.0).fit(data.X)}.get(init, init)
    H0 = getattr(start, "components_", start)
    if init == "pure":  # the first batch makes the start
        seen: list[Any] = []
        pw.AND(K, thresholds="paper", max_iter=1, tol=0.0, random_state=0, callbacks=[seen.append]).fit(batches[0])
        H0 = seen[0].components
    state = BatchState(H0, paper_thresholds(), 5, 0.5)
    model = pw.AND(K, init=start, steps=5, step_size=0.5, thresholds="paper", random_state=0)
    for number, batch in enumerate(batches, start=1):
        before = state.H
        objective = state.step(batch)
        assert model.partial_fit(batch) is model
        np.testing.assert_allclose(model.components_, state.H, rtol=1e-9, atol=1e-12)
        assert not np.array_equal(before, model.components_)
        assert model.objective_ == pytest.approx(objective, rel=1e-9)
        assert (model.n_iter_, model.n_components_) == (number, K)
    assert model.transform(data.X).shape == (500, K)


def test_a_stream_is_learnt() -> None:
    data = topics("dir", n=2000)
    start = data.warm_start(0.05, random_state=0)
    model = pw.AND(K, init=start, steps=10)
    for batch in some_stream(data, 300):
        model.partial_fit(batch)
    assert error(model, data) < 0.1 * pw.metrics.total_correlation_error(start, data.components)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
@pytest.mark.parametrize("thresholds", ["adaptive", "paper", 0.05, [0.1, 0.05, 0.02]], ids=str)
def test_a_model_on_a_stream_can_be_put_aside(duplicate: Any, thresholds: Any) -> None:
    data = topics()
    batches = some_stream(data, 8)
    model = pw.AND(K, init=data.warm_start(0.05, random_state=0), steps=3, thresholds=thresholds)
    for batch in batches[:4]:
        model.partial_fit(batch)
    other = duplicate(model)
    for batch in batches[4:]:
        model.partial_fit(batch)
        other.partial_fit(batch)
    np.testing.assert_array_equal(other.components_, model.components_)
    fresh = clone(model)
    assert not hasattr(fresh, "components_")


def test_a_stream_ends_with_its_thresholds() -> None:
    data = topics()
    model = pw.AND(K, init=data.warm_start(0.05, random_state=0), steps=2, thresholds=[0.1, 0.05])
    for batch in some_stream(data, 4):
        model.partial_fit(batch)
    kept = model.components_.copy()
    for _ in range(2):
        with pytest.raises(InputError, match="thresholds: the sequence has ended"):
            model.partial_fit(data.X)
    np.testing.assert_array_equal(model.components_, kept)


def test_fit_begins_anew_and_a_failed_fit_forgets_nothing() -> None:
    data = topics()
    batches = some_stream(data, 4)
    model, other = (pw.AND(K, init=data.warm_start(0.05, random_state=0), steps=3) for _ in range(2))
    for batch in batches[:3]:
        model.partial_fit(batch)
        other.partial_fit(batch)
    with pytest.raises(InputError, match="NaN"):
        model.fit(np.full((20, 60), np.nan))
    np.testing.assert_array_equal(model.partial_fit(batches[3]).components_, other.partial_fit(batches[3]).components_)
    assert error(model.fit(data.X), data) < 1e-8
    assert model.partial_fit(batches[0]).n_iter_ == 1


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        pytest.param(np.ones((20, 60)), r"first batch has numerical rank 1, too low for n_components=8", id="rank-one"),
        pytest.param(np.zeros((20, 60)), r"first batch has numerical rank 0, too low for n_components=8", id="zeros"),
        pytest.param(np.ones((3, 60)), r"n_components=8 must lie in 1\.\.3", id="few"),
        pytest.param(np.full((20, 60), np.inf), "NaN or infinity", id="not-finite"),
    ],
)
def test_a_first_batch_that_makes_no_start(batch: np.ndarray, message: str) -> None:
    model = pw.AND(K)
    with pytest.raises(InputError, match=message):
        model.partial_fit(batch)
    data = topics()
    assert model.partial_fit(data.X).n_iter_ == 1


def test_a_stream_after_a_fit_begins_anew() -> None:
    data = topics()
    model = pw.AND(K, random_state=0).fit(data.X)
    before = dict(vars(model))
    with pytest.raises(InputError, match="NaN"):
        model.partial_fit(np.full((20, 7), np.nan))
    assert vars(model) == before  # all of the fit is still there, the number of features too
    model.partial_fit(data.X)
    assert not {"history_", "converged_", "stop_reason_", "reconstruction_error_", "weight_noise_"} & set(vars(model))


@pytest.mark.parametrize(("samples", "measured"), [(2 * K, False), (2 * K + 1, True)])
def test_noise_of_a_stream_is_measured_or_unknown(samples: int, measured: bool) -> None:
    data = topics()
    model = pw.AND(K, init=data.warm_start(0.05, random_state=0)).partial_fit(data.X[:samples])
    assert np.isnan(model.noise_) != measured


def test_batches_of_another_width_are_refused() -> None:
    data = topics()
    model = pw.AND(K).partial_fit(data.X)
    with pytest.raises(ValueError, match="X has 59 features, but AND is expecting 60"):
        model.partial_fit(data.X[:, 1:])


# --- what is refused ----------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "facets-paper": ({"steps": "facets", "thresholds": "paper"}, "steps='facets' finds its own thresholds"),
    "facets-number": ({"steps": "facets", "thresholds": 0.1}, "use thresholds='adaptive', not 0.1"),
    "facets-batches": ({"steps": "facets", "batch_size": 10}, "steps='facets' needs all the data at once"),
    "exact-batches": ({"steps": "exact", "batch_size": 10}, "steps='exact' needs all the data at once"),
    "no-thresholds": ({"thresholds": []}, "thresholds must be a non-empty vector of numbers >= 0"),
    "matrix": ({"thresholds": [[0.1]]}, "thresholds must be a non-empty vector of numbers >= 0"),
    "negative-in-a-list": ({"thresholds": [0.1, -0.1]}, "thresholds must be a non-empty vector of numbers >= 0"),
    "nan-in-a-list": ({"thresholds": [0.1, np.nan]}, "thresholds must be a non-empty vector of numbers >= 0"),
    "words-in-a-list": ({"thresholds": ["low"]}, "thresholds must be a non-empty vector of numbers >= 0"),
    "negative": ({"thresholds": -0.1}, "'thresholds' parameter"),
    "nan": ({"thresholds": np.nan}, "'thresholds' parameter"),
    "unknown": ({"thresholds": "falling"}, "'thresholds' parameter"),
    "step-size-2": ({"step_size": 2.0}, "'step_size' parameter"),
    "step-size-0": ({"step_size": 0.0}, "'step_size' parameter"),
    "steps-0": ({"steps": 0}, "'steps' parameter"),
    "steps-name": ({"steps": "many"}, "'steps' parameter"),
    "decay-1": ({"decay": 1.0}, "'decay' parameter"),
    "batch-0": ({"batch_size": 0}, "'batch_size' parameter"),
    "floor": ({"floor": -1.0}, "'floor' parameter"),
    "nonnegative": ({"nonnegative": "yes"}, "'nonnegative' parameter"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_parameters(case: str) -> None:
    params, message = REFUSED[case]
    model = pw.AND(K, **params)
    with pytest.raises(ValueError, match=message):
        model.fit(topics().X)
    assert not hasattr(model, "components_")


def test_a_start_of_dependent_components_is_refused() -> None:
    data = topics()
    start = data.components.copy()
    start[5] = start[1] + start[2]
    with pytest.raises(InputError, match=r"component\(s\) \d depend linearly on the others; AND needs independent"):
        fitted(data, init=start)
    outside = data.components.copy()
    outside[3] = np.linalg.svd(data.X)[2][-1]  # nothing of it is in the span of the data
    with pytest.raises(InputError, match=r"inside the span of the data, component\(s\) 3 depend"):
        fitted(data, init=outside)


@pytest.mark.parametrize("k", [2, 5], ids="k={}".format)
def test_records_whose_cone_holds_all_samples_are_kept(k: int) -> None:
    """There is no smaller cone; facets fitted to several samples each would only move it."""
    rng = np.random.default_rng(k)
    W = np.vstack([np.eye(k), rng.dirichlet(np.full(k, 0.5), size=300)])
    X = W @ rng.random((k, 40))
    model = pw.AND(k).fit(X)
    assert model.n_iter_ == 0
    assert model.stop_reason_ == f"all samples lie in the cone of {k} of them"
    assert pw.metrics.total_correlation_error(model.components_, X[:k]) < 1e-12
    assert model.converged_
