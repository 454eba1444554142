"""What claims on the lecture and on conservative learning are measured by, held against cases with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.algorithms.loop import Progress
from partwise.lab.contenders.base import modes_of
from partwise.lab.contenders.lecture import Factors, expected_pairs, first_tokens, hull_of_expected
from partwise.lab.experiment import Found, Problem
from partwise.lab.lecture import corpus
from partwise.lab.measures.lecture import locked, true_anchors, unsettled
from partwise.lab.measures.online import inverse_error, random_share

RNG = np.random.default_rng(0)


def watched(X: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]]) -> float:
    watch = Factors(X)
    for V, Y in pairs:
        watch(Progress(Y, 0.0, state={"W": V}))
    return watch.wrong / watch.entries


def test_factors_tell_the_rule_from_others() -> None:
    X, V, Y = RNG.random((20, 15)), RNG.random((20, 3)), RNG.random((3, 15))
    V1 = V * (X @ Y.T) / (V @ Y @ Y.T)
    Y1 = Y * (V1.T @ X) / (V1.T @ V1 @ Y)
    assert watched(X, [(V, Y), (V1, Y1)]) == 0.0
    assert watched(X, [(V, Y), (V, Y)]) > 0.2  # nothing changes: a factor of 1 where f' > 0
    assert watched(X, [(V, Y), (0.5 * V, 0.5 * Y)]) > 0.2


def test_where_updates_rest() -> None:
    V, Y = RNG.random((9, 2)), RNG.random((2, 7))
    exact = Problem(V @ Y, 2)
    assert unsettled(exact, Found(Y, weights=V)) < 1e-14
    assert unsettled(exact, Found(Y, weights=2 * V)) == pytest.approx(0.5)  # f' = f'+ / 2
    kept = V.copy()
    kept[0, 0] = 0.0
    assert locked(exact, Found(Y, weights=V)) == 0.0
    assert locked(exact, Found(Y, weights=kept)) > 1e-4


@pytest.mark.parametrize("law", ["exponential", "half-normal", "uniform"])
def test_zeros_and_one_falling_density_are_not_bimodal(law: str) -> None:
    there = RNG.random((2000, 12)) < 0.3
    draws = {"exponential": RNG.exponential, "half-normal": RNG.standard_normal, "uniform": RNG.random}[law]
    told = modes_of(there * np.abs(draws(size=there.shape)))
    assert told["bimodal"] <= 1 / 12
    assert told["bimodal_positive"] <= 1 / 12
    assert told["fixed"] == 0.0


def test_absent_or_present_with_a_fixed_magnitude() -> None:
    there = RNG.random((2000, 5)) < 0.3
    told = modes_of(there * RNG.normal(2.0, 0.2, there.shape))
    assert (told["bimodal"], told["fixed"], told["bimodal_positive"]) == (1.0, 1.0, 0.0)
    assert modes_of(np.ones((50, 2)))["bimodal"] == modes_of(np.zeros((50, 2)))["fixed"] == 0.0
    noisy = np.where(there, RNG.normal(2.0, 0.2, there.shape), RNG.exponential(0.05, there.shape))
    assert modes_of(noisy)["bimodal_positive"] == 1.0


def test_first_tokens_are_two_of_the_document() -> None:
    counts = sp.csr_array(np.array([[2, 0, 1], [0, 1, 1], [0, 3, 0]] * 2000))
    tokens = first_tokens(counts, np.random.default_rng(0))
    kinds = [np.bincount(tokens[i::3] @ [3, 1], minlength=9) / 2000 for i in range(3)]
    # of aab: aa with 1/3, ab and ba with 1/3 each; five standard errors
    np.testing.assert_allclose(kinds[0][[0, 2, 6]], 1 / 3, atol=5 * np.sqrt(2 / 9 / 2000))
    np.testing.assert_allclose(kinds[1][[5, 7]], 1 / 2, atol=5 * np.sqrt(1 / 4 / 2000))
    assert kinds[2][4] == 1.0


@pytest.mark.filterwarnings("ignore::partwise.exceptions.DegenerateDataWarning")  # r is not told
def test_hull_of_the_expectation_has_the_anchors() -> None:
    problem = corpus(300, 20, 3, 2, 0, anchor=0.2)
    found = hull_of_expected(problem, 0, None)
    assert true_anchors(problem, found) == 1.0
    assert true_anchors(problem, Found(found.components, anchors=np.array([0, 7, 9]))) == pytest.approx(1 / 3)
    assert expected_pairs(problem).sum() == pytest.approx(1.0)


def test_encoders() -> None:
    D = RNG.random((12, 3))
    problem, nice = Problem(None, 3, truth=D.T), np.linalg.pinv(D)
    outside = RNG.standard_normal((3, 12)) @ (np.eye(12) - D @ nice)
    for encoder, share in ((nice, 0.0), (nice + 100 * outside, 1.0)):
        found = Found(D.T, detectors=encoder)
        assert inverse_error(problem, found) < 1e-10
        assert random_share(problem, found) == pytest.approx(share, abs=1e-3)
    assert inverse_error(problem, Found(D.T, detectors=0.0 * nice)) == 1.0
