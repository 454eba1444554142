"""The dip against its definition, a linear program for every place of the mode."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from partwise.kernels.dip import dip_of_sorted


def by_definition(values: np.ndarray) -> float:
    """Least sup |F - G| over laws G with one mode: convex before it, concave behind it, perhaps an atom there."""
    x, counts = np.unique(values, return_counts=True)
    u, F = len(x), np.cumsum(counts) / len(values)
    before = F - counts / len(values)
    return min(_with_mode(x, F, before, k) for k in range(u)) if u > 1 else 0.0


def _with_mode(x: np.ndarray, F: np.ndarray, before: np.ndarray, k: int) -> float:
    """The unknowns are G at the points, where G(x_k) is its left limit; G(x_k) itself; and the distance."""
    u = len(x)
    unit = np.eye(u + 2)
    left, right, d = list(unit[:u]), [unit[u] if i == k else unit[i] for i in range(u)], unit[u + 1]
    at_most: list[tuple[np.ndarray, float]] = [(left[k] - right[k], 0.0)]
    for i in range(u):
        for g, f in ((left[i], before[i]), (right[i], F[i])):
            at_most += [(g - d, f), (-g - d, -f)]
    slopes = [(left[i + 1] - right[i]) / (x[i + 1] - x[i]) for i in range(u - 1)]
    at_most += [(-slope, 0.0) for slope in slopes]
    at_most += [(slopes[i - 1] - slopes[i], 0.0) for i in range(1, k)]
    at_most += [(slopes[i] - slopes[i - 1], 0.0) for i in range(k + 1, u - 1)]
    rows, limits = zip(*at_most, strict=True)
    return float(linprog(d, A_ub=np.array(rows), b_ub=limits, bounds=(0.0, None)).fun)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", ["one", "two", "ties", "zeros"])
def test_is_its_definition(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 13))
    x = {
        "one": rng.random(n),
        "two": np.r_[rng.random(n), 3.0 + rng.random(1 + n // 2)],
        "ties": rng.integers(0, 5, n) / 4.0,
        "zeros": np.maximum(0.0, rng.standard_normal(n)),
    }[kind]
    assert dip_of_sorted(np.sort(x)) == pytest.approx(by_definition(x), abs=1e-9)


def test_shift_scale_and_reflection_leave_it() -> None:
    x = np.sort(np.random.default_rng(0).gamma(2.0, size=2000))
    d = dip_of_sorted(x)
    assert dip_of_sorted(8.0 * x) == d
    assert dip_of_sorted(-x[::-1]) == pytest.approx(d, rel=1e-12)
    assert dip_of_sorted(x + 3.0) == pytest.approx(d, rel=1e-9)


def test_extremes() -> None:
    assert dip_of_sorted(np.zeros(5)) == 0.0
    assert dip_of_sorted(np.array([1.0])) == 0.0
    assert dip_of_sorted(np.repeat([0.0, 1.0], 500)) == 0.25
    assert dip_of_sorted(np.arange(100.0)) == pytest.approx(0.5 / 100)  # half a jump: no sample is nearer
