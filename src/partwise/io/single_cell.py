"""Counts of single cells: folders of 10x Genomics' Cell Ranger, and AnnData's ``.h5ad``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise.exceptions import MissingDependencyError
from partwise.io.guard import fail, first_bytes, reading
from partwise.io.matrix_market import read_matrix_market, read_names
from partwise.io.names import unique_names
from partwise.io.table import LARGE, Table
from partwise.sources.blocks import is_sparse

MATRIX = ("matrix.mtx", "matrix.mtx.gz")
FEATURES = ("features.tsv", "features.tsv.gz", "genes.tsv", "genes.tsv.gz")
BARCODES = ("barcodes.tsv", "barcodes.tsv.gz")


def find_file(folder: Path, names: tuple[str, ...]) -> Path | None:
    """The first of these files that is there."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_10x(path: Path, *, in_memory: int = LARGE, duplicates: str = "number") -> Table:
    """Read a folder of Cell Ranger: ``matrix.mtx``, ``features.tsv`` (or ``genes.tsv``) and ``barcodes.tsv``.

    Parameters
    ----------
    path : pathlib.Path
        The folder; each file may be compressed.
    in_memory : int
        Bytes of numbers up to which they are held in memory.
    duplicates : {"error", "number"}, default="number"
        What to do with a symbol that another gene has too.

    Returns
    -------
    Table
        Cells as rows, genes as columns: the file has it the other way.
    """
    matrix, features, barcodes = (find_file(path, names) for names in (MATRIX, FEATURES, BARCODES))
    if matrix is None:
        raise fail(path, "holds no matrix.mtx")
    table = read_matrix_market(matrix, in_memory=in_memory, transpose=True)
    n, m = table.X.shape
    genes = None
    if features is not None:
        with reading(features, "list of names"):
            # symbols are in the second column, if there is one
            column = 1 if b"\t" in features_line(features) else 0
        genes = read_names(features, m, column=column, duplicates=duplicates)
    cells = None if barcodes is None else read_names(barcodes, n)
    return Table(table.X, genes, cells, origin=str(path), format="10x", notes=("cells are rows, genes are columns",))


def features_line(path: Path) -> bytes:
    """The first line of a list of names."""
    return first_bytes(path, 4096).split(b"\n")[0]


def read_h5ad(path: Path, *, duplicates: str = "error") -> Table:
    """Read the matrix ``X`` of an ``.h5ad`` file; needs anndata.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    duplicates : {"error", "number"}, default="error"
        What to do with a name that was there before.

    Returns
    -------
    Table
        Observations as rows, with the names of both.
    """
    try:
        import anndata
    except ImportError as error:
        raise MissingDependencyError(f"{path}: reading .h5ad needs anndata: pip install anndata") from error
    with reading(path, ".h5ad file"):
        data = anndata.read_h5ad(path)
        X: Any = sp.csr_array(data.X) if is_sparse(data.X) else np.asarray(data.X)
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise fail(path, f"its X has type {X.dtype} and shape {X.shape}")
        if is_sparse(X):
            X.check_format(full_check=True)
        genes = unique_names(path, [str(name) for name in data.var_names], "column", duplicates, lambda _: None)
        cells = unique_names(path, [str(name) for name in data.obs_names], "row", duplicates, lambda _: None)
    return Table(X, genes, cells, origin=str(path), format="h5ad")
