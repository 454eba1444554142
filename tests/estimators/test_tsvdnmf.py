"""What TSVDNMF, TSVD and KMeans promise as estimators: constants, attributes, degenerate data, stopping."""

from __future__ import annotations

from functools import cache
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import partwise as pw
from partwise.datasets import Mixture, add_gaussian_noise, add_multinomial_noise, make_dominant
from partwise.exceptions import DegenerateDataWarning
from partwise.sources import MemorySource

EVERY = {
    "tsvdnmf": lambda k, **p: pw.TSVDNMF(k, random_state=0, **p),
    "refined": lambda k, **p: pw.TSVDNMF(k, refine=True, random_state=0, **p),
    "tsvd": lambda k, **p: pw.TSVD(k, random_state=0, **p),
    "kmeans": lambda k, **p: pw.KMeans(k, random_state=0, **p),
}
every_estimator = pytest.mark.parametrize("name", EVERY)


@cache
def noisy(seed: int = 0, n: int = 500) -> Mixture:
    data = make_dominant(n_samples=n, n_features=50, n_components=5, dominant_weight=0.3, random_state=seed)
    return add_multinomial_noise(data, 100, random_state=seed)


def fitted(X: Any = None, k: int = 5, **params: Any) -> pw.TSVDNMF:
    return pw.TSVDNMF(k, **{"random_state": 0, "eps0": 0.2, **params}).fit(noisy().X if X is None else X)


def told(record: Any) -> list[str]:
    return [str(w.message) for w in record if issubclass(w.category, DegenerateDataWarning)]


# --- constants ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "k", "eps0", "n_pure"),
    [
        (100_000, 10, 0.01, 250),  # a tenth of an equal share, and a quarter of it
        (10_000, 10, 0.01, 25),
        (1000, 10, 0.02, 8),  # order statistics of at least 10, means of at least 8
        (100, 10, 0.2, 8),  # but never more than a share: the paper's Table 2
        (50, 10, 0.2, 5),
        (77, 3, 20 / 77, 8),
        (10, 1, 1.0, 8),
        (5, 5, 0.4, 1),
        (1, 1, 1.0, 1),
    ],
)
def test_default_constants(n: int, k: int, eps0: float, n_pure: int) -> None:
    found = pw.TSVDNMF(k)._constants(n, k, 0.001)
    assert found == (pytest.approx(eps0), n_pure)


@pytest.mark.parametrize(("density", "share"), [(0.001, 0.1), (0.0125, 0.1), (0.05, 0.4), (0.1, 0.8), (1.0, 0.8)])
def test_share_follows_the_density(density: float, share: float) -> None:
    assert pw.TSVDNMF()._constants(10**6, 10, density) == (pytest.approx(share / 10), round(share * 25_000))


@pytest.mark.parametrize(
    ("n", "params", "eps0", "n_pure"),
    [
        (1000, {"literal": True}, 0.04, 10),
        (100, {"literal": True}, 0.04, 1),
        (20, {"literal": True}, 0.04, 1),
        (1000, {"literal": True, "eps0": 0.1}, 0.1, 25),
        (1000, {"literal": True, "n_pure": 3}, 0.04, 3),
        (1000, {"eps0": 0.5}, 0.5, 100),  # an equal share
        (1000, {"eps0": 0.04}, 0.04, 10),
        (1000, {"n_pure": 400}, 0.02, 400),
        (1000, {"n_pure": 4000}, 0.02, 1000),
    ],
    ids=str,
)
def test_given_constants(n: int, params: dict[str, Any], eps0: float, n_pure: int) -> None:
    assert pw.TSVDNMF(**params)._constants(n, 10, 0.001) == (pytest.approx(eps0), n_pure)


@pytest.mark.parametrize("n", [77, 154, 100, 1001])
def test_rounding_loses_no_record(n: int) -> None:
    """20 / n of n records is 20 of them, whatever the product is rounded to."""
    X = np.random.default_rng(0).random((n, 3))
    model = pw.TSVDNMF(1, eps0=20 / n, alpha=1.0, prune=False, random_state=0).fit(X)
    rank = 10
    np.testing.assert_array_equal(model.thresholds_, -np.sort(-X, axis=0)[rank - 1])


