"""The Dominant NMF model's conditions, against enumeration, matrices made by hand and data made for the model."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any, ClassVar

import dask.array as da
import narwhals
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.datasets import add_gaussian_noise, add_multinomial_noise, make_dominant, make_separable
from partwise.exceptions import InputError
from partwise.metrics import (
    DominantConstants,
    dominant_conditions,
    dominant_features,
    dominant_weights,
    heavy_noise,
    identifiability,
    normalize_factors,
    pure_records,
)
from partwise.metrics.dominant import _Noise, _norms

INF = float("inf")

FORMS = pytest.mark.parametrize(
    "form",
    [
        sp.csr_array,
        lambda X: pw.open_source(X, block_rows=7),
        lambda X: pw.open_source(sp.csr_array(X), block_rows=7),
        lambda X: da.from_array(X, chunks=(9, -1)),
    ],
    ids=["csr", "blocks", "csr-blocks", "dask"],
)


def sets(found: Any) -> list[list[int]]:
    return [s.tolist() for s in getattr(found, "features", None) or found.records]


def found_numbers(result: Any) -> list[float]:
    return [line.found for line in result.conditions]


class TestNormalizeFactors:
    H, W = np.array([[2.0, 2.0], [0.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 5.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 4.0]])

    @pytest.mark.parametrize(
        ("normalize", "sums", "scales"),
        [
            ("rows", [1.0, 0.0, 1.0], [9.0, 1.0, 8.0]),
            ("common", [1.0, 0.0, 8.0 / 9.0], [9.0, 9.0, 9.0]),
            (None, [9.0, 0.0, 8.0], [1.0, 1.0, 1.0]),
        ],
        ids=["rows", "common", "none"],
    )
    def test_sums_and_product(self, normalize: Any, sums: list[float], scales: list[float]) -> None:
        """Zero components and zero records stay; the product changes by the scales alone."""
        H, W, found = normalize_factors(self.H, self.W, normalize)
        np.testing.assert_allclose(H.sum(axis=1), [1.0, 0.0, 1.0])
        np.testing.assert_allclose(W.sum(axis=1), sums)
        np.testing.assert_allclose(found, scales)
        np.testing.assert_allclose(found[:, None] * (W @ H), self.W @ self.H)

    def test_all_weights_zero(self) -> None:
        assert normalize_factors([[1.0]], [[0.0], [0.0]], "common")[2].tolist() == [1.0, 1.0]


class TestDominantFeatures:
    H = np.array([[60, 10, 0, 30], [6, 0, 50, 44], [3, 0, 5, 92]]) / 100.0

    @pytest.mark.parametrize(
        ("rho", "gamma", "expected"),
        [
            (0.0, 0.0, [[1], [], []]),
            (0.1, 0.0, [[0, 1], [2], []]),
            (0.1, 0.2, [[0], [2], []]),
            (0.5, 0.0, [[0, 1], [2], [3]]),
            (0.5, 0.6, [[0], [], [3]]),
        ],
        ids=["separable", "rho", "gamma", "larger-rho", "larger-gamma"],
    )
    def test_sets(self, rho: float, gamma: float, expected: list[list[int]]) -> None:
        found = dominant_features(self.H, rho=rho, gamma=gamma)
        assert sets(found) == expected
        masses = [sum(self.H[l, i] for i in chosen) for l, chosen in enumerate(expected)]
        others = [self.H[o, chosen].sum() for l, chosen in enumerate(expected) for o in range(3) if o != l]
        np.testing.assert_allclose(found.masses, masses)
        assert found.p0 == pytest.approx(min(masses))
        assert found.p1 == pytest.approx(max(others))
        assert found.gamma == pytest.approx(min(self.H[l, i] for l, chosen in enumerate(expected) for i in chosen))
        assert found.holds is bool(min(masses) > 0)

    @pytest.mark.parametrize("seed", range(3))
    def test_definition(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        B, rho, gamma = rng.dirichlet(np.full(25, 0.2), size=4), rng.uniform(0.05, 0.6), rng.uniform(0.0, 0.02)
        expected = [
            [i for i in range(25) if B[l, i] >= gamma and all(B[o, i] <= rho * B[l, i] for o in range(4) if o != l)]
            for l in range(4)
        ]
        assert sets(dominant_features(B * rng.uniform(1, 9, (4, 1)), rho=rho, gamma=gamma)) == expected

    def test_least_rho_is_the_other_side_of_mass(self) -> None:
        found = dominant_features(self.H)
        np.testing.assert_allclose(found.least_rho(0.5), [0.1, 0.1, 44 / 92])
        assert found.least_rho(0.7).tolist() == pytest.approx([0.1, INF, 44 / 92])  # feature 3 is another's
        for p0 in (0.1, 0.5):
            rho = float(found.least_rho(p0).max())
            assert dominant_features(self.H, rho=rho).p0 >= p0
            assert dominant_features(self.H, rho=0.999 * rho).p0 < p0

    @pytest.mark.parametrize(
        ("H", "expected"),
        [
            ([[0, 0], [1, 2]], [[], [0, 1]]),
            ([[1, 2], [2, 4]], [[], []]),
            ([[3, 0, 1]], [[0, 2]]),
        ],
        ids=["zero", "twice", "single"],
    )
    def test_degenerate(self, H: Any, expected: list[list[int]]) -> None:
        found = dominant_features(H)
        assert sets(found) == expected
        assert found.p1 == 0.0
        assert found.holds is (len(H) == 1)

    def test_separable(self) -> None:
        mixture = make_separable(random_state=0)
        found = dominant_features(mixture.components, rho=0.0)
        assert [anchor in chosen for anchor, chosen in zip(mixture.anchors, found.features, strict=True)] == [True] * 10
        assert found.p1 == 0.0

    def test_dominant_data(self) -> None:
        mixture = make_dominant(n_components=4, n_dominant=8, dominant_weight=0.8, random_state=0)
        found = dominant_features(mixture.components, rho=0.5, p0=0.5)
        assert found.holds
        for made, chosen in zip(mixture.dominant_features, found.features, strict=True):
            assert len(np.intersect1d(made, chosen)) >= 7

    def test_asked(self) -> None:
        assert dominant_features(self.H, rho=0.5, p0=0.5).holds
        assert not dominant_features(self.H, rho=0.5, p0=0.51).holds


class TestRecords:
    W = np.array([[0.6, 0.3, 0.1], [0.4, 0.35, 0.25], [0.0, 0.04, 0.96], [0.0, 0.4, 0.0], [0.5, 0.5, 0.0], [0, 0, 0]])

    @pytest.mark.parametrize("normalize", ["rows", "common", None])
    def test_dominant(self, normalize: Any) -> None:
        found = dominant_weights(self.W, normalize=normalize)
        assert sets(found) == [[0], [3], [2]]
        assert (found.fraction, found.least) == (3 / 6, 1 / 6)
        assert [line.holds for line in found.conditions] == [False, True]

    @pytest.mark.parametrize(
        ("normalize", "expected"), [("rows", [[], [3], [2]]), ("common", [[], [], [2]])], ids=["rows", "common"]
    )
    def test_pure(self, normalize: Any, expected: list[list[int]]) -> None:
        found = pure_records(self.W, normalize=normalize)
        assert sets(found) == expected
        assert found.fraction == sum(map(len, expected)) / 6
        assert found.least == 0.0
        assert not found.holds

    def test_bounds_are_within(self) -> None:
        """Numbers at a bound count, also where scaling rounds them."""
        W = np.array([[0.4, 0.3, 0.3], [0.95, 0.05, 0.0]])
        for scale in (1.0, 3.0, 0.7, 1e-5):
            assert dominant_weights(scale * W).fraction == 1.0
            assert pure_records(scale * W).fraction == 0.5

    def test_two_readings_of_records_of_other_lengths(self) -> None:
        W = np.diag([1.0, 10.0])
        assert pure_records(W).holds
        assert pure_records(W, normalize="common").fractions.tolist() == [0.0, 0.5]
        assert pure_records(W, eps0=0.5).holds
        assert not pure_records(W, eps0=0.51).holds

    def test_scales_of_components(self) -> None:
        W, H = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[9.0, 10.0], [0.0, 1.0]])
        assert sets(pure_records(W, H)) == [[0], [1]]
        assert sets(dominant_weights(W, H)) == [[0], [1]]
        assert sets(dominant_weights(W)) == [[], [1]]

    def test_dominant_data(self) -> None:
        mixture = make_dominant(n_samples=500, random_state=0)
        found = dominant_weights(mixture.weights, mixture.components)
        assert 0.5 < found.fraction < 1.0
        for l, chosen in enumerate(found.records):
            assert (mixture.labels[chosen] == l).all()
        pure = pure_records(mixture.weights, mixture.components)
        assert all(np.isin(a, b).all() for a, b in zip(pure.records, found.records, strict=True))


def exact_noise(N: np.ndarray, eps4: float) -> float:
    """The largest mean noise over all sets that D4 is about."""
    n = len(N)
    means = [
        np.abs(N[list(T)].mean(axis=0)).sum()
        for size in range(max(1, int(np.ceil(eps4 * n - 1e-9))), n + 1)
        for T in combinations(range(n), size)
    ]
    return float(max(means))


def draw_noise(kind: str, n: int, m: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "gaussian":
        return rng.normal(size=(n, m)) / m
    if kind == "rank-one":
        return np.outer(rng.normal(size=n), rng.normal(size=m)) / m
    if kind == "few-records":
        return np.where(np.arange(n)[:, None] < 2, rng.normal(size=(n, m)) / m, 0.0)
    return rng.normal(size=(n, m)) * 0.01 ** rng.random(m) / m  # features of many sizes


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
        noise = _Noise.of("N", N, np.zeros((40, 0)), np.zeros((0, 25)), np.ones(40))
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
        N = (noisy.X - W @ H) / scales[:, None]
        expected, found = heavy_noise(N, eps4=0.2), heavy_noise(form(noisy.X), W, H, eps4=0.2, normalize=normalize)
        for name in ("lower", "upper", "sampled", "least_lower", "least_upper"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9)

    def test_few_columns_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        N = draw_noise("features", 30, 10, seed=0)
        whole = heavy_noise(N, eps4=0.1).upper
        monkeypatch.setattr("partwise.metrics.dominant.CHUNK", 100)
        assert heavy_noise(N, eps4=0.1).upper == pytest.approx(whole, rel=1e-12)

    def test_float32(self) -> None:
        N = draw_noise("gaussian", 50, 10, seed=0).astype(np.float32)
        assert heavy_noise(N).upper == pytest.approx(heavy_noise(N.astype(np.float64)).upper, rel=1e-6)

    def test_random_state(self) -> None:
        N = draw_noise("gaussian", 60, 20, seed=0)
        first, again = heavy_noise(N), heavy_noise(N, random_state=np.random.default_rng(0))
        assert (first.lower, first.upper) == (again.lower, again.upper)
        assert heavy_noise(N, random_state=1).sampled != first.sampled


class TestConstants:
    GOOD: ClassVar[dict[str, Any]] = {
        "n_components": 2,
        "rho": 0.1,
        "gamma": 0.1,
        "p0": 0.5,
        "alpha": 0.9,
        "beta": 0.05,
        "w0": 0.5,
        "eps0": 0.4,
        "eps4": 5e-4,
    }

    def test_hold(self) -> None:
        found = DominantConstants(**self.GOOD, eps=0.019)
        assert found.holds
        assert found.nu == pytest.approx((1 - 0.9 * 0.019) / (0.15 + 2 * 0.9 * 0.019))
        assert [line.asked for line in found.conditions] == pytest.approx(
            [0.02, (1 - 5 * 0.019) * 0.9, 0.9 * 0.1 * 0.019 / 2, 0.4 * 0.5 * 0.5 / (16 * 8), 0.04]
        )

    @pytest.mark.parametrize(
        ("change", "failing"),
        [
            ({"eps": 0.02}, ["eps"]),
            ({"eps": 0.001}, ["eps4 (1)"]),
            ({"eps": 0.019, "rho": 0.8}, ["beta + rho"]),
            ({"n_components": 3}, ["eps4 (2)"]),
            ({"eps0": 0.04, "gamma": 0.9}, ["eps4 (2)", "eps4 (3)"]),
            ({"gamma": 0.0}, ["eps4 (1)"]),
            ({"beta": 0.85}, ["beta + rho", "eps4 (1)"]),
        ],
        ids=["eps", "small-eps", "rho", "k", "eps0", "gamma", "no-eps"],
    )
    def test_fail(self, change: dict[str, float], failing: list[str]) -> None:
        found = DominantConstants(**{**self.GOOD, **change})
        assert [line.condition for line in found.conditions if not line.holds] == failing

    @pytest.mark.parametrize(
        ("rho", "expected"), [(0.1, 0.999 * 0.02), (0.8, (1 - 0.85 / 0.9) / 5)], ids=["eps0", "rho"]
    )
    def test_free_eps_is_the_largest(self, rho: float, expected: float) -> None:
        found = DominantConstants(**{**self.GOOD, "rho": rho})
        assert found.epsilon == pytest.approx(expected)
        assert all(line.holds for line in found.conditions[:2])


class TestIdentifiability:
    def components(self, rng: np.random.Generator) -> np.ndarray:
        """Three components with eight features each that are nearly theirs alone, and six that all have."""
        B = np.hstack(
            [np.kron(np.eye(3), rng.uniform(0.5, 1.0, 8)) + 1e-4 * rng.random((3, 24)), np.full((3, 6), 0.01)]
        )
        return np.asarray(B / B.sum(axis=1, keepdims=True))

    @pytest.mark.parametrize("seed", range(5))
    def test_theorem_2(self, seed: int) -> None:
        """Another factorization that is near in the sense of equation 4 has components as near as the bound."""
        rng, eps4 = np.random.default_rng(seed), 0.002
        H = self.components(rng)
        W = np.vstack([np.eye(3).repeat(5, axis=0) * (1 - eps4) + eps4 / 3, rng.dirichlet(np.ones(3), size=30)])
        other = H * (1 + 0.008 * rng.uniform(-1, 1, H.shape)) + 1e-5 * rng.random(H.shape)
        order = rng.permutation(3)
        other_weights = pw.nnls(other[order], W @ H)
        pure = pure_records(W, H, eps4=eps4).records
        gap = W @ H - other_weights @ other[order]
        delta = max(np.abs(gap[P].sum(axis=0)).sum() / W[P].sum() for P in pure)

        found = identifiability(H, eps4=eps4, delta=delta)
        assert found.holds
        assert found.bound == pytest.approx(
            2 * found.delta_prime + 12 * (found.p1 + found.delta_prime) / (found.p0 - found.delta_prime)
        )
        B = other[order] / other[order].sum(axis=1, keepdims=True)
        distance = min(np.abs(H - B[list(p)]).sum(axis=1).max() for p in permutations(range(3)))
        assert distance <= found.bound < 1.0

    def test_largest_delta(self) -> None:
        H = self.components(np.random.default_rng(0))
        largest = identifiability(H, eps4=0.002).largest_delta
        assert largest > 0
        assert identifiability(H, eps4=0.002, delta=0.999 * largest).holds
        assert not identifiability(H, eps4=0.002, delta=1.001 * largest).holds

    def test_far_from_separable(self) -> None:
        found = identifiability([[3, 2, 1], [1, 2, 3]], rho=0.5)
        assert (found.holds, found.bound) == (False, INF)
        assert found.largest_delta < 0


class TestDominantConditions:
    H = np.array([[9.0, 0.0, 1.0], [0.0, 9.0, 1.0]])
    W = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.1], [0.0, 1.0]])

    def test_is_made_of_the_parts(self) -> None:
        N = draw_noise("gaussian", 4, 3, seed=0)
        found = dominant_conditions(self.H, self.W, N, eps4=0.3, rho=0.1, alpha=0.5, beta=0.2, delta=0.01)
        B, C, scales = normalize_factors(self.H, self.W)
        parts = [
            dominant_features(B, rho=0.1),
            dominant_weights(C, alpha=0.5, beta=0.2),
            pure_records(C, eps4=0.3),
            heavy_noise(N / scales[:, None], eps4=0.3),
            found.constants,
            identifiability(B, rho=0.1, eps4=0.3, delta=0.01),
        ]
        assert found_numbers(found) == pytest.approx([number for part in parts for number in found_numbers(part)])
        constants = found.constants
        assert (constants.p0, constants.w0, constants.eps0, constants.gamma) == (0.9, 0.5, 0.5, 0.9)

    def test_asked_constants_are_those_of_the_inequalities(self) -> None:
        asked = {"p0": 0.95, "w0": 0.4, "eps0": 0.3, "gamma": 0.5}
        found = dominant_conditions(self.H, self.W, **asked)
        assert {name: getattr(found.constants, name) for name in asked} == asked
        verdicts = {line.condition: line.holds for line in found.conditions}
        assert (verdicts["D1 p0"], verdicts["D2 w0"], verdicts["D3 eps0"]) == (False, True, False)

    def test_theorems(self) -> None:
        """A model that is nothing but pure records of disjoint components has all of it."""
        H, W = np.eye(2), np.eye(2).repeat(50, axis=0)
        tiny = 1e-9 * draw_noise("gaussian", 100, 2, seed=0)
        found = dominant_conditions(H, W, tiny, eps4=5e-4)
        assert (found.holds, found.theorem_1, found.theorem_2) == (True, True, True)
        assert dominant_conditions(H, W, eps4=5e-4).theorem_1 is None
        assert dominant_conditions(H, W, tiny, eps4=0.05).theorem_1 is False
        mixed = dominant_conditions(H, np.full((4, 2), 0.5), tiny[:4])
        assert (mixed.theorem_1, mixed.theorem_2) == (False, False)

    @pytest.mark.parametrize("normalize", ["rows", "common"])
    def test_scales_do_not_matter(self, normalize: Any) -> None:
        mixture = make_dominant(n_samples=60, n_features=40, n_components=4, random_state=0)
        H, W = mixture.components, mixture.weights
        N = draw_noise("gaussian", 60, 40, seed=1)
        s, c = np.array([1e-3, 1.0, 7.0, 1e4]), 123.0
        a = dominant_conditions(H, W, N, normalize=normalize, eps4=0.2)
        b = dominant_conditions(H * s[:, None], c * W / s, c * N, normalize=normalize, eps4=0.2)
        assert found_numbers(b) == pytest.approx(found_numbers(a), rel=1e-9)
        if normalize == "rows":
            lengths = np.random.default_rng(2).uniform(0.1, 10, (60, 1))
            b = dominant_conditions(H, lengths * W, lengths * N, eps4=0.2)
            assert found_numbers(b) == pytest.approx(found_numbers(a), rel=1e-9)

    @FORMS
    def test_fitted_model(self, form: Any) -> None:
        truth = make_dominant(n_samples=40, n_features=20, n_components=3, dominant_weight=0.5, random_state=0)
        X = add_gaussian_noise(truth, 0.3, clip=True, random_state=0).X
        model = pw.HALS(3, random_state=0).fit(X)
        W = pw.nnls(model.components_, X)
        expected = dominant_conditions(model.components_, W, X - W @ model.components_, eps4=0.1)
        found = dominant_conditions(model, X=form(X), noise=True, eps4=0.1)
        assert found_numbers(found) == pytest.approx(found_numbers(expected), rel=1e-6, abs=1e-12)
        assert dominant_conditions(model, X=form(X)).noise is None

    @pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
    def test_table(self, backend: str) -> None:
        found = dominant_conditions(self.H, self.W, 0.02 * np.ones((4, 3)), eps4=0.3)
        frame = narwhals.from_native(found.to_native(backend), eager_only=True)
        assert frame.columns == ["condition", "relation", "asked", "found", "holds"]
        assert frame["found"].to_list() == found_numbers(found)
        assert frame["holds"].to_list() == [line.holds for line in found.conditions]
        assert len(str(found).splitlines()) == 13
        assert repr(found).startswith("DominantConditions:\nD1 p0")

    def test_undecided_in_a_table(self) -> None:
        found = heavy_noise([[0.2, -0.2], [-0.2, 0.2], [0.2, 0.2], [-0.2, -0.2]], eps4=0.5)
        assert found.to_native("polars")["holds"].to_list() == [True, None]
        assert str(found).splitlines()[1].endswith("undecided")


H, W, X = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], np.ones((3, 2))


BAD: dict[str, tuple[Any, str]] = {
    "negative-H": (lambda: dominant_features([[1.0, -1.0]]), r"H.*row 0, column 1.*H >= 0"),
    "nan-H": (lambda: dominant_features([[1.0, 2.0], [np.nan, 1.0]]), r"H contains 1 NaN.*row 1, column 0"),
    "empty-H": (lambda: dominant_features(np.zeros((0, 3))), r"H has shape \(0, 3\)"),
    "rho": (lambda: dominant_features(H, rho=1.0), r"rho=1.0 must be in \[0, 1\)"),
    "gamma": (lambda: dominant_features(H, gamma=-0.1), r"gamma=-0.1 is a constant"),
    "p0": (lambda: dominant_features(H).least_rho(2.0), r"p0=2.0 is a constant"),
    "negative-W": (lambda: dominant_weights([[0.5, -0.5]]), r"W.*row 0, column 1.*W >= 0"),
    "beta": (lambda: dominant_weights(W, alpha=0.3, beta=0.4), r"beta=0.4 must be below alpha=0.3"),
    "columns": (lambda: dominant_weights(W, [[1.0, 1.0]]), r"W has 2 columns and H has 1 components"),
    "eps4-nan": (lambda: pure_records(W, eps4=float("nan")), r"eps4=nan is a constant"),
    "normalize": (lambda: pure_records(W, normalize="columns"), r"normalize='columns' is unknown"),
    "inf-noise": (lambda: heavy_noise([[1.0, np.inf]]), r"X contains 1 NaN or infinity.*row 0, column 1"),
    "empty-noise": (lambda: heavy_noise(np.zeros((3, 0))), r"X has shape \(3, 0\)"),
    "no-H": (lambda: heavy_noise(X, W), r"W is given without H"),
    "shape": (lambda: heavy_noise(X[:2], W, H), r"X has shape \(2, 2\) and W H has \(3, 2\)"),
    "eps4": (lambda: heavy_noise(X, eps4=1.5), r"eps4=1.5 is a constant"),
    "n_starts": (lambda: heavy_noise(X, n_starts=0), r"n_starts=0"),
    "delta": (lambda: identifiability(H, delta=-1.0), r"delta=-1.0 is a distance"),
    "w0": (lambda: DominantConstants(**{**TestConstants.GOOD, "w0": 2.0}), r"w0=2.0 is a constant"),
    "no-weights": (lambda: dominant_conditions(H), r"W is missing"),
    "no-data": (lambda: dominant_conditions(H, W, noise=True), r"noise=True needs the data X"),
    "shape-N": (lambda: dominant_conditions(H, W, X[:, :1]), r"N has shape \(3, 1\) and W H has \(3, 2\)"),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
