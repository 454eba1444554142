"""Rows or columns of a matrix as points, for methods that pick some of them.

A separable method asks little of its points: their lengths, their coordinates along a few directions, and a few of
them as vectors.  :class:`RowPoints` and :class:`ColumnPoints` answer alike, so a method is written once.  The data
stays in blocks of rows in either case: what is known of a row stays beside it, what is known of a column is a reduce.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block, Combine

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]
Axis = Literal["samples", "features"]
State = Any  # what is known of every point: of rows it stays with them, wherever they are; of columns it is here

CANDIDATES = 8  # points of the largest scores that are looked at more closely


class Points(Protocol):
    """Vectors, each multiplied by its scale.

    ``visit`` gets some numbers for each of a block of points, the numbers of these points and their part of every
    ``state``; it returns their new state and a small result, as does the verb for all points.  It must be picklable
    and leave its arguments alone.
    """

    shape: tuple[int, int]  # how many, and of what dimension
    dtype: np.dtype[Any]

    def lengths(
        self,
        Q: Array,
        visit: Callable[..., Any],
        *state: State,
        combine: Combine,
        width: int | None = None,
        out: State | None = None,
    ) -> tuple[State, Any]:
        """Visit with the squared distances from the span of the orthonormal rows of ``Q``, by the residuals themselves.

        The new state is ``width`` wide; ``None``: a vector.
        """

    def along(
        self,
        D: Array,
        visit: Callable[..., Any],
        *state: State,
        combine: Combine,
        width: int | None = None,
        out: State | None = None,
    ) -> tuple[State, Any]:
        """Visit with the coordinates along the rows of ``D``."""

    def take(self, numbers: npt.ArrayLike) -> Array:
        """A few points as the rows of a dense array in double precision."""


def view(source: RowSource, axis: Axis, scale: npt.ArrayLike | None = None) -> Points:
    """The rows or the columns of the data as points.

    Parameters
    ----------
    axis : {"samples", "features"}
        Rows or columns.
    scale : array-like, optional
        Factor of every point.

    Returns
    -------
    Points
        A view; nothing is copied.
    """
    check_axis(axis)
    return RowPoints(source, scale) if axis == "samples" else ColumnPoints(source, scale)


def check_axis(axis: str) -> None:
    """Refuse anything but the two names."""
    if axis not in ("samples", "features"):
        raise InputError(f"axis must be 'samples' or 'features', got {axis!r}", parameter="axis")


class RowPoints:
    """Every sample is a point."""

    def __init__(self, source: RowSource, scale: npt.ArrayLike | None = None) -> None:
        self.source, self.shape, self.dtype = source, source.shape, source.dtype
        self.numbers = np.arange(self.shape[0], dtype=np.int64)
        self.scale = np.ones(self.shape[0]) if scale is None else np.asarray(scale, np.float64)

    def lengths(self, Q: Array, visit: Callable[..., Any], *state: State, **how: Any) -> tuple[State, Any]:
        """See :class:`Points`."""
        return self._map(partial(_row_lengths, Q=Q, visit=visit), *state, **how)

    def along(self, D: Array, visit: Callable[..., Any], *state: State, **how: Any) -> tuple[State, Any]:
        """See :class:`Points`."""
        step = partial(_row_coordinates, D=np.ascontiguousarray(D.T, self.dtype), visit=visit)
        return self._map(step, *state, **how)

    def take(self, numbers: npt.ArrayLike) -> Array:
        """See :class:`Points`."""
        dense = blocks.to_dense(self.source.take(numbers)).astype(np.float64)
        return np.asarray(dense * self.scale[np.asarray(numbers), None])

    def _map(self, step: Callable[..., Any], *state: State, width: int | None = None, **how: Any) -> tuple[State, Any]:
        rows = (self.scale, self.numbers, *state)
        kept, small = self.source.map_rows(step, *rows, width=width, dtype=np.float64, **how)
        return kept, small


class ColumnPoints:
    """Every feature is a point; a direction is as long as there are samples."""

    def __init__(self, source: RowSource, scale: npt.ArrayLike | None = None) -> None:
        self.source, self.dtype = source, source.dtype
        self.shape = (source.shape[1], source.shape[0])
        self.numbers = np.arange(self.shape[0], dtype=np.int64)
        self.scale = np.ones(self.shape[0]) if scale is None else np.asarray(scale, np.float64)

    def lengths(self, Q: Array, visit: Callable[..., Any], *state: State, **how: Any) -> tuple[State, Any]:
        """See :class:`Points`."""
        if len(Q):
            directions = np.ascontiguousarray(Q.T)
            inside = self.source.reduce(_column_coordinates, directions)
            squares = self.source.reduce(partial(_column_residuals, inside=inside), directions)
        else:
            squares = self.source.reduce(_column_squares)
        kept, small = visit(squares * self.scale**2, self.numbers, *state)
        return kept, small

    def along(self, D: Array, visit: Callable[..., Any], *state: State, **how: Any) -> tuple[State, Any]:
        """See :class:`Points`."""
        found = self.source.reduce(_column_coordinates, np.ascontiguousarray(D.T, self.dtype))
        kept, small = visit(found * self.scale[:, None], self.numbers, *state)
        return kept, small

    def take(self, numbers: npt.ArrayLike) -> Array:
        """See :class:`Points`."""
        columns = np.asarray(numbers, np.int64)
        dense = self.source.map_rows(partial(_some_columns, columns=columns), width=len(columns), dtype=np.float64)
        return np.ascontiguousarray((np.asarray(dense) * self.scale[columns]).T)


def candidates(scores: Array, numbers: Index) -> Array:
    """The points of largest score: columns score, number; the first ones win among equals."""
    count = min(CANDIDATES, len(scores))
    if not count:
        return np.empty((0, 2))
    last = np.partition(scores, -count)[-count]
    above = np.flatnonzero(scores > last)
    top = np.concatenate([above, np.flatnonzero(scores == last)[: count - len(above)]])
    return _sorted(np.column_stack([scores[top], numbers[top]]))


def best_of(a: Array, b: Array) -> Array:
    """The candidates of two tables."""
    return _sorted(np.vstack([a, b]))[:CANDIDATES]


def _sorted(table: Array) -> Array:
    return np.asarray(table[np.lexsort((table[:, 1], -table[:, 0]))])


def _row_lengths(
    block: Block, scale: Array, numbers: Array, *state: Array, Q: Array, visit: Callable[..., Any]
) -> tuple[Array, Any]:
    if len(Q):
        squares = np.empty(len(scale))
        for a, b in blocks.row_chunks(block):
            R = blocks.to_dense(block[a:b]).astype(np.float64)
            squares[a:b] = blocks.squared_norms(R - (R @ Q.T) @ Q)
    else:
        squares = blocks.squared_norms(block)
    kept, small = visit(squares * scale**2, numbers, *state)
    return kept, small


def _row_coordinates(
    block: Block, scale: Array, numbers: Array, *state: Array, D: Array, visit: Callable[..., Any]
) -> tuple[Array, Any]:
    kept, small = visit(blocks.dot(block, D) * scale[:, None], numbers, *state)
    return kept, small


def _column_squares(block: Block) -> Array:
    squared = blocks.with_values(block, blocks.values(block).astype(np.float64) ** 2)
    return blocks.tdot(squared, np.ones((block.shape[0], 1)))[:, 0]


def _column_coordinates(block: Block, D: Array) -> Array:
    return blocks.tdot(block, D).astype(np.float64)


def _column_residuals(block: Block, Q: Array, *, inside: Array) -> Array:
    squares = np.zeros(block.shape[1])
    for a, b in blocks.row_chunks(block):
        R = blocks.to_dense(block[a:b]) - Q[a:b] @ inside.T
        squares += np.einsum("ij,ij->j", R, R)
    return squares


def _some_columns(block: Block, *, columns: Index) -> Array:
    return blocks.to_dense(block[:, columns])
