"""A folder of tables: parts of one table, one below the other, or a spectrum a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import dropwhile, pairwise
from pathlib import Path

import numpy as np

from partwise.door.guard import check_memory, fail, first_bytes
from partwise.io.delimited import looks_like_table, read_delimited
from partwise.io.layout import DELIMITERS, is_number, split
from partwise.io.matching import aligned
from partwise.io.names import unique_names
from partwise.io.table import Table
from partwise.sources.chunked import natural_order
from partwise.sources.names import difference

SUFFIXES = (".csv", ".tsv", ".tab", ".dat", ".xy", ".asc")
LOOKED_AT = 4096  # bytes of a file whose name does not say what it is


def table_files(folder: Path) -> list[Path]:
    """The tables in a folder, in the order of their names (``s2`` before ``s10``).

    By the ends of their names, or where none has such an end (spectrometers write ``.txt``, ``.dpt`` and others), all
    files, if there is nothing but numbers below their first lines.
    """
    every = (file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    files = sorted(every, key=natural_order)
    named = [file for file in files if file.name.lower().removesuffix(".gz").endswith(SUFFIXES)]
    return named or (files if all(_has_numbers(first_bytes(file, LOOKED_AT)) for file in files[:20]) else [])


def _has_numbers(first: bytes) -> bool:
    """Whether a file that begins so is text, and from some line on there are two numbers or more in every line."""
    # cut as bytes: half of a letter in UTF-8 (the ring of angstroms) would end a line too
    lines = [line.decode("latin-1") for line in first.splitlines() if line.strip()]
    whole = lines[:-1] if len(first) >= LOOKED_AT else lines
    below = [*dropwhile(lambda line: not _is_of_numbers(line), whole)]
    return looks_like_table(first) and len(below) > 1 and all(map(_is_of_numbers, below))


def _is_of_numbers(line: str) -> bool:
    cuts = (split(line, one) for one in DELIMITERS)
    return any(len(cells) > 1 and all(is_number(cell, comma=True) for cell in cells) for cells in cuts)


def read_table_folder(
    path: Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    row_names: bool | None = None,
    decimal: str | None = None,
    encoding: str = "utf-8",
    duplicates: str = "error",
    drop: Sequence[str] = (),
) -> Table:
    """Read a folder of tables of text.

    Files of two columns whose first one is the same in all are spectra, a sample each; other files are parts of one
    table, with the same columns, one below the other.

    Parameters
    ----------
    delimiter, header, row_names, decimal, encoding
        As for one table.

    Returns
    -------
    Table
        In the order of the names of the files.
    """
    files = table_files(path)
    check_memory(path, 2.0 * sum(file.stat().st_size for file in files))
    tables = [
        read_delimited(
            file,
            delimiter=delimiter,
            header=header,
            row_names=row_names,
            decimal=decimal,
            encoding=encoding,
            duplicates=duplicates,
            drop=drop,
        )
        for file in files
    ]
    made = _spectra(path, files, tables) or _stacked(path, files, tables, duplicates)
    skipped = [file.name for file in path.iterdir() if file.is_file() and file not in files and file.name[0] != "."]
    if skipped:
        made = replace(made, notes=(*made.notes, f"left out: {', '.join(sorted(skipped)[:5])}"))
    return made


def _spectra(path: Path, files: list[Path], tables: list[Table]) -> Table | None:
    """Each file a spectrum: where it was measured, and how much there was."""
    if len(files) < 2 or any(table.X.shape[1] + (table.sample_names is not None) != 2 for table in tables):
        return None
    axes = [
        np.array([float(name) for name in table.sample_names]) if table.sample_names is not None else table.X[:, 0]
        for table in tables
        if table.sample_names is None or _are_numbers(table.sample_names)
    ]
    if len(axes) < len(tables):
        return None
    for file, axis in zip(files, axes, strict=True):
        if len(axis) != len(axes[0]) or not np.allclose(axis, axes[0], rtol=1e-9, atol=0.0):
            raise fail(
                file,
                f"has {len(axis)} points from {axis[0]:.10g} to {axis[-1]:.10g}, and {files[0].name} has "
                f"{len(axes[0])} from {axes[0][0]:.10g} to {axes[0][-1]:.10g}: bring all spectra to the same points",
                kind="shape",
            )
    X = np.stack([table.X[:, -1] for table in tables])
    names = unique_names(path, [file.name.partition(".")[0] for file in files], "row", "number", lambda _: None)
    points = [f"{value:.10g}" for value in axes[0]]
    note = f"{len(files)} files, a sample each; their first column names the features"
    left_out = tables[0].left_out
    return Table(X, points, names, origin=str(path), format="tables", notes=(note,), left_out=left_out)


def _are_numbers(names: list[str]) -> bool:
    try:
        values = [float(name) for name in names]
    except ValueError:
        return False
    return len(values) > 1 and (all(a < b for a, b in pairwise(values)) or all(a > b for a, b in pairwise(values)))


def _stacked(path: Path, files: list[Path], tables: list[Table], duplicates: str) -> Table:
    first = tables[0]
    for file, table in zip(files, tables, strict=True):
        if table.X.shape[1] != first.X.shape[1] or set(table.feature_names or ()) != set(first.feature_names or ()):
            flaw = difference(table.feature_names or [], first.feature_names or [])
            text = f"has other columns than {files[0].name}: {table.X.shape[1]} and {first.X.shape[1]}"
            raise fail(file, text + (f"; it {flaw}" if flaw else ""), kind="shape")
        if (table.sample_names is None) != (first.sample_names is None):
            raise fail(file, f"has names of rows and {files[0].name} has none, or the other way round", kind="format")
    named = None if first.sample_names is None else [name for table in tables for name in table.sample_names or []]
    if named is not None:
        named = unique_names(path, named, "row", duplicates, lambda _: None)
    sources = [aligned(table.source(), first.feature_names) for table in tables]
    X = np.concatenate([np.asarray(source.take(range(source.shape[0]))) for source in sources])
    note = f"{len(files)} files, one below the other" if len(files) > 1 else "1 file"
    notes = (note, *first.notes)
    return replace(first, X=X, sample_names=named, origin=str(path), format="tables", notes=notes)
