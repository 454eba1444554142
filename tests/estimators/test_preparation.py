"""A model prepares what it is given: the same weights as a model without preparation of data prepared by hand."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import partwise as pw
from partwise import estimators
from partwise.exceptions import InputError
from partwise.io.preparation import KINDS, prepare
from partwise.sources import GeneratedSource
from partwise.sources.blocks import to_dense

COUNTS = np.random.default_rng(0).poisson(1.5, (60, 9)).astype(float)
PREPARED = [kind for kind in KINDS if kind != "none"]


def by_hand(kind: str, X: Any = COUNTS, learnt_from: Any = COUNTS) -> Any:
    known = prepare(pw.open_source(learnt_from), kind)
    return to_dense(known.apply(pw.open_source(X)).take(range(len(X))))


def make(name: str = "HALS") -> Any:
    kind = getattr(estimators, name)
    wanted = {"n_components": 3, "random_state": 0, "max_iter": 5}
    return kind(**{key: value for key, value in wanted.items() if key in kind().get_params()})


def quietly(function: Any, *arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


@pytest.mark.parametrize("name", estimators.__all__)
def test_every_estimator(name: str) -> None:
    prepared, plain = make(name).set_preparation("log1p"), make(name)
    X = np.log1p(COUNTS)
    W = quietly(prepared.fit_transform, COUNTS)
    np.testing.assert_array_equal(W, quietly(plain.fit_transform, X))
    np.testing.assert_array_equal(prepared.transform(COUNTS[:7]), plain.transform(X[:7]))
    assert prepared.reconstruction_error_ == plain.reconstruction_error_
    np.testing.assert_array_equal(prepared.inverse_transform(W), W @ plain.components_)  # in prepared units


@pytest.mark.parametrize("form", ["dense", "csr", "frame", "dask", "path"])
@pytest.mark.parametrize("kind", PREPARED)
def test_every_kind_of_data(kind: str, form: str, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", COUNTS)
    names = [f"w{j}" for j in range(9)]
    forms = {
        "dense": COUNTS,
        "csr": sp.csr_array(COUNTS),
        "frame": pd.DataFrame(COUNTS, columns=names),
        "dask": da.from_array(COUNTS, chunks=(17, 9)),
        "path": tmp_path / "X.npy",
    }
    model = quietly(make().set_preparation(kind).fit, forms[form])
    expected = quietly(make().fit, by_hand(kind))
    np.testing.assert_allclose(model.components_, expected.components_, rtol=1e-10, atol=1e-12)
    W = model.transform(forms[form])
    np.testing.assert_allclose(np.asarray(W), expected.transform(by_hand(kind)), rtol=1e-9, atol=1e-12)
    if form == "frame":
        assert list(model.feature_names_in_) == names


def test_new_data_is_prepared_as_that_of_the_fit() -> None:
    model = quietly(make().set_preparation("tfidf").fit, COUNTS[:40])
    plain = quietly(make().fit, by_hand("tfidf", COUNTS[:40], COUNTS[:40]))
    expected = plain.transform(by_hand("tfidf", COUNTS[40:], COUNTS[:40]))
    np.testing.assert_allclose(model.transform(COUNTS[40:]), expected, rtol=1e-10, atol=1e-13)
    with pytest.raises(InputError, match="tfidf is for counts"):
        model.transform(COUNTS / 4.0)


@pytest.mark.parametrize("kind", PREPARED)
def test_it_travels_with_the_model(kind: str, tmp_path: Path) -> None:
    model = quietly(make().set_preparation(kind).fit, COUNTS)
    pw.save(model, tmp_path / "model.safetensors")
    for again in (pw.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        assert repr(again) == repr(model)
        assert again.transform(COUNTS).tobytes() == model.transform(COUNTS).tobytes()
        assert quietly(clone(again).fit, COUNTS).components_.tobytes() == model.components_.tobytes()
    pw.save(clone(model), tmp_path / "fresh.safetensors")
    assert pw.load(tmp_path / "fresh.safetensors").preparation == kind


def test_it_is_told() -> None:
    assert repr(pw.SPA(3).set_preparation("tfidf")) == "SPA(n_components=3).set_preparation('tfidf')"
    assert repr(pw.SPA(3)) == repr(pw.SPA(3).set_preparation("none")) == "SPA(n_components=3)"
    within = make_pipeline(pw.SPA(3).set_preparation("tfidf"))  # whose own repr, as documented, says nothing of it
    assert repr(clone(within)[0]) == "SPA(n_components=3).set_preparation('tfidf')"
    with pytest.raises(InputError, match="one of none, tfidf, log1p, unit, got 'idf'"):
        pw.SPA(3).set_preparation("idf")


def test_a_later_setting_is_for_the_next_fit() -> None:
    model = quietly(make().set_preparation("unit").fit, COUNTS)
    before = model.transform(COUNTS)
    np.testing.assert_array_equal(model.set_preparation("none").transform(COUNTS), before)
    np.testing.assert_array_equal(quietly(model.fit, COUNTS).components_, quietly(make().fit, COUNTS).components_)


@pytest.mark.parametrize("name", ["AND", "ConservativeNMF"])
def test_streams(name: str) -> None:
    stream, plain = make(name).set_preparation("log1p"), make(name)
    for rows in (COUNTS[:30], COUNTS[30:]):
        quietly(stream.partial_fit, rows)
        quietly(plain.partial_fit, np.log1p(rows))
    np.testing.assert_array_equal(stream.components_, plain.components_)
    if name == "ConservativeNMF":
        np.testing.assert_array_equal(stream.encode(COUNTS), plain.encode(np.log1p(COUNTS)))


def test_a_failed_fit_leaves_the_preparation() -> None:
    model = quietly(make().set_preparation("tfidf").fit, COUNTS)
    before = model.preparation_
    with pytest.raises(InputError, match="Negative values"):
        model.fit(-COUNTS)
    assert model.preparation_ is before


def test_drawn_samples_are_prepared_where_they_are_drawn() -> None:
    source = GeneratedSource(lambda n, rng: rng.random((n, 4)), 20, random_state=0)
    with pytest.raises(InputError, match="let its draw prepare them"):
        pw.Purification(2).set_preparation("unit").fit(source)


def test_the_report_is_about_prepared_data(tmp_path: Path) -> None:
    model = quietly(make().set_preparation("log1p").fit, COUNTS)
    plain = quietly(make().fit, np.log1p(COUNTS))
    page = pw.write_report(tmp_path / "a.html", model, COUNTS).read_text(encoding="utf-8")
    other = pw.write_report(tmp_path / "b.html", plain, np.log1p(COUNTS)).read_text(encoding="utf-8")
    assert "prepared by log1p, and parts, weights and errors are in its units" in page
    assert "set_preparation(&#39;log1p&#39;)" in page
    assert "prepared" not in other
    error = f"{plain.reconstruction_error_:.3g}"
    assert error in page
    assert error in other
