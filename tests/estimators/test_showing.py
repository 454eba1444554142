"""What a fitted model shows of itself."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

import partwise as pw
from partwise.exceptions import InputError

RNG = np.random.default_rng(2)
X = RNG.gamma(0.5, size=(90, 3)) @ RNG.gamma(0.5, size=(3, 15))
COUNTS = RNG.poisson(RNG.gamma(1.0, 80.0, (90, 3)) @ RNG.dirichlet([0.3] * 15, 3)).astype(float)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_score_is_what_is_explained_of_samples_that_were_not_in_the_fit():
    model = pw.HALS(3, max_iter=300, random_state=0).fit(X[:60])
    left = X[60:] - model.transform(X[60:]) @ model.components_
    assert model.score(X[60:]) == pytest.approx(1.0 - (left**2).sum() / (X[60:] ** 2).sum(), abs=1e-12)
    assert cross_val_score(pw.HALS(3, max_iter=100, random_state=0), X, cv=3).min() > 0.9
    search = GridSearchCV(pw.HALS(1, max_iter=50, random_state=0), {"n_components": [1, 3]}, cv=3).fit(X)
    assert search.best_params_ == {"n_components": 3}


def test_a_search_warns_once_for_its_folds_and_once_for_its_end():
    zero = X.copy()
    zero[[4, 50]] = 0.0
    search = GridSearchCV(pw.HALS(max_iter=2, random_state=0), {"n_components": [2, 3]}, cv=4)
    for _ in range(2):  # anew for every search
        with pytest.warns() as told:
            search.fit(zero)
        assert Counter(one.category.__name__ for one in told) == {"ConvergenceWarning": 2, "DegenerateDataWarning": 2}
        assert {one.filename for one in told} == {__file__}
    with pytest.warns() as told:
        cross_val_score(pw.HALS(2, max_iter=2, random_state=0), zero, cv=4)
    assert sorted(one.category.__name__ for one in told) == ["ConvergenceWarning", "DegenerateDataWarning"]
    for _ in range(2):  # fits of one's own are each told
        with pytest.warns(ConvergenceWarning):
            pw.HALS(2, max_iter=2, random_state=0).fit(X)


def test_score_of_counts_is_explained_deviance():
    model = pw.Likelihood(3, random_state=0).fit(COUNTS[:60])
    test = COUNTS[60:]
    M, mean = model.transform(test) @ model.components_, np.outer(test.sum(axis=1), test.sum(axis=0) / test.sum())

    def divergence(mean: np.ndarray) -> float:
        logs = np.log(np.where(test > 0, test, 1.0) / np.where(test > 0, np.maximum(mean, 1e-300), 1.0))
        return float((test * logs - test + mean).sum())

    assert model.score(test) == pytest.approx(1.0 - divergence(M) / divergence(mean), rel=1e-9)
    assert pw.Likelihood(1, random_state=0).fit(COUNTS).score(COUNTS) == pytest.approx(0.0, abs=1e-6)


def test_tables_for_notebooks_and_pandas():
    model = pw.HALS(2, max_iter=500, random_state=0).fit(pd.DataFrame(X, columns=[f"<g{j}>" for j in range(15)]))
    model.rename_parts(["a & b", "c"])
    page = model._repr_mimebundle_()["text/html"]
    assert "<td style" in page
    assert "a &amp; b" in page
    assert "&lt;g" in page
    frame = pd.DataFrame(model.history_)
    assert list(frame.columns) == list(model.history_)
    assert len(frame) == model.history_.n_rows
    assert model.history_._repr_html_().count("<tr>") <= 13
    assert "<th>cosine</th>" in pw.metrics.match_components(model.components_, model.components_)._repr_html_()
    certificate = pw.linalg.nnls(model.components_, X, return_certificate=True)[1]
    assert f"<tr><td>kkt</td><td>{len(X)}</td><td>" in certificate._repr_html_()


def test_features_that_are_not_there_are_named():
    names = [f"g{j}" for j in range(15)]
    model = pw.SPA(2).fit(pw.io.Table(X, names))
    with pytest.raises(ValueError, match=r"X has 13 features, but SPA is expecting 15 .*: it lacks 'g13', 'g14'$"):
        model.transform(pw.io.Table(X[:, :13], names[:13]))
    with pytest.raises(ValueError, match=r"X has 16 features, but SPA is expecting 15 .*: it has 'more' besides$"):
        model.transform(pw.io.Table(np.column_stack([X, X[:, 0]]), [*names, "more"]))


def test_pictures_have_names_and_axes():
    pytest.importorskip("matplotlib")
    model = pw.SPA(2).fit(X)
    plt = pytest.importorskip("matplotlib.pyplot")
    shown = model.plot()
    assert [ax.get_title() for ax in shown] == ["Part 1", "Part 2"]
    assert plt.gcf() is shown[0].figure  # what plt.show(), plt.savefig() and notebooks show
    curves = pw.plots.plot_parts(np.eye(2, 30), feature_names=[f"{400 + j} nm" for j in range(30)])
    assert curves[0].get_xlabel() == "nm"
    assert len(curves[0].lines) == 1
    fitted = pw.HALS(2, max_iter=500, random_state=0).fit(X)
    ax = fitted.plot_history()
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_yscale()) == ("iteration", "objective (log scale)", "log")
    assert fitted.plot_history(ax=ax) is ax
    with pytest.raises(InputError, match="column is one of"):
        fitted.plot_history(column="nothing")
    with pytest.raises(InputError, match="axes must be 2, one a part; got 1"):
        model.plot(axes=[ax])


@pytest.mark.filterwarnings("ignore")  # of anndata about pandas
def test_a_round_trip_of_an_anndata(tmp_path):
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(COUNTS)
    adata.var.index = pd.Index([f"g{j}" for j in range(15)], dtype=object)
    adata.obs.index = pd.Index([f"c{i}" for i in range(90)], dtype=object)
    model = pw.Likelihood(3, random_state=0).fit(adata[:, [f"g{j}" for j in range(2, 15)]])
    assert pw.annotate(adata, model, key="nmf") is adata
    np.testing.assert_allclose(adata.obsm["X_nmf"].sum(axis=1), 1.0)
    assert np.isnan(adata.varm["nmf"][:2]).all()
    np.testing.assert_array_equal(adata.varm["nmf"][2:].T, model.components_)
    adata.write_h5ad(tmp_path / "a.h5ad")
    again = anndata.read_h5ad(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(again.obsm["X_nmf"], adata.obsm["X_nmf"])
    assert list(again.uns["nmf"]["names"]) == ["Part 1", "Part 2", "Part 3"]
    sc = pytest.importorskip("scanpy")
    sc.pp.neighbors(again, use_rep="X_nmf", n_neighbors=5)
    assert "connectivities" in again.obsp
    with pytest.raises(InputError, match="adata lacks 1 of the model's genes, such as 'g14'"):
        pw.annotate(adata[:, :14].copy(), model)
    adata.var_names = ["g3", *adata.var_names[1:]]
    with pytest.raises(InputError, match="adata has the gene 'g3' twice"):
        pw.annotate(adata, model)


@pytest.mark.filterwarnings("error::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
def test_cells_that_use_no_part_have_none_and_a_view_is_written_to_without_a_word(tmp_path):
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(np.vstack([COUNTS, np.zeros((2, 15))]))
    adata.var.index = pd.Index([f"g{j}" for j in range(15)], dtype=object)
    adata.obs.index = pd.Index([f"c{i}" for i in range(92)], dtype=object)
    model = pw.Likelihood(3, random_state=0).fit(adata[:90])
    part = adata[40:92, ::-1]
    with pytest.warns(pw.exceptions.DegenerateDataWarning, match="50, 51 use no part"):
        pw.annotate(part, model)
    assert not part.is_view
    assert part.obs["partwise"].isna().tolist() == [False] * 50 + [True] * 2
    np.testing.assert_array_equal(part.obsm["X_partwise"][50:], 0.0)
    np.testing.assert_array_equal(part.varm["partwise"][::-1].T, model.components_)
    assert "partwise" not in adata.obs
    part.write_h5ad(tmp_path / "a.h5ad")
    assert anndata.read_h5ad(tmp_path / "a.h5ad").obs["partwise"].isna().sum() == 2


LOGGED = np.log1p(1e4 * COUNTS / COUNTS.sum(axis=1, keepdims=True))
LABELLED = pd.DataFrame(COUNTS, columns=[f"g{j}" for j in range(15)]).assign(label=np.arange(90) % 3)


@pytest.mark.parametrize(
    ("model", "X", "told"),
    [
        (pw.Likelihood(2, max_iter=500), LOGGED, r"the numbers are logarithms \(with exp\(x\) - 1 .*: give the counts"),
        (pw.MU(2, beta_loss=1, tol=0.5), LOGGED, "the numbers are logarithms .* or take HALS"),
        (pw.AnchorTopics(2), LOGGED, "the numbers are logarithms"),
        (pw.HALS(2).set_preparation("log1p"), LOGGED, "log1p would take them again"),
        (pw.HALS(2), LABELLED, "'label' among the features is numbers of classes"),
    ],
    ids=["likelihood", "divergence", "topics", "log1p", "labels"],
)
def test_a_mistake_of_a_first_try_is_told_at_the_users_line(model: Any, X: Any, told: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.warns(pw.exceptions.DegenerateDataWarning, match=told) as caught:
            clone(model).fit(X)
    assert {one.filename for one in caught if one.category is pw.exceptions.DegenerateDataWarning} == {__file__}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(model).fit(pw.open_source(X))  # of sources only what they hold is looked at
    assert not [one for one in caught if re.search(told, str(one.message))]


def test_nothing_is_told_of_counts_and_of_logarithms_for_squares():
    with warnings.catch_warnings():
        warnings.simplefilter("error", pw.exceptions.DegenerateDataWarning)
        pw.Likelihood(2, max_iter=500).fit(LABELLED.drop(columns="label"))
        pw.HALS(2).fit(LOGGED)


@pytest.mark.parametrize("kind", ["measured", "shares", "shares of texts", "half units"])
def test_what_is_no_logarithm_is_not_called_one(kind: str):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.3 if kind == "shares of texts" else 4.0, (60, 30)) + 0.0
    X = {"measured": rng.gamma(2.0, size=(60, 30)), "half units": counts / 2.0}.get(
        kind, counts / counts.sum(axis=1, keepdims=True)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pw.exceptions.DegenerateDataWarning)
        warnings.filterwarnings("error", "the numbers are logarithms")
        pw.Likelihood(2, max_iter=500).fit(X)


def test_times_as_rows_are_not_called_turned():
    xr = pytest.importorskip("xarray")
    rng = np.random.default_rng(0)
    coords = {"time": np.arange(50) * 0.5, "sensor": list("abcdef")}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pw.exceptions.DegenerateDataWarning)
        pw.SPA(2).fit(xr.DataArray(rng.random((50, 6)), dims=("time", "sensor"), coords=coords))
