"""AND as its theorems have it, against the paper's lines."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.datasets import make_correlated_mixtures
from partwise.lab import Found, Problem
from partwise.lab.contenders import CONTENDERS
from partwise.lab.contenders.and_theorems import first_threshold
from partwise.lab.measures import MEASURES
from partwise.metrics import correlation_conditions, decay_order, decoding_threshold, initialization

K = 6


def made(**more: float) -> Problem:
    data = make_correlated_mixtures(n_samples=600, n_features=20, n_components=K, random_state=0, **more)
    return Problem.of(data, start=data.warm_start(0.05, random_state=0))


def stage(problem: Problem, H: np.ndarray, inverse: np.ndarray, alpha: float) -> np.ndarray:
    """50 gradient steps of the largest stable size."""
    W = problem.X @ inverse
    W = np.where(alpha <= W, W, 0.0)
    for _ in range(50):
        H = H + W.T @ (problem.X - W @ H) / np.linalg.norm(W, 2) ** 2
    return H


@pytest.mark.parametrize(("more", "alpha"), [({}, 0.25), ({"q": 1.0}, 0.1)], ids=["binary", "decay"])
def test_one_stage(more: dict[str, float], alpha: float):
    problem = made(**more)
    assert first_threshold(problem) == alpha
    found = CONTENDERS["and-one-stage"].run(problem, 0, None)
    expected = stage(problem, problem.start, np.linalg.pinv(problem.start), alpha)
    np.testing.assert_allclose(found.components, expected, rtol=1e-9, atol=1e-12)


def test_without_noise_both_inverses_decode_alike():
    problem = made()
    pinv, least = (CONTENDERS[name].run(problem, 0, None) for name in ("and-quarter", "and-least-inverse"))
    errors = [MEASURES["relative"].of(problem, found) for found in (pinv, least)]
    assert max(errors) < 1e-8


def test_rule_of_theorem_4_is_told_the_truth():
    problem = made(q=2.0)
    found = CONTENDERS["and-theorem-4"].run(problem, 0, None)
    known = correlation_conditions(problem.weights, scale="components")
    E = initialization(problem.start, problem.truth).E_2
    rule = decoding_threshold(E, r=known.r, lam=known.lam, q=decay_order(problem.weights).q_upper)
    assert found.curve[1]["threshold"] == pytest.approx(rule, rel=1e-9)


def test_counterexample_looks_like_other_parts():
    """Weights of 1/D and 1: the same data is made of the shifted parts with weights of 0 and 1."""
    problem = made(absent=1 / K)
    shifted = (1 - 1 / K) * problem.truth + problem.truth.mean(axis=0) / 2
    np.testing.assert_allclose((problem.weights == 1.0) @ shifted, problem.X, atol=1e-14)
    assert MEASURES["shifted"].of(problem, Found(shifted)) < 1e-14
    assert MEASURES["relative"].of(problem, Found(shifted)) > 0.1


def test_squared_error_is_that_of_the_authors_program():
    problem = made()
    unit = problem.truth / np.linalg.norm(problem.truth, axis=1, keepdims=True)
    H = problem.start
    expected = sum(min(t @ t - (t @ h) ** 2 / (h @ h) for h in H) for t in unit)
    assert MEASURES["squared"].of(problem, Found(H)) == pytest.approx(expected, rel=1e-9)


def test_noise_bound_is_measured_in_its_own_noise():
    problem = made()
    noisy = Problem(problem.X + 0.01, K, truth=problem.truth, weights=problem.weights, signal=problem.X)
    gamma = 0.01 * np.sqrt(20)
    known, s = correlation_conditions(problem.weights), np.linalg.svd(problem.truth, compute_uv=False)
    bound = known.r * s[0] * gamma / (s[-1] * known.lam)
    found = Found(problem.truth + 0.1 * problem.truth[::-1])
    E = np.linalg.norm(0.1 * problem.truth[::-1], 2)
    assert MEASURES["over_noise_bound"].of(noisy, found) == pytest.approx(E / bound, rel=1e-9)
