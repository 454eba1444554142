"""Multiplicative updates for beta-divergences against their formulas."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import kl_div

import partwise as pw
from partwise.algorithms.engine import Divergence, ElasticNet, Factor
from partwise.algorithms.engine.alternating import POSITIVE_START
from partwise.algorithms.engine.multiplicative import decode_rows
from partwise.algorithms.mu import mu
from partwise.sources import source_of

BETAS = pytest.mark.parametrize("beta", [-1.0, 0.0, 0.5, 1.0, 1.5, 2.5, 3.0])
FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
PENALTIES = pytest.mark.parametrize(
    "penalty",
    [ElasticNet(), ElasticNet(0.3, 0.0), ElasticNet(0.0, 0.4), ElasticNet(0.2, 5.0)],
    ids=["plain", "l1", "l2", "both"],
)

RNG = np.random.default_rng(0)
POSITIVE = RNG.gamma(1.0, size=(20, 3)) @ RNG.gamma(1.0, size=(3, 7)) + 0.05
X = POSITIVE * (RNG.random(POSITIVE.shape) < 0.7)
H0 = RNG.random((3, 7)) + 0.05


def data_for(beta: float) -> np.ndarray:
    return POSITIVE if beta <= 0.0 else X


def divergence(X: np.ndarray, Y: np.ndarray, beta: float) -> float:
    """The definition, entry by entry."""
    if beta == 2.0:
        return float(0.5 * ((X - Y) ** 2).sum())
    if beta == 1.0:
        return float(kl_div(X, Y).sum())
    if beta == 0.0:
        return float((X / Y - np.log(X / Y) - 1.0).sum())
    return float(((X**beta + (beta - 1.0) * Y**beta - beta * X * Y ** (beta - 1.0)) / (beta * (beta - 1.0))).sum())


def exponent(beta: float, l2: float) -> float:
    if beta > 2.0:
        return 1.0 / (beta - 1.0)
    if l2:
        return 1.0 / (3.0 - beta)
    return 1.0 / (2.0 - beta) if beta < 1.0 else 1.0


def reference(X: np.ndarray, beta: float, rounds: int, penalty: ElasticNet) -> tuple[np.ndarray, np.ndarray]:
    """W, then H: times the ratio of the gradient's negative part to its positive part."""
    power = exponent(beta, penalty.l2)
    H = np.maximum(H0, POSITIVE_START * H0.max())
    W = np.repeat(X.sum(axis=1, keepdims=True) / H.sum(), len(H), axis=1)
    for _ in range(rounds):
        Y = W @ H
        W = W * ((X * Y ** (beta - 2)) @ H.T / (Y ** (beta - 1) @ H.T + penalty.l1 + penalty.l2 * W)) ** power
        Y = W @ H
        H = H * (W.T @ (X * Y ** (beta - 2)) / (W.T @ Y ** (beta - 1) + penalty.l1 + penalty.l2 * H)) ** power
    return W, H


@BETAS
@FORMS
@PENALTIES
def test_iterations_are_the_formula(beta: float, form: Any, penalty: ElasticNet) -> None:
    data = data_for(beta)
    source = source_of(form(data), block_rows=6)
    iterations = mu(source, H0, squared_norm=1.0, beta=beta, on_W=Factor((penalty,)), on_H=Factor((penalty,)))
    for rounds, progress in enumerate(islice(iterations, 4)):
        W, H = reference(data, beta, rounds, penalty)
        np.testing.assert_allclose(progress.components, H, rtol=1e-10)
        value = divergence(data, W @ H, beta) + penalty.l1 * (W.sum() + H.sum())
        value += 0.5 * penalty.l2 * ((W**2).sum() + (H**2).sum())
        assert progress.objective == pytest.approx(value, rel=1e-9)


