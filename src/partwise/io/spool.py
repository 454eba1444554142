"""Numbers on their way in: few stay in memory, many go to a temporary file and are read from there in blocks."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from partwise.sources.chunked import FolderSource, MemmapSource

Array = npt.NDArray[Any]

TILE_BYTES = 64 << 20
MOST_BUCKETS = 256


@contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(f"no room for the numbers in {tempfile.gettempdir()} ({error}); set TMPDIR") from error


class Rows:
    """Blocks of dense rows one after the other.

    Parameters
    ----------
    in_memory : int
        Bytes up to which they stay in memory.
    """

    def __init__(self, in_memory: int) -> None:
        self.in_memory = in_memory
        self.shape: tuple[int, int] = (0, 0)
        self._blocks: list[Array] = []
        self._held = 0
        self._file: Any = None

    def add(self, block: Array) -> None:
        """Take a block; all have as many columns and the same type."""
        self.dtype = block.dtype
        self.shape = (self.shape[0] + block.shape[0], block.shape[1])
        self._blocks.append(block)
        self._held += block.nbytes
        if self._file is not None or self._held > self.in_memory:
            self._spill()

    def finish(self) -> Array | MemmapSource:
        """All rows: an array, or a source whose file goes when it goes."""
        if self._file is None:
            return np.concatenate(self._blocks) if len(self._blocks) != 1 else self._blocks[0]
        with self._file as file, _room():  # a map of it lives on when the file is closed
            file.flush()
            return MemmapSource(np.memmap(file, self.dtype, "r", shape=self.shape))

    def close(self) -> None:
        """Forget what came; after an error."""
        self._blocks.clear()
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        with _room():
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="partwise-")  # noqa: SIM115
            for block in self._blocks:
                self._file.write(np.ascontiguousarray(block).data)
        self._blocks.clear()


def turned(source: MemmapSource) -> MemmapSource:
    """The transpose of a dense array on disk, in a temporary file: some of its columns in each pass over it."""
    X = source.X
    n, m = X.shape
    step = max(1, TILE_BYTES // max(1, n * X.dtype.itemsize))
    rows = Rows(0)
    for first in range(0, m, step):
        tile = np.empty((min(step, m - first), n), X.dtype)
        for a, b in source.bounds:
            tile[:, a:b] = X[a:b][:, first : first + step].T
        rows.add(tile)
    result = rows.finish()
    assert isinstance(result, MemmapSource)
    return result


class Entries:
    """Entries of a sparse matrix, in any order; those of the same place are added.

    Parameters
    ----------
    shape : (int, int)
        Of the matrix.
    count : int
        How many entries are announced, to choose the number of parts.
    in_memory : int
        Bytes up to which they stay in memory.
    """

    ENTRY = np.dtype([("row", np.int64), ("column", np.int64), ("value", np.float64)])

    def __init__(self, shape: tuple[int, int], count: int, in_memory: int) -> None:
        self.shape = shape
        self._large = count * self.ENTRY.itemsize > in_memory
        self._chunks: list[Array] = []
        if self._large:
            parts = min(MOST_BUCKETS, -(-count * self.ENTRY.itemsize // TILE_BYTES), max(1, shape[0]))
            self._step = -(-max(1, shape[0]) // max(1, parts))
            self._folder = Path(tempfile.mkdtemp(prefix="partwise-"))

    def add(self, rows: Array, columns: Array, values: Array) -> None:
        """Take some entries, with indices from 0."""
        chunk = np.empty(len(rows), self.ENTRY)
        chunk["row"], chunk["column"], chunk["value"] = rows, columns, values
        if not self._large:
            self._chunks.append(chunk)
            return
        part = chunk["row"] // self._step
        order = np.argsort(part, kind="stable")
        chunk, part = chunk[order], part[order]
        with _room():
            for piece, number in zip(np.split(chunk, np.flatnonzero(np.diff(part)) + 1), np.unique(part), strict=True):
                with self._bucket(int(number)).open("ab") as file:  # not kept open: systems allow few at a time
                    file.write(piece.data)

    def finish(self) -> sp.csr_array | FolderSource:
        """All entries: a CSR matrix, or a source whose folder of parts goes when it goes."""
        if not self._large:
            every = np.concatenate(self._chunks) if self._chunks else np.empty(0, self.ENTRY)
            self._chunks.clear()
            return self._matrix(every, 0, self.shape[0])
        with _room():
            for first in range(0, self.shape[0], self._step):
                number = first // self._step
                file = self._bucket(number)
                entries = np.fromfile(file, self.ENTRY) if file.exists() else np.empty(0, self.ENTRY)
                part = self._matrix(entries, first, min(first + self._step, self.shape[0]))
                sp.save_npz(self._folder / f"part-{number}.npz", part, compressed=False)
                file.unlink(missing_ok=True)
        source = FolderSource(self._folder)
        weakref.finalize(source, shutil.rmtree, self._folder, ignore_errors=True)
        return source

    def close(self) -> None:
        """Forget what came; after an error."""
        self._chunks.clear()
        if self._large:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _bucket(self, number: int) -> Path:
        return self._folder / f"{number}.entries"

    def _matrix(self, entries: Array, first: int, last: int) -> sp.csr_array:
        shape = (last - first, self.shape[1])
        matrix = sp.coo_array((entries["value"], (entries["row"] - first, entries["column"])), shape=shape).tocsr()
        matrix.sum_duplicates()
        return matrix
