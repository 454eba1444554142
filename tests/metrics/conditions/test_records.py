"""Dominant and pure records of weights made by hand and of data made for the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.datasets import make_dominant
from partwise.metrics import (
    dominant_weights,
    pure_records,
)
from tests.metrics.conditions.samples import sets


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
