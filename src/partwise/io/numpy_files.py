"""``.npy`` and ``.npz``: dense arrays and scipy's sparse matrices, never pickles."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numpy.lib import format as npy

from partwise.door.guard import LARGEST_RATIO, check_memory, check_shape, fail, reading
from partwise.io.table import LARGE, Table
from partwise.sources.chunked import MemmapSource

Array = npt.NDArray[Any]

SPARSE_KINDS = ("csr", "csc", "coo")


def is_npy(first: bytes) -> bool:
    """Whether a file that begins so is an array of NumPy."""
    return first.startswith(b"\x93NUMPY")


def is_zip(first: bytes) -> bool:
    """Whether a file that begins so is an archive, as those of arrays are."""
    return first.startswith(b"PK\x03\x04")


def read_npy(path: Path, *, in_memory: int = LARGE) -> Table:
    """Read a ``.npy`` file of two dimensions, or of three: images.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    in_memory : int
        Bytes up to which it is read; a larger one stays on disk.

    Returns
    -------
    Table
        With ``image_shape`` if there are three dimensions.
    """
    with reading(path, ".npy file"):
        with path.open("rb") as file:
            shape, _, dtype = _npy_header(path, file)
            start = file.tell()
        need = math.prod(shape) * dtype.itemsize
        there = path.stat().st_size - start
        if need > there:
            raise fail(path, f"declares {shape} of {dtype}, {need} bytes, and holds {there}: it is cut off")
        X: Any = npy.open_memmap(path, mode="r")
        X, image_shape = as_matrix(path, X)
        X = MemmapSource(X) if need > in_memory else np.array(X)
    return Table(X, image_shape=image_shape, origin=str(path), format="npy")


def read_npz(path: Path, *, variable: str | None = None) -> Table:
    """Read a ``.npz`` file: a sparse matrix written by ``scipy.sparse.save_npz``, or one array of several.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    variable : str, optional
        Which array; needed if several are matrices.

    Returns
    -------
    Table
        A CSR matrix or an array.
    """
    with reading(path, ".npz file"), zipfile.ZipFile(path) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist() if name.endswith(".npy")}
        image_shape = None
        if variable is None and {"format", "data", "shape"} <= set(members):
            X: Any = _sparse(path, {name: _member(path, archive, file) for name, file in members.items()})
        else:
            chosen = _choose(path, archive, members, variable)
            X, image_shape = as_matrix(path, _member(path, archive, members[chosen]))
    return Table(X, image_shape=image_shape, origin=str(path), format="npz")


def as_matrix(path: Path, X: Array) -> tuple[Array, tuple[int, int] | None]:
    """The array if it is a matrix of real numbers; three dimensions are images."""
    if X.dtype.kind not in "fiub":
        raise fail(path, f"holds {X.dtype}, not real numbers", kind="not-real")
    if X.ndim == 3:
        return X.reshape(len(X), -1), (X.shape[1], X.shape[2])
    if X.ndim != 2:
        raise fail(path, f"must have two dimensions (samples, features), and has shape {X.shape}", kind="shape")
    return X, None


def choose(path: Path, shapes: dict[str, tuple[int, ...]], variable: str | None) -> str:
    """The one variable that is a matrix, or the one asked for."""
    listed = ", ".join(f"{name} {' x '.join(map(str, shape))}" for name, shape in list(shapes.items())[:20])
    if variable is not None:
        if variable not in shapes:
            raise fail(
                path,
                f"there is no {{parameter}} {variable!r} of numbers; there are: {listed or 'none'}",
                kind="unknown",
                parameter="variable",
            )
        return variable
    matrices = [name for name, shape in shapes.items() if len(shape) in (2, 3) and min(shape) > 1]
    if len(matrices) != 1:
        if len(shapes) == 1:
            return next(iter(shapes))
        raise fail(
            path,
            f"{len(matrices)} of its variables are matrices; give {{parameter}}, one of: {listed or 'none'}",
            kind="format",
            parameter="variable",
        )
    return matrices[0]


def _npy_header(path: Path, file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read is None:  # version 3 is 2 with names of fields in UTF-8, and fields are no matrix
        raise fail(path, f"version {version[0]}.{version[1]} of the format is not known")
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise fail(path, "holds Python objects (a pickle), which could run any program: they are refused")
    if any(n < 0 for n in shape):
        raise fail(path, f"declares the shape {shape}")
    return shape, fortran, dtype


def _choose(path: Path, archive: zipfile.ZipFile, members: dict[str, str], variable: str | None) -> str:
    shapes = {}
    for name, member in members.items():
        with archive.open(member) as file:
            shapes[name] = _npy_header(path, file)[0]
    return choose(path, shapes, variable)


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> Array:
    """One array, after the sizes that file, archive and header declare have been held against each other."""
    info = archive.getinfo(name)
    if info.file_size > max(info.compress_size, 1) * LARGEST_RATIO or info.compress_size > path.stat().st_size:
        raise fail(path, f"{name} declares {info.file_size} bytes, which its {info.compress_size} cannot hold")
    check_memory(path, info.file_size)
    with archive.open(info) as file:
        shape, fortran, dtype = _npy_header(path, file)
        need = math.prod(shape) * dtype.itemsize
        if need > info.file_size:
            raise fail(path, f"{name} declares {shape} of {dtype}, which its {info.file_size} bytes cannot hold")
        data = file.read(need)
    if len(data) != need:
        raise fail(path, f"{name} is cut off")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _sparse(path: Path, parts: dict[str, Array]) -> sp.csr_array:
    kind = parts["format"].item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
    if kind not in SPARSE_KINDS:
        raise fail(path, f"a sparse matrix of format {kind[:20]!r}; save it as one of {', '.join(SPARSE_KINDS)}")
    shape = tuple(int(n) for n in parts["shape"].ravel())
    data = parts["data"]
    if len(shape) != 2 or data.ndim != 1 or data.dtype.kind not in "fiub":
        raise fail(path, f"a sparse matrix of shape {shape} with data {data.dtype} of shape {data.shape}")
    check_shape(path, shape, data.nbytes)
    index = ("row", "col") if kind == "coo" else ("indices", "indptr")
    if any(parts[name].dtype.kind not in "iu" or parts[name].ndim != 1 for name in index):
        raise fail(path, "the indices of its sparse matrix are no vectors of integers")
    if kind == "coo":
        matrix: Any = sp.coo_array((data, (parts["row"], parts["col"])), shape=shape)  # checks its indices
    else:
        matrix = {"csr": sp.csr_array, "csc": sp.csc_array}[kind]((data, parts["indices"], parts["indptr"]), shape)
        matrix.check_format(full_check=True)  # compiled loops trust indices
    X = sp.csr_array(matrix)
    X.sum_duplicates()
    return X
