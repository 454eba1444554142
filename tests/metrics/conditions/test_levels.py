"""Lemmas 1 to 4: noise at the levels that are computed, against what the noise itself does."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.datasets import add_correlated_noise, add_corruption, add_multinomial_noise, make_dominant
from partwise.exceptions import InputError
from partwise.metrics import heavy_noise, heavy_noise_levels

SHAPES = pytest.mark.parametrize(("n", "d"), [(100, 100), (400, 50), (60, 300)])
EPS = 0.3


def mean_noise(noise: np.ndarray, eps: float = EPS) -> tuple[float, float]:
    found = heavy_noise(noise, eps4=eps, equation=2)
    return found.lower, found.upper


def noiseless(n: int, d: int):
    return make_dominant(n_samples=n, n_features=d, n_components=3, random_state=0)


@SHAPES
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_gaussian_noise_at_the_level_is_heavy_noise(n: int, d: int, spread: float) -> None:
    """Lemma 1, first part, and Lemma 2 with |Sigma|_2 of the order 1/d."""
    level = heavy_noise_levels(n, d, eps=EPS)
    assert level.covariance == pytest.approx(level.gaussian**2)
    noisy = add_correlated_noise(noiseless(n, d), level.gaussian, spread=spread, random_state=1)
    singular = np.linalg.norm(noisy.noise, 2)
    assert singular <= EPS**1.5 * np.sqrt(n / d)  # the inequality of Davidson and Szarek, as it is used
    lower, upper = mean_noise(noisy.noise)
    # the bound of heavy_noise is 5 to 10% above the spectral norm
    assert lower <= EPS
    assert upper <= 1.1 * EPS


@SHAPES
def test_gaussian_noise_of_one_over_root_d_is_not(n: int, d: int) -> None:
    noisy = add_correlated_noise(noiseless(n, d), 1.0 / np.sqrt(d), spread=0.0, random_state=1)
    assert mean_noise(noisy.noise)[0] > EPS


@pytest.mark.parametrize("d", [16, 256])
def test_lemma_2_as_printed(d: int) -> None:
    """Covariances of norm 0.01 / sqrt(d): the mean noise grows as the fourth root of d, beyond any eps."""
    noisy = add_correlated_noise(noiseless(400, d), 0.1 * d**-0.25, random_state=1)
    lower, _ = mean_noise(noisy.noise)
    assert lower >= 0.1 * d**0.25  # the mean of the largest 30% of a standard normal is 1.16


@SHAPES
def test_the_mean_record_is_as_far_off_as_computed(n: int, d: int) -> None:
    """Lemma 1, second part: one component, all weights 1, at the level where the error is eps in the mean."""
    sigma = heavy_noise_levels(n, d, eps=EPS).likelihood
    rng = np.random.default_rng(0)
    errors = [np.abs(sigma * rng.standard_normal((n, d)).mean(axis=0)).sum() for _ in range(30)]
    # the standard deviation of one is 0.75 eps / sqrt(d), of the mean of 30 a fifth of it
    assert np.mean(errors) == pytest.approx(EPS, rel=4 * 0.76 / np.sqrt(30 * d))


@SHAPES
def test_noise_that_is_seen_in_every_record(n: int, d: int) -> None:
    """Lemma 1, third part: at the level most records have noise as large as they are."""
    sigma = heavy_noise_levels(n, d, eps=EPS).visible
    norms = np.abs(sigma * np.random.default_rng(0).standard_normal((n, d))).sum(axis=1)
    assert (norms > 0.7).mean() > 0.95


def test_draws_of_lemma_3() -> None:
    eps = 0.5
    draws = heavy_noise_levels(400, 20, eps=eps).draws
    assert draws == 8 * 4 / 0.5**4
    noisy = add_multinomial_noise(noiseless(400, 20), int(draws), random_state=0)
    assert mean_noise(noisy.noise, eps)[1] <= eps
    few = add_multinomial_noise(noiseless(400, 20), 2, random_state=0)
    assert mean_noise(few.noise, eps)[0] > eps


@pytest.mark.parametrize("eps", [0.1, 0.2, 0.5])
def test_lemma_4_is_tight(eps: float) -> None:
    """All of eps n records, eps^2 n of them corrupted alike by 1: their mean noise is eps, and no more."""
    share = heavy_noise_levels(1000, 30, eps=eps).corrupted
    noisy = add_corruption(noiseless(1000, 30), share, random_state=0)
    lower, upper = mean_noise(noisy.noise, eps)
    assert lower == pytest.approx(eps)
    assert upper == pytest.approx(eps)
    more = add_corruption(noiseless(1000, 30), 1.5 * share, random_state=0)
    assert mean_noise(more.noise, eps)[0] == pytest.approx(1.5 * eps)


@pytest.mark.parametrize("given", [{"eps": 0.0}, {"eps": 1.0}, {"eps": 0.1, "c0": 0.0}, {"eps": 0.1, "n_samples": 0}])
def test_constants_that_make_no_sense(given: dict) -> None:
    with pytest.raises(InputError):
        heavy_noise_levels(**({"n_samples": 10, "n_features": 10} | given))
    with pytest.raises(InputError, match="equation"):
        heavy_noise(np.ones((3, 2)), equation=4)
