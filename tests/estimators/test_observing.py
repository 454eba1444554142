"""Holes, weights and penalties of one factor alone: against deleting, repeating, and slow references."""

from __future__ import annotations

import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import partwise as pw
from partwise.exceptions import DegenerateDataWarning, InputError
from partwise.linalg.incomplete import Parts, certified_incomplete

RNG = np.random.default_rng(5)
N, M, K = 40, 12, 3
X = RNG.gamma(1.0, size=(N, K)) @ RNG.gamma(1.0, size=(K, M)) + 0.05 * RNG.random((N, M))
KNOWN = RNG.random((N, M)) < 0.7
HOLES = np.where(KNOWN, X, np.nan)
MAKE = {
    "hals": pw.HALS,
    "anls": pw.ANLS,
    "mu": pw.MU,
    "kl": lambda k, **kw: pw.MU(k, beta_loss=1, **kw),
    "beta": lambda k, **kw: pw.MU(k, beta_loss=0.5, **kw),
    "likelihood": pw.Likelihood,
}
BETA = {"hals": 2.0, "anls": 2.0, "mu": 2.0, "kl": 1.0, "beta": 0.5, "likelihood": 1.0}
every = pytest.mark.parametrize("name", MAKE)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def divergence(x: Any, y: Any, beta: float) -> Any:
    if beta == 2.0:
        return 0.5 * (x - y) ** 2
    if beta == 1.0:
        return x * np.log(x / y) - x + y
    return (x**beta + (beta - 1.0) * y**beta - beta * x * y ** (beta - 1.0)) / (beta * (beta - 1.0))


# --- defects ------------------------------------------------------------------------------------------------

A = np.abs(np.random.RandomState(42).randn(10, 10))
A[:, ::2] = 0.0


@pytest.mark.filterwarnings("ignore::partwise.exceptions.DegenerateDataWarning")
@pytest.mark.parametrize("init", ["random", "nndsvd", "pure"])
@pytest.mark.parametrize("penalty", [{"l2_W": 1.0}, {"l1_W": 0.2}, {"l1_H": 0.2, "l2_H": 0.1}], ids=str)
def test_a_penalty_of_one_factor_alone_has_a_minimiser(init: str, penalty: dict[str, float]) -> None:
    model = pw.HALS(4, init=init, random_state=1, tol=1e-6, max_iter=20000, **penalty)
    W = model.fit_transform(A)
    assert model.converged_
    assert model.components_.max() < 100.0
    objective = model.history_["objective"]
    assert np.diff(objective).max() <= 1e-12 * objective[0]
    if "l1_H" in penalty:
        return
    # the penalty is that of W among parts of root mean square one
    used = model.components_.any(axis=1)
    np.testing.assert_allclose(np.sqrt((model.components_[used] ** 2).mean(axis=1)), 1.0, rtol=1e-12)
    net = 10.0 * (penalty.get("l1_W", 0.0) * W.sum() + 0.5 * penalty.get("l2_W", 0.0) * (W**2).sum())
    value = 0.5 * ((A - W @ model.components_) ** 2).sum() + net
    assert value == pytest.approx(objective[-1], rel=1e-8)


def test_penalties_that_empty_a_model_say_so_and_from_which_size_on() -> None:
    """With l2 alone: from the largest singular value over sqrt(n m) on."""
    edge = np.linalg.norm(X, 2) / np.sqrt(N * M)
    with pytest.warns(ConvergenceWarning, match="penalties have emptied the model") as told:
        model = pw.HALS(2, l2_W=2 * edge, l2_H=2 * edge, tol=1e-12).fit(X)
    assert model.stop_.details["factor"] == pytest.approx(0.5, rel=1e-3)
    assert not model.converged_
    assert told[0].message.stop.cause == "emptied-at"
    assert pw.HALS(2, l2_W=0.9 * edge, l2_H=0.9 * edge).fit(X).components_.any()


def test_divergences_are_continuous_in_beta() -> None:
    how = {"init": "random", "random_state": 0, "tol": 0.0, "max_iter": 20}
    for beta in (2.0, 1.0, 1.5):
        at, near = (pw.MU(3, beta_loss=b, **how).fit(X).components_ for b in (beta, beta - 1e-5))
        np.testing.assert_allclose(at, near, atol=1e-3)


