from __future__ import annotations

import numpy as np
import pytest

from partwise.datasets import (
    add_adversarial_noise,
    add_correlated_noise,
    add_corruption,
    add_gaussian_noise,
    add_multinomial_noise,
    add_unbiased_noise,
    make_binary_mixtures,
    make_dominant,
    make_separable,
    make_topics,
)
from partwise.exceptions import InputError

ADDERS = {
    "gaussian": lambda m, seed: add_gaussian_noise(m, 0.5, random_state=seed),
    "gaussian clipped": lambda m, seed: add_gaussian_noise(m, 0.5, clip=True, random_state=seed),
    "multinomial": lambda m, seed: add_multinomial_noise(m, 10, random_state=seed),
    "mirror": lambda m, seed: add_adversarial_noise(m, 0.01),
    "absent": lambda m, seed: add_adversarial_noise(m, 0.01, pattern="absent"),
    "constant": lambda m, seed: add_adversarial_noise(m, 0.01, pattern="constant"),
    "sign": lambda m, seed: add_unbiased_noise(m, 0.01, random_state=seed),
    "uniform": lambda m, seed: add_unbiased_noise(m, 0.01, kind="uniform", random_state=seed),
    "correlated": lambda m, seed: add_correlated_noise(m, 0.01, random_state=seed),
    "corrupted": lambda m, seed: add_corruption(m, 0.1, random_state=seed),
    "signal": lambda m, seed: add_unbiased_noise(m, 0.01, kind="signal", random_state=seed),
}


@pytest.mark.parametrize("add", ADDERS.values(), ids=ADDERS.keys())
def test_identity_seed_and_untouched_input(add):
    clean = make_dominant(random_state=0)
    before = [clean.X.copy(), clean.components.copy(), clean.weights.copy()]
    noisy = add(clean, 1)
    for old, new in zip(before, [clean.X, clean.components, clean.weights], strict=True):
        np.testing.assert_array_equal(old, new)
    assert clean.noise is None
    np.testing.assert_allclose(noisy.X, noisy.weights @ noisy.components + noisy.noise, atol=1e-16)
    np.testing.assert_array_equal(noisy.X, add(clean, 1).X)
    assert noisy.dominant_features is clean.dominant_features  # what else is known stays
    assert np.abs(noisy.noise).max() > 0


@pytest.mark.parametrize("level", [0.5, 1.0, 2.0])
def test_gaussian_norms(level):
    clean = make_separable(random_state=0)
    noisy = add_gaussian_noise(clean, level, random_state=0)
    ratios = np.linalg.norm(noisy.noise, axis=1) / np.linalg.norm(clean.X, axis=1)
    assert ratios.mean() == pytest.approx(level, rel=0.02)
    assert ratios.std() < 0.2 * level  # record by record, not only on average
    assert add_gaussian_noise(clean, level, clip=True).X.min() == 0


def test_noise_adds_up_and_level_stays_with_the_signal():
    clean = make_separable(random_state=0)
    once = add_gaussian_noise(clean, 2.0, random_state=0)
    twice = add_gaussian_noise(once, 2.0, random_state=1)
    np.testing.assert_allclose(twice.X - clean.X, twice.noise)
    assert np.linalg.norm(twice.noise) == pytest.approx(2 * np.sqrt(2) * np.linalg.norm(clean.X), rel=0.03)


