"""A test of independence: its chance under independence, its power against what it is there for."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from partwise.exceptions import InputError
from partwise.metrics import independence


def test_chance_is_that_of_the_least_likely_pair() -> None:
    W = np.random.default_rng(0).random((400, 4)) ** 2
    found = independence(W)
    r = np.corrcoef(W.T)
    pairs = [(i, j) for i in range(4) for j in range(i)]
    i, j = max(pairs, key=lambda pair: abs(r[pair]))
    assert set(found.pair) == {i, j}
    assert found.correlation == pytest.approx(r[i, j], rel=1e-9)
    # no weight is zero, so only the values vary
    assert found.chance == pytest.approx(min(1.0, 6 * 2 * norm.sf(20 * abs(r[i, j]))), rel=1e-9)


@pytest.mark.parametrize("law", ["binary", "continuous", "both"])
def test_independent_weights_are_seldom_refuted(law: str) -> None:
    def chance(seed: int) -> float:
        rng = np.random.default_rng(seed)
        present = rng.random((1000, 8)) < 0.2
        values = rng.random((1000, 8))
        return independence({"binary": present * 1.0, "continuous": values, "both": present * values}[law]).chance

    chances = np.array([chance(seed) for seed in range(200)])
    # Bonferroni: P(chance < p) <= p; 200 draws at p = 0.1 exceed 34 with probability 1e-3
    assert (chances < 0.1).sum() <= 34
    assert chances.max() == 1.0


def test_dependence_of_presence_alone_is_found() -> None:
    rng = np.random.default_rng(1)
    present = rng.random(4000) < 0.3
    # the second is larger, but not more often there, when the first is there: only value and presence are correlated
    W = np.column_stack([present * rng.random(4000), np.where(present, 1.0, 0.5) * (rng.random(4000) < 0.5)])
    found = independence(W)
    assert found.holds is False
    assert found.pair == (0, 1)


def test_weights_that_sum_to_one_are_not_independent() -> None:
    W = np.random.default_rng(2).dirichlet(np.ones(6), 500)
    assert independence(W).holds is False
    assert independence(sp.csr_array(W)).chance == independence(W).chance


def test_pairs_that_hardly_meet_are_not_tested() -> None:
    W = np.zeros((1000, 3))
    rng = np.random.default_rng(3)
    W[:, :2] = rng.random((1000, 2)) < 0.5
    W[:5, 2] = 1.0  # expected together with another in 2.5 samples
    found = independence(W)
    assert (found.tested, found.n_pairs) == (1, 3)
    assert found.holds is None
    assert independence(np.ones((10, 2))).tested == 0


def test_level_is_a_probability() -> None:
    with pytest.raises(InputError, match="level"):
        independence(np.eye(2), level=1.0)


def test_what_does_not_vary_is_not_tested() -> None:
    """0.1 is no sum of powers of two: the mean square of a constant is not its squared mean."""
    found = independence(np.tile([0.1, 0.1, 0.3], (1000, 1)))
    assert (found.tested, found.chance) == (0, 1.0)


@pytest.mark.parametrize(("factor", "shift"), [(1.0, 1e6), (1e-15, 0.0)])
def test_neither_unit_nor_mean_matter(factor: float, shift: float) -> None:
    W = 1.0 + np.random.default_rng(2).random((2000, 3))
    plain, other = independence(W), independence(factor * W + shift)
    assert other.pair == plain.pair
    assert other.correlation == pytest.approx(plain.correlation, rel=1e-6)
