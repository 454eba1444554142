"""Methods that pick anchors: exact on separable data, honest about everything else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import partwise as pw
from partwise.algorithms import separable_lp as lp_module
from partwise.exceptions import DegenerateDataWarning, InputError
from partwise.linalg import lp

K = 5
METHODS: dict[str, Callable[..., Any]] = {
    "spa": pw.SPA,
    "spa-normalized": lambda k, **p: pw.SPA(k, normalize=True, **p),
    "pw-spa": lambda k, **p: pw.PreconditionedSPA(k, random_state=0, **p),
    "mve-spa": lambda k, **p: pw.PreconditionedSPA(k, preconditioner="ellipsoid", random_state=0, **p),
    "er-spa": lambda k, **p: pw.EllipsoidalSPA(k, random_state=0, **p),
    "xray": pw.XRAY,
    "xray-dist": lambda k, **p: pw.XRAY(k, selection="dist", **p),
    "lp": pw.SeparableLP,
    "hull": pw.ConvexHull,
}
SCALE_FREE = ("spa-normalized", "xray", "xray-dist", "lp", "hull")
GREEDY = ("spa", "spa-normalized", "pw-spa", "mve-spa", "er-spa", "xray", "xray-dist")
every_method = pytest.mark.parametrize("method", METHODS)
every_axis = pytest.mark.parametrize("axis", ["samples", "features"])


def separable(axis: str, seed: int = 1) -> Any:
    shape = (30, 20) if axis == "samples" else (20, 30)
    return pw.datasets.make_separable(
        n_samples=shape[0], n_features=shape[1], n_components=K, axis=axis, random_state=seed
    )


def points(X: np.ndarray, axis: str) -> np.ndarray:
    return X if axis == "samples" else X.T


# --- what is found ------------------------------------------------------------------------------------------


@every_method
@every_axis
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("seed", [1, 2])
def test_recovers_the_truth(method: str, axis: str, form: Any, seed: int) -> None:
    data = separable(axis, seed)
    model = METHODS[method](K, axis=axis)
    W = model.fit_transform(form(data.X))
    assert sorted(model.anchors_) == sorted(data.anchors)
    match = pw.metrics.match_components(model.components_, data.components)
    assert match.errors.max() < 1e-9
    assert model.reconstruction_error_ < 1e-9
    np.testing.assert_allclose(W @ model.components_, data.X, atol=1e-9)
    if axis == "samples":
        np.testing.assert_array_equal(model.components_, data.X[model.anchors_])
    else:
        np.testing.assert_allclose(model.components_[:, model.anchors_], np.eye(K), atol=1e-9)
        np.testing.assert_allclose(W, data.X[:, model.anchors_], atol=1e-9)


def test_components_of_features_are_the_best_non_negative_ones() -> None:
    data = pw.datasets.add_gaussian_noise(separable("features"), 0.3, random_state=0)
    model = pw.SPA(K, axis="features").fit(data.X)
    A = data.X[:, model.anchors_]
    expected = np.array([scipy.optimize.nnls(A, column)[0] for column in data.X.T]).T
    np.testing.assert_allclose(model.components_, expected, atol=1e-10)


@pytest.mark.parametrize("method", SCALE_FREE)
@every_axis
def test_sizes_of_points_do_not_matter(method: str, axis: str) -> None:
    data = separable(axis)
    size = 10.0 ** np.random.default_rng(0).uniform(-2, 2, 30)
    X = data.X * (size[:, None] if axis == "samples" else size)
    assert sorted(METHODS[method](K, axis=axis).fit(X).anchors_) == sorted(data.anchors)


@every_axis
def test_normalized_sizes_are_those_of_magnitudes(axis: str) -> None:
    X = np.where(np.arange(12).reshape(4, 3) % 2, -1.0, 1.0) * np.arange(1.0, 13.0).reshape(4, 3)
    P = points(X, axis)
    scaled = P / np.abs(P).sum(axis=1, keepdims=True)
    model = pw.SPA(1, axis=axis, normalize=True).fit(sp.csr_array(X))
    assert model.anchors_[0] == np.argmax(np.linalg.norm(scaled, axis=1))


@pytest.mark.parametrize("method", ["spa", "pw-spa", "er-spa", "xray", "lp", "hull"])
@every_axis
def test_noise_below_the_bound_of_the_theorem(method: str, axis: str) -> None:
    """What is picked is within SPA's bound of the true anchors."""
    data = separable(axis)
    A = points(data.X, axis)[data.anchors]
    smallest, longest = np.linalg.svd(A)[1][-1], np.linalg.norm(A, axis=1).max()
    factor = 1.0 + 80.0 * (longest / smallest) ** 2
    limit = smallest * min(0.5 / np.sqrt(K - 1), 0.25) / factor
    rng = np.random.default_rng(0)
    N = rng.standard_normal(points(data.X, axis).shape)
    N *= 0.99 * limit / np.linalg.norm(N, axis=1, keepdims=True)
    X = points(points(data.X, axis) + N, axis)
    model = METHODS[method](K, axis=axis).fit(X)
    found = points(X, axis)[model.anchors_]
    apart = np.linalg.norm(found[:, None] - A, axis=2)
    assert sorted(apart.argmin(axis=1)) == list(range(K))
    assert apart.min(axis=1).max() <= limit * factor
    report = model.separability_
    assert report.noise_limit == pytest.approx(limit, rel=0.1)
    assert report.noise <= 2.0 * limit
    assert report.bound_at(0.9 * report.noise_limit) == pytest.approx(0.9 * report.noise_limit * factor, rel=0.1)
    assert np.isnan(report.bound_at(1.1 * limit))


