"""Tables as text: CSV, TSV and their relatives; delimiter, header and names of rows are found out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.door.guard import fail, open_bytes, reading
from partwise.exceptions import ReaderError
from partwise.io.layout import (
    DELIMITERS,
    LOOKED_AT,
    MISSING,
    SHOWN,
    Layout,
    find_layout,
    is_text,
    number,
    split,
    written_otherwise,
)
from partwise.io.lines import Chunk, chunks
from partwise.io.names import matched, unique_names
from partwise.io.numbers import parse
from partwise.io.spool import Rows
from partwise.io.table import LARGE, Table

Array = npt.NDArray[Any]

BROKEN = "a quoted cell goes on in the next line, as texts do; a column of texts is named by {parameter}"


def read_delimited(
    path: Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    row_names: bool | None = None,
    decimal: str | None = None,
    encoding: str = "utf-8",
    duplicates: str = "error",
    drop: Sequence[str] = (),
    in_memory: int = LARGE,
) -> Table:
    """Read a table of numbers, its first line perhaps a header and its first column perhaps names.

    Parameters
    ----------
    path : pathlib.Path
        The file, compressed by gzip or not.
    delimiter : str, optional
        What stands between cells; by default found out.
    header, row_names : bool, optional
        Whether the first line and the first column are names; by default found out.
    decimal : {".", ","}, optional
        What stands before the decimals; by default found out. What could be read in two ways is refused, until it is
        told.

    Returns
    -------
    Table
        Empty cells and NA are NaN.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise fail(path, f"{{parameter}} must be one character, got {delimiter!r}", kind="value", parameter="delimiter")
    if decimal not in (None, ".", ","):
        raise fail(path, f"{{parameter}} must be '.' or ',', got {decimal!r}", kind="unknown", parameter="decimal")
    rows = Rows(in_memory)
    try:
        with reading(path, "table"), open_bytes(path) as file:
            return _read(
                path, chunks(path, file, encoding), rows, (delimiter, header, row_names, decimal, drop), duplicates
            )
    except BaseException:
        rows.close()
        raise


def _read(path: Path, text: Iterator[Chunk], rows: Rows, told: tuple[Any, ...], duplicates: str) -> Table:
    first = next(text, Chunk([], 1))
    if len(first.lines) < LOOKED_AT and (more := next(text, None)) is not None:  # a last line without an end
        first = Chunk(first.lines + more.lines, first.first)
    kept = _after_comments(first)
    layout = find_layout(path, kept, *told)
    if len(kept.lines) == 1 and not any(layout.value(cell) is not None for cell in layout.cells(kept.lines[0])):
        raise fail(path, "has one line, of names, and no numbers", kept.first, kind="empty")
    width = layout.width - layout.row_names
    columns = _header(path, kept, layout, duplicates)
    names: list[str] = []
    numbers: list[int] = []  # of the lines that hold the names
    for chunk in chain([kept], text):
        block = _Block(path, layout, columns)
        rows.add(block.parse(chunk))
        if layout.row_names:
            names += block.names
            numbers += block.numbers
    if rows.shape[0] == 0:
        raise fail(path, "there is no number in it")
    if layout.row_names:
        names = unique_names(path, names, "row", duplicates, lambda i: numbers[i])
    return Table(
        rows.finish() if width else np.empty((rows.shape[0], 0)),
        columns,
        names if layout.row_names else None,
        origin=str(path),
        format="delimited text",
        notes=_notes(layout, columns, names),
        left_out=_left_out(kept, layout, told[-1]),
    )


def _after_comments(chunk: Chunk) -> Chunk:
    """Leave out the lines that begin with #, but for the last if it has as many cells as the line below."""
    count = 0
    while count < len(chunk.lines) and (chunk.lines[count].startswith("#") or not chunk.lines[count].strip()):
        count += 1
    if not count or count == len(chunk.lines):
        return chunk
    last, below = chunk.lines[count - 1], chunk.lines[count]
    for delimiter in DELIMITERS:
        if 1 < len(split(last, delimiter)) == len(split(below, delimiter)):
            lines = [last.lstrip("#").lstrip(), *chunk.lines[count:]]
            return Chunk(lines, chunk.first + count - 1)
    return Chunk(chunk.lines[count:], chunk.first + count)


