from __future__ import annotations

import numpy as np
import pytest

from partwise.datasets import make_binary_mixtures, make_digit_mixtures
from partwise.exceptions import DataNotFoundError, InputError


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