# --- the report ---------------------------------------------------------------------------------------------


@every_method
@every_axis
def test_the_report_is_what_it_says(method: str, axis: str) -> None:
    data = pw.datasets.add_gaussian_noise(separable(axis), 0.05, clip=True, random_state=0)
    model = METHODS[method](K, axis=axis).fit(data.X)
    report, P = model.separability_, points(data.X, axis)
    if method == "spa-normalized":
        P = P / P.sum(axis=1, keepdims=True)
    A = P[model.anchors_]
    np.testing.assert_array_equal(report.anchors, model.anchors_)
    assert report.condition == pytest.approx(np.linalg.cond(A))
    assert report.longest == pytest.approx(np.linalg.norm(A, axis=1).max())
    assert report.noise == pytest.approx(max(scipy.optimize.nnls(A.T, x)[1] for x in P))
    longest = np.linalg.norm(P, axis=1).max()
    for i in range(K):
        before = np.linalg.lstsq(A[:i].T, A[i])[0] @ A[:i] if i else 0.0
        assert report.residuals[i] == pytest.approx(np.linalg.norm(A[i] - before) / longest)
        apart = scipy.optimize.nnls(np.delete(A, i, axis=0).T, A[i])[1] / np.linalg.norm(A[i])
        assert report.reconstruction[i] == pytest.approx(apart)
    assert (report.margins >= 1.0).all() or method == "lp"
    frame = report.to_native()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["anchor", "residual", "margin", "reconstruction"]
    assert isinstance(report.to_native("pandas"), pd.DataFrame)


def test_one_anchor() -> None:
    report = pw.SPA(1).fit(np.array([[1.0, 2.0], [2.0, 4.0]])).separability_
    assert report.anchors.tolist() == [1]
    assert report.reconstruction.tolist() == pytest.approx([1.0])
    assert report.condition == 1.0
    assert report.noise_limit == pytest.approx(np.sqrt(20.0) / 4.0 / 81.0)
    assert report.bound < 1e-12


# --- fewer than asked for -----------------------------------------------------------------------------------


@every_method
@every_axis
def test_rank_below_k_is_told(method: str, axis: str) -> None:
    data = separable(axis)
    model = METHODS[method](9, axis=axis)
    with pytest.warns(DegenerateDataWarning, match=rf"found only {K} of 9 anchors, .* rank {K}"):
        W = model.fit_transform(data.X)
    assert model.n_components_ == len(model.components_) == W.shape[1] == len(model.anchors_) == K
    assert sorted(model.anchors_) == sorted(data.anchors)
    assert model.reconstruction_error_ < 1e-9


@every_method
@every_axis
def test_nothing_but_zeros(method: str, axis: str) -> None:
    model = METHODS[method](2, axis=axis)
    with pytest.warns(DegenerateDataWarning, match="all-zero"):
        W = model.fit_transform(np.zeros((4, 3)))
    assert len(model.anchors_) == 0
    assert not W.any()
    assert not model.components_.any()
    assert model.reconstruction_error_ == 0.0
    assert (model.separability_.noise, model.separability_.noise_limit) == (0.0, 0.0)
    assert np.isnan(model.separability_.bound)


