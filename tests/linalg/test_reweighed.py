"""Weights and fits under Huber's loss, least absolute deviations and the negative binomial, against slow references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.special import xlogy
from scipy.stats import nbinom

import partwise as pw
from partwise.algorithms.engine.entries import Huber, NegativeBinomial
from partwise.exceptions import InputError

RNG = np.random.default_rng(2)
H = RNG.gamma(0.7, size=(3, 12)) + 0.05
X = RNG.gamma(0.7, size=(20, 3)) @ H
COUNTS = RNG.negative_binomial(2.0, 2.0 / (2.0 + 5.0 * X)).astype(float)
SPOILT = np.where(RNG.random(X.shape) < 0.1, 9.0, X)


def huber(x: np.ndarray, y: np.ndarray, delta: float) -> float:
    r = np.abs(x - y)
    return float(np.where(r <= delta, r**2 / 2, delta * (r - delta / 2)).sum())


def binomial(x: np.ndarray, y: np.ndarray, dispersion: float) -> float:
    """Minus the log-likelihood, less that of a mean of x."""
    a = 1.0 / dispersion
    return float((xlogy(x, x / y) - (x + a) * np.log((x + a) / (y + a))).sum())


def test_the_reference_is_scipys() -> None:
    a, y = 1.0 / 0.3, X + 0.1
    least = nbinom.logpmf(COUNTS, a, a / (a + np.maximum(COUNTS, 1e-300)))
    assert binomial(COUNTS, y, 0.3) == pytest.approx((least - nbinom.logpmf(COUNTS, a, a / (a + y))).sum(), rel=1e-10)


LOSSES = {"huber": huber, "negative-binomial": binomial}


def slow(loss: Any, x: np.ndarray, parts: np.ndarray, start: np.ndarray, l1: float = 0.0, l2: float = 0.0) -> float:
    def value(w: np.ndarray) -> float:
        return loss(x, w @ parts) + l1 * w.sum() + l2 / 2 * w @ w

    bounds = [(1e-12, None)] * len(parts)
    return min(
        minimize(value, at, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}).fun
        for at in (start + 1e-3, np.full(len(parts), x.mean() / parts.mean() / len(parts)))
    )


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.5, 2.0]), st.sampled_from([(0.0, 0.0), (0.05, 0.1)]))
def test_huber_weights_are_the_best(seed: int, delta: float, nets: tuple[float, float]) -> None:
    rng = np.random.default_rng(seed)
    parts, x = rng.random((3, 9)), rng.standard_cauchy((2, 9)) + 2.0
    l1, l2 = nets
    W, proof = pw.nnls(parts, x, loss=("huber", delta), l1=l1, l2=l2, return_certificate=True)
    assert proof.largest <= 1e-8
    for i, w in enumerate(W):
        found = huber(x[i], w @ parts, delta) + l1 * w.sum() + l2 / 2 * w @ w
        assert found <= slow(lambda a, b: huber(a, b, delta), x[i], parts, w, l1, l2) * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("dispersion", [1e-6, 0.2, 1.0])
def test_negative_binomial_weights(dispersion: float) -> None:
    W, proof = pw.nnls(H, COUNTS, loss=("negative-binomial", dispersion), return_certificate=True)
    assert proof.largest <= 1e-7
    worse = 0
    for x, w in zip(COUNTS, W, strict=True):
        found = binomial(x, np.maximum(w @ H, 1e-12), dispersion)
        reference = slow(lambda a, b: binomial(a, np.maximum(b, 1e-12), dispersion), x, H, w)
        worse += found > reference + 1e-5 * (1 + abs(reference))
    assert worse <= 1  # another minimum: the problem is not convex
    if dispersion == 1e-6:
        np.testing.assert_allclose(W, pw.nnls(H, COUNTS, loss="kullback-leibler"), atol=1e-3)


def test_least_absolute_deviations_against_a_linear_program() -> None:
    W, proof = pw.nnls(H, SPOILT, loss="l1", return_certificate=True)
    assert proof.largest <= 1e-8
    m, k = H.shape[1], len(H)
    for x, w in zip(SPOILT[:6], W, strict=False):
        A = np.hstack([H.T, np.eye(m), -np.eye(m)])
        best = linprog(np.r_[np.zeros(k), np.ones(2 * m)], A_eq=A, b_eq=x, method="highs").fun
        assert np.abs(x - w @ H).sum() == pytest.approx(best, rel=1e-6)
    with pytest.raises(InputError, match="mask is nothing for loss='l1'"):
        pw.nnls(H, X, loss="l1", mask=np.ones(X.shape))


@pytest.mark.parametrize(
    ("loss", "slow_value", "data"),
    [(Huber(delta=0.4), huber, SPOILT), (NegativeBinomial(dispersion=0.5), binomial, COUNTS)],
    ids=["huber", "negative-binomial"],
)
def test_value_and_gradient(loss: Any, slow_value: Any, data: np.ndarray) -> None:
    W, F = RNG.random((20, 3)) + 0.1, H.T + 0.1
    number = getattr(loss, "delta", None) or loss.dispersion
    assert loss.block_value(data, W, F) == pytest.approx(slow_value(data, W @ F.T, number))
    assert loss.block_value(sp.csr_array(data), W, F) == pytest.approx(slow_value(data, W @ F.T, number))
    negative, positive = loss.gradient_W(data, W, F)
    step = np.zeros_like(W)
    step[4, 1] = 1e-6
    change = slow_value(data, (W + step) @ F.T, number) - slow_value(data, (W - step) @ F.T, number)
    assert (positive - negative)[4, 1] == pytest.approx(change / 2e-6, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    ("loss", "data"), [(("huber", 0.3), SPOILT), (("negative-binomial", 0.5), COUNTS)], ids=lambda v: str(v)[:20]
)
def test_a_fit_never_rises_and_is_no_worse_than_another_loss(loss: Any, data: np.ndarray) -> None:
    model = pw.MU(3, beta_loss=loss, max_iter=150, tol=0.0, random_state=0).fit(data)
    objective = model.history_["objective"]
    assert np.diff(objective).max() <= 1e-12 * objective[0]
    value = LOSSES[loss[0]](data, np.maximum(model.inverse_transform(model.transform(data)), 1e-12), loss[1])
    assert model.deviance(data) == pytest.approx(2 * value, rel=1e-6)
    assert value <= objective[-1] * (1 + 1e-9)
    plain = pw.MU(3, beta_loss=2 if loss[0] == "huber" else 1, max_iter=150, tol=0.0, random_state=0).fit(data)
    after = pw.MU(3, beta_loss=loss, init=plain, max_iter=150, tol=0.0).fit(data)
    W = pw.nnls(plain.components_, data, loss=loss)
    before = LOSSES[loss[0]](data, np.maximum(W @ plain.components_, 1e-12), loss[1])
    assert after.deviance(data) < 2 * before
    again = pw.factorize(data, 3, loss=loss, max_iter=150, tol=0.0, random_state=0)[2].model
    np.testing.assert_array_equal(again.components_, model.components_)


def test_single_readings_that_are_far_off_move_the_parts_little() -> None:
    rng = np.random.default_rng(0)
    clean = rng.gamma(0.5, size=(150, 3)) @ H
    spoilt = np.where(rng.random(clean.shape) < 0.03, 30.0, clean)
    errors = {}
    for name, loss in {"squares": 2.0, "huber": ("huber", 0.05)}.items():
        model = pw.MU(3, beta_loss=loss, max_iter=200, tol=0.0, random_state=0, init="nndsvda").fit(spoilt)
        errors[name] = pw.metrics.relative_error(clean, model.transform(spoilt), model.components_)
    assert errors["huber"] < 0.5 * errors["squares"]


def test_holes_are_left_out() -> None:
    holed = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    model = pw.MU(3, beta_loss=("huber", 0.5), missing="nan", init=H, max_iter=5, tol=0.0).fit(holed)
    row = holed[:1][:, ~np.isnan(holed[0])]
    alone = pw.nnls(model.components_[:, ~np.isnan(holed[0])], row, loss=("huber", 0.5))
    np.testing.assert_allclose(model.transform(holed)[:1], alone, atol=1e-6)


@pytest.mark.parametrize("bad", ["huber", ("huber", 0.0), ("other", 1.0), ("huber",), ("huber", "x")], ids=str)
def test_what_is_no_loss(bad: Any) -> None:
    with pytest.raises(InputError, match="loss"):
        pw.nnls(H, X, loss=bad)
    with pytest.raises((InputError, ValueError), match="beta_loss"):
        pw.MU(3, beta_loss=bad).fit(X)


@pytest.mark.parametrize("loss", [("huber", 0.3), ("negative-binomial", 0.5)], ids=lambda loss: loss[0])
def test_holes_of_sparse_data_are_holes(loss: Any) -> None:
    mask = np.random.default_rng(4).random(X.shape) < 0.7
    expected = pw.nnls(H, COUNTS, loss=loss, mask=mask)
    found = pw.nnls(H, sp.csr_array(COUNTS), loss=loss, mask=sp.csr_array(mask))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    model = pw.MU(3, beta_loss=loss, init=H, max_iter=5, tol=1.0).fit(COUNTS, mask=mask)
    weights = model.transform(sp.csr_array(COUNTS), mask=sp.csr_array(mask))
    np.testing.assert_allclose(weights, model.transform(COUNTS, mask=mask), atol=1e-9)


def test_hubers_loss_tends_to_absolute_deviations() -> None:
    delta = 1e-9
    W, proof = pw.nnls(H, SPOILT, loss=("huber", delta), return_certificate=True)
    assert proof.largest <= 1e-5  # of slopes that are 1e-9 at most
    least = np.abs(SPOILT - pw.nnls(H, SPOILT, loss="l1") @ H).sum()
    assert huber(SPOILT, W @ H, delta) / delta < 1.001 * least


def test_negative_binomial_of_large_counts_is_itakura_saito() -> None:
    """Its variance is then the square of the mean: nothing moved there, and a fit ended after a round as converged."""
    counts, large = np.round(1e6 * (X + 0.1)), 1e6 * H
    start = np.random.default_rng(0).random((len(X), len(H))) + 0.1, large
    ours, theirs = (
        pw.MU(len(H), beta_loss=loss, init=start, max_iter=20, tol=0.0).fit(counts)
        for loss in (("negative-binomial", 0.5), 0)
    )
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-3)
    W, proof = pw.nnls(large, counts, loss=("negative-binomial", 0.5), return_certificate=True)
    assert proof.largest <= 1e-7
    for x, w in zip(counts[:5], W, strict=False):
        reference = slow(lambda a, b: binomial(a, b, 0.5), x, large, w)
        assert binomial(x, w @ large, 0.5) <= reference + 1e-5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dispersion", [1e-4, 0.5, 100.0])
def test_large_counts_do_not_cancel(dispersion: float, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = np.floor(10.0 ** rng.uniform(0.0, 6.0, 200)) * (rng.random(200) > 0.3)
    y = np.maximum(x, 1.0) * np.where(rng.random(200) < 0.5, 1.01, 10.0 ** rng.uniform(-2.0, 2.0, 200))
    x, y = x.astype(dtype), y.astype(dtype)
    X, Y, a = x.astype(np.longdouble), y.astype(np.longdouble), np.longdouble(1.0) / dispersion
    exact = X * np.log1p(a / (X + a) * (X - Y) / Y * (X > 0.0)) - a * np.log1p((X - Y) / (Y + a))
    found = NegativeBinomial(dispersion=dispersion).each(x, y)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, exact.astype(float), rtol=1e-3 if dtype == np.float32 else 1e-8)
