"""A source whose rows lie beside those of another one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partwise.sources.protocol import Block, RowSource


class SourceRows:
    """The rows of a source as row-aligned state, for passes over another source: read when they are asked for.

    Parameters
    ----------
    source : RowSource
        As many rows as the data has.
    dtype : dtype
        The type in which they arrive.
    """

    def __init__(self, source: RowSource, dtype: npt.DTypeLike) -> None:
        self.source = source
        self.shape = source.shape
        self.dtype = np.dtype(dtype)

    def __getitem__(self, rows: slice) -> Block:
        """A few neighbouring rows."""
        return self.source.take(np.arange(*rows.indices(self.shape[0]))).astype(self.dtype, copy=False)