@pytest.mark.parametrize("method", GREEDY)
@every_axis
def test_what_is_within_the_tolerance_is_noise(method: str, axis: str) -> None:
    data = pw.datasets.add_gaussian_noise(separable(axis), 1e-5, clip=True, random_state=0)
    with pytest.warns(DegenerateDataWarning, match=f"found only {K} of"):
        model = METHODS[method](K + 3, axis=axis, tol=1e-3).fit(data.X)
    assert sorted(model.anchors_) == sorted(data.anchors)


# --- the linear programs ------------------------------------------------------------------------------------


def test_lp_tells_what_it_did() -> None:
    data = pw.datasets.add_gaussian_noise(separable("samples"), 0.02, random_state=0)
    model = pw.SeparableLP(K).fit(data.X)
    assert model.diagonal_.shape == (30,)
    assert model.noise_ > 0.0
    assert max(model.certificate_.primal, model.certificate_.dual, model.certificate_.gap) < 1e-7
    assert pw.SeparableLP(K, noise=0.25).fit(data.X).noise_ == pytest.approx(0.25)
    loose = pw.SeparableLP(K, noise=model.noise_, rho=2.0).fit(data.X)
    assert loose.diagonal_.sum() < model.diagonal_.sum()


def test_lp_out_of_time() -> None:
    data = separable("samples")
    model = pw.SeparableLP(K, time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"was not solved \(.*ime limit.*\); the anchors are those of SPA"):
        model.fit(data.X)
    assert sorted(model.anchors_) == sorted(data.anchors)
    assert model.certificate_ is None
    assert np.isnan(model.diagonal_).all()


@pytest.mark.parametrize("method", ["lp", "hull"])
def test_too_large_for_memory(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lp, "_machine_memory", lambda: 1e4)
    model = METHODS[method](2)
    with pytest.raises(InputError, match="the memory of this machine is good for"):
        model.fit(np.ones((40, 10)))
    assert not hasattr(model, "anchors_")


def test_hull_tells_distances() -> None:
    model = pw.ConvexHull(K).fit(separable("samples").X)
    assert model.distances_.shape == (K,)
    assert (model.distances_ > 0.0).all()


# --- everywhere ---------------------------------------------------------------------------------------------


@every_method
@every_axis
def test_where_the_rows_live_does_not_matter(method: str, axis: str, tmp_path: Path) -> None:
    X = pw.datasets.add_gaussian_noise(separable(axis), 0.05, clip=True, random_state=0).X
    np.save(tmp_path / "X.npy", X)
    expected = METHODS[method](K, axis=axis).fit(X)
    with dask.config.set(scheduler="synchronous"):
        for data in (pw.open_source(sp.csr_array(X), block_rows=7), tmp_path / "X.npy", da.from_array(X, chunks=8)):
            model = METHODS[method](K, axis=axis)
            W = np.asarray(model.fit_transform(data))
            np.testing.assert_array_equal(model.anchors_, expected.anchors_)
            np.testing.assert_allclose(model.components_, expected.components_, atol=1e-10)
            np.testing.assert_allclose(W, expected.transform(X), atol=1e-8)
            assert model.separability_.noise == pytest.approx(expected.separability_.noise)


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [
        pytest.param(pw.SPA, "axis", "rows", id="axis"),
        pytest.param(pw.SPA, "normalize", "yes", id="normalize"),
        pytest.param(pw.XRAY, "selection", "mean", id="selection"),
        pytest.param(pw.PreconditionedSPA, "preconditioner", "qr", id="preconditioner"),
        pytest.param(pw.EllipsoidalSPA, "tol", -1.0, id="tol"),
        pytest.param(pw.SeparableLP, "noise", -0.1, id="noise"),
        pytest.param(pw.SeparableLP, "rho", 0.0, id="rho"),
        pytest.param(pw.SeparableLP, "time_limit", 0.0, id="time_limit"),
        pytest.param(pw.ConvexHull, "tol", "small", id="hull-tol"),
    ],
)
def test_bad_parameters(method: Any, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        method(2, **{name: value}).fit(np.eye(3))


@pytest.mark.parametrize("method", ["xray", "hull"])
def test_negative_data_where_sums_must_be_positive(method: str) -> None:
    with pytest.raises(InputError, match="Negative values"):
        METHODS[method](2).fit(-np.eye(3))


def test_costs_differ_and_favour_large_points() -> None:
    """Of two multiples of one anchor the larger is taken."""
    X = np.vstack([np.eye(3), 2.0 * np.eye(3), np.ones((1, 3))])
    assert lp_module.SPREAD > 0.0
    assert sorted(pw.SeparableLP(3).fit(X).anchors_) == [3, 4, 5]
