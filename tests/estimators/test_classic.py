"""What HALS, ANLS and MU promise beyond the common contract: penalties, divergences, units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

import partwise as pw
from partwise.algorithms.hals import suggested_sweeps
from partwise.exceptions import InputError
from partwise.sources import source_of

PENALTIES = {"l1_W": 0.01, "l2_W": 0.02, "l1_H": 0.003, "l2_H": 0.01}
MODELS = {
    "hals": pw.HALS,
    "anls": pw.ANLS,
    "mu": pw.MU,
    "kl": lambda *args, **kw: pw.MU(*args, beta_loss="kullback-leibler", **kw),
    "beta-1.5": lambda *args, **kw: pw.MU(*args, beta_loss=1.5, **kw),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
frobenius = pytest.mark.parametrize("make", [pw.HALS, pw.ANLS, pw.MU], ids=["hals", "anls", "mu"])

RNG = np.random.default_rng(0)
X = RNG.gamma(0.5, size=(30, 3)) @ RNG.gamma(0.5, size=(3, 8)) + 0.05 * RNG.random((30, 8))
H0 = RNG.random((3, 8)) + 0.1


def few(make: Any, H: np.ndarray = H0, **params: Any) -> Any:
    return make(len(H), init=H, **{"max_iter": 12, "tol": 0.0, **PENALTIES, **params})


# --- penalties ----------------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("value", [-1e-9, "much", float("nan")])
def test_bad_penalties(make: Any, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        few(make, **{name: value}).fit(X)


@frobenius
def test_penalised_objective_is_the_documented_one(make: Any) -> None:
    model = few(make, max_iter=300)
    W = model.fit_transform(X)
    H, (n, m) = model.components_, X.shape
    value = 0.5 * ((X - W @ H) ** 2).sum()
    value += m * (0.01 * W.sum() + 0.01 * (W**2).sum()) + n * (0.003 * H.sum() + 0.005 * (H**2).sum())
    # the last weights of the run and the exact weights of its components are nearly the same by now
    assert value == pytest.approx(model.history_["objective"][-1], rel=1e-3)
    assert value <= model.history_["objective"][-1] * (1 + 1e-9)


@every_model
def test_twice_the_samples_give_the_same_components(make: Any) -> None:
    model, twice = few(make), few(make)
    W, W_twice = model.fit_transform(X), twice.fit_transform(np.vstack([X, X]))
    np.testing.assert_allclose(twice.components_, model.components_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(W_twice, np.vstack([W, W]), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(twice.history_["objective"], 2 * model.history_["objective"], rtol=1e-9)


@every_model
def test_every_feature_twice_gives_the_same_weights(make: Any) -> None:
    model, twice = few(make), few(make, np.hstack([H0, H0]))
    W, W_twice = model.fit_transform(X), twice.fit_transform(np.hstack([X, X]))
    np.testing.assert_allclose(twice.components_, np.hstack([model.components_] * 2), rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(W_twice, W, rtol=1e-4, atol=1e-7)


@every_model
@pytest.mark.parametrize(("penalty", "factor"), [("l1_W", "W"), ("l2_W", "W"), ("l1_H", "H"), ("l2_H", "H")])
def test_penalties_shrink_what_they_are_put_on(make: Any, penalty: str, factor: str) -> None:
    free = few(make, max_iter=60, l1_W=0.0, l2_W=1e-3, l1_H=0.0, l2_H=1e-3)
    bound = clone(free).set_params(**{penalty: 0.1})
    W, W_bound = free.fit_transform(X), bound.fit_transform(X)
    size = {"W": W.sum(), "H": free.components_.sum()}
    size_bound = {"W": W_bound.sum(), "H": bound.components_.sum()}
    assert size_bound[factor] < size[factor]


@every_model
def test_l1_makes_zeros(make: Any) -> None:
    plain = few(make, max_iter=100, l1_W=0.0).fit_transform(X)
    sparse = few(make, max_iter=100, l1_W=0.2).fit_transform(X)
    assert (sparse < 1e-6 * sparse.max()).sum() > (plain < 1e-6 * plain.max()).sum()


@frobenius
def test_a_penalty_beyond_all_data_gives_zeros(make: Any) -> None:
    model = few(make, l1_W=1e6, l1_H=1e-3)
    with pytest.warns(ConvergenceWarning, match="the penalties have emptied the model"):
        W = model.fit_transform(X)
    assert not W.any()
    assert not model.converged_
    assert np.isfinite(model.components_).all()
    assert model.reconstruction_error_ == 1.0


# --- divergences --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "beta"), [("frobenius", 2), ("kullback-leibler", 1.0), ("itakura-saito", 0)])
def test_names_of_divergences(name: str, beta: float) -> None:
    by_name, by_number = (few(pw.MU, beta_loss=loss).fit(X + 0.1) for loss in (name, beta))
    np.testing.assert_array_equal(by_name.components_, by_number.components_)


@pytest.mark.parametrize("beta", ["hellinger", None, [1.0]], ids=str)
def test_unknown_divergences(beta: Any) -> None:
    with pytest.raises(ValueError, match="beta_loss"):
        few(pw.MU, beta_loss=beta).fit(X)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("beta", ["itakura-saito", 0.0, -1.0])
def test_divergences_that_zeros_make_infinite(beta: Any, form: Any) -> None:
    holes = X + 0.1
    holes[3, 4] = holes[5, 1] = 0.0
    message = r"beta_loss=.* needs X > 0 everywhere, but X holds 2 zero\(s\)"
    with pytest.raises(InputError, match=message):
        few(pw.MU, beta_loss=beta).fit(form(holes))
    model = few(pw.MU, beta_loss=beta).fit(form(X + 0.1))
    assert np.isfinite(model.components_).all()
    with pytest.raises(InputError, match=message):
        model.transform(form(holes))


# --- starts -------------------------------------------------------------------------------------------------


@frobenius
def test_a_warm_start_goes_on_where_the_first_run_ended(make: Any) -> None:
    first = make(3, init=H0, tol=1e-3, max_iter=5000).fit(X)
    again = make(3, init=first, tol=1e-3, max_iter=5000).fit(X)
    assert again.n_iter_ <= 8
    assert again.n_iter_ < first.n_iter_
    assert again.history_["objective"][0] <= first.history_["objective"][-1] * (1 + 2e-2)


def test_a_clone_keeps_a_frozen_start() -> None:
    first = pw.HALS(3, max_iter=5, tol=0.0).fit(X)
    model = clone(pw.ANLS(3, init=FrozenEstimator(first), max_iter=2, tol=0.0))
    np.testing.assert_array_equal(
        model.fit(X).components_, pw.ANLS(3, init=first, max_iter=2, tol=0.0).fit(X).components_
    )


@pytest.mark.parametrize(("name", "value"), [("sweeps", 0), ("sweeps", 1.5), ("extrapolate", "yes")])
def test_bad_parameters_of_hals(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        pw.HALS(3, **{name: value}).fit(X)


def test_a_clone_keeps_a_fitted_start() -> None:
    first = pw.HALS(3, max_iter=5, tol=0.0).fit(X)
    model = clone(pw.HALS(init=first, max_iter=2, tol=0.0))
    assert model.fit(X).components_.shape == (3, X.shape[1])  # and the number of components is that of the start


def test_ctrl_c_in_the_last_pass_keeps_the_components(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    model = pw.HALS(3, max_iter=2, tol=0.0)
    monkeypatch.setattr(model, "_decoder", interrupt)
    with pytest.warns(RuntimeWarning, match="components are kept"):
        model.fit(X)
    assert model.components_.shape == (3, X.shape[1])
    assert np.isnan(model.reconstruction_error_)
    with pytest.warns(RuntimeWarning, match="components are kept"), pytest.raises(KeyboardInterrupt):
        model.fit_transform(X)


def test_a_warning_as_an_error_does_not_lose_the_fit() -> None:
    model = pw.HALS(3, max_iter=2)
    with pytest.raises(ConvergenceWarning):  # pytest makes warnings errors
        model.fit(X)
    assert model.n_iter_ == 2


@pytest.mark.parametrize("beta", [np.nan, np.inf])
def test_divergences_that_are_no_number(beta: float) -> None:
    with pytest.raises(ValueError, match="beta_loss"):
        few(pw.MU, beta_loss=beta).fit(X)


def test_names_of_a_folder_of_tables(tmp_path: Path) -> None:
    for order, letter, folder in ((1, "c", tmp_path / "a"), (-1, "c", tmp_path / "b"), (1, "d", tmp_path / "other")):
        folder.mkdir()
        names = [f"{letter}{j}" for j in range(X.shape[1])][::order]
        pl.DataFrame(X[:, ::order], schema=names).write_parquet(folder / "part.parquet")
    model = pw.HALS(3, max_iter=2, tol=0.0).fit(tmp_path / "a")
    assert list(model.feature_names_in_[:2]) == ["c0", "c1"]
    np.testing.assert_array_equal(model.transform(tmp_path / "b"), model.transform(tmp_path / "a"))  # put right by name
    with pytest.raises(InputError, match="c0"):
        model.transform(tmp_path / "other")


def test_masked_arrays_are_refused() -> None:
    with pytest.raises(InputError, match="masked"):
        pw.HALS(2).fit(np.ma.masked_less(X, np.median(X)))


def test_one_delayed_block_and_a_dask_table() -> None:
    expected = few(pw.HALS).fit(X).components_
    np.testing.assert_allclose(few(pw.HALS).fit(dask.delayed(np.asarray)(X)).components_, expected, rtol=1e-10)
    dd = pytest.importorskip("dask.dataframe")
    table = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    np.testing.assert_allclose(few(pw.HALS).fit(table).components_, expected, rtol=1e-10)
    named = table.rename(columns=lambda j: f"feature {j}")
    assert few(pw.HALS).fit(named).feature_names_in_.tolist() == [f"feature {j}" for j in range(X.shape[1])]


def test_tiny_samples_can_be_transformed() -> None:
    model = pw.HALS(3, max_iter=5, tol=0.0).fit(X.astype(np.float32))
    assert np.isfinite(model.transform(np.full((1, X.shape[1]), 1e-25, np.float32))).all()


# --- a given pair ---------------------------------------------------------------------------------------------


def given(n: int = 57, m: int = 9, k: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.random((n, m)) * (rng.random((n, m)) < 0.7)
    V, Y = rng.random((n, k)), rng.random((k, m))
    V[4, 1] = Y[2, 3] = 0.0  # a zero is a fixed point of the updates
    return X, V, Y


def literal_updates(X: np.ndarray, V: np.ndarray, Y: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The lecture's slide: each factor times d f- / d f+, first V, then Y."""
    for _ in range(steps):
        V = V * (2 * X @ Y.T) / (2 * V @ Y @ Y.T)
        Y = Y * (2 * V.T @ X) / (2 * V.T @ V @ Y)
    return V, Y