class _Block:
    """One chunk of lines: its numbers at once if all is well, else cell by cell until the culprit is found."""

    def __init__(self, path: Path, layout: Layout, columns: list[str] | None) -> None:
        self.path, self.layout, self.columns = path, layout, columns
        self.names: list[str] = []
        self.numbers: list[int] = []
        self.width = layout.width - layout.row_names

    def parse(self, chunk: Chunk) -> Array:
        lines = []
        for i, line in enumerate(chunk.lines):
            if line and not line.isspace() and chunk.first + i >= self.layout.begins:
                lines.append(line)
                self.numbers.append(chunk.first + i)
        if not lines:
            return np.empty((0, self.width))
        fast = self._fast(lines)
        return self._slow(lines) if fast is None else fast

    def _fast(self, lines: list[str]) -> Array | None:
        layout = self.layout
        delimiter = None if layout.delimiter == " " else layout.delimiter
        names: list[str] = []
        if any('"' in line for line in lines) or (layout.decimal_comma and delimiter == ","):
            return None
        if delimiter and layout.trailing:
            lines = [line.rstrip(" ").removesuffix(delimiter) for line in lines]
        if layout.gone:
            cut = [layout.cells(line) for line in lines]
            if any(len(cells) != layout.full for cells in cut):
                return None
            lines = [layout.delimiter.join(layout.wanted(cells)) for cells in cut]
        if self.layout.row_names:
            pairs = [line.split(delimiter, 1) for line in lines]
            if any(len(pair) != 2 for pair in pairs):
                return None
            names, lines = [pair[0].strip() for pair in pairs], [pair[1] for pair in pairs]
        if self.layout.decimal_comma:
            if any("." in line for line in lines):
                return None
            lines = [line.replace(",", ".") for line in lines]
        block = parse(lines, delimiter, self.width)
        if block is not None:
            self.names = names
        return block

    def _slow(self, lines: list[str]) -> Array:
        block = np.empty((len(lines), self.width))
        for i, line in enumerate(lines):
            cells = self.layout.cells(line)
            if len(cells) != self.layout.full:
                if line.count('"') % 2:
                    raise fail(self.path, BROKEN, self.numbers[i], parameter="text")
                text = f"{len(cells)} cells, but {self.layout.full} in other lines; "
                text += "{parameter} says what is between them"
                raise fail(self.path, text, self.numbers[i], parameter="delimiter")
            cells = self.layout.wanted(cells)
            if self.layout.row_names:
                self.names.append(cells.pop(0))
            for j, cell in enumerate(cells):
                value = self.layout.value(cell)
                if value is None and cell.lower() not in MISSING:
                    raise self._no_number(lines, i, j, cell)
                block[i, j] = np.nan if value is None else value
        return block

    def _no_number(self, lines: list[str], row: int, column: int, cell: str) -> ReaderError:
        """What a cell is that is no number, and what is to be done about it."""
        kept = [j for j in range(self.layout.full) if j not in self.layout.gone]
        place = f"column {kept[column + self.layout.row_names] + 1}"
        place += f" ({self.columns[column][:SHOWN]!r})" if self.columns else ""
        here = [self.layout.wanted(self.layout.cells(line)) for line in lines]
        column += self.layout.row_names
        text, parameter, kind = f"{cell[:SHOWN]!r} in {place} is not a number", "drop", "damaged"
        if self.layout.decimal_comma and number(cell) is not None:
            text += ", as decimals have a comma in this file; write all numbers one way, or give {parameter}"
            parameter = "decimal"
        elif not self.layout.header and self.numbers[row] == self.layout.begins:
            text += ": is this line one of names? then {parameter}"
            parameter = "header"
        elif written_otherwise(cell):
            text += " as it is written; write digits and a point alone, or leave the column out with {parameter}"
        elif all(is_text(cells[column]) for cells in here if len(cells) > column and cells[column]):
            text = f"{place} holds text ({cell[:SHOWN]!r}), not numbers; {{parameter}} leaves it out"
            kind = "not-real"
        else:
            text += "; what is not known is an empty cell or NA, and {parameter} leaves the column out"
        return fail(self.path, text, self.numbers[row], parameter=parameter, kind=kind)


def _header(path: Path, chunk: Chunk, layout: Layout, duplicates: str) -> list[str] | None:
    if layout.names_line is None:
        return None
    cells = layout.wanted(layout.cells(chunk.lines[layout.names_line - chunk.first]))
    wanted = layout.width - layout.row_names
    if len(cells) == layout.width and layout.row_names:
        cells = cells[1:]
    if len(cells) != wanted:
        for i, line in enumerate(chunk.lines):
            if line.count('"') % 2:
                raise fail(path, BROKEN, chunk.first + i, parameter="text")
        raise fail(path, f"{len(cells)} names of columns, but {wanted} columns of numbers below", layout.names_line)
    named = [cell or f"column {j + 1}" for j, cell in enumerate(cells)]
    return unique_names(path, named, "column", duplicates, lambda _: layout.names_line)


def _left_out(chunk: Chunk, layout: Layout, drop: Sequence[str]) -> tuple[str, ...]:
    """Which of the names of columns that are not wanted are there."""
    if layout.names_line is None or not layout.gone:
        return ()
    return matched(layout.cells(chunk.lines[layout.names_line - chunk.first]), drop)


def _notes(layout: Layout, columns: list[str] | None, names: list[str]) -> tuple[str, ...]:
    notes = [f"delimiter: {DELIMITERS.get(layout.delimiter, layout.delimiter)}"]
    notes.append(f"first line: names of columns{_from_to(columns)}" if layout.header else "first line: numbers")
    if layout.row_names:
        notes.append(f"first column: names of rows{_from_to(names)}")
    if layout.decimal_comma:
        notes.append("commas are decimal points")
    return (*notes, *layout.notes)


def _from_to(names: list[str] | None) -> str:
    """What is to be told of names that are numbers."""
    if not names or any(number(name) is None for name in names):
        return ""
    return f" (numbers from {names[0]} to {names[-1]})"


def looks_like_table(text: bytes) -> bool:
    """Whether these first bytes of a file could be text."""
    return b"\0" not in text and not re.search(rb"[\x01-\x08\x0e-\x1f]", text)
