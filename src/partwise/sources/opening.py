"""One way in: whatever holds the rows becomes a source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from partwise.door.matrices import check_matrix
from partwise.exceptions import InputError, MissingDependencyError, Place
from partwise.sources.chunked import SUFFIXES, FolderSource, MemmapSource
from partwise.sources.memory import MemorySource
from partwise.sources.protocol import RowSource, column_names

# samples in objects of other libraries, which partwise.open_source makes rows of
OBJECTS = frozenset(
    [("anndata", "AnnData"), ("anndata", "Raw"), ("mudata", "MuData")]
    + [("xarray", "DataArray"), ("xarray", "Dataset"), ("hyperspy", "BaseSignal")]
)


def held_by(X: Any) -> tuple[str, str] | None:
    """Library and name of the kind of object that holds samples, also of one derived from it; None of another."""
    kinds = ((base.__module__.partition(".")[0], base.__name__) for base in type(X).__mro__)
    return next((kind for kind in kinds if kind in OBJECTS), None)


def source_of(X: Any, *, block_rows: int | None = None, **options: Any) -> RowSource:
    """A source of rows that are in memory, in parts on disk or with Dask; `partwise.open_source` takes any file too.

    Parameters
    ----------
    X : object
        A source (returned as it is); a dense array, scipy sparse matrix or data frame; a ``numpy.memmap``;
        the path of a ``.npy`` file (memory-mapped) or of a folder of ``.npy``, ``.npz`` or ``.parquet``
        parts; a Dask array or a list of delayed blocks.
    block_rows : int, optional
        Rows in a block, for everything but Dask collections, which bring their own.
    **options
        For Dask collections: see :class:`partwise.sources.dask.DaskSource`.

    Returns
    -------
    RowSource
        The data, ready for any estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.sources import source_of
    >>> source = source_of(np.ones((6, 3)), block_rows=2)
    >>> source.shape, source.bounds
    ((6, 3), [(0, 2), (2, 4), (4, 6)])
    """
    if held_by(X):
        name = type(X).__name__
        raise InputError(f"{{parameter}} is of type {name}: give open_source(X)", parameter="X", kind="format")
    if _is_dask(X):  # first: a delayed object claims to have every attribute
        return _open_dask(X, block_rows, options)
    if isinstance(X, RowSource):
        return X
    if options:
        raise InputError(f"{', '.join(options)}: only Dask collections take this, got {type(X).__name__}")
    if isinstance(X, (str, Path)):
        return _open_path(Path(X), block_rows)
    if isinstance(X, np.memmap):
        return MemmapSource(X, block_rows=block_rows)
    rows = MemorySource(_as_matrix(X), block_rows=block_rows)
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        return rows.named(feature_names=column_names(X.columns), sample_names=_index_names(X))
    return rows


def brings_own_rows(X: Any) -> bool:
    """Whether ``X`` says itself where its rows live (a source, path, memory map or Dask collection).

    Anything else is a matrix or table in memory, which scikit-learn's validation may look at.
    """
    return isinstance(X, (str, Path, RowSource, np.memmap)) or _is_dask(X)


def _open_path(path: Path, block_rows: int | None) -> RowSource:
    if path.is_dir():
        return FolderSource(path, block_rows=block_rows)
    if not path.exists():
        raise InputError(
            f"{{parameter}}: there is no file or folder {path}",
            parameter="X",
            kind="missing-file",
            place=Place(file=str(path)),
        )
    if path.suffix.lower() == ".npy":
        return MemmapSource(path, block_rows=block_rows)
    raise InputError(
        f"{{parameter}}: {path} is not a .npy file or a folder of {', '.join(SUFFIXES)} parts; "
        "partwise.open_source takes other files",
        parameter="X",
        kind="format",
        place=Place(file=str(path)),
    )


def _as_matrix(X: Any) -> Any:
    if not sp.issparse(X) and not isinstance(X, np.ndarray):
        X = _frame_values(X) if hasattr(X, "to_numpy") else _array(X)
    check_matrix(X)
    return X


def _index_names(X: Any) -> list[str] | None:
    """What the index of a pandas frame calls the rows: nothing if it counts them."""
    index = getattr(X, "index", None)
    return None if index is None or type(index).__name__ == "RangeIndex" else [str(name) for name in index]


def _array(X: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(X)
    except ValueError as error:
        raise InputError(
            f"{{parameter}} must be a matrix of real numbers ({error})", parameter="X", kind="not-real"
        ) from error


def _frame_values(X: Any) -> npt.NDArray[Any]:
    values = np.asarray(X.to_numpy())
    if values.dtype.kind != "O" or values.ndim != 2:
        return values
    # columns of several types (numbers beside booleans, missing values): name the column that is no number
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    for name, kind in frame.schema.items():
        if not (kind.is_numeric() or kind == nw.Boolean):
            raise InputError(
                f"{{parameter}} must hold real numbers, but column {name!r} has type {kind}",
                parameter="X",
                kind="not-real",
            )
    return np.asarray(frame.select(nw.all().cast(nw.Float64)).to_numpy())


def _is_dask(X: Any) -> bool:
    def made_by_dask(x: Any) -> bool:
        return hasattr(x, "__dask_graph__")

    return made_by_dask(X) or (isinstance(X, (list, tuple)) and len(X) > 0 and made_by_dask(X[0]))


def _open_dask(X: Any, block_rows: int | None, options: dict[str, Any]) -> RowSource:
    if block_rows is not None:
        raise InputError("block_rows: a Dask collection brings its own blocks; use X.rechunk", parameter="block_rows")
    try:
        from partwise.sources.dask import DaskSource
    except ImportError as error:
        raise MissingDependencyError("Dask collections need: pip install 'partwise[dask]'") from error
    return DaskSource(X, **options)
