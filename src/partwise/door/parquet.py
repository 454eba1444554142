"""Parquet by polars, whose panics are no ``Exception``: one way to open a file, and errors that name it."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from partwise.door.guard import check_shape, fail, open_file, reading
from partwise.door.parquet_pages import check_pages
from partwise.exceptions import MissingDependencyError

MAGIC = b"PAR1"
INDEX = "__index_level_0__"  # as pandas calls an index without a name
TOLD = b'{"index_columns"'  # how what pandas writes of a data frame begins, as text behind the columns
MOST_GROWTH = 1000  # rows or columns that a byte may stand for, by runs and dictionaries


class Columns(NamedTuple):
    """The columns of a file: one of names perhaps, then numbers."""

    names: str | None
    numbers: list[str]
    n_rows: int
    single: bool  # whether all numbers have four bytes
    skipped: list[str]  # those that were not wanted


def is_parquet(first: bytes) -> bool:
    """Whether a file that begins so is one of Parquet."""
    return first.startswith(MAGIC)


def columns_of(path: Path, *, named: bool, skip: Callable[[list[str]], list[str]] = lambda _: []) -> Columns:
    """What is in a file; with ``named`` its first column may be text, or pandas' index; all others must be numbers."""
    described = _check_frame(path)
    with polars_reading(path) as polars:
        frame = polars.scan_parquet(path)
        schema = frame.collect_schema()
        n_rows = int(frame.select(polars.len()).collect().item())
        skipped = skip(schema.names())
        every = [name for name in schema.names() if name not in skipped]
        text = _index_of(path, described, every) if named else None
        if text is None and named and every and schema[every[0]] == polars.String:
            text = every[0]
        numbers = [name for name in every if name != text]
        for name in numbers:
            if not (schema[name].is_numeric() or schema[name] == polars.Boolean):
                if named:
                    words = schema[name] in (polars.String, polars.Categorical)
                    raise fail(
                        path,
                        f"column {name[:60]!r} holds {'text' if words else schema[name]}, not numbers; {{parameter}} "
                        "leaves it out",
                        kind="not-real" if words else "format",
                        parameter="drop",
                    )
                raise fail(
                    path,
                    f"column {name[:60]!r} has type {schema[name]}; every column must be numeric",
                    kind="not-real",
                )
        check_shape(path, (n_rows, len(numbers)), path.stat().st_size * MOST_GROWTH)
        single = bool(numbers) and all(schema[name] == polars.Float32 for name in numbers)
    return Columns(text, numbers, n_rows, single, skipped)


def _index_of(path: Path, described: bytes, names: list[str]) -> str | None:
    """The column that is the index of the data frame of pandas that was written; None where there is none."""
    frame: dict[str, Any] = {}
    with suppress(ValueError):  # not there, or no text: then it is none of pandas
        frame = json.JSONDecoder().raw_decode(described[described.index(TOLD) :].decode(errors="replace"))[0]
    index = [one for one in frame.get("index_columns", [INDEX]) if one in names]
    if len(index) > 1:
        raise fail(
            path,
            f"its index has several columns ({', '.join(index)}); {{parameter}} leaves out all but one, or all",
            kind="format",
            parameter="drop",
        )
    return index[0] if index else None


def rows_of(path: Path, columns: list[str], a: int, b: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Some rows of these columns; missing numbers are NaN."""
    with polars_reading(path) as polars:
        frame = polars.scan_parquet(path).select(columns).slice(a, b - a).collect()
        if frame.height != b - a:
            raise fail(path, f"holds {frame.height} of the {b - a} rows that it declares")
        return np.ascontiguousarray(frame.to_numpy(), dtype)


def texts_of(path: Path, column: str) -> list[str]:
    """A column of text."""
    with polars_reading(path) as polars:
        return [str(name) for name in polars.scan_parquet(path).select(column).collect().to_series().to_list()]


def _check_frame(path: Path) -> bytes:
    """What describes the columns; with it the magic bytes at both ends, the headers of pages: finds most damage."""
    with reading(path, "parquet file"), open_file(path) as file:
        size = path.stat().st_size
        start = file.read(4)
        file.seek(max(0, size - 8))
        end = file.read(8)
        if size < 12 or start != MAGIC or end[4:] != MAGIC:
            raise fail(path, "not a readable parquet file: it does not begin and end as a parquet file does")
        length = int.from_bytes(end[:4], "little")
        if length > size - 12:
            raise fail(path, "declares a description of its columns that is longer than the file")
        file.seek(size - 8 - length)
        described = file.read(length)
        check_pages(path, file, described, size)
    return described


class _Aside:
    """What is written to the stream of errors while polars reads: where it panics it prints where, and nobody asked.

    The rest is passed on, a moment later; threads that read at the same time share one place for it.
    """

    def __init__(self) -> None:
        self.lock, self.readers, self.stream = threading.Lock(), 0, -1
        self.kept: IO[bytes] | None = None

    def begin(self) -> None:
        """Put the stream aside, unless it is."""
        with self.lock:
            self.readers += 1
            if self.readers == 1:
                try:
                    self.kept = tempfile.TemporaryFile()  # noqa: SIM115 - it stays open for all readers
                    self.stream = os.dup(2)
                    os.dup2(self.kept.fileno(), 2)
                except OSError:  # no stream, no room, no handle: then it is not put aside
                    self._close()

    def end(self, *, panicked: bool) -> None:
        """Put the stream back behind the last reader."""
        with self.lock:
            self.readers -= 1
            if panicked and self.kept is not None:
                os.ftruncate(self.kept.fileno(), 0)
                self.kept.seek(0)
            if self.readers == 0 and self.stream >= 0 and self.kept is not None:
                os.dup2(self.stream, 2)
                self.kept.seek(0)
                with suppress(OSError):
                    os.write(2, self.kept.read())
            if self.readers == 0:
                self._close()

    def _close(self) -> None:
        if self.stream >= 0:
            os.close(self.stream)
        if self.kept is not None:
            self.kept.close()
        self.stream, self.kept = -1, None


_ASIDE = _Aside()


class polars_reading:
    """Polars, with its errors turned into ours."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Any:
        try:
            import polars
        except ImportError as error:
            raise MissingDependencyError(
                f"{self.path}: reading parquet needs polars: pip install 'partwise[cli]'"
            ) from error
        self._panic: type[BaseException] = polars.exceptions.PanicException
        _ASIDE.begin()
        return polars

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        _ASIDE.end(panicked=isinstance(error, self._panic))
        if isinstance(error, self._panic):
            raise fail(self.path, "not a readable parquet file (polars gave up)") from error
        if isinstance(error, Exception):
            with reading(self.path, "parquet file"):
                raise error
