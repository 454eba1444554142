"""Monitored fits: the same components, the quantities of the proofs between halves, wherever the rows live."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms import monitor
from partwise.algorithms.monitor import COLUMN, NAMES
from partwise.exceptions import InputError
from partwise.metrics import match_components
from partwise.sources import GeneratedSource

K = 5
TOPICS = pw.datasets.make_topics("dir", n_samples=600, n_features=40, n_components=K, random_state=0)
NOISE = 0.01 * TOPICS.X.std()
NOISY = TOPICS.X + NOISE * np.random.default_rng(0).standard_normal(TOPICS.X.shape)
BINARY = pw.datasets.make_binary_mixtures(n_samples=600, n_features=40, n_components=K, random_state=0)
SETTINGS: dict[str, tuple[type, dict[str, Any], np.ndarray]] = {
    "and": (pw.AND, {"init": TOPICS.warm_start(0.05, random_state=0), "max_iter": 60, "floor": 2.0}, NOISY),
    "and-pure": (pw.AND, {"max_iter": 20}, NOISY),
    "and-batches": (pw.AND, {"batch_size": 100, "steps": 5, "max_iter": 10}, NOISY),
    "purification": (pw.Purification, {"init": BINARY.warm_start(0.05, random_state=0), "max_iter": 60}, BINARY.X),
    "purification-random": (pw.Purification, {"init": "random", "finish": None, "max_iter": 5}, BINARY.X),
}
# limits on iterations come first, and a sample without any part is all zero
pytestmark = pytest.mark.filterwarnings("ignore")


def make(name: str, **more: Any) -> Any:
    kind, options, _ = SETTINGS[name]
    return kind(K, **{"random_state": 0, **options, **more})


@pytest.mark.parametrize("name", SETTINGS)
def test_a_watched_fit_finds_the_same(name: str) -> None:
    X = SETTINGS[name][2]
    plain, watched = make(name).fit(X), make(name, monitor=True).fit(X)
    np.testing.assert_array_equal(watched.components_, plain.components_)
    assert watched.stop_ == plain.stop_
    assert set(watched.history_) - set(plain.history_) == {f"{COLUMN}{column}" for column in NAMES}
    for column in set(plain.history_) - {"time"}:
        np.testing.assert_array_equal(watched.history_[column], plain.history_[column])
    assert not hasattr(plain, "halves_")
    assert watched.halves_.disagreement.shape == (K,)
    assert not hasattr(watched.set_params(monitor=False).fit(X), "halves_")


def test_halves_follow_what_the_truth_would_say() -> None:
    """|E| by the other half is that by the truth on the way down, and half the disagreement is the error in the end."""
    model = make("and", monitor=True).fit(NOISY, truth=TOPICS.components)
    assert model.history_[f"{COLUMN}decoding"][-1] < 0.1 * model.history_[f"{COLUMN}decoding"][0]
    start = monitor.Reference.of(TOPICS.components, pw.open_source(NOISY)).H  # the truth, in the unit of the reference
    by_truth = pw.metrics.recovery_measures(SETTINGS["and"][1]["init"], start)["E_s"]
    # the reference is off by its own error, 1e-3 a part, of which |E|_s sums K - 1
    assert model.history_[f"{COLUMN}E_s"][0] == pytest.approx(by_truth, abs=4e-2)
    errors = match_components(TOPICS.components, model.components_).errors
    assert 0.5 < np.median(errors) / np.median(model.halves_.error) < 2.0
    assert model.halves_.agree.all()


def test_equal_halves_have_nothing_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sample twice, one in each half: the same fit twice, without any randomness in it."""
    monkeypatch.setattr("partwise.estimators.monitoring.split", lambda n, rng: np.arange(n) % 2 == 0)
    model = make("purification", finish=None, monitor=True, max_iter=12).fit(np.repeat(BINARY.X, 2, axis=0))
    assert model.halves_.disagreement.tolist() == [0.0] * K
    assert model.history_[f"{COLUMN}decoding"][-1] < 1e-14  # the reference is in another unit, and rounded by it
    assert model.history_[f"{COLUMN}E_s"][0] > 0.1  # the start is that far from where both end


def test_too_many_parts_are_seen() -> None:
    model = pw.Purification(K + 1, monitor=True, random_state=0)
    model.fit(BINARY.X + 0.05 * BINARY.X.std() * np.random.default_rng(0).standard_normal(BINARY.X.shape))
    assert not model.halves_.agree.all()


def rows_in(kind: str, X: np.ndarray, tmp: Path) -> Any:
    if kind == "csr":
        return sp.csr_array(X)
    if kind == "dask":
        return da.from_array(X, chunks=(150, -1))
    if kind == "folder":
        for part in range(4):
            np.save(tmp / f"part-{part}.npy", X[150 * part : 150 * (part + 1)])
        return tmp
    np.save(tmp / "X.npy", X)
    return tmp / "X.npy"


