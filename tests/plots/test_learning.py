"""The figures of learning: what is drawn is what was given."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from partwise.exceptions import InputError
from partwise.metrics import stability
from partwise.plots import code_histograms, detector_grid, feature_grid, image_grid, learning_curve, reproducibility

IMAGES = np.random.default_rng(0).random((7, 12))


def drawn(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    return file.getvalue()


def test_learning_curve() -> None:
    figure = learning_curve({"a": ([1, 2, 3], [0.5, 0.0, 0.1]), "b": ([1], [1.0])}, title="Learning")
    axes = figure.axes[1]
    assert axes.get_yscale() == "log"
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 0.5], [3, 0.1]])  # zero has no logarithm
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    assert len(drawn(figure)) > 1000


def test_features_are_images_with_another_contrast() -> None:
    images = IMAGES - 0.2
    plain = image_grid(images, (3, 4)).axes[0].images
    faint = feature_grid(images, (3, 4), title="Features", columns=3).axes[0].images
    for one, other in zip(plain, faint, strict=True):
        np.testing.assert_allclose(other.get_array(), one.get_array() ** 0.2)


def test_detectors_are_red_and_blue() -> None:
    figure = detector_grid([[2.0, -1.0, 0.0, -2.0], [0.0] * 4], (2, 2), title="Detectors", columns=1)
    first, empty = (image.get_array() for image in figure.axes[0].images)
    np.testing.assert_array_equal(first[0], [[1, 0, 0], [0.5, 0.5, 1]])  # red; half blue
    np.testing.assert_array_equal(first[1], [[1, 1, 1], [0, 0, 1]])  # white; blue
    assert (empty == 1.0).all()
    assert len(drawn(figure)) > 500
    square = detector_grid([[4.0, -1.0, 0.0, 0.0]], (2, 2), exponent=0.5).axes[0].images[0].get_array()
    np.testing.assert_array_equal(square[0, 1], [0.5, 0.5, 1])


def test_code_histograms() -> None:
    codes = np.column_stack([np.repeat([0.0, 1.0], [30, 10]), np.linspace(0.0, 1.0, 40), np.zeros(40)])
    figure = code_histograms(codes, title="Codes", columns=2)
    notes = [text.get_text() for text in figure.axes[0].texts][1:]
    assert notes == ["75% zero, dip 0.12*", "2% zero, dip 0.01", "100% zero, dip 0.00"]
    assert len(drawn(figure)) > 500


def test_histograms_tell_a_falling_density_from_a_bump() -> None:
    rng = np.random.default_rng(0)
    there = rng.random(2000) < 0.4
    codes = np.stack([there * rng.exponential(size=2000), there * rng.normal(2.0, 0.1, 2000)], axis=1)
    notes = [text.get_text() for text in code_histograms(codes).axes[0].texts if "dip" in text.get_text()]
    assert [note.endswith("*") for note in notes] == [False, True]


def test_reproducibility_tells_the_stability() -> None:
    runs = [np.random.default_rng(seed).random((5, 12)) for seed in range(3)]
    figure = reproducibility({"random": runs, "same": [runs[0], runs[0][::-1]]})
    labels = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert labels == [f"random: {stability(runs):.3f}", "same: 1.000"]
    assert (np.diff(figure.axes[1].lines[0].get_ydata()) <= 0).all()
    assert len(drawn(figure)) > 1000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: learning_curve({}), "curves is empty"),
        (lambda: learning_curve({"a": ([1, 2], [1.0])}), "a: samples and errors"),
        (lambda: feature_grid(IMAGES, (3, 4), exponent=0.0), "exponent=0"),
        (lambda: detector_grid(IMAGES, (3, 3)), "detectors must have shape"),
        (lambda: detector_grid(IMAGES, (3, 4), columns=0), "columns=0"),
        (lambda: code_histograms(np.ones(3)), "codes must have shape"),
        (lambda: reproducibility({}), "starts is empty"),
        (lambda: reproducibility({"one": [IMAGES]}), "one has 1 start"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
