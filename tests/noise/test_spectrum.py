"""The law of the singular values of white noise, and scales that lead to it, against slow references."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from partwise.noise.scales import balance, regression_variances, whiten
from partwise.noise.spectrum import _distribution, edge, spectrum_of


@pytest.mark.parametrize("beta", [1.0, 0.5, 0.1])
def test_the_law_of_marchenko_and_pastur(beta: float) -> None:
    low, high = (1.0 - np.sqrt(beta)) ** 2, (1.0 + np.sqrt(beta)) ** 2

    def density(x: float) -> float:
        return float(np.sqrt(max((high - x) * (x - low), 0.0)) / (2.0 * np.pi * beta * x))

    for x in np.linspace(low, high, 7)[1:]:
        expected = quad(density, low, x, limit=200)[0]
        assert _distribution(np.array([x]), beta)[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("shape", [(40, 90), (90, 40), (60, 60)])
@pytest.mark.parametrize("small", [1.0, 1e-9], ids=["plain", "ill-conditioned"])
def test_singular_values_and_vectors(shape: tuple[int, int], small: float) -> None:
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1])) + small * rng.standard_normal(shape)
    found = spectrum_of(Y)
    expected = np.linalg.svd(Y, compute_uv=False)
    np.testing.assert_allclose(found.values, expected, rtol=1e-6, atol=1e-14 * expected[0])
    np.testing.assert_allclose((found.left * found.values) @ found.right, Y, atol=1e-12 * expected[0])
    assert found.shape == shape


@pytest.mark.parametrize("shape", [(60, 200), (150, 100)])
def test_white_noise_agrees_and_other_noise_does_not(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    chances = []
    for _ in range(20):
        Z = rng.standard_normal(shape)
        white = spectrum_of(Z)
        assert white.count() == 0
        assert white.values[0] ** 2 < edge(*shape)
        chances.append(white.chance(0))
        assert spectrum_of(Z * np.exp(0.7 * rng.standard_normal(shape[1]))).chance(0) < 1e-4
    assert min(chances) > 1e-3
    assert max(chances) > 0.5


def test_signal_is_counted() -> None:
    rng = np.random.default_rng(2)
    S = rng.random((100, 6)) @ rng.random((6, 150))
    assert spectrum_of(S + 0.05 * rng.standard_normal(S.shape)).count() == 6


def test_colour_is_one_for_white_noise_and_that_of_a_part_that_is_left() -> None:
    rng = np.random.default_rng(2)
    S = np.outer(rng.standard_normal(100), rng.standard_normal(150))
    found = spectrum_of(S + 0.1 * rng.standard_normal(S.shape))
    assert found.colour(1) == pytest.approx(1.0, abs=0.05)
    assert found.colour(0) > 3.0


def test_balanced_variances() -> None:
    rng = np.random.default_rng(0)
    V = rng.random((30, 50)) + 0.01
    u, v = balance(V)
    scaled = V / u[:, None] / v
    np.testing.assert_allclose(scaled.mean(axis=0), 1.0, rtol=1e-5)
    np.testing.assert_allclose(scaled.mean(axis=1), 1.0, rtol=1e-5)
    u, v = balance(V, columns=False)
    np.testing.assert_allclose(u, V.mean(axis=1))
    assert (v == 1.0).all()


@pytest.mark.parametrize("level", [0.1, 1e-6], ids=["plain", "ill-conditioned"])
def test_regressions_find_the_noise_of_columns_without_a_rank(level: float) -> None:
    rng = np.random.default_rng(0)
    sizes = level * np.exp(0.7 * rng.standard_normal(60))
    X = rng.random((400, 5)) @ rng.random((5, 60)) + sizes * rng.standard_normal((400, 60))
    found = np.sqrt(regression_variances(X))
    # against the definition: the residual of least squares on the other columns of the same group
    others = np.delete(X, 0, axis=1)
    residual = X[:, 0] - others @ np.linalg.lstsq(others, X[:, 0], rcond=None)[0]
    assert found[0] == pytest.approx(np.linalg.norm(residual) / np.sqrt(400 - 59), rel=1e-3)
    # a start: the others predict a column with their own noise, so that those of little noise come out too large
    errors = np.abs(np.log(found / sizes))
    assert np.median(errors) < 0.1
    assert errors.max() < np.log(2.0)


def test_whitening_finds_the_rank_beside_noise_of_all_sizes() -> None:
    rng = np.random.default_rng(0)
    rows, columns = np.exp(rng.standard_normal(200)), np.exp(rng.standard_normal(150))
    X = rng.random((200, 5)) @ rng.random((5, 150)) + 0.02 * rows[:, None] * columns * rng.standard_normal((200, 150))
    assert spectrum_of(X).count() > 5  # what it is without scales
    found = whiten(X, None)
    assert found.k == 5
    assert found.spectrum.chance(5) > 1e-3
    assert found.spectrum.variance(5) == pytest.approx(1.0)
