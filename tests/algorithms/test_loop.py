"""The one loop: why it stopped, what it kept, what it recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.algorithms import loop
from partwise.algorithms.loop import History, Progress, history_of, run
from partwise.outcomes import Stop


def falling(count: int = 100, closed: list[bool] | None = None) -> Iterator[Progress]:
    """The residual halves in every iteration."""
    try:
        for t in range(count):
            yield Progress(np.full((1, 2), float(t)), 1.0 / (t + 1), np.nan if t == 0 else 0.5**t)
    finally:
        if closed is not None:
            closed.append(True)


def test_stops_at_the_tolerance() -> None:
    result = run(falling(), max_iter=50, tol=0.1)
    assert (result.n_iter, result.converged, result.residual) == (4, True, 0.0625)
    assert (result.stop.kind, result.stop.value, result.stop.tolerance) == ("converged", 0.0625, 0.1)
    np.testing.assert_array_equal(result.components, [[4.0, 4.0]])
    assert result.history["n_iter"].tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(result.history["residual"], [np.nan, 0.5, 0.25, 0.125, 0.0625])


def test_stops_at_max_iter() -> None:
    result = run(falling(), max_iter=2, tol=0.1)
    assert (result.n_iter, result.converged, result.stop.kind) == (2, False, "max_iter")


def test_an_algorithm_that_ends_has_converged() -> None:
    result = run(falling(3), max_iter=50, tol=0.0)
    assert (result.n_iter, result.converged, result.stop.kind) == (2, True, "settled")


def test_an_estimated_residual_does_not_stop() -> None:
    def iterations() -> Iterator[Progress]:
        for t in range(5):
            yield Progress(np.zeros((1, 1)), 1.0, 0.0, certified=t >= 3)

    assert run(iterations(), max_iter=50, tol=0.1).n_iter == 3


def test_a_perfect_start_still_does_one_iteration() -> None:
    result = run((Progress(np.zeros((1, 1)), 0.0, 0.0) for _ in range(5)), max_iter=50, tol=0.0)
    assert (result.n_iter, result.converged) == (1, True)


def test_interrupted_between_iterations() -> None:
    def iterations() -> Iterator[Progress]:
        yield from falling(3)
        raise KeyboardInterrupt

    result = run(iterations(), max_iter=50, tol=0.0)
    assert (result.n_iter, result.converged, result.stop.kind, result.stop.n_iter) == (2, False, "interrupted", 2)
    assert result.history.n_rows == 3


def test_interrupted_before_there_is_anything_to_keep() -> None:
    def iterations() -> Iterator[Progress]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        run(iterations(), max_iter=50, tol=0.0)


def test_time_of_callbacks_and_of_measuring_is_not_counted() -> None:
    def measures(progress: Progress) -> dict[str, float]:
        time.sleep(0.02)
        return {"error": 3.0}

    result = run(falling(), max_iter=3, tol=0.0, callbacks=[lambda progress: time.sleep(0.02)], measures=measures)
    assert result.history["time"][-1] < 0.02
    assert result.history["error"].tolist() == [3.0] * 4


def test_an_algorithm_that_ends_can_say_why() -> None:
    def iterations() -> Iterator[Progress]:
        yield Progress(np.zeros((1, 1)), 1.0)
        return Stop("floor")

    result = run(iterations(), max_iter=5, tol=0.0)
    assert result.converged
    assert result.stop.kind == "floor"


def test_the_last_iteration_can_say_why() -> None:
    def iterations() -> Iterator[Progress]:
        yield Progress(np.zeros((1, 1)), 1.0)
        yield Progress(np.zeros((1, 1)), 0.5, stop=Stop("degenerate", cause="merged"))
        raise AssertionError("it was the last")

    result = run(iterations(), max_iter=5, tol=0.0)
    assert (result.n_iter, result.converged, result.stop.cause) == (1, False, "merged")


def test_a_callback_can_say_why() -> None:
    def out_of_time(progress: Progress) -> Stop | None:
        return Stop("time", 2.0, 1.0) if progress.n_iter == 2 else None

    stop = run(falling(), max_iter=50, tol=0.0, callbacks=[out_of_time]).stop
    assert (stop.kind, stop.tolerance, stop.n_iter) == ("time", 1.0, 2)
    assert run(falling(), max_iter=50, tol=0.0, callbacks=[lambda progress: True]).stop.kind == "callback"


def counting(state: Any = None) -> Iterator[Progress]:
    """An algorithm that can be continued: its state is a number."""
    t = 0 if state is None else int(state["t"]) + 1
    while True:
        yield Progress(np.full((1, 2), float(t)), 1.0 / (t + 1), 0.5**t, details={"t": t}, state={"t": t})
        t += 1


@pytest.mark.parametrize("at", [0, 1, 3, 5])
def test_a_continued_run_is_the_unbroken_one(at: int) -> None:
    kept: dict[str, Any] = {}

    def keep(progress: Progress) -> None:
        if progress.n_iter == at:
            kept.update(progress.state)

    whole = run(counting(), max_iter=5, tol=0.0, callbacks=[keep], kept={"seed": 3})
    assert (kept["seed"], kept["history.t"].tolist()) == (3, list(range(at + 1)))
    rest = run(counting(kept), max_iter=5, tol=0.0, state=kept)
    assert rest.stop.kind == whole.stop.kind == "max_iter"
    assert rest.n_iter == whole.n_iter
    np.testing.assert_array_equal(rest.components, whole.components)
    for name in set(whole.history) - {"time"}:
        np.testing.assert_array_equal(rest.history[name], whole.history[name])
    assert np.all(np.diff(rest.history["time"]) >= 0.0)


def test_details_become_columns() -> None:
    def iterations() -> Iterator[Progress]:
        yield Progress(np.zeros((1, 1)), 1.0)
        yield Progress(np.zeros((1, 1)), 0.5, details={"momentum": 0.7})

    history = run(iterations(), max_iter=1, tol=0.0).history
    assert list(history) == ["n_iter", "time", "objective", "residual", "momentum"]
    np.testing.assert_array_equal(history["momentum"], [np.nan, 0.7])


def test_history_is_a_mapping() -> None:
    history = History({"n_iter": [0, 1], "objective": [2.0, 1.0]})
    assert dict(history).keys() == {"n_iter", "objective"}
    assert (len(history), history.n_rows) == (2, 2)
    assert repr(history) == "History(2 rows: n_iter, objective)"
    assert History({}).n_rows == 0
    assert history.to_native("pyarrow").num_rows == 2


def test_what_a_callback_reads_of_the_state_costs_no_table_of_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(rows: Any) -> Any:
        made.append(len(rows))
        return history_of(rows)

    monkeypatch.setattr(loop, "history_of", counted)
    model = pw.MU(2, max_iter=5, tol=0.0, callbacks=[lambda progress: progress.state["components"][0, 0] < 0])
    model.fit(np.random.default_rng(0).random((9, 4)))
    assert made == [6]  # that of the result
