"""Names, numbers in words, pictures and charts."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from typing import Any

import numpy as np
import pytest

from partwise.exceptions import InputError
from partwise.outcomes import Stop
from partwise.report import charts, png, wording
from partwise.report.naming import Names, shown, view_of


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain", "plain"),
        ("two\nlines\tand  more", "two lines and more"),
        ("", "(no name)"),
        ("\x00\x07", "(no name)"),
        ("a" * 100, "a" * 59 + "…"),
        ("lone \ud800", "lone ?"),
        ("שלום", "שלום"),
        (3.5, "3.5"),
        ("<b>", "<b>"),
    ],
    ids=["plain", "lines", "empty", "control", "long", "surrogate", "rtl", "number", "markup"],
)
def test_shown(name: object, text: str):
    assert shown(name) == text


def test_numbers_stand_in_for_names():
    assert (Names(None, None).feature(3), Names(None, None).sample(4)) == ("column 3", "row 4")


NUMBERS = [f"{400 + 10 * i}" for i in range(20)]


@pytest.mark.parametrize(
    ("names", "count", "shape", "kind"),
    [
        (None, 12, (3, 4), "image"),
        (NUMBERS, 20, (4, 5), "image"),
        (None, 20, None, "spectrum"),
        (None, 19, None, "bars"),
        (NUMBERS, 20, None, "spectrum"),
        (NUMBERS[::-1], 20, None, "spectrum"),
        ([f"{name} nm" for name in NUMBERS], 20, None, "spectrum"),
        ([f"{float(name) * 1e-9:e}" for name in NUMBERS], 20, None, "spectrum"),
        (NUMBERS[:19], 19, None, "bars"),
        ([*NUMBERS[1:], NUMBERS[0]], 20, None, "bars"),
        ([*NUMBERS[:-1], "590 nm"], 20, None, "bars"),
        ([f"gene{name}" for name in NUMBERS], 20, None, "bars"),
        ([*NUMBERS[:-1], "1e999"], 20, None, "bars"),
        (["same"] * 20, 20, None, "bars"),
    ],
    ids=["image", "image-first", "no-names", "few", "numbers", "descending", "unit", "powers", "few-numbers",
         "unordered", "mixed-units", "words-with-numbers", "infinite", "words"],
)  # fmt: skip
def test_view(names: list[str] | None, count: int, shape: tuple[int, int] | None, kind: str):
    assert view_of(names, count, shape).kind == kind


def test_view_knows_places_and_unit():
    view = view_of([f"{name} nm" for name in NUMBERS], 20, None)
    assert view.positions is not None
    assert view.positions.tolist() == [float(name) for name in NUMBERS]
    assert view.unit == "nm"


@pytest.mark.parametrize("shape", [(12,), (3, 4, 1), (3.5, 4), "34", (3, None), 12], ids=repr)
def test_image_shape_must_be_two_numbers(shape: Any):
    with pytest.raises(InputError, match="must be two whole numbers"):
        view_of(None, 12, shape)


def test_image_shape_must_fit():
    assert view_of(None, 12, np.array([3, 4])).image_shape == (3, 4)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"image_shape=\(-3, -4\) does not go with 12 features"):
        view_of(None, 12, (-3, -4))
    with pytest.raises(InputError, match=r"image_shape=\(3, 4\) does not go with 13 features"):
        view_of(None, 13, (3, 4))


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0.0%"), (1e-5, "<0.1%"), (0.1234, "12.3%"), (0.9999, ">99.9%"), (1.0, "100.0%")]
)
def test_percent(share: float, text: str):
    assert wording.percent(share) == text


@pytest.mark.parametrize(
    ("left", "text"),
    [(0.0, "100%"), (1e-7, ">99.999%"), (2e-5, "99.998%"), (2e-4, "99.98%"), (0.1, "90.0%"), (1.0, "0.0%"),
     (1.5, "0.0%")],
)  # fmt: skip
def test_explained(left: float, text: str):
    assert wording.explained(left) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.01234, "0.0123"), (12.0, "12"), (54321.0, "54,321"), (1e-5, "10⁻⁵"), (2.34e-7, "2.3 × 10⁻⁷"),
     (-2e9, "-2 × 10⁹")],
)  # fmt: skip
def test_number(value: float, text: str):
    assert wording.number(value).replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize(
    ("duration", "text"),
    [(0.0, "<1 ms"), (0.0312, "31 ms"), (5.26, "5.3 s"), (61.0, "1 min 1 s"), (7260.0, "2 h 1 min")],
)  # fmt: skip
def test_seconds(duration: float, text: str):
    assert wording.seconds(duration) == text


def test_listed():
    assert wording.listed(["a"]) == "a"
    assert wording.listed(["a", "b", "c"]) == "a, b and c"
    assert wording.listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert wording.listed(["a"], 6, 1000) == "a and 999 more"


@pytest.mark.parametrize(
    ("stop", "sentence"),
    [
        (None, "The method computes its parts directly"),
        (
            Stop("converged", 9.9e-6, 1e-5, measure="kkt"),
            "It converged: the residual of the optimality conditions fell to",
        ),
        (Stop("converged", 1e-11, 1e-10, measure="change"), "It converged: the last step changed the components by"),
        (Stop("max_iter", n_iter=7), "It did not converge: the limit of 7 iterations came first."),
        (Stop("callback"), "A callback stopped it after 7 iterations."),
        (Stop("interrupted", n_iter=7), "It was interrupted by the user after iteration 7."),
        (Stop("settled"), "It converged: no further change is possible."),
        (Stop("done"), "It did all of its steps."),
        (Stop("stalled", 0.1, measure="fixed-point"), "It did not converge: the fixed-point residual 0.1 has stopped"),
    ],
)
def test_ending(stop: Stop | None, sentence: str):
    assert wording.ending(stop, None if stop is None else 7).startswith(sentence)


def test_ending_after_partial_fit():
    assert wording.ending(None, 7) == "It was trained bit by bit, and can go on."


def test_ending_without_tolerance():
    assert wording.ending(Stop("passes", 10), 10, wanted=False) == "It ended: 10 passes done."
    assert wording.ending(Stop("max_iter"), 7, wanted=False) == "It did the 7 iterations that were asked for."


def decoded(uri: str) -> tuple[int, np.ndarray]:
    """Colour type and levels of a picture, read by the PNG standard."""
    data = base64.b64decode(uri.removeprefix("data:image/png;base64,"))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert checksum == zlib.crc32(name + body)
        chunks[name] = body
        at += 12 + length
    width, height, depth, kind, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    if kind == 3:
        assert len(chunks[b"PLTE"]) == 3 * png.LEVELS
        assert len(chunks[b"tRNS"]) == png.LEVELS
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    return kind, lines[:, 1:]


@pytest.mark.parametrize(("palette", "kind", "top"), [("grey", 0, 252), ("sequential", 3, 126), ("diverging", 3, 126)])
def test_picture(palette: str, kind: int, top: int):
    found, levels = decoded(png.picture(np.array([[0.0, 1.0, 2.0], [2.0, 5.0, -1.0]]), palette, 0.0, 2.0))
    assert found == kind
    assert levels.tolist() == [[0, top // 2, top], [top, top, 0]]  # beyond the ends is at the ends


def test_zero_is_clear_and_palettes_darken():
    for colours in (png.PALETTES["sequential"], png.PALETTES["diverging"][png.LEVELS // 2 :]):
        assert colours[0, 3] == 0
        assert colours[-1, 3] == 255
        on_white = 255.0 - colours[:, 3:] / 255.0 * (255.0 - colours[:, :3])
        lightness = on_white @ [0.2126, 0.7152, 0.0722]
        assert (np.diff(lightness) < 0.0).all()
    diverging = png.PALETTES["diverging"]
    assert diverging.shape == (png.LEVELS, 4)
    assert diverging[0, 0] > diverging[0, 2]  # orange below, blue above
    assert diverging[-1, 0] < diverging[-1, 2]


def test_shrunk():
    image = np.arange(12.0).reshape(2, 6)
    np.testing.assert_array_equal(png.shrunk(image, 6), image)
    np.testing.assert_array_equal(png.shrunk(image, 3), [[3.5, 5.5, 7.5]])
    assert png.shrunk(np.ones((5, 5)), 2).shape == (2, 2)


def points(path: str) -> list[tuple[float, float]]:
    numbers = [float(n) for n in re.findall(r"-?\d+", path.split("V")[0])]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def test_spectrum_goes_up_from_its_zero_line():
    path, below = charts.spectrum(np.array([0.0, 2.0, 1.0]), np.array([1.0, 2.0, 5.0]))
    assert below == ""
    assert points(path) == [(0, 400), (0, 400), (250, 16), (1000, 208)]
    assert path.endswith("V400H0")


@pytest.mark.parametrize(
    ("values", "above", "below"),
    [
        ([1.0, 0.0, -2.0], [141, 16, 141, 141], [141, 141, 141, 392]),
        ([3.0, 0.0, -1.0], [298, 16, 298, 298], [298, 298, 298, 392]),
        ([-1.0, 0.0, -2.0], [16, 16, 16, 16], [16, 204, 16, 392]),
    ],
    ids=["mostly-negative", "mostly-positive", "negative"],
)
def test_signed_spectrum_fills_its_height(values: list[float], above: list[int], below: list[int]):
    paths = charts.spectrum(np.array(values), np.arange(3.0))
    assert [[y for _, y in points(path)] for path in paths] == [above, below]


def test_descending_spectrum_is_turned():
    one = charts.spectrum(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]))
    assert one == charts.spectrum(np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0]))


def test_envelope_keeps_every_peak():
    y = np.zeros(10_000)
    y[[17, 5000, 9998]] = [3.0, -1.0, 2.0]
    x, kept = charts.envelope(np.arange(10_000.0), y)
    assert len(x) <= charts.ENVELOPE
    assert {17.0, 5000.0, 9998.0} <= set(x.tolist())
    assert (np.diff(x) > 0).all()
    assert kept.max() == 3.0


@pytest.mark.parametrize("seed", range(40))
def test_peaks_are_those_of_scipy(seed: int):
    from scipy.signal import find_peaks

    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, 30).astype(float) if seed % 2 else np.cumsum(rng.standard_normal(30))
    size = np.abs(values)
    tops = find_peaks(np.pad(size, 1), prominence=charts.PROMINENT * size.max())[0] - 1
    np.testing.assert_array_equal(charts.peaks(values), tops[np.argsort(-size[tops], kind="stable")][:3])


def test_peaks():
    values = np.array([0.0, 5.0, 0.0, 0.1, 0.0, 7.0, 6.9, 6.95, 0.0, 4.0])
    assert charts.peaks(values).tolist() == [5, 1, 9]  # what hardly stands out is no peak
    assert charts.peaks(np.zeros(30)).tolist() == []


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (-3.2, 1.1, ["10", "1", "10⁻¹", "10⁻²", "10⁻³"]),
        (-8.5, 0.5, ["1", "10⁻²", "10⁻⁴", "10⁻⁶", "10⁻⁸"]),
        (np.log10(990.0), np.log10(1100.0), ["1,000", "1,050", "1,100"]),
    ],
    ids=["decades", "many", "round"],
)
def test_log_ticks(low: float, high: float, texts: list[str]):
    assert [text for _, text in charts.log_ticks(low, high)] == texts


def test_curve_is_logarithmic():
    chart = charts.curve("Objective", np.array([0.0, 1.0, 2.0]), np.array([100.0, 10.0, 1.0]))
    (_, top), (_, middle), (_, bottom) = points(chart.path)
    assert middle - top == bottom - middle
    assert chart.x == ((0.0, "0"), (100.0, "2"))
    assert chart.x_label == "iteration"


def test_constant_curve():
    chart = charts.curve("Objective", np.array([0.0, 1.0]), np.array([5.0, 5.0]))
    assert "nan" not in chart.path


def test_curve_that_hardly_changes():
    chart = charts.curve("Objective", np.array([0.0, 1.0]), np.array([5.0, 5.0 * (1.0 + 1e-15)]))
    (_, first), (_, last) = points(chart.path)
    assert first == last
    assert max(len(text) for _, text in chart.y) <= 6


def test_axis_of_long_numbers():
    days = np.arange(20240101.0, 20240131.0)
    texts = [text for _, text in charts.axis_ticks(days)]
    assert len(set(texts)) == len(texts) >= 2
    assert set(texts) <= {f"{day:.0f}" for day in days}


def test_histogram_counts():
    chart = charts.histogram(np.array([0.1, 0.1, 0.6, 0.99]))
    heights = [400 - int(v) for v in re.findall(r"V(\d+)H", chart.path)]
    assert heights == [400, 200, 200]
    assert chart.x[-1] == (100.0, "100%")
    assert chart.y == ((0.0, "2"), (100.0, "0"))
    assert charts.histogram(np.array([0.1, 0.2]), "cells").title == "number of cells"


def test_histogram_of_small_shares_is_logarithmic():
    chart = charts.histogram(np.array([1e-7, 1e-5, 1e-3]))
    assert [text for _, text in chart.x] == ["10⁻³", "10⁻⁴", "10⁻⁵", "10⁻⁶", "10⁻⁷"]


def test_histogram_beyond_everything():
    chart = charts.histogram(np.array([0.5, 3.0]))
    assert len(re.findall("M", chart.path)) == 2


@pytest.mark.parametrize(("parts", "first"), [(1, "1"), (16, "1"), (17, "2"), (300, "1")])
def test_part_ticks(parts: int, first: str):
    ticks = charts.part_ticks(parts)
    assert ticks[0][1] == first
    assert len(ticks) <= 17
    assert all(0.0 < at < 100.0 for at, _ in ticks)
