"""Parts are found where the noise has one size: the same as of data that was scaled by hand, in the data's units."""

from __future__ import annotations

import pickle
import warnings
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import partwise as pw
from partwise import estimators
from partwise.estimators.weighing import Weighing
from partwise.exceptions import InputError
from partwise.sources import GeneratedSource

RNG = np.random.default_rng(0)
PARTS = RNG.dirichlet([0.3] * 30, 3)
WEIGHTS = RNG.gamma(0.4, 200.0, (120, 3))
COUNTS = RNG.poisson(WEIGHTS @ PARTS).astype(float) + (np.arange(120) == 7)[:, None]  # no empty row
NOISE = pw.measure_noise(COUNTS)
NOT_WEIGHED = ("AnchorTopics", "ConservativeNMF", "MiniBatchNMF")


def make(name: str = "HALS") -> Any:
    kind = getattr(estimators, name)
    wanted = {"n_components": 3, "random_state": 0, "max_iter": 5, "method": "facets"}
    return kind(**{key: value for key, value in wanted.items() if key in kind().get_params()})


def quietly(function: Any, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


@pytest.mark.parametrize("name", [name for name in estimators.__all__ if name not in NOT_WEIGHED])
def test_every_estimator(name: str) -> None:
    c = NOISE.column_scale
    # a linear program of as many columns as samples squared: of noise, old solvers do not end with many
    some = slice(20) if name == "SeparableLP" else slice(None)
    X, noise = COUNTS[some], replace(NOISE, row_scale=NOISE.row_scale[some])
    weighed, plain = make(name).set_weighing(noise), make(name).set_weighing(None)
    W = quietly(weighed.fit_transform, X)
    quietly(plain.fit, X / (noise.row_scale[:, None] * c))
    # entries of the scaled data differ in the last bit by the order of the two divisions
    np.testing.assert_allclose(weighed.components_, plain.components_ * c, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(weighed.transform(COUNTS[:7]), plain.transform(COUNTS[:7] / c), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(weighed.transform(X), W)
    np.testing.assert_array_equal(weighed.inverse_transform(W), W @ weighed.components_)
    error = np.linalg.norm(X - W @ weighed.components_) / np.linalg.norm(X)
    np.testing.assert_allclose(weighed.reconstruction_error_, error, rtol=1e-9)  # in the data's own units


@pytest.mark.parametrize("name", NOT_WEIGHED)
def test_those_that_do_not_weigh_say_so(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} cannot weigh its data"):
        make(name).set_weighing("auto")
    make(name).set_weighing(None)


def test_weighed_parts_of_counts_are_nearer_to_the_truth() -> None:
    # ten features of a hundred times the counts, and of their noise, drown the others unless these are weighed
    rng = np.random.default_rng(1)
    parts = rng.dirichlet([0.3] * 60, 4) * np.where(np.arange(60) < 10, 100.0, 1.0)
    weights = rng.gamma(0.3, 20.0, (400, 4))
    X = rng.poisson(weights @ parts).astype(float)
    scale = np.sqrt(parts.mean(axis=0))  # compared where all features count

    def error(how: Any) -> float:
        # without negative entries on either side: where Facets leaves signs free, refitting them does as much
        model = quietly(pw.Facets(4, nonnegative=True, random_state=0).set_weighing(how).fit, X)
        return float(1.0 - pw.metrics.match_components(model.components_ / scale, parts / scale).cosines.min())

    assert error("auto") < 0.5 * error(None)


@pytest.mark.parametrize("form", ["csr", "dask", "path"])
def test_every_kind_of_data(form: str, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", COUNTS)
    forms = {"csr": sp.csr_array(COUNTS), "dask": da.from_array(COUNTS, chunks=(37, 30)), "path": tmp_path / "X.npy"}
    expected = quietly(make("Facets").set_weighing("auto").fit, COUNTS)
    model = quietly(make("Facets").set_weighing("auto").fit, forms[form])
    np.testing.assert_allclose(model.components_, expected.components_, rtol=1e-6, atol=1e-9)
    W = np.asarray(model.transform(forms[form]))
    np.testing.assert_allclose(W, expected.transform(COUNTS), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", ["auto", "noise", NOISE], ids=["auto", "noise", "given"])
def test_it_travels_with_the_model(how: Any, tmp_path: Path) -> None:
    model = quietly(make("Facets").set_weighing(how).fit, COUNTS)
    pw.save(model, tmp_path / "model.safetensors")
    for again in (pw.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        assert repr(again) == repr(model)
        assert again.transform(COUNTS).tobytes() == model.transform(COUNTS).tobytes()
        assert quietly(clone(again).fit, COUNTS).components_.tobytes() == model.components_.tobytes()


def test_that_archetypes_do_not_weigh_is_kept(tmp_path: Path) -> None:
    assert pw.Archetypes(3).weighing == "auto"
    plain = pw.Archetypes(3).set_weighing(None)
    pw.save(plain, tmp_path / "model.safetensors")
    for again in (pw.load(tmp_path / "model.safetensors"), clone(plain)):
        assert again.weighing is None
        assert repr(again) == "Archetypes(n_components=3).set_weighing(None)"
    assert repr(pw.Archetypes(3)) == "Archetypes(n_components=3)"


def test_going_on_gives_the_same_bits() -> None:
    states: list[Any] = []
    whole = pw.HALS(
        3, max_iter=8, tol=0.0, random_state=0, callbacks=[lambda p: states.append(deepcopy(dict(p.state)))]
    )
    whole.set_weighing("auto").fit(COUNTS)
    again = pw.HALS(3, max_iter=8, tol=0.0, random_state=0).set_weighing("auto").fit(COUNTS, state=states[3])
    assert again.components_.tobytes() == whole.components_.tobytes()
    with pytest.raises(InputError, match="weighing 'poisson', not 'none'"):
        pw.HALS(3, max_iter=8, tol=0.0, random_state=0).fit(COUNTS, state=states[3])


def test_a_start_is_in_the_units_of_the_data() -> None:
    found = quietly(pw.HALS(3, random_state=0).set_weighing("auto").fit, COUNTS)
    for init in (found, found.components_):
        model = quietly(pw.HALS(3, init=init, max_iter=1, tol=0.0).set_weighing("auto").fit, COUNTS)
        np.testing.assert_allclose(model.components_, found.components_, rtol=1e-2, atol=1e-2)


def test_what_auto_weighs() -> None:
    rng = np.random.default_rng(2)
    weights, parts = rng.dirichlet([0.3] * 3, 200), rng.random((3, 40))
    clean = weights @ parts
    sizes = np.exp(rng.normal(0.0, 1.0, 40))
    white, columns = (0.01 * rng.standard_normal((200, 40)) * size for size in (1.0, sizes))
    for X, scaled in ((clean, False), (clean + white, False), (clean + columns, True), (COUNTS, True)):
        model = quietly(pw.Archetypes(3, starts=2, random_state=0).fit, X)
        assert (model.weighing_.column_scale is not None) == scaled, model.weighing_.kind


def test_structure_is_no_noise() -> None:
    """Where parts vary from sample to sample by more than the noise, dividing by the noise is no cure."""
    rng = np.random.default_rng(3)
    weights, variants = rng.dirichlet([0.3] * 3, 300), rng.random((3, 40)) + 0.1
    X = np.einsum("ij,ijm->im", weights, variants * np.exp(0.2 * rng.standard_normal((300, 3, 1))))
    bend = np.sin(np.linspace(0.0, 3.0, 40) * rng.uniform(1.0, 4.0, (300, 1)))
    X = X + 0.05 * np.abs(bend) + 1e-4 * np.exp(rng.normal(0.0, 1.0, 40)) * rng.standard_normal((300, 40))
    model = quietly(pw.Facets(3, random_state=0).set_weighing("auto").fit, np.maximum(X, 0.0))
    assert model.weighing_.column_scale is None
    assert quietly(pw.Facets(3, random_state=0).set_weighing("noise").fit, X).weighing_.column_scale is not None


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="must be None, 'auto', 'noise' or what measure_noise returns, got 'yes'"):
        pw.HALS(2).set_weighing("yes")
    with pytest.raises(InputError, match=r"measured on data of shape \(120, 30\), and this has shape \(50, 30\)"):
        pw.HALS(2).set_weighing(NOISE).fit(COUNTS[:50])
    with pytest.raises(InputError, match="let its draw weigh them"):
        pw.Purification(2).set_weighing("noise").fit(GeneratedSource(lambda n, rng: rng.random((n, 4)), 20))
    with pytest.raises(InputError, match="noise of a stream is not known"):
        pw.AND(2).set_weighing("auto").partial_fit(COUNTS)
    start = {"init": np.ones((2, 30)), "init_weights": np.ones((120, 2))}
    with pytest.raises(InputError, match="init_weights: weights are for data that is not weighed"):
        pw.MU(2, beta_loss=1.0, **start).set_weighing(NOISE).fit(COUNTS)
    with pytest.raises(InputError, match="must be positive numbers"):
        Weighing("rows", np.zeros(3))


def test_the_report_says_in_which_space(tmp_path: Path) -> None:
    model = quietly(make("Facets").set_weighing("auto").fit, COUNTS)
    page = pw.write_report(tmp_path / "a.html", model, COUNTS).read_text(encoding="utf-8")
    assert "divided by the size of their noise (counting noise)" in page
    assert "set_weighing(&#39;auto&#39;)" in page
    other = quietly(make("Facets").fit, COUNTS)
    assert "size of their noise" not in pw.write_report(tmp_path / "b.html", other, COUNTS).read_text(encoding="utf-8")
