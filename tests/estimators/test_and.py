"""The paper's AND as an estimator: its thresholds, steps, batches and streams."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import partwise as pw
from partwise.algorithms.and_ import BatchState
from partwise.algorithms.thresholds import Falling
from partwise.datasets import Mixture
from partwise.exceptions import DegenerateDataWarning, InputError

K = 8
kinds = pytest.mark.parametrize("kind", ["dir", "ctm", "neg"])
seeds = pytest.mark.parametrize("seed", range(3))


@cache
def topics(kind: str = "dir", seed: int = 0, noise: float = 0.0, n: int = 500, **options: Any) -> Mixture:
    given = {"n_samples": n, "n_features": 60, "n_components": K, **options}
    return pw.datasets.make_topics(kind, noise=noise, random_state=seed, **given)


def fitted(data: Mixture, X: Any = None, **params: Any) -> pw.AND:
    model = pw.AND(len(data.components), **{"random_state": 0, **params})
    return model.fit(data.X if X is None else X, truth=data.components)


def error(model: Any, data: Mixture) -> float:
    return pw.metrics.total_correlation_error(model.components_, data.components)


# --- recovery -----------------------------------------------------------------------------------------------


@kinds
def test_as_published_from_near_the_truth(kind: str) -> None:
    data = topics(kind)
    model = fitted(data, init=data.warm_start(0.05, random_state=0))
    assert error(model, data) < 1e-7
    assert model.converged_
    assert model.stop_.measure == "change"
    assert model.outside_ < 1e-13
    np.testing.assert_allclose(last_thresholds(model), 0.1 / 1.1 ** np.arange(model.n_iter_), rtol=1e-12)
    assert pw.AND().get_params().items() >= {"thresholds": 0.1, "decay": 1.1, "steps": 50, "floor": 0.0}.items()


@kinds
@pytest.mark.parametrize(
    "options", [{"decay": 1.2, "steps": "exact"}, {"thresholds": "adaptive"}], ids=["exact", "adaptive"]
)
def test_recovers_from_a_cold_start_too(kind: str, options: Any) -> None:
    data = topics(kind)
    assert error(fitted(data, **options), data) < 1e-6


@pytest.mark.parametrize(
    "options", [{}, {"thresholds": "adaptive"}, {"batch_size": 50}], ids=["plain", "adaptive", "batches"]
)
@pytest.mark.parametrize("rank", [1, 4])
def test_rank_below_the_number_of_components(rank: int, options: Any) -> None:
    rng = np.random.default_rng(rank)
    H, W = rng.random((rank, 20)), rng.dirichlet(np.full(rank, 0.05), 200)
    with pytest.warns(DegenerateDataWarning, match=f"only {rank} of 6 components"):
        model = pw.AND(6, random_state=0, max_iter=60, tol=0.0, **options).fit(W @ H)
    used = np.linalg.norm(model.components_, axis=1) > 0
    assert used.sum() == rank
    assert pw.metrics.match_components(model.components_[used], H).errors.max() < 1e-2
    np.testing.assert_array_equal(model.weight_noise_[~used], 0.0)


@pytest.mark.parametrize("options", [{}, {"batch_size": 5}], ids=["all", "batches"])
@pytest.mark.parametrize("init", ["pure", "random"])
def test_data_of_zeros(init: str, options: Any) -> None:
    with pytest.warns(DegenerateDataWarning):
        model = pw.AND(3, init=init, random_state=0, **options).fit(np.zeros((20, 6)))
    np.testing.assert_array_equal(model.components_, np.zeros((3, 6)))
    assert (model.stop_.kind, model.stop_.cause) == ("settled", "zero")


@kinds
def test_a_floor_keeps_the_error_from_rising_again(kind: str) -> None:
    data = topics(kind, 0, 0.01, n=1000)
    published, floored = fitted(data, max_iter=150, tol=0.0), fitted(data, floor=2.0)
    assert error(published, data) > 1.2 * error(floored, data)
    assert published.history_["error"][-1] > 1.5 * published.history_["error"].min()
    np.testing.assert_array_equal(published.threshold_floor_, 0.0)
    assert (floored.stop_.kind, floored.stop_.cause) == ("floor", "noise")


@pytest.mark.parametrize(
    "params", [{}, {"thresholds": "adaptive"}, {"batch_size": 50}], ids=["plain", "adaptive", "batches"]
)
def test_an_interrupted_fit_can_be_used(params: Any) -> None:
    data = topics()

    def interrupt(progress: Any) -> None:
        if progress.n_iter == 3:
            raise KeyboardInterrupt

    model = pw.AND(K, callbacks=[interrupt], random_state=0, tol=0.0, **params)
    with pytest.warns(RuntimeWarning, match="interrupted by the user after iteration 3"):
        model.fit(data.X)
    assert (model.n_iter_, model.converged_) == (3, False)
    assert model.weight_noise_.shape == (K,)
    assert model.transform(data.X).shape == (500, K)
    stopped = pw.AND(K, max_iter=3, random_state=0, tol=0.0, **params).fit(data.X)
    np.testing.assert_array_equal(model.components_, stopped.components_)


def test_batches_are_reproducible() -> None:
    data = topics("ctm", 0, 0.01)
    few = {"batch_size": 64, "max_iter": 5, "tol": 0.0}
    first, second, other = fitted(data, **few), fitted(data, **few), fitted(data, random_state=1, **few)
    np.testing.assert_array_equal(first.components_, second.components_)
    assert not np.array_equal(other.components_, first.components_)


# --- thresholds and steps -----------------------------------------------------------------------------------


def last_thresholds(model: pw.AND) -> list[float]:
    return model.history_["threshold"][1:].tolist()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"decay": 1.5}, 0.1 / 1.5 ** np.arange(4), id="decay"),
        pytest.param({"thresholds": 0.03, "decay": 1.0}, [0.03] * 4, id="constant"),
        pytest.param({"thresholds": np.float64(0.4), "decay": 2.0}, [0.4, 0.2, 0.1, 0.05], id="numpy-number"),
        pytest.param({"thresholds": 0}, [0.0] * 4, id="zero"),
        pytest.param({"thresholds": [0.1, 0.02, 0.01]}, [0.1, 0.02, 0.01], id="list"),
        pytest.param({"thresholds": np.array([0.1, 0.02, 0.0, 0.0, 0.0])}, [0.1, 0.02, 0.0, 0.0], id="array"),
        pytest.param({"thresholds": [0.1, 0.02, 0.01, 0.0]}, [0.1, 0.02, 0.01, 0.0], id="as-many-as-max_iter"),
        pytest.param({"thresholds": [0.1, 0.05, 0.02, 0.01], "batch_size": 50}, [0.1, 0.05, 0.02, 0.01], id="batches"),
    ],
)
def test_forms_of_thresholds(options: Any, expected: Any) -> None:
    data = topics("dir", 0, 0.01)
    model = fitted(data, max_iter=4, tol=0.0, **options)
    np.testing.assert_allclose(last_thresholds(model), expected)
    listed = isinstance(options.get("thresholds"), list)  # and so it ends by itself
    assert (model.stop_.kind, model.converged_) == (("done", True) if listed else ("max_iter", False))


def test_adaptive_thresholds_fall_by_the_decay_at_least() -> None:
    data = topics()
    slow, fast = (last_thresholds(fitted(data, thresholds="adaptive", decay=decay)) for decay in (1.1, 1.5))
    assert len(fast) < len(slow)
    assert all(b <= a / 1.5 * (1 + 1e-12) for a, b in pairwise(fast))


def test_steps_decide_what_a_stage_does() -> None:
    data = topics("dir", 0, 0.01)
    few = {"max_iter": 3, "tol": 0.0}
    assert np.array_equal(fitted(data, **few).components_, fitted(data, steps=50, **few).components_)
    exact, many = fitted(data, steps="exact", **few), fitted(data, steps=10**7, **few)
    np.testing.assert_allclose(exact.components_, many.components_, rtol=1e-6, atol=1e-9)
    assert not np.allclose(fitted(data, steps=1, **few).components_, exact.components_, rtol=1e-3)


# --- batches and streams ------------------------------------------------------------------------------------


def test_batches_come_near() -> None:
    data = topics("dir", n=2000)
    start = data.warm_start(0.05, random_state=0)
    model = fitted(data, init=start, batch_size=200, max_iter=60, tol=0.0)
    assert error(model, data) < 0.05 * pw.metrics.total_correlation_error(start, data.components)


def some_stream(data: Mixture, count: int = 12) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [data.X[rng.integers(len(data.X), size=100)] for _ in range(count)]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("init", ["array", "estimator", "pure"])
def test_partial_fit_is_a_run_over_batches(init: str, form: Any) -> None:
    data = topics("dir", 0, 0.01)
    batches = [form(batch) for batch in some_stream(data)]
    warm = data.warm_start(0.05, random_state=0)
    start = {"array": warm, "estimator": pw.AND(K, init=warm, max_iter=1, tol=0.0).fit(data.X)}.get(init, init)
    H0 = getattr(start, "components_", start)
    if init == "pure":  # the first batch makes the start
        seen: list[Any] = []
        pw.AND(K, max_iter=1, tol=0.0, random_state=0, callbacks=[seen.append]).fit(batches[0])
        H0 = seen[0].components
    state = BatchState(H0, Falling(), 5, 0.5)
    model = pw.AND(K, init=start, steps=5, step_size=0.5, random_state=0)
    for number, batch in enumerate(batches, start=1):
        before = state.H
        objective = state.step(batch)
        assert model.partial_fit(batch) is model
        np.testing.assert_allclose(model.components_, state.H, rtol=1e-9, atol=1e-12)
        assert not np.array_equal(before, model.components_)
        assert model.objective_ == pytest.approx(objective, rel=1e-9)
        assert (model.n_iter_, model.n_components_) == (number, K)
    assert model.transform(data.X).shape == (500, K)


def test_a_stream_is_learnt() -> None:
    data = topics("dir", n=2000)
    start = data.warm_start(0.05, random_state=0)
    model = pw.AND(K, init=start, steps=10)
    for batch in some_stream(data, 300):
        model.partial_fit(batch)
    assert error(model, data) < 0.1 * pw.metrics.total_correlation_error(start, data.components)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
@pytest.mark.parametrize("thresholds", [0.1, 0.05, [0.1, 0.05, 0.02]], ids=str)
def test_a_model_on_a_stream_can_be_put_aside(duplicate: Any, thresholds: Any) -> None:
    data = topics()
    batches = some_stream(data, 8)
    model = pw.AND(K, init=data.warm_start(0.05, random_state=0), steps=3, thresholds=thresholds)
    for batch in batches[:4]:
        model.partial_fit(batch)
    other = duplicate(model)
    for batch in batches[4:]:
        model.partial_fit(batch)
        other.partial_fit(batch)
    np.testing.assert_array_equal(other.components_, model.components_)
    fresh = clone(model)
    assert not hasattr(fresh, "components_")


def test_a_stream_ends_with_its_thresholds() -> None:
    data = topics()
    model = pw.AND(K, init=data.warm_start(0.05, random_state=0), steps=2, thresholds=[0.1, 0.05])
    for batch in some_stream(data, 4):
        model.partial_fit(batch)
    kept = model.components_.copy()
    for _ in range(2):
        with pytest.raises(InputError, match="thresholds: the sequence has ended"):
            model.partial_fit(data.X)
    np.testing.assert_array_equal(model.components_, kept)


def test_fit_begins_anew_and_a_failed_fit_forgets_nothing() -> None:
    data = topics()
    batches = some_stream(data, 4)
    model, other = (pw.AND(K, init=data.warm_start(0.05, random_state=0), steps=3) for _ in range(2))
    for batch in batches[:3]:
        model.partial_fit(batch)
        other.partial_fit(batch)
    with pytest.raises(InputError, match="NaN"):
        model.fit(np.full((20, 60), np.nan))
    np.testing.assert_array_equal(model.partial_fit(batches[3]).components_, other.partial_fit(batches[3]).components_)
    assert error(model.fit(data.X), data) < 1e-8
    assert model.partial_fit(batches[0]).n_iter_ == 1


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        pytest.param(np.ones((20, 60)), r"first batch has numerical rank 1, too low for n_components=8", id="rank-one"),
        pytest.param(np.zeros((20, 60)), r"first batch has numerical rank 0, too low for n_components=8", id="zeros"),
        pytest.param(np.ones((3, 60)), r"n_components=8 must lie in 1\.\.3", id="few"),
        pytest.param(np.full((20, 60), np.inf), "NaN or infinity", id="not-finite"),
    ],
)
def test_a_first_batch_that_makes_no_start(batch: np.ndarray, message: str) -> None:
    model = pw.AND(K)
    with pytest.raises(InputError, match=message):
        model.partial_fit(batch)
    data = topics()
    assert model.partial_fit(data.X).n_iter_ == 1


def test_a_stream_after_a_fit_begins_anew() -> None:
    data = topics()
    model = pw.AND(K, random_state=0).fit(data.X)
    before = dict(vars(model))
    with pytest.raises(InputError, match="NaN"):
        model.partial_fit(np.full((20, 7), np.nan))
    assert vars(model) == before  # all of the fit is still there, the number of features too
    model.partial_fit(data.X)
    assert not {"history_", "converged_", "stop_reason_", "reconstruction_error_", "weight_noise_"} & set(vars(model))


@pytest.mark.parametrize(("samples", "measured"), [(2 * K, False), (2 * K + 1, True)])
def test_noise_of_a_stream_is_measured_or_unknown(samples: int, measured: bool) -> None:
    data = topics()
    model = pw.AND(K, init=data.warm_start(0.05, random_state=0)).partial_fit(data.X[:samples])
    assert np.isnan(model.noise_) != measured


def test_batches_of_another_width_are_refused() -> None:
    data = topics()
    model = pw.AND(K).partial_fit(data.X)
    with pytest.raises(ValueError, match="X has 59 features, but AND is expecting 60"):
        model.partial_fit(data.X[:, 1:])


# --- what is refused ----------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "exact-batches": ({"steps": "exact", "batch_size": 10}, "steps='exact' needs all the data at once"),
    "no-thresholds": ({"thresholds": []}, "thresholds must be a non-empty vector of numbers >= 0"),
    "matrix": ({"thresholds": [[0.1]]}, "thresholds must be a non-empty vector of numbers >= 0"),
    "negative-in-a-list": ({"thresholds": [0.1, -0.1]}, "thresholds must be a non-empty vector of numbers >= 0"),
    "nan-in-a-list": ({"thresholds": [0.1, np.nan]}, "thresholds must be a non-empty vector of numbers >= 0"),
    "words-in-a-list": ({"thresholds": ["low"]}, "thresholds must be a non-empty vector of numbers >= 0"),
    "negative": ({"thresholds": -0.1}, "'thresholds' parameter"),
    "nan": ({"thresholds": np.nan}, "'thresholds' parameter"),
    "unknown": ({"thresholds": "falling"}, "'thresholds' parameter"),
    "adaptive-batches": (
        {"thresholds": "adaptive", "batch_size": 10},
        "thresholds='adaptive' needs all the data at once",
    ),
    "decay": ({"decay": 0.9}, "'decay' parameter"),
    "step-size-2": ({"step_size": 2.0}, "'step_size' parameter"),
    "step-size-0": ({"step_size": 0.0}, "'step_size' parameter"),
    "steps-0": ({"steps": 0}, "'steps' parameter"),
    "steps-name": ({"steps": "many"}, "'steps' parameter"),
    "batch-0": ({"batch_size": 0}, "'batch_size' parameter"),
    "floor": ({"floor": -1.0}, "'floor' parameter"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_parameters(case: str) -> None:
    params, message = REFUSED[case]
    model = pw.AND(K, **params)
    with pytest.raises(ValueError, match=message):
        model.fit(topics().X)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("options", [{"thresholds": "adaptive"}, {"steps": "exact"}], ids=["thresholds", "steps"])
def test_a_stream_needs_numbers(options: Any) -> None:
    with pytest.raises(InputError, match="needs all the data at once; with batches give a number"):
        pw.AND(K, **options).partial_fit(topics().X)


# --- Algorithm 1 line by line, and Theorem 4's thresholds ---------------------------------------------------------


def algorithm_1(Y: np.ndarray, A: np.ndarray, alphas: list[float], T: int, eta: float) -> np.ndarray:
    """The paper's lines 1 to 9 in its own orientation: samples are the columns of Y, used one after the other."""
    samples = iter(Y.T)
    for alpha in alphas:
        inverse = np.linalg.pinv(A)
        for _ in range(T + 1):
            y = next(samples)
            z = inverse @ y
            z = np.where(z >= alpha, z, 0.0)
            A = A + eta * np.outer(y - A @ z, z)
    return A