def as_npy(X: np.ndarray, folder: Path) -> Any:
    np.save(folder / "x.npy", X)
    return pw.open_source(folder / "x.npy", block_rows=10)


def as_dask(X: np.ndarray, folder: Path) -> Any:
    import dask.array as da

    return da.from_array(X, chunks=(13, X.shape[1]))


FORMS = {
    "dense": lambda X, _: X,
    "fortran": lambda X, _: np.asfortranarray(X),
    "csr": lambda X, _: sp.csr_array(X),
    "blocks": lambda X, _: pw.open_source(X, block_rows=7),
    "frame": lambda X, _: pl.DataFrame(X),
    "npy": as_npy,
    "dask": as_dask,
    "sparse dask": lambda X, folder: as_dask(X, folder).map_blocks(sp.csr_array),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_mu_from_a_given_pair_is_the_slide(form: Any, tmp_path: Path) -> None:
    X, V0, Y0 = given()
    V, Y = literal_updates(X, V0, Y0, 6)
    model = pw.MU(init=Y0, init_weights=V0, max_iter=6, tol=0.0).fit(form(X, tmp_path))
    np.testing.assert_allclose(np.asarray(model.weights_), V, rtol=1e-13, atol=0)
    np.testing.assert_allclose(model.components_, Y, rtol=1e-13, atol=0)
    assert model.weights_[4, 1] == model.components_[2, 3] == 0.0
    start = 0.5 * ((X - V0 @ Y0) ** 2).sum()
    assert model.history_["objective"][0] == pytest.approx(start, rel=1e-13)
    assert (V0[4, 1], Y0[2, 3]) == (0.0, 0.0)


@pytest.mark.parametrize("beta", [1.0, 1.5])
def test_other_divergences_from_a_given_pair(beta: float) -> None:
    X, V, Y = given()
    model = pw.MU(init=Y, init_weights=V, beta_loss=beta, max_iter=3, tol=0.0).fit(X)
    for _ in range(3):
        V = V * ((X * (V @ Y) ** (beta - 2)) @ Y.T) / ((V @ Y) ** (beta - 1) @ Y.T)
        Y = Y * (V.T @ (X * (V @ Y) ** (beta - 2))) / (V.T @ (V @ Y) ** (beta - 1))
    np.testing.assert_allclose(model.weights_, V, rtol=1e-12)
    np.testing.assert_allclose(model.components_, Y, rtol=1e-12)


def test_a_given_pair_that_cannot_be_one() -> None:
    X, V, Y = given()
    bad = V.copy()
    bad[3, 2] = -1.0
    for weights, init, told in [
        (V, "random", "init_weights is one half of a start"),
        (V[:-1], Y, r"init_weights must have shape \(57, 4\).*got \(56, 4\)"),
        (V[:, :-1], Y, r"init_weights must have shape \(57, 4\).*got \(57, 3\)"),
        (bad, Y, "init_weights has 1 negative value.*row 3, column 2"),
        ([*V[:-1].tolist(), [1.0]], Y, "init_weights must be a matrix of real numbers"),
        ([["a"] * 4] * 57, Y, "init_weights must be a matrix of real numbers"),
    ]:
        with pytest.raises(InputError, match=told):
            pw.MU(4, init=init, init_weights=weights).fit(X)


def test_weights_of_the_last_update_are_of_the_last_fit() -> None:
    X, V, Y = given()
    model = pw.MU(init=Y, init_weights=V, tol=0.1).fit(X)
    assert model.weights_.shape == V.shape
    assert not hasattr(model.set_params(init_weights=None).fit(X), "weights_")


def test_weights_of_a_start_that_is_the_end() -> None:
    X, V, Y = given()
    states: list[Any] = []
    model = pw.MU(init=Y, init_weights=V, tol=0.1, callbacks=[lambda progress: states.append(dict(progress.state))])
    model.fit(X)
    again = pw.MU(init=Y, init_weights=V, tol=0.1, max_iter=model.n_iter_).fit(X, state=states[-1])
    np.testing.assert_array_equal(again.weights_, model.weights_)


def test_float32_keeps_its_momentum() -> None:
    """The objective of single precision still judges extrapolation: about as many rounds as in double precision."""
    rng = np.random.default_rng(8)
    data = rng.gamma(0.3, size=(900, 10)) @ rng.gamma(0.3, size=(10, 120)) + 0.5 * rng.random((900, 120))
    double, single = (pw.HALS(10, tol=1e-4).fit(data.astype(kind)) for kind in (np.float64, np.float32))
    assert double.converged_
    assert single.converged_
    assert single.n_iter_ <= 1.5 * double.n_iter_


@pytest.mark.parametrize(
    ("entries", "features", "components", "sweeps"),
    [(198, 198, 4, 9), (784, 784, 50, 3), (100, 100, 50, 2), (130, 36771, 30, 1), (845, 13714, 15, 10), (5, 5, 1, 2)],
)
def test_sweeps_follow_the_cost_of_a_product(entries: float, features: int, components: int, sweeps: int) -> None:
    assert suggested_sweeps(entries, features, components) == sweeps


def test_stop_when_the_objective_is_flat() -> None:
    rng = np.random.default_rng(3)
    data = rng.gamma(0.3, size=(200, 5)) @ rng.gamma(0.3, size=(5, 40)) + 0.5 * rng.random((200, 40))
    states = []

    def keep(now: Any) -> None:
        states.append({name: np.array(value) for name, value in now.state.items()})

    model = pw.HALS(5, stop="objective", callbacks=[keep]).fit(data)
    optimal = pw.HALS(5).fit(data)
    objective = model.history_["objective"]
    falls = objective[:-10] - objective[10:] < 1e-4 * objective[10:]
    assert falls[-1]
    assert not falls[:-1].any()
    assert (model.converged_, optimal.converged_) == (False, True)
    assert (model.stop_.kind, model.stop_.cause) == ("stalled", "flat")
    assert "less than 0.0001 of itself over 10 iterations" in model.stop_reason_
    assert model.n_iter_ < optimal.n_iter_
    assert model.reconstruction_error_ <= 1.001 * optimal.reconstruction_error_
    again = pw.HALS(5, stop="objective").fit(data, state=states[4])
    np.testing.assert_array_equal(again.components_, model.components_)
    assert again.n_iter_ == model.n_iter_


def test_rounds_within_leading_directions_end_where_the_objective_is_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    from partwise.algorithms import hals as module

    monkeypatch.setattr(module, "LIGHT_WORK", 1)
    monkeypatch.setattr(module, "NARROW_BEYOND", 4)
    alternate, rounds = module.alternate, dict.fromkeys(("optimal", "objective"), 0)

    def counted(source: Any, *args: Any, **how: Any) -> Any:
        for now in alternate(source, *args, **how):
            rounds[stop] += source.shape[1] < data.shape[1]
            yield now

    monkeypatch.setattr(module, "alternate", counted)
    rng = np.random.default_rng(1)
    data = rng.random((200, 60))
    errors = {}
    for stop in rounds:
        errors[stop] = pw.HALS(8, stop=stop).fit(data).reconstruction_error_
    assert 10 < rounds["objective"] < rounds["optimal"]
    assert errors["objective"] <= 1.002 * errors["optimal"]


@pytest.mark.parametrize("beyond", [2, 20], ids=["narrow first", "not narrow"])
def test_light_rounds_have_the_same_bits_everywhere(
    beyond: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory, from a file, on Dask, with one thread and three, broken off and continued."""
    import dask.array as da

    monkeypatch.setattr("partwise.algorithms.hals.LIGHT_WORK", 1)
    monkeypatch.setattr("partwise.algorithms.hals.NARROW_BEYOND", beyond)
    rng = np.random.default_rng(4)
    data = rng.gamma(0.3, size=(300, 4)) @ rng.gamma(0.3, size=(4, 30)) + 0.2 * rng.random((300, 30))
    np.save(tmp_path / "X.npy", data)
    states = []

    def fit(X: Any, state: Any = None) -> Any:
        keep = [lambda now: states.append({name: np.array(value) for name, value in now.state.items()})]
        return pw.HALS(4, random_state=0, callbacks=[] if state else keep).fit(X, state=state)

    whole = fit(source_of(data, block_rows=100))
    assert {state["W"].dtype for state in states} == {np.dtype(np.float32), np.dtype(np.float64)}
    others = [fit(source_of(da.from_array(data, chunks=(100, -1))))]
    others += [fit(source_of(np.load(tmp_path / "X.npy", mmap_mode="r"), block_rows=100))]
    for threads in ("1", "3"):
        monkeypatch.setenv("PARTWISE_NUM_THREADS", threads)
        others.append(fit(source_of(data, block_rows=100)))
    others += [fit(source_of(data, block_rows=100), states[place]) for place in (3, whole.n_iter_ - 2)]
    for other in others:
        np.testing.assert_array_equal(other.components_, whole.components_)
