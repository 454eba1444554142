"""Rows on disk: one memory-mapped ``.npy`` file, or a folder of parts, read a block at a time."""

from __future__ import annotations

import re
import tempfile
import threading
import weakref
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numpy.lib.format import open_memmap

from partwise.exceptions import InputError, MissingDependencyError, Place
from partwise.sources import blocks
from partwise.sources.memory import DENSE_BLOCK_BYTES, BlockedSource, check_rows, float_type, partition
from partwise.sources.protocol import Block

_KEPT_PARTS = 4  # parts kept in memory: one for each thread of a pass and its neighbours


# numpy parses the headers of files with Python's own parser, which in some versions fails when threads use it at once
# ("AST constructor recursion depth mismatch")
_PARSING = threading.RLock()


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

    def scratch(self, width: int, n_rows: int | None = None) -> ScratchRows:
        """See :class:`partwise.sources.RowSource`."""
        return ScratchRows((self.shape[0] if n_rows is None else n_rows, width), self.dtype)


class MemmapSource(_OnDisk):
    """A dense array on disk, never read whole; read-only maps are welcome.

    Parameters
    ----------
    X : path of a ``.npy`` file, or numpy.memmap
        The data, samples as rows.
    block_rows : int, optional
        Rows in a block; about 4 MB by default.
    """

    def __init__(self, X: str | Path | npt.NDArray[Any], *, block_rows: int | None = None) -> None:
        self.X = X if isinstance(X, np.ndarray) else _open_npy(Path(X))
        name = "X" if isinstance(X, np.ndarray) else str(X)
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
        return blocks.plain(self.X[a:b], self.dtype)

    def take(self, rows: npt.ArrayLike) -> Block:
        """See :class:`partwise.sources.RowSource`."""
        return blocks.plain(self.X[check_rows(rows, self.shape[0])], self.dtype)


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
        self.parts = [_PARTS[path.suffix](path) for path in _list_parts(self.folder)]
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
        self.path = path

    @abstractmethod
    def load(self) -> Any:
        """The data of this part."""

    def describe(self) -> str:
        return f"{self.shape[1]} {'sparse' if self.sparse else 'dense'} columns"


class _NpyPart(_Part):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        header = _open_npy(path)
        self.shape, self.dtype = _matrix_shape(path, header.shape), header.dtype
        check_numeric(self.dtype, str(path))

    def load(self) -> Any:
        return _open_npy(self.path)


class _NpzPart(_Part):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._reading() as archive:
            names = archive.files
            self.sparse = "format" in names
            if self.sparse:
                shape, self.dtype = tuple(archive["shape"]), archive["data"].dtype
            else:
                array = archive[names[0]]
                shape, self.dtype = array.shape, array.dtype
        if not self.sparse and len(names) != 1:
            raise InputError(
                f"{{place}}: expected one array, found {', '.join(names)}", kind="damaged", place=Place(file=str(path))
            )
        self.shape = _matrix_shape(path, shape)
        check_numeric(self.dtype, str(path))

    def load(self) -> Any:
        with self._reading() as archive:
            if not self.sparse:
                return archive[archive.files[0]]
            matrix = sp.csr_array(sp.load_npz(self.path))
            matrix.sum_duplicates()  # once a part, not in each of its blocks
            return matrix

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        try:
            # opened here: numpy leaves a file that is not a zip archive open
            with _PARSING, self.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                yield archive
        except (OSError, ValueError, LookupError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise InputError(
                f"{{place}}: not a readable .npz file ({error})", kind="damaged", place=Place(file=str(self.path))
            ) from error


class _ParquetPart(_Part):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        polars = _polars(path)
        try:
            frame = polars.scan_parquet(path)
            schema = frame.collect_schema()
            rows = int(frame.select(polars.len()).collect().item())
        except Exception as error:  # polars raises types of its own
            raise InputError(
                f"{{place}}: not a readable parquet file ({error})", kind="damaged", place=Place(file=str(path))
            ) from error
        other = [name for name, kind in schema.items() if not (kind.is_numeric() or kind == polars.Boolean)]
        if other:
            raise InputError(
                f"{{place}}: column {other[0]!r} has type {schema[other[0]]}; every column must be numeric",
                kind="not-real",
                place=Place(file=str(path)),
            )
        self.columns = schema.names()
        self.shape = (rows, len(self.columns))
        single = all(kind == polars.Float32 for kind in schema.dtypes())
        self.dtype = np.dtype(np.float32 if single else np.float64)

    def describe(self) -> str:
        return f"{super().describe()} ({', '.join(self.columns)})"

    def load(self) -> Any:
        frame = _polars(self.path).read_parquet(self.path)
        return np.ascontiguousarray(frame.to_numpy(), self.dtype)


_PARTS: dict[str, Callable[[Path], _Part]] = {".npy": _NpyPart, ".npz": _NpzPart, ".parquet": _ParquetPart}
SUFFIXES = tuple(_PARTS)


def _list_parts(folder: Path) -> list[Path]:
    found = [path for path in folder.iterdir() if path.suffix in SUFFIXES and not path.name.startswith(".")]
    if not found:
        raise InputError(f"{{place}} holds no {', '.join(SUFFIXES)} file", kind="empty", place=Place(file=str(folder)))
    kinds = sorted({path.suffix for path in found})
    if len(kinds) > 1:
        raise InputError(
            f"{{place}} holds parts of several kinds ({', '.join(kinds)}); keep one kind in it",
            kind="format",
            place=Place(file=str(folder)),
        )
    return sorted(found, key=lambda path: _natural(path.stem))


def _natural(name: str) -> tuple[list[str | int], str]:
    """Text compares as text, runs of digits (every second piece) as numbers."""
    return [int(t) if i % 2 else t for i, t in enumerate(re.split(r"(\d+)", name))], name


def _open_npy(path: Path) -> npt.NDArray[Any]:
    try:
        with _PARSING:
            return open_memmap(path, mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{{place}}: not a readable .npy file ({error})", kind="damaged", place=Place(file=str(path))
        ) from error


def _matrix_shape(path: Path, shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) != 2:
        raise InputError(
            f"{{place}}: a part must have two dimensions (samples, features), got shape {tuple(shape)}",
            kind="shape",
            place=Place(file=str(path)),
        )
    return int(shape[0]), int(shape[1])


def check_numeric(dtype: np.dtype[Any], name: str) -> None:
    """Refuse anything but real numbers and booleans."""
    if dtype.kind not in "fiub":
        raise InputError(f"{{parameter}} must hold real numbers, got dtype {dtype}", parameter=name, kind="not-real")


def _polars(path: Path) -> Any:
    try:
        import polars
    except ImportError as error:
        raise MissingDependencyError(f"{path}: reading parquet needs polars: pip install 'partwise[cli]'") from error
    return polars