@seeds
@pytest.mark.parametrize("eta", [0.3, 0.01])
def test_algorithm_1_line_by_line(seed: int, eta: float) -> None:
    data = topics("ctm", seed)
    start, alphas, T = data.warm_start(0.05, random_state=seed), [0.2, 0.1, 0.05], 49
    expected = algorithm_1(data.X[:150].T, start.T, alphas, T, eta).T
    model = pw.AND(K, init=start, thresholds=alphas, steps=T + 1, eta=eta)
    for x in data.X[:150]:
        model.partial_fit(x[None])
    np.testing.assert_allclose(model.components_, expected, rtol=1e-9, atol=1e-13)
    assert np.abs(expected - start).max() > 1e-4
    with pytest.raises(InputError, match="the sequence has ended"):
        model.partial_fit(data.X[:1])


def test_constant_step_on_all_data() -> None:
    """The mean over the data in place of a sample: 5 steps a stage."""
    data = topics("dir")
    H = start = data.warm_start(0.05, random_state=0)
    for alpha in (0.1, 0.05):
        W = data.X @ np.linalg.pinv(H)
        W[alpha > W] = 0.0
        for _ in range(5):
            H = H + 0.7 * W.T @ (data.X - W @ H) / len(W)
    model = pw.AND(K, init=start, thresholds=[0.1, 0.05], steps=5, eta=0.7, tol=0.0).fit(data.X)
    np.testing.assert_allclose(model.components_, H, rtol=1e-9, atol=1e-12)


