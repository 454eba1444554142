"""What Facets promises: recovery without a warm start, under noise, of signed parts and of rows of any size."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import partwise as pw
from partwise.datasets import Mixture
from partwise.exceptions import DegenerateDataWarning, InputError
from partwise.report.facts import course

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


def fitted(data: Mixture, X: Any = None, **params: Any) -> pw.Facets:
    model = pw.Facets(len(data.components), **{"random_state": 0, **params})
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
    np.testing.assert_allclose(model.history_["error"][-1], error(model, data), atol=1e-15)  # another way of summing


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
        model = pw.Facets(5, random_state=0).fit(W @ H)
    assert pw.metrics.total_correlation_error(model.components_, H) < 1e-10
    assert np.isnan(model.noise_)
    assert model.outside_ < 1e-13


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_rank_below_the_number_of_components(rank: int) -> None:
    rng = np.random.default_rng(rank)
    H, W = rng.random((rank, 20)), rng.dirichlet(np.full(rank, 0.05), 200)
    with pytest.warns(DegenerateDataWarning, match=f"only {rank} of 6 components"):
        model = pw.Facets(6, random_state=0).fit(W @ H)
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
    sunk, floored = fitted(data, floor=0.0), fitted(data, floor=2.0)
    assert error(sunk, data) > 2.0 * error(floored, data)
    assert sunk.history_["error"][-1] > 1.5 * sunk.history_["error"].min()
    np.testing.assert_array_equal(sunk.threshold_floor_, 0.0)


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


def test_the_residual_at_max_iter_is_that_of_the_stage_it_came_in() -> None:
    data = topics("dir", 0, 0.02, n=1000, concentration=1.0)
    stages = fitted(data).n_iter_
    for limit, measure, words in ((2, "change", "change of the components"), (stages + 3, "kkt", "KKT residual")):
        with pytest.warns(ConvergenceWarning, match=f"stopped at max_iter={limit} with a {words} of"):
            model = fitted(data, nonnegative=True, max_iter=limit)
        assert (model.stop_.kind, model.stop_.measure) == ("max_iter", measure)
        assert model.stop_.value == model.residual_ == model.history_["residual"][-1]
        assert course(model).residual_name == words


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
def test_where_the_rows_live_does_not_matter(form: str, noise: float, tmp_path: Path) -> None:
    data = topics("dir", 1, noise)
    expected, other = fitted(data), fitted(data, OTHER_FORMS[form](data.X, tmp_path))
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
    assert "E_2" not in pw.Facets(K, max_iter=2, tol=0.0).fit(data.X).history_


def test_active_is_the_mean_number_of_weights_in_use() -> None:
    data = sparse_weights()
    assert fitted(data).history_["active"][-1] == pytest.approx(np.mean(np.count_nonzero(data.weights, axis=1)))


def test_an_interrupted_fit_can_be_used() -> None:
    data = topics()

    def interrupt(progress: Any) -> None:
        if progress.n_iter == 3:
            raise KeyboardInterrupt

    model = pw.Facets(K, callbacks=[interrupt], random_state=0, tol=0.0)
    with pytest.warns(RuntimeWarning, match="interrupted by the user after iteration 3"):
        model.fit(data.X)
    assert (model.n_iter_, model.converged_) == (3, False)
    assert model.weight_noise_.shape == (K,)
    assert model.transform(data.X).shape == (500, K)
    stopped = pw.Facets(K, max_iter=3, random_state=0, tol=0.0).fit(data.X)
    np.testing.assert_array_equal(model.components_, stopped.components_)


def test_fits_are_reproducible() -> None:
    data = topics("ctm", 0, 0.01)
    first, second = fitted(data), fitted(data)
    np.testing.assert_array_equal(first.components_, second.components_)


# --- what is refused ----------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "floor": ({"floor": -1.0}, "'floor' parameter"),
    "nonnegative": ({"nonnegative": "yes"}, "'nonnegative' parameter"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_parameters(case: str) -> None:
    params, message = REFUSED[case]
    model = pw.Facets(K, **params)
    with pytest.raises(ValueError, match=message):
        model.fit(topics().X)
    assert not hasattr(model, "components_")


def test_a_start_of_dependent_components_is_refused() -> None:
    data = topics()
    start = data.components.copy()
    start[5] = start[1] + start[2]
    with pytest.raises(InputError, match=r"component\(s\) \d depend linearly on the others; Facets needs independent"):
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
    model = pw.Facets(k).fit(X)
    assert model.n_iter_ == 0
    assert model.stop_reason_ == f"all samples lie in the cone of {k} of them"
    assert pw.metrics.total_correlation_error(model.components_, X[:k]) < 1e-12
    assert model.converged_
