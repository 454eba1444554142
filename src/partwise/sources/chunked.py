"""Rows on disk: one ``.npy`` file, or a folder of parts, read a block at a time."""

from __future__ import annotations

import re
import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.door.guard import check_shape, fail
from partwise.door.matrices import check_numeric
from partwise.door.numpy_files import map_npy, npy_header, open_npz
from partwise.door.parquet import columns_of, rows_of
from partwise.door.rows import RowFile, Stamp
from partwise.exceptions import InputError, Place
from partwise.sources import blocks
from partwise.sources.memory import DENSE_BLOCK_BYTES, BlockedSource, check_rows, float_type, partition
from partwise.sources.protocol import Block

_KEPT_PARTS = 4  # parts kept in memory: one for each thread of a pass and its neighbours


class ScratchRows:
    """Row-aligned state in a temporary file, which goes when this object goes: memory does not grow with the rows.

    Parameters
    ----------
    shape : (int, int)
        Number of rows and columns.
    dtype : dtype
        Their type.
    """

    def __init__(self, shape: tuple[int, int], dtype: npt.DTypeLike) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self._row_bytes = shape[1] * self.dtype.itemsize
        self._file = tempfile.TemporaryFile(prefix="partwise-")  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()

    def __getitem__(self, rows: slice) -> npt.NDArray[Any]:
        a, b, _ = rows.indices(self.shape[0])
        out = np.empty((b - a, self.shape[1]), self.dtype)
        with self._lock:
            self._file.seek(a * self._row_bytes)
            self._file.readinto(out.reshape(-1).view(np.uint8).data)
        return out

    def __setitem__(self, rows: slice, values: npt.NDArray[Any]) -> None:
        a, b, _ = rows.indices(self.shape[0])
        data = np.ascontiguousarray(np.broadcast_to(values, (b - a, self.shape[1])), self.dtype)
        try:
            with self._lock:
                self._file.seek(a * self._row_bytes)
                self._file.write(data.tobytes())
                self._file.flush()
        except OSError as error:
            need = self.shape[0] * self._row_bytes / 2**30
            raise OSError(
                f"projected rows need {need:.3g} GiB of scratch space in {tempfile.gettempdir()}: {error}; "
                "set TMPDIR to a folder with room"
            ) from error


class _OnDisk(BlockedSource):
    """What sources on disk share: what is as long as the data stays on disk too."""

    def scratch(self, width: int, n_rows: int | None = None, dtype: npt.DTypeLike | None = None) -> ScratchRows:
        """See :class:`partwise.sources.RowSource`."""
        rows = self.shape[0] if n_rows is None else n_rows
        return ScratchRows((rows, width), self.dtype if dtype is None else np.dtype(dtype))


class MemmapSource(_OnDisk):
    """A dense array on disk, never read whole; read-only maps are welcome.

    A file that changes while it is read is an error. Of a map that the caller made that is found out after each block,
    and if the file is cut the system ends the process: give the path rather than a map of what others may write to.

    Parameters
    ----------
    X : path of a ``.npy`` file, numpy.memmap, or partwise.door.rows.RowFile
        The data, samples as rows.
    block_rows : int, optional
        Rows in a block; about 4 MB by default.
    """

    def __init__(self, X: str | Path | npt.NDArray[Any] | RowFile, *, block_rows: int | None = None) -> None:
        self.X: Any = _open_npy(Path(X)) if isinstance(X, (str, Path)) else X
        name = str(X) if isinstance(X, (str, Path)) else "X"
        # a map that the caller made; those of our own temporary files have no name
        place = getattr(X, "filename", None)
        self._mapped = Path(place) if isinstance(place, (str, Path)) else None
        self._stamp = Stamp.of(self._mapped) if self._mapped is not None and self._mapped.exists() else None
        if self.X.ndim != 2:
            raise InputError(
                f"{{parameter}} must have two dimensions (samples, features), got shape {self.X.shape}",
                parameter=name,
                kind="shape",
            )
        check_numeric(self.X.dtype, name)
        self.dtype = float_type(self.X.dtype)
        self.shape = (int(self.X.shape[0]), int(self.X.shape[1]))
        self.bounds = partition(self.shape[0], self.shape[1] * self.dtype.itemsize, DENSE_BLOCK_BYTES, block_rows)

    def block(self, i: int) -> Block:
        """See :class:`BlockedSource`."""
        a, b = self.bounds[i]
        return self._checked(blocks.plain(self.X[a:b], self.dtype))

    def take(self, rows: npt.ArrayLike) -> Block:
        """See :class:`partwise.sources.RowSource`."""
        return self._checked(blocks.plain(self.X[check_rows(rows, self.shape[0])], self.dtype))

    def _checked(self, rows: Block) -> Block:
        if self._stamp is not None and self._mapped is not None:
            self._stamp.check(self._mapped)
        return rows


