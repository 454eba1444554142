"""Parquet: columns of numbers, perhaps one of names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from partwise.door.guard import check_shape, fail, reading
from partwise.exceptions import MissingDependencyError
from partwise.io.names import unique_names
from partwise.io.table import LARGE, Table
from partwise.sources.chunked import _OnDisk
from partwise.sources.memory import partition
from partwise.sources.protocol import Block

BLOCK_BYTES = 64 << 20
MAGIC = b"PAR1"


class ParquetSource(_OnDisk):
    """Numeric columns of one file, read a block of rows at a time.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    columns : list of str
        The columns, all of numbers.
    n_rows : int
        How many rows there are.
    block_rows : int, optional
        Rows in a block; about 64 MB by default.
    """

    def __init__(self, path: Path, columns: list[str], n_rows: int, *, block_rows: int | None = None) -> None:
        self.path, self.columns = path, columns
        self.feature_names = columns
        self.dtype = np.dtype(np.float64)
        self.shape = (n_rows, len(columns))
        self.bounds = partition(n_rows, 8 * len(columns), BLOCK_BYTES, block_rows)

    def block(self, i: int) -> Block:
        """See :class:`partwise.sources.memory.BlockedSource`."""
        a, b = self.bounds[i]
        with _polars_reading(self.path) as polars:
            frame = polars.scan_parquet(self.path).select(self.columns).slice(a, b - a).collect()
            return np.ascontiguousarray(frame.to_numpy(), self.dtype)


def is_parquet(first: bytes) -> bool:
    """Whether a file that begins so is one of Parquet."""
    return first.startswith(MAGIC)


def read_parquet(path: Path, *, in_memory: int = LARGE, duplicates: str = "error") -> Table:
    """Read a parquet file of numeric columns; the first column may be text, and names the rows.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    in_memory : int
        Bytes up to which it is held in memory.
    duplicates : {"error", "number"}, default="error"
        What to do with a name that was there before.

    Returns
    -------
    Table
        Missing numbers are NaN.
    """
    _check_frame(path)
    with _polars_reading(path) as polars:
        frame = polars.scan_parquet(path)
        schema = frame.collect_schema()
        n_rows = int(frame.select(polars.len()).collect().item())
        columns = list(schema.names())
        named = bool(columns) and schema[columns[0]] == polars.String
        numbers = columns[named:]
        for name in numbers:
            if not (schema[name].is_numeric() or schema[name] == polars.Boolean):
                raise fail(path, f"column {name[:60]!r} has type {schema[name]}; every column must be numeric")
        check_shape(path, (n_rows, len(numbers)), path.stat().st_size * 1000)
        source = ParquetSource(path, numbers, n_rows)
        names = None
        if named:
            given = frame.select(columns[0]).collect().to_series().to_list()
            names = unique_names(path, [str(name) for name in given], "row", duplicates, lambda _: None)
        large = 8.0 * n_rows * len(numbers) > in_memory
        X: Any = source if large or not n_rows else np.concatenate([source.block(i) for i in range(len(source.bounds))])
    return Table(X, numbers, names, origin=str(path), format="parquet")


def _check_frame(path: Path) -> None:
    """The magic bytes at both ends and the length of what describes the columns: cheap, and finds most damage."""
    with reading(path, "parquet file"), path.open("rb") as file:
        size = path.stat().st_size
        start = file.read(4)
        file.seek(max(0, size - 8))
        end = file.read(8)
        if size < 12 or start != MAGIC or end[4:] != MAGIC:
            raise fail(path, "does not begin and end as a parquet file does: it is cut off")
        if int.from_bytes(end[:4], "little") > size - 12:
            raise fail(path, "declares a description of its columns that is longer than the file")


class _polars_reading:
    """Polars, whose panics are no ``Exception``, with its errors turned into ours."""

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
        return polars

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if isinstance(error, self._panic):
            raise fail(self.path, "not a readable parquet file (polars gave up)") from error
        if isinstance(error, Exception):
            with reading(self.path, "parquet file"):
                raise error
