"""HALS and ANLS without the clamp: each step is least squares in what it moves, and the truth is a fixed point."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.lab import Problem
from partwise.lab.contenders import CONTENDERS
from partwise.lab.contenders.signed import coordinates, least_squares
from partwise.lab.measures import MEASURES


def made(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    W, H = rng.random((40, 3)) * (rng.random((40, 3)) < 0.5), rng.uniform(-0.5, 0.5, (3, 12))
    return W @ H, W, H


@pytest.mark.parametrize("update", [coordinates, least_squares])
def test_objective_falls_and_weights_alone_are_clamped(update):
    X, W, H = made()
    W, H = np.abs(W + 0.1), H + 0.3
    for _ in range(5):
        before = np.square(X - W @ H).sum()
        W, H = update(X, W, H)
        assert np.square(X - W @ H).sum() <= before + 1e-20 * np.square(X).sum()  # rounding
    assert W.min() >= 0.0
    assert H.min() < -0.1


@pytest.mark.parametrize("update", [coordinates, least_squares])
def test_truth_is_a_fixed_point(update):
    X, W, H = made()
    new_W, new_H = update(X, W, H)
    np.testing.assert_allclose(new_W, W, atol=1e-12)
    np.testing.assert_allclose(new_H, H, atol=1e-12)


def test_one_coordinate_by_hand():
    X, W, H = made()
    _, found = coordinates(X, W, H + 0.3)
    guess = H + 0.3
    for j in range(3):  # the component that fits best what the others leave
        rest = X - W @ guess + np.outer(W[:, j], guess[j])
        guess[j] = W[:, j] @ rest / (W[:, j] @ W[:, j])
    np.testing.assert_allclose(found, guess, atol=1e-12)


@pytest.mark.parametrize("name", ["hals-signed", "anls-signed", "hals-unclipped", "anls-unclipped"])
def test_contenders_stop_and_tell_their_way(name: str):
    X, _, H = made()
    problem = Problem(X, 3, truth=H, start=H + 0.05)
    found = CONTENDERS[name].run(problem, 0, None)
    assert [point["n_iter"] for point in found.curve] == list(range(len(found.curve)))
    assert found.facts["iterations"] == len(found.curve) - 1 <= 250
    assert (found.components.min() < 0.0) == name.endswith("signed")


def test_passes_are_products_with_the_data():
    from partwise.lab import Found

    H = np.eye(2)
    problem = Problem(H, 2, truth=H, start=H + 0.2)
    begin = MEASURES["error"].of(problem, Found(problem.start))
    curve = [{"n_iter": i, "time": 0.5 * i, "error": begin * 10.0**-i} for i in range(5)]
    for facts, expected in (({}, 4.0), ({"once": 8}, 12.0), ({"products": 1}, 2.0)):
        assert MEASURES["passes_1e-2"].of(problem, Found(H, curve=curve, facts=facts)) == expected
    assert MEASURES["time_1e-4"].of(problem, Found(H, curve=curve)) == 2.0
    assert MEASURES["passes_1e-6"].of(problem, Found(H, curve=curve)) == np.inf
    assert np.isnan(MEASURES["passes_1e-6"].of(problem, Found(H)))
