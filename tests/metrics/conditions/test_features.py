"""Dominant features, against enumeration, matrices made by hand and data made for the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.datasets import make_dominant, make_separable
from partwise.metrics import (
    dominant_features,
)
from tests.metrics.conditions.samples import sets

INF = float("inf")


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