def test_kl_leaves_zeros_where_the_limit_is_zero() -> None:
    truth = np.kron(np.eye(3), np.ones((5, 4)))
    model = pw.MU(3, beta_loss=1, tol=0.0, max_iter=600).fit(truth)
    assert ((model.components_ == 0.0) | (model.components_ > 1e-30)).all()
    assert (model.components_ == 0.0).sum() == 24


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("name", ["kl", "beta", "likelihood"])
def test_an_entry_near_underflow_is_like_zero(name: str, form: Any) -> None:
    values = []
    for small in (0.0, 1e-323):
        data = X.copy()
        data[0, 0] = small
        model = MAKE[name](2, init="random", random_state=0, tol=0.0, max_iter=5).fit(form(data))
        values.append(model.history_["objective"])
    assert np.isfinite(values[1]).all()
    np.testing.assert_allclose(values[0], values[1], rtol=1e-9)


@every
def test_a_restart_from_both_factors_or_from_the_parts_goes_on(name: str) -> None:
    if name in ("hals", "anls", "likelihood"):
        pytest.skip("weights of the start are exact")
    first = MAKE[name](3, init="random", random_state=0, tol=0.0, max_iter=200).fit(X)
    again = MAKE[name](3, init=first, tol=0.0, max_iter=3).fit(X)
    assert again.history_["objective"][-1] <= first.history_["objective"][-1] * 1.001
    both = MAKE[name](3, init=first, init_weights=first.transform(X), tol=0.0, max_iter=3).fit(X)
    assert both.history_["objective"][0] <= first.history_["objective"][-1] * (1 + 1e-9)


@every
def test_more_parts_than_features(name: str) -> None:
    with pytest.warns(DegenerateDataWarning, match="pure records"):
        model = MAKE[name](M + 3, max_iter=5).fit(X)
    assert model.components_.shape == (M + 3, M)
    with pytest.raises(InputError, match="can only be used when n_components <= min"):
        MAKE[name](M + 3, init="nndsvd").fit(X)


# --- holes --------------------------------------------------------------------------------------------------


@every
def test_holes_by_nan_by_mask_by_zeros_and_by_weights_are_the_same(name: str) -> None:
    def fit(X: Any, missing: Any = None, **told: Any) -> Any:
        return MAKE[name](K, missing=missing, init="random", random_state=0, tol=0.0, max_iter=8).fit(X, **told)

    nan = fit(HOLES, "nan")
    stored = sp.csr_array(np.where(KNOWN, X, 0.0))
    others = [
        fit(X, mask=KNOWN),
        fit(np.where(KNOWN, X, 0.0), "zeros"),
        fit(stored, "zeros"),
        fit(X, mask=sp.csr_array(KNOWN)),
    ]
    for other in others:
        np.testing.assert_allclose(other.components_, nan.components_, rtol=1e-8, atol=1e-10)
        assert other.reconstruction_error_ == pytest.approx(nan.reconstruction_error_, rel=1e-8)
        assert other.n_unknown_ == nan.n_unknown_ == np.count_nonzero(~KNOWN)
    assert not hasattr(fit(X), "n_unknown_")
    assert not hasattr(other.fit(X), "n_unknown_")
    W = nan.transform(HOLES)
    error = np.linalg.norm((X - W @ nan.components_) * KNOWN) / np.linalg.norm(X * KNOWN)
    assert nan.reconstruction_error_ == pytest.approx(error, rel=1e-10)
    np.testing.assert_array_equal(nan.impute(HOLES)[KNOWN], X[KNOWN])
    np.testing.assert_allclose(nan.impute(HOLES)[~KNOWN], (W @ nan.components_)[~KNOWN], rtol=1e-10)


