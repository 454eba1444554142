"""What Purification promises: recovery from near and pure starts, under noise, of signed and of unbalanced parts."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import partwise as pw
from partwise.algorithms import scaling
from partwise.datasets import Mixture, add_adversarial_noise, add_unbiased_noise, make_binary_mixtures
from partwise.estimators.purification import Purification
from partwise.exceptions import DegenerateDataWarning, InputError
from partwise.linalg import left_inverse
from partwise.sources import GeneratedSource, MemorySource, inspect, source_of

# samples without any component are part of the model
pytestmark = pytest.mark.filterwarnings("ignore:X has .* all-zero row:partwise.exceptions.DegenerateDataWarning")
variants = pytest.mark.parametrize("inverse", ["least-inf", "pinv"])
seeds = pytest.mark.parametrize("seed", [0, 1, 2])


@cache
def mixtures(seed: int = 0, **options: Any) -> Mixture:
    """The sizes of the paper's simplified case, k = 30, m = 200, s = 3."""
    return make_binary_mixtures(**{"n_samples": 2500, **options}, random_state=seed)


@cache
def small(seed: int = 0, **options: Any) -> Mixture:
    return make_binary_mixtures(n_samples=800, n_features=40, n_components=6, n_active=2, random_state=seed, **options)


def error(model: Any, data: Mixture) -> float:
    """Largest relative l2 error of a component."""
    return float(pw.metrics.match_components(model.components_, data.components).errors.max())


def fitted(data: Mixture, level: float | None = 0.05, X: Any = None, **params: Any) -> Purification:
    init = "pure" if level is None else data.warm_start(level, random_state=0)
    model = Purification(len(data.components), **{"init": init, "random_state": 0, **params})
    return model.fit(data.X if X is None else X, truth=data.components)


# --- recovery -----------------------------------------------------------------------------------------------


@seeds
@pytest.mark.parametrize("level", [0.1, None], ids=["perturbed", "cold"])
def test_recovers_binary_mixtures(seed: int, level: float | None) -> None:
    data = mixtures(seed)
    model = fitted(data, level)
    assert error(model, data) < 1e-9
    # weights are 0 or about 1 in the scale that was chosen
    W = model.transform(data.X[:50])
    assert np.minimum(W, np.abs(W - 1.0)).max() < 0.1
    assert model.reconstruction_error_ < 1e-8


def test_without_the_finish_the_sampling_error_stays() -> None:
    data = mixtures()
    model = fitted(data, 0.1, finish=None)
    assert 0.01 < error(model, data) < 0.2
    assert model.residual_ <= model.tol
    assert model.stop_reason_.startswith("fixed-point residual")
    assert model.history_["E_s"][-1] < 0.5 * model.history_["E_s"][0]


def test_fresh_samples_do_without_the_finish() -> None:
    data = small()
    source = GeneratedSource(lambda n, rng: (rng.random((n, 6)) < 1 / 3) @ data.components, 2000, random_state=1)
    fresh = fitted(data, 0.1, source, finish=None)
    assert error(fresh, data) < 0.3 * error(fitted(data, 0.1, source.X, finish=None), data)
    assert "sampling error of 2000 samples" in fresh.stop_reason_


def test_fresh_batches() -> None:
    data = small()
    model, again = fitted(data, batch_size=200), fitted(data, batch_size=200)
    assert error(model, data) < 1e-9
    np.testing.assert_array_equal(again.components_, model.components_)
    other = fitted(data, batch_size=200, random_state=1)
    assert not np.array_equal(other.history_["residual"], model.history_["residual"])


@variants
def test_signed_components(inverse: str) -> None:
    data = mixtures(signed=True)
    assert (data.X < 0).any()
    model = fitted(data, 0.1, inverse=inverse)
    assert error(model, data) < 1e-9
    assert (model.components_ < 0).any()


def test_identity_decoding_does_not_recover() -> None:
    data = mixtures()
    options = {"finish": None, "batch_size": None}
    assert error(fitted(data, 0.1, relu=False, **options), data) > 3 * error(fitted(data, 0.1, **options), data)


@variants
@pytest.mark.parametrize("pattern", ["mirror", "absent", "constant"])
def test_adversarial_noise_of_theorem_1(inverse: str, pattern: str) -> None:
    data = mixtures()
    noisy = add_adversarial_noise(data, pw.metrics.noise_tolerance(data.components, c=1.0).theorem_1, pattern=pattern)
    assert error(fitted(noisy, 0.1, inverse=inverse), data) < 0.1


