"""The theorems' quantities, against distributions whose moments are known and starts that were built by hand."""

from __future__ import annotations

import pickle
from itertools import combinations, product
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError
from partwise.metrics import (
    RecoveryMeasures,
    correlation_conditions,
    decay_order,
    initialization,
    moment_constants,
    noise_tolerance,
    recovery_measures,
)

INF = float("inf")

FORMS = pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        lambda W: W.tolist(),
        lambda W: W.astype(np.float32),
        sp.csr_array,
        lambda W: pw.open_source(W, block_rows=7),
        lambda W: pw.open_source(sp.csr_array(W), block_rows=7),
        lambda W: da.from_array(W, chunks=(9, -1)),
    ],
    ids=["dense", "list", "float32", "csr", "blocks", "csr-blocks", "dask"],
)


def s_sparse(D: int, s: int) -> np.ndarray:
    """All binary weights with s ones among D: the uniform distribution over them, exactly."""
    W = np.zeros((len(list(combinations(range(D), s))), D))
    for row, ones in zip(W, combinations(range(D), s), strict=True):
        row[list(ones)] = 1.0
    return W


def with_moments(delta: np.ndarray) -> np.ndarray:
    """A sample whose second moments are exactly ``delta``."""
    return np.sqrt(len(delta)) * np.linalg.cholesky(delta).T


def independent(p: list[float], levels: int) -> np.ndarray:
    """Independent binary weights with the given probabilities, which are multiples of 1 / levels."""
    return np.array(list(product(*[[float(i < round(q * levels)) for i in range(levels)] for q in p])))


def quantiles(order: float, n: int) -> np.ndarray:
    """The n quantiles of Beta(order, 1), whose distribution function is a**order at every one."""
    return (np.arange(1, n + 1) / n) ** (1.0 / order)


