"""The dip test: its level, its power, and what it says of laws with zeros."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.exceptions import InputError
from partwise.metrics import dip_test

RNG = np.random.default_rng(0)
HALF = (RNG.random(3000) < 0.5).astype(float)


@pytest.mark.parametrize("n", [50, 2000, 5000])
def test_level(n: int) -> None:
    """1000 tests of uniform samples at 0.05: 50 rejections, give or take 6.9; beyond 2000 values perhaps more."""
    rng = np.random.default_rng(n)
    rejected = np.mean([dip_test(rng.random(n)).p_value <= 0.05 for _ in range(1000)])
    spread = np.sqrt(0.05 * 0.95 / 1000)
    assert 0.05 - 3 * spread < rejected < (0.06 if n > 2000 else 0.05) + 3 * spread


@pytest.mark.parametrize("law", ["exponential", "half-normal", "uniform", "gamma 0.5"])
def test_zeros_and_one_falling_density_are_one_mode(law: str) -> None:
    draws = {
        "exponential": RNG.exponential(size=3000),
        "half-normal": np.abs(RNG.standard_normal(3000)),
        "uniform": RNG.random(3000),
        "gamma 0.5": RNG.gamma(0.5, size=3000),
    }[law]
    assert dip_test(HALF * draws).p_value > 0.05


def test_zeros_and_a_bump_are_two() -> None:
    assert dip_test(HALF * (1.0 + 0.2 * RNG.standard_normal(3000))).p_value == 0.0
    bumps = np.where(HALF > 0.0, 1.0, 0.1) + 0.05 * RNG.standard_normal(3000)
    assert dip_test(bumps).p_value == 0.0


def test_refused() -> None:
    with pytest.raises(InputError, match="values is empty"):
        dip_test([])
    with pytest.raises(InputError, match="values holds NaN"):
        dip_test([0.0, np.nan])
    for words in (["one", "two"], "many", [[1.0], [2.0, 3.0]], [None, object()]):
        with pytest.raises(InputError, match="values must be real numbers") as caught:
            dip_test(words)
        assert (caught.value.parameter, caught.value.kind) == ("values", "not-real")
