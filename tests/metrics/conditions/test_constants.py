"""The inequalities of the constants and Theorem 2, by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import partwise as pw
from partwise.metrics import (
    DominantConstants,
    identifiability,
    pure_records,
)
from tests.metrics.conditions.samples import GOOD

INF = float("inf")


class TestConstants:
    def test_hold(self) -> None:
        found = DominantConstants(**GOOD, eps=0.019)
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
        found = DominantConstants(**{**GOOD, **change})
        assert [line.condition for line in found.conditions if not line.holds] == failing

    @pytest.mark.parametrize(
        ("rho", "expected"), [(0.1, 0.999 * 0.02), (0.8, (1 - 0.85 / 0.9) / 5)], ids=["eps0", "rho"]
    )
    def test_free_eps_is_the_largest(self, rho: float, expected: float) -> None:
        found = DominantConstants(**{**GOOD, "rho": rho})
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
