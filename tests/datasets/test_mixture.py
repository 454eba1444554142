from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from partwise.datasets import (
    make_binary_mixtures,
    make_digit_mixtures,
    make_dominant,
    make_independent_mixtures,
    make_laurberg,
    make_separable,
    make_topics,
)
from partwise.exceptions import InputError
from partwise.metrics import initialization
from partwise.starts import assumed

MAKERS = {
    "topics": lambda seed: make_topics(n_samples=30, n_features=50, n_components=5, random_state=seed),
    "separable": lambda seed: make_separable(random_state=seed),
    "pure samples": lambda seed: make_separable(axis="samples", random_state=seed),
    "dominant": lambda seed: make_dominant(random_state=seed),
    "binary": lambda seed: make_binary_mixtures(n_samples=50, random_state=seed),
    "signed": lambda seed: make_binary_mixtures(n_samples=50, signed=True, random_state=seed),
    "independent": lambda seed: make_independent_mixtures(n_samples=50, random_state=seed),
    "digits": lambda seed: make_digit_mixtures(n_samples=50, random_state=seed),
}


@pytest.fixture(params=MAKERS.values(), ids=MAKERS.keys())
def make(request):
    return request.param


def test_model_identity(make):
    mixture = make(0)
    np.testing.assert_array_equal(mixture.X, mixture.weights @ mixture.components)
    np.testing.assert_array_equal(mixture.signal, mixture.X)
    assert mixture.noise is None
    assert mixture.weights.min() >= 0
    n, m = mixture.X.shape
    assert mixture.weights.shape == (n, mixture.components.shape[0])
    assert mixture.components.shape[1] == m
    assert np.linalg.matrix_rank(mixture.components) == mixture.components.shape[0]


def test_seeds(make):
    np.testing.assert_array_equal(make(3).X, make(3).X)
    assert not np.array_equal(make(3).X, make(4).X)
    for kind in (np.random.default_rng, np.random.RandomState):
        np.testing.assert_array_equal(make(kind(5)).X, make(kind(5)).X)
    assert np.isfinite(make(None).X).all()


def test_warm_start_is_the_papers():
    mixture = make_laurberg(0.3)
    start = mixture.warm_start(0.05, random_state=0)
    # A0 = A*(I + U), with components as rows: solve for U
    U = np.linalg.lstsq(mixture.components.T, start.T, rcond=None)[0] - np.eye(3)
    assert 0 < np.abs(U).max() <= 0.05
    # [A0]_i = (1 + U_ii) [A*]_i + sum_j U_ji [A*]_j
    i = 1
    expected = sum(((j == i) + U[j, i]) * mixture.components[j] for j in range(3))
    np.testing.assert_allclose(start[i], expected)
    np.testing.assert_array_equal(start, mixture.warm_start(random_state=0))
    with pytest.raises(InputError, match="level"):
        mixture.warm_start(-0.1)


def test_mixtures_are_frozen_and_short_to_print():
    mixture = make_laurberg()
    with pytest.raises(dataclasses.FrozenInstanceError):
        mixture.X = None
    assert repr(mixture) == "Mixture(n_samples=6, n_features=6, n_components=3, noiseless)"


@pytest.mark.parametrize("signs", ["mixed", "positive", "negative"])
@pytest.mark.parametrize("level", [0.0, 0.1])
def test_start_has_the_norms_asked_for(signs, level):
    mixture = make_binary_mixtures(n_samples=5, n_features=60, n_components=20, random_state=0)
    sigma = np.linspace(0.9, 1.1, 20)
    for norm in ("inf", "1"):
        start = mixture.start(level, sigma=sigma, signs=signs, outside=0.03, norm=norm, random_state=1)
        found = initialization(start, mixture.components, rescale=False, match=False)
        np.testing.assert_allclose(found.sigma, sigma, rtol=1e-10)
        np.testing.assert_allclose([found.E_s, found.E_1], level, atol=1e-11)
        assert {"inf": found.N_inf, "1": found.N_1}[norm] == pytest.approx(0.03, rel=1e-10)
        assert signs == "mixed" or (found.E * (1 if signs == "positive" else -1)).min() > -1e-11
        assert found.satisfies_purification  # l = 0.1, and Sigma >= 0.9
    plain = mixture.start(level, random_state=1)
    assert initialization(plain, mixture.components).N_1 < 1e-12
    np.testing.assert_array_equal(plain, mixture.start(level, random_state=1))


def test_warm_start_is_no_start_of_the_theorems():
    mixture = make_binary_mixtures(n_samples=5, random_state=0)
    assert initialization(mixture.warm_start(0.1, random_state=0), mixture.components).E_s > 1.0
    assert initialization(mixture.start(0.1, random_state=0), mixture.components).satisfies_purification


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"level": -1}, "level"),
        ({"signs": "odd"}, "signs"),
        ({"norm": "2"}, "norm"),
        ({"sigma": [1.0]}, "sigma"),
        ({"outside": -1}, "outside"),
    ],
)
def test_bad_starts(given, word):
    with pytest.raises(InputError, match=word):
        make_laurberg(0.3).start(**given)


def test_starts_that_cannot_be():
    with pytest.raises(InputError, match="single"):
        make_binary_mixtures(n_samples=3, n_features=3, n_components=1, n_active=1, random_state=0).start()
    square = make_binary_mixtures(n_samples=3, n_features=3, n_components=3, random_state=0)
    with pytest.raises(InputError, match="outside"):
        square.start(outside=0.1)
    with pytest.raises(InputError, match="outside"):
        assumed(np.ones((3, 2)), outside=0.1)
    with pytest.raises(InputError, match="truth"):
        assumed([1.0, 2.0])
