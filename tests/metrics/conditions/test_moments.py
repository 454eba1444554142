"""The moments of Purification, against distributions that have them exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.metrics import (
    moment_constants,
)
from tests.metrics.conditions.samples import FORMS, independent

INF = float("inf")


class TestMomentConstants:
    def test_independent_binary(self) -> None:
        """(A2'): C1 = c2 = C2 = s if every weight is 1 with probability s/n."""
        found = moment_constants(independent([0.5, 0.5, 0.5], 2))
        assert (found.C1, found.c2, found.C2) == (1.5, 1.5, 1.5)
        assert found.balanced
        assert found.G == 0.5
        assert found.in_unit_interval

    def test_different_probabilities(self) -> None:
        found = moment_constants(5.0 * independent([0.25, 0.5, 0.75], 4))
        assert (found.C1, found.c2, found.C2) == (2.25, 0.75, 2.25)
        assert not found.balanced
        assert found.G == 2.25**3 / (0.75**2 * 3)
        assert found.scale == 5.0

    def test_sizes_by_hand(self) -> None:
        found = moment_constants([[1.0, 0.5], [0.0, 0.5]])
        assert (found.C1, found.c2, found.C2) == (1.0, 0.5, 1.0)
        assert found.balanced  # just
        assert moment_constants([[1.0, 0.5], [1.0, 0.5]], scale="components").C2 == 2.0

    def test_a_component_that_never_appears(self) -> None:
        found = moment_constants([[1.0, 0.0]])
        assert (found.c2, found.G, found.balanced) == (0.0, INF, False)
        assert np.isnan(moment_constants([[0.0, 0.0]]).G)

    @FORMS
    def test_any_form(self, form: Any) -> None:
        W = np.random.default_rng(1).integers(0, 5, (40, 3)) / 4.0
        plain, found = moment_constants(W), moment_constants(form(W))
        assert (found.C1, found.c2, found.C2, found.G) == pytest.approx((plain.C1, plain.c2, plain.C2, plain.G))
