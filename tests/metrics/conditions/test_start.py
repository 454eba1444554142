"""Starts that were built by hand."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from partwise.exceptions import InputError
from partwise.metrics import (
    RecoveryMeasures,
    initialization,
    recovery_measures,
    total_correlation_error,
)

INF = float("inf")


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

    @pytest.mark.parametrize("factor", [1e-200, 1e-3, 1.0, 1e200], ids=str)
    @pytest.mark.parametrize("size", [0.0, 1e-12, 1e-6, 0.1, 0.5], ids=str)
    def test_the_error_is_the_total_correlation_error(self, size: float, factor: float) -> None:
        truth, _, _, _, H = built(size=size, noise=size)
        signs = np.where(np.arange(len(H)) % 2, -factor, 1.0)[:, None]  # a multiple may have any sign
        assert recovery_measures(signs * H, truth)["error"] == pytest.approx(
            total_correlation_error(signs * H, truth), rel=1e-10, abs=1e-14 * len(truth)
        )

    def test_the_error_of_a_part_that_is_missed(self) -> None:
        truth, _, _, _, H = built()
        H[1] = H[0]  # and its nearest is taken twice
        assert recovery_measures(H, truth)["error"] == pytest.approx(total_correlation_error(H, truth), rel=1e-12)

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
        assert found.pop("error") == 2.0  # all of the truth is left
        assert set(found.values()) == {0.0}
        assert recovery_measures([[1, 0], [3, 0]], np.eye(2))["sigma_min"] == 0.0

    def test_other_features_are_an_error(self) -> None:
        with pytest.raises(InputError, match="3 features"):
            recovery_measures(np.eye(2), np.eye(2, 3))


def test_column_and_row_norms_by_hand() -> None:
    E = np.array([[0.0, 0.3, -0.1], [0.0, 0.0, 0.2], [-0.4, 0.2, 0.0]])
    N = np.array([[0.1, -0.2, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.4]])  # a component a row
    H = np.hstack([(np.eye(3) + E).T, N])
    found = initialization(H, np.eye(3, 6))
    # E: columns .4 .5 .3, rows .4 .2 .6; the paper's N is the transpose: its columns .3 .3 .4, its rows .1 .5 .4
    np.testing.assert_allclose([found.E_1, found.E_s, found.N_1, found.N_inf], [0.5, 0.6, 0.4, 0.5])
    measured = recovery_measures(H, np.eye(3, 6))
    np.testing.assert_allclose([measured[name] for name in ("E_1", "N_1", "N_inf")], [0.5, 0.4, 0.5])


@pytest.mark.parametrize(
    ("sigma", "cross", "may"),
    [(1.05, 0.05, True), (1.05, -0.05, False), (1.15, 0.05, False), (0.85, 0.05, False), (1.0, 0.2, False)],
)
def test_what_may_be_balanced(sigma: float, cross: float, may: bool) -> None:
    H = np.array([[sigma, cross], [0.0, 1.0]])
    assert initialization(H, np.eye(2), rescale=False).satisfies_balancing == may
