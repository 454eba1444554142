"""The noise that Purification tolerates, where the left inverse is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.exceptions import InputError
from partwise.metrics import (
    noise_tolerance,
)
from tests.metrics.conditions.samples import independent


class TestNoiseTolerance:
    def test_unit_vectors(self) -> None:
        """The easiest case of the remark after Theorem 1: the left inverse has norm 1."""
        found = noise_tolerance(np.eye(4, 9), c=0.5, G=2.0)
        assert found.inverse_norm == pytest.approx(1.0)
        assert found.theorem_1 == pytest.approx(2.0 * 0.5 / 9)
        assert found.theorem_2 == pytest.approx(2.0 * found.theorem_1)  # sqrt(4)
        assert np.isnan([found.theorem_6, found.theorem_7, found.start]).all()
        assert found.moments is None

    def test_square_truth_has_one_inverse(self) -> None:
        T = np.array([[0.75, 0.25], [0.25, 0.75]])  # inverse [[1.5, -.5], [-.5, 1.5]]
        found = noise_tolerance(T)
        assert found.inverse_norm == pytest.approx(2.0)
        assert found.theorem_1 == pytest.approx(1 / 4)  # n |A+| = 4 > m = 2
        assert found.theorem_2 == pytest.approx(np.sqrt(2) / 4)

    def test_the_shortest_of_many_inverses(self) -> None:
        # one component: the shortest p with h p = 1 is 1 / max(h) on the largest entry
        assert noise_tolerance([[1.0, 3.0, 4.0]]).inverse_norm == pytest.approx(2.0)
        assert noise_tolerance([[1.0, 3.0, 4.0]], normalize=False).inverse_norm == pytest.approx(0.25)

    @pytest.mark.parametrize("c", [1.0, 0.25])
    def test_theorems_6_and_7(self, c: float) -> None:
        T = np.array([[0.75, 0.25], [0.25, 0.75]])
        W = independent([0.25, 0.5], 4)
        found = noise_tolerance(T, W, c=c, G=3.0)
        C1, c2, n, m, norm = 1.0, 0.5, 2, 2, 2.0
        assert found.moments is not None
        assert (found.moments.C1, found.moments.c2, found.unit) == (C1, c2, 1.0)
        assert found.theorem_6 == pytest.approx(min(c2**2 * 3 * c / (C1**2 * m), c2**4 * 3 * c / (C1**5 * n * norm)))
        assert found.theorem_7 == pytest.approx(c2 * 3 * np.sqrt(c * n) / (C1 * max(m, n * norm)))
        assert found.start == pytest.approx(c2**2 * 3 * c / (C1**3 * norm))

    def test_theorems_agree_where_they_meet(self) -> None:
        """Independent binary weights with s = 1, c = 1: C1 = c2 = C2 = 1."""
        found = noise_tolerance(np.random.default_rng(0).random((2, 7)), independent([0.5, 0.5], 2))
        # binary weights of components whose sums differ are no longer binary when these are normalised
        plain = noise_tolerance(np.eye(2, 7), independent([0.5, 0.5], 2))
        assert plain.theorem_6 == pytest.approx(plain.theorem_1)
        assert plain.theorem_7 == pytest.approx(plain.theorem_2)
        assert found.theorem_6 < found.theorem_1

    def test_normalising_changes_no_product(self) -> None:
        """Truth times d and weights over d are the same data, and get the same answer in its units."""
        rng = np.random.default_rng(4)
        T, W, d = rng.random((3, 8)), rng.random((20, 3)), np.array([0.1, 1.0, 50.0])
        one, other = noise_tolerance(T, W), noise_tolerance(T * d[:, None], W / d)
        for name in ("theorem_1", "theorem_2", "theorem_6", "theorem_7", "start", "unit"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-7), name
        assert one.unit == pytest.approx((W * T.sum(axis=1)).max())
        assert one.moments is not None
        assert one.moments.in_unit_interval
        twice = noise_tolerance(T, 2.0 * W)
        assert twice.theorem_6 == pytest.approx(one.theorem_6)
        assert twice.unit == pytest.approx(2.0 * one.unit)

    @pytest.mark.parametrize(
        ("arguments", "options", "message"),
        [
            ((np.eye(2),), {"c": 1.5}, "c=1.5"),
            ((np.eye(2), np.ones((4, 3))), {}, "3 components"),
            (([[1.0, 0.0], [0.0, 0.0]],), {}, "only zeros in row 1"),
            (([[1.0, 2.0], [2.0, 4.0]],), {}, "dependent"),
        ],
        ids=["c", "W", "zeros", "dependent"],
    )
    def test_errors(self, arguments: Any, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            noise_tolerance(*arguments, **options)
