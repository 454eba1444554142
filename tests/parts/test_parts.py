"""Parts: what it decides for which data, that it tells, and that every decision can be taken from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import partwise as pw
from partwise.algorithms import loop
from partwise.algorithms.hals import hals
from partwise.exceptions import DegenerateDataWarning, InputError
from partwise.sources.memory import MemorySource

families = pytest.importorskip("benchmarks.parts_families")


def few(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    W = rng.gamma(1.0, size=(n, k)) * (rng.random((n, k)) < 0.5)
    W[~W.any(axis=1), 0] = 1.0
    return W


def data(kind: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    H, W = rng.gamma(0.3, size=(4, 60)), few(rng, 300, 4)
    if kind == "signed":
        H = rng.standard_normal((4, 60))
    S = W @ H
    size = S.std()
    made = {
        "exact": lambda: S,
        "signed": lambda: S + 0.1 * size * rng.standard_normal(S.shape),
        "white": lambda: S + 0.3 * size * rng.standard_normal(S.shape),
        "counts": lambda: rng.poisson(400.0 * S / S.sum(axis=1).mean()).astype(float),
        "varying": lambda: families.varying(rng, rng.dirichlet([0.2] * 4, 300), families.spectra(rng, 4, 60), 0.1),
    }
    return made[kind](), H


def error(model: Any, H: np.ndarray) -> float:
    return float(pw.metrics.match_components(np.asarray(model.components_, float), H).errors.mean())


@pytest.mark.parametrize(
    ("kind", "method", "reason", "most"),
    [
        ("exact", "facets", "exact", 1e-6),
        ("signed", "facets", "signed", 0.05),
        ("white", "bayes", "evidence", 0.08),
        ("counts", "likelihood", "counts", 0.08),
        ("varying", "archetypes", "varies", 1.0),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_data_decides(kind: str, method: str, reason: str, most: float) -> None:
    X, H = data(kind)
    model = pw.Parts(4, judge=False, random_state=0).fit(X)
    assert (model.method_.name, model.method_.reason) == (method, reason)
    assert error(model, H) < most
    assert (kind == "signed") == bool((model.components_ < 0.0).any())
    assert method in model.explain()
    assert str(model.noise_) in model.explain()


def test_averages_are_nearer_than_fits() -> None:
    X, H = data("white")
    found = pw.Parts(4, judge=False, random_state=0).fit(X)
    assert error(found, H) < 0.95 * error(pw.Facets(4, random_state=0).fit(X), H)
    assert error(found, H) < 0.95 * error(pw.HALS(4, random_state=0).fit(np.maximum(X, 0.0)), H)


def test_anchors_where_nothing_is_ever_absent() -> None:
    rng = np.random.default_rng(1)
    H = families.zeros(rng, 4, 60)
    S = rng.dirichlet([3.0] * 4, 400) @ H
    X = S + 0.03 * np.sqrt((S**2).mean()) * rng.standard_normal(S.shape)
    model = pw.Parts(4, judge=False, random_state=0).fit(X)
    assert model.method_.facts["absent"] < 0.03
    assert set(model.method_.tried) == {"facets", "pw-spa"}
    assert error(model, H) < 0.5 * error(pw.Facets(4, random_state=0).fit(X), H)


@pytest.mark.parametrize("parts", ["zeros", "sparse", "spectra"])
def test_averages_under_small_noise_are_as_near_as_a_fit(parts: str) -> None:
    # every part is in every sample: averages from facets stay up to five times as far away
    rng = np.random.default_rng(5)
    H = getattr(families, parts)(rng, 4, 60)
    X = families.positive(rng, families.dense(rng, 300, 4), H, 0.005)
    found = pw.Parts(4, judge=False, random_state=0).fit(X)
    assert error(found, H) < 1.5 * error(pw.HALS(4, random_state=0).fit(X), H)


def test_independent_noise_that_is_cut_off_at_zero_is_averaged_over() -> None:
    rng = np.random.default_rng(3)
    H = families.sparse(rng, 3, 77)
    X = families.positive(rng, families.dense(rng, 400, 3), H, 0.3)
    found = pw.Parts(3, judge=False, random_state=0).fit(X)
    assert (found.noise_.kind, found.method_.name) == ("unclear", "bayes")
    assert "independent" in found.explain()
    assert "no simple kind" in found.explain()
    assert error(found, H) < 0.5 * error(pw.Archetypes(3, random_state=0).fit(X), H)


def test_with_nothing_given() -> None:
    X, H = data("counts")
    model = pw.Parts(random_state=0).fit(X)
    assert model.choice_.k == model.n_components_ == 4
    assert error(model, H) < 0.08
    assert [row.verdict for row in model.verdicts_] == ["found again"] * 4
    assert "stand above" in model.explain()
    assert "Part 1: found again" in model.explain()
    assert "water: found again" in model.rename_parts({"Part 1": "water"}).explain()


@pytest.mark.parametrize(("method", "kept"), [("bayes", False), ("hals", True)])
def test_a_fit_that_ctrl_c_ended_is_no_start_for_another(
    method: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed = []

    def watch(now: Any, *_: Any) -> None:
        if now.n_iter and not pressed:
            pressed.append(now)
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "WATCHERS", [watch])
    model = pw.Parts(4, method=method, random_state=0)
    if kept:  # the last fit keeps what it has, and nobody judges it
        with pytest.warns(RuntimeWarning, match="interrupted by the user"):
            model.fit(data("white")[0].clip(min=0.0))
        assert (model.stop_.kind, model.verdicts_) == ("interrupted", None)
    else:  # that of Facets, from which Bayes was to begin
        with pytest.raises(KeyboardInterrupt):
            model.fit(data("white")[0])


def test_ctrl_c_in_the_nearest_fit_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*given: Any, **told: Any) -> Any:
        yield next(hals(*given, **told))
        raise KeyboardInterrupt

    monkeypatch.setattr("partwise.parts.methods.hals", pressed)
    with pytest.raises(KeyboardInterrupt):
        pw.Parts(4, judge=False, random_state=0).fit(data("white")[0])


@pytest.mark.parametrize("method", ["hals", "TSVDNMF", "bayes", "likelihood", "pw-spa"])
def test_a_method_by_name(method: str) -> None:
    X, _ = data("counts")
    model = pw.Parts(4, method=method, judge=False, random_state=0).fit(X)
    assert model.method_.reason == "asked"
    assert "asked for by name" in str(model.method_)
    assert isinstance(model.estimator_, pw.estimators.catalog.find_method(method).kind)


def test_wrong_names() -> None:
    X, _ = data("exact")
    with pytest.raises(InputError, match="no method 'nonsense'"):
        pw.Parts(4, method="nonsense").fit(X)
    with pytest.raises(InputError, match="another method"):
        pw.Parts(4, method="parts").fit(X)


def test_parts_that_are_not_there_are_told() -> None:
    X = np.random.default_rng(0).random((60, 20))
    with pytest.warns(DegenerateDataWarning, match="determined by the data"):
        model = pw.Parts(5, method="facets", random_state=0).fit(X)
    assert "not determined" in [row.verdict for row in model.verdicts_]


def test_too_few_samples_to_halve() -> None:
    X, _ = data("exact")
    with pytest.warns(DegenerateDataWarning) as caught:
        assert pw.Parts(3, random_state=0).fit(X[:5]).verdicts_ is None
    assert "not-judged" in [getattr(one.message, "kind", "") for one in caught]


def test_a_number_that_is_not_sure_is_told() -> None:
    X, _ = data("white")
    with pytest.warns(DegenerateDataWarning, match="number of parts is not sure"):
        model = pw.Parts(judge=False, random_state=0).fit(X[:5])
    assert model.choice_.verdict == "undecided"


class Changing(MemorySource):
    """Rows that are lost while they are looked at."""

    passes = 0

    def block(self, i: int) -> Any:
        self.passes += 1
        return super().block(i) * (np.nan if self.passes > 3 else 1.0)


@pytest.mark.filterwarnings("ignore")
def test_rows_that_change_while_it_chooses() -> None:
    model = pw.Parts(random_state=0)
    with pytest.raises(InputError, match="is not what it was"):
        model.fit(Changing(data("white")[0]))
    assert not hasattr(model, "components_")


def test_nothing_to_tell_before_a_fit() -> None:
    with pytest.raises(NotFittedError):
        pw.Parts().explain()


def test_saved_whole(tmp_path: Path) -> None:
    X, _ = data("white")
    model = pw.Parts(random_state=0).fit(X)
    pw.save(model, tmp_path / "model.safetensors")
    again = pw.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(again.estimator_.deviations_, model.estimator_.deviations_)
    assert again.explain() == model.explain()
    assert pw.judge(again, X).rows == model.verdicts_.rows


@pytest.mark.parametrize("k", [4, "auto"])
def test_a_sample_unlike_all_others_is_set_aside(k: Any, tmp_path: Path) -> None:
    X, H = data("white")
    X[17] *= 100.0
    with pytest.warns(DegenerateDataWarning, match="Parts: sample 17 is unlike all others and was set aside"):
        model = pw.Parts(k, random_state=0).fit(X)
    assert model.odd_samples_.tolist() == model.estimator_.odd_samples_.tolist() == [17]
    assert model.method_.name == "bayes"
    assert len(model.components_) == 4
    assert error(model, H) < 0.08
    assert {row.verdict for row in model.verdicts_} == {"found again"}
    pw.save(model, tmp_path / "model.safetensors")
    again = pw.load(tmp_path / "model.safetensors")
    assert pw.judge(again, X).rows == model.verdicts_.rows
    weights = np.ones(300, np.int64)
    weights[40:60] = 2
    with pytest.warns(DegenerateDataWarning, match="sample 17"):
        other = pw.Parts(k, judge=False, random_state=0).fit(X, sample_weight=weights)
    assert other.odd_samples_.tolist() == [17]
    with pytest.warns(DegenerateDataWarning, match="Facets: sample 17"):  # of so few it may be a part: a method decides
        pw.Parts(2, judge=False, random_state=0).fit(X[:40])
    assert pw.Parts(4, method="bayes", judge=False, random_state=0).fit(X).odd_samples_.tolist() == []  # as asked


def test_samples_set_aside_have_the_users_numbers() -> None:
    X, _ = data("white")
    X[17] *= 100.0
    X[30] = 0.0
    weights = np.full(300, 2)
    weights[:3] = 0
    with pytest.warns(DegenerateDataWarning) as told:
        model = pw.Parts(judge=False, random_state=0).fit(X, sample_weight=weights)
    assert model.choice_.odd_samples == (17,) == tuple(model.odd_samples_)
    assert "with sample 17, unlike all others" in model.explain()
    with pytest.warns(DegenerateDataWarning) as told:
        pw.Parts(4, judge=False, random_state=0).fit(X)
    assert any("all-zero row(s): 30" in str(one.message) for one in told)


def test_a_number_that_was_chosen_without_some_samples_is_that_of_any_method() -> None:
    X, H = data("white")
    X[17] *= 100.0
    with pytest.warns(DegenerateDataWarning, match="sample 17"):
        model = pw.Parts(method="bayes", judge=False, random_state=0).fit(X)
    assert model.odd_samples_.tolist() == [17]
    assert len(model.components_) == 4
    assert error(model, H) < 0.08


def test_sizes_of_noise_that_are_given_are_those_of_all_samples() -> None:
    X, _ = data("white")
    X[17] *= 100.0
    with pytest.warns(DegenerateDataWarning, match="Facets: sample 17"):
        model = pw.Parts(judge=False, random_state=0).set_weighing(pw.measure_noise(X, 5)).fit(X)
    assert model.choice_.odd_samples == (17,)
    assert len(model.components_) == 4


def test_judging_what_is_not_the_data_of_the_fit_is_refused() -> None:
    X, _ = data("white")
    X[170] *= 100.0
    with pytest.warns(DegenerateDataWarning, match="sample 170"):
        model = pw.Parts(4, judge=False, random_state=0).fit(X)
    with pytest.raises(InputError, match="X has 150 samples, and number 170 was set aside in the fit"):
        pw.judge(model, X[:150])
    with pytest.raises(InputError, match="sample_weight must be 300 numbers"):
        pw.judge(model, X, sample_weight=[1, 2])


@pytest.mark.parametrize("X", [3.0 * np.eye(60), np.eye(80, 6)[::-1]], ids=["one feature each", "few samples"])
def test_what_is_hardly_data_has_parts_that_are_not_found_again(X: Any) -> None:
    for k in ("auto", 2):
        with pytest.warns(DegenerateDataWarning):
            model = pw.Parts(k, random_state=0).fit(X)
        assert np.isfinite(model.components_).all()
        assert "found again" not in {row.verdict for row in model.verdicts_ or ()}


@pytest.mark.parametrize("k", ["auto", 2])
def test_a_single_sample_of_many_that_is_not_empty(k: Any) -> None:
    with pytest.warns(DegenerateDataWarning):
        model = pw.Parts(k, random_state=0).fit(np.r_[np.zeros((79, 6)), np.ones((1, 6))])
    assert np.ptp(model.components_[0]) < 1e-9 < model.components_[0, 0]


def test_parts_of_nothing_are_judged() -> None:
    with pytest.warns(DegenerateDataWarning):
        model = pw.Parts(2, random_state=0).fit(np.zeros((80, 5)))
    assert {row.verdict for row in model.verdicts_} == {"not determined"}


def test_units_and_preparation() -> None:
    X, _ = data("counts")
    one = pw.Parts(4, judge=False, random_state=0).fit(X)
    other = pw.Parts(4, judge=False, random_state=0).set_weighing(None).fit(X)
    assert one.method_.name == "likelihood"
    assert other.weighing_.column_scale is None
    prepared = pw.Parts(4, judge=False, random_state=0).set_preparation("unit").fit(X)
    np.testing.assert_allclose(prepared.transform(7.0 * X), prepared.transform(X), atol=1e-12)
    np.testing.assert_allclose(prepared.proportions(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("form", ["nan", "mask", "sparse"])
@pytest.mark.parametrize(("kind", "method"), [("white", "hals"), ("rounded", "hals"), ("counts", "likelihood")])
def test_incomplete_data(kind: str, method: str, form: str) -> None:
    """The method by what holds without a noise that is measured, the number by entries left out, and verdicts."""
    rng = np.random.default_rng(0)
    H = rng.gamma(0.4, size=(3, 40)) + 1e-3
    S = few(rng, 300, 3) @ H
    made = {
        "white": lambda: np.maximum(S + 0.05 * rng.standard_normal(S.shape), 1e-9),
        "rounded": lambda: np.round(np.maximum(100.0 * S + 5.0 * rng.standard_normal(S.shape), 0.0)),
        "counts": lambda: rng.poisson(50.0 * S + 1.0).astype(float),
    }
    X, known = made[kind](), rng.random(S.shape) < 0.8
    data: Any = np.where(known, X, 7.0 if form == "mask" else np.nan)
    if form == "sparse":
        data = sp.csr_array((X[known], np.nonzero(known)), shape=X.shape)
    told = {"mask": known} if form == "mask" else {}
    missing = {"nan": "nan", "sparse": "zeros"}.get(form)
    asked = "auto" if (form, kind) == ("nan", "white") else 3
    model = pw.Parts(asked, missing=missing, random_state=0).fit(data, **told)
    assert (model.method_.name, model.n_components_, model.noise_) == (method, 3, None)
    assert model.method_.facts["unknown"] == pytest.approx(0.2, abs=0.02)
    assert model.n_unknown_ == np.count_nonzero(~known)
    assert {row.verdict for row in model.verdicts_} <= {"found again", "roughly"}
    assert error(model, H) < 0.1
    told_of = model.explain()
    assert "Noise: not measured: entries are unknown" in told_of
    assert "20% of the entries are unknown" in told_of
    np.testing.assert_allclose(model.transform(data, **told), model.estimator_.transform(data, **told))
    if form != "sparse":
        filled = model.impute(data, **told)
        np.testing.assert_array_equal(filled[known], X[known])
        assert np.isfinite(filled).all()


def test_incomplete_data_that_cannot_be_is_refused_by_name(tmp_path: Path) -> None:
    X, _ = data("white")
    X = np.maximum(X, 0.0)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    with pytest.raises(InputError, match="method: Facets takes no data with unknown entries"):
        pw.Parts(4, method="facets", missing="nan").fit(holes)
    with pytest.raises(InputError, match="weighing is for data without holes"):
        pw.Parts(4, missing="nan").set_weighing("noise").fit(holes)
    with pytest.raises(InputError, match="NaN"):
        pw.Parts(4).fit(holes)
    whole = pw.Parts(4, missing="nan", judge=False, random_state=0).fit(X)
    assert whole.noise_ is not None
    with pytest.raises(InputError, match="has weights for complete samples alone"):
        whole.transform(holes)
    model = pw.Parts(4, missing="nan", judge=False, random_state=0).fit(holes)
    pw.save(model, tmp_path / "model.safetensors")
    kept = pw.load(tmp_path / "model.safetensors")
    assert kept.n_unknown_ == np.isnan(holes).sum()
    assert (kept.explain(), kept.noise_) == (model.explain(), None)
    np.testing.assert_array_equal(kept.transform(holes), model.transform(holes))
