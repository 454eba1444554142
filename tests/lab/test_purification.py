"""Purification's experiments: starts that are those of the theorems, and their statistics by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partwise import metrics
from partwise.lab import Measurements, Reproduction, find_experiment
from partwise.lab.contenders.purification import scale_of
from partwise.lab.purification_noise import denoised, growth
from partwise.lab.purification_theorems import conclusion

NAMES = ("theorems", "fixed-sample", "sparsity", "balancing", "denoising", "adversarial")
CASES = [
    (f"purification-{name}", case.name)
    for name in NAMES
    for case in find_experiment(f"purification-{name}").cases("quick")
]


@pytest.mark.parametrize(("experiment", "name"), CASES)
def test_starts_are_those_of_the_theorems(experiment: str, name: str) -> None:
    problem = next(case for case in find_experiment(experiment).cases("quick") if case.name == name).make(0)
    found = metrics.initialization(problem.start, problem.truth, rescale=False, match=False)
    assert found.satisfies_purification
    assert pytest.approx(0.1, rel=1e-9) == found.E_1
    if experiment == "purification-balancing":
        assert found.satisfies_balancing
    assert problem.draw is not None
    drawn = problem.draw(50, np.random.default_rng(0))
    noise = np.abs(problem.X - problem.signal).max()
    # further samples have weights in [0, 1] of the same parts, and noise at the same level
    off = drawn - (drawn @ np.linalg.pinv(problem.truth)) @ problem.truth
    assert (np.abs(off).max() > 1e-12) == (noise > 0.0)


def test_scale_makes_the_rarest_part_a_fixed_point() -> None:
    rng = np.random.default_rng(0)
    W = (rng.random((1000, 3)) < [0.1, 0.2, 0.3]).astype(float)
    p = W[:, 0].mean()
    assert scale_of(W, 0.3) == pytest.approx(1.0 / (2.0 * 0.7 * p * (1.0 - p)))
    doubled = scale_of(np.vstack([W[:500], W[500:]]), 0.3, np.full(1000, 1e-3))
    assert doubled == pytest.approx(scale_of(W, 0.3))


def table(rows: list[dict]) -> Reproduction:
    experiment = replace(find_experiment("purification-theorems"))
    return Reproduction(experiment, Measurements(rows), Measurements([]), {})


def test_statistics_by_hand() -> None:
    row = {"method": "a", "case": "x", "sigma": 0.5, "E1": 0.02, "N1": 0.03}
    assert conclusion(table([row]), "a", E=0.1, N=0.1, case="x") == pytest.approx(0.9 / 0.5)
    assert conclusion(table([row]), "a", E=0.1, N=0.1, scaled=True, case="x") == pytest.approx(0.6)
    assert conclusion(table([row | {"sigma": 0.0}]), "a", E=0.1, N=0.1, scaled=True) == np.inf
    assert np.isnan(conclusion(table([row]), "b", E=0.1, N=0.1))
    rows = [{"method": "a", "parts": "dense", "m": m, "times": 5, "n": 4, "impurity": 0.2} for m in (100, 400)]
    assert denoised(table(rows), "a", parts="dense", times=5) == pytest.approx(max(0.2 * 2 / 5, 2.0))
    low = [row | {"impurity": 0.2, "times": 0.1} for row in rows]
    assert denoised(table(low), "a", parts="dense", times=0.1) == pytest.approx(0.2 * 2 / 0.1)
    by_n = [{"method": "a", "c": 0.0, "n": n, "K": n / 2} for n in (6, 12)]
    assert growth(table(by_n), "a", column="K", c=0.0) == pytest.approx(2.0)
    assert np.isnan(growth(table(by_n[:1]), "a", column="K", c=0.0))
