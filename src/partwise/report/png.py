"""Pictures of numbers as small PNG files with a palette, written by hand: no library is needed for that."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Lightness falls evenly from the page's colour, which shows through the first levels, to ink; the page inverts it in
# the dark. The colours are from ColorBrewer's YlGnBu and Okabe & Ito's palette, which the colour-blind tell apart.
SEQUENTIAL = ("7fcdbb", "41b6c4", "1d91c0", "225ea8", "081d58")
NEGATIVE = ("e69f00", "d55e00", "6e2f00")
POSITIVE = ("56b4e9", "0072b2", "00304d")
CLEAR = 0.4  # share of the levels through which the page shows
LEVELS = 127  # odd, for a zero in the middle, and fewer than a byte has: files are smaller, and no eye sees it


def _ramp(colours: tuple[str, ...], levels: int) -> Array:
    """Red, green, blue and opacity of every level."""
    anchors = np.array([[int(colour[i : i + 2], 16) for i in (0, 2, 4)] for colour in colours], float)
    places = np.linspace(0.0, 1.0, levels)
    rgb = [np.interp(places, np.linspace(0.0, 1.0, len(anchors)), anchors[:, c]) for c in range(3)]
    return np.stack([*rgb, 255.0 * np.minimum(1.0, places / CLEAR)], axis=1).round().astype(np.uint8)


PALETTES = {
    "sequential": _ramp(SEQUENTIAL, LEVELS),
    "diverging": np.vstack([_ramp(NEGATIVE, LEVELS // 2 + 1)[:0:-1], _ramp(POSITIVE, LEVELS // 2 + 1)]),
}


def picture(values: Array, palette: str, low: float, high: float) -> str:
    """A matrix as a data URI, one pixel an entry.

    Parameters
    ----------
    values : ndarray of shape (height, width)
        Finite numbers.
    palette : {"sequential", "diverging", "grey"}
        Which colours.
    low, high : float
        Numbers of the first and the last colour.

    Returns
    -------
    str
        ``data:image/png;base64,...``.
    """
    scaled = (np.asarray(values, float) - low) / (high - low if high > low else 1.0)
    levels = (np.clip(scaled, 0.0, 1.0) * (LEVELS - 1)).round().astype(np.uint8)
    height, width = levels.shape
    # every line begins with its filter: 0 is none, the best for palettes
    lines = np.zeros((height, width + 1), np.uint8)
    lines[:, 1:] = levels
    if palette == "grey":
        kind, colours = 0, list[tuple[bytes, bytes]]()
        lines[:, 1:] *= 2
    else:
        colour = PALETTES[palette]
        kind, colours = 3, [(b"PLTE", colour[:, :3].tobytes()), (b"tRNS", colour[:, 3].tobytes())]
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)),
        *colours,
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
    return "data:image/png;base64," + base64.b64encode(data).decode()


def shrunk(image: Array, side: int) -> Array:
    """An image with no side above `side`, by means over squares of pixels."""
    step = -(-max(image.shape) // side)
    if step <= 1:
        return image
    height, width = (-(-length // step) for length in image.shape)
    padded = np.pad(image, ((0, height * step - image.shape[0]), (0, width * step - image.shape[1])), mode="edge")
    result: Array = padded.reshape(height, step, width, step).mean(axis=(1, 3))
    return result
