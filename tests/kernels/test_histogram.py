"""Magnitudes on a logarithmic scale, against a loop over the entries and against np.histogram."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from partwise.kernels.histogram import BINS, count_magnitudes, edges, magnitudes

LEAST, MOST = 2.0**-100, 2.0**28
LOWER = np.concatenate([[LEAST], edges()[:-1]])


def by_loop(V: np.ndarray) -> np.ndarray:
    """An octave is cut where its first two bits change: at 1, 1.25, 1.5 and 1.75 times a power of two."""
    counts = np.zeros((2, V.shape[1], BINS), int)
    for row in V.tolist():
        for j, v in enumerate(row):
            place = 0
            if abs(v) >= MOST:
                place = BINS - 1
            elif abs(v) >= LEAST:
                mantissa, exponent = math.frexp(abs(v))  # mantissa in [0.5, 1)
                place = 4 * (exponent - 1 + 100) + int((2.0 * mantissa - 1.0) * 4.0)
            counts[int(math.copysign(1.0, v) < 0.0), j, place] += 1
    return counts


VALUES = {
    "normal": np.random.default_rng(0).standard_normal((40, 3)),
    "many-scales": 10.0 ** np.random.default_rng(1).uniform(-40, 12, (60, 2)) * [1.0, -1.0],
    "edges": np.concatenate([edges(), -edges()])[:, None],
    "below-edges": np.nextafter(edges(), 0.0)[:, None],
    "zeros": np.array([[0.0, -0.0], [0.0, -0.0]]),
    "subnormal": np.array([[5e-324, -5e-324], [2.2e-308, -1e-310]]),
    "large": np.array([[1e300, -1e300], [np.finfo(float).max, -MOST], [np.inf, -np.inf]]),
    "outside-by-little": np.array([[np.nextafter(LEAST, 0.0), LEAST], [np.nextafter(MOST, 0.0), MOST]]),
    "float32": np.random.default_rng(2).standard_normal((30, 2)).astype(np.float32),
    "no-rows": np.zeros((0, 3)),
    "no-columns": np.zeros((3, 0)),
}


@pytest.mark.parametrize("name", VALUES)
def test_is_a_loop_over_the_entries(name: str) -> None:
    V = VALUES[name]
    counts = magnitudes(V)
    assert counts.shape == (2, V.shape[1], BINS)
    np.testing.assert_array_equal(counts, by_loop(V))
    assert counts.sum() == V.size


def test_edges_are_four_an_octave() -> None:
    assert edges().shape == (BINS,)
    np.testing.assert_array_equal(edges()[3::4], 2.0 ** np.arange(-99, 29))
    np.testing.assert_array_equal(edges()[:4] / LEAST, [1.25, 1.5, 1.75, 2.0])
    assert edges()[-1] == MOST
    assert (edges() / LOWER).max() == 1.25


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["positive", "negative"])
def test_is_numpys_histogram(sign: float) -> None:
    magnitude = 2.0 ** np.random.default_rng(3).uniform(-99.9, 27.9, 5000)
    counts = magnitudes(sign * magnitude[:, None])
    expected = np.histogram(magnitude, np.concatenate([[LEAST], edges()]))[0]
    np.testing.assert_array_equal(counts[int(sign < 0.0), 0], expected)
    assert not counts[int(sign > 0.0)].any()


def test_an_entry_lies_below_the_edge_of_its_bin_and_near_it() -> None:
    for value in (1.0, 1.2499, 1.25, 3.7e-9, 0.999999, 1e8):
        (place,) = np.flatnonzero(magnitudes(np.array([[value]]))[0, 0])
        assert edges()[place] / 1.25 <= value < edges()[place]


@pytest.mark.parametrize(
    "form",
    [np.asfortranarray, lambda V: np.repeat(V, 2, axis=1)[:, ::2], lambda V: V[::-1][::-1]],
    ids=["fortran", "strided", "reversed"],
)
def test_layout_does_not_matter(form: Any) -> None:
    V = VALUES["normal"]
    np.testing.assert_array_equal(magnitudes(form(V)), magnitudes(V))


def test_counts_are_added_and_the_block_is_left_alone() -> None:
    V = VALUES["normal"].copy()
    V.flags.writeable = False
    counts = magnitudes(V)
    count_magnitudes(V.view(np.int64), counts)
    np.testing.assert_array_equal(counts, 2 * magnitudes(V))
    np.testing.assert_array_equal(magnitudes(V[:13]) + magnitudes(V[13:]), magnitudes(V))
