"""Inputs shared by the measures of recovery."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partwise.exceptions import InputError

__all__ = ["Matrix", "as_components", "scale_rows"]

Matrix = NDArray[np.float64]


def as_components(name: str, value: Any) -> Matrix:
    """Return components as a finite float64 matrix, one a row.

    Parameters
    ----------
    name : str
        What the argument is called, for messages.
    value : array-like or sparse matrix of shape (n_components, n_features)
        The components; any real type, lists too.

    Returns
    -------
    ndarray of float64
        The same numbers.

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
        raise InputError(f"{name} is not a matrix of real numbers ({error}): give one component a row.") from error
    if matrix.ndim != 2 or matrix.size == 0:
        raise InputError(f"{name} has shape {matrix.shape}: give a non-empty (n_components, n_features) array.")
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise InputError(f"{name} has NaN or infinity, first in row {bad[0]}: remove or replace such components.")
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
