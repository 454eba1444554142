"""Moments of normals above zero against SciPy, and of weights under the spike-and-slab prior by quadrature."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import log_ndtr

from partwise.kernels.bayes import _FAR, _above_zero, sweep


def hazard(a: float) -> float:
    return float(np.exp(stats.norm.logpdf(a) - log_ndtr(-a)))


@pytest.mark.parametrize("s", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("ratio", [-40.0, -8.0, -3.0, -1.0, 0.0, 0.5, 3.0, 8.0, 20.0])
def test_moments_above_zero(ratio: float, s: float) -> None:
    mean, variance, rate = _above_zero(-ratio * s, s)
    expected = stats.truncnorm(ratio, np.inf, loc=-ratio * s, scale=s)
    assert mean == pytest.approx(expected.mean(), rel=1e-8)
    # SciPy's own variance loses digits where the mean is far
    assert variance == pytest.approx(expected.var(), rel=1e-5)
    assert rate == pytest.approx(hazard(ratio), rel=1e-10)


def by_quadrature(a: float) -> tuple[float, float]:
    """Mean and variance of a standard normal above a, minus a: the density is exp(-a t - t^2/2), in units of 1/a."""

    def moment(p: int) -> float:
        return float(integrate.quad(lambda u: u**p * np.exp(-u - 0.5 * (u / a) ** 2), 0, 60, epsabs=0, epsrel=1e-12)[0])

    zero, one, two = (moment(p) for p in range(3))
    return one / zero / a, (two / zero - (one / zero) ** 2) / a**2


@pytest.mark.parametrize(
    "a", [5.0, 20.0, 24.9, _FAR - 1e-9, _FAR, _FAR + 1e-9, 25.1, 30.0, 37.0, 38.5, 100.0, 1e4, 1e9]
)
def test_moments_far_above_zero(a: float) -> None:
    mean, variance, rate = _above_zero(-a, 1.0)
    expected = by_quadrature(a)
    assert mean == pytest.approx(expected[0], rel=1e-7)
    assert variance == pytest.approx(expected[1], rel=3e-6)
    assert rate == pytest.approx(a + expected[0], rel=1e-9)


def test_the_switch_makes_no_step() -> None:
    below, above = _above_zero(-np.nextafter(_FAR, 0.0), 1.0), _above_zero(-np.nextafter(_FAR, 99.0), 1.0)
    np.testing.assert_allclose(below, above, rtol=5e-6)


def posterior(b: float, s: float, rate: float, share: float) -> tuple[float, float, float]:
    """Mean, variance and odds of w under (1 - share) delta_0 + share Exp(rate) and N(b; w, s^2), by integration."""

    def slab(w: float, p: int) -> float:
        return w**p * rate * np.exp(-rate * w - 0.5 * ((b - w) / s) ** 2)

    top = max(b, 0.0)
    spots = sorted({max(0.0, top - 8 * s), top, max(0.0, b - rate * s * s)})
    pieces = [0.0, *spots, top + 12 * s]
    moments = [
        sum(
            integrate.quad(slab, x, y, args=(p,), epsabs=0, epsrel=1e-11, limit=200)[0]
            for x, y in pairwise(pieces)
            if y > x
        )
        for p in range(3)
    ]
    slab_mass, spike = share * moments[0], (1.0 - share) * np.exp(-0.5 * (b / s) ** 2)
    p = slab_mass / (slab_mass + spike)
    mean = p * moments[1] / moments[0]
    return mean, p * moments[2] / moments[0] - mean**2, p


@pytest.mark.parametrize("share", [0.001, 0.3, 0.999])
@pytest.mark.parametrize("rate", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("b", [-2.0, 0.0, 0.3, 1.0, 5.0])
def test_one_weight_is_its_posterior(b: float, rate: float, share: float) -> None:
    G, noise = 2.5, 0.4
    W, V = np.array([[7.0]]), np.array([[7.0]])  # where it starts does not matter
    above = sweep(np.array([[b * G]]), np.array([[G]]), np.array([noise]), rate, share, 1, W, V)
    mean, variance, p = posterior(b, np.sqrt(noise / G), rate, share)
    assert W[0, 0] == pytest.approx(mean, rel=1e-8)
    assert V[0, 0] == pytest.approx(variance, rel=1e-7)
    assert above == pytest.approx(p, rel=1e-8)


def literal_sweep(XHt, HHt, noise, rate, share, sweeps, W, V):  # type: ignore[no-untyped-def]
    for i in range(len(W)):
        for _ in range(sweeps):
            above = 0.0
            for j in range(W.shape[1]):
                b = (XHt[i, j] - HHt[j] @ W[i] + HHt[j, j] * W[i, j]) / HHt[j, j]
                s = np.sqrt(noise[i] / HHt[j, j])
                slab = stats.truncnorm((rate * s * s - b) / s, np.inf, loc=b - rate * s * s, scale=s)
                p = share * rate * s / (share * rate * s + (1 - share) * hazard((rate * s * s - b) / s))
                W[i, j] = p * slab.mean()
                V[i, j] = p * (slab.var() + slab.mean() ** 2) - W[i, j] ** 2
                above += p
        yield above


@pytest.mark.parametrize("sweeps", [1, 3])
def test_sweeps_over_many_weights(sweeps: int) -> None:
    rng = np.random.default_rng(0)
    H = rng.random((4, 9))
    X = rng.random((6, 4)) @ H + 0.1 * rng.standard_normal((6, 9))
    args = X @ H.T, H @ H.T, rng.uniform(0.01, 0.1, 6), 2.0, 0.4, sweeps
    W, V = rng.random((6, 4)), np.zeros((6, 4))
    expected_W, expected_V = W.copy(), V.copy()
    above = sweep(*args, W, V)
    expected = sum(literal_sweep(*args, expected_W, expected_V))
    np.testing.assert_allclose(W, expected_W, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(V, expected_V, rtol=1e-6, atol=1e-12)
    assert above == pytest.approx(expected, rel=1e-8)


def test_a_component_of_zeros_has_no_weights() -> None:
    W, V = np.ones((2, 2)), np.ones((2, 2))
    above = sweep(np.array([[1.0, 0.0], [2.0, 0.0]]), np.diag([1.0, 0.0]), np.ones(2), 1.0, 0.5, 2, W, V)
    assert not W[:, 1].any()
    assert not V[:, 1].any()
    assert (W[:, 0] > 0).all()
    assert 0.0 < above < 2.0


def test_there_are_no_records() -> None:
    assert sweep(np.empty((0, 2)), np.eye(2), np.empty(0), 1.0, 0.5, 2, np.empty((0, 2)), np.empty((0, 2))) == 0.0


def test_variances_and_shares_are_never_out_of_range() -> None:
    rng = np.random.default_rng(1)
    W, V = np.zeros((200, 3)), np.zeros((200, 3))
    XHt = rng.standard_normal((200, 3)) * 10.0 ** rng.uniform(-3, 6, (200, 3))
    above = sweep(XHt, np.eye(3), 10.0 ** rng.uniform(-8, 2, 200), 1.0, 0.2, 2, W, V)
    assert np.isfinite(W).all()
    assert (W >= 0).all()
    assert (V >= 0).all()
    assert 0 < above < W.size
