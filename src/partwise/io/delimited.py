"""Tables as text: CSV, TSV and their relatives; delimiter, header and names of rows are found out."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.door.guard import fail, open_bytes, reading
from partwise.io.lines import Chunk, chunks
from partwise.io.names import unique_names
from partwise.io.numbers import parse
from partwise.io.spool import Rows
from partwise.io.table import LARGE, Table

Array = npt.NDArray[Any]

DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "space"}
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "#n/a"}
CORNERS = ("part", "sample")  # as write_table has them: names are below and beside them, be they numbers
THOUSANDS = re.compile(r"[1-9]\d{0,2},\d{3}")
WELL = re.compile(r"\d+[eE]\d+")  # programs write exponents with a sign, or a point before them
LOOKED_AT = 200  # lines from which the layout is found out
SHOWN = 40  # characters of a cell in a message


@dataclass(frozen=True)
class Layout:
    """How lines become cells."""

    delimiter: str
    header: bool
    row_names: bool
    width: int  # cells in a line, the name included
    decimal_comma: bool = False

    def cells(self, line: str) -> list[str]:
        """The cells of a line, without quotes and surrounding blanks."""
        return split(line, self.delimiter)


def read_delimited(
    path: Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    row_names: bool | None = None,
    decimal: str | None = None,
    encoding: str = "utf-8",
    duplicates: str = "error",
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
    encoding : str, default="utf-8"
        Of the names.
    duplicates : {"error", "number"}, default="error"
        What to do with a name that was there before.
    in_memory : int
        Bytes of numbers up to which they are held in memory.

    Returns
    -------
    Table
        Empty cells and NA are NaN.
    """
    if decimal not in (None, ".", ","):
        raise fail(path, f"{{parameter}} must be '.' or ',', got {decimal!r}", kind="unknown", parameter="decimal")
    rows = Rows(in_memory)
    try:
        with reading(path, "table"), open_bytes(path) as file:
            return _read(path, chunks(path, file, encoding), rows, (delimiter, header, row_names, decimal), duplicates)
    except BaseException:
        rows.close()
        raise


