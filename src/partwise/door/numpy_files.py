"""``.npy`` and ``.npz``: what they declare is held against what they hold before memory is taken; no pickles."""

from __future__ import annotations

import math
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numpy.lib import format as npy

from partwise.door.guard import LARGEST_RATIO, check_memory, check_shape, fail, open_file, read_up_to, reading
from partwise.door.matrices import flaw_of

Array = npt.NDArray[Any]

STEP = 4 << 20  # bytes that are read at a time, so that whoever waits sees how far it is
SPARSE_KINDS = ("csr", "csc", "coo")

# numpy parses the headers of files with Python's own parser, which in some versions fails when threads use it at once
# ("AST constructor recursion depth mismatch")
_PARSING = threading.RLock()


class Header(NamedTuple):
    """What an array declares of itself, and where in its file the numbers begin."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def need(self) -> int:
        """Bytes of the numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


def npy_header(path: Path) -> Header:
    """The header of a ``.npy`` file that holds as much as it declares."""
    with reading(path, ".npy file"), open_file(path) as file:
        header = _header(path, file, path.stat().st_size)
        there = path.stat().st_size - header.start
        if header.need > there:
            raise fail(
                path,
                f"declares {header.shape} of {header.dtype}, {header.need} bytes, and holds {there}: it is cut off",
            )
    return header


def read_array(path: Path) -> Array:
    """A ``.npy`` file, all of it."""
    header = npy_header(path)
    check_memory(path, header.need)
    with reading(path, ".npy file"), open_file(path) as file:
        data = np.empty(math.prod(header.shape), header.dtype)
        content = data.view(np.uint8).data
        for first in range(0, header.need, STEP):
            file.seek(header.start + first)
            piece = content[first : first + STEP]
            piece[:] = file.read(len(piece))
            read_up_to(path, file.tell())
        return data.reshape(header.shape, order="F" if header.fortran else "C")


def map_npy(path: Path) -> Array:
    """A ``.npy`` file as a read-only map."""
    header = npy_header(path)
    with reading(path, ".npy file"):
        if not header.need:  # nothing cannot be mapped
            return np.empty(header.shape, header.dtype)
        return np.memmap(path, header.dtype, "r", header.start, header.shape, "F" if header.fortran else "C")


class Archive:
    """The arrays of a ``.npz`` file, each read when it is asked for.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    archive : zipfile.ZipFile
        It, opened.
    """

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path, self._archive = path, archive
        self.members = {name.removesuffix(".npy"): name for name in archive.namelist() if name.endswith(".npy")}

    @property
    def is_sparse(self) -> bool:
        """Whether ``scipy.sparse.save_npz`` wrote it."""
        return {"format", "data", "shape"} <= set(self.members)

    def header(self, name: str) -> Header:
        """What an array declares, after the sizes of file, archive and header have been held against each other."""
        info = self._archive.getinfo(self.members[name])
        if info.file_size > max(info.compress_size, 1) * LARGEST_RATIO or info.compress_size > self.path.stat().st_size:
            raise fail(self.path, f"{name} declares {info.file_size} bytes, which its {info.compress_size} cannot hold")
        with self._archive.open(info) as file:
            header = _header(self.path, file, info.file_size)
        if header.need > info.file_size:
            raise fail(
                self.path,
                f"{name} declares {header.shape} of {header.dtype}, which its {info.file_size} bytes cannot hold",
            )
        return header

    def array(self, name: str) -> Array:
        """One array."""
        header = self.header(name)
        check_memory(self.path, header.need)
        with self._archive.open(self.members[name]) as file:
            file.seek(header.start)
            data = file.read(header.need)
        if len(data) != header.need:
            raise fail(self.path, f"{name} is cut off")
        return np.frombuffer(data, header.dtype).reshape(header.shape, order="F" if header.fortran else "C")

    def sparse_shape(self) -> tuple[int, int]:
        """The shape that a sparse matrix declares."""
        declared = self.array("shape").ravel()
        if len(declared) != 2 or declared.dtype.kind not in "iu":
            raise fail(self.path, f"a sparse matrix of shape {tuple(declared.tolist())}")
        return int(declared[0]), int(declared[1])

    def sparse(self) -> sp.csr_array:
        """The sparse matrix, its indices checked, as compiled loops trust them."""
        given = self.array("format").item()
        kind = given.decode("ascii") if isinstance(given, bytes) else str(given)
        if kind not in SPARSE_KINDS:
            raise fail(
                self.path, f"a sparse matrix of format {kind[:20]!r}; save it as one of {', '.join(SPARSE_KINDS)}"
            )
        shape, data = self.sparse_shape(), self.array("data")
        if data.ndim != 1 or data.dtype.kind not in "fiub":
            raise fail(self.path, f"a sparse matrix of shape {shape} with data {data.dtype} of shape {data.shape}")
        check_shape(self.path, shape, data.nbytes)
        index = [self.array(name) for name in (("row", "col") if kind == "coo" else ("indices", "indptr"))]
        if any(one.dtype.kind not in "iu" or one.ndim != 1 for one in index):
            raise fail(self.path, "the indices of its sparse matrix are no vectors of integers")
        if kind == "coo":
            matrix: Any = sp.coo_array((data, tuple(index)), shape=shape)  # checks its indices
        else:
            flaw = flaw_of(index[1], index[0], len(data), shape if kind == "csr" else shape[::-1])
            if flaw:
                raise fail(self.path, f"not a readable .npz file (a sparse matrix of shape {shape}: {flaw})")
            matrix = {"csr": sp.csr_array, "csc": sp.csc_array}[kind]((data, *index), shape)
        X = sp.csr_array(matrix)
        X.sum_duplicates()
        return X


@contextmanager
def open_npz(path: Path) -> Iterator[Archive]:
    """The arrays of a ``.npz`` file; whatever they trip over while it is open is said of the file."""
    with reading(path, ".npz file"), open_file(path) as file, zipfile.ZipFile(file) as archive:
        yield Archive(path, archive)


def _header(path: Path, file: BinaryIO | Any, size: int) -> Header:
    """What is declared in the first of so many bytes, none of which is taken before it is known to be there."""
    version = npy.read_magic(file)
    known = {(1, 0): (2, npy.read_array_header_1_0), (2, 0): (4, npy.read_array_header_2_0)}.get(version)
    if known is None:  # version 3 is 2 with names of fields in UTF-8, and fields are no matrix
        raise fail(path, f"version {version[0]}.{version[1]} of the format is not known")
    width, read = known
    begin = file.tell()
    length = int.from_bytes(file.read(width), "little")
    if length > size - begin - width:
        raise fail(path, f"declares a header of {length} bytes, and holds {size}: it is cut off")
    file.seek(begin)
    with _PARSING:
        shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise fail(path, "holds Python objects (a pickle), which could run any program: they are refused")
    if any(n < 0 for n in shape):
        raise fail(path, f"declares the shape {shape}")
    if 0 in shape:  # an array of nothing could declare any number of rows
        check_shape(path, shape, size)
    return Header(shape, fortran, dtype, file.tell())
