"""Inputs of the measures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partwise.exceptions import InputError
from partwise.sources import RowSource, source_of

__all__ = ["EPS", "Indices", "Matrix", "Vector", "as_components", "open_matrix", "scale_rows"]

Indices = NDArray[np.int_]
Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

EPS = 2.0**-52  # the spacing of float64 at 1


def open_matrix(name: str, value: Any) -> RowSource:
    """Return a matrix as a source, which must have rows and columns; ``name`` is for the message."""
    source = source_of(value)
    if 0 in source.shape:
        raise InputError(
            f"{name} has shape {tuple(source.shape)}: give a matrix that has rows and columns.", parameter=name
        )
    return source


def as_components(name: str, value: Any) -> Matrix:
    """Return components as a finite float64 matrix, one a row.

    Parameters
    ----------
    name : str
        What the argument is called, for messages.
    value : array-like or sparse matrix of shape (n_components, n_features)
        The components; any real type, lists too.

    Examples
    --------
    >>> as_components("truth", [[1, 2]])
    array([[1., 2.]])
    """
    if hasattr(value, "toarray"):  # components are small, even where the data is sparse
        value = value.toarray()
    try:
        matrix = np.asarray(value)
        if np.iscomplexobj(matrix):
            raise TypeError("complex numbers")
        matrix = matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} is not a matrix of real numbers ({error}): give one component a row.", parameter=name
        ) from error
    if matrix.ndim != 2 or matrix.size == 0:
        raise InputError(
            f"{name} has shape {matrix.shape}: give a non-empty (n_components, n_features) array.", parameter=name
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise InputError(
            f"{name} has NaN or infinity, first in row {bad[0]}: remove or replace such components.", parameter=name
        )
    return matrix


def scale_rows(matrix: Matrix) -> tuple[Matrix, NDArray[np.int_]]:
    """Multiply each row by the power of two that brings its largest entry into [0.5, 1).

    Powers of two change no digit, and squares of the result neither overflow nor vanish.

    Parameters
    ----------
    matrix : ndarray of shape (k, m)
        Finite numbers.

    Returns
    -------
    scaled : ndarray of shape (k, m)
        The rows, ``matrix = ldexp(scaled, exponents)``.
    exponents : ndarray of int, shape (k,)
        The powers; 0 for rows of zeros.

    Examples
    --------
    >>> scale_rows(np.array([[3e200, 0.0], [0.0, 0.0]]))[0].max() < 1
    np.True_
    """
    _, exponents = np.frexp(np.abs(matrix).max(axis=1))
    # in two halves: 2**-e itself can overflow for the smallest numbers
    half = -exponents // 2
    scaled = np.ldexp(np.ldexp(matrix, half[:, None]), (-exponents - half)[:, None])
    return scaled, exponents.astype(np.int_)
