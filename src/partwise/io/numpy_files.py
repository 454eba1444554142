"""``.npy`` and ``.npz``: dense arrays and scipy's sparse matrices, never pickles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.door.guard import fail
from partwise.door.numpy_files import npy_header, open_npz, read_array
from partwise.door.rows import RowFile
from partwise.io.table import LARGE, Table
from partwise.sources.chunked import MemmapSource

Array = npt.NDArray[Any]


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
    in_memory : int
        Bytes up to which it is read; a larger one stays on disk.

    Returns
    -------
    Table
        With ``image_shape`` if there are three dimensions.
    """
    header = npy_header(path)
    rows = RowFile.of_npy(path)
    if rows is not None and header.need > in_memory:
        check_kind(path, header.dtype)
        shape = header.shape[1:] if len(header.shape) == 3 else None
        return Table(MemmapSource(rows), image_shape=shape, origin=str(path), format="npy")
    X, image_shape = as_matrix(path, read_array(path))
    return Table(X, image_shape=image_shape, origin=str(path), format="npy")


def read_npz(path: Path, *, variable: str | None = None) -> Table:
    """Read a ``.npz`` file: a sparse matrix written by ``scipy.sparse.save_npz``, or one array of several.

    Parameters
    ----------
    variable : str, optional
        Which array; needed if several are matrices.

    Returns
    -------
    Table
        A CSR matrix or an array.
    """
    with open_npz(path) as archive:
        image_shape = None
        if variable is None and archive.is_sparse:
            X: Any = archive.sparse()
        else:
            shapes = {name: archive.header(name).shape for name in archive.members}
            X, image_shape = as_matrix(path, archive.array(choose(path, shapes, variable)))
    return Table(X, image_shape=image_shape, origin=str(path), format="npz")


def as_matrix(path: Path, X: Array) -> tuple[Array, tuple[int, int] | None]:
    """The array if it is a matrix of real numbers; three dimensions are images."""
    check_kind(path, X.dtype)
    if X.ndim == 3:
        return X.reshape(len(X), X.shape[1] * X.shape[2]), (X.shape[1], X.shape[2])
    if X.ndim != 2:
        raise fail(path, f"must have two dimensions (samples, features), and has shape {X.shape}", kind="shape")
    return X, None


def check_kind(path: Path, dtype: np.dtype[Any]) -> None:
    """Refuse anything but real numbers."""
    if dtype.kind not in "fiub":
        raise fail(path, f"holds {dtype}, not real numbers", kind="not-real")


def choose(path: Path, shapes: dict[str, tuple[int, ...]], variable: str | None) -> str:
    """The one variable that is a matrix, or the one asked for."""
    matrices = [name for name, shape in shapes.items() if len(shape) in (2, 3) and min(shape) > 1]
    shown = (matrices or list(shapes))[:20]
    listed = ", ".join(f"{name} {' x '.join(map(str, shapes[name]))}" for name in shown)
    if variable is not None:
        if variable not in shapes:
            raise fail(
                path,
                f"there is no {{parameter}} {variable!r} of numbers; there are: {listed or 'none'}",
                kind="unknown",
                parameter="variable",
            )
        return variable
    if not shapes:
        raise fail(path, "holds no matrix of real numbers; save one itself, not a structure around it", kind="empty")
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
