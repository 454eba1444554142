"""The clock that limits contenders: of the processor, from the first product on, without measuring the truth."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import partwise as pw
from partwise.algorithms.loop import Moment, Progress, run
from partwise.lab.contenders.base import WorkClock, fitted
from partwise.lab.experiment import Problem


def busy(seconds: float) -> None:
    """Work for so many seconds of the processor."""
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        pass


def steps(cost: float) -> Iterator[Progress]:
    while True:
        busy(cost)
        yield Progress(np.ones((1, 2)), 1.0)


def test_measuring_and_waiting_are_not_work() -> None:
    clock = WorkClock(0.05)

    def measure(progress: Progress) -> dict[str, float]:
        busy(0.03)
        time.sleep(0.01)
        return {"error": 1.0}

    result = run(steps(0.01), max_iter=100, tol=0.0, measures=measure, callbacks=[clock])
    assert result.stop.kind == "time"
    # 0.05 s at 0.01 s a step: the sixth is the first beyond it, or the fifth if steps take a little longer
    assert 3 <= len(clock.work) <= 6
    assert np.all(np.diff(clock.work) >= 0.01)
    assert np.all(np.diff(clock.work) < 0.03)


def test_what_was_done_before_the_first_iteration_is_work() -> None:
    clock = WorkClock()
    began = Moment.now()
    busy(0.02)
    run(steps(0.001), max_iter=3, tol=0.0, callbacks=[clock], began=began)
    assert clock.work[0] >= 0.02


def test_curves_are_drawn_by_the_same_clock() -> None:
    data = pw.datasets.make_topics(n_samples=200, n_features=40, n_components=4, random_state=0)
    problem = Problem(data.X, k=4, truth=data.components)
    found = fitted("HALS", max_iter=5, tol=0.0)(problem, 0, None)
    assert len(found.curve) == 6
    assert found.curve[-1]["time"] == found.facts["processor_seconds"]
