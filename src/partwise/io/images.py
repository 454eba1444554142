"""Images: the idx files of MNIST, and folders of pictures."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

from partwise.door.guard import content_bytes, fail, first_bytes, is_gzip, open_bytes, reading
from partwise.door.pictures import frames
from partwise.door.rows import RowFile
from partwise.io.spool import Rows
from partwise.io.table import LARGE, Table
from partwise.sources.chunked import MemmapSource, natural_order

SUFFIXES = (".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".bmp", ".gif", ".tif", ".tiff", ".webp")
CHUNK_BYTES = 16 << 20
IDX_BYTES = b"\x00\x00\x08"


def is_idx(first: bytes) -> bool:
    """Whether a file that begins so is an idx file of bytes."""
    return first[:3] == IDX_BYTES and len(first) > 3 and 1 <= first[3] <= 4


def read_idx_images(path: Path, *, in_memory: int = LARGE) -> Table:
    """Read an idx file of images, as those of MNIST; compressed or not.

    Returns
    -------
    Table
        Of uint8, with ``image_shape``.
    """
    with reading(path, "idx file"):
        axes = first_bytes(path, 4)[3]
        head = first_bytes(path, 4 + 4 * axes)[4:]
        if len(head) != 4 * axes:
            raise fail(path, "ends within its header: it is cut off")
        shape = struct.unpack(f">{axes}I", head)
        if axes not in (2, 3):
            raise fail(path, f"has the shape {shape}, and is no file of images (labels have one dimension)")
        start, need = 4 + 4 * axes, math.prod(shape)
        _check_length(path, start + need)
        if need > in_memory and not is_gzip(path):
            X: Any = MemmapSource(RowFile(path, (shape[0], math.prod(shape[1:])), np.uint8, start))
        else:
            X = _idx_rows(path, start, shape[0], math.prod(shape[1:]), in_memory)
    image_shape = (shape[1], shape[2]) if axes == 3 else None
    return Table(X, image_shape=image_shape, origin=str(path), format="idx")


def _idx_rows(path: Path, start: int, n: int, width: int, in_memory: int) -> Any:
    """The images, some at a time: what is compressed is not held twice, nor at all if it is much."""
    rows = Rows(in_memory)
    try:
        with open_bytes(path) as file:
            file.read(start)
            step = max(1, CHUNK_BYTES // max(1, width))
            for first in range(0, n, step):
                count = min(step, n - first)
                rows.add(np.frombuffer(file.read(count * width), np.uint8).reshape(count, width))
        return rows.finish() if n else np.empty((0, width), np.uint8)
    except BaseException:
        rows.close()
        raise


def _check_length(path: Path, declared: int) -> None:
    """Hold the size that the header declares against the content, which is decompressed but not kept."""
    if declared > content_bytes(path):
        raise fail(path, f"declares {declared} bytes, which it cannot hold")
    seen = 0
    with open_bytes(path) as file:
        if not is_gzip(path):
            seen = path.stat().st_size
        else:
            while seen <= declared and (got := file.read(1 << 20)):
                seen += len(got)
    if seen != declared:
        raise fail(path, f"declares {declared} bytes and holds {'more' if seen > declared else seen}")


def read_image_folder(path: Path, *, in_memory: int = LARGE) -> Table:
    """Read the pictures of a folder and of the folders in it, all of one size and one type; colours as grey values.

    Returns
    -------
    Table
        A picture a row, or a frame of one that has several, with their names and ``image_shape``; the values are those
        stored, of 8, 16 or 32 bits, colours grey values of 8.
    """
    files = image_files(path)
    if not files:
        raise fail(path, f"holds no picture ({', '.join(SUFFIXES)})")
    rows = Rows(in_memory)
    names: list[str] = []
    notes: set[str] = set()
    first: np.ndarray | None = None
    try:
        for file in files:
            name = file.relative_to(path).as_posix()
            for number, (values, note) in enumerate(frames(file)):
                first = values if first is None else first
                _check_alike(file, values, files[0].name, first)
                rows.add(values.reshape(1, -1))
                names.append(f"{name}, frame {number + 1}" if number else name)
                notes |= {note} if note else set()
    except BaseException:
        rows.close()
        raise
    assert first is not None
    told = (*sorted(notes), *(["frames of one file are samples"] if len(names) > len(files) else []))
    shape = (first.shape[0], first.shape[1])
    return Table(rows.finish(), None, names, shape, origin=str(path), format="images", notes=told)


def _check_alike(file: Path, values: np.ndarray, other: str, first: np.ndarray) -> None:
    if values.shape != first.shape:
        sizes = [f"{height} x {width}" for height, width in (values.shape, first.shape)]
        raise fail(file, f"is {sizes[0]} pixels, and {other} is {sizes[1]}; all must have one size")
    if values.dtype != first.dtype:  # 255 of a byte is white, and of two bytes nearly black
        raise fail(file, f"holds values of type {values.dtype}, and {other} of {first.dtype}; save all of one type")


def image_files(folder: Path) -> list[Path]:
    """The pictures in a folder and below, by name."""
    files = (file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    return sorted(files, key=natural_order)