def test_one_sample_batches_take_the_constant_step_too() -> None:
    data = topics("dir")
    model = pw.AND(K, init=data.warm_start(0.05, random_state=0), eta=0.5, batch_size=1, steps=500, max_iter=60, tol=0)
    start = pw.metrics.total_correlation_error(model.init, data.components)
    assert error(model.fit(data.X), data) < 1e-2 * start


@pytest.mark.parametrize("options", [{}, {"batch_size": 1}], ids=["all", "batches"])
def test_a_constant_step_that_is_too_large_diverges(options: Any) -> None:
    data = topics("dir")
    model = pw.AND(K, init=data.warm_start(0.05, random_state=0), eta=1e9, tol=0.0, random_state=0, **options)
    with pytest.warns(ConvergenceWarning, match="smaller eta"):
        model.fit(data.X)
    assert (model.stop_.kind, model.stop_.cause) == ("diverged", "eta")
    assert np.isfinite(model.components_).all()
    with pytest.raises(InputError, match="smaller one"):
        pw.AND(K, init=data.warm_start(0.05, random_state=0), eta=1e120).partial_fit(data.X)


def test_diverging_stops_at_the_last_stage_wherever_it_goes_on() -> None:
    """A stage that was not completed is none: going on from the last one diverges again, and does not converge."""
    data = topics("dir")
    states: list[Any] = []

    def fit(**how: Any) -> Any:
        model = pw.AND(K, init=data.warm_start(0.05, random_state=0), eta=60.0, batch_size=1, steps=1, random_state=3)
        with pytest.warns(ConvergenceWarning, match="smaller eta"):
            return model.set_params(callbacks=[lambda p: states.append(dict(p.state))]).fit(data.X, **how)

    whole = fit()
    again = fit(state=states[-1])
    assert again.stop_ == whole.stop_
    assert again.n_iter_ == whole.n_iter_ > 0
    np.testing.assert_array_equal(again.components_, whole.components_)


