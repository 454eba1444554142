"""Pictures come as they are stored: every depth, every frame, the right way up; what a byte cannot hold is refused."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import partwise as pw
from partwise.exceptions import ReaderError

Image = pytest.importorskip("PIL.Image")
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("a.png", RNG.integers(0, 256, (6, 5)).astype(np.uint8)),
        ("a.png", RNG.integers(0, 4096, (6, 5)).astype(np.uint16)),
        ("a.tif", RNG.integers(0, 65536, (6, 5)).astype(np.uint16)),
        ("a.tif", RNG.integers(0, 2**31, (6, 5)).astype(np.int32)),
        ("a.tif", RNG.random((6, 5)).astype(np.float32)),
        ("a.tif", RNG.normal(size=(6, 5)).astype(np.float32)),
        ("a.png", RNG.random((6, 5)) < 0.5),
    ],
    ids=["8-bit", "12-bit-png", "16-bit-tiff", "32-bit-tiff", "float", "signed-float", "bits"],
)
def test_values_are_those_stored(tmp_path: Path, name: str, values: np.ndarray):
    Image.fromarray(values).save(tmp_path / name)
    table = pw.read(tmp_path)
    np.testing.assert_array_equal(np.asarray(table.X, float), values.reshape(1, -1).astype(float))
    assert table.image_shape == (6, 5)


@pytest.mark.parametrize("limit", [1, 15, 100, 255, 300, 4095, 65535])
@pytest.mark.parametrize("plain", [True, False])
def test_values_of_pgm_are_not_scaled(tmp_path: Path, limit: int, plain: bool):
    values = np.append(RNG.integers(0, limit + 1, 11), limit)
    head = f"{'P2' if plain else 'P5'} 4 3 {limit}\n".encode()
    body = " ".join(map(str, values)).encode() if plain else values.astype(">u2" if limit > 255 else "u1").tobytes()
    (tmp_path / "a.pgm").write_bytes(head + body)
    np.testing.assert_array_equal(np.asarray(pw.read(tmp_path).X)[0], values)


def test_negative_pixels_are_refused_by_fit(tmp_path: Path):
    for i in range(4):
        Image.fromarray(RNG.normal(size=(4, 4)).astype(np.float32)).save(tmp_path / f"{i}.tif")
    with pytest.raises(ValueError, match="Negative values"):
        pw.HALS(2).fit(pw.open_source(tmp_path))


def test_every_frame_is_a_sample(tmp_path: Path):
    stack = RNG.integers(0, 65536, (3, 4, 5)).astype(np.uint16)
    pages = [Image.fromarray(page) for page in stack]
    pages[0].save(tmp_path / "a.tif", save_all=True, append_images=pages[1:])
    table = pw.read(tmp_path)
    np.testing.assert_array_equal(np.asarray(table.X), stack.reshape(3, -1))
    assert table.sample_names == ["a.tif", "a.tif, frame 2", "a.tif, frame 3"]
    assert "frames of one file are samples" in table.notes


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
@pytest.mark.parametrize("turn", range(1, 9))
def test_pictures_stand_upright(tmp_path: Path, name: str, turn: int):
    from PIL import ImageOps

    values = RNG.integers(0, 256, (3, 5)).astype(np.uint8)
    tags = Image.Exif()
    tags[0x0112] = turn
    Image.fromarray(values).save(tmp_path / name, exif=tags)
    Image.fromarray(values).save(tmp_path / "turned", "png", exif=tags)  # of TIFF Pillow itself turns some twice
    with Image.open(tmp_path / "turned") as picture:
        upright = np.array(ImageOps.exif_transpose(picture))
    table = pw.read(tmp_path)
    np.testing.assert_array_equal(np.asarray(table.X).reshape(table.image_shape), upright)


def test_pictures_of_two_depths_are_refused(tmp_path: Path):
    Image.fromarray(np.ones((3, 3), np.uint8)).save(tmp_path / "a.png")
    Image.fromarray(np.ones((3, 3), np.uint16)).save(tmp_path / "b.png")
    with pytest.raises(ReaderError, match=r"b\.png: holds values of type u?int(16|32), and a\.png of uint8"):
        pw.read(tmp_path)


def test_colours_of_16_bits_are_refused(tmp_path: Path):
    (tmp_path / "a.ppm").write_bytes(b"P6 2 1 65535\n" + np.arange(6, dtype=">u2").tobytes())
    with pytest.raises(ReaderError, match="colours"):
        pw.read(tmp_path)


def test_what_is_done_to_colours_is_told(tmp_path: Path):
    Image.fromarray(np.full((3, 3, 4), 7, np.uint8)).save(tmp_path / "a.png")
    assert pw.read(tmp_path).notes == ("transparency is left out, colours are read as grey values",)


def test_a_large_picture_takes_a_few_times_its_bytes(tmp_path: Path):
    """Of 64 megapixels 3.5 GB were taken: eight bytes a pixel, several times."""
    side = 512
    values = (np.arange(side * side) % 201).astype(np.uint8)
    (tmp_path / "a.pgm").write_bytes(b"P5\n%d %d\n200\n" % (side, side) + values.tobytes())
    pw.read(tmp_path)  # what is imported at first use
    tracemalloc.start()
    try:
        table = pw.read(tmp_path)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(np.asarray(table.X)[0], values)
    assert taken < 6 * values.nbytes
