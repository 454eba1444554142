"""AND's correlation conditions, against distributions whose moments are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.exceptions import InputError
from partwise.metrics import (
    correlation_conditions,
)
from tests.metrics.conditions.samples import FORMS, s_sparse

INF = float("inf")


def with_moments(delta: np.ndarray) -> np.ndarray:
    """A sample whose second moments are exactly ``delta``."""
    return np.sqrt(len(delta)) * np.linalg.cholesky(delta).T


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
        # the proposition prints m = 1/(sD): no such bound holds, E[x_i x_j] is larger by s^2 D / (s + 1)
        assert found.m / (1 / (s * D)) == pytest.approx(s**2 * D / (s + 1), rel=1e-12)

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


def test_an_order_must_be_a_number() -> None:
    with pytest.raises(InputError, match="order of decay"):
        correlation_conditions([[1.0]], q=-1.0)
