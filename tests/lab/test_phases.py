"""Borders of recovery, on a grid whose border is known."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.lab import Measurements, Reproduction
from partwise.lab.phases import _bound, border_exponent, border_gain, borders, constant, least_border
from tests.lab.toys import TOY

PLACES = (0.2, 0.4, 0.8, 0.9)
ENDS = {1: 0.2, 4: 0.4, 16: 0.8}


def grid(ends: dict[int, float] = ENDS) -> Reproduction:
    rows = [
        {"method": "a", "x": x, "D": D, "relative": 1e-12 if x <= end else 1e-2, "bound": 10.0 * x / D}
        for D, end in ends.items()
        for x in PLACES
    ]
    return Reproduction(TOY, Measurements(rows), Measurements(), {"methods": ["a"]})


def test_borders():
    assert borders(grid(), "a", "x", "D") == ENDS
    assert least_border(grid(), "a", along="x", by="D") == 0.2
    assert border_gain(grid(), "a", along="x", by="D") == pytest.approx(0.6)
    assert border_exponent(grid(), "a", along="x", by="D") == pytest.approx(0.5)
    assert border_exponent(grid({1: 0.2, 4: 0.0, 16: 0.8}), "a", along="x", by="D") == -np.inf
    assert np.isnan(least_border(grid(), "b", along="x", by="D"))
    assert np.isnan(border_exponent(grid(), "b", along="x", by="D"))


def test_recovery_behind_a_failure_does_not_count():
    rows = [
        {"method": "a", "x": x, "D": 1, "relative": e} for x, e in zip(PLACES, (1e-9, 1e-2, 1e-9, 1e-9), strict=True)
    ]
    result = Reproduction(TOY, Measurements(rows), Measurements(), {"methods": ["a"]})
    assert borders(result, "a", "x", "D") == {1: 0.2}


def test_the_constant_where_nothing_is_recovered_is_none_at_all():
    at = {"along": "x", "by": "D", "bound": "bound"}
    assert constant(grid({1: 0.4, 2: 0.4}), "a", **at) == pytest.approx(4.0)
    assert constant(grid({1: 0.0, 2: 0.0}), "a", **at) == 0.0
    assert np.isnan(constant(grid(), "b", **at))


def test_bound_goes_on_with_the_constant_of_the_first_row():
    ends, found = _bound(grid({1: 0.4, 2: 0.4}).table, "x", "D", "a", "bound")
    assert found == pytest.approx(4.0)  # 10 x / D at x = 0.4, D = 1
    assert ends[1] == pytest.approx(0.4)
    assert ends[2] == pytest.approx(0.8)
    assert np.isnan(_bound(grid({1: 0.0}).table, "x", "D", "a", "bound")[1])
