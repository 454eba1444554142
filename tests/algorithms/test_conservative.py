"""Conservative learning as a program: batches, schedules, states; and that it recovers what made the data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms.conservative import Decay, Learner, Rule, conservative
from partwise.exceptions import InputError

MIXTURE = pw.datasets.make_digit_mixtures(n_samples=1000, n_components=8, per_sample=3, random_state=0)
X = MIXTURE.X


def learner(rule: Rule | None = None, dtype: type = np.float64, **options: int) -> Learner:
    return Learner.random(8, X.shape[1], dtype, np.random.default_rng(0), rule or Rule(), **options)


def cosines(found: np.ndarray) -> np.ndarray:
    return pw.metrics.match_components(found, MIXTURE.components).cosines


@pytest.mark.parametrize(
    ("rule", "passes"), [(Rule(), 60), (Rule(Decay(0.3), steps=5), 12)], ids=["published", "five-iterations"]
)
def test_digits_come_back(rule: Rule, passes: int) -> None:
    made = learner(rule)
    *_, last = conservative(pw.open_source(X), made, passes=passes)
    assert cosines(last.components).min() > 0.99
    assert last.objective < 0.01


def test_without_step_11_the_cone_is_larger() -> None:
    made = learner(Rule(nonnegative=False))
    *_, last = conservative(pw.open_source(X), made, passes=60)
    assert last.objective < 0.01
    assert (cosines(last.components) > 0.99).sum() < 8


def test_falling_shares_average_noise() -> None:
    rng = np.random.default_rng(1)
    noisy = np.maximum(0.0, X + 0.3 * rng.standard_normal(X.shape))

    def misfit(share: Decay) -> float:
        made = learner(Rule(Decay(1e-2), share))
        for _ in range(10):
            list(made.feed(noisy))
        W = pw.nnls(made.features, noisy)
        return float(pw.metrics.relative_error(noisy, W, made.features))

    best = pw.HALS(8, random_state=0).fit(noisy).reconstruction_error_
    assert misfit(Decay(1.0, 500.0)) - best < 0.5 * (misfit(Decay(1.0)) - best)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("size", [1, 7, 300, 1000])
def test_how_samples_are_handed_over_changes_no_bit(size: int, form: type) -> None:
    rule = Rule(Decay(1.0, 300.0, 0.7), Decay(1.0, 200.0), steps=2)
    whole, parts = learner(rule, batch_size=300), learner(rule, batch_size=300)
    averages = list(whole.feed(X))
    found = [error for a in range(0, len(X), size) for error in parts.feed(form(X[a : a + size]))]
    assert found == averages
    assert len(averages) == 3
    for name, array in whole.state().items():
        np.testing.assert_array_equal(parts.state()[name], array)
    assert parts.error == whole.error


def test_a_state_continues_with_the_same_bits() -> None:
    whole, first, second = (learner(batch_size=300) for _ in range(3))
    list(whole.feed(X))
    list(first.feed(X[:450]))
    kept = {name: array.copy() for name, array in first.state().items()}
    list(first.feed(X[450:500]))  # what comes later does not reach into the state
    second.restore(kept)
    third = pickle.loads(pickle.dumps(second))
    for other in (second, third):
        list(other.feed(X[450:]))
        np.testing.assert_array_equal(other.H, whole.H)
        np.testing.assert_array_equal(other.Et, whole.Et)
        assert (other.seen, other.error) == (whole.seen, whole.error)


def test_progress() -> None:
    made = learner(batch_size=400)
    steps = list(conservative(pw.open_source(X), made, passes=2))
    assert [step.details["samples"] for step in steps] == [0, 400, 800, 1200, 1600, 2000]
    assert steps[0].objective == 1.0
    assert not steps[0].components.any()
    assert made.seen == 2000
    np.testing.assert_array_equal(steps[-1].components, made.features)
    assert len(list(conservative(pw.open_source(X), learner(batch_size=400), passes=50, tol=0.5))) < 10


def test_shuffled_passes_differ_and_are_reproducible() -> None:
    def found(seed: int | None) -> np.ndarray:
        made = learner()
        rng = None if seed is None else np.random.default_rng(seed)
        *_, last = conservative(pw.open_source(X), made, passes=2, rng=rng)
        return last.components

    np.testing.assert_array_equal(found(1), found(1))
    assert not np.array_equal(found(1), found(None))


def test_a_batch_of_nothing_has_no_average() -> None:
    made = learner(batch_size=2)
    assert np.isnan(list(made.feed(np.zeros((2, X.shape[1]))))).all()
    assert (made.seen, made.skipped) == (2, 2)


def test_decay() -> None:
    np.testing.assert_allclose(Decay.of((2.0, 10.0, 0.5), "w")([0, 10, 30]), [2.0, 2.0 / 2**0.5, 1.0])
    np.testing.assert_array_equal(Decay.of(3, "w")([0, 1e9]), [3.0, 3.0])
    for bad in (0, -1, "x", (1, 0), (1, 2, 3, 4), [], np.nan, None):
        with pytest.raises(InputError, match="w must be a positive number"):
            Decay.of(bad, "w")
    with pytest.raises(InputError, match="the first at most 1"):
        Decay.of(1.5, "relaxation", 1.0)
