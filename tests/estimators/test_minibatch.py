"""MiniBatchNMF: streams and passes, what is remembered, holes, penalties, and the bounds against slow references."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import partwise as pw
from partwise.algorithms.engine import Divergence, ElasticNet, Factor
from partwise.algorithms.minibatch import Cost, DivergenceBound, Learner
from partwise.exceptions import InputError

RNG = np.random.default_rng(3)
H_TRUE = RNG.gamma(0.5, size=(4, 15))
X = RNG.gamma(0.5, size=(300, 4)) @ H_TRUE + 0.02 * RNG.random((300, 15))
START = RNG.random((4, 15)) + 0.1
BETAS = (2.0, 1.0, 0.0, 1.5, 0.5, 2.5)
NETS = {"l1_W": 1e-2, "l2_W": 2e-2, "l1_H": 1e-2, "l2_H": 2e-2}


def model(**more: Any) -> pw.MiniBatchNMF:
    return pw.MiniBatchNMF(
        **{"n_components": 4, "init": START, "batch_size": 50, "tol": 0.0, "random_state": 0, **more}
    )


def divergence(beta: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if beta == 1.0:
        return x * np.log(x / y) - x + y
    if beta == 0.0:
        return x / y - np.log(x / y) - 1.0
    return (x**beta + (beta - 1.0) * y**beta - beta * x * y ** (beta - 1.0)) / (beta * (beta - 1.0))


@pytest.mark.parametrize("beta", BETAS)
def test_a_stream_is_a_pass(beta: float) -> None:
    """Batch by batch, all at once or from an iterator: the same samples in the same batches, the same bits."""
    whole = model(beta_loss=beta, forget_factor=1.0, max_iter=1, max_no_improvement=None).fit(X)
    stream = model(beta_loss=beta, forget_factor=1.0)
    for a in range(0, 300, 50):
        stream.partial_fit(X[a : a + 50])
    np.testing.assert_array_equal(stream.components_, whole.components_)
    np.testing.assert_array_equal(
        model(beta_loss=beta, forget_factor=1.0).partial_fit(X).components_, whole.components_
    )
    many = model(beta_loss=beta, forget_factor=1.0).partial_fit(iter([X[:100], X[100:]]))
    np.testing.assert_array_equal(many.components_, whole.components_)
    assert (stream.n_steps_, stream.n_samples_seen_) == (6, 300)


@pytest.mark.parametrize("beta", [2.0, 1.0, 0.0])
def test_it_comes_near_what_all_samples_at_once_end_with(beta: float) -> None:
    found = model(beta_loss=beta, max_iter=20, max_no_improvement=None).fit(X)
    batch = pw.MU(4, init=START, beta_loss=beta, max_iter=200, tol=0.0).fit(X)
    ours, theirs = (
        divergence(beta, X, one.inverse_transform(one.transform(X))).sum() / divergence(beta, X, X.mean(axis=0)).sum()
        for one in (found, batch)
    )
    assert ours <= theirs + 0.02


def test_full_batches_that_forget_all_are_alternating_least_squares() -> None:
    found = model(batch_size=300, forget_factor=0.0, max_iter=60, max_no_improvement=None).fit(X)
    objective = found.history_["objective"]
    assert np.diff(objective).max() <= 1e-13 * np.vdot(X, X)
    assert objective[-1] <= 1.05 * pw.ANLS(4, init=START, max_iter=60, tol=0.0).fit(X).history_["objective"][-1]


@pytest.mark.parametrize("beta", [1.0, 0.0, 0.5, 1.5, 2.5, -0.5])
@pytest.mark.parametrize("nets", [{}, {"l1": 0.3}, {"l1": 0.2, "l2": 0.4}], ids=["plain", "l1", "both"])
def test_the_bound_touches_and_its_minimum_is_one(beta: float, nets: dict[str, float]) -> None:
    """Above the divergence, equal at the components at hand; the minimum against L-BFGS-B."""
    rng = np.random.default_rng(1)
    x, W, H = rng.random((7, 3)) + 0.1, rng.random((7, 2)) + 0.1, rng.random((3, 2)) + 0.1
    bound, on_H = DivergenceBound(Divergence(beta)), Factor((ElasticNet(**nets),) if nets else ())
    (A, B), value = bound.of(x, W, H)
    p, q = bound.powers

    def above(h: np.ndarray) -> np.ndarray:
        powers = [h ** (c + 1.0) / (c + 1.0) if c != -1.0 else np.log(h) for c in (p, q)]
        return (-A * powers[0] + B * powers[1]).sum()

    assert value == pytest.approx(divergence(beta, x, W @ H.T).sum())
    for _ in range(20):
        other = H * rng.gamma(2.0, 0.5, H.shape)
        rise = divergence(beta, x, W @ other.T).sum() - value
        assert above(other) - above(H) >= rise - 1e-10 * abs(value)
    found = bound.lowest(H, (A, B), on_H)
    asked = minimize(
        lambda h: above(h.reshape(3, 2)) + on_H.value(h.reshape(3, 2)),
        H.ravel(),
        bounds=[(1e-9, None)] * 6,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000},
    )
    np.testing.assert_allclose(found.ravel(), asked.x, rtol=1e-4, atol=1e-6)


def test_the_bound_of_early_batches_does_not_hold_a_divergence_back() -> None:
    """A dozen passes come within 2% of the likelihood of all counts at once (5.5% where a fifth of the past counts)."""
    counts = np.random.default_rng(0).poisson(np.tile(40.0 * X, (4, 1))).astype(float)
    found = model(beta_loss=1.0, max_iter=12, max_no_improvement=None).fit(counts)
    batch = pw.Likelihood(4, init=START, tol=1e-6).fit(counts)
    assert found.history_["objective"][-1] <= 1.02 * batch.history_["objective"][-1]


@pytest.mark.parametrize("beta", [2.0, 1.0])
def test_penalties_end_where_those_of_a_batch_do(beta: float) -> None:
    found = model(beta_loss=beta, forget_factor=0.1, max_iter=30, max_no_improvement=None, **NETS).fit(X)
    batch = (pw.HALS if beta == 2.0 else pw.Likelihood)(4, init=START, tol=1e-8, **NETS).fit(X)
    assert found.history_["objective"][-1] <= 1.01 * batch.history_["objective"][-1]


@pytest.mark.parametrize("name", ["l1_W", "l2_H"])
def test_a_penalty_of_one_factor_alone_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} needs a penalty of . too"):
        model(beta_loss=1, **{name: 0.1}).fit(X)


@pytest.mark.parametrize("nets", [{"l1_W": 0.02}, {"l2_W": 0.02}, {"l1_H": 0.02}, {"l2_H": 0.02}], ids=str)
def test_for_the_squared_error_it_ends_where_hals_does(nets: dict[str, float]) -> None:
    found = model(forget_factor=0.1, max_iter=40, max_no_improvement=None, **nets).fit(X)
    batch = pw.HALS(4, init=START, tol=1e-6, max_iter=3000, **nets).fit(X)
    assert found.history_["objective"][-1] <= 1.02 * batch.history_["objective"][-1]


@pytest.mark.parametrize("beta", [2.0, 1.0, 0.5])
def test_holes_are_left_out(beta: float) -> None:
    """Of one rank, so that what is unknown is decided by what is known."""
    rng = np.random.default_rng(0)
    truth = np.outer(rng.random(200) + 0.5, rng.random(8) + 0.5)
    holed = np.where(rng.random(truth.shape) < 0.3, np.nan, truth)
    found = pw.MiniBatchNMF(
        1, beta_loss=beta, batch_size=40, missing="nan", max_iter=12, tol=0.0, max_no_improvement=None, random_state=0
    ).fit(holed)
    np.testing.assert_allclose(found.impute(holed), truth, rtol=2e-3)
    stored = sp.csr_array(np.nan_to_num(holed))
    other = pw.MiniBatchNMF(
        1, beta_loss=beta, batch_size=40, missing="zeros", max_iter=12, tol=0.0, max_no_improvement=None, random_state=0
    ).fit(stored)
    np.testing.assert_allclose(other.components_, found.components_, rtol=1e-8)


def test_forgetting_follows_a_stream_that_changes() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.random((2, 3, 12)) * (rng.random((2, 3, 12)) < 0.5)
    streams = {}
    for forget in (1.0, 0.3):
        learner = pw.MiniBatchNMF(3, batch_size=50, forget_factor=forget, random_state=0)
        draws = np.random.default_rng(6)
        for part in [first] * 60 + [second] * 8:
            learner.partial_fit(draws.gamma(0.5, size=(50, 3)) @ part)
        W = draws.gamma(0.5, size=(200, 3))
        streams[forget] = pw.metrics.relative_error(W @ second, learner.transform(W @ second), learner.components_)
    assert streams[0.3] < 0.5 * streams[1.0]


def test_a_part_that_a_start_loses_is_begun_anew() -> None:
    dead = START.copy()
    dead[2] = 0.0
    found = model(init=dead, max_iter=20, max_no_improvement=None).fit(X)
    assert found.components_.any(axis=1).all()
    assert found.reconstruction_error_ < 0.05


def test_no_improvement_ends_it_and_is_told() -> None:
    noise = np.random.default_rng(0).random((400, 6))
    found = pw.MiniBatchNMF(2, batch_size=20, max_no_improvement=3, tol=0.0, random_state=0).fit(noise)
    assert (found.converged_, found.stop_.cause) == (True, "batches")
    assert "has not fallen for 3 batches" in found.stop_reason_


def test_saved_in_the_middle_of_a_stream(tmp_path: Any) -> None:
    stream = model().partial_fit(X[:100])
    pw.save(stream, tmp_path / "m.safetensors")
    again = pw.load(tmp_path / "m.safetensors")
    for one in (stream, again):
        one.partial_fit(X[100:])
    np.testing.assert_array_equal(again.components_, stream.components_)
    assert again.cost_ == stream.cost_


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"init": (np.ones((300, 4)), START)}, "weights are nothing to start with"),
        ({"beta_loss": 0.0}, "needs X > 0 everywhere"),
        ({"forget_factor": 1.5}, "forget_factor"),
    ],
    ids=["pair", "zeros", "forget"],
)
def test_what_is_refused(bad: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        model(**bad).fit(np.where(X > 0.1, X, 0.0))


@pytest.mark.filterwarnings("ignore:MiniBatchNMF")  # that nothing is left
@pytest.mark.parametrize("size", [0.3, 5.0, 1e3])
def test_penalties_may_empty_parts_and_never_cost_more_than_none(size: float) -> None:
    found = model(n_components=3, init="random", batch_size=1024, tol=1e-4, l1_W=size, l1_H=size).fit(X)
    assert found.history_["objective"][-1] <= (1.0 + 1e-9) * 0.5 * (X**2).sum()


def test_batches_go_on_with_the_loss_that_they_began_with() -> None:
    stream = model().partial_fit(X)
    for other in ({"beta_loss": 1.0}, {"beta_loss": ("huber", 0.1)}, {"missing": "nan"}):
        with pytest.raises(InputError, match="beta_loss"):
            stream.set_params(**other).partial_fit(X)
        stream.set_params(beta_loss="frobenius", missing=None)
    states: list[Any] = []
    keep = model(max_iter=2, tol=1.0, callbacks=[lambda progress: states.append(dict(progress.state))])
    keep.fit(X)
    with pytest.raises(ValueError, match="shuffled"):
        model(shuffle=True).fit(X, state=states[-1])


@pytest.mark.parametrize("missing", [None, "nan"])
def test_a_pass_that_is_broken_off_leaves_the_last_whole_one(monkeypatch: pytest.MonkeyPatch, missing: str | None):
    """Components, counters and what ``partial_fit`` goes on with are of one moment; states stay as they were."""
    X = np.random.default_rng(0).gamma(0.5, size=(60, 8))
    states: list[Any] = []
    given = {"batch_size": 10, "max_no_improvement": None, "tol": 0.0, "random_state": 0, "missing": missing}
    whole = pw.MiniBatchNMF(3, max_iter=2, **given).fit(X)
    learn, calls = Learner.learn, []

    def broken(self: Learner, *how: Any) -> float:
        calls.append(1)
        if len(calls) == 16:  # in the third pass
            raise KeyboardInterrupt
        return learn(self, *how)

    def watch(progress: Any) -> None:
        states.append((progress.state, {name: np.array(value) for name, value in progress.state.items()}))

    monkeypatch.setattr(Learner, "learn", broken)
    with pytest.warns(RuntimeWarning, match="interrupted"):
        model = pw.MiniBatchNMF(3, max_iter=9, callbacks=[watch], **given).fit(X)
    monkeypatch.undo()
    assert model.stop_.kind == "interrupted"
    assert (model.n_steps_, model.n_samples_seen_, model.cost_) == (12, 120, whole.cost_)
    np.testing.assert_array_equal(model.components_, whole.components_)
    for state, then in states:
        for name, value in then.items():
            np.testing.assert_array_equal(state[name], value)
    np.testing.assert_array_equal(model.partial_fit(X).components_, whole.partial_fit(X).components_)


def test_the_last_digits_do_not_decide_when_it_ends() -> None:
    cost = Cost()
    for value in (2.0, 1.0, 1.0 - 1e-15, 1.0 - 2e-15):
        cost = cost.added(value, 1.0)
    assert (cost.idle, cost.least) == (2, 1.0)
    assert cost.added(1.0 - 1e-11, 1.0).idle == 0  # slow, but a fall


@pytest.mark.parametrize("beta_loss", ["frobenius", "kullback-leibler", "itakura-saito"])
def test_every_forget_factor_forgets_from_the_first_batches_on(beta_loss: str) -> None:
    """Of divergences 0.7 was as 1 for seventy batches, as these count for little at first whatever it is."""
    rng = np.random.default_rng(0)
    batches = [rng.gamma(0.5, size=(50, 3)) @ rng.gamma(0.3, size=(3, 20)) + 1e-3 for _ in range(20)]
    found = []
    for factor in (0.4, 0.7, 1.0):
        model = pw.MiniBatchNMF(3, beta_loss=beta_loss, forget_factor=factor, batch_size=50, random_state=0)
        found.append(model.partial_fit(iter(batches)).components_)
    size = np.abs(found[-1]).max()
    assert min(np.abs(a - b).max() for a, b in pairwise(found)) > 1e-3 * size
