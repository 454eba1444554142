"""A fit that is broken off and gone on with ends as good as one without a break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.algorithms.loop import History
from partwise.estimators.resuming import Recorder, can_resume, go_on, joined, snapshot

DATA = pw.datasets.make_topics(n_samples=400, n_features=60, n_components=5, random_state=0)
X = np.maximum(pw.datasets.add_gaussian_noise(DATA, 0.05, random_state=0).X, 0.0)
SETTINGS: dict[str, tuple[type, dict[str, Any]]] = {
    "hals": (pw.HALS, {}),
    "hals-penalties": (pw.HALS, {"l1_W": 1e-4, "l1_H": 1e-4}),
    "anls": (pw.ANLS, {}),
    "mu": (pw.MU, {}),
    "and": (pw.AND, {}),
    "and-paper": (pw.AND, {"thresholds": "paper", "floor": 0.0}),
    "and-nonnegative": (pw.AND, {"nonnegative": True}),
    "and-sequence": (pw.AND, {"thresholds": np.geomspace(0.1, 1e-3, 41).tolist(), "floor": 0.0}),
    "purification": (pw.Purification, {"finish": None}),
}


def broken(model: Any, at: int) -> Any:
    """The model in the middle of its fit."""
    found, record = [], Recorder()

    def look(state: Any) -> bool:
        record(state)
        if state.n_iter == at:
            found.append(snapshot(model, state.components, record.history()))
        return bool(found)

    model.set_params(callbacks=[look]).fit(X)
    return found[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("at", [1, 8, 39])
@pytest.mark.parametrize("name", SETTINGS)
def test_as_good_as_unbroken(name: str, at: int) -> None:
    kind, options = SETTINGS[name]
    options = {"max_iter": 40, "tol": 0.0, "random_state": 0, **options}
    whole = kind(5, **options).fit(X)
    at = min(at, whole.n_iter_ - 1)
    model = kind(5, **options)
    go_on(model, broken(kind(5, **options), at), lambda rest: rest.fit(X))
    assert model.reconstruction_error_ < 1.01 * whole.reconstruction_error_
    assert at < model.n_iter_ <= 40
    np.testing.assert_array_equal(model.history_["n_iter"], np.arange(model.n_iter_ + 1))
    assert model.get_params() == whole.get_params()
    assert "_state" not in vars(model)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("at", [1, 7, 12, 16])
def test_online_learning_has_the_same_bits(at: int, shuffle: bool) -> None:
    options = {"max_passes": 4, "batch_size": 100, "shuffle": shuffle, "random_state": 3}
    whole, model = pw.ConservativeNMF(5, **options).fit(X), pw.ConservativeNMF(5, **options)
    go_on(model, broken(pw.ConservativeNMF(5, **options), at), lambda rest: rest.fit(X))
    np.testing.assert_array_equal(model.components_, whole.components_)
    np.testing.assert_array_equal(model.detectors_, whole.detectors_)
    np.testing.assert_array_equal(model.history_["objective"], whole.history_["objective"])
    assert (model.n_samples_seen_, model.n_iter_) == (whole.n_samples_seen_, whole.n_iter_) == (1600, 16)


def test_what_is_done_at_once_cannot_be_resumed() -> None:
    found = {name for name in pw.estimators.__all__ if can_resume(getattr(pw, name)())}
    assert found == {"AND", "ANLS", "ConservativeNMF", "HALS", "MU", "Purification"}


def test_histories_are_joined() -> None:
    before = History({"n_iter": [0, 1], "time": [0.5, 1.0], "objective": [9.0, 4.0], "momentum": [np.nan, 0.1]})
    after = History({"n_iter": [0, 1, 2], "time": [0.25, 0.5, 0.75], "objective": [4.0, 3.0, 2.0], "error": [1, 2, 3]})
    both = joined(before, after)
    assert both["n_iter"].tolist() == [0, 1, 2, 3]
    assert both["time"].tolist() == [0.5, 1.0, 1.5, 1.75]
    assert both["objective"].tolist() == [9.0, 4.0, 3.0, 2.0]
    np.testing.assert_array_equal(both["momentum"], [np.nan, 0.1, np.nan, np.nan])
    np.testing.assert_array_equal(both["error"], [np.nan, np.nan, 2, 3])