class FolderSource(_OnDisk):
    """A folder of parts, in the order of their names (numbers compare as numbers); a part holds some rows.

    Parameters
    ----------
    folder : path
        Holds ``.npy`` (dense), ``.npz`` (``scipy.sparse.save_npz``, or one dense array) or ``.parquet`` files
        (numeric columns), all of one kind.
    block_rows : int, optional
        Rows in a block. By default a part is a block; a large part is cut.
    """

    def __init__(self, folder: str | Path, *, block_rows: int | None = None) -> None:
        self.folder = Path(folder)
        self.parts = [_PARTS[path.suffix.lower()](path) for path in _list_parts(self.folder)]
        first = self.parts[0]
        for part in self.parts:
            if part.describe() != first.describe():
                raise InputError(
                    f"every part of {{place}} must have the same columns and format: "
                    f"{first.path.name} has {first.describe()}, {part.path.name} has {part.describe()}",
                    kind="shape",
                    place=Place(file=str(self.folder)),
                )
        self.feature_names = getattr(first, "columns", None)  # parquet parts name their columns
        self.dtype = np.result_type(*(float_type(part.dtype) for part in self.parts))
        self.shape = (sum(part.shape[0] for part in self.parts), first.shape[1])
        self.bounds, self._home = self._cut(block_rows)
        self._load = lru_cache(_KEPT_PARTS)(lambda p: self.parts[p].load())

    def _cut(self, block_rows: int | None) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
        bounds, home, offset = [], [], 0
        for p, part in enumerate(self.parts):
            rows = part.shape[0]
            # a compressed or columnar part is read whole anyway, so it is one block unless told otherwise
            size = partition(rows, part.shape[1] * self.dtype.itemsize, 64 << 20, block_rows)
            for a, b in size:
                if b > a:
                    bounds.append((offset + a, offset + b))
                    home.append((p, a, b))
            offset += rows
        return bounds or [(0, 0)], home or [(0, 0, 0)]

    def block(self, i: int) -> Block:
        """See :class:`BlockedSource`."""
        p, a, b = self._home[i]
        return blocks.concrete(self._load(p)[a:b], self.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_load"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._load = lru_cache(_KEPT_PARTS)(lambda p: self.parts[p].load())


class _Part(ABC):
    """One file: its shape and type without reading the data, and its data."""

    sparse = False
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        try:
            self.stamp = Stamp.of(path)
        except OSError as error:  # a link to nothing
            raise fail(path, error.strerror or str(error), kind="missing-file") from error

    def load(self) -> Any:
        """The data of this part, if it is still the one that was opened."""
        self.stamp.check(self.path)  # before too: it may be gone
        data = self._load()
        self.stamp.check(self.path)
        if tuple(data.shape) != self.shape:
            raise fail(self.path, f"declares {self.shape[0]} x {self.shape[1]}, and holds {data.shape}")
        return data

    @abstractmethod
    def _load(self) -> Any:
        """The data of this part."""

    def describe(self) -> str:
        return f"{self.shape[1]} {'sparse' if self.sparse else 'dense'} columns"


class _NpyPart(_Part):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._rows = _open_npy(path)
        self.shape, self.dtype = _matrix_shape(path, self._rows.shape), self._rows.dtype
        check_numeric(self.dtype, str(path))

    def _load(self) -> Any:
        return self._rows


class _NpzPart(_Part):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with open_npz(path) as archive:
            names = list(archive.members)
            self.sparse = archive.is_sparse
            if not self.sparse and len(names) != 1:
                raise fail(path, f"expected one array, found {', '.join(names) or 'none'}")
            header = archive.header("data" if self.sparse else names[0])
            shape = archive.sparse_shape() if self.sparse else header.shape
            if self.sparse:
                check_shape(path, shape, header.need)
        self.dtype = header.dtype
        self.shape = _matrix_shape(path, shape)
        check_numeric(self.dtype, str(path))

    def _load(self) -> Any:
        with open_npz(self.path) as archive:
            return archive.sparse() if self.sparse else archive.array(next(iter(archive.members)))


class _ParquetPart(_Part):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        found = columns_of(path, named=False)
        self.columns = found.numbers
        self.shape = (found.n_rows, len(self.columns))
        self.dtype = np.dtype(np.float32 if found.single else np.float64)

    def describe(self) -> str:
        return f"{super().describe()} ({', '.join(self.columns)})"

    def _load(self) -> Any:
        return rows_of(self.path, self.columns, 0, self.shape[0], self.dtype)


_PARTS: dict[str, Callable[[Path], _Part]] = {".npy": _NpyPart, ".npz": _NpzPart, ".parquet": _ParquetPart}
SUFFIXES = tuple(_PARTS)


def _list_parts(folder: Path) -> list[Path]:
    seen = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    found = [path for path in seen if path.suffix.lower() in SUFFIXES]
    where = Place(file=str(folder))
    if not found:
        raise InputError(f"{{place}} holds no {', '.join(SUFFIXES)} file", kind="empty", place=where)
    kinds = sorted({path.suffix.lower() for path in found})
    if len(kinds) > 1:
        raise InputError(
            f"{{place}} holds parts of several kinds ({', '.join(kinds)}); keep one kind in it",
            kind="format",
            place=where,
        )
    rest = next((path for path in seen if path not in found and _holds_parts(path)), None)
    if rest is not None:
        raise InputError(
            f"{{place}} holds parts and {rest.name} too, which would be left out; unpack it, or put it elsewhere",
            kind="format",
            place=where,
        )
    return sorted(found, key=natural_order)


def _holds_parts(path: Path) -> bool:
    """Whether it is a compressed part, or a folder that has parts in it, however deep."""
    return any(map(_is_part, path.rglob("*"))) if path.is_dir() else _is_part(path)


def _is_part(path: Path) -> bool:
    return any(suffix.lower() in SUFFIXES for suffix in path.suffixes[-2:]) and not path.name.startswith(".")


def natural_order(path: Path) -> list[tuple[list[str | int], str]]:
    """The order of files in folders: text compares as text, runs of digits (every second piece) as numbers."""
    names = [*path.parent.parts, path.stem, path.name]
    return [([int(t) if i % 2 else t for i, t in enumerate(re.split(r"(\d+)", name))], name) for name in names]


def _open_npy(path: Path) -> Any:
    rows = RowFile.of_npy(path)
    return map_npy(path) if rows is None or rows.shape != npy_header(path).shape else rows


def _matrix_shape(path: Path, shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) != 2:
        raise InputError(
            f"{{place}}: a part must have two dimensions (samples, features), got shape {tuple(shape)}",
            kind="shape",
            place=Place(file=str(path)),
        )
    return int(shape[0]), int(shape[1])