@pytest.mark.parametrize("draws", [10, 60, 100])
def test_multinomial(draws):
    clean = make_separable(random_state=0)
    noisy = add_multinomial_noise(clean, draws, random_state=0)
    np.testing.assert_allclose(noisy.components.sum(axis=1), 1.0)
    np.testing.assert_allclose(noisy.weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(noisy.X.sum(axis=1), 1.0)
    np.testing.assert_allclose(noisy.X * draws, np.round(noisy.X * draws), atol=1e-9)
    # variance p(1 - p)/draws of each entry
    p = noisy.weights @ noisy.components
    assert np.sum(noisy.noise**2) == pytest.approx(np.sum(p * (1 - p)) / draws, rel=0.05)


@pytest.mark.parametrize("pattern", ["mirror", "absent", "constant"])
def test_adversarial_noise_is_at_the_bound(pattern):
    noisy = add_adversarial_noise(make_binary_mixtures(n_samples=200, random_state=0), 0.02, pattern=pattern)
    np.testing.assert_array_equal(np.abs(noisy.noise), 0.02)


def test_mirror_is_the_worst_noise_for_the_decoder():
    clean = make_binary_mixtures(n_samples=300, random_state=0)
    P = np.linalg.pinv(clean.components)
    target = 1 - 2 * clean.weights

    def damage(mixture):
        return np.sum((mixture.noise @ P) * target)

    worst = damage(add_adversarial_noise(clean, 0.01))
    others = [
        add_adversarial_noise(clean, 0.01, pattern="absent"),
        add_adversarial_noise(clean, 0.01, pattern="constant"),
        add_unbiased_noise(clean, 0.01, random_state=0),
    ]
    assert all(worst > damage(other) for other in others)
    # absent components appear, present ones fade
    shift = add_adversarial_noise(clean, 0.01).noise @ P
    assert shift[clean.weights == 0].mean() > 0 > shift[clean.weights == 1].mean()


def test_absent_pattern_moves_away_from_present_features():
    clean = make_binary_mixtures(n_samples=300, random_state=0)
    noise = add_adversarial_noise(clean, 1.0, pattern="absent").noise
    active = clean.weights.sum(axis=1) > 0
    centred = clean.X[active] - clean.X[active].mean(axis=1, keepdims=True)
    assert np.mean(np.sum(noise[active] * centred, axis=1) < 0) == 1.0


@pytest.mark.parametrize("kind", ["sign", "uniform", "signal"])
def test_unbiased_noise_is_bounded_and_centred_given_the_weights(kind):
    clean = make_binary_mixtures(n_samples=20000, n_features=20, n_components=3, n_active=1, random_state=0)
    noise = add_unbiased_noise(clean, 0.5, kind=kind, random_state=0).noise
    assert np.abs(noise).max() <= 0.5
    for pattern in np.unique(clean.weights, axis=0):
        rows = (clean.weights == pattern).all(axis=1)
        error = noise[rows].std(axis=0) / np.sqrt(rows.sum())
        assert (np.abs(noise[rows].mean(axis=0)) <= 5 * error + 1e-15).all()


def test_signal_noise_depends_on_the_weights():
    clean = make_binary_mixtures(n_samples=2000, random_state=0)
    noise = add_unbiased_noise(clean, 0.5, kind="signal", random_state=0).noise
    np.testing.assert_allclose(np.abs(noise), 0.5 * clean.X / clean.X.max(), atol=1e-15)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda m: add_gaussian_noise(m, -1.0), "level"),
        (lambda m: add_multinomial_noise(m, 0), "n_draws"),
        (lambda m: add_multinomial_noise(add_gaussian_noise(m, 1.0), 10), "noise"),
        (lambda m: add_adversarial_noise(m, np.inf), "level"),
        (lambda m: add_adversarial_noise(m, 0.1, pattern="evil"), "pattern"),
        (lambda m: add_unbiased_noise(m, 0.1, kind="cauchy"), "kind"),
    ],
)
def test_bad_arguments_are_named(call, word):
    with pytest.raises(InputError, match=word):
        call(make_separable(random_state=0))


def test_multinomial_noise_needs_distributions():
    signed = make_topics("neg", n_samples=5, n_features=20, n_components=3, random_state=0)
    with pytest.raises(InputError, match="components"):
        add_multinomial_noise(signed)
    empty = make_binary_mixtures(n_samples=500, random_state=0)
    with pytest.raises(InputError, match="weights"):
        add_multinomial_noise(empty)


def test_correlated_noise_has_the_covariance_it_says() -> None:
    mixture = make_dominant(n_samples=40_000, n_features=8, n_components=2, n_dominant=1, random_state=0)
    noisy = add_correlated_noise(mixture, 0.3, random_state=1)
    np.testing.assert_allclose(noisy.X, noisy.signal + noisy.noise)
    C = noisy.noise.T @ noisy.noise / 40_000
    values, vectors = np.linalg.eigh(C)
    # the strongest direction is a vector of signs and has the level; the others have the mean of u^2, a third, of it
    assert values[-1] == pytest.approx(0.09, rel=0.03)
    np.testing.assert_allclose(np.abs(vectors[:, -1]), 1 / np.sqrt(8), rtol=0.05)
    np.testing.assert_allclose(values[:-1], 0.03, rtol=0.08)
    plain = add_correlated_noise(mixture, 0.3, spread=0.0, random_state=1)
    np.testing.assert_allclose(plain.noise.T @ plain.noise / 40_000, 0.09 * np.eye(8), atol=0.003)


@pytest.mark.parametrize("pattern", ["spike", "occlude"])
def test_corruption_is_of_few_records_and_of_its_size(pattern: str) -> None:
    mixture = make_dominant(n_samples=100, random_state=0)
    noisy = add_corruption(mixture, 0.07, size=0.4, pattern=pattern, random_state=0)
    norms = np.abs(noisy.noise).sum(axis=1)
    assert (norms > 0).sum() == 7
    np.testing.assert_allclose(norms[norms > 0], 0.4)
    hit = np.flatnonzero(norms)
    if pattern == "spike":
        assert len(set(np.nonzero(noisy.noise)[1].tolist())) == 1
    else:
        assert (noisy.X >= 0.0).all()
        x, y = mixture.X[hit[0]], noisy.X[hit[0]]
        gone = (y == 0.0) & (x > 0.0)
        assert x[gone].min() >= x[~gone].max() - 0.4  # the largest first; one is cut in part


def test_whole_records_can_be_hidden() -> None:
    mixture = make_dominant(n_samples=20, random_state=0)
    assert not add_corruption(mixture, 1.0, size=2.0, pattern="occlude").X.any()


def test_what_correlated_noise_and_corruption_refuse() -> None:
    mixture = make_dominant(random_state=0)
    with pytest.raises(InputError, match="spread"):
        add_correlated_noise(mixture, 1.0, spread=1.5)
    with pytest.raises(InputError, match="share"):
        add_corruption(mixture, 1.5)
