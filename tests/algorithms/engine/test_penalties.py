"""Every penalty: its bound, the methods that take it, and those that refuse it by its name."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.algorithms.anls import anls
from partwise.algorithms.engine import PENALTIES, ElasticNet, Factor, Penalty, Volume, penalties
from partwise.algorithms.engine.penalties import Smooth
from partwise.algorithms.hals import hals
from partwise.algorithms.mu import mu
from partwise.exceptions import InputError
from partwise.sources import source_of

RNG = np.random.default_rng(5)
X = RNG.gamma(0.5, size=(40, 3)) @ RNG.gamma(0.5, size=(3, 12)) + 0.1 * RNG.random((40, 12))
H0 = RNG.random((3, 12)) + 0.05
NORM = float(np.vdot(X, X))

EXAMPLES = [ElasticNet(0.3, 0.2), Volume(2.0, 1.0), Smooth(0.5)]
EVERY_PENALTY = pytest.mark.parametrize("penalty", EXAMPLES, ids=lambda penalty: type(penalty).__name__)


def test_all_are_registered() -> None:
    """Each class in a file of the package is in the list, and has an example here."""
    classes = set()
    for module in pkgutil.iter_modules(penalties.__path__):
        found = vars(importlib.import_module(f"{penalties.__name__}.{module.name}")).values()
        classes |= {kind for kind in found if isinstance(kind, type) and issubclass(kind, Penalty)}
    assert classes - {Penalty} == set(PENALTIES)
    assert set(PENALTIES) <= {type(penalty) for penalty in EXAMPLES}


@pytest.mark.parametrize("kind", PENALTIES, ids=lambda kind: kind.__name__)
def test_registered_penalties_are_parameters(kind: type[Penalty]) -> None:
    """Of every estimator that takes them, on every factor that they can be asked of."""
    for factor in ("W", "H"):
        for make, additive in ((pw.HALS, True), (pw.ANLS, True), (pw.MU, False)):
            try:
                Factor((kind.of(1, **dict.fromkeys(kind.parameters(), 1.0)),)).check(factor, "it", additive=additive)
            except InputError:
                continue
            assert {f"{name}_{factor}" for name in kind.parameters()} <= set(make().get_params())


@EVERY_PENALTY
def test_the_bound_is_one(penalty: Penalty) -> None:
    """The same gradient at the factor (differences of the value), and nowhere below the penalty."""
    F = RNG.random((12, 3)) + 0.1
    slope = 0.0 if penalty.slope(F) is None else penalty.slope(F)
    curvature = np.zeros((3, 3)) if penalty.curvature(F) is None else penalty.curvature(F)
    gradient = slope + F @ curvature
    for _ in range(20):
        D = RNG.standard_normal(F.shape) * 10.0 ** RNG.uniform(-3, 0)
        E = np.maximum(F + D, 0.0)
        change = float((slope * (E - F)).sum()) + 0.5 * float((E * (E @ curvature)).sum() - (F * (F @ curvature)).sum())
        assert penalty.value(E) - penalty.value(F) <= change + 1e-12
        h = 1e-6
        numerical = (penalty.value(F + h * D) - penalty.value(F - h * D)) / (2.0 * h)
        assert numerical == pytest.approx(float((gradient * D).sum()), rel=1e-6, abs=1e-8)


@EVERY_PENALTY
@pytest.mark.parametrize("algorithm", [partial(hals, tol=1e-6), anls], ids=["hals", "anls"])
def test_the_objective_falls_to_a_stationary_point(algorithm: Any, penalty: Penalty) -> None:
    on_W = Factor((ElasticNet(0.0, 0.1),))  # without it the components shrink and the weights grow
    last = np.inf
    for progress in islice(algorithm(source_of(X), H0, squared_norm=NORM, on_W=on_W, on_H=Factor((penalty,))), 20000):
        assert progress.objective <= last + 1e-13 * NORM
        last = progress.objective
        if progress.certified and progress.residual <= 1e-6:
            break
    H = progress.components
    W = pw.nnls(np.c_[H, np.sqrt(0.1) * np.eye(3)], np.c_[X, np.zeros((len(X), 3))])
    slope = 0.0 if penalty.slope(H.T) is None else penalty.slope(H.T)
    gradient = (X.T - H.T @ W.T) @ -W + slope
    gradient = gradient + (0.0 if penalty.curvature(H.T) is None else H.T @ penalty.curvature(H.T))
    sizes = np.linalg.norm(W, axis=0)
    assert np.linalg.norm(np.minimum(H.T * sizes, gradient / sizes)) <= 1e-4 * np.sqrt(NORM)
    value = 0.5 * ((X - W @ H) ** 2).sum() + 0.05 * (W**2).sum() + penalty.value(H.T)
    assert progress.objective == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("penalty", EXAMPLES[1:], ids=lambda penalty: type(penalty).__name__)
@pytest.mark.parametrize("algorithm", [hals, anls, mu])
def test_what_makes_no_sense_is_refused_by_name(algorithm: Any, penalty: Penalty) -> None:
    asked = Factor((ElasticNet(0.1), penalty))
    with pytest.raises(InputError, match=f"{penalty.name}_W is nothing for {algorithm.__name__.upper()}") as refused:
        algorithm(source_of(X), H0, squared_norm=NORM, on_W=asked)
    assert refused.value.parameter == f"{penalty.name}_W"
    if algorithm is mu:
        with pytest.raises(InputError, match=f"{penalty.name}_H is nothing for MU: multiplicative") as refused:
            algorithm(source_of(X), H0, squared_norm=NORM, on_H=asked)
        assert refused.value.parameter == f"{penalty.name}_H"


def test_volume_shrinks_the_volume_and_smoothness_the_steps() -> None:
    on_W = Factor((ElasticNet(0.0, 0.1),))

    def after(*asked: Penalty) -> np.ndarray:
        return next(
            islice(hals(source_of(X), H0, squared_norm=NORM, on_W=on_W, on_H=Factor(asked)), 200, None)
        ).components

    for small, large in ((Volume(0.5, 1.0), Volume(5.0, 1.0)), (Smooth(0.5), Smooth(5.0))):
        plain = after(replace(small, **{small.name: 1e-9}))  # with none at all a penalty of W alone is another one
        values = [small.value(H.T) for H in (plain, after(small), after(large))]
        assert values[2] < values[1] < values[0]


def test_parameters_make_penalties() -> None:
    assert ElasticNet.of(10, l1=0.5, l2=2.0) == ElasticNet(5.0, 20.0)
    assert ElasticNet.parameters() == ("l1", "l2")
    assert ElasticNet(0.0, 1.0).name == "l2"
    assert Volume.of(10, volume=0.5) == Volume(5.0, 0.5)  # the one is a sum over samples, the other is not
    assert Volume.parameters() == ("volume",)


@pytest.mark.parametrize("volume", [1e-16, 1e-30])
def test_dependent_parts_have_a_curvature_at_any_volume(volume: float) -> None:
    part = np.random.default_rng(0).random((40, 1))
    G = Volume.of(10, volume=volume).curvature(np.tile(part, 3)) / volume
    assert np.isfinite(G).all()
    assert np.linalg.eigvalsh(G)[0] > 0.0
