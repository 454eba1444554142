"""Workbooks: one sheet, read as text would be."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any

from partwise.door.guard import fail, reading
from partwise.exceptions import MissingDependencyError, Place, ReaderError
from partwise.io.delimited import read_delimited
from partwise.io.layout import THOUSANDS
from partwise.io.names import matching
from partwise.io.numpy_files import choose, is_zip
from partwise.io.table import Table

MARKS = (b"[Content_Types].xml", b"xl/", b"docProps/")


def is_workbook(first: bytes) -> bool:
    """Whether a file that begins so is a workbook: an archive whose first files are those of Excel."""
    return is_zip(first) and any(mark in first for mark in MARKS)


def read_xlsx(
    path: Path,
    *,
    variable: str | None = None,
    header: bool | None = None,
    row_names: bool | None = None,
    duplicates: str = "error",
    drop: Sequence[str] = (),
) -> Table:
    """Read a sheet of a workbook; needs polars and fastexcel.

    Parameters
    ----------
    variable : str, optional
        Which sheet; needed if several have cells.
    header, row_names : bool, optional
        Whether the first row and the first column are names; by default found out, as for text.

    Returns
    -------
    Table
        Empty cells are NaN.
    """
    name, rows = rows_of_sheet(path, variable)
    _check_commas(f"{path}, sheet {name!r}", rows, drop)
    with tempfile.TemporaryDirectory(prefix="partwise-") as folder:
        text = Path(folder) / "sheet.csv"
        with text.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
        try:
            told: dict[str, Any] = {"header": header, "row_names": row_names, "duplicates": duplicates, "drop": drop}
            table = read_delimited(text, delimiter=",", decimal=".", **told)
        except ReaderError as error:  # lines are rows of the sheet
            row = f", row {error.place.line}" if error.place.line else ""
            worded = error.worded("{parameter}", f"{path}, sheet {name!r}{row}")
            place = Place(line=error.place.line, file=str(path))
            raise ReaderError(worded, kind=error.kind, parameter=error.parameter, place=place) from error
    notes = (f"sheet: {name}", *table.notes[1:])
    return replace(table, origin=str(path), format="xlsx", notes=notes)


def _check_commas(where: str, rows: list[list[Any]], drop: Sequence[str]) -> None:
    """Refuse text such as 1,234 among numbers: whoever typed it alone knows whether it has decimals or thousands."""
    gone = matching([str(name) for name in rows[0]], drop)
    wanted = [j > 0 and j not in gone for j in range(len(rows[0]))]
    for i, row in enumerate(rows[1:], 2):
        for cell in compress(row, wanted):
            if THOUSANDS.fullmatch(str(cell)):
                text = f"{where}, row {i}: {cell!r} is text that may have decimals or thousands; make it a number"
                raise ReaderError(text, kind="format")


def rows_of_sheet(path: Path, variable: str | None) -> tuple[str, list[list[Any]]]:
    """The name of a sheet, and its cells; those that are empty are ""."""
    try:
        import fastexcel  # noqa: F401
        import polars
    except ImportError as error:
        raise MissingDependencyError(
            f"{path}: reading .xlsx needs polars and fastexcel: pip install 'partwise[excel]', or save it as CSV"
        ) from error
    with reading(path, "workbook"):
        sheets: Any = polars.read_excel(
            path, sheet_id=0, has_header=False, engine="calamine", raise_if_empty=False, infer_schema_length=0
        )
    filled = {name: frame for name, frame in sheets.items() if frame.width and frame.height}
    if not filled:
        raise fail(path, "there is no number in it", kind="empty")
    name = choose(path, {name: (frame.height, frame.width) for name, frame in filled.items()}, variable)
    return name, [["" if cell is None else cell for cell in row] for row in filled[name].rows()]