class TestCorrelationConditions:
    @pytest.mark.parametrize(
        ("D", "s"), [(4, 1), (4, 2), (6, 3), (7, 2), (5, 5)], ids=["4-1", "4-2", "6-3", "7-2", "5-5"]
    )
    def test_uniform_sparse_binary(self, D: int, s: int) -> None:
        """Proposition 1, first example, before it is rounded: Delta_ii = s/D, Delta_ij = s(s-1) / (D(D-1))."""
        found = correlation_conditions(s_sparse(D, s))
        assert (found.r, found.binary, found.in_unit_interval, found.q) == (s, True, True, INF)
        assert found.k == pytest.approx(s / 2, rel=1e-12)
        assert found.m == pytest.approx(D * s * (s - 1) / (D - 1), rel=1e-12)
        assert found.lam == pytest.approx(2 * (D - s) / (D - 1), rel=1e-12, abs=1e-12)
        assert found.k <= s  # so the parameters of the proposition hold as well
        assert found.m <= s**2 * (1 + 1e-12)
        assert found.binary_bound == pytest.approx(s / 2 * D * (2 * (D - s) / (D - 1)) ** 4 / s**5, abs=1e-12)
        assert found.decay_bound == found.binary_bound

    @pytest.mark.parametrize(("D", "s"), [(3, 1.0), (8, 2.0), (20, 5.0)], ids=["3-1", "8-2", "20-5"])
    def test_dirichlet(self, D: int, s: float) -> None:
        """Proposition 1, second example: exact moments of Dirichlet(s/D, ..., s/D)."""
        a = s / D
        delta = np.full((D, D), a * a / (s * (s + 1))) + np.diag(np.full(D, a / (s * (s + 1))))
        found = correlation_conditions(with_moments(delta), scale=1.0)
        assert found.k == pytest.approx(D * a * (a + 1) / (s * (s + 1)) / 2, rel=1e-12)
        assert found.m == pytest.approx(s / (s + 1), rel=1e-12)
        assert found.lam == pytest.approx(2 / (1 + a), rel=1e-11)
        assert not found.binary

    def test_sample_of_dirichlet(self) -> None:
        D, s = 6, 3.0
        W = np.random.default_rng(0).dirichlet(np.full(D, s / D), 40_000)
        found = correlation_conditions(W, scale=1.0)
        assert found.r == pytest.approx(1.0, rel=1e-12)
        assert found.in_unit_interval
        assert found.m == pytest.approx(s / (s + 1), rel=0.05)
        assert found.lam == pytest.approx(2 / (1 + s / D), rel=0.05)

    @pytest.mark.parametrize("q", [1.0, 2.0, 7.5, INF])
    def test_bound_of_theorem_4(self, q: float) -> None:
        found = correlation_conditions(s_sparse(6, 2) * 0.5, scale=1.0, q=q)
        k, lam, r, D = found.k, found.lam, found.r, 6
        expected = k * D ** (1 - 1 / q) * lam ** (4 + 4 / q) / r ** (5 + 6 / (q + 1))
        assert found.decay_bound == pytest.approx(expected, rel=1e-12)
        assert found.decay_ratio == pytest.approx(found.m / expected, rel=1e-12)
        assert found.binary_ratio == pytest.approx(found.m * r**5 / (k * D * lam**4), rel=1e-12)

    def test_without_an_order_theorem_4_says_nothing(self) -> None:
        found = correlation_conditions([[1.0, 0.5], [0.0, 1.0]])
        assert np.isnan([found.q, found.decay_bound, found.decay_ratio]).all()
        assert correlation_conditions([[1.0, 0.5], [0.0, 1.0]], q=0.0).decay_bound == 0.0

    @pytest.mark.parametrize("unit", [1.0, 3.0, 1e-200, 1e200], ids=str)
    def test_scale_is_taken_out_and_recorded(self, unit: float) -> None:
        W = s_sparse(5, 2)
        found = correlation_conditions(unit * W)
        assert found.scale == unit
        assert found.binary
        assert (found.r, found.k, found.m) == pytest.approx((2.0, 1.0, 2.5))

    def test_scale_of_components(self) -> None:
        sizes = np.array([1.0, 10.0, 0.5, 3.0])
        found = correlation_conditions(s_sparse(4, 2) * sizes, scale="components")
        np.testing.assert_array_equal(found.scale, sizes)
        assert found.binary
        assert found.k == pytest.approx(1.0)
        assert not correlation_conditions(s_sparse(4, 2) * sizes).binary

    def test_what_is_not_in_the_unit_interval(self) -> None:
        assert not correlation_conditions([[2.0, 0.0]], scale=1.0).in_unit_interval
        assert not correlation_conditions([[1.0, -0.5]]).in_unit_interval
        assert correlation_conditions([[1.0, -0.5]]).r == 1.5

    def test_nothing(self) -> None:
        found = correlation_conditions(np.zeros((3, 2)))
        assert (found.r, found.k, found.m, found.scale) == (0.0, 0.0, 0.0, 1.0)
        assert np.isnan([found.lam, found.binary_bound]).all()
        assert "nan" in str(found)

    def test_one_component(self) -> None:
        found = correlation_conditions([[1.0], [0.0]])
        assert (found.k, found.m, found.lam) == (0.25, 0.0, 2.0)

    @FORMS
    def test_any_form(self, form: Any) -> None:
        W = np.random.default_rng(1).integers(0, 5, (40, 3)) / 4.0
        plain, found = correlation_conditions(W, q=2.0), correlation_conditions(form(W), q=2.0)
        for name in ("r", "k", "m", "lam", "binary_bound", "decay_bound", "scale"):
            assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-12), name


