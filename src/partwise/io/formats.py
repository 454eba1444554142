"""The formats of files and folders: how each is known and by what it is read. A new one is a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from partwise.door.guard import fail, of_file
from partwise.door.parquet import is_parquet
from partwise.exceptions import InputError
from partwise.io.delimited import read_delimited
from partwise.io.envi import is_envi, read_envi
from partwise.io.excel import is_workbook, read_xlsx
from partwise.io.h5ad import is_hdf5, read_h5ad
from partwise.io.images import image_files, is_idx, read_idx_images, read_image_folder
from partwise.io.matlab import is_matlab, read_matlab
from partwise.io.matrix_market import is_matrix_market, read_docword, read_matrix_market
from partwise.io.numpy_files import is_npy, is_zip, read_npy, read_npz
from partwise.io.parquet import read_parquet
from partwise.io.signals import SUFFIXES as SIGNALS
from partwise.io.signals import read_signals
from partwise.io.single_cell import MATRIX, find_file, read_10x
from partwise.io.table import Table
from partwise.io.table_folder import read_table_folder, table_files
from partwise.io.texts import ENDS as DOCUMENTS
from partwise.io.texts import read_documents, read_text_folder, text_files
from partwise.io.zarr_files import is_zarr, read_zarr
from partwise.sources.chunked import SUFFIXES, FolderSource


@dataclass(frozen=True)
class Format:
    """One format: its name, what people call it, its reader, and how it is known.

    Parameters
    ----------
    name : str
        What ``read(format=...)`` takes.
    title : str
        What the documentation calls it.
    read : callable
        Path and options to `Table`; it describes its own, and :func:`partwise.read` those that many formats take.
    begins : callable, optional
        Whether a file with these first bytes (decompressed) is one.
    called : str, optional
        How the name of such a file begins, where the bytes do not say it.
    ends : tuple of str
        How the name of such a file ends, where the bytes do not say it.
    holds : callable, optional
        For folders: what in this one makes it one.
    packed : bool, default=True
        Whether it may be compressed (``.gz``).
    """

    name: str
    title: str
    read: Callable[..., Table]
    begins: Callable[[bytes], bool] | None = None
    called: str | None = None
    ends: tuple[str, ...] | None = None
    holds: Callable[[Path], object] | None = None
    packed: bool = True


def read_parts(path: Path) -> Table:
    """A folder of parts, which stay where they are."""
    try:
        source = FolderSource(path)
    except InputError as error:
        raise of_file(path, error) from error
    return Table(source, source.feature_names, origin=str(path), format="parts")


def _parts(folder: Path) -> bool:
    return any(file.suffix in SUFFIXES for file in folder.iterdir() if not file.name.startswith("."))


_REST = Format("delimited", "CSV, TSV and other text", read_delimited)  # text that nothing else claims

# in the order in which they are tried
FORMATS = {
    format.name: format
    for format in (
        Format("npy", ".npy", read_npy, begins=is_npy, packed=False),
        Format("xlsx", "Excel .xlsx", read_xlsx, begins=is_workbook, packed=False),
        Format("npz", ".npz", read_npz, begins=is_zip, packed=False),
        Format("parquet", "Parquet", read_parquet, begins=is_parquet, packed=False),
        Format("mtx", "MatrixMarket", read_matrix_market, begins=is_matrix_market),
        Format("mat", "MATLAB .mat", read_matlab, begins=is_matlab),
        Format("idx", "idx", read_idx_images, begins=is_idx),
        Format("signals", "files of RosettaSciIO", read_signals, ends=SIGNALS, packed=False),
        Format("h5ad", ".h5ad", read_h5ad, begins=is_hdf5),
        Format("envi", "ENVI .hdr", read_envi, begins=is_envi, packed=False),
        Format("documents", "JSON lines", read_documents, ends=DOCUMENTS),
        Format("docword", "docword", read_docword, called="docword"),
        Format("zarr", "folder of zarr", read_zarr, holds=is_zarr),
        Format("10x", "folder of 10x Genomics", read_10x, holds=lambda folder: find_file(folder, MATRIX)),
        Format("parts", f"folder of {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} parts", read_parts, holds=_parts),
        Format("images", "folder of images", read_image_folder, holds=image_files),
        Format("tables", "folder of CSV files", read_table_folder, holds=table_files),
        Format("texts", "folder of .txt files", read_text_folder, holds=text_files),
        _REST,
    )
}


def by_first_bytes(first: bytes) -> Format | None:
    """The format of a file that begins so."""
    return next((format for format in FORMATS.values() if format.begins and format.begins(first)), None)


def by_end(name: str) -> Format | None:
    """The format of a file whose name ends so."""
    return next((format for format in FORMATS.values() if format.ends and name.lower().endswith(format.ends)), None)


def by_name(name: str) -> Format:
    """The format of a file of text that is called so."""
    return next((format for format in FORMATS.values() if format.called and name.startswith(format.called)), _REST)


def of_folder(folder: Path) -> Format:
    """The format of a folder."""
    known = [format for format in FORMATS.values() if format.holds]
    found = next((format for format in known if format.holds and format.holds(folder)), None)
    if found is None and not any(folder.iterdir()):
        raise fail(folder, "is empty", kind="empty")
    if found is None:
        raise fail(folder, f"is neither a {', nor a '.join(format.title for format in known)}")
    return found
