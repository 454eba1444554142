"""Results as files that other programs read: tables of numbers with names, written a few thousand rows at a time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from partwise.exceptions import InputError, MissingDependencyError
from partwise.io.atomic import write_atomically

CHUNK = 8192  # rows in memory at a time
Names = Sequence[str] | None


# what spreadsheets take for the beginning of a formula
FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def live_names(names: Sequence[str]) -> list[str]:
    """Names that are more than text to a program that shows them: formulas, and sequences that steer a terminal."""
    return [name for name in names if _is_formula(name) or not name.isprintable()]


def quiet_name(name: str) -> str:
    """The name with an apostrophe before what would be a formula, which spreadsheets hide, and without controls."""
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
    return f"'{text}" if _is_formula(text) else text


def _is_formula(name: str) -> bool:
    """Whether it begins as a formula does; numbers with a sign are none."""
    if not name.startswith(FORMULAS):
        return False
    try:
        float(name)
    except ValueError:
        return True
    return False


def write_table(path: Path, rows: Any, columns: Sequence[str], *, names: Names = None, corner: str = "sample") -> None:
    """Write a matrix with the names of its columns and rows, whole or not at all.

    Parameters
    ----------
    path : pathlib.Path
        Ends in ``.csv`` (every bit is kept), ``.parquet`` or ``.npy`` (which has no names).
    rows : ndarray, or anything with ``shape``, ``dtype`` and slices of rows
        The numbers.
    names : sequence of str, optional
        Names of the rows; they become the first column.
    corner : str, default="sample"
        Name of that column.
    """
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise InputError(f"{path}: the name must end in {', '.join(WRITERS)}")
    write_atomically(path, partial(writer, rows=rows, columns=columns, names=names, corner=corner))


def _write_csv(file: BinaryIO, *, rows: Any, columns: Sequence[str], names: Names, corner: str) -> None:
    head = [corner, *columns] if names is not None else columns
    file.write((",".join(map(cell, head)) + "\n").encode())
    for first, chunk in _chunks(rows):
        lines = (",".join(map(str, row)) for row in _values(chunk))
        if names is not None:
            named = map(cell, names[first : first + len(chunk)])
            lines = (f"{name},{line}" for name, line in zip(named, lines, strict=True))
        file.write("".join(f"{line}\n" for line in lines).encode())


def _write_npy(file: BinaryIO, *, rows: Any, **_: Any) -> None:
    header = {"descr": np.dtype(rows.dtype).str, "fortran_order": False, "shape": tuple(rows.shape)}
    np.lib.format.write_array_header_1_0(file, header)
    for _first, chunk in _chunks(rows):
        file.write(np.ascontiguousarray(chunk).tobytes())


def _write_parquet(file: BinaryIO, *, rows: Any, columns: Sequence[str], names: Names, corner: str) -> None:
    try:
        import polars
    except ImportError as error:
        raise MissingDependencyError("writing parquet needs polars: pip install 'partwise[cli]'") from error

    def frame(first: int, chunk: Any) -> Any:
        table = polars.DataFrame(np.asarray(chunk), schema=list(columns), orient="row")
        if names is None:
            return table
        return table.insert_column(0, polars.Series(corner, list(names[first : first + len(chunk)])))

    if isinstance(rows, np.ndarray):
        frame(0, rows).write_parquet(file)
        return
    # what is on disk stays there: parts first, then one file of them, streamed
    with tempfile.TemporaryDirectory(prefix="partwise-") as folder:
        for first, chunk in _chunks(rows):
            frame(first, chunk).write_parquet(Path(folder) / f"{first:015d}.parquet")
        whole = Path(folder) / "whole"
        polars.scan_parquet(Path(folder) / "*.parquet").sink_parquet(whole)
        with whole.open("rb") as made:
            shutil.copyfileobj(made, file, 1 << 20)


WRITERS: dict[str, Callable[..., None]] = {".csv": _write_csv, ".parquet": _write_parquet, ".npy": _write_npy}


def _chunks(rows: Any) -> Iterator[tuple[int, Any]]:
    for first in range(0, rows.shape[0], CHUNK):
        yield first, rows[first : first + CHUNK]


def _values(chunk: Any) -> Any:
    """Numbers whose text is the shortest that reads back as the same bits."""
    return chunk.tolist() if chunk.dtype.itemsize >= 8 else chunk


def cell(text: Any) -> str:
    """A name as a cell: quoted where it must be, in one line."""
    word = " ".join(str(text).splitlines()) if not str(text).isprintable() else str(text)
    return '"' + word.replace('"', '""') + '"' if any(mark in word for mark in ',"') or word != word.strip() else word
