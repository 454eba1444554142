"""Objects of other libraries, given to estimators as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError

RNG = np.random.default_rng(1)
H = RNG.random((2, 7)) ** 3
W = RNG.random((12, 2))
X = W @ H
NAMES = [f"f{j}" for j in range(7)]
SAMPLES = [f"s{i}" for i in range(12)]
PLAIN = pw.SPA(2).fit(X)


def test_a_table_and_its_names_through_set_output(tmp_path: Path):
    pd.DataFrame(X, index=SAMPLES, columns=NAMES).to_csv(tmp_path / "a.csv")
    table = pw.read(tmp_path / "a.csv")
    model = pw.SPA(2).set_output(transform="pandas").fit(table)
    weights = model.transform(table)
    assert weights.index.tolist() == SAMPLES
    assert weights.columns.tolist() == ["Part 1", "Part 2"]
    assert model.feature_names_in_.tolist() == NAMES
    assert pw.SPA(2).set_output(transform="pandas").fit_transform(table).index.tolist() == SAMPLES


@pytest.mark.parametrize("library", ["pandas", "polars", "lazy"])
def test_columns_in_another_order_are_put_right(library: str):
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame}.get(library, pl.LazyFrame)(
        dict(zip(NAMES, X.T, strict=True))
    )
    turned = frame[NAMES[::-1]] if library != "lazy" else frame.select(NAMES[::-1])
    model = pw.SPA(2).fit(frame)
    np.testing.assert_array_equal(model.transform(turned), model.transform(frame))
    np.testing.assert_array_equal(model.transform(pw.open_source(turned)), model.transform(frame))


def test_parts_and_samples_are_matched_by_name():
    parts, turned = pd.DataFrame(H, columns=NAMES), pd.DataFrame(H, columns=NAMES)[NAMES[::-1]]
    match = pw.metrics.match_components(turned, parts)
    np.testing.assert_allclose(match.cosines, 1.0)
    assert match.permutation.tolist() == [0, 1]
    np.testing.assert_allclose(pw.nnls(turned, pd.DataFrame(X, columns=NAMES)), W, atol=1e-12)
    other = turned.rename(columns={"f3": "g3"})
    with pytest.raises(InputError, match=r"components are not those of truth: it lacks 'f3' and has 'g3' besides"):
        pw.metrics.match_components(other, parts)
    with pytest.raises(InputError, match=r"columns of H are not those of X: it lacks 'f3'"):
        pw.nnls(other, pd.DataFrame(X, columns=NAMES))


def test_xarray_of_two_and_three_dimensions():
    xr = pytest.importorskip("xarray")
    bands = 400.0 + 10.0 * np.arange(7)
    flat = xr.DataArray(X, dims=("sample", "f"), coords={"sample": SAMPLES, "f": NAMES})
    weights = pw.SPA(2).fit_transform(flat)
    assert weights.dims == ("sample", "part")
    np.testing.assert_array_equal(weights.values, PLAIN.transform(X))
    assert weights.coords["sample"].values.tolist() == SAMPLES
    # bands first, as satellites have it: the dimension's name says what a feature is
    cube = xr.DataArray(X.T.reshape(7, 3, 4), dims=("wavelength", "y", "x"), coords={"wavelength": bands})
    cube.coords["wavelength"].attrs["units"] = "nm"
    model = pw.SPA(2).fit(cube)
    maps = model.transform(cube)
    assert dict(maps.sizes) == {"y": 3, "x": 4, "part": 2}
    np.testing.assert_array_equal(maps.values.reshape(12, 2), PLAIN.transform(X))
    assert model.feature_names_in_[0] == "400 nm"
    spectra = model.inverse_transform(maps)
    assert spectra.dims == ("y", "x", "feature")
    assert spectra.coords["feature"].values.tolist() == model.feature_names_in_.tolist()
    np.testing.assert_allclose(spectra.values.reshape(12, 7), PLAIN.transform(X) @ PLAIN.components_, atol=1e-12)
    assert model.proportions(cube).dims == ("y", "x", "part")
    np.testing.assert_allclose(model.proportions(cube).values.reshape(12, 2), PLAIN.proportions(X), atol=1e-12)
    with pytest.raises(InputError, match="is a Dataset of xarray; give one of its variables: 'a'"):
        pw.SPA(2).fit(xr.Dataset({"a": cube}))


@pytest.mark.filterwarnings("ignore")  # of anndata about pandas
def test_functions_that_take_rows_say_how_to_give_an_object():
    xr = pytest.importorskip("xarray")
    cube = xr.DataArray(X.T.reshape(7, 3, 4), dims=("wavelength", "y", "x"))
    with pytest.raises(InputError, match=r"X is of type DataArray: give open_source\(X\)"):
        pw.nnls(PLAIN.components_, cube)
    np.testing.assert_array_equal(pw.nnls(PLAIN.components_, pw.open_source(cube)), PLAIN.transform(X))
    measured = type("Measured", (xr.DataArray,), {"__slots__": (), "__module__": "laboratory"})(cube)
    np.testing.assert_array_equal(PLAIN.transform(measured).values.reshape(12, 2), PLAIN.transform(X))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_anndata_in_memory(sparse: bool):
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(sp.csr_matrix(X) if sparse else X)
    adata.obs_names, adata.var_names = SAMPLES, NAMES
    model = pw.SPA(2).fit(adata)
    assert model.feature_names_in_.tolist() == NAMES
    adata.obs["donor"] = range(12)
    adata.obsm["X_umap"] = X[:, :2].copy()
    adata.uns["colours"] = ["red"]
    weights = model.transform(adata)
    assert isinstance(weights, anndata.AnnData)
    assert (weights.obs_names.tolist(), weights.var_names.tolist()) == (SAMPLES, ["Part 1", "Part 2"])
    assert weights.obs["donor"].tolist() == list(range(12))
    np.testing.assert_array_equal(weights.obsm["X_umap"], X[:, :2])
    np.testing.assert_allclose(weights.X, PLAIN.transform(X), atol=1e-12)
    np.testing.assert_allclose(model.transform(adata[3:, NAMES[::-1]]).X, PLAIN.transform(X)[3:], atol=1e-12)
    np.testing.assert_array_equal(pw.SPA(2).fit_transform(adata).X, weights.X)
    np.testing.assert_allclose(model.proportions(adata).X, PLAIN.proportions(X), atol=1e-12)
    adata.raw = adata
    np.testing.assert_array_equal(model.transform(adata.raw).X, weights.X)
    for given in (weights, weights[:, ::-1]):
        cells = model.inverse_transform(given)
        assert (cells.obs_names.tolist(), cells.var_names.tolist()) == (SAMPLES, NAMES)
        np.testing.assert_array_equal(cells.X, weights.X @ model.components_)
    weights.obsm["X_umap"][:] = 0.0
    weights.uns["colours"].clear()
    assert adata.obsm["X_umap"].any()
    assert adata.uns["colours"] == ["red"]
    frame = model.set_output(transform="pandas").transform(adata)
    assert frame.index.tolist() == SAMPLES
    np.testing.assert_array_equal(frame.to_numpy(), weights.X)


@pytest.mark.filterwarnings("ignore")
def test_a_signal_of_hyperspy():
    hs = pytest.importorskip("hyperspy.api")
    signal = hs.signals.Signal1D(X.reshape(3, 4, 7))
    axis = signal.axes_manager[-1]
    axis.offset, axis.scale, axis.units = 100.0, 5.0, "eV"
    signal.axes_manager[0].scale = 0.5
    model = pw.SPA(2).fit(signal)
    assert model.feature_names_in_.tolist()[:2] == ["100 eV", "105 eV"]
    maps = model.transform(signal)
    np.testing.assert_array_equal(maps.data.reshape(2, 12).T, PLAIN.transform(X))
    assert maps.axes_manager.signal_axes[0].scale == 0.5
    back = model.inverse_transform(maps)
    np.testing.assert_allclose(back.data, PLAIN.inverse_transform(PLAIN.transform(X)).reshape(3, 4, 7), atol=1e-12)
    [axis] = back.axes_manager.signal_axes
    assert (axis.offset, axis.scale, axis.units) == (100.0, 5.0, "eV")
    assert back.axes_manager.navigation_axes[0].scale == 0.5
    with pytest.raises(InputError, match=r"must have shape \(n_samples, 2\), got \(12, 7\)"):
        model.inverse_transform(signal)


def test_names_of_dask_data_frames():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=2)
    model = pw.SPA(2).fit(frame)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_allclose(np.asarray(model.transform(frame[NAMES[::-1]])), PLAIN.transform(X), atol=1e-12)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_text_are_named(library: str):
    frame = pytest.importorskip(library).DataFrame(
        {"id": ["s1", "s2", "s3"], "a": [1.0, 2.0, 3.0], "b": [2, 1, 0], "tissue": ["x", "1.5", "y"]}
    )
    for model in (pw.SPA(1), pw.Parts(1)):
        with pytest.raises(
            InputError, match=r"X must hold numbers, and has text in 'id', 'tissue' \('s1'\): drop such"
        ):
            model.fit(frame)
    numbers = pytest.importorskip(library).DataFrame({"a": ["1", "2", "4"], "b": [True, False, True]})
    assert pw.SPA(1).fit(numbers[["a"]]).components_.tolist() == [[4.0]]  # as scikit-learn takes them


def test_a_column_of_a_frame_that_is_there_twice_is_named():
    """The words were those of a library inside, of a parameter that nobody gave."""
    frame = pd.DataFrame(np.eye(3), columns=["TBCE", "a", "TBCE"])
    with pytest.raises(InputError, match="X has more than one column that is called 'TBCE': rename"):
        pw.SPA(1).fit(frame)


def test_a_column_of_kinds_in_polars_is_named():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0], "kind": polars.Series(["x", "y"], dtype=polars.Enum(["x", "y"]))})
    with pytest.raises(InputError, match=r"has text in 'kind' \('x'\)"):
        pw.SPA(1).fit(frame)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dates_are_no_numbers(library: str):
    """Polars made microseconds of them, in silence."""
    values = np.arange("2024-01-01", "2024-01-06", dtype="datetime64[D]").astype("datetime64[ns]")
    frame = pytest.importorskip(library).DataFrame({"a": X[:5, 0], "when": values, "how long": values - values[0]})
    for model in (pw.SPA(1), pw.Parts(1)):
        with pytest.raises(InputError, match="X must hold numbers, and has dates or times in 'when', 'how long': drop"):
            model.fit(frame)


def test_columns_that_are_called_by_numbers():
    """Wavelengths that came in another order were taken as they stood."""
    waves = [400.5 + 10 * j for j in range(7)]
    frame = pd.DataFrame(X, columns=waves)
    model = pw.SPA(2).fit(frame)
    assert model.feature_names_in_.tolist() == list(map(str, waves))
    np.testing.assert_array_equal(model.transform(frame[waves[::-1]]), PLAIN.transform(X))
    turned = pw.nnls(pd.DataFrame(PLAIN.components_, columns=waves), frame[waves[::-1]])
    np.testing.assert_allclose(turned, pw.nnls(PLAIN.components_, X), atol=1e-12)
    with pytest.raises(ValueError, match=r"feature names should match|lacks '400.5'"):
        model.transform(frame.rename(columns={400.5: 390.0}))
    counted = pw.SPA(2).fit(pd.DataFrame(X))  # 0, 1, 2, ... are no names
    assert not hasattr(counted, "feature_names_in_")
