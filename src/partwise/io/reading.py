"""One way in for files: what a file is, its first bytes say, and its name only where they do not."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from partwise.door.guard import fail, first_bytes, is_gzip
from partwise.exceptions import InputError, ReaderError
from partwise.io.delimited import looks_like_table
from partwise.io.formats import FORMATS, by_end, by_first_bytes, by_name, of_folder
from partwise.io.h5ad import is_hdf5
from partwise.io.images import SUFFIXES as PICTURES
from partwise.io.names import DUPLICATES
from partwise.io.packed import packed_as, spooled
from partwise.io.selecting import patterns, without
from partwise.io.summary import summarize
from partwise.io.table import LARGE, Table

LOOKED_AT = 4096
PAGE = re.compile(rb"\s*<[!?a-zA-Z]")
OTHERS = {  # what other files begin with, and what is to be done about them
    b"ARROW1": "a table of Arrow (Feather); save it as Parquet or CSV",
    b"RDX": "data of R; write.csv(...) makes a table of it",
    b"X\n": "data of R; write.csv(...) makes a table of it",
    b"$FL": "data of SPSS; save it as CSV",
    b"\x28\xb5\x2f\xfd": "packed by zstd; unpack it (zstd -d)",
    b"7z\xbc\xaf": "an archive (7z); unpack it and give what is in it",
    b"Rar!": "an archive (rar); unpack it and give what is in it",
    b"%PDF": "a PDF; save the table as CSV",
}
EVERYTHING = 1 << 62  # bytes


def read(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    transpose: bool = False,
    in_memory: int = LARGE,
    verbose: bool = False,
    drop: str | Sequence[str] = (),
    **options: Any,
) -> Table:
    """Read a file or folder: numbers, and what names them.

    Parameters
    ----------
    path : path-like
        CSV, TSV and other text; Excel ``.xlsx``; Parquet; ``.npy`` and ``.npz`` (dense, or sparse by scipy);
        MatrixMarket; MATLAB ``.mat`` up to version 7.2; ENVI ``.hdr`` with its numbers beside it; ``.h5ad`` if anndata
        is installed; files of RosettaSciIO, if that is installed; MNIST's idx; UCI's docword with its vocabulary; JSON
        lines with a column of text (any other table too, with ``format="documents"``); text may be compressed
        (``.gz``), and any file by bzip2, xz or zip. A folder of images, a folder of ``.txt`` files (or of
        other texts), a folder of CSV files (or of others with nothing but numbers), a folder of zarr, a folder of 10x
        Genomics, or a folder of ``.npy``, ``.npz`` or ``.parquet`` parts.
    format : str, optional
        One of "10x", "delimited", "documents", "docword", "envi", "h5ad", "idx", "images", "mat", "mtx", "npy", "npz",
        "parquet", "parts", "signals", "tables", "texts", "xlsx", "zarr"; by default found out from the content.
    transpose : bool, default=False
        Take columns for samples.
    in_memory : int, default=2**28
        Bytes of numbers that are held in memory; more of them stay on disk, in their file or in a temporary one, and
        are read in blocks.
    verbose : bool, default=False
        Print what was found (see `partwise.io.summarize`), which takes a pass over the numbers.
    drop : str or sequence of str, default=()
        Features to leave out, by their names (of text with commas between); * stands for anything. Of tables of text
        also columns that are no numbers: labels, remarks.
    **options
        What the format takes: ``delimiter``, ``header``, ``row_names``, ``decimal``, ``encoding`` for text,
        ``variable`` for ``.mat``, ``.npz``, zarr and sheets, ``layer`` for ``.h5ad``, ``vocabulary`` for docword,
        ``min_count``, ``stop_words``, ``ngrams``, ``min_share``, ``max_share`` for texts, ``text`` and ``date`` for
        columns of them, ``duplicates`` ("error" or "number") where there are names.

    Returns
    -------
    Table
        ``X``, ``feature_names``, ``sample_names``, ``image_shape``.

    Raises
    ------
    ReaderError
        With the file, and the line in text, where it cannot be read. Pickles and objects are refused.

    Examples
    --------
    >>> import tempfile, pathlib, partwise as pw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "counts.csv"
    ...     _ = file.write_text("gene,a,b\\nx,1,0\\ny,2,5\\n")
    ...     table = pw.read(file)
    >>> table.X.tolist(), table.feature_names, table.sample_names
    ([[1.0, 0.0], [2.0, 5.0]], ['a', 'b'], ['x', 'y'])
    """
    how: dict[str, Any] = {"format": format, "transpose": transpose, "in_memory": in_memory, **options}
    table = table_of(path, drop=patterns(drop), **how)
    if verbose:
        print(summarize(table))
    return table


def table_of(
    path: str | PathLike[str],
    *,
    drop: Sequence[str],
    there: bool = True,
    format: str | None = None,
    transpose: bool = False,
    in_memory: int = LARGE,
    **options: Any,
) -> Table:
    """As :func:`read`; unless they must be ``there``, names in ``drop`` that no feature has are no mistake."""
    place = Path(path)
    if not place.exists():
        raise _not_there(str(path))
    kind = packed_as(place)
    if kind is not None:
        with spooled(place, kind) as inside:
            # all of it, as the unpacked file goes
            how: dict[str, Any] = {"format": format, "transpose": transpose, **options}
            table = table_of(inside, drop=drop, there=there, in_memory=EVERYTHING, **how)
        return replace(table, origin=str(path), notes=(f"unpacked ({kind})", *table.notes))
    if format is None:
        format = find_format(place)
        if format in ("delimited", "parquet", "xlsx") and "text" in options:  # a table, of which a column is wanted
            format = "documents"
    elif format not in FORMATS:
        raise InputError(
            f"{{parameter}} must be one of {', '.join(sorted(FORMATS))}, got {format!r}",
            parameter="format",
            kind="unknown",
        )
    return without(_call(place, format, transpose, in_memory, drop, options), drop, there=there)


def _not_there(path: str) -> ReaderError:
    if "://" in path:
        return fail(path, "is an address; download it (curl -O, wget) and give the file", kind="missing-file")
    return fail(path, "there is no such file or folder", kind="missing-file")


def _call(
    path: Path, format: str, transpose: bool, in_memory: int, drop: Sequence[str], options: dict[str, Any]
) -> Table:
    reader = FORMATS[format].read
    known = set(inspect.signature(reader).parameters) - {"path"}
    unknown = sorted(set(options) - known)
    if unknown:
        raise fail(path, f"is read as {format!r}, which takes no {{parameter}}", kind="unknown", parameter=unknown[0])
    if options.get("duplicates", "error") not in DUPLICATES:
        raise InputError(
            f"{{parameter}} must be one of {', '.join(DUPLICATES)}, got {options['duplicates']!r}",
            parameter="duplicates",
            kind="unknown",
        )
    general = {"in_memory": in_memory, "drop": drop}
    given = {**options, **{name: value for name, value in general.items() if name in known}}
    if transpose and "transpose" in known:
        return reader(path, transpose=True, **given)
    if isinstance(given.get("vocabulary"), str):
        given["vocabulary"] = Path(given["vocabulary"])
    try:
        table = reader(path, **given)
        return table.transposed() if transpose else table
    except OSError as error:  # a folder instead of a file, no permission, no room
        raise fail(path, error.strerror or str(error)) from error


def find_format(path: Path) -> str:
    """Name of the reader for a file or folder."""
    try:
        return of_folder(path).name if path.is_dir() else _file_format(path)
    except OSError as error:
        raise fail(path, error.strerror or str(error)) from error


def _file_format(path: Path) -> str:
    first = first_bytes(path, LOOKED_AT)
    if not first:
        raise fail(path, "is empty", kind="empty")
    if is_hdf5(first) and path.suffix == ".mat":
        raise fail(path, "is a MATLAB 7.3 file (HDF5); save it with -v7", kind="format")
    found = by_end(path.name) or by_first_bytes(first)
    if found is None:
        _refuse_known(path, first)
        return by_name(path.name).name
    if not found.packed and is_gzip(path):
        raise fail(path, f"is a compressed {found.name} file; decompress it first", kind="format")
    return found.name


def _refuse_known(path: Path, first: bytes) -> None:
    suffixes = path.suffixes
    if (first[:1] == b"\x80" and first[1:2] <= b"\x05") or {".pkl", ".pickle", ".joblib"} & set(suffixes):
        raise fail(path, "is a pickle, which could run any program: it is refused; save numbers as .npy", kind="format")
    # a saved model begins with the length of its header, in eight bytes of which the last ones are zero
    listed = first.lstrip()[:1] == b"[" and path.suffix.lower() == ".json"
    if listed or first.lstrip()[:1] == b"{" or first[4:9] == b"\0\0\0\0{":
        raise fail(path, "is JSON or a saved model (see partwise.load), and no table of numbers", kind="format")
    if not looks_like_table(first) and any(path.with_suffix(end).is_file() for end in (".hdr", f"{path.suffix}.hdr")):
        raise fail(path, "has a header (.hdr) beside it: give that, which says how it is read", kind="format")
    if not looks_like_table(first):
        other = next((told for begins, told in OTHERS.items() if first.startswith(begins)), None)
        if other or first[257:262] == b"ustar":
            raise fail(path, f"is {other or 'an archive (tar); unpack it and give what is in it'}", kind="format")
    if PAGE.match(first):
        raise fail(path, "is a page of the web (HTML) or XML, and no table; save the table as CSV", kind="format")
    if first.startswith(b"\xd0\xcf\x11\xe0"):
        raise fail(path, "is a workbook or document of before 2007; save it as .xlsx or CSV", kind="format")
    if path.suffix.lower() in PICTURES:
        raise fail(path, "is one picture; give the folder of all of them", kind="format")
    if not looks_like_table(first):
        raise fail(path, "is neither text nor any other format known here", kind="format")