class TestDecayOrder:
    @pytest.mark.parametrize("order", [0.5, 1.0, 2.0, 10.0])
    def test_quantiles_of_beta(self, order: float) -> None:
        W = np.column_stack([quantiles(order, 200), quantiles(order + 1.0, 200)])
        found = decay_order(W)
        np.testing.assert_allclose(found.orders, [order, order + 1.0], rtol=1e-9)
        assert found.q == found.orders[0]
        assert found.q_upper >= found.q

    @pytest.mark.parametrize("order", [1.0, 2.0, 5.0])
    def test_samples_of_beta(self, order: float) -> None:
        W = np.random.default_rng(2).beta(order, 1.0, (20_000, 4))
        found = decay_order(W)
        assert found.q <= order * 1.001
        assert order <= found.q_upper <= 1.1 * order

    def test_zeros_do_not_count(self) -> None:
        W = quantiles(2.0, 50)[:, None]
        padded = np.vstack([W, np.zeros((70, 1)), np.full((3, 1), 1e-17)])
        assert decay_order(padded, zero=1e-12).q == pytest.approx(2.0)
        assert decay_order(padded, zero=1e-12).counts.tolist() == [50]
        assert decay_order(padded).q < 0.1

    @pytest.mark.parametrize("size", [1.0, 7.0])
    def test_binary_is_infinite(self, size: float) -> None:
        found = decay_order(size * s_sparse(4, 2))
        assert (found.q, found.q_upper) == (INF, INF)
        assert decay_order(size * s_sparse(4, 2), scale=None).q == INF

    def test_ties_jump_at_once(self) -> None:
        # of four, three are 1/2: F(1/2) = 3/4 = 2**-q
        assert decay_order([[0.5], [0.5], [0.5], [1.0]]).q == pytest.approx(np.log2(4 / 3))

    def test_scale(self) -> None:
        W = np.array([[1.0, 0.5], [1.0, 0.5]])
        assert decay_order(W).q == INF
        np.testing.assert_array_equal(decay_order(W, scale=None).orders, [INF, 0.0])  # the second is never near 1

    def test_a_component_that_never_appears(self) -> None:
        found = decay_order([[0.5, 0.0], [1.0, 0.0]])
        np.testing.assert_allclose(found.orders, [1.0, INF])
        assert found.counts.tolist() == [2, 0]

    def test_negative_weights_have_order_zero(self) -> None:
        assert decay_order([[-0.5], [1.0]]).q == 0.0

    def test_bits_only_lower(self) -> None:
        W = np.random.default_rng(3).beta(3.0, 1.0, (2_000, 2))
        exact, rounded = decay_order(W), decay_order(W, bits=12)
        assert (rounded.orders <= exact.orders).all()
        np.testing.assert_allclose(rounded.upper_orders, exact.upper_orders, rtol=1e-2)
        np.testing.assert_array_equal(decay_order(W, bits=53).orders, exact.orders)

    @FORMS
    def test_any_form(self, form: Any) -> None:
        W = np.random.default_rng(1).integers(0, 9, (40, 3)) / 8.0
        np.testing.assert_allclose(decay_order(form(W)).orders, decay_order(W).orders, rtol=1e-12)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"zero": -1.0}, "zero"),
            ({"confidence": 1.0}, "confidence"),
            ({"bits": 0}, "bits"),
            ({"scale": 0.0}, "scale"),
            ({"scale": "rows"}, "unknown"),
        ],
        ids=["zero", "confidence", "bits", "scale", "word"],
    )
    def test_errors(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            decay_order([[1.0]], **options)


class TestMomentConstants:
    def test_independent_binary(self) -> None:
        """(A2'): C1 = c2 = C2 = s if every weight is 1 with probability s/n."""
        found = moment_constants(independent([0.5, 0.5, 0.5], 2))
        assert (found.C1, found.c2, found.C2) == (1.5, 1.5, 1.5)
        assert found.balanced
        assert found.G == 0.5
        assert found.in_unit_interval

    def test_different_probabilities(self) -> None:
        found = moment_constants(5.0 * independent([0.25, 0.5, 0.75], 4))
        assert (found.C1, found.c2, found.C2) == (2.25, 0.75, 2.25)
        assert not found.balanced
        assert found.G == 2.25**3 / (0.75**2 * 3)
        assert found.scale == 5.0

    def test_sizes_by_hand(self) -> None:
        found = moment_constants([[1.0, 0.5], [0.0, 0.5]])
        assert (found.C1, found.c2, found.C2) == (1.0, 0.5, 1.0)
        assert found.balanced  # just
        assert moment_constants([[1.0, 0.5], [1.0, 0.5]], scale="components").C2 == 2.0

    def test_a_component_that_never_appears(self) -> None:
        found = moment_constants([[1.0, 0.0]])
        assert (found.c2, found.G, found.balanced) == (0.0, INF, False)
        assert np.isnan(moment_constants([[0.0, 0.0]]).G)

    @FORMS
    def test_any_form(self, form: Any) -> None:
        W = np.random.default_rng(1).integers(0, 5, (40, 3)) / 4.0
        plain, found = moment_constants(W), moment_constants(form(W))
        assert (found.C1, found.c2, found.C2, found.G) == pytest.approx((plain.C1, plain.c2, plain.C2, plain.G))


def test_weights_in_a_file(tmp_path: Path) -> None:
    np.save(tmp_path / "W.npy", s_sparse(5, 2))
    assert correlation_conditions(tmp_path / "W.npy").m == pytest.approx(2.5)


@pytest.mark.parametrize("function", [correlation_conditions, decay_order, moment_constants], ids=lambda f: f.__name__)
class TestUnusableWeights:
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf], ids=str)
    def test_not_finite(self, function: Any, bad: float) -> None:
        W = np.ones((9, 2))
        W[4, 1] = bad
        with pytest.raises(InputError, match=r"W contains 1 NaN or infinity .* row 4, column 1"):
            function(W)

    def test_empty(self, function: Any) -> None:
        with pytest.raises(InputError, match="non-empty"):
            function(np.ones((0, 3)))


