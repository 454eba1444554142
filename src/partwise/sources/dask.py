"""Rows on a cluster: Dask arrays and delayed blocks, on threads, processes or a ``distributed.Client``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from typing import Any

import cloudpickle
import dask.array
import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed

from partwise.door.matrices import check_block, check_numeric
from partwise.exceptions import InputError
from partwise.sources import blocks
from partwise.sources.memory import check_rows, cut_batches, float_type
from partwise.sources.passes import single_blas_thread
from partwise.sources.protocol import (
    Block,
    Combine,
    Named,
    Rows,
    add,
    check_aligned,
    chosen_blocks,
    column_names,
    copied,
    merged,
    pairwise_tree,
)

dask_: Any = dask  # Dask's own functions are only partly typed
da: Any = dask.array


class DaskRows:
    """Row-aligned state beside the blocks of a Dask source; ``numpy.asarray`` brings it here."""

    def __init__(self, parts: list[Any], source: DaskSource, width: int | None, dtype: np.dtype[Any]) -> None:
        self.parts, self.source, self.width, self.dtype = parts, source, width, dtype
        self.shape = (source.shape[0],) if width is None else (source.shape[0], width)

    def to_dask(self) -> Any:
        """The state as a Dask array."""
        tail = () if self.width is None else (self.width,)
        arrays = [
            da.from_delayed(part, (b - a, *tail), dtype=self.dtype)
            for part, (a, b) in zip(self.parts, self.source.bounds, strict=True)
        ]
        return da.concatenate(arrays)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        whole = np.concatenate(self.source.compute(*self.parts))
        return whole if dtype is None else whole.astype(dtype, copy=False)


class DaskSource(Named):
    """A Dask array chunked by rows, or a list of delayed blocks.

    Sums are made in new memory: a task may run twice, so it must not write into what it is given.

    Parameters
    ----------
    X : dask.array.Array, Dask data frame, or one or a list of dask.delayed.Delayed
        The data. Chunks along features are merged. Delayed blocks hold ndarrays or sparse matrices.
    shapes : list of (int, int), optional
        The shapes of delayed blocks; computed if not given.
    dtype : dtype, optional
        The type of delayed blocks; computed if not given.
    scheduler : {"threads", "processes", "synchronous"}, optional
        As in ``dask.compute``. By default what Dask is set to: an active ``distributed.Client`` or threads.
    persist : bool, default=True
        Compute the blocks once and keep them with the workers instead of making them anew in each pass.
    """

    def __init__(
        self,
        X: Any,
        *,
        shapes: Sequence[tuple[int, int]] | None = None,
        dtype: npt.DTypeLike | None = None,
        scheduler: str | None = None,
        persist: bool = True,
    ) -> None:
        self._scheduler = {} if scheduler is None else {"scheduler": scheduler}
        if isinstance(X, Delayed):
            X = [X]
        elif hasattr(X, "to_dask_array"):  # a Dask data frame
            self.feature_names = column_names(X.columns)
            X = X.to_dask_array(lengths=True)
        parts, given = X, dtype
        if isinstance(X, da.Array):
            parts, shapes, given = _array_blocks(X)
        parts = list(parts)
        if not parts:
            raise InputError("X must have at least one block, got an empty list", parameter="X")
        if shapes is None or given is None:
            found = self.compute(*(_call(_describe, part) for part in parts))
            shapes = [shape for shape, _ in found] if shapes is None else shapes
            given = np.result_type(*(kind for _, kind in found)) if given is None else given
        check_numeric(np.dtype(given), "X")
        if len({columns for _, columns in shapes}) != 1:
            raise InputError(f"every block of X must have the same number of columns, got shapes {list(shapes)}")
        self.dtype = float_type(given)
        edges = np.concatenate([[0], np.cumsum([rows for rows, _ in shapes])])
        self.shape = (int(edges[-1]), int(shapes[0][1]))
        self.bounds = [(int(a), int(b)) for a, b in pairwise(edges)]
        parts = [_call(_as_block, part, self.dtype, i, tuple(shapes[i])) for i, part in enumerate(parts)]
        self.parts = list(dask_.persist(*parts, **self._scheduler)) if persist else parts

    def compute(self, *delayed: Any) -> tuple[Any, ...]:
        """One Dask compute; blocks see one BLAS thread in this process, as everywhere."""
        with _one_pass():
            return tuple(blocks.aligned(dask_.compute(*delayed, **self._scheduler)))

    def reduce(self, block_fn: Callable[..., Any], *aligned: Rows, combine: Combine = add) -> Any:
        """See :class:`partwise.sources.RowSource`."""
        tasks = self._tasks(block_fn, aligned)
        return self.compute(pairwise_tree(tasks, lambda a, b: _call(_run, combine, a, b)))[0]

    def map_rows(
        self,
        block_fn: Callable[..., Any],
        *aligned: Rows,
        width: int | None,
        dtype: npt.DTypeLike | None = None,
        combine: Combine | None = None,
        out: Rows | None = None,
    ) -> Any:
        """See :class:`partwise.sources.RowSource`; ``out`` is not used, workers free what is not needed."""
        kind = np.dtype(self.dtype if dtype is None else dtype)
        tasks = self._tasks(block_fn, aligned)
        if combine is None:
            rows = [_call(_as_rows, task, kind) for task in tasks]
            return DaskRows(self._persist(rows), self, width, kind)
        rows = [_call(_rows_in, task, kind) for task in tasks]
        small = pairwise_tree([task[1] for task in tasks], lambda a, b: _call(_run, combine, a, b))
        *kept, small = self._persist([*rows, small])
        return DaskRows(kept, self, width, kind), self.compute(small)[0]

    def batches(self, size: int, rng: np.random.Generator | None = None) -> Iterator[Block]:
        """See :class:`partwise.sources.RowSource`."""
        order = np.arange(len(self.parts)) if rng is None else rng.permutation(len(self.parts))
        return cut_batches((self.compute(self.parts[int(i)])[0] for i in order), size, rng)

    def take(self, rows: npt.ArrayLike) -> Block:
        """See :class:`partwise.sources.RowSource`."""
        wanted = check_rows(rows, self.shape[0])
        starts = np.array([a for a, _ in self.bounds])
        # the last block that starts at or before the row: empty blocks start where the next one does
        home = np.searchsorted(starts, wanted, side="right") - 1
        groups = [np.flatnonzero(home == i) for i in np.unique(home)]
        if not groups:
            return self.compute(_call(_rows_of, self.parts[0], wanted))[0]
        tasks = [_call(_rows_of, self.parts[home[g[0]]], wanted[g] - starts[home[g[0]]]) for g in groups]
        place = np.argsort(np.concatenate(groups), kind="stable")
        return blocks.stack(list(self.compute(*tasks)))[place]

    def project(self, M: npt.NDArray[Any]) -> DaskSource:
        """See :class:`partwise.sources.RowSource`."""
        width = M.shape[1]
        rows = self.map_rows(partial(blocks.dot, M=np.ascontiguousarray(M, self.dtype)), width=width)
        runs = merged(self.bounds, width * self.dtype.itemsize)
        parts = [_call(_stack, *(rows.parts[i] for i in run)) for run in runs]
        shapes = [(self.bounds[run[-1]][1] - self.bounds[run[0]][0], width) for run in runs]
        return self._made(parts, shapes)

    def derive(
        self,
        block_fn: Callable[..., Block],
        *aligned: Rows,
        n_features: int | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> DaskSource:
        """See :class:`partwise.sources.RowSource`."""
        width = self.shape[1] if n_features is None else n_features
        made = self._made(self._tasks(block_fn, aligned), [(b - a, width) for a, b in self.bounds], dtype)
        return made.named(feature_names=self.feature_names) if n_features is None else made

    def choose(self, chosen: npt.NDArray[np.bool_ | np.int64]) -> DaskSource:
        """See :class:`partwise.sources.RowSource`."""
        places, bounds = chosen_blocks(chosen, self.bounds)
        parts = [_call(_rows_of, self.parts[i], rows) for i, rows in places]
        shapes = [(b - a, self.shape[1]) for a, b in bounds]
        names = None if self.sample_names is None else [self.sample_names[i] for i in copied(chosen)]
        made = DaskSource(parts, shapes=shapes, dtype=self.dtype, scheduler=self._scheduler.get("scheduler"))
        return made.named(feature_names=self.feature_names, sample_names=names)

    def deliver(self, rows: Rows) -> Any:
        """See :class:`partwise.sources.RowSource`."""
        return rows.to_dask() if isinstance(rows, DaskRows) else rows

    def place(self, array: npt.ArrayLike) -> DaskRows:
        """See :class:`partwise.sources.RowSource`."""
        given = check_aligned(array, self.shape[0])
        # copies: what lies with the workers must not change when the caller's array does
        parts = [_call(_as_rows, given[a:b].copy(), given.dtype) for a, b in self.bounds]
        return DaskRows(self._persist(parts), self, None if given.ndim == 1 else given.shape[1], given.dtype)

    def scratch(self, width: int, n_rows: int | None = None, dtype: npt.DTypeLike | None = None) -> None:
        """See :class:`partwise.sources.RowSource`."""

    def _made(self, parts: list[Any], shapes: list[tuple[int, int]], dtype: npt.DTypeLike | None = None) -> DaskSource:
        """Rows made of these, where these are."""
        kind = self.dtype if dtype is None else np.dtype(dtype)
        made = DaskSource(parts, shapes=shapes, dtype=kind, scheduler=self._scheduler.get("scheduler"))
        return made.named(sample_names=self.sample_names)

    def _tasks(self, block_fn: Callable[..., Any], aligned: tuple[Rows, ...]) -> list[Any]:
        # a node of its own, so that the small arrays it carries go to each worker once, not with every block
        shared = dask_.delayed(_Shipped(block_fn), pure=False, traverse=False)
        tasks = []
        for i, (part, (a, b)) in enumerate(zip(self.parts, self.bounds, strict=True)):
            rows = [x.parts[i] if isinstance(x, DaskRows) else _rows_between(x, a, b) for x in aligned]
            tasks.append(_call(_run, shared, part, *rows))
        return tasks

    def _persist(self, tasks: list[Any]) -> list[Any]:
        with _one_pass():
            return list(dask_.persist(*tasks, **self._scheduler))


@contextmanager
def _one_pass() -> Iterator[None]:
    with suppress(ImportError):
        # before the setting below: its own settings, if loaded while that lasts, would be taken away with it
        import distributed  # noqa: F401
    # components are part of the graph: nothing to warn the user of until they are very large
    quiet = {"distributed.admin.large-graph-warning-threshold": "1 GiB"}
    with single_blas_thread(), dask_.config.set(quiet):
        yield


def _call(function: Callable[..., Any], *args: Any) -> Any:
    return dask_.delayed(function, pure=False, traverse=False)(*args)


class _Shipped:
    """A function that travels as bytes: the arrays in it arrive aligned, as those of messages need not."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack, (cloudpickle.dumps(self.function),)