def _read(path: Path, text: Iterator[Chunk], rows: Rows, told: tuple[Any, ...], duplicates: str) -> Table:
    first = next(text, Chunk([], 1))
    kept = _after_comments(first)
    layout, names_line = find_layout(path, kept, *told)
    width = layout.width - layout.row_names
    names: list[str] = []
    numbers: list[int] = []  # of the lines that hold the names
    for chunk in chain([kept], text):
        block = _Block(path, layout, names_line)
        rows.add(block.parse(chunk))
        if layout.row_names:
            names += block.names
            numbers += block.numbers
    if rows.shape[0] == 0:
        raise fail(path, "there is no number in it")
    columns = _header(path, kept, layout, names_line, duplicates)
    if layout.row_names:
        names = unique_names(path, names, "row", duplicates, lambda i: numbers[i])
    return Table(
        rows.finish() if width else np.empty((rows.shape[0], 0)),
        columns,
        names if layout.row_names else None,
        origin=str(path),
        format="delimited text",
        notes=_notes(layout),
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


def find_layout(
    path: Path,
    chunk: Chunk,
    delimiter: str | None,
    header: bool | None,
    row_names: bool | None,
    decimal: str | None = None,
) -> tuple[Layout, int | None]:
    """How this text is to be read, and the number of the line with the names of columns."""
    filled = [(chunk.first + i, line) for i, line in enumerate(chunk.lines[: 10 * LOOKED_AT]) if line.strip()]
    lines = [line for _, line in filled[:LOOKED_AT]]
    if not lines:
        raise fail(path, "there is no number in it")
    if delimiter is None:
        delimiter = _find_delimiter(path, lines)
    table = [split(line, delimiter) for line in lines]
    width = _usual_width(table[1:] or table)
    comma = _decimal_comma(path, filled, table, delimiter) if decimal is None else decimal == ","
    below = table[1:] or table
    ours = len(table) > 1 and width > 1 and table[0][0] in CORNERS
    if row_names is None:
        short = len(table) > 1 and len(table[0]) == width - 1  # as R writes it: no name above the names
        corner = len(table) > 1 and table[0][0] == "" and width > 1 and _is_header(table[0][1:], comma)
        # cells that may be missing numbers do not make names
        named = any(not is_number(row[0], comma=comma, missing=True) for row in below)
        row_names = short or corner or ours or (named and width > 1)
        if not row_names and width > 1:
            _ask_for_names(path, [(number, cells[0]) for (number, _), cells in zip(filled, table, strict=False)], "row")
    if header is None:
        # a header has no numbers where the lines below have them
        header = len(table) > 1 and (len(table[0]) == width - 1 or _is_header(table[0][row_names:], comma) or ours)
        if not header and len(table) > 1:
            _ask_for_names(path, [(filled[0][0], cell) for cell in table[0][row_names:]], "header")
    return Layout(delimiter, header, row_names, width, comma), filled[0][0] if header else None


def _find_delimiter(path: Path, lines: list[str]) -> str:
    """The one that makes a table of these lines; where two do, and not the same, neither is taken."""
    fitness = {one: _fitness(lines, one) for one in _preferred(path)}
    best = max(fitness, key=lambda one: fitness[one])
    # blanks are in names too, so they are no rival of a delimiter that does as well
    rivals = [one for one, fits in fitness.items() if one not in (best, " ") and fits == fitness[best] == (1.0, 1.0)]
    for rival in rivals if best != " " else []:
        if [split(line, best) for line in lines] != [split(line, rival) for line in lines]:
            both = " and by ".join(DELIMITERS[one] for one in (best, rival))
            raise fail(
                path,
                f"its lines can be cut by {both}, into different tables; give {{parameter}}",
                kind="format",
                parameter="delimiter",
            )
    return best


def _decimal_comma(path: Path, filled: list[tuple[int, str]], table: list[list[str]], delimiter: str) -> bool:
    """European tables: semicolons between numbers with a comma; where that may stand for thousands, it is refused."""
    if delimiter != ";":
        return False
    cells = [(number, cell) for (number, _), row in zip(filled, table, strict=False) for cell in row]
    commas = [(number, cell) for number, cell in cells if "," in cell and is_number(cell, comma=True)]
    if commas and all(THOUSANDS.fullmatch(cell) for _, cell in commas):
        number, cell = commas[0]
        raise fail(
            path,
            f"{cell!r} may have decimals or thousands; give {{parameter}}, '.' or ','",
            number,
            kind="format",
            parameter="decimal",
        )
    return bool(commas)


def _ask_for_names(path: Path, cells: list[tuple[int, str]], what: str) -> None:
    """Refuse to guess what 1E1 is, a number or the name of a well, where names may be."""
    for number, cell in cells:
        if WELL.fullmatch(cell):
            raise fail(
                path,
                f"{cell!r} may be a name or a number; give {{parameter}}",
                number,
                kind="format",
                parameter="row_names" if what == "row" else "header",
            )


def split(line: str, delimiter: str) -> list[str]:
    """The cells of a line."""
    if '"' in line:
        separator = delimiter if delimiter != " " else " "
        return [cell.strip() for cell in next(csv.reader([line.strip()], delimiter=separator, skipinitialspace=True))]
    if delimiter == " ":
        return line.split()
    return [cell.strip() for cell in line.split(delimiter)]


def is_number(cell: str, *, comma: bool = False, missing: bool = False) -> bool:
    """Whether a cell looks like a number, or a missing one; with decimal commas also if it has a point."""
    found = number(cell, comma=comma) is not None or (comma and number(cell) is not None)
    return found or (missing and cell.lower() in MISSING)


def number(cell: str, *, comma: bool = False) -> float | None:
    """The value, or None; what only Python takes for a number is none, nor a point where commas have its part."""
    if "_" in cell or not cell.isascii() or (comma and "." in cell):
        return None
    try:
        return float(cell.replace(",", ".", 1) if comma else cell)
    except ValueError:
        return None


def _is_header(cells: list[str], comma: bool) -> bool:
    return any(not is_number(cell, comma=comma, missing=True) for cell in cells)


def _preferred(path: Path) -> list[str]:
    """Delimiters, the one that the name of the file promises first."""
    promised = {".csv": ",", ".tsv": "\t", ".tab": "\t"}.get(Path(path.name.removesuffix(".gz")).suffix)
    return sorted(DELIMITERS, key=lambda one: one != promised)


def _fitness(lines: list[str], delimiter: str) -> tuple[float, float]:
    """Share of the lines that have as many cells as most, and share of numbers among the cells."""
    rows = [split(line, delimiter) for line in lines]
    below = rows[1:] or rows
    usual = _usual_width(below)
    if usual < 2:
        return 0.0, 0.0
    cells = [cell for row in below for cell in row[1:]]
    numbers = sum(is_number(cell, comma=delimiter == ";", missing=True) for cell in cells)
    return sum(len(row) == usual for row in below) / len(below), numbers / max(1, len(cells))


def _usual_width(rows: list[list[str]]) -> int:
    """Number of cells that most lines have; of several the first."""
    widths = [len(row) for row in rows]
    return max(widths, key=widths.count)


class _Block:
    """One chunk of lines: its numbers at once if all is well, else cell by cell until the culprit is found."""

    def __init__(self, path: Path, layout: Layout, names_line: int | None) -> None:
        self.path, self.layout, self.names_line = path, layout, names_line
        self.names: list[str] = []
        self.numbers: list[int] = []
        self.width = layout.width - layout.row_names

    def parse(self, chunk: Chunk) -> Array:
        lines = []
        for i, line in enumerate(chunk.lines):
            if line and not line.isspace() and chunk.first + i != self.names_line:
                lines.append(line)
                self.numbers.append(chunk.first + i)
        if not lines:
            return np.empty((0, self.width))
        fast = self._fast(lines)
        return self._slow(lines) if fast is None else fast

    def _fast(self, lines: list[str]) -> Array | None:
        delimiter = None if self.layout.delimiter == " " else self.layout.delimiter
        names: list[str] = []
        if any('"' in line for line in lines):
            return None
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
            if len(cells) != self.layout.width:
                text = f"{len(cells)} cells, but {self.layout.width} in other lines"
                text = "a quoted cell goes on in the next line" if line.count('"') % 2 else text
                raise fail(self.path, text, self.numbers[i])
            if self.layout.row_names:
                self.names.append(cells.pop(0))
            block[i] = [self._value(cell, j, i) for j, cell in enumerate(cells)]
        return block

    def _value(self, cell: str, column: int, row: int) -> float:
        value = number(cell, comma=self.layout.decimal_comma)
        if value is not None:
            return value
        if cell.lower() in MISSING:
            return np.nan
        place = column + 1 + self.layout.row_names
        point = self.layout.decimal_comma and number(cell) is not None
        rest = ", as decimals have a comma in this file; write all numbers one way" if point else ""
        raise fail(self.path, f"{cell[:SHOWN]!r} in column {place} is not a number{rest}", self.numbers[row])


def _header(path: Path, chunk: Chunk, layout: Layout, names_line: int | None, duplicates: str) -> list[str] | None:
    if names_line is None:
        return None
    cells = layout.cells(chunk.lines[names_line - chunk.first])
    wanted = layout.width - layout.row_names
    if len(cells) == layout.width and layout.row_names:
        cells = cells[1:]
    if len(cells) != wanted:
        raise fail(path, f"{len(cells)} names of columns, but {wanted} columns of numbers below", names_line)
    named = [cell or f"column {j + 1}" for j, cell in enumerate(cells)]
    return unique_names(path, named, "column", duplicates, lambda _: names_line)


def _notes(layout: Layout) -> tuple[str, ...]:
    notes = [f"delimiter: {DELIMITERS.get(layout.delimiter, layout.delimiter)}"]
    notes.append("first line: names of columns" if layout.header else "first line: numbers")
    if layout.row_names:
        notes.append("first column: names of rows")
    if layout.decimal_comma:
        notes.append("commas are decimal points")
    return tuple(notes)


def looks_like_table(text: bytes) -> bool:
    """Whether these first bytes of a file could be text."""
    return b"\0" not in text and not re.search(rb"[\x01-\x08\x0e-\x1f]", text)