@variants
def test_unbiased_noise_is_averaged_out(inverse: str) -> None:
    data = mixtures()
    noisy = add_unbiased_noise(data, 0.003, random_state=0)
    in_a_sample = np.abs(noisy.noise).sum(axis=1).mean()
    model = fitted(noisy, 0.1, inverse=inverse)
    found = model.components_[pw.metrics.match_components(model.components_, data.components).permutation]
    found = found / np.abs(found).sum(axis=1, keepdims=True)
    assert np.abs(found - data.components).sum(axis=1).max() < 0.1 * in_a_sample


def test_balance_finds_rare_components_sooner() -> None:
    rng = np.random.default_rng(0)
    odds = np.geomspace(0.01, 0.5, 8)
    H, W = rng.dirichlet(np.ones(60), size=8), (rng.random((6000, 8)) < odds).astype(float)
    data = Mixture(W @ H, H, W)
    plain, model = fitted(data, finish=None), fitted(data, finish=None, balance=True)
    moments = W.mean(axis=0) / model.balance_**2
    assert moments.max() < 2.0 * moments.min()
    np.testing.assert_array_equal(plain.balance_, np.ones(8))
    assert model.n_iter_ < 0.7 * plain.n_iter_
    # directions are those of the same fixed point
    assert error(model, data) == pytest.approx(error(plain, data), rel=0.02)


# --- the same on every kind of data -------------------------------------------------------------------------


def test_every_kind_of_source_gives_the_same(tmp_path: Path) -> None:
    data = small()
    np.save(tmp_path / "X.npy", data.X)
    expected = fitted(data).components_
    kinds = {
        "csr": sp.csr_array(data.X),
        "memmap": tmp_path / "X.npy",
        "dask": da.from_array(data.X, chunks=(300, 40)),
        "blocks": MemorySource(data.X, block_rows=37),
    }
    for name, X in kinds.items():
        np.testing.assert_allclose(fitted(data, X=X).components_, expected, rtol=0, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_single_precision(form: Any) -> None:
    data = small()
    model = fitted(data, X=form(data.X.astype(np.float32)))
    assert model.components_.dtype == np.float32
    assert error(model, data) < 1e-5


@pytest.mark.parametrize("unit", [1e-150, 1e-3, 1e150])
def test_unit_of_the_data_does_not_matter(unit: float) -> None:
    data = small()
    model, other = fitted(data), fitted(data, X=unit * data.X)
    np.testing.assert_allclose(other.components_ / unit, model.components_, rtol=1e-7, atol=1e-10)
    assert other.scale_ == pytest.approx(model.scale_)


def test_scale_of_the_start_does_not_matter() -> None:
    data = small()
    H0 = data.warm_start(0.05, random_state=0) * np.geomspace(1e-3, 1e3, 6)[:, None]
    np.testing.assert_allclose(fitted(data, init=H0).components_, fitted(data).components_, rtol=1e-7, atol=1e-10)


# --- attributes ---------------------------------------------------------------------------------------------


@variants
def test_attributes(inverse: str) -> None:
    data = small()
    model = fitted(data, inverse=inverse, threshold=0.25)
    P = left_inverse(model.components_, norm="inf" if inverse == "least-inf" else "2")
    assert model.inverse_norm_ == pytest.approx(np.abs(P).sum(axis=0).max())
    assert 0.0 <= model.gap_ < 1e-10
    assert model.threshold_ == 0.25
    assert model.scale_ == model.history_["scale"][1]
    assert model.converged_
    assert model.n_iter_ == model.history_.n_rows - 1
    assert {"error", "E_s", "E_plus", "N_2", "threshold", "inverse_norm", "gap"} <= set(model.history_)


def test_given_scale() -> None:
    assert fitted(small(), scale=2.5, max_iter=3, tol=0.0).scale_ == 2.5


def test_generated_source_is_a_source() -> None:
    source = GeneratedSource(lambda n, rng: rng.random((n, 7)) - 0.5, 50, random_state=3)
    assert source_of(source) is source
    assert inspect(source).shape == (50, 7)
    assert inspect(source).n_negative > 0
    same = GeneratedSource(source.draw, 50, random_state=3)
    np.testing.assert_array_equal(same.X, source.X)
    assert not np.array_equal(source.fresh(np.random.default_rng(3)).X, source.fresh(np.random.default_rng(4)).X)


# --- stopping and errors ------------------------------------------------------------------------------------


def test_the_residual_at_max_iter_is_that_of_the_stage_it_came_in() -> None:
    data = small()
    before = fitted(data, finish=None).n_iter_
    assert fitted(data).n_iter_ > before + 1
    for limit, measure, words in ((2, "fixed-point", "fixed-point residual"), (before + 1, "change", "change of the")):
        with pytest.warns(ConvergenceWarning, match=f"stopped at max_iter={limit} with a {words}"):
            model = fitted(data, max_iter=limit)
        assert (model.stop_.kind, model.stop_.measure, model.stop_.value) == ("max_iter", measure, model.residual_)


def test_interrupted() -> None:
    def interrupt(progress: Any) -> None:
        if progress.n_iter == 3:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="interrupted by the user after iteration 3"):
        model = fitted(small(), callbacks=[interrupt])
    assert model.n_iter_ == 3
    assert np.isfinite([model.inverse_norm_, model.scale_, model.reconstruction_error_]).all()


