"""Pictures: the values as they are stored, every frame, the right way up."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.door.guard import LARGEST_RATIO, fail, reading
from partwise.exceptions import MissingDependencyError

Array = npt.NDArray[Any]

MOST_PIXELS = 1 << 26  # of one picture
MOST_FRAMES = 1 << 16  # of one file
NUMBERS = ("1", "L", "I", "F")  # modes that hold one number a pixel; "I;16" and its kin begin as "I"
ORIENTATION, SAMPLE_FORMAT = 0x0112, 339  # tags of EXIF and TIFF
UNSIGNED, SIGNED = 1, 2
# what to do with rows and columns for each value of the tag, 1 being upright
TURNS: dict[int, Callable[[Array], Array]] = {
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.T,
    6: lambda a: a.T[:, ::-1],
    7: lambda a: a[::-1, ::-1].T,
    8: lambda a: a.T[::-1],
}


def frames(path: Path) -> Iterator[tuple[Array, str | None]]:
    """The frames of a picture as matrices of the numbers stored, and what was done to them that is to be told.

    Grey values of any depth come as they are; colours and palettes become grey values of a byte, and are refused where
    a byte does not hold them.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependencyError("reading pictures needs Pillow: pip install 'partwise[images]'") from error
    with reading(path, "picture"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what matters is an error below
        # from memory: of a file Pillow reads as many bytes as a damaged one declares, and takes their room first
        data = path.read_bytes()
        with Image.open(io.BytesIO(data)) as picture:
            count = int(getattr(picture, "n_frames", 1))
            if count > MOST_FRAMES:
                raise fail(path, f"declares {count} frames, which it cannot hold")
            for number in range(count):
                if number:
                    picture.seek(number)
                _check_size(path, picture, len(data))
                yield _numbers(path, picture)


def _check_size(path: Path, picture: Any, size: int) -> None:
    width, height = picture.size
    # eight pixels in a byte at most, before compression
    if width * height > min(MOST_PIXELS, 8 * LARGEST_RATIO * size):
        raise fail(path, f"declares {height} x {width} pixels, which it cannot hold")


def _numbers(path: Path, picture: Any) -> tuple[Array, str | None]:
    raw, limit = _stored(picture)
    stored = picture.tag_v2.get(SAMPLE_FORMAT, (UNSIGNED,))[0] if hasattr(picture, "tag_v2") else None
    picture.load()
    turn = TURNS.get(picture.getexif().get(ORIENTATION, 1), np.asarray)
    if picture.mode.partition(";")[0] in NUMBERS:
        values = np.array(picture)
        if limit is not None:
            values = _unscaled(values, limit)
        elif stored == UNSIGNED and values.dtype == np.int32 and "16" not in raw and "12" not in raw:
            values = values.view(np.uint32)  # Pillow has no unsigned numbers of 32 bits
        elif stored == SIGNED and values.dtype == np.uint8:
            values = values.view(np.int8)
        return np.ascontiguousarray(turn(values)), None
    if "16" in raw or (limit is not None and limit > 255):
        raise fail(path, f"has colours ({picture.mode}) of 16 bits, of which 8 would be read; save it as grey values")
    told = "transparency is left out, " if picture.mode.endswith(("A", "a")) else ""
    return np.ascontiguousarray(turn(np.array(picture.convert("L")))), f"{told}colours are read as grey values"


def _stored(picture: Any) -> tuple[str, int | None]:
    """How the pixels lie in the file, and the largest value of a format that Pillow scales to all of a byte or two."""
    tile = next(iter(getattr(picture, "tile", ())), None)
    args = tile[3] if tile is not None else None
    if tile is not None and tile[0] in ("ppm", "ppm_plain"):
        return "", int(args[1]) if isinstance(args, tuple) else None
    raw = next(iter(args), "") if isinstance(args, tuple) else args
    return str(raw or ""), None


def _unscaled(values: Array, limit: int) -> Array:
    """What a PGM file holds: Pillow makes its largest value 255 or 65535, by rounding, which can be undone."""
    largest = 255 if values.dtype == np.uint8 else 65535
    table = np.rint(np.arange(largest + 1) * (limit / largest)).astype(np.uint8 if limit < 256 else np.uint16)
    return np.asarray(table[values])
