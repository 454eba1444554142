"""Factors scaled as Remark 1 does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.metrics import (
    normalize_factors,
)


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
