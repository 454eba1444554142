from __future__ import annotations

import numpy as np
import pytest

from partwise.datasets import make_binary_mixtures, make_digit_mixtures, make_independent_mixtures
from partwise.exceptions import DataNotFoundError, InputError
from partwise.linalg import left_inverse
from partwise.metrics import independence, moment_constants


def test_binary_is_purifications_model():
    mixture = make_binary_mixtures(random_state=0)
    assert mixture.X.shape == (20000, 200)
    assert mixture.components.shape == (30, 200)
    assert set(np.unique(mixture.weights)) == {0.0, 1.0}
    # Bernoulli(s/k), independent
    np.testing.assert_allclose(mixture.weights.mean(axis=0), 0.1, atol=0.01)
    np.testing.assert_allclose(np.corrcoef(mixture.weights.T), np.eye(30), atol=0.04)
    np.testing.assert_allclose(np.abs(mixture.components).sum(axis=1), 1.0)
    assert mixture.components.min() >= 0


def test_signed_components():
    H = make_binary_mixtures(n_samples=2, signed=True, random_state=0).components
    np.testing.assert_allclose(np.abs(H).sum(axis=1), 1.0)
    assert np.mean(H < 0) == pytest.approx(0.5, abs=0.03)


def test_digit_mixtures():
    mixture = make_digit_mixtures(random_state=0)
    assert mixture.X.shape == (10000, 64)
    assert mixture.image_shape == (8, 8)
    H, W = mixture.components, mixture.weights
    assert H.shape == (30, 64)
    assert H.min() == 0
    assert H.max() == 1
    assert np.linalg.cond(H) < 1e3  # independent, and not barely so
    assert ((W > 0).sum(axis=1) == 8).all()
    np.testing.assert_allclose(W.mean(axis=0), 0.5 * 8 / 30, atol=0.01)
    assert W.max() < 1


def test_digit_mixtures_to_the_last_independent_image():
    assert make_digit_mixtures(n_samples=2, n_components=50, random_state=0).components.shape == (50, 64)
    with pytest.raises(InputError, match="n_components"):
        make_digit_mixtures(n_samples=2, n_components=64, random_state=0)


def test_mnist_mixtures_are_elsers(data_home):
    mixture = make_digit_mixtures("mnist", n_samples=100, data_home=data_home, random_state=0)
    assert mixture.components.shape == (64, 784)
    assert mixture.image_shape == (28, 28)
    assert np.linalg.matrix_rank(mixture.components) == 64
    assert mixture.components.max() == 1


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: make_binary_mixtures(n_features=5, n_components=10), "n_features"),
        (lambda: make_binary_mixtures(n_active=31), "n_active"),
        (lambda: make_binary_mixtures(n_active=0), "n_active"),
        (lambda: make_digit_mixtures("letters"), "source"),
        (lambda: make_digit_mixtures(per_sample=31), "per_sample"),
        (lambda: make_digit_mixtures(n_samples=True), "n_samples"),
    ],
)
def test_bad_arguments_are_named(call, word):
    with pytest.raises(InputError, match=word):
        call()


def test_missing_mnist_is_said(tmp_path):
    with pytest.raises(DataNotFoundError, match="train-images"):
        make_digit_mixtures("mnist", data_home=tmp_path)


@pytest.mark.parametrize("vary", ["proportions", "laws"])
def test_independent_weights_have_the_moments_asked_for(vary):
    k, n = 10, 200_000
    W = make_independent_mixtures(
        n_samples=n, n_features=k, n_components=k, first=1.8, second=(0.75, 1.5), vary=vary, random_state=0
    ).weights
    assert W.min() == 0
    assert W.max() <= 1
    # weights are in [0, 1], so the error of a mean is at most 1 / (2 sqrt(n)); five of them
    np.testing.assert_allclose((W**2).mean(axis=0), np.geomspace(0.75, 1.5, k) / k, atol=2.5 / np.sqrt(n))
    expected = np.geomspace(0.9, 1.8, k) / k if vary == "proportions" else np.full(k, 1.8 / k)
    np.testing.assert_allclose(W.mean(axis=0), expected, atol=2.5 / np.sqrt(n))
    found = moment_constants(W, scale=1.0)
    assert (found.C1, found.c2, found.C2) == pytest.approx((1.8, 0.75, 1.5), abs=0.06)
    assert found.in_unit_interval
    assert independence(W).holds
    shares = (W > 0).mean(axis=0)
    alike = [W[W[:, i] > 0, i].mean() for i in (0, k - 1)]
    if vary == "proportions":  # twice as often, of the same size
        assert shares[-1] / shares[0] == pytest.approx(2.0, abs=0.1)
        assert alike[0] == pytest.approx(alike[1], abs=0.02)
    else:
        assert alike[1] / alike[0] > 1.5


def test_equal_moments_are_binary_weights():
    W = make_independent_mixtures(n_samples=500, first=3.0, second=(3.0, 3.0), random_state=0).weights
    assert set(np.unique(W)) == {0.0, 1.0}
    assert W.mean() == pytest.approx(0.1, abs=0.01)


def test_concentrated_components_have_short_inverses():
    wide, narrow = (
        make_binary_mixtures(n_samples=2, concentration=value, random_state=0).components for value in (1.0, 0.02)
    )
    np.testing.assert_allclose(narrow.sum(axis=1), 1.0)
    assert (
        left_inverse(narrow, return_certificate=True)[1].norm
        < 0.2 * left_inverse(wide, return_certificate=True)[1].norm
    )


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"second": (2.0, 1.0)}, "second"),
        ({"second": 1.0}, "second"),
        ({"first": 1.0}, "second"),
        ({"first": 20.0, "second": (1.0, 2.0)}, "width"),
        ({"first": 31.0, "second": (30.0, 30.0)}, "first"),
        ({"vary": "both"}, "vary"),
        ({"width": 1.0}, "width"),
        ({"n_features": 2}, "n_features"),
        ({"concentration": 0.0}, "concentration"),
    ],
)
def test_moments_that_cannot_be(given, word):
    with pytest.raises(InputError, match=word):
        make_independent_mixtures(n_samples=5, **given)
