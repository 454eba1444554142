"""Matrices that are handed over: compiled loops trust their indices, so these are looked at where data comes in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from partwise.exceptions import InputError

Array = npt.NDArray[Any]


def flaw_of(indptr: Array, indices: Array, stored: int, shape: tuple[int, int]) -> str | None:
    """What is wrong with a compressed sparse matrix of this shape (the compressed axis first), or None."""
    rows, columns = shape
    if len(indptr) != rows + 1 or len(indices) != stored:
        return f"{len(indptr)} row pointers and {len(indices)} indices go with {rows} rows and {stored} entries"
    if len(indptr) and (int(indptr[0]) != 0 or int(indptr[-1]) > stored or bool(np.any(indptr[1:] < indptr[:-1]))):
        return f"the row pointers do not go up from 0 to {stored}"
    used = indices[: int(indptr[-1])] if len(indptr) else indices[:0]
    if used.size:
        least, most = int(used.min()), int(used.max())
        if least < 0 or most >= columns:
            return f"the index {least if least < 0 else most} is none of 0..{columns - 1}"
    return None


def check_matrix(X: Any, name: str = "X") -> None:
    """Refuse what is no matrix of real numbers, all of them there, or has indices that point outside it."""
    check_numeric(X.dtype, name)
    check_form(X, name)


def check_form(X: Any, name: str = "X") -> None:
    """Refuse entries that are masked, times and records, which NumPy would turn into numbers, and indices outside."""
    if np.ma.is_masked(X):
        raise InputError(
            "{parameter} is a masked array with masked entries; missing values are not supported, fill them first",
            parameter=name,
            kind="not-finite",
        )
    if isinstance(X, np.ndarray) and X.dtype.kind in "mMV":
        check_numeric(X.dtype, name)
    flaw = _flaw(X) if sp.issparse(X) else None
    if flaw:
        raise InputError(
            f"{{parameter}} is a damaged sparse matrix of shape {tuple(X.shape)}: {flaw}",
            parameter=name,
            kind="damaged",
        )


def check_block(X: Any, number: int, shape: tuple[int, int]) -> None:
    """Refuse a block of a larger matrix that cannot be used, or has not the shape that was declared for it."""
    name = f"block {number} of X"
    check_matrix(X, name)
    if tuple(X.shape) != shape:
        raise InputError(
            f"{{parameter}} was declared as {shape[0]} x {shape[1]}, and has shape {tuple(X.shape)}",
            parameter=name,
            kind="shape",
        )


def _flaw(X: Any) -> str | None:
    if X.format in ("csr", "csc"):
        return flaw_of(X.indptr, X.indices, len(X.data), X.shape if X.format == "csr" else X.shape[::-1])
    if X.format == "bsr":
        R, C = X.blocksize
        return flaw_of(X.indptr, X.indices, len(X.data), (X.shape[0] // R, X.shape[1] // C))
    return _flaw_of_coordinates(X) if X.format == "coo" else None


def _flaw_of_coordinates(X: Any) -> str | None:
    for axis, (index, size) in enumerate(zip(X.coords, X.shape, strict=True)):
        if len(index) != len(X.data):
            return f"{len(index)} indices go with {len(X.data)} entries"
        if index.size and (index.min() < 0 or index.max() >= size):
            wrong = index.min() if index.min() < 0 else index.max()
            return f"the {('row', 'column')[axis]} {wrong} is none of 0..{size - 1}"
    return None


def check_numeric(dtype: np.dtype[Any], name: str) -> None:
    """Refuse anything but real numbers and booleans."""
    if dtype.kind not in "fiub":
        raise InputError(f"{{parameter}} must hold real numbers, got dtype {dtype}", parameter=name, kind="not-real")
