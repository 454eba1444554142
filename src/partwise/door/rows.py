"""Rows of a file, which may change or be cut while they are read: that is an error, not a mixture and not a signal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from partwise.door.guard import fail, open_file
from partwise.door.numpy_files import npy_header

Array = npt.NDArray[Any]


class Stamp(NamedTuple):
    """By what a file is known to be the one it was: size, time of the last change, and the file itself."""

    size: int
    changed: int
    inode: int
    device: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """Of a file as it is now."""
        return cls._of(path.stat())

    @classmethod
    def _of(cls, found: os.stat_result) -> Self:
        return cls(found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev)

    def check(self, path: Path) -> None:
        """Refuse to go on with a file that is not what it was; called behind whatever was read."""
        try:
            now = Stamp.of(path)
        except OSError as error:
            raise fail(path, f"was taken away while it was read ({error.strerror})", kind="changed") from error
        if now != self:
            raise fail(path, "changed while it was read; let its writer end, and begin anew", kind="changed")


class RowFile:
    """A matrix in a file, read by offset and never mapped: a map of a file that is cut ends the process.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    shape : (int, int)
        Of the matrix.
    dtype : dtype
        Of its numbers.
    start : int
        Where in the file they begin.
    fortran : bool, default=False
        Whether columns lie one after the other.
    """

    def __init__(
        self, path: Path, shape: tuple[int, int], dtype: npt.DTypeLike, start: int, *, fortran: bool = False
    ) -> None:
        self.path = path.absolute()  # wherever the process goes
        self.shape, self.dtype, self.start, self.fortran = shape, np.dtype(dtype), start, fortran
        self.ndim = 2
        self.stamp = Stamp.of(path)

    @classmethod
    def of_npy(cls, path: Path) -> Self | None:
        """The rows of a ``.npy`` file of two dimensions, or of more that lie one row after the other; else None."""
        header = npy_header(path)
        if len(header.shape) != 2 and (len(header.shape) != 3 or header.fortran):
            return None
        shape = (header.shape[0], int(np.prod(header.shape[1:], dtype=np.int64)))
        return cls(path, shape, header.dtype, header.start, fortran=header.fortran)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Array) -> Array:
        # slices are runs of rows, without a step
        if isinstance(rows, slice):
            a, b, _ = rows.indices(self.shape[0])
            runs = [(a, max(0, b - a))]
        else:
            runs = [(int(row), 1) for row in rows]
        total = sum(count for _, count in runs)
        out = np.empty((total, self.shape[1]), self.dtype, order="F" if self.fortran else "C")
        self.stamp.check(self.path)  # before too: it may be gone
        with open_file(self.path) as file:
            done = 0
            for first, count in runs:
                self._read(file, first, out[done : done + count])
                done += count
        self.stamp.check(self.path)
        return out

    def _read(self, file: Any, first: int, out: Array) -> None:
        size = self.dtype.itemsize
        if not self.fortran:
            self._fill(file, first * self.shape[1] * size, out)
            return
        for j in range(self.shape[1]):
            self._fill(file, (j * self.shape[0] + first) * size, out[:, j])

    def _fill(self, file: Any, offset: int, out: Array) -> None:
        if not out.size:
            return
        file.seek(self.start + offset)
        if file.readinto(out.reshape(-1).view(np.uint8).data) != out.nbytes:
            raise fail(self.path, "was cut off while it was read", kind="changed")
