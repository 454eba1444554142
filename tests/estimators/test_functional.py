"""Both factors from the caller, and the functional form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import partwise as pw
from partwise.exceptions import InputError

RNG = np.random.default_rng(1)
N, M, K = 30, 9, 3
X = RNG.gamma(1.0, size=(N, K)) @ RNG.gamma(1.0, size=(K, M)) + 0.1 * RNG.random((N, M))
W0, H0 = RNG.random((N, K)), RNG.random((K, M)) + 0.1
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("make", [pw.HALS, pw.ANLS, pw.MU, pw.Likelihood], ids=lambda make: make.__name__)
def test_a_fit_begins_at_the_pair_that_it_is_given(make: Any, tmp_path: Path) -> None:
    model = make(init=(W0, H0), tol=0.0, max_iter=2).fit(X)
    Y = W0 @ H0
    value = (X * np.log(X / Y) - X + Y).sum() if make is pw.Likelihood else 0.5 * ((X - Y) ** 2).sum()
    assert model.history_["objective"][0] == pytest.approx(value, rel=1e-12)
    assert model.n_components_ == K
    if make is pw.ANLS:  # exact updates of W forget its start
        np.testing.assert_allclose(model.components_, pw.ANLS(init=H0, tol=0.0, max_iter=2).fit(X).components_)
    if make is pw.MU:
        same = pw.MU(init=H0, init_weights=W0, tol=0.0, max_iter=2).fit(X)
        np.testing.assert_array_equal(model.components_, same.components_)
        np.testing.assert_array_equal(model.weights_, same.weights_)
    pw.save(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(pw.load(tmp_path / "model.safetensors").components_, model.components_)
    with pytest.raises(InputError, match=r"weights of init must have shape \(30, 3\)"):
        make(init=(W0[:-1], H0)).fit(X)
    with pytest.raises(InputError, match="negative"):
        make(init=(-W0, H0)).fit(X)


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler", 0.5])
def test_weights_for_given_parts(loss: Any) -> None:
    W, H, info = pw.factorize(X, H=H0, update_H=False, loss=loss, l1_W=0.01)
    np.testing.assert_array_equal(H, H0)
    assert info.n_iter == 0
    Y = W @ H0
    beta = {"frobenius": 2.0, "kullback-leibler": 1.0}.get(loss, loss)
    gradient = (Y ** (beta - 1.0) - X * Y ** (beta - 2.0)) @ H0.T + 0.01 * M
    assert np.abs(np.minimum(W, gradient)).max() < (1e-2 if beta == 0.5 else 1e-6)  # exact for 1 and 2 alone
    assert info.error == pytest.approx(pw.metrics.relative_error(X, W, H0))


def test_starts_of_the_functional_form() -> None:
    one = pw.factorize(X, W=W0, H=H0, tol=1e-4)
    np.testing.assert_array_equal(one[1], pw.HALS(init=(W0, H0), tol=1e-4).fit(X).components_)
    by_name = pw.factorize(X, K, init="nndsvdar", random_state=0, loss="kullback-leibler")
    assert isinstance(by_name[2].model, pw.Likelihood)
    assert by_name[2].converged
    assert isinstance(pw.factorize(X, K, loss=1.5, max_iter=2)[2].model, pw.MU)
    for given, match in (
        ({"update_H": False}, "update_H=False needs H"),
        ({"W": W0}, "W needs H"),
        ({"loss": "hellinger"}, "loss must be"),
        ({"method": "hals", "loss": 1.0}, "does not minimise"),
        ({"W": W0, "H": H0, "update_H": False}, "not used"),
    ):
        with pytest.raises(InputError, match=match):
            pw.factorize(X, **given)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_weights_with_penalties_masks_and_weights(form: Any) -> None:
    data = X * (RNG.random(X.shape) < 0.8)
    mask, s = RNG.random(X.shape) < 0.7, RNG.random(X.shape) + 0.1
    v = RNG.random(M) + 0.1
    cases: list[tuple[dict[str, Any], Any]] = [
        ({"l1": 0.1, "l2": 0.3}, np.ones_like(X)),
        ({"mask": mask}, mask),
        ({"mask": sp.csr_array(mask), "l2": 0.2}, mask),
        ({"weights": s}, s),
        ({"weights": v, "l1": 0.1}, np.broadcast_to(v, X.shape)),
    ]
    for asked, A in cases:
        W, certificate = pw.nnls(H0, form(data), return_certificate=True, **asked)
        gradient = (A * (W @ H0 - data)) @ H0.T + asked.get("l1", 0.0) + asked.get("l2", 0.0) * W
        assert np.abs(np.where(W > 0.0, gradient, np.minimum(gradient, 0.0))).max() < 1e-8
        assert certificate.largest < 1e-9
    W = pw.nnls(H0, form(data), loss="kullback-leibler")
    np.testing.assert_allclose(W, pw.linalg.poisson_weights(H0, data), rtol=1e-8, atol=1e-10)
    for asked, match in (
        ({"loss": "l3"}, "loss must be"),
        ({"weights": -v}, "not negative"),
        ({"mask": mask[1:]}, "shape"),
    ):
        with pytest.raises(InputError, match=match):
            pw.nnls(H0, data, **asked)


@pytest.mark.parametrize("loss", [-0.5, 0.5, 1.0, 2.0])
def test_mu_begun_with_both_factors_ends_with_both_and_never_rises(loss: float) -> None:
    W, H, values = W0, H0, []
    for _ in range(12):
        W, H, info = pw.factorize(X, W=W, H=H, loss=loss, method="mu", max_iter=1, tol=0.0)
        assert info.error == pytest.approx(pw.metrics.relative_error(X, W, H))
        Y = W @ H
        if loss in (1.0, 2.0):
            values.append((X * np.log(X / Y) - X + Y).sum() if loss == 1.0 else ((X - Y) ** 2).sum())
        else:
            powers = X**loss + (loss - 1.0) * Y**loss - loss * X * Y ** (loss - 1.0)
            values.append(powers.sum() / (loss * (loss - 1.0)))
    assert (np.diff(values) < 0.0).all()
    longer = pw.factorize(X, W=W0, H=H0, loss=loss, method="mu", max_iter=12, tol=0.0)
    np.testing.assert_allclose(W, longer[0], rtol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler", ("huber", 0.2)])
def test_parts_for_given_weights(loss: Any, form: Any) -> None:
    mask, s = RNG.random(X.shape) < 0.8, RNG.random(N) + 0.5
    W, H, info = pw.factorize(form(X), W=W0, update_W=False, loss=loss, l2_H=0.01, mask=mask, sample_weight=s)
    np.testing.assert_array_equal(W, W0)
    weights = np.where(mask, s[:, None], 0.0)
    Y = W0 @ H
    slope = {"frobenius": Y - X, "kullback-leibler": 1.0 - X / Y}.get(str(loss), np.clip(Y - X, -0.2, 0.2))
    gradient = W0.T @ (weights * slope) + 0.01 * s.sum() * H
    assert np.abs(np.minimum(H, gradient)).max() < 1e-5
    assert info.reason == "weights are given"
    assert info.error == pytest.approx(np.sqrt((weights * (X - Y) ** 2).sum() / (weights * X**2).sum()))
    np.testing.assert_allclose(info.model.transform(X), pw.factorize(X, H=H, update_H=False, loss=loss)[0], rtol=1e-6)


def test_parts_for_given_weights_of_a_file(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    found = pw.factorize(tmp_path / "x.npy", W=W0, update_W=False)[1]
    np.testing.assert_array_equal(found, pw.nnls(W0.T, np.ascontiguousarray(X.T)).T)


def test_what_given_weights_are_not_for() -> None:
    for given, match in (
        ({}, "update_W=False needs W"),
        ({"W": W0, "H": H0}, "H is not used"),
        ({"W": W0, "update_H": False}, "update_H is not used"),
        ({"W": W0, "feature_weight": np.ones(M)}, "feature_weight changes no parts"),
        ({"W": W0, "fixed": H0[:1]}, "fixed is not for parts of given weights"),
        ({"W": W0, "l1_W": 0.1}, "l1_W is not for"),
        ({"W": W0[1:]}, "shape"),
        ({"W": W0, "sample_weight": np.ones(M)}, "sample_weight"),
        ({"W": -W0}, "negative"),
    ):
        with pytest.raises(InputError, match=match):
            pw.factorize(X, update_W=False, **given)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_least_absolute_deviations_of_both_factors(form: Any) -> None:
    rng = np.random.default_rng(0)
    W_true, H_true = rng.gamma(0.5, size=(60, 2)), rng.gamma(0.5, size=(2, 15))
    clean = W_true @ H_true
    dirty = np.where(rng.random(clean.shape) < 0.05, clean + 20.0 * clean.mean(), clean)
    W, H, info = pw.factorize(form(dirty), 2, loss="l1", random_state=0)
    assert info.converged
    assert info.kkt < 1e-8
    left = np.abs(dirty - W @ H).sum()
    assert info.error == pytest.approx(left / dirty.sum())
    assert left < 1.02 * np.abs(dirty - clean).sum()
    squares = pw.factorize(dirty, 2, random_state=0)
    assert np.abs(clean - W @ H).sum() < 0.1 * np.abs(clean - squares[0] @ squares[1]).sum()
    once = pw.factorize(form(dirty), 2, loss="l1", random_state=0, max_iter=1)
    assert not once[2].converged
    assert once[2].error > info.error
    # one row against its linear program: min sum(u + v), w H + u - v = x
    m = 15
    program = np.hstack([H.T, np.eye(m), -np.eye(m)])
    best = linprog(np.r_[np.zeros(2), np.ones(2 * m)], A_eq=program, b_eq=dirty[0], bounds=(0, None)).fun
    assert np.abs(dirty[0] - W[0] @ H).sum() == pytest.approx(best, rel=1e-7, abs=1e-9)
    given = pw.factorize(form(dirty), H=H, update_H=False, loss="l1")
    np.testing.assert_allclose(np.abs(dirty - given[0] @ H).sum(), left, rtol=1e-8)
    parts = pw.factorize(form(dirty), W=W, update_W=False, loss="l1")
    assert np.abs(dirty - W @ parts[1]).sum() <= left * (1.0 + 1e-8)
    for wrong, match in (
        ({"W": W, "H": H}, "update_W=False alone"),
        ({"l2_H": 0.1}, "l2_H is nothing for loss='l1'"),
        ({"mask": dirty > 0}, "mask is nothing"),
        ({"update_H": False}, "update_H=False with H"),
    ):
        with pytest.raises(InputError, match=match):
            pw.factorize(dirty, 2, loss="l1", **wrong)


def test_a_robust_loss_does_not_begin_at_the_outermost_samples() -> None:
    """Six samples of 150 are something else, and the largest of all: begun at them a part stays with them."""
    rng = np.random.default_rng(1)
    parts = rng.gamma(0.5, size=(4, 40))
    X = rng.dirichlet([0.5] * 4, 150) @ parts + 0.02 * rng.random((150, 40))
    X[rng.choice(150, 6, replace=False)] = 10.0 * rng.gamma(0.3, size=(6, 40))
    how = {"beta_loss": ("huber", 0.1), "random_state": 0, "tol": 1e-3}
    model = pw.MU(4, **how).fit(X)
    np.testing.assert_array_equal(model.components_, pw.MU(4, init="random", **how).fit(X).components_)
    assert pw.metrics.match_components(model.components_, parts).errors.max() < 0.3


@pytest.mark.parametrize(
    ("loss", "name"), [("kullback-leibler", "volume_H"), (1.5, "closure"), ("frobenius", "beta_loss")]
)
def test_what_the_method_of_a_loss_cannot_take_is_refused_by_name(loss: Any, name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is nothing for ") as refused:
        pw.factorize(np.ones((4, 3)), 2, loss=loss, **{name: 1.0})
    assert refused.value.parameter == name