def test_an_order_must_be_a_number() -> None:
    with pytest.raises(InputError, match="order of decay"):
        correlation_conditions([[1.0]], q=-1.0)


K, M = 6, 30


def built(
    seed: int = 0, size: float = 0.1, noise: float = 0.1
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Truth, sigma, E and N (its rows outside the span of the truth), and the components they make."""
    rng = np.random.default_rng(seed)
    truth = rng.random((K, M))
    truth /= truth.sum(axis=1, keepdims=True)
    sigma = rng.uniform(0.8, 1.2, K)
    E = size * rng.standard_normal((K, K)) / K
    np.fill_diagonal(E, 0.0)
    basis = np.linalg.qr(truth.T)[0]
    N = noise * rng.standard_normal((K, M)) / M
    N -= N @ basis @ basis.T
    return truth, sigma, E, N, (np.diag(sigma) + E).T @ truth + N


class TestInitialization:
    @pytest.mark.parametrize("seed", range(3))
    def test_what_was_built_is_found(self, seed: int) -> None:
        truth, sigma, E, N, H = built(seed)
        order = np.random.default_rng(seed).permutation(K)
        found = initialization(H[order], truth, rescale=False)
        np.testing.assert_array_equal(order[found.permutation], np.arange(K))
        np.testing.assert_allclose(found.sigma, sigma, rtol=1e-12)
        np.testing.assert_allclose(found.E, E, atol=1e-12)
        np.testing.assert_allclose(found.N, N, atol=1e-14)
        np.testing.assert_array_equal(found.scales, np.ones(K))
        assert found.sigma_2 == pytest.approx(np.abs(sigma - 1).max(), rel=1e-11)
        assert found.purification_level == pytest.approx(max(found.E_s, 1 - sigma.min()), rel=1e-11)

    @pytest.mark.parametrize("seed", range(3))
    def test_scale_does_not_matter(self, seed: int) -> None:
        truth, sigma, E, N, H = built(seed)
        units = 10.0 ** np.random.default_rng(seed).uniform(-3, 3, K)
        found = initialization(H * units[:, None], truth)
        np.testing.assert_array_equal(found.sigma, np.ones(K))
        np.testing.assert_allclose(found.scales, sigma * units, rtol=1e-12)
        np.testing.assert_allclose(found.E, E / sigma, atol=1e-12)
        np.testing.assert_allclose(found.N, N / sigma[:, None], atol=1e-14)
        assert found.sigma_2 == 0.0
        rebuilt = (np.diag(found.sigma) + found.E).T @ truth + found.N
        np.testing.assert_allclose(found.scales[:, None] * rebuilt, (H * units[:, None])[found.permutation], rtol=1e-11)

    def test_norms_by_hand(self) -> None:
        E = np.array([[0.0, 0.3, -0.1], [0.0, 0.0, 0.2], [-0.4, 0.0, 0.0]])
        H = np.hstack([(np.eye(3) + E).T, np.diag([0.0, 0.7, 0.0])])
        found = initialization(H, np.eye(3, 6), level=0.45)
        np.testing.assert_allclose(found.E, E, atol=1e-15)
        np.testing.assert_allclose([found.E_2, found.N_2], [np.linalg.norm(E, 2), 0.7], rtol=1e-14)
        # magnitudes: rows .4 .2 .4, columns .4 .3 .3
        np.testing.assert_allclose([found.E_s, found.E_plus, found.E_minus], [0.4, 0.3, 0.4])
        assert (found.and_level, found.purification_level) == (found.E_2, found.E_s)
        assert found.satisfies_and
        assert found.satisfies_purification
        assert not initialization(H, np.eye(3, 6), level=0.35).satisfies_purification

    def test_orientation(self) -> None:
        """[A0]_i = Sigma_ii [A*]_i + sum_j E_ji [A*]_j: column i is about component i."""
        found = initialization([[1.0, 0.5], [0.0, 1.0]], np.eye(2))
        np.testing.assert_array_equal(found.E, [[0.0, 0.0], [0.5, 0.0]])

    @pytest.mark.parametrize(
        ("sigma", "by_and", "by_purification"),
        [(1.0, True, True), (1.2, True, True), (0.8, True, False), (1.3, False, True), (0.5, False, False)],
        ids=str,
    )
    def test_sigma_has_its_say_without_rescaling(self, sigma: float, by_and: bool, by_purification: bool) -> None:
        found = initialization(np.diag([1.0, sigma]), np.eye(2), rescale=False)
        assert (found.satisfies_and, found.satisfies_purification) == (by_and, by_purification)
        rescaled = initialization(np.diag([1.0, sigma]), np.eye(2))
        assert (rescaled.and_level, rescaled.purification_level) == (0.0, 0.0)

    @pytest.mark.parametrize(
        "row", [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.3, 0.0, 0.0]], ids=["zero", "outside", "other"]
    )
    def test_no_part_of_the_true_one(self, row: list[float]) -> None:
        found = initialization([[2.0, 0.0, 0.0], row], np.eye(2, 3))
        assert found.sigma.tolist() == [1.0, 0.0]
        assert found.scales.tolist() == [2.0, 1.0]
        np.testing.assert_allclose(found.E, [[0.0, row[0]], [0.0, 0.0]], atol=1e-15)
        assert (found.N_2, found.sigma_2, found.and_level) == (row[2], 1.0, INF)
        assert found.purification_level == 1.0
        assert not found.satisfies_and
        assert not found.satisfies_purification

    def test_signs(self) -> None:
        H = [[0.0, -4.0], [2.0, 0.2]]
        found = initialization(H[::-1], np.eye(2), match=False)
        np.testing.assert_allclose(found.sigma, [1.0, -4.0])
        assert found.scales.tolist() == [2.0, 1.0]
        assert found.purification_level == 5.0
        either = initialization(H, np.eye(2), absolute=True)
        np.testing.assert_allclose(either.sigma, [1.0, 1.0])
        assert either.scales.tolist() == [2.0, -4.0]
        np.testing.assert_allclose(either.E, [[0.0, 0.0], [0.1, 0.0]], atol=1e-15)

    def test_order_may_be_kept(self) -> None:
        found = initialization([[0.0, 1.0], [1.0, 0.0]], np.eye(2), match=False)
        assert found.permutation.tolist() == [0, 1]
        assert found.sigma.tolist() == [0.0, 0.0]
        assert found.E_2 == 1.0

    @pytest.mark.parametrize("c", [1e-150, 1e150], ids=str)
    @pytest.mark.parametrize("t", [1e-150, 1e150], ids=str)
    def test_extreme_units(self, c: float, t: float) -> None:
        truth, sigma, E, _, H = built(noise=0.0)
        found = initialization(c * H, t * truth)
        np.testing.assert_allclose(found.E, E / sigma, atol=1e-12)
        assert recovery_measures(c * H, t * truth)["E_s"] == pytest.approx(found.E_s)

    @pytest.mark.parametrize(
        ("H", "truth", "message"),
        [
            (np.eye(3), np.eye(2, 3), "one for each"),
            (np.eye(2), np.eye(2, 3), "features"),
            (np.eye(2), [[1.0, 2.0], [2.0, 4.0]], "dependent"),
            (np.ones((3, 2)), [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]], "dependent"),
            ([[np.nan, 1.0]], [[1.0, 1.0]], "NaN"),
        ],
        ids=["number", "features", "dependent", "too-many", "nan"],
    )
    def test_errors(self, H: Any, truth: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            initialization(H, truth)


class TestRecoveryMeasures:
    @pytest.mark.parametrize("rescale", [True, False], ids=["rescaled", "as-is"])
    @pytest.mark.parametrize("size", [1e-12, 1e-6, 0.1, 0.5], ids=str)
    def test_the_same_as_initialization(self, size: float, rescale: bool) -> None:
        truth, sigma, _, _, H = built(size=size, noise=size)
        found = recovery_measures(H[::-1], truth, rescale=rescale)
        expected = initialization(H, truth, rescale=rescale)
        assert tuple(found) == RecoveryMeasures.names
        for name in ("E_2", "E_s", "E_plus", "E_minus", "N_2"):
            assert found[name] == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-14), name
        assert found["sigma_min"] == pytest.approx(sigma.min(), rel=1e-12)

    def test_one_for_many(self) -> None:
        truth, _, _, _, H = built()
        measures = RecoveryMeasures(truth)
        assert measures(H) == measures(H) == recovery_measures(H, truth) == pickle.loads(pickle.dumps(measures))(H)
        assert measures(truth)["E_s"] < 1e-14

    @pytest.mark.parametrize(
        ("H", "truth"),
        [
            (np.full((2, 3), np.nan), np.eye(2, 3)),
            (np.full((2, 3), np.inf), np.eye(2, 3)),
            (np.eye(3), np.eye(2, 3)),
            (np.eye(1, 3), np.eye(2, 3)),
            (np.eye(2, 3), np.ones((2, 3))),
            (np.eye(2, 3), np.zeros((2, 3))),
        ],
        ids=["nan", "inf", "more", "fewer", "dependent", "zero"],
    )
    def test_nan_and_no_error(self, H: np.ndarray, truth: np.ndarray) -> None:
        found = recovery_measures(H, truth)
        assert tuple(found) == RecoveryMeasures.names
        assert np.isnan(list(found.values())).all()

    def test_components_of_zeros(self) -> None:
        found = recovery_measures(np.zeros((2, 3)), np.eye(2, 3))
        assert set(found.values()) == {0.0}
        assert recovery_measures([[1, 0], [3, 0]], np.eye(2))["sigma_min"] == 0.0

    def test_other_features_are_an_error(self) -> None:
        with pytest.raises(InputError, match="3 features"):
            recovery_measures(np.eye(2), np.eye(2, 3))


class TestNoiseTolerance:
    def test_unit_vectors(self) -> None:
        """The easiest case of the remark after Theorem 1: the left inverse has norm 1."""
        found = noise_tolerance(np.eye(4, 9), c=0.5, G=2.0)
        assert found.inverse_norm == pytest.approx(1.0)
        assert found.theorem_1 == pytest.approx(2.0 * 0.5 / 9)
        assert found.theorem_2 == pytest.approx(2.0 * found.theorem_1)  # sqrt(4)
        assert np.isnan([found.theorem_6, found.theorem_7, found.start]).all()
        assert found.moments is None

    def test_square_truth_has_one_inverse(self) -> None:
        T = np.array([[0.75, 0.25], [0.25, 0.75]])  # inverse [[1.5, -.5], [-.5, 1.5]]
        found = noise_tolerance(T)
        assert found.inverse_norm == pytest.approx(2.0)
        assert found.theorem_1 == pytest.approx(1 / 4)  # n |A+| = 4 > m = 2
        assert found.theorem_2 == pytest.approx(np.sqrt(2) / 4)

    def test_the_shortest_of_many_inverses(self) -> None:
        # one component: the shortest p with h p = 1 is 1 / max(h) on the largest entry
        assert noise_tolerance([[1.0, 3.0, 4.0]]).inverse_norm == pytest.approx(2.0)
        assert noise_tolerance([[1.0, 3.0, 4.0]], normalize=False).inverse_norm == pytest.approx(0.25)

    @pytest.mark.parametrize("c", [1.0, 0.25])
    def test_theorems_6_and_7(self, c: float) -> None:
        T = np.array([[0.75, 0.25], [0.25, 0.75]])
        W = independent([0.25, 0.5], 4)
        found = noise_tolerance(T, W, c=c, G=3.0)
        C1, c2, n, m, norm = 1.0, 0.5, 2, 2, 2.0
        assert found.moments is not None
        assert (found.moments.C1, found.moments.c2, found.unit) == (C1, c2, 1.0)
        assert found.theorem_6 == pytest.approx(min(c2**2 * 3 * c / (C1**2 * m), c2**4 * 3 * c / (C1**5 * n * norm)))
        assert found.theorem_7 == pytest.approx(c2 * 3 * np.sqrt(c * n) / (C1 * max(m, n * norm)))
        assert found.start == pytest.approx(c2**2 * 3 * c / (C1**3 * norm))

    def test_theorems_agree_where_they_meet(self) -> None:
        """Independent binary weights with s = 1, c = 1: C1 = c2 = C2 = 1."""
        found = noise_tolerance(np.random.default_rng(0).random((2, 7)), independent([0.5, 0.5], 2))
        # binary weights of components whose sums differ are no longer binary when these are normalised
        plain = noise_tolerance(np.eye(2, 7), independent([0.5, 0.5], 2))
        assert plain.theorem_6 == pytest.approx(plain.theorem_1)
        assert plain.theorem_7 == pytest.approx(plain.theorem_2)
        assert found.theorem_6 < found.theorem_1

    def test_normalising_changes_no_product(self) -> None:
        """Truth times d and weights over d are the same data, and get the same answer in its units."""
        rng = np.random.default_rng(4)
        T, W, d = rng.random((3, 8)), rng.random((20, 3)), np.array([0.1, 1.0, 50.0])
        one, other = noise_tolerance(T, W), noise_tolerance(T * d[:, None], W / d)
        for name in ("theorem_1", "theorem_2", "theorem_6", "theorem_7", "start", "unit"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-7), name
        assert one.unit == pytest.approx((W * T.sum(axis=1)).max())
        assert one.moments is not None
        assert one.moments.in_unit_interval
        twice = noise_tolerance(T, 2.0 * W)
        assert twice.theorem_6 == pytest.approx(one.theorem_6)
        assert twice.unit == pytest.approx(2.0 * one.unit)

    @pytest.mark.parametrize(
        ("arguments", "options", "message"),
        [
            ((np.eye(2),), {"c": 1.5}, "c=1.5"),
            ((np.eye(2), np.ones((4, 3))), {}, "3 components"),
            (([[1.0, 0.0], [0.0, 0.0]],), {}, "only zeros in row 1"),
            (([[1.0, 2.0], [2.0, 4.0]],), {}, "dependent"),
        ],
        ids=["c", "W", "zeros", "dependent"],
    )
    def test_errors(self, arguments: Any, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            noise_tolerance(*arguments, **options)
