"""Samples of one part each, up to noise: known apart from mixtures, found as directions of their means."""

from __future__ import annotations

import numpy as np
import pytest

import partwise as pw
from partwise.algorithms import singles as module
from partwise.algorithms.directions import Directions, find_directions
from partwise.algorithms.singles import are_single, towards_others
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
    assert not are_single(data, K, np.random.default_rng(0))
    assert not pw.Archetypes(K, starts=4, random_state=0).fit(X).pure_


def test_white_noise_in_many_features_hides_no_mixtures():
    """Leading directions of noise were chosen for being large: they do not tell how much noise there is along parts."""
    rng = np.random.default_rng(0)
    X = rng.dirichlet([0.3] * 3, size=200) @ rng.gamma(0.5, size=(3, 4000)) + 0.8 * rng.standard_normal((200, 4000))
    data = find_directions(source_of(X), 3, np.random.default_rng(0))
    assert data.own < 0.3
    assert not are_single(data, 3, np.random.default_rng(0))


def test_samples_count_the_less_the_more_others_are_like_them():
    X = np.repeat(np.eye(6), [64, 16, 8, 4, 4, 4], axis=0)  # every sample is like its copies and like no other
    data = find_directions(source_of(X), 2, np.random.default_rng(0), even=True)
    factors = 16.0 / np.maximum(np.repeat([64.0, 16.0, 8.0, 4.0, 4.0, 4.0], [64, 16, 8, 4, 4, 4]), 16.0)
    # a quarter of the samples is like 16 others at most: these count alike
    np.testing.assert_allclose(data.counted, np.square(factors) / np.square(factors).mean(), rtol=1e-10)


def test_empty_samples_do_not_take_the_say_of_the_others():
    """They are like none, and would be the quarter that is like the fewest."""
    X = np.repeat(np.eye(3), [60, 20, 10], axis=0)
    counted = [
        find_directions(source_of(rows), 2, np.random.default_rng(0), even=True).counted[:90]
        for rows in (X, np.vstack([X, np.zeros((60, 3))]))
    ]
    np.testing.assert_allclose(counted[1] / counted[1][-1], counted[0] / counted[0][-1], rtol=1e-10)
    assert counted[0][0] < counted[0][-1]


def test_directions_of_both_signs_count_alike():
    """Sums of cosines that cancel do not tell how many others are like a sample: the larger class would not count."""
    X, _, labels = texts()
    X = np.where(labels == 0, -1.0, 1.0)[:, None] * X
    model = pw.Archetypes(K, random_state=0).fit(X)
    assert model.pure_
    assert pw.metrics.clustering_accuracy(labels, model.transform(X).argmax(axis=1)) > 0.99
    # parts are plain means of their samples, whatever the others are
    means = np.array([(X / np.linalg.norm(X, axis=1, keepdims=True))[labels == j].mean(axis=0) for j in range(K)])
    assert pw.metrics.spectral_angles(model.components_, means).max() < 1.0


def test_a_sketch_keeps_what_its_points_count_for():
    Y, counted = np.eye(6), np.arange(1.0, 7.0)
    some = Directions(Y, np.eye(6), 1.0, counted=counted / counted.mean()).sketch(np.random.default_rng(0), 3)
    expected = counted[some.points.argmax(axis=1)]
    np.testing.assert_allclose(some.counted, expected / expected.mean())


def test_a_sample_that_counts_twice_is_two_samples():
    X, _, _ = texts(n=120)
    Y = find_directions(source_of(X), K, np.random.default_rng(0)).points
    times = 1 + np.arange(len(Y)) % 3
    counted = Directions(Y, np.eye(Y.shape[1]), 1.0, counted=times / times.mean())
    copies = Directions(np.repeat(Y, times, axis=0), np.eye(Y.shape[1]), 1.0)
    step = [module._descend(data, Y[:K]) for data in (counted, copies)]
    np.testing.assert_allclose(step[0][0], step[1][0], atol=1e-12)
    assert step[0][1] == pytest.approx(step[1][1], rel=1e-12)


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
