"""The order of decay, against quantiles of distributions that have one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.exceptions import InputError
from partwise.metrics import (
    decay_order,
)
from tests.metrics.conditions.samples import FORMS, s_sparse

INF = float("inf")


def quantiles(order: float, n: int) -> np.ndarray:
    """The n quantiles of Beta(order, 1), whose distribution function is a**order at every one."""
    return (np.arange(1, n + 1) / n) ** (1.0 / order)


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