def test_interrupted_before_there_is_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("partwise.estimators.purification.unit_weights", interrupt)
    model = Purification(6)
    with pytest.raises(KeyboardInterrupt):
        model.fit(small().X)
    assert vars(model) == vars(Purification(6))


def test_max_iter_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 with a fixed-point residual of"):
        fitted(small(), max_iter=2)


@pytest.mark.parametrize(
    "params",
    [
        {"threshold": 1.0},
        {"threshold": -0.1},
        {"step": 0.0},
        {"step": 1.1},
        {"scale": 0.0},
        {"inverse": "left"},
        {"relu": "yes"},
        {"balance": 2},
        {"batch_size": 1},
        {"finish": "hals"},
    ],
    ids=lambda params: "-".join(f"{name}={value}" for name, value in params.items()),
)
def test_bad_parameters(params: dict[str, Any]) -> None:
    (name,) = params
    with pytest.raises(ValueError, match=name):
        fitted(small(), **params)


def test_batches_of_a_generated_source_are_refused() -> None:
    source = GeneratedSource(lambda n, rng: rng.random((n, 7)), 50, random_state=3)
    with pytest.raises(InputError, match="batch_size: a GeneratedSource has its own"):
        Purification(3, batch_size=10).fit(source)


@pytest.mark.parametrize(
    ("draw", "n", "message"),
    [
        (lambda n, rng: rng.random((n, 2)), 0, "n_samples must be at least 1"),
        (lambda n, rng: rng.random((n + 1, 2)), 5, "asked for 5 samples and returned 6"),
        (lambda n, rng: rng.random(n), 5, "two dimensions"),
    ],
    ids=["none", "too-many", "vector"],
)
def test_bad_draws(draw: Any, n: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        GeneratedSource(draw, n)


def test_draws_must_stay_alike() -> None:
    widths = iter([3, 4])
    source = GeneratedSource(lambda n, rng: rng.random((n, next(widths))), 5)
    with pytest.raises(InputError, match=r"first returned shape \(5, 3\), now \(5, 4\)"):
        source.fresh(np.random.default_rng(0))


def test_dependent_start_is_refused() -> None:
    H0 = small().components.copy()
    H0[4] = H0[1]
    with pytest.raises(InputError, match="components 1 and 4 of H are linearly dependent"):
        Purification(6, init=H0).fit(small().X)


@pytest.mark.parametrize("finish", [None, "and"])
def test_what_does_not_settle_has_not_converged(finish: str | None) -> None:
    X = np.random.default_rng(0).random((100, 10))  # as many parts as features, all in all samples
    model = Purification(10, finish=finish, random_state=0).fit(X)
    assert "has stopped falling" in model.stop_reason_
    assert model.residual_ > model.tol
    assert model.converged_ is False
    assert type(model.stop_reason_) is str


def test_clone_keeps_the_parameters() -> None:
    model = Purification(3, threshold=0.2, inverse="pinv", relu=False, balance=True, batch_size=5, finish=None)
    assert clone(model).get_params() == model.get_params()


def test_shares_of_a_whole_are_told() -> None:
    """Weights that sum to one are not independent: the covariance has no inverse, and components fall together."""
    data = pw.datasets.make_topics("dir", n_samples=400, n_features=60, n_components=6, random_state=0)
    with pytest.warns(DegenerateDataWarning, match="come to depend on each other .* use Facets"):
        model = pw.Purification(6).fit(data.X)
    assert model.converged_ is False


# --- the published algorithm itself, and its proof ------------------------------------------------------------


@variants
def test_without_rescaling_it_is_algorithm_1(inverse: str) -> None:
    """The paper's lines 2 to 4 on a fixed sample, with its A(0), alpha, eta and r."""
    data, alpha, eta, r = small(), 0.25, 0.3, 2.2
    A0 = data.start(0.1, sigma=np.linspace(0.9, 1.1, 6), outside=0.002, random_state=0)
    literal: dict[str, Any] = {"rescale": False, "finish": None, "tol": 0.0, "max_iter": 70}
    model = fitted(data, init=A0, threshold=alpha, step=eta, scale=r, inverse=inverse, **literal)
    A = A0.T
    for _ in range(70):
        dagger = left_inverse(A.T, norm="2" if inverse == "pinv" else "inf").T
        x = np.maximum(dagger @ data.X.T - alpha, 0.0)
        pairs = 2.0 * (data.X.T - data.X.T.mean(axis=1, keepdims=True)) @ x.T / len(data.X)
        A = (1.0 - eta) * A + r * eta * pairs
    np.testing.assert_allclose(model.components_, A.T, rtol=0, atol=1e-13)
    assert (model.n_iter_, model.stop_.kind) == (70, "max_iter")
    assert model.inverse_ == inverse
    options = {"init": A0, "threshold": alpha, "step": eta, "scale": r, "inverse": inverse}
    once = [fitted(data, **(literal | {"max_iter": 1, "rescale": rescale}), **options) for rescale in (False, True)]
    assert np.abs(once[0].components_ - once[1].components_).max() > 1e-4  # in the end both are the same


def test_history_follows_the_proof() -> None:
    data, alpha = small(), 0.3
    start = data.start(0.1, random_state=0)
    options = {"init": start, "rescale": False, "finish": None, "tol": 0.0, "scale": 3.2, "step": 0.1}
    model = fitted(data, max_iter=12, **options)
    again = fitted(data, max_iter=11, **options)
    history, truth = model.history_, data.components
    x = np.maximum(data.X @ left_inverse(again.components_) - alpha, 0.0)
    before, after = (
        pw.metrics.initialization(H, truth, rescale=False, match=False) for H in (again.components_, model.components_)
    )
    update, step = pw.metrics.update_parts(data.X, x, truth), pw.metrics.induction(before, after, step=0.1)
    lemmas = pw.metrics.lemma_constants(before, update, threshold=alpha, noise=1.0)
    expected = {"potential": step.potential, "h": step.h, "lemma_4": lemmas.diagonal, "E_update": update.E_1}
    expected |= {"N_1": before.N_1, "sigma_update": update.sigma.min()}
    assert {name: history[name][11] for name in expected} == pytest.approx(expected, rel=1e-6, abs=1e-9)
    finished = fitted(data, init=start).history_
    assert np.isnan(finished["potential"][-1])
    assert np.isfinite(finished["potential"][0])


def test_the_inverse_follows_the_noise() -> None:
    clean = make_binary_mixtures(n_samples=1500, n_features=400, n_components=6, n_active=1.5, random_state=0)
    noisy = add_unbiased_noise(clean, 5.0 * 1.5 / 400, random_state=0)  # five times the signal in l1
    start = clean.start(0.1, random_state=0)
    models = {name: fitted(noisy, init=start, inverse=name) for name in ("auto", "least-inf")}
    assert models["auto"].inverse_ == "pinv"
    E = {name: pw.metrics.initialization(model.components_, clean.components).E_1 for name, model in models.items()}
    assert E["auto"] < 0.5 * E["least-inf"]
    assert fitted(clean).inverse_ == "least-inf"
    padded = MemorySource(np.vstack([np.zeros((2000, 400)), noisy.X]))  # samples of zeros have no noise to tell of
    assert scaling.chosen_inverse(padded, start) == "pinv"


@pytest.mark.parametrize("kind", ["memory", "csr", "npy", "dask"])
def test_the_inverse_is_chosen_on_some_rows_of_any_source(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many rows may be more than memory holds: none are gathered, and the whole data is not decoded."""
    monkeypatch.setattr(scaling, "SAMPLED", 300)
    clean = make_binary_mixtures(n_samples=1000, n_features=300, n_components=6, n_active=1.5, random_state=0)
    noisy = add_unbiased_noise(clean, 5.0 * 1.5 / 300, random_state=0)
    np.save(tmp_path / "X.npy", noisy.X)
    X = {
        "memory": lambda: MemorySource(noisy.X),
        "csr": lambda: MemorySource(sp.csr_array(noisy.X)),
        "npy": lambda: source_of(tmp_path / "X.npy"),
        "dask": lambda: source_of(da.from_array(noisy.X, chunks=(150, -1))),
    }[kind]()
    monkeypatch.setattr(type(X), "take", lambda *_: pytest.fail("rows were gathered"))
    assert scaling.chosen_inverse(X, clean.start(0.1, random_state=0)) == "pinv"


def test_on_a_fixed_sample_ours_does_not_end_worse_than_the_start() -> None:
    data = mixtures()
    start = data.start(0.1, random_state=0)
    began = pw.metrics.match_components(start, data.components).errors.max()
    assert error(fitted(data, init=start, finish=None), data) > began  # the published algorithm does
    assert error(fitted(data, init=start), data) < 1e-9