@every
def test_the_end_with_holes_is_a_minimum_of_the_known_entries(name: str) -> None:
    """No step of L-BFGS-B in both factors lowers the loss over known entries, and unknown values play no part."""
    beta = BETA[name]
    model = MAKE[name](K, missing="nan", tol=1e-5, max_iter=3000)
    W = model.fit_transform(HOLES)
    start = np.concatenate([W.ravel(), model.components_.ravel()])

    def loss(f: np.ndarray) -> float:
        Y = np.maximum(f[: N * K].reshape(N, K) @ f[N * K :].reshape(K, M), 1e-12)
        return float(divergence(X, Y, beta)[KNOWN].sum())

    better = minimize(loss, start, bounds=[(0.0, None)] * len(start), method="L-BFGS-B", options={"maxiter": 3})
    # weights of transform are approximate for other divergences than 1 and 2
    assert loss(start) == pytest.approx(model.history_["objective"][-1], rel=1e-3)
    assert better.fun >= loss(start) * (1.0 - 2e-3) - 1e-9


@pytest.mark.parametrize("counts", [False, True], ids=["squared", "counts"])
@pytest.mark.parametrize("patterns", ["few", "many"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_weights_with_holes_are_those_without_the_unknown_entries(counts: bool, patterns: str, form: Any) -> None:
    known = KNOWN if patterns == "many" else np.tile(KNOWN[:2], (N // 2, 1))
    H = RNG.gamma(1.0, size=(K, M))
    block = np.where(known, X, np.nan)
    if form is sp.csr_array:
        rows, columns = np.nonzero(known)
        block = sp.csr_array((X[known], (rows, columns)), shape=X.shape)
    W, kkt = certified_incomplete(block, parts=Parts(H, counts=counts))
    solve = pw.linalg.poisson_weights if counts else pw.nnls
    for i in range(N):
        np.testing.assert_allclose(W[i], solve(H[:, known[i]], X[i : i + 1, known[i]])[0], rtol=1e-6, atol=1e-9)
    assert kkt.max() <= 1e-9


def test_holes_on_every_source(tmp_path: Path) -> None:
    for number, a in enumerate(range(0, N, 9)):
        np.save(tmp_path / f"part-{number}.npy", HOLES[a : a + 9])
    how = {"missing": "nan", "tol": 0.0, "max_iter": 6}
    found = [
        pw.HALS(K, **how).fit(data)
        for data in (pw.open_source(HOLES, block_rows=9), tmp_path, da.from_array(HOLES, chunks=(9, -1)))
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other.components_, found[0].components_)
        np.testing.assert_allclose(np.asarray(other.transform(HOLES)), found[0].transform(HOLES), rtol=1e-12)


def test_what_holes_leave_open_is_named() -> None:
    data = HOLES.copy()
    data[:, 2] = np.nan
    data[4, 2:] = np.nan
    with pytest.warns(DegenerateDataWarning, match=r"1 column\(s\) without a known entry \(2\).*1 row\(s\).*\(4\)"):
        model = pw.HALS(K, missing="nan", max_iter=5).fit(data)
    assert not model.components_[:, 2].any()
    with pytest.raises(InputError, match="no known entry"):
        pw.HALS(K, missing="nan").fit(np.full_like(X, np.nan))
    with pytest.raises(InputError, match="NaN or infinity"):
        pw.HALS(K).fit(HOLES)
    with pytest.raises(InputError, match=r"infinity value\(s\)"):
        pw.HALS(K, missing="nan").fit(np.where(KNOWN, HOLES, np.inf))
    with pytest.raises(InputError, match=r"mask has shape \(40, 11\)"):
        pw.HALS(K).fit(X, mask=KNOWN[:, 1:])


def test_a_fit_with_holes_goes_on_from_a_state() -> None:
    states: list[Any] = []
    model = pw.HALS(
        K, missing="nan", l1_W=0.01, tol=0.0, max_iter=9, callbacks=[lambda now: states.append(deepcopy(now.state))]
    )
    whole = model.fit(HOLES).components_
    model.set_params(callbacks=[])
    np.testing.assert_array_equal(model.fit(HOLES, state=states[4]).components_, whole)


# --- weights ------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("penalty", [{}, {"l1_W": 0.01, "l2_H": 0.02}, {"l1_W": 0.02}], ids=["plain", "both", "alone"])
def test_a_sample_and_a_feature_of_weight_two_are_there_twice(name: str, penalty: dict[str, float]) -> None:
    rows, columns = RNG.integers(0, 3, N), RNG.integers(1, 3, M)
    repeated = np.repeat(np.repeat(X, rows, axis=0), columns, axis=1)
    start = RNG.random((K, M)) + 0.1

    # the residual of a round of HALS with momentum is what its first sweep tells, and not exact
    exact = {"extrapolate": False} if name == "hals" else {}

    def fit(X: Any, init: Any, **told: Any) -> Any:
        return MAKE[name](K, init=init, tol=0.0, max_iter=12, **penalty, **exact).fit(X, **told)

    found = fit(X, start, sample_weight=rows, feature_weight=columns)
    # likelihood has other rounds with weights
    expected = (
        pw.MU(K, beta_loss=1, init=start.repeat(columns, axis=1), tol=0.0, max_iter=12, **penalty).fit(repeated)
        if name == "likelihood"
        else fit(repeated, start.repeat(columns, axis=1))
    )
    if name == "likelihood":
        found = pw.MU(K, beta_loss=1, init=start, tol=0.0, max_iter=12, **penalty).fit(
            X, sample_weight=rows, feature_weight=columns
        )
    np.testing.assert_allclose(found.components_.repeat(columns, axis=1), expected.components_, rtol=1e-8, atol=1e-11)
    assert found.reconstruction_error_ == pytest.approx(expected.reconstruction_error_, rel=1e-9)
    assert found.kkt_ == pytest.approx(expected.kkt_, rel=1e-6)
    W = expected.transform(np.repeat(X, columns, axis=1))
    np.testing.assert_allclose(found.transform(X), W, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("penalty", [{}, {"l1_W": 0.01, "l2_H": 0.02}], ids=["plain", "both"])
@pytest.mark.parametrize("kind", ["dense", "csr", "dask"])
def test_likelihood_of_a_sample_of_weight_two_has_the_same_rounds_as_of_it_twice(kind: str, penalty: Any) -> None:
    """Sweeps over the coordinates included, which come after 30 rounds."""
    rows, start = np.random.default_rng(0).integers(0, 3, N), np.random.default_rng(1).random((K, M)) + 0.1
    model = pw.Likelihood(K, init=start, tol=0.0, max_iter=45, **penalty)
    expected = model.fit(np.repeat(X, rows, axis=0)).components_.copy()
    data = {"dense": X, "csr": sp.csr_array(X), "dask": da.from_array(X, chunks=(15, M))}[kind]
    np.testing.assert_allclose(model.fit(data, sample_weight=rows).components_, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("init", ["pure", "nndsvd", "random"])
def test_weights_of_samples_in_starts(init: str) -> None:
    rows = RNG.integers(0, 3, N)
    how = {"init": init, "random_state": 0, "tol": 0.0, "max_iter": 10}
    found = pw.HALS(K, **how).fit(X, sample_weight=rows)
    expected = pw.HALS(K, **how).fit(np.repeat(X, rows, axis=0))
    np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-8, atol=1e-10)


@every
def test_weights_of_entries(name: str) -> None:
    """Zero is a hole, and one nothing at all."""
    how = {"init": "random", "random_state": 0, "tol": 0.0, "max_iter": 8}
    weights = KNOWN * 1.0
    found = MAKE[name](K, **how).fit(X, entry_weight=weights)
    expected = pw.ANLS(K, **how).fit(X, mask=KNOWN) if name == "anls" else MAKE[name](K, **how).fit(X, mask=KNOWN)
    if name != "hals":  # which fills in holes
        np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-8, atol=1e-10)
    variances = RNG.gamma(2.0, size=(N, M))
    model = MAKE[name](K, tol=1e-7, max_iter=20000)
    W = model.fit_transform(X, entry_weight=1.0 / variances)
    value = (divergence(X, W @ model.components_, BETA[name]) / variances).sum()
    assert value <= model.history_["objective"][-1] * (1.0 + 1e-3)
    np.testing.assert_allclose(model.transform(X, entry_weight=1.0 / variances), W, rtol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_likelihood_with_weights_of_entries_is_exact(form: Any) -> None:
    """The slope of every sample by hand, with weights of features and a penalty too."""
    weights, v = KNOWN * RNG.gamma(1.0, size=(N, M)), np.arange(M) % 3.0
    H, counts = RNG.gamma(1.0, size=(K, M)), RNG.poisson(4.0, (N, M)) + 1.0
    told = {"feature_weight": v, "entry_weight": form(weights)}
    W = pw.factorize(form(counts), H=H, update_H=False, loss="kullback-leibler", l1_W=0.1, **told)[0]
    slope = (weights * v * (1.0 - counts / (W @ H))) @ H.T + 0.1 * v.sum()
    assert np.abs(np.minimum(W, slope)).max() < 1e-8
    W = pw.nnls(H, form(counts), loss="kullback-leibler", weights=form(weights))
    slope = (weights * (1.0 - counts / np.maximum(W @ H, 1e-300))) @ H.T
    assert np.abs(np.minimum(W, slope)).max() < 1e-8


@pytest.mark.parametrize(
    ("told", "match"),
    [
        ({"sample_weight": np.ones(N - 1)}, "sample_weight must be 40 numbers"),
        ({"sample_weight": -np.ones(N)}, "number 0 is -1.0"),
        ({"sample_weight": np.zeros(N)}, "zero everywhere"),
        ({"feature_weight": np.full(M, np.nan)}, "finite"),
        ({"entry_weight": -X}, "not negative"),
        ({"mask": KNOWN, "entry_weight": X}, "not both"),
    ],
    ids=str,
)
def test_weights_that_are_none(told: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        pw.HALS(K).fit(X, **told)


def test_rounds_with_holes_that_begin_in_single_precision_end_in_double(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    data = rng.gamma(0.5, size=(60, 3)) @ rng.gamma(0.5, size=(3, 20)) + 0.05 * rng.random((60, 20))
    data[rng.random(data.shape) < 0.3] = np.nan
    whole = pw.HALS(3, missing="nan", tol=1e-7, max_iter=5000, random_state=0).fit(data)
    monkeypatch.setattr("partwise.algorithms.hals.LIGHT_WORK", 0)
    types: list[Any] = []
    watch = [lambda progress: types.append(progress.state["W"].dtype)]
    begun = pw.HALS(3, missing="nan", tol=1e-7, max_iter=5000, random_state=0, callbacks=watch).fit(data)
    assert (types[0], types[-1]) == (np.float32, np.float64)
    assert begun.kkt_ <= 1e-7
    assert begun.reconstruction_error_ == pytest.approx(whole.reconstruction_error_, rel=1e-6)


@pytest.mark.parametrize("rounds", [3, 8, 30])
def test_a_weight_is_a_repeated_row_in_every_round_and_at_the_stop(rounds: int) -> None:
    rng = np.random.default_rng(0)
    X, weights = rng.random((15, 30)), rng.integers(0, 5, 15)
    model = pw.HALS(2, max_iter=rounds, tol=1e-3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighed, repeated = clone(model).fit(X, sample_weight=weights), clone(model).fit(np.repeat(X, weights, axis=0))
    assert weighed.n_iter_ == repeated.n_iter_
    np.testing.assert_allclose(weighed.history_["residual"], repeated.history_["residual"], rtol=1e-9)
    np.testing.assert_allclose(weighed.components_, repeated.components_, atol=1e-10)


def test_momentum_with_holes_is_that_of_the_pair_they_are_filled_in_at() -> None:
    """Weights beyond their update would leave unknown entries behind: that took 4,000 rounds."""
    rng = np.random.default_rng(2)
    X = rng.gamma(0.4, size=(200, 6)) @ rng.gamma(0.4, size=(6, 40)) + 0.3 * rng.random((200, 40))
    X[rng.random(X.shape) < 0.3] = np.nan
    model = pw.HALS(6, missing="nan", tol=1e-6, max_iter=10_000, random_state=0).fit(X)
    assert model.converged_
    assert model.n_iter_ < 500


@pytest.mark.parametrize("name", ["hals", "anls", "mu", "kl"])
def test_weights_to_start_with_may_come_with_the_data(name: str) -> None:
    rng = np.random.default_rng(3)
    W, H = rng.random((N, K)) + 0.1, rng.random((K, M)) + 0.1
    model, pair = MAKE[name](K, init=H, max_iter=3, tol=0.0), MAKE[name](K, init=(W, H), max_iter=3, tol=0.0)
    found, expected = model.fit_transform(X, W=W), pair.fit_transform(X)
    np.testing.assert_array_equal(found, expected)
    assert model.init is H
    other = MAKE[name](K, init=H, max_iter=1).fit(X)
    begun = MAKE[name](K, init=other, max_iter=3, tol=0.0).fit_transform(X, W=pd.DataFrame(W))
    pair = MAKE[name](K, init=(W, other.components_), max_iter=3, tol=0.0)
    np.testing.assert_array_equal(begun, pair.fit_transform(X))


@pytest.mark.parametrize("init", ["random", "pair", None], ids=str)
def test_weights_without_components_to_start_with_are_refused(init: Any) -> None:
    W, H = np.ones((N, K)), np.ones((K, M))
    with pytest.raises(InputError, match="W must be a matrix, one half of a start"):
        pw.HALS(K, init=(W, H) if init == "pair" else init).fit_transform(X, W=W)


@pytest.mark.parametrize(("value", "told"), [(np.nan, "W contains 1 NaN"), (-1.0, "W has 1 negative value")])
def test_what_is_wrong_with_weights_to_start_with_is_told_of_them(value: float, told: str) -> None:
    W, H = np.ones((N, K)), np.ones((K, M))
    W[2, 1] = value
    with pytest.raises(InputError, match=told):
        pw.HALS(K, init=H).fit_transform(X, W=W)


@pytest.mark.filterwarnings("ignore::partwise.exceptions.DegenerateDataWarning")  # samples that use no part
@pytest.mark.parametrize("name", ["HALS", "ANLS"])
def test_holes_do_not_lead_to_worse_minima_than_a_random_start(name: str) -> None:
    """From filled samples HALS ended here at twice the error, moving still after a thousand rounds."""
    rng = np.random.default_rng(0)
    W = rng.gamma(1.0, size=(300, 3)) * (rng.random((300, 3)) < 0.6)
    S = W @ (rng.gamma(0.4, size=(3, 40)) + 1e-3)
    known = rng.random(S.shape) < 0.8
    X = np.where(known, rng.poisson(20.0 * S).astype(float), np.nan)
    options = {"missing": "nan", "random_state": 0, "tol": 1e-4}
    found = getattr(pw, name)(3, **options).fit(X)
    other = getattr(pw, name)(3, init="random", **options).fit(X)
    assert found.reconstruction_error_ < 1.02 * other.reconstruction_error_


def test_a_start_beside_fixed_parts_has_no_filled_samples_either(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).random((30, 8))
    X[0, 0] = np.nan

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a filled sample")

    monkeypatch.setattr("partwise.starts.making.pure_start", refuse)
    pw.HALS(3, fixed=X[1:2], missing="nan", max_iter=2, tol=1.0).fit(X)


@pytest.mark.parametrize("kind", [pw.HALS, pw.Parts])
@pytest.mark.parametrize("missing", ["nan", "zeros"])
def test_score_is_over_known_entries(missing: str, kind: Any) -> None:
    """With zeros for unknown ones parts that explain all that is known had a score of 0.55, without a word."""
    rng = np.random.default_rng(0)
    S = rng.random((60, 3)) @ rng.random((3, 20))
    known = rng.random(S.shape) < 0.6
    X = np.where(known, S, np.nan) if missing == "nan" else sp.csr_array(np.where(known, S, 0.0))
    model = kind(3, missing=missing, random_state=0).fit(X)
    assert model.score(X) == pytest.approx(1.0 - model.reconstruction_error_**2, abs=1e-12)
    assert model.score(S) > 0.999


def test_score_of_incomplete_counts_is_refused() -> None:
    X = np.random.default_rng(0).poisson(5.0, (30, 8)).astype(float)
    X[0, 0] = np.nan
    with pytest.raises(InputError, match=r"deviance is over known entries$"):
        pw.Likelihood(2, missing="nan", random_state=0, tol=1e-2).fit(X).score(X)
