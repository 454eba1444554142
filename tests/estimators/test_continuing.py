"""A fit goes on only from a state of its own; what is not one is refused by name, and the model stays as it was."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.exceptions import InputError

RNG = np.random.default_rng(0)
X = RNG.random((60, 4)) @ RNG.random((4, 12)) + 0.01 * RNG.random((60, 12))


def state_of(model: Any, at: int = 3) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def keep(progress: Any) -> bool:
        found.extend([copy.deepcopy(dict(progress.state))] if progress.n_iter == at else [])
        return bool(found)

    model.set_params(callbacks=[keep]).fit(X)
    return found[0]


@pytest.fixture(scope="module")
def state() -> dict[str, Any]:
    return state_of(pw.HALS(4, random_state=0, tol=0.0, max_iter=10))


def refused(model: Any, data: np.ndarray, state: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        model.fit(data, state=state)
    assert error.value.parameter == "state"
    assert not hasattr(model, "components_")


@pytest.mark.parametrize(
    ("model", "data", "words"),
    [
        (pw.HALS(3), X, "n_components 4, not 3"),
        (pw.ANLS(4), X, "method 'HALS', not 'ANLS'"),
        (pw.KMeans(4), X, "method 'HALS', not 'KMeans'"),
        (pw.HALS(4), X[:40], "n_samples 60, not 40"),
        (pw.HALS(4), X[:, :10], "n_features 12, not 10"),
        (pw.HALS(4), 2.0 * X, "data whose squared_norm"),
        (pw.HALS(4), X.astype(np.float32), "dtype 'float64', not 'float32'"),
        (pw.HALS(4).set_preparation("unit"), X, "preparation 'none', not 'unit'"),
        (pw.HALS(4, random_state=np.random.Generator(np.random.MT19937(0))), X, "generator is of another kind"),
    ],
    ids=["k", "method", "steps", "samples", "features", "data", "type", "preparation", "generator"],
)
def test_a_state_of_another_fit_is_refused(model: Any, data: np.ndarray, words: str, state: dict[str, Any]) -> None:
    refused(model, data, state, words)


def without(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda state: {key: value for key, value in state.items() if key != name}


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda state: {}, "must be what a callback was given"),
        (lambda state: "state", "must be what a callback was given"),
        (without("W"), "W is missing"),
        (without("rng"), "rng is missing"),
        (lambda state: state | {"components": state["components"] * np.nan}, "no finite matrix"),
        (lambda state: state | {"components": state["components"][:2]}, "no finite matrix"),
        (lambda state: state | {"history.time": state["history.time"][:1]}, "several lengths"),
        (lambda state: state | {"of": np.zeros(3, np.uint8)}, "does not say what it is of"),
        (lambda state: state | {"rng": np.zeros(3, np.uint8)}, "generator is of another kind"),
    ],
    ids=["empty", "text", "no-W", "no-rng", "nan", "shape", "history", "of", "rng"],
)
def test_a_damaged_state_is_refused(damage: Callable[[dict[str, Any]], Any], words: str, state: dict[str, Any]) -> None:
    refused(pw.HALS(4), X, damage(state), words)


def test_a_refused_state_leaves_the_model_as_it_was(state: dict[str, Any]) -> None:
    model = pw.HALS(4, random_state=0, tol=0.0, max_iter=5).fit(X[:, :10])
    before = model.components_.copy()
    with pytest.raises(InputError):
        model.fit(X[:, :10], state=state)
    np.testing.assert_array_equal(model.components_, before)
    assert model.transform(X[:, :10]).shape == (60, 4)


def test_the_same_rows_in_other_blocks_are_the_same_data(state: dict[str, Any]) -> None:
    model = pw.HALS(4, random_state=0, tol=0.0, max_iter=10)
    assert model.fit(pw.open_source(X, block_rows=7), state=state).n_iter_ == 10


def test_a_stream_has_one_preparation() -> None:
    model = pw.ConservativeNMF(3, random_state=0).partial_fit(X[:40]).set_preparation("unit")
    with pytest.raises(InputError, match="a stream has one preparation"):
        model.partial_fit(X[40:])
    assert "'unit' is set for the next fit" in repr(model)


def test_thresholds_that_fall_below_every_number() -> None:
    model = pw.AND(3, decay=1000, max_iter=150, tol=0.0, random_state=0)
    assert np.isfinite(model.fit(X).components_).all()