def _unpack(data: bytes) -> _Shipped:
    return _Shipped(cloudpickle.loads(data))


def _run(function: Callable[..., Any], *args: Any) -> Any:
    with single_blas_thread():
        return function(*map(blocks.aligned, args))


def _array_blocks(X: Any) -> tuple[list[Any], list[tuple[int, int]], np.dtype[Any]]:
    if X.ndim != 2:
        raise InputError(
            f"{{parameter}} must have two dimensions (samples, features), got shape {X.shape}",
            parameter="X",
            kind="shape",
        )
    if any(np.isnan(size) for size in X.shape):
        raise InputError("X must have known chunk sizes; call X.compute_chunk_sizes() first", parameter="X")
    X = X.rechunk({1: -1})
    shapes = [(int(rows), int(X.shape[1])) for rows in X.chunks[0]]
    return list(X.to_delayed().ravel()), shapes, X.dtype


def _describe(block: Block) -> tuple[tuple[int, int], np.dtype[Any]]:
    return (int(block.shape[0]), int(block.shape[1])), block.dtype


def _as_block(block: Block, dtype: np.dtype[Any], number: int, shape: tuple[int, int]) -> Block:
    check_block(block, number, shape)
    return blocks.aligned(blocks.concrete(block, dtype))


def _rows_between(x: Any, a: int, b: int) -> Block:
    rows = x[a:b]
    return rows if blocks.is_sparse(rows) else np.asarray(rows)


def _as_rows(rows: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.asarray(rows, dtype)


def _rows_in(found: tuple[npt.NDArray[Any], Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return _as_rows(found[0], dtype)


def _stack(*parts: Block) -> Block:
    return blocks.stack(list(parts))


def _rows_of(block: Block, rows: npt.NDArray[np.int64]) -> Block:
    return block[rows]