@BETAS
@FORMS
@PENALTIES
def test_objective_never_rises(beta: float, form: Any, penalty: ElasticNet) -> None:
    iterations = mu(
        source_of(form(data_for(beta))),
        H0,
        squared_norm=1.0,
        beta=beta,
        on_W=Factor((penalty,)),
        on_H=Factor((penalty,)),
    )
    objective = np.array([progress.objective for progress in islice(iterations, 60)])
    assert (np.diff(objective) <= 1e-12 * np.abs(objective[:-1])).all()


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
def test_value_is_the_divergence(beta: float) -> None:
    data = data_for(beta)
    Y = data + RNG.random(data.shape)
    if beta != 2.0:
        assert Divergence(beta).value(data.ravel(), Y.ravel()) == pytest.approx(divergence(data, Y, beta), rel=1e-12)
    at_itself = Divergence(beta).value(POSITIVE.ravel(), POSITIVE.ravel())
    assert at_itself == pytest.approx(0.0, abs=1e-11)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 1.5, 3.0])
def test_residual_vanishes_at_an_exact_factorization(beta: float) -> None:
    W, H = RNG.random((12, 2)) + 0.1, RNG.random((2, 6)) + 0.1
    W *= (W @ H).sum(axis=1, keepdims=True)  # any scale
    kkt = [
        progress.residual
        for progress in islice(mu(source_of(W[:, :1] @ H[:1]), H[:1], squared_norm=1.0, beta=beta), 1, 3)
    ]
    # with one component the first weights are exact
    assert max(kkt) < 1e-14


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5, 3.0])
@FORMS
def test_weights_of_transform_are_optimal(beta: float, form: Any) -> None:
    """Stationarity from the gradient of the definition: w g = 0, g >= 0."""
    H = H0
    W = decode_rows(form(X), H=np.ascontiguousarray(H.T), loss=Divergence(beta), on_W=Factor((ElasticNet(0.05, 0.02),)))
    Y = W @ H
    positive = Y ** (beta - 1) @ H.T + 0.05 + 0.02 * W
    gradient = positive - (X * Y ** (beta - 2)) @ H.T
    assert np.abs(W * gradient).max() <= 1e-4 * (W * positive).max()
    assert gradient.min() >= -1e-2 * positive.max()


def test_kl_converges_to_a_kkt_point() -> None:
    model = pw.MU(2, beta_loss=1, tol=1e-5, max_iter=20000, init="random", random_state=0)
    W = model.fit_transform(X)
    assert model.converged_
    H = model.components_
    Y = W @ H
    quotients = np.divide(X, Y, out=np.zeros_like(X), where=X > 0.0)
    gW = H.sum(axis=1) - quotients @ H.T
    gH = W.sum(axis=0)[:, None] - W.T @ quotients
    assert np.abs(W * gW).sum() <= 1e-4 * X.sum()
    assert np.abs(H * gH).sum() <= 1e-4 * X.sum()


def test_zeros_of_the_start_can_be_left() -> None:
    """A start with zeros at the wrong places must not lock the updates in, nor hold them up for long."""
    data = pw.datasets.make_laurberg(0.3)
    start = np.eye(3, 6)
    for beta in (1.0, 1.5, 2.0):
        model = pw.MU(3, beta_loss=beta, init=start, max_iter=300, tol=0.0).fit(data.X)
        assert model.reconstruction_error_ < 0.02


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_l1_beside_the_squared_error_is_that_of_its_neighbours_and_makes_no_zero_that_stays(form: Any) -> None:
    rng = np.random.default_rng(5)
    X, W0, H0 = rng.random((20, 10)), rng.random((20, 4)) + 0.1, rng.random((4, 10)) + 0.1
    how: dict[str, Any] = {"init": (W0, H0), "l1_W": 0.03, "l1_H": 0.03, "max_iter": 20, "tol": 0.0}
    at, beside = (pw.MU(beta_loss=beta, **how).fit(form(X)) for beta in (2.0, 2.0 - 1e-5))
    np.testing.assert_allclose(at.weights_, beside.weights_, rtol=1e-3)
    np.testing.assert_allclose(at.components_, beside.components_, rtol=1e-3)
    assert (at.weights_ > 0.0).all()  # nothing is zero before it has vanished
    Y = at.weights_ @ at.components_
    value = 0.5 * ((X - Y) ** 2).sum() + 0.03 * (10 * at.weights_.sum() + 20 * at.components_.sum())
    assert at.history_["objective"][-1] == pytest.approx(value, rel=1e-12)
    assert (np.diff(at.history_["objective"]) < 0.0).all()
