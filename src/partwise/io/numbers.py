"""Lines of numbers to an array: polars where it is installed and there is much to do, else numpy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

LONG_TEXT = 1 << 16  # characters below which it is not worth to import polars


def parse(lines: list[str], delimiter: str | None, width: int) -> Array | None:
    """Numbers of lines that all are as they should be, or None.

    Parameters
    ----------
    lines : list of str
        None of them empty.
    delimiter : str or None
        What stands between numbers; None is any white space.
    width : int
        Numbers in a line.

    Returns
    -------
    ndarray of shape (len(lines), width) or None
        None if anything is missing or no number: it is then for the caller to say what and where.
    """
    text = "\n".join(lines)
    if len(text) > LONG_TEXT:
        block = _by_polars(text, delimiter or " ", width)
        if block is not None and len(block) == len(lines):
            return block
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            block = np.loadtxt(lines, np.float64, delimiter=delimiter, comments=None, ndmin=2)
    except (ValueError, Warning):
        return None
    return block if block.shape == (len(lines), width) else None


def _by_polars(text: str, delimiter: str, width: int) -> Array | None:
    try:
        import polars
    except ImportError:
        return None
    try:
        frame = polars.read_csv(
            text.encode(),
            has_header=False,
            separator=delimiter,
            quote_char=None,
            schema={str(j): polars.Float64 for j in range(width)},
        )
    except Exception:
        return None
    except polars.exceptions.PanicException:
        return None
    if sum(frame.null_count().row(0)):  # lines that are too short are filled up
        return None
    return np.ascontiguousarray(frame.to_numpy(), np.float64)
