"""Counts of single cells: folders of 10x Genomics' Cell Ranger."""

from __future__ import annotations

from pathlib import Path

from partwise.door.guard import fail, first_bytes, reading
from partwise.io.h5ad import TURNED
from partwise.io.matrix_market import read_matrix_market, read_names
from partwise.io.table import LARGE, Table

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
    return Table(table.X, genes, cells, origin=str(path), format="10x", notes=(TURNED,))


def features_line(path: Path) -> bytes:
    """The first line of a list of names."""
    return first_bytes(path, 4096).split(b"\n")[0]