def test_a_stream_goes_on_with_a_smaller_step() -> None:
    data = topics("dir")
    start = data.warm_start(0.05, random_state=0)
    model = pw.AND(K, init=start, eta=0.5, steps=4).partial_fit(data.X[:50])
    with pytest.raises(InputError, match="smaller one"):
        model.set_params(eta=1e120).partial_fit(data.X[50:100])
    model.set_params(eta=0.5).partial_fit(data.X[50:100])
    plain = pw.AND(K, init=start, eta=0.5, steps=4).partial_fit(data.X[:50]).partial_fit(data.X[50:100])
    np.testing.assert_array_equal(model.components_, plain.components_)


@pytest.mark.parametrize("q", [1.0, 3.0])
def test_thresholds_by_theorem_4(q: float) -> None:
    data = pw.datasets.make_correlated_mixtures(n_samples=2000, n_features=40, n_components=K, q=q, random_state=0)
    known = {"r": 2.0, "lam": 1.0, "q": q, "truth": data.components}
    given = {"init": data.warm_start(0.05, random_state=0), "max_iter": 100, "tol": 0.0}
    model = fitted(data, thresholds="theorem", known=known, **given)
    rule = [pw.metrics.decoding_threshold(E, r=2.0, lam=1.0, q=q) for E in model.history_["E_2"][:-1]]
    np.testing.assert_allclose(last_thresholds(model), rule, rtol=1e-6)
    assert error(model, data) < 1e-6 * error(fitted(data, thresholds=[2.0], **given), data)
    estimated = fitted(data, thresholds="theorem", known={"q": q}, **given)
    assert error(estimated, data) < 1e-6
    # the first threshold by estimates is within a factor of two of that by the truth
    assert 0.5 < last_thresholds(estimated)[0] / rule[0] < 2.0
    assert error(fitted(data, thresholds="theorem", **given), data) < 1e-6


