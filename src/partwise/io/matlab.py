"""Matrices of MATLAB 5 to 7.2 files, dense and sparse.

Read here and not by ``scipy.io.loadmat``, which takes the memory that a tag of the file declares before it looks
whether the file is that long. Structures, cells and objects are passed over.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from partwise.door.guard import LARGEST_RATIO, check_memory, check_shape, fail, read_up_to, reading
from partwise.door.matrices import flaw_of
from partwise.io.numpy_files import as_matrix, choose
from partwise.io.table import LARGE, Table
from partwise.sources.blocks import is_sparse
from partwise.sources.chunked import MemmapSource

Array = npt.NDArray[Any]

HEADER = 128
MATRIX, COMPRESSED = 14, 15
SPARSE = 5
NUMBERS = range(6, 16)  # classes double to uint64
COMPLEX = 0x0800
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
STEP = 1 << 20  # bytes that are unpacked at a time, so that whoever waits sees how far it is
HEAD_BYTES = 4096  # of a compressed variable: enough for its class, shape and name


@dataclass(frozen=True)
class _Variable:
    name: str
    kind: int
    shape: tuple[int, ...]
    start: int  # of the element in the file
    length: int
    compressed: bool


def is_matlab(first: bytes) -> bool:
    """Whether a file that begins so is a MATLAB 5 file: its header ends in the order of bytes."""
    return len(first) >= HEADER and first[126:128] in (b"IM", b"MI") and first[:6] == b"MATLAB"


def read_matlab(path: Path, *, variable: str | None = None, in_memory: int = LARGE) -> Table:
    """Read a matrix of a ``.mat`` file.

    Parameters
    ----------
    path : pathlib.Path
        The file, of version 5 to 7.2; 7.3 is another format (HDF5).
    variable : str, optional
        Which matrix; needed if there are several.
    in_memory : int
        Bytes up to which it is held in memory, if it is not compressed.

    Returns
    -------
    Table
        An array, a CSR matrix or a source.
    """
    with reading(path, ".mat file"):
        data = np.memmap(path, np.uint8, "r")
        if not is_matlab(data[:HEADER].tobytes()):
            raise fail(path, "not a MATLAB 5 file; save it with -v7")
        order = "<" if data[126:128].tobytes() == b"IM" else ">"
        found = {one.name: one for one in _variables(path, data, order)}
        chosen = found[choose(path, {name: one.shape for name, one in found.items()}, variable)]
        X, image_shape = _matrix(path, data, order, chosen)
        # a view of the file: read now, or in blocks
        X = X if is_sparse(X) else MemmapSource(X) if X.nbytes > in_memory else np.array(X, order="C")
    return Table(X, image_shape=image_shape, origin=str(path), format="MATLAB", notes=(f"variable: {chosen.name}",))


def _variables(path: Path, data: Array, order: str) -> Iterator[_Variable]:
    place = HEADER
    while place < len(data):
        kind, length = _words(path, data, place, order, 2)
        start = place + 8
        if length > len(data) - start:
            raise fail(path, f"a variable of {length} bytes begins at byte {place}, and the file ends before: cut off")
        content = data[start : start + length]
        if kind == COMPRESSED:
            head = np.frombuffer(zlib.decompressobj().decompress(content[:HEAD_BYTES].tobytes(), HEAD_BYTES), np.uint8)
            if _words(path, head, 0, order, 1)[0] == MATRIX:
                yield from _described(_Elements(path, head[8:], order), start, length, compressed=True)
        elif kind == MATRIX:
            yield from _described(_Elements(path, content, order), start, length, compressed=False)
        place = start + length


def _described(elements: _Elements, start: int, length: int, *, compressed: bool) -> Iterator[_Variable]:
    flags, shape, name = elements.numbers(), elements.numbers(), elements.raw()[1]
    if len(flags) < 1:
        raise fail(elements.path, "a variable has no class")
    kind = int(flags[0]) & 0xFF
    if (kind in NUMBERS or kind == SPARSE) and not int(flags[0]) & COMPLEX:
        text = name.tobytes().decode("latin-1")
        yield _Variable(text, kind, tuple(int(n) for n in shape), start, length, compressed)


def _matrix(path: Path, data: Array, order: str, variable: _Variable) -> tuple[Any, tuple[int, int] | None]:
    content = data[variable.start : variable.start + variable.length]
    if variable.compressed:
        content = _decompressed(path, content, variable.start, order)
    elements = _Elements(path, content, order)
    for _ in range(3):
        elements.raw()
    shape = variable.shape
    if min(shape) < 0 or len(shape) > 3:
        raise fail(path, f"{variable.name} has the shape {shape}")
    if variable.kind == SPARSE:
        return _sparse(path, elements, variable), None
    values = elements.numbers()
    if len(values) != math.prod(shape):
        raise fail(path, f"{variable.name} declares {shape} and holds {len(values)} numbers")
    # small integers are stored for doubles where that is shorter
    wanted = np.dtype(CLASSES[variable.kind])
    X = values.reshape(shape, order="F")
    if values.dtype.newbyteorder("=") != wanted:
        check_memory(path, len(values) * wanted.itemsize)
        X = X.astype(wanted)
    return as_matrix(path, X)


def _decompressed(path: Path, content: Array, start: int, order: str) -> Array:
    unpack = zlib.decompressobj()
    pieces = (content[first : first + STEP].tobytes() for first in range(0, len(content), STEP))
    tag = unpack.decompress(next(pieces, b""), 8)
    kind, length = struct.unpack(f"{order}II", tag)
    if kind != MATRIX or length > len(content) * LARGEST_RATIO:
        raise fail(path, f"a variable of {len(content)} bytes declares {length}, which they cannot hold")
    check_memory(path, length)
    unpacked, left = [], length
    for i, piece in enumerate(chain((unpack.unconsumed_tail,), pieces), 1):
        unpacked.append(unpack.decompress(piece, left) if left else b"")
        left -= len(unpacked[-1])
        read_up_to(path, start + i * STEP)
    if left:
        raise fail(path, f"a variable declares {length} bytes and holds {length - left}: cut off")
    return np.frombuffer(b"".join(unpacked), np.uint8)


def _sparse(path: Path, elements: _Elements, variable: _Variable) -> sp.csr_array:
    rows, starts, values = elements.numbers(), elements.numbers(), elements.numbers()
    if len(variable.shape) != 2:
        raise fail(path, f"{variable.name} has the shape {variable.shape}")
    check_shape(path, variable.shape, rows.nbytes + starts.nbytes)
    native = [np.asarray(part, part.dtype.newbyteorder("=")) for part in (values, rows, starts)]
    count = int(native[2][-1]) if len(starts) else 0
    # there may be room for more entries than there are
    matrix = sp.csc_array((native[0][:count].astype(float), native[1][:count], native[2]), variable.shape)
    flaw = flaw_of(matrix.indptr, matrix.indices, len(matrix.data), variable.shape[::-1])
    if flaw:
        raise fail(path, f"{variable.name} is a damaged sparse matrix: {flaw}")
    X = sp.csr_array(matrix)
    X.sum_duplicates()
    return X


class _Elements:
    """The elements within a variable, one after the other."""

    def __init__(self, path: Path, data: Array, order: str) -> None:
        self.path, self.data, self.order, self.place = path, data, order, 0

    def raw(self) -> tuple[int, Array]:
        """Type and bytes of the next one; short ones share the eight bytes of their tag."""
        (word,) = _words(self.path, self.data, self.place, self.order, 1)
        if word >> 16:
            kind, length, start, step = word & 0xFFFF, word >> 16, self.place + 4, 8
            if length > 4:
                raise fail(self.path, f"a short element of {length} bytes")
        else:
            kind, length = _words(self.path, self.data, self.place, self.order, 2)
            start, step = self.place + 8, 8 + length + -length % 8
        if length > len(self.data) - start:
            raise fail(self.path, f"an element of {length} bytes begins where {len(self.data) - start} are left")
        self.place += step
        return kind, self.data[start : start + length]

    def numbers(self) -> Array:
        """The next one as numbers."""
        kind, data = self.raw()
        if kind not in TYPES:
            raise fail(self.path, f"an element has the type {kind}, which is no number")
        dtype = np.dtype(self.order + TYPES[kind])
        if len(data) % dtype.itemsize:
            raise fail(self.path, f"an element of {len(data)} bytes for numbers of {dtype.itemsize}")
        return data.view(dtype)


def _words(path: Path, data: Array, place: int, order: str, count: int) -> tuple[int, ...]:
    if place + 4 * count > len(data):
        raise fail(path, f"ends within a tag at byte {place}: it is cut off")
    return struct.unpack(f"{order}{count}I", data[place : place + 4 * count].tobytes())
