"""Parquet: columns of numbers, perhaps one of names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partwise.door.guard import fail, read_up_to
from partwise.door.parquet import columns_of, rows_of, texts_of
from partwise.door.rows import Stamp
from partwise.io.names import matched, matching, unique_names
from partwise.io.table import LARGE, Table
from partwise.sources.chunked import _OnDisk
from partwise.sources.memory import partition
from partwise.sources.protocol import Block

BLOCK_BYTES = 64 << 20


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
        self.path, self.columns = path.absolute(), columns
        self.stamp = Stamp.of(path)
        self.feature_names = columns
        self.dtype = np.dtype(np.float64)
        self.shape = (n_rows, len(columns))
        self.bounds = partition(n_rows, 8 * len(columns), BLOCK_BYTES, block_rows)

    def block(self, i: int) -> Block:
        """See :class:`partwise.sources.memory.BlockedSource`."""
        a, b = self.bounds[i]
        rows = rows_of(self.path, self.columns, a, b, self.dtype)
        self.stamp.check(self.path)
        return rows


def read_parquet(path: Path, *, in_memory: int = LARGE, duplicates: str = "error", drop: Sequence[str] = ()) -> Table:
    """Read a parquet file of numeric columns; the first column may be text, or one pandas' index: it names the rows.

    Returns
    -------
    Table
        Missing numbers are NaN.
    """
    found = columns_of(path, named=True, skip=lambda names: [names[j] for j in matching(names, drop)])
    if not found.numbers and found.skipped:
        raise fail(path, "{parameter} leaves no feature", kind="value", parameter="drop")
    n_rows, numbers = found.n_rows, found.numbers
    source = ParquetSource(path, numbers, n_rows)
    names = None
    if found.names is not None:
        names = unique_names(path, texts_of(path, found.names), "row", duplicates, lambda _: None)
    large = 8.0 * n_rows * len(numbers) > in_memory
    X: Any = source if large or not n_rows else np.concatenate([*_blocks(source)])
    return Table(X, numbers, names, origin=str(path), format="parquet", left_out=matched(found.skipped, drop))


def _blocks(source: ParquetSource) -> Iterator[Block]:
    """All rows, and about how far that is in the file."""
    for i, (_, last) in enumerate(source.bounds):
        yield source.block(i)
        read_up_to(source.path, source.stamp.size * last // source.shape[0])