def test_theorem_4_for_binary_weights_is_theorem_1() -> None:
    data = pw.datasets.make_correlated_mixtures(
        n_samples=2000, n_features=40, n_components=K, ratio=0.79, group_size=2, random_state=0
    )
    model = fitted(data, thresholds="theorem", known={"q": np.inf}, init=data.warm_start(0.05, random_state=0))
    assert set(last_thresholds(model)) == {0.25}
    assert error(model, data) < 1e-9


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"known": {"s": 1.0}}, "known has 's'"),
        ({"known": {"q": -1.0, "r": 1.0, "lam": 1.0}}, "known: q=-1.0"),
        ({"known": {"r": 0}}, "known: r=0 must be above 0"),
        ({"known": {"q": "large"}}, "known: q='large'"),
        ({"known": {"truth": np.ones((3, 7))}}, "known: "),
        ({"known": {"truth": np.ones((K, 60))}}, "known: truth must have"),
        ({"batch_size": 5}, "thresholds='theorem' needs all the data at once"),
        ({"eta": 0.0}, "'eta' parameter"),
    ],
)
def test_refused_with_theorem_4(params: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pw.AND(K, thresholds="theorem", **params).fit(topics().X)


@pytest.mark.parametrize("thresholds", [0.1, "adaptive", [0.1, 0.05]], ids=["number", "adaptive", "list"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_known_is_of_theorem_4_alone(thresholds: Any, method: str) -> None:
    with pytest.raises(InputError, match='known is what thresholds="theorem" needs, and thresholds is') as caught:
        getattr(pw.AND(K, thresholds=thresholds, known={"q": 1.0}), method)(topics().X)
    assert caught.value.parameter == "known"


def test_signs_can_be_kept_as_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a constant low threshold the published algorithm ends with negative parts of non-negative data."""
    data, stages = topics(seed=1), 5
    start = data.warm_start(0.2, random_state=1)
    options: Any = {"init": start, "thresholds": 1e-4, "decay": 1.0, "max_iter": stages, "tol": 0.0}
    A = start
    for _ in range(stages):
        W = data.X @ np.linalg.pinv(A)
        W = np.where(W >= 1e-4, W, 0.0)
        G, eta = W.T @ W, 1.0 / np.linalg.eigvalsh(W.T @ W)[-1]
        for _ in range(50):
            A = A + eta * (W.T @ data.X - G @ A)
    with monkeypatch.context() as patched:
        patched.setattr("partwise.estimators.spanned.constrain", lambda *_, **__: pytest.fail("nothing is fitted anew"))
        with pytest.warns(DegenerateDataWarning, match="came out negative.*kept as they are"):
            kept = fitted(data, signs="keep", **options)
    np.testing.assert_allclose(kept.components_, A, rtol=1e-8, atol=1e-9 * np.abs(A).max())
    assert kept.components_.min() < -0.01 * kept.components_.max()
    assert np.isnan(kept.constrained_cost_)
    with pytest.warns(DegenerateDataWarning, match="came out negative.*fitted anew"):
        refitted = fitted(data, **options)
    assert refitted.components_.min() >= 0.0
    np.testing.assert_array_equal(refitted.below_zero_, kept.below_zero_)
