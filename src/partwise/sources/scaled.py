"""The same rows in another unit: every entry multiplied by a power of two, which changes no digit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.sources import blocks
from partwise.sources.protocol import Block, Combine, RowSource, Rows, add

# Largest exponents with which products of three factors and their sums stay far from overflow and underflow.
_SAFE = {np.dtype(np.float64): 256, np.dtype(np.float32): 32}


def unit_exponent(largest: float, dtype: npt.DTypeLike) -> int:
    """0 where data with entries up to ``largest`` can be squared without harm, else the power of two near it."""
    exponent = int(np.frexp(largest)[1])
    return exponent if largest > 0.0 and abs(exponent) > _SAFE[np.dtype(dtype)] else 0


class ScaledSource:
    """Another source with every entry multiplied by ``2**exponent``, a block at a time; nothing is copied whole.

    Parameters
    ----------
    source : RowSource
        The data.
    exponent : int
        Power of two.
    """

    def __init__(self, source: RowSource, exponent: int) -> None:
        self.source, self.exponent = source, exponent
        self.shape: tuple[int, int] = source.shape
        self.dtype: np.dtype[Any] = source.dtype
        self.bounds: Sequence[tuple[int, int]] = source.bounds

    def reduce(self, block_fn: Callable[..., Any], *aligned: Rows, combine: Combine = add) -> Any:
        """See :class:`partwise.sources.RowSource`."""
        return self.source.reduce(self._wrap(block_fn), *aligned, combine=combine)

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
        return self.source.map_rows(
            self._wrap(block_fn), *aligned, width=width, dtype=dtype, combine=combine, out=out
        )

    def batches(self, size: int, rng: np.random.Generator | None = None) -> Iterator[Block]:
        """See :class:`partwise.sources.RowSource`."""
        return (_scaled(batch, self.exponent) for batch in self.source.batches(size, rng))

    def take(self, rows: npt.ArrayLike) -> Block:
        """See :class:`partwise.sources.RowSource`."""
        return _scaled(self.source.take(rows), self.exponent)

    def deliver(self, rows: Rows) -> Any:
        """See :class:`partwise.sources.RowSource`."""
        return self.source.deliver(rows)

    def _wrap(self, block_fn: Callable[..., Any]) -> Callable[..., Any]:
        return partial(_on_scaled, block_fn, self.exponent)


def _on_scaled(block_fn: Callable[..., Any], exponent: int, block: Block, *rows: Any) -> Any:
    return block_fn(_scaled(block, exponent), *rows)


def _scaled(block: Block, exponent: int) -> Block:
    return blocks.with_values(block, np.ldexp(blocks.values(block), exponent))