def test_literal_is_the_papers_procedure() -> None:
    X = noisy().X
    with pytest.warns(DegenerateDataWarning, match="have no dominant feature"):
        model = fitted(eps0=None, literal=True)
    assert (model.eps0_, model.n_pure_) == (0.04, 5)
    np.testing.assert_allclose(model.thresholds_, 0.9 * -np.sort(-X, axis=0)[9], rtol=1e-15)
    for l, rows in enumerate(model.pure_records_):
        assert len(rows) in (0, 5)
        if len(rows):
            np.testing.assert_allclose(model.components_[l], X[rows].mean(axis=0), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:cluster:partwise.exceptions.DegenerateDataWarning")
def test_literal_components_keep_their_sign() -> None:
    data = add_gaussian_noise(make_dominant(random_state=0), 2.0, random_state=0)
    model = pw.TSVDNMF(10, literal=True, random_state=0).fit(data.X)
    assert (model.components_ < 0).any()
    with pytest.warns(DegenerateDataWarning, match=r"\d+ entries of the components, means of data with negative"):
        other = pw.TSVDNMF(10, eps0=0.04, n_pure=1, random_state=0).fit(data.X)
    np.testing.assert_array_equal(other.components_, np.maximum(model.components_, 0.0))


def test_parameters_are_used() -> None:
    X, model = noisy().X, fitted()
    np.testing.assert_allclose(fitted(alpha=0.45).thresholds_, model.thresholds_ / 2, rtol=1e-14)
    lower = fitted(eps4=1e-3).thresholds_
    np.testing.assert_allclose(lower, np.maximum(model.thresholds_ - 2e-3, 0.0), rtol=1e-14)
    assert (fitted(prune=False).pruned_ == -1).all()
    strict = pw.TSVDNMF(5, eps0=0.2, nu=1e6, random_state=0)
    X = X + 0.01  # where others have nothing, anything dominates
    with pytest.warns(DegenerateDataWarning, match="have no dominant feature"):
        strict.fit(X)
    assert not any(map(len, strict.pure_records_))
    means = [X[strict.labels_ == l].mean(axis=0) for l in range(5)]
    np.testing.assert_allclose(strict.components_, means, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:cluster:partwise.exceptions.DegenerateDataWarning")
def test_constants_of_the_program() -> None:
    """500 records, 5 components: thresholds of the 20th, g of the 16th largest entry, means of 55 records."""
    X, model = noisy().X, fitted(eps0=None, literal="program")
    assert model.n_pure_ == 55
    top = -np.sort(-X, axis=0)[19]
    np.testing.assert_allclose(model.thresholds_[top > 0], 0.9 * top[top > 0], rtol=1e-15)
    g = np.array([np.sort(X[model.labels_ == l], axis=0)[-16] for l in range(5)])
    for l, rows in enumerate(model.pure_records_):
        expected = [i for i in range(50) if g[l, i] > max(0.0, 1.05 * np.delete(g[:, i], l).max())]
        assert model.dominant_features_[l].tolist() == expected
        assert len(rows) in (0, 55)
        if len(rows):
            np.testing.assert_allclose(model.components_[l], X[rows].mean(axis=0), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:cluster:partwise.exceptions.DegenerateDataWarning")
@pytest.mark.parametrize(("gamma", "eps4"), [(None, 0.01), (0.05, 0.0), (0.08, 0.005), (0.01, 0.02)])
def test_dominant_features_reach_gamma(gamma: float | None, eps4: float) -> None:
    """Step 4 (b), word for word: g(i, l) > max(gamma - 2 eps4, nu g(i, l'))."""
    X, model = noisy().X, fitted(gamma=gamma, eps4=eps4)
    rank = int(0.2 * len(X) / 2)
    g = np.array([np.sort(X[model.labels_ == l], axis=0)[-min(rank, (model.labels_ == l).sum())] for l in range(5)])
    least = (2 * eps4 if gamma is None else gamma) - 2 * eps4
    for l in range(5):
        expected = [i for i in range(50) if g[l, i] > max(least, 1.15 * np.delete(g[:, i], l).max())]
        assert model.dominant_features_[l].tolist() == expected


def test_constants_of_a_model() -> None:
    constants = pw.metrics.DominantConstants(
        n_components=5, rho=0.1, gamma=0.05, p0=0.3, alpha=0.8, beta=0.15, w0=0.1, eps0=0.1, eps4=0.001, eps=0.004
    )
    model = pw.TSVDNMF.of(constants, random_state=7)
    assert model.nu == pytest.approx((1 - 0.8 * 0.004) / (0.15 + 0.1 + 2 * 0.8 * 0.004))
    expected = {"eps0": 0.1, "alpha": 0.8, "eps4": 0.001, "gamma": 0.05, "literal": True, "random_state": 7}
    assert {name: model.get_params()[name] for name in expected} == expected
    assert model.n_components == 5


def test_weights_of_least_absolute_deviations() -> None:
    X, model, plain = noisy().X, fitted(norm="l1"), fitted()
    np.testing.assert_array_equal(model.components_, plain.components_)
    W = model.transform(X)
    np.testing.assert_allclose(W, pw.linalg.least_absolute(model.components_, X), rtol=1e-12)
    misfit = [np.abs(X - weights @ plain.components_).sum(axis=1) for weights in (W, plain.transform(X))]
    assert (misfit[0] <= misfit[1] * (1 + 1e-8)).all()
    assert misfit[0].sum() < 0.99 * misfit[1].sum()
    assert model.reconstruction_error_ == pytest.approx(np.linalg.norm(X - W @ model.components_) / np.linalg.norm(X))


# --- attributes -----------------------------------------------------------------------------------------------


def test_attributes() -> None:
    X, model = noisy().X, fitted(n_pure=7)
    assert model.components_.shape == (5, 50)
    assert model.labels_.shape == (500,)
    assert set(model.labels_.tolist()) == set(range(5))
    assert model.thresholds_.shape == model.pruned_.shape == (50,)
    assert (model.thresholds_ >= 0).all()
    for i in np.flatnonzero(model.pruned_ >= 0):
        rarer = model.pruned_[i]
        assert model.pruned_[rarer] == -1
        counts = [(X[:, j] >= (1 - 1e-12) * model.thresholds_[j]).sum() for j in (rarer, i)]
        assert counts[0] < counts[1]
    assert (model.eps0_, model.n_pure_) == (0.2, 7)
    assert len(model.dominant_features_) == len(model.pure_records_) == 5
    for l in range(5):
        J, rows = model.dominant_features_[l], model.pure_records_[l]
        assert len(rows) == (7 if len(J) else 0)
        sums = X[:, J].sum(axis=1)
        assert (np.diff(sums[rows]) <= 1e-12).all()
        assert sums[rows[-1]] >= np.delete(sums, rows).max() - 1e-12
        np.testing.assert_allclose(model.components_[l], X[rows].mean(axis=0), rtol=1e-12)
    assert len(np.concatenate(model.dominant_features_)) == len(set(np.concatenate(model.dominant_features_).tolist()))
    assert model.n_iter_ == model.n_lloyd_ >= 1
    assert (model.converged_, model.stop_reason_) == (True, "all steps are done")
    assert np.isnan(model.residual_)
    W = model.transform(X)
    np.testing.assert_allclose(W, pw.nnls(model.components_, X), rtol=1e-10, atol=1e-12)
    expected = np.linalg.norm(X - W @ model.components_) / np.linalg.norm(X)
    assert model.reconstruction_error_ == pytest.approx(expected)


def test_history_of_the_steps_and_of_the_refinement() -> None:
    plain, model = fitted(), fitted(refine=True)
    assert plain.history_.n_rows == 1
    assert {"n_iter", "time", "objective", "residual"} == set(plain.history_)
    assert {"n_iter", "time", "objective", "residual", "noise", "active", "spread"} == set(model.history_)
    iterations = model.history_.n_rows - 1
    assert iterations > 1
    assert model.n_iter_ == model.history_["n_iter"][-1] == model.stop_.n_iter == iterations
    assert np.isnan(model.history_["objective"][0])
    assert np.isfinite(model.history_["objective"][1:]).all()
    assert model.history_["residual"][-1] <= model.tol < model.history_["residual"][-2]
    assert model.residual_ == model.history_["residual"][-1]
    assert (model.stop_.kind, model.stop_.measure) == ("converged", "change")
    assert model.converged_ is True
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    # what the steps found is not touched
    for name in ("labels_", "thresholds_", "pruned_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))


def test_truth_is_measured_in_the_history() -> None:
    data = noisy()
    model = pw.TSVDNMF(5, eps0=0.2, refine=True, random_state=0).fit(data.X, truth=data.components)
    error = model.history_["error"]
    assert len(error) == model.history_.n_rows
    assert error[-1] < 0.8 * error[0]


def test_labels_stay_on_dask() -> None:
    X = noisy().X
    with dask.config.set(scheduler="synchronous"):
        for name, make in EVERY.items():
            params = {"eps0": 0.2} if name != "kmeans" else {}
            model = make(5, **params).fit(da.from_array(X, chunks=(100, 50)))
            assert isinstance(model.labels_, da.Array), name
            assert model.labels_.chunks == ((100,) * 5,)
            expected = make(5, **params).fit(MemorySource(X, block_rows=100))
            np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_single_precision(form: Any) -> None:
    X = noisy().X
    model, single = fitted(refine=True), fitted(form(X.astype(np.float32)), refine=True)
    assert single.components_.dtype == np.float32
    assert pw.metrics.clustering_accuracy(model.labels_, single.labels_) > 0.99
    assert pw.metrics.match_components(single.components_, model.components_).cosines.min() > 0.9999


@pytest.mark.parametrize("unit", [1e-100, 1e-3, 1e100])
def test_unit_of_the_data_does_not_matter(unit: float) -> None:
    model, other = fitted(), fitted(unit * noisy().X)
    assert pw.metrics.clustering_accuracy(model.labels_, other.labels_) == 1.0
    order = pw.metrics.match_components(other.components_, model.components_).permutation
    np.testing.assert_allclose(other.components_[order] / unit, model.components_, rtol=1e-10)
    for l, rows in enumerate(model.pure_records_):
        np.testing.assert_array_equal(other.pure_records_[order[l]], rows)


# --- degenerate data ------------------------------------------------------------------------------------------


@every_estimator
@pytest.mark.filterwarnings("ignore::partwise.exceptions.DegenerateDataWarning")
def test_one_component(name: str) -> None:
    X = noisy().X
    model = EVERY[name](1).fit(X)
    assert not model.labels_.any()
    assert model.components_.shape == (1, 50)
    mean = X.mean(axis=0)
    cosine = model.components_[0] @ mean / np.linalg.norm(model.components_[0]) / np.linalg.norm(mean)
    assert cosine > 0.8


@every_estimator
def test_fewer_clusters_than_components(name: str) -> None:
    X = np.repeat([[3.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 1.0]], 20, axis=0)
    model = EVERY[name](4)
    with pytest.warns(DegenerateDataWarning, match="only 2 of 4 clusters could be told apart") as record:
        model.fit(X)
    zero = np.flatnonzero(~model.components_.any(axis=1))
    assert len(zero) == 2
    assert f"component(s) {zero[0]}, {zero[1]} are zero" in " ".join(told(record))
    found = model.components_[model.components_.any(axis=1)]
    found = found / found.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.sort(found[:, 0]), [0.0, 0.75], atol=1e-6)
    assert model.reconstruction_error_ < 1e-6


@every_estimator
def test_nothing_but_zeros(name: str) -> None:
    model = EVERY[name](3)
    with pytest.warns(DegenerateDataWarning) as record:
        model.fit(np.zeros((30, 5)))
    messages = " ".join(told(record))
    assert "30 all-zero row(s)" in messages
    assert "only 1 of 3 clusters could be told apart" in messages
    assert name == "kmeans" or "no threshold is positive: all records are in one cluster" in messages
    assert not model.components_.any()
    assert len(set(model.labels_.tolist())) == 1


@pytest.mark.parametrize("name", ["tsvdnmf", "tsvd"])
def test_features_that_are_seldom_positive(name: str) -> None:
    X = np.zeros((100, 6))
    for j in range(1, 6):
        X[2 * j : 2 * j + 2, j] = 1.0
    model = EVERY[name](2)
    with pytest.warns(DegenerateDataWarning) as record:
        model.fit(X)
    assert "no threshold is positive for the" in " ".join(told(record))
    assert (model.thresholds_[1:] > 0).all()
    assert np.isfinite(model.components_).all()


def test_constant_features_and_those_below_threshold_everywhere() -> None:
    X = noisy().X.copy()
    X[:, 0], X[:, 1], X[:, 2] = 0.05, -1.0, 0.0
    X[:3, 3], X[3:, 3] = 0.2, 0.0  # in fewer records than the rank
    with pytest.warns(DegenerateDataWarning):
        model = fitted(X)
    assert model.thresholds_[0] == pytest.approx(0.9 * 0.05)
    assert not model.thresholds_[1:4].any()
    assert not {0, 1, 2, 3} & set(np.concatenate(model.dominant_features_).tolist())
    assert pw.metrics.clustering_accuracy(fitted().labels_, model.labels_) > 0.9


@pytest.mark.parametrize("n", [6, 12, 40, 99])
@pytest.mark.filterwarnings("ignore::partwise.exceptions.DegenerateDataWarning")
def test_few_records(n: int) -> None:
    data = make_dominant(n_samples=n, n_features=30, n_components=3, dominant_weight=0.5, random_state=1)
    for name, make in EVERY.items():
        model = make(3).fit(data.X)
        assert np.isfinite(model.components_).all(), name
        assert (model.components_ >= 0).all()
        assert model.components_.any(axis=1).all()
        assert model.reconstruction_error_ < 0.7


@every_estimator
@pytest.mark.filterwarnings("ignore:.*entries of the components:partwise.exceptions.DegenerateDataWarning")
@pytest.mark.filterwarnings("ignore:cluster:partwise.exceptions.DegenerateDataWarning")
def test_negative_noise(name: str) -> None:
    data = add_gaussian_noise(
        make_dominant(n_samples=500, n_features=50, n_components=5, random_state=0), 1.0, random_state=0
    )
    assert (data.X < 0).mean() > 0.2
    model = EVERY[name](5).fit(data.X)
    assert (model.components_ >= 0).all()
    assert np.isfinite(model.components_).all()
    assert (model.transform(data.X) >= 0).all()


def test_all_negative() -> None:
    model = pw.TSVDNMF(2, random_state=0)
    with pytest.warns(DegenerateDataWarning, match="no threshold is positive") as record:
        model.fit(-np.ones((20, 3)) - np.random.default_rng(0).random((20, 3)))
    assert "3 entries of the components" in " ".join(told(record))
    assert not model.components_.any()


def test_equal_records_are_no_trouble() -> None:
    X = np.tile([1.0, 2.0, 0.5], (50, 1))
    model = pw.TSVDNMF(2, refine=True, random_state=0)
    with pytest.warns(DegenerateDataWarning, match="only 1 of 2 clusters"):
        model.fit(X)
    assert sorted(np.bincount(model.labels_, minlength=2).tolist()) == [0, 50]
    found = model.components_[model.components_.any(axis=1)]
    np.testing.assert_allclose(found, [[1.0, 2.0, 0.5]], rtol=1e-12)
    # ties: the first records
    assert max(model.pure_records_, key=len).tolist() == list(range(model.n_pure_))


# --- stopping -------------------------------------------------------------------------------------------------


def test_interrupted_during_the_refinement() -> None:
    def interrupt(progress: Any) -> None:
        if progress.n_iter == 2:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="interrupted by the user after iteration 2"):
        model = fitted(refine=True, callbacks=[interrupt])
    assert model.history_.n_rows == 3
    assert model.n_iter_ == model.stop_.n_iter == 2
    assert model.converged_ is False
    with pytest.warns(ConvergenceWarning):
        expected = fitted(refine=True, max_iter=2, tol=1e-12)
    if expected.n_lloyd_ == model.n_lloyd_:
        np.testing.assert_array_equal(model.components_, expected.components_)
    assert model.transform(noisy().X).shape == (500, 5)


def test_interrupted_before_there_is_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("partwise.estimators.tsvdnmf.cluster", interrupt)
    model = pw.TSVDNMF(5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(noisy().X)
    assert vars(model) == vars(pw.TSVDNMF(5))


@every_estimator
@pytest.mark.filterwarnings("ignore:cluster:partwise.exceptions.DegenerateDataWarning")
def test_callbacks_see_everything_and_can_stop(name: str) -> None:
    seen: list[Any] = []
    model = EVERY[name](5, callbacks=[lambda progress: seen.append(progress) or progress.n_iter >= 1])
    model.fit(noisy().X)
    assert [progress.n_iter for progress in seen] == list(range(model.history_.n_rows))
    np.testing.assert_array_equal(seen[-1].components, model.components_)
    assert len(seen) == (2 if name == "refined" else 1)
    assert model.stop_reason_ == ("stopped by a callback" if name == "refined" else "all steps are done")


def test_lloyd_that_has_not_settled_is_told() -> None:
    X = np.random.default_rng(0).random((400, 10))
    model = pw.KMeans(8, max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=1 before all records had settled; raise max_iter"):
        model.fit(X)
    assert model.converged_ is False
    assert model.n_lloyd_ == model.n_iter_ == 1
    assert type(model.stop_reason_) is str


def test_refinement_stopped_at_max_iter_is_told() -> None:
    model = pw.TSVDNMF(5, eps0=0.2, refine=True, tol=1e-12, max_iter=30, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=30 with a change of the components of .* > tol=1e-12"):
        model.fit(noisy().X)
    assert model.history_.n_rows == 31


def test_kmeans_attributes() -> None:
    X = noisy().X
    model = pw.KMeans(5, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_, [X[model.labels_ == l].mean(axis=0) for l in range(5)], rtol=1e-12)
    assert model.inertia_ == pytest.approx(((X - model.components_[model.labels_]) ** 2).sum())
    assert not hasattr(model, "thresholds_")


def test_tsvd_attributes() -> None:
    X = noisy().X
    model = pw.TSVD(5, random_state=0).fit(X)
    assert (model.pruned_ == -1).all()
    count = int(500 / 5 / 3 / 2)
    assert {len(rows) for rows in model.pure_records_} <= {0, count}
    kept = model.thresholds_ > 0
    # at least half a share of the records reach a threshold
    assert ((model.thresholds_ <= X).sum(axis=0)[kept] >= 50).all()
    ranks = -np.sort(-X, axis=0)[49]
    np.testing.assert_array_equal(kept, ranks > 0)


@pytest.mark.parametrize("seed", [0, 3])
def test_seed_reproduces_every_bit(seed: int) -> None:
    one, two = (fitted(refine=True, random_state=seed) for _ in range(2))
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(clone(one).fit(noisy().X).components_, one.components_)


@pytest.mark.parametrize(
    "params",
    [
        {"eps0": 0.0},
        {"eps0": 1.0},
        {"alpha": 0.0},
        {"alpha": 1.1},
        {"nu": 0.9},
        {"eps4": -1.0},
        {"n_pure": 0},
        {"prune": 2},
        {"literal": "yes"},
        {"refine": None},
        {"n_init": 0},
        {"max_iter": 0},
        {"tol": -1.0},
    ],
    ids=lambda params: "-".join(f"{name}={value}" for name, value in params.items()),
)
def test_bad_parameters(params: dict[str, Any]) -> None:
    (name,) = params
    with pytest.raises(ValueError, match=name):
        fitted(**params)
