"""The largest mean noise, against enumeration of all sets."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from partwise.datasets import add_gaussian_noise, add_multinomial_noise, make_dominant
from partwise.metrics import (
    heavy_noise,
    normalize_factors,
)
from partwise.metrics.conditions.noise import Noise, _norms
from tests.metrics.conditions.samples import FORMS, draw_noise

INF = float("inf")


def exact_noise(N: np.ndarray, eps4: float) -> float:
    """The largest mean noise over all sets that D4 is about."""
    n = len(N)
    means = [
        np.abs(N[list(T)].mean(axis=0)).sum()
        for size in range(max(1, int(np.ceil(eps4 * n - 1e-9))), n + 1)
        for T in combinations(range(n), size)
    ]
    return float(max(means))


SIZES = [(10, 3, 0.3), (10, 6, 0.4), (8, 1, 0.25), (9, 30, 0.1), (7, 4, 1.0)]
SIZE_NAMES = ["few-features", "more-features", "one-feature", "one-record", "all-records"]


class TestHeavyNoise:
    @pytest.mark.parametrize("kind", ["gaussian", "rank-one", "few-records", "features"])
    @pytest.mark.parametrize(("n", "m", "eps4"), SIZES, ids=SIZE_NAMES)
    def test_enumeration(self, kind: str, n: int, m: int, eps4: float) -> None:
        N = draw_noise(kind, n, m, seed=n + m)
        exact, found = exact_noise(N, eps4), heavy_noise(N, eps4=eps4)
        assert found.sampled <= found.lower * (1 + 1e-9)
        assert found.lower <= exact * (1 + 1e-9)
        assert exact <= found.upper * (1 + 1e-9)

    @pytest.mark.parametrize(("n", "m", "eps4"), [(10, 3, 0.3), (10, 8, 0.4), (11, 20, 0.2)], ids=["3", "8", "20"])
    def test_search_finds_the_largest_nearly_always(self, n: int, m: int, eps4: float) -> None:
        noises = [draw_noise("gaussian", n, m, seed) for seed in range(10)]
        missed = [heavy_noise(N, eps4=eps4, n_starts=40).lower < exact_noise(N, eps4) * (1 - 1e-9) for N in noises]
        assert sum(missed) <= 1

    @pytest.mark.parametrize(
        ("N", "eps4", "largest"),
        [
            (np.outer([1.0, 2.0, 3.0, 4.0], [1.0, -1.0]), 0.5, 7.0),
            (np.array([[5.0, 0.0], [0.0, -3.0], [1.0, 1.0]]), 0.0, 5.0),
            (np.array([[1.0], [-4.0], [-6.0]]), 0.6, 5.0),
            (np.zeros((4, 3)), 0.5, 0.0),
        ],
        ids=["rank-one", "one-record", "one-feature", "none"],
    )
    def test_bounds_meet(self, N: np.ndarray, eps4: float, largest: float) -> None:
        found = heavy_noise(N, eps4=eps4)
        assert (found.lower, found.upper) == pytest.approx((largest, largest))

    @pytest.mark.parametrize("kind", ["gaussian", "rank-one", "few-records", "features"])
    def test_spectral_norm(self, kind: str) -> None:
        N = draw_noise(kind, 40, 25, seed=0)
        d = np.random.default_rng(1).uniform(0.5, 2.0, (25, 2))
        noise = Noise.of("N", N, np.zeros((40, 0)), np.zeros((0, 25)), np.ones(40))
        ratios = _norms(noise, d, np.random.default_rng(2)) / [np.linalg.norm(N / d[:, i], 2) for i in range(2)]
        assert ((ratios >= 1.0) & (ratios < 1.12)).all()

    def test_search_is_sharper_than_samples(self) -> None:
        found = heavy_noise(draw_noise("gaussian", 400, 20, seed=0), eps4=0.1)
        assert found.lower > 2.0 * found.sampled
        assert found.upper < 3.0 * found.lower

    def test_least_eps4(self) -> None:
        N = 0.1 * draw_noise("gaussian", 200, 20, seed=0)
        found = heavy_noise(N)
        assert found.least_lower < found.least_upper < 1.0
        assert heavy_noise(N, eps4=found.least_upper * 1.0001).holds is True
        assert heavy_noise(N, eps4=found.least_lower * 0.9999).holds is False
        assert heavy_noise(N, eps4=found.least_upper * 0.98).holds is None
        assert heavy_noise(np.ones((4, 2))).least_upper == INF

    @pytest.mark.parametrize("t", [1, 7, 100])
    def test_size(self, t: int) -> None:
        assert heavy_noise(np.ones((100, 2)), eps4=t / 100).size == t
        assert heavy_noise(np.ones((100, 2)), eps4=(t - 0.5) / 100).size == t

    def test_few_corrupted_records(self) -> None:
        """Lemma 4: with at most eps**2 of the records corrupted, up to norm 1, the mean is at most eps."""
        eps, N = 0.2, np.zeros((500, 10))
        N[:20] = np.random.default_rng(0).dirichlet(np.ones(10), size=20)
        assert heavy_noise(N, eps4=eps).upper <= eps * (1 + 1e-9)

    def test_fewer_draws_are_more_noise(self) -> None:
        truth = make_dominant(n_samples=300, random_state=0)
        found = [heavy_noise(add_multinomial_noise(truth, m, random_state=0).noise) for m in (10, 60, 1000)]
        assert found[0].lower > found[1].lower > found[2].lower
        assert found[0].upper > found[1].upper > found[2].upper

    @FORMS
    @pytest.mark.parametrize("normalize", ["rows", "common", None])
    def test_forms_of_the_data(self, form: Any, normalize: Any) -> None:
        mixture = make_dominant(n_samples=30, n_features=20, n_components=3, random_state=0)
        noisy = add_gaussian_noise(mixture, 0.5, clip=True, random_state=0)
        W, H = 3.0 * noisy.weights, noisy.components * [[1.0], [5.0], [0.2]]
        scales = normalize_factors(H, W, normalize)[2]
        X = noisy.X.astype(np.float32).astype(np.float64)  # the same numbers in either
        N = (X - W @ H) / scales[:, None]
        expected, found = heavy_noise(N, eps4=0.2), heavy_noise(form(X), W, H, eps4=0.2, normalize=normalize)
        for name in ("lower", "upper", "sampled", "least_lower", "least_upper"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9)

    def test_few_columns_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        N = draw_noise("features", 30, 10, seed=0)
        whole = heavy_noise(N, eps4=0.1).upper
        monkeypatch.setattr("partwise.metrics.conditions.noise.CHUNK", 100)
        assert heavy_noise(N, eps4=0.1).upper == pytest.approx(whole, rel=1e-12)

    def test_float32(self) -> None:
        N = draw_noise("gaussian", 50, 10, seed=0).astype(np.float32)
        assert heavy_noise(N).upper == pytest.approx(heavy_noise(N.astype(np.float64)).upper, rel=1e-6)

    def test_random_state(self) -> None:
        N = draw_noise("gaussian", 60, 20, seed=0)
        first, again = heavy_noise(N), heavy_noise(N, random_state=np.random.default_rng(0))
        assert (first.lower, first.upper) == (again.lower, again.upper)
        assert heavy_noise(N, random_state=1).sampled != first.sampled
