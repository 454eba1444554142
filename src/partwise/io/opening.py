"""Everything that holds rows becomes a source: what ``partwise.sources.source_of`` takes, and any file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from partwise.io.objects import known
from partwise.io.reading import find_format, read
from partwise.io.table import Table
from partwise.sources import RowSource, source_of

AS_THEY_ARE = ("npy", "parts")  # on disk already as a source reads them


def open_source(X: Any, *, block_rows: int | None = None, **options: Any) -> RowSource:
    """Make a source of rows from an array, a matrix, a data frame, a file, a folder or a Dask collection.

    Parameters
    ----------
    X : object
        A source (returned as it is); a dense array, scipy sparse matrix or data frame; a ``numpy.memmap``; a Dask
        array or a list of delayed blocks; a `Table`, an AnnData, a DataArray of xarray (its features along the
        dimension that is called as an axis, such as "wavelength" or "band", else along the last), a signal of
        HyperSpy; or the path of a file or folder that :func:`partwise.read` takes. A ``.npy`` file and a folder of
        parts are never read whole, another file only if its numbers are few.
    block_rows : int, optional
        Rows in a block, for everything but Dask collections, which bring their own.
    **options
        For Dask collections: see :class:`partwise.sources.dask.DaskSource`; for files: see :func:`partwise.read`.

    Returns
    -------
    RowSource
        The data, ready for any estimator.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> source = pw.open_source(np.ones((6, 3)), block_rows=2)
    >>> source.shape, source.bounds
    ((6, 3), [(0, 2), (2, 4), (4, 6)])
    """
    X = known(X)
    if isinstance(X, Table):
        return X.source(block_rows=block_rows)
    if isinstance(X, (str, Path)) and Path(X).exists() and (options or find_format(Path(X)) not in AS_THEY_ARE):
        return read(X, **options).source(block_rows=block_rows)
    return source_of(X, block_rows=block_rows, **options)
