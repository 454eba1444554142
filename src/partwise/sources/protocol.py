"""The one protocol: where rows live is a source's business, what is done to a block is an algorithm's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import pairwise
from numbers import Real
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError

T = TypeVar("T")
Block = Any  # a concrete ndarray or scipy CSR array; see sources.blocks for what can be done with one
Rows = Any  # row-aligned state: an ndarray for sources of this process, DaskRows beside a Dask collection
Combine = Callable[[Any, Any], Any]

MERGED_BYTES = 2 << 20


@runtime_checkable
class RowSource(Protocol):
    """A matrix as blocks of rows, and the verbs that every algorithm is written in.

    A block function gets a concrete block, then the same rows of every ``aligned`` array.  It must be
    picklable (module level, or a ``functools.partial`` of one) and must not modify what it is given.  The
    arrays that it returns are given away: sums are made in their memory, so none may be kept or returned
    twice (views are safe, they are left alone).  The same partition gives identical bits on every source;
    another partition the same numbers to rounding.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and of features."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The floating type in which blocks arrive."""

    @property
    def bounds(self) -> Sequence[tuple[int, int]]:
        """First and last-plus-one row of every block."""

    @property
    def feature_names(self) -> list[str] | None:
        """What the columns are called, where it is known."""

    @property
    def sample_names(self) -> list[str] | None:
        """What the rows are called, where it is known."""

    def named(
        self, *, feature_names: Sequence[str] | None = None, sample_names: Sequence[str] | None = None
    ) -> RowSource:
        """The same data under these names; what is not given stays as it is."""

    def reduce(self, block_fn: Callable[..., Any], *aligned: Rows, combine: Combine = ...) -> Any:
        """Combine the small results of ``block_fn`` over all blocks, by a fixed pairwise tree."""

    def map_rows(
        self,
        block_fn: Callable[..., Any],
        *aligned: Rows,
        width: int | None,
        dtype: npt.DTypeLike | None = None,
        combine: Combine | None = None,
        out: Rows | None = None,
    ) -> Any:
        """A row-aligned result, ``width`` columns wide (``None``: a vector), that stays with its rows.

        With ``combine``, ``block_fn`` returns ``(rows, small)`` and so does this: one pass makes the row
        state and the statistics of it.  ``out`` may be one of ``aligned``: its memory is used again where a
        source can.
        """

    def batches(self, size: int, rng: np.random.Generator | None = None) -> Iterator[Block]:
        """Batches of rows one after the other, in file order or, given ``rng``, shuffled."""

    def take(self, rows: npt.ArrayLike) -> Block:
        """A few rows, in the order asked for."""

    def project(self, M: npt.NDArray[Any]) -> RowSource:
        """The rows times a small matrix, as a source that stays where the rows are.

        Small neighbouring blocks are merged: what is done to the narrow rows is worth a pass of its own only in
        larger ones.
        """

    def derive(
        self,
        block_fn: Callable[..., Block],
        *aligned: Rows,
        n_features: int | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> RowSource:
        """Other rows made of these, each by itself, as a source with the same partition and sample names.

        Kept where the rows are in memory, made anew in every pass where they are read from disk, so ``aligned`` must
        not change afterwards.  Without ``n_features`` the features stay what they are, and keep their names; without
        ``dtype`` the type does.
        """

    def choose(self, chosen: npt.NDArray[np.bool_ | np.int64]) -> RowSource:
        """The rows where ``chosen`` is true, in their order, as a source with what is left of every block.

        Numbers in place of true and false: every row so often, one copy behind the other.  Kept where the rows are in
        memory, read anew in every pass where they are read from disk; see `chosen_blocks`.
        """

    def deliver(self, rows: Rows) -> Any:
        """Row-aligned state as the caller's kind of array: an ndarray, or a Dask array that stays put."""

    def place(self, array: npt.ArrayLike) -> Rows:
        """The inverse of `deliver`: a row-aligned array of the caller, put beside the rows.

        Where rows live in this process it is the array itself, so give a copy of what `out` of `map_rows` must not
        write over.
        """

    def scratch(self, width: int, n_rows: int | None = None, dtype: npt.DTypeLike | None = None) -> Rows | None:
        """Room for row-aligned state of so many columns, to be given as `out`: a temporary file where rows are on disk.

        ``None`` where `map_rows` finds the place by itself. ``n_rows`` and ``dtype`` are for a source of fewer
        rows, or of another type, made of this one.
        """


class Named:
    """Names of features and samples, for a source to inherit."""

    shape: tuple[int, int]
    feature_names: list[str] | None = None
    sample_names: list[str] | None = None

    def named(self, *, feature_names: Sequence[str] | None = None, sample_names: Sequence[str] | None = None) -> Self:
        """See :class:`RowSource`."""
        other = copy(self)
        if feature_names is not None:
            other.feature_names = _check_names(feature_names, self.shape[1], "feature")
        if sample_names is not None:
            other.sample_names = _check_names(sample_names, self.shape[0], "sample")
        return other


def column_names(columns: Iterable[Any]) -> list[str] | None:
    """Names of a data frame's columns: strings, or numbers (wavelengths) that do not merely count them."""
    names = list(columns)
    if names and all(isinstance(name, str) for name in names):
        return names
    numbers = all(isinstance(name, Real) and not isinstance(name, bool) for name in names)
    return [str(name) for name in names] if names and numbers and names != list(range(len(names))) else None


def _check_names(names: Sequence[str], count: int, kind: str) -> list[str]:
    if len(names) != count:
        raise InputError(f"{kind}_names must have a name for each of the {count} {kind}s, got {len(names)} names")
    return list(names)


def add(a: Any, b: Any, *, into: bool = False) -> Any:
    """Sum of two results: numbers, arrays, or tuples of them; ``into`` the memory of ``a`` where that is its own."""
    if isinstance(a, tuple):
        return tuple(add(x, y, into=into) for x, y in zip(a, b, strict=True))
    if into and isinstance(a, np.ndarray) and a.flags.owndata and a.dtype == np.result_type(a, b):
        a += b
        return a
    return a + b


def check_aligned(array: npt.ArrayLike, n_rows: int) -> npt.NDArray[Any]:
    """An array with an entry, or a row, for each row of a source."""
    given = np.asarray(array)
    if given.ndim not in (1, 2) or len(given) != n_rows:
        raise InputError(f"a row-aligned array must be a vector or matrix of {n_rows} rows, got shape {given.shape}")
    return given


def copied(counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """The numbers of rows, each as often as it is counted, or once where that is true.

    Examples
    --------
    >>> copied([2, 0, 1])
    array([0, 0, 2])
    """
    times = np.asarray(counts)
    return np.repeat(np.arange(len(times), dtype=np.int64), times)


def chosen_blocks(
    chosen: npt.ArrayLike, bounds: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, npt.NDArray[np.int64]]], list[tuple[int, int]]]:
    """The blocks that have a chosen row, each with the places of these in it, and the bounds of what is then in them.

    Blocks without one are left out, unless there is none at all: a source has a block.
    """
    counts = np.asarray(chosen)
    n_rows = bounds[-1][1]
    if counts.dtype not in (np.bool_, np.int64) or counts.shape != (n_rows,):
        raise InputError(
            f"chosen must be a vector of {n_rows} booleans or whole numbers, got {counts.dtype} with shape "
            f"{counts.shape}",
            parameter="chosen",
        )
    places = [(i, copied(counts[a:b])) for i, (a, b) in enumerate(bounds)]
    kept = [(i, rows) for i, rows in places if len(rows)] or places[:1]
    edges = np.cumsum([0, *(len(rows) for _, rows in kept)])
    return kept, [(int(a), int(b)) for a, b in pairwise(edges)]


def merged(bounds: Sequence[tuple[int, int]], row_bytes: float, least: int = MERGED_BYTES) -> list[list[int]]:
    """Runs of neighbouring blocks of at least ``least`` bytes together, by their numbers; the last may be smaller."""
    runs: list[list[int]] = [[]]
    size = 0.0
    for i, (a, b) in enumerate(bounds):
        if size >= least:
            runs.append([])
            size = 0.0
        runs[-1].append(i)
        size += (b - a) * row_bytes
    return runs


def pairwise_tree(values: Iterable[T], combine: Callable[[T, T], T]) -> T:
    """Combine neighbours, then neighbouring pairs, and so on: one shape for a given number of values.

    Works on a stream and keeps about log2(n) partial results: a finished pair of equal size is merged at once.
    """
    stack: list[tuple[int, T]] = []
    for value in values:
        size = 1
        while stack and stack[-1][0] == size:
            other_size, other = stack.pop()
            value = combine(other, value)
            size += other_size
        stack.append((size, value))
    if not stack:
        raise ValueError("pairwise_tree: there is nothing to combine")
    total = stack.pop()[1]
    while stack:
        total = combine(stack.pop()[1], total)
    return total