@pytest.mark.parametrize("kind", ["csr", "npy", "folder", "dask"])
@pytest.mark.parametrize("name", ["and", "purification"])
def test_wherever_the_rows_live(name: str, kind: str, tmp_path: Path) -> None:
    X = SETTINGS[name][2]
    limit = {"max_iter": 6, "monitor": True}
    here, there = make(name, **limit).fit(X), make(name, **limit).fit(rows_in(kind, X, tmp_path))
    for column in NAMES:
        expected = here.history_[f"{COLUMN}{column}"]
        # other blocks, other roundings, of which few iterations make some thousand
        np.testing.assert_allclose(there.history_[f"{COLUMN}{column}"], expected, rtol=1e-8, atol=1e-12, err_msg=column)
    np.testing.assert_allclose(there.halves_.disagreement, here.halves_.disagreement, rtol=1e-8)


def test_single_precision() -> None:
    model = make("and", monitor=True, max_iter=10).fit(NOISY.astype(np.float32))
    double = make("and", monitor=True, max_iter=10).fit(NOISY)
    np.testing.assert_allclose(model.halves_.disagreement, double.halves_.disagreement, rtol=0.05)


def test_a_saved_model_keeps_what_the_halves_said(tmp_path: Path) -> None:
    model = make("and", monitor=True, max_iter=5).fit(NOISY)
    pw.save(model, tmp_path / "model.safetensors")
    again = pw.load(tmp_path / "model.safetensors")
    assert again.monitor is True
    np.testing.assert_array_equal(again.halves_.disagreement, model.halves_.disagreement)
    assert (again.halves_.r, again.halves_.lam, again.halves_.q) == (
        model.halves_.r,
        model.halves_.lam,
        model.halves_.q,
    )


@pytest.mark.parametrize("kind", [pw.AND, pw.Purification])
@pytest.mark.parametrize("data", ["zeros", "constant", "rank-1", "one-part", "negative"])
def test_data_in_which_there_is_little(kind: type, data: str) -> None:
    rng = np.random.default_rng(0)
    rows = {"zeros": np.zeros((20, 6)), "constant": np.ones((20, 6)), "one-part": rng.random((20, 6))}
    rows |= {"rank-1": np.outer(rng.random(30), rng.random(6)), "negative": -rng.random((30, 6))}
    model = kind(1 if data == "one-part" else 2, monitor=True, max_iter=20, random_state=0).fit(rows[data])
    assert ((model.halves_.disagreement >= 0.0) & (model.halves_.disagreement <= 1.0 + 1e-12)).all()


def test_refusals_name_what_they_refuse() -> None:
    def refused(model: Any, data: Any, **more: Any) -> InputError:
        with pytest.raises(InputError) as caught:
            model.fit(data, **more)
        return caught.value

    few = refused(pw.AND(K, monitor=True), NOISY[: 2 * K - 1])
    assert (few.parameter, few.kind) == ("monitor", "too-many-components")
    drawn = GeneratedSource(lambda n, rng: rng.random((n, 10)), 100, random_state=0)
    assert refused(pw.Purification(K, init="random", monitor=True), drawn).parameter == "monitor"
    with pytest.raises(InputError) as stream:
        make("and", monitor=True).partial_fit(NOISY)
    assert stream.value.parameter == "monitor"
    states: list[Any] = []
    make("and", max_iter=3, callbacks=[lambda progress: states.append(dict(progress.state))]).fit(NOISY)
    assert refused(make("and", monitor=True), NOISY, state=states[1]).parameter == "state"


def test_a_fit_goes_on_without_its_monitor() -> None:
    states: list[Any] = []
    whole = make("and", monitor=True, max_iter=6)
    whole.set_params(callbacks=[lambda p: states.append({k: np.array(v) for k, v in p.state.items()})]).fit(NOISY)
    rest = make("and", max_iter=6).fit(NOISY, state=states[3])
    np.testing.assert_array_equal(rest.components_, whole.components_)
    assert not hasattr(rest, "halves_")


def test_an_interrupted_half_is_an_interrupted_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be said by a half that was not fitted to its end."""

    def interrupt(*args: Any, **options: Any) -> Any:
        yield next(stages(*args, **options))
        raise KeyboardInterrupt

    stages = pw.estimators.and_.gradient_stages
    monkeypatch.setattr("partwise.estimators.and_.gradient_stages", interrupt)
    with pytest.raises(KeyboardInterrupt):
        make("and", monitor=True).fit(NOISY)
