"""Rows in this process: a dense array or a CSR matrix cut into blocks that fit the cache."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.sources import blocks
from partwise.sources.passes import ordered
from partwise.sources.protocol import (
    Block,
    Combine,
    Named,
    Rows,
    add,
    check_aligned,
    chosen_blocks,
    copied,
    merged,
    pairwise_tree,
)

DENSE_BLOCK_BYTES = 4 << 20
# A sparse block makes a full (features x components) partial sum, so there should be few of them.
SPARSE_BLOCK_BYTES = 16 << 20
SMALLEST_BLOCK_ROWS = 256


def float_type(dtype: npt.DTypeLike | None) -> np.dtype[Any]:
    """float32 stays, everything else real becomes float64."""
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def partition(n_rows: int, row_bytes: float, block_bytes: int, block_rows: int | None) -> list[tuple[int, int]]:
    """Equal blocks of about ``block_bytes``; depends on the data's shape alone, never on the machine."""
    if block_rows is None:
        block_rows = max(SMALLEST_BLOCK_ROWS, int(block_bytes / max(row_bytes, 1.0)))
        count = max(1, -(-n_rows // block_rows))
        block_rows = max(1, -(-n_rows // count))
    elif block_rows < 1:
        raise InputError(f"block_rows must be at least 1, got {block_rows}", parameter="block_rows")
    return [(a, min(a + block_rows, n_rows)) for a in range(0, n_rows, block_rows)] or [(0, 0)]


class BlockedSource(Named, ABC):
    """The verbs for sources whose blocks are read in this process; a subclass says how to read one."""

    dtype: np.dtype[Any]
    bounds: Sequence[tuple[int, int]]
    in_memory: bool = False  # whether blocks are there, and not made or read in every pass

    @abstractmethod
    def block(self, i: int) -> Block:
        """Block number ``i`` as an ndarray or CSR array of ``dtype``."""

    def reduce(self, block_fn: Callable[..., Any], *aligned: Rows, combine: Combine = add) -> Any:
        """See :class:`partwise.sources.RowSource`."""

        def one(i: int) -> Any:
            return block_fn(self.block(i), *self._rows(i, aligned))

        return _tree(ordered(one, len(self.bounds)), combine)

    def map_rows(
        self,
        block_fn: Callable[..., Any],
        *aligned: Rows,
        width: int | None,
        dtype: npt.DTypeLike | None = None,
        combine: Combine | None = None,
        out: Rows | None = None,
    ) -> Any:
        """See :class:`partwise.sources.RowSource`."""
        if out is None:
            shape = (self.shape[0],) if width is None else (self.shape[0], width)
            out = np.empty(shape, self.dtype if dtype is None else dtype)

        def one(i: int) -> Any:
            result = block_fn(self.block(i), *self._rows(i, aligned))
            a, b = self.bounds[i]
            out[a:b], small = (result, None) if combine is None else result
            return small

        results = ordered(one, len(self.bounds))
        if combine is None:
            with closing(results):
                for _ in results:
                    pass
            return out
        return out, _tree(results, combine)

    def batches(self, size: int, rng: np.random.Generator | None = None) -> Iterator[Block]:
        """See :class:`partwise.sources.RowSource`; shuffled: blocks in random order, rows within them too."""
        order = np.arange(len(self.bounds)) if rng is None else rng.permutation(len(self.bounds))
        return cut_batches((self.block(int(i)) for i in order), size, rng)

    def take(self, rows: npt.ArrayLike) -> Block:
        """See :class:`partwise.sources.RowSource`."""
        wanted = check_rows(rows, self.shape[0])
        starts = np.array([a for a, _ in self.bounds])
        home = np.searchsorted(starts, wanted, side="right") - 1
        parts = []
        place = np.empty(len(wanted), np.int64)
        done = 0
        for i in np.unique(home):
            here = np.flatnonzero(home == i)
            parts.append(self.block(int(i))[wanted[here] - starts[i]])
            place[here] = np.arange(done, done + len(here))
            done += len(here)
        if not parts:
            return self.block(0)[:0]
        return blocks.stack(parts)[place]

    def project(self, M: npt.NDArray[Any]) -> BlockedSource:
        """See :class:`partwise.sources.RowSource`."""
        width = M.shape[1]
        times = partial(blocks.dot, M=np.ascontiguousarray(M, self.dtype))
        rows = self.map_rows(times, width=width, out=self.scratch(width))
        runs = merged(self.bounds, width * self.dtype.itemsize)
        bounds = [(self.bounds[run[0]][0], self.bounds[run[-1]][1]) for run in runs]
        return RowsSource(rows, bounds).named(sample_names=self.sample_names)

    def derive(
        self,
        block_fn: Callable[..., Block],
        *aligned: Rows,
        n_features: int | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> BlockedSource:
        """See :class:`partwise.sources.RowSource`."""
        return DerivedSource(self, block_fn, aligned, n_features, dtype)

    def choose(self, chosen: npt.NDArray[np.bool_ | np.int64]) -> BlockedSource:
        """See :class:`partwise.sources.RowSource`."""
        return ChosenSource(self, chosen)

    def deliver(self, rows: Rows) -> Any:
        """See :class:`partwise.sources.RowSource`."""
        return rows

    def place(self, array: npt.ArrayLike) -> Rows:
        """See :class:`partwise.sources.RowSource`."""
        return check_aligned(array, self.shape[0])

    def scratch(self, width: int, n_rows: int | None = None, dtype: npt.DTypeLike | None = None) -> Rows | None:
        """See :class:`partwise.sources.RowSource`."""
        return None

    def _rows(self, i: int, aligned: tuple[Rows, ...]) -> list[Any]:
        a, b = self.bounds[i]
        return [array[a:b] for array in aligned]


def _tree(results: Generator[Any], combine: Combine) -> Any:
    """The fixed tree; if combining fails the pass ends here. Sums are made in the memory of the results."""
    with closing(results):
        return pairwise_tree(results, partial(add, into=True) if combine is add else combine)


def cut_batches(parts: Iterable[Block], size: int, rng: np.random.Generator | None) -> Iterator[Block]:
    """Batches of ``size`` rows (the last may be short) from a stream of blocks, shuffled if ``rng``."""
    if size < 1:
        raise InputError(f"size must be at least 1, got {size}", parameter="size")
    rest: list[Block] = []
    held = 0
    for block in parts:
        rest.append(block if rng is None else block[rng.permutation(block.shape[0])])
        held += block.shape[0]
        if held < size:
            continue
        merged = blocks.stack(rest)
        whole = held - held % size
        for a in range(0, whole, size):
            yield merged[a : a + size]
        rest = [merged[whole:]]
        held -= whole
    if held:
        yield blocks.stack(rest)


def check_rows(rows: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.int64]:
    """Row numbers as an integer vector within range."""
    wanted = np.atleast_1d(np.asarray(rows))
    if wanted.size == 0:
        return np.empty(0, np.int64)
    if wanted.dtype.kind not in "iu" or wanted.ndim != 1:
        raise InputError(
            f"rows must be a vector of integers, got {wanted.dtype} with shape {wanted.shape}", parameter="rows"
        )
    if wanted.min() < 0 or wanted.max() >= n_rows:
        raise InputError(f"rows must lie in 0..{n_rows - 1}, got {wanted.min()}..{wanted.max()}", parameter="rows")
    return wanted.astype(np.int64)


class RowsSource(BlockedSource):
    """Row-aligned state as a source in its turn, with the blocks that it is given."""

    def __init__(self, rows: Rows, bounds: Sequence[tuple[int, int]]) -> None:
        self.rows, self.bounds = rows, bounds
        self.shape = (int(rows.shape[0]), int(rows.shape[1]))
        self.dtype = np.dtype(rows.dtype)

    def block(self, i: int) -> Block:
        """See :class:`BlockedSource`."""
        a, b = self.bounds[i]
        return self.rows[a:b]


class DerivedSource(BlockedSource):
    """Blocks made of those of another source, when they are read or, with ``keep``, once."""

    def __init__(
        self,
        source: BlockedSource,
        block_fn: Callable[..., Block],
        aligned: tuple[Rows, ...],
        n_features: int | None,
        dtype: npt.DTypeLike | None = None,
        *,
        keep: bool = False,
    ) -> None:
        self.source, self.block_fn, self.aligned = source, block_fn, aligned
        n, m = source.shape
        self.shape, self.bounds = (n, m if n_features is None else n_features), source.bounds
        self.dtype = source.dtype if dtype is None else np.dtype(dtype)
        self.sample_names = source.sample_names
        self.feature_names = source.feature_names if n_features is None else None
        self._kept = list(ordered(self._make, len(self.bounds))) if keep else None
        self.in_memory = keep

    def block(self, i: int) -> Block:
        """See :class:`BlockedSource`."""
        return self._make(i) if self._kept is None else self._kept[i]

    def scratch(self, width: int, n_rows: int | None = None, dtype: npt.DTypeLike | None = None) -> Rows | None:
        """See :class:`partwise.sources.RowSource`."""
        return self.source.scratch(width, n_rows, self.dtype if dtype is None else dtype)

    def _make(self, i: int) -> Block:
        return blocks.concrete(self.block_fn(self.source.block(i), *self._rows(i, self.aligned)), self.dtype)


class ChosenSource(BlockedSource):
    """Some of the rows of another source, picked when its blocks are read or, with ``keep``, once."""

    def __init__(self, source: BlockedSource, chosen: npt.NDArray[np.bool_ | np.int64], *, keep: bool = False) -> None:
        self.source, self.dtype = source, source.dtype
        self._places, self.bounds = chosen_blocks(chosen, source.bounds)
        self.shape = (self.bounds[-1][1], source.shape[1])
        self.feature_names = source.feature_names
        if source.sample_names is not None:
            self.sample_names = [source.sample_names[i] for i in copied(chosen)]
        self._kept = list(ordered(self._make, len(self.bounds))) if keep else None

    def block(self, i: int) -> Block:
        """See :class:`BlockedSource`."""
        return self._make(i) if self._kept is None else self._kept[i]

    def scratch(self, width: int, n_rows: int | None = None, dtype: npt.DTypeLike | None = None) -> Rows | None:
        """See :class:`partwise.sources.RowSource`."""
        return self.source.scratch(width, self.shape[0] if n_rows is None else n_rows, dtype)

    def _make(self, i: int) -> Block:
        home, rows = self._places[i]
        return self.source.block(home)[rows]


class MemorySource(BlockedSource):
    """A dense array or sparse matrix in memory.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n_samples, n_features)
        Integers and booleans become float64, other layouts C order or CSR; the input is not modified.
    block_rows : int, optional
        Rows in a block. The default makes blocks of about 4 MB (dense) or 16 MB (sparse).
    """

    in_memory = True

    def __init__(self, X: Any, *, block_rows: int | None = None) -> None:
        self.dtype = float_type(getattr(X, "dtype", None))
        if blocks.is_sparse(X):
            self.X: Any = blocks.concrete(X, self.dtype)
            row_bytes = self.X.nnz * (self.dtype.itemsize + self.X.indices.itemsize) / max(1, X.shape[0])
            limit = SPARSE_BLOCK_BYTES
        else:
            X = np.asarray(X)
            if X.ndim != 2:
                raise InputError(
                    f"{{parameter}} must have two dimensions (samples, features), got shape {X.shape}",
                    parameter="X",
                    kind="shape",
                )
            self.X = blocks.plain(X, self.dtype)
            row_bytes = X.shape[1] * self.dtype.itemsize
            limit = DENSE_BLOCK_BYTES
        self.shape = (int(X.shape[0]), int(X.shape[1]))
        self.bounds = partition(self.shape[0], row_bytes, limit, block_rows)

    def block(self, i: int) -> Block:
        """See :class:`BlockedSource`."""
        a, b = self.bounds[i]
        return blocks.row_views(self.X, a, b)

    def take(self, rows: npt.ArrayLike) -> Block:
        """See :class:`partwise.sources.RowSource`."""
        return self.X[check_rows(rows, self.shape[0])]

    def derive(
        self,
        block_fn: Callable[..., Block],
        *aligned: Rows,
        n_features: int | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> BlockedSource:
        """See :class:`partwise.sources.RowSource`."""
        return DerivedSource(self, block_fn, aligned, n_features, dtype, keep=True)

    def choose(self, chosen: npt.NDArray[np.bool_ | np.int64]) -> BlockedSource:
        """See :class:`partwise.sources.RowSource`."""
        return ChosenSource(self, chosen, keep=True)
