"""Samples of one part each, up to noise: known apart from mixtures, found as directions of their means."""

from __future__ import annotations

import numpy as np
import pytest

import partwise as pw
from partwise.algorithms import singles as module
from partwise.algorithms.directions import find_directions
from partwise.algorithms.singles import singles, towards_others
from partwise.sources import source_of

K = 4


def texts(
    seed: int = 0, n: int = 800, mixed: float = 0.0, variants: float = 0.06
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples of a topic each, or mixtures, with variants in many directions; topics; which of them."""
    rng = np.random.default_rng(seed)
    parts = rng.gamma(0.5, size=(K, 60))
    parts /= np.linalg.norm(parts, axis=1, keepdims=True)
    labels = rng.integers(K, size=n)
    W = np.eye(K)[labels] if not mixed else rng.dirichlet([mixed] * K, size=n)
    modes = np.abs(rng.standard_normal((20, 60)))
    return W @ parts + variants * rng.gamma(0.5, size=(n, 20)) @ modes, parts, labels


def test_one_topic_a_text_is_known_and_found():
    X, _, labels = texts()
    model = pw.Archetypes(K, random_state=0).fit(X)
    assert model.pure_
    assert not model.refined_
    assert pw.metrics.clustering_accuracy(labels, model.transform(X).argmax(axis=1)) > 0.99
    assert np.diff(model.history_["objective"]).max(initial=0.0) <= 1e-15
    assert model.converged_
    np.testing.assert_array_equal(model.moved_, np.zeros(K))
    np.testing.assert_allclose(model.mass_, np.sort(np.bincount(labels))[::-1] / len(X), atol=0.01)


def test_mixtures_are_not_taken_for_it():
    X, _, _ = texts(mixed=0.3, variants=0.02)
    data = find_directions(source_of(X), K, np.random.default_rng(0))
    assert singles(data, K, starts=4, rng=np.random.default_rng(0)) is None
    assert not pw.Archetypes(K, starts=4, random_state=0).fit(X).pure_


def test_white_noise_in_many_features_hides_no_mixtures():
    """Leading directions of noise were chosen for being large: they do not tell how much noise there is along parts."""
    rng = np.random.default_rng(0)
    X = rng.dirichlet([0.3] * 3, size=200) @ rng.gamma(0.5, size=(3, 4000)) + 0.8 * rng.standard_normal((200, 4000))
    data = find_directions(source_of(X), 3, np.random.default_rng(0))
    assert data.own < 0.3
    assert singles(data, 3, starts=4, rng=np.random.default_rng(0)) is None


def test_spread_along_other_parts_is_measured():
    rng = np.random.default_rng(0)
    points = np.hstack(
        [np.ones((5000, 1)), 0.02 * rng.standard_normal((5000, 1)), 0.01 * rng.standard_normal((5000, 4))]
    )
    data = find_directions(source_of(np.eye(6)), 2, rng)
    at = type(data)(points, np.eye(6), 1.0)
    assert towards_others(at, np.eye(6)[:2]) == pytest.approx(2.0, rel=0.05)


def test_steps_are_those_of_means_and_are_continued_to_the_same_bits(monkeypatch):
    monkeypatch.setattr(module, "STEPS", 1)  # so that something is left to do
    X, _, _ = texts()
    states = []
    how = {"starts": 2, "tol": 0.0, "random_state": 0}
    whole = pw.Archetypes(K, callbacks=[lambda now: states.append(dict(now.state))], **how).fit(X)
    assert whole.pure_
    assert len(states) > 1
    again = pw.Archetypes(K, **how).fit(X, state=states[0])
    assert again.pure_
    np.testing.assert_array_equal(again.components_, whole.components_)
    assert again.mass_.tolist() == whole.mass_.tolist()
    assert again.rival_ == whole.rival_
