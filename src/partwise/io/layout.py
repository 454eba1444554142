"""How a table of text is to be read: delimiter, decimals, and whether first line and first column are names."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.door.guard import fail
from partwise.exceptions import ReaderError
from partwise.io.headers import Reading, is_corner, is_ordered, judge_header, judge_names
from partwise.io.lines import Chunk
from partwise.io.names import matching

Array = npt.NDArray[Any]

DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "space"}
WITH_COMMAS = (";", "\t", "|", ",")  # between which numbers may have decimal commas; between commas, in quotes
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "#n/a"}
CORNERS = ("part", "sample")  # as write_table has them: names are below and beside them, be they numbers
THOUSANDS = re.compile(r"[1-9]\d{0,2},\d{3}")
POINTED = re.compile(r"[1-9]\d{0,2}\.\d{3}")
PADDED = re.compile(r"0\d+")  # numbers of samples, all of one length
SMALL = re.compile(r"\d{1,3}")
# thousands set apart by a mark that can be nothing else, or by the one that is not before the decimals
APART = re.compile(r"[+-]?\d{1,3}(?:(?P<mark>[ '\u00a0\u202f\u2019])\d{3})(?:(?P=mark)\d{3})*(?:[.,]\d+)?")
GROUPS = {  # by whether decimals have a comma: sure ones, and those that are if it was told what is before decimals
    comma: (
        re.compile(rf"[+-]?\d{{1,3}}(?:(?:{mark}\d{{3}})+{point}\d+|(?:{mark}\d{{3}}){{2,}})"),
        re.compile(rf"[+-]?\d{{1,3}}{mark}\d{{3}}"),
    )
    for comma, mark, point in ((True, r"\.", ","), (False, ",", r"\."))
}
WELL = re.compile(r"\d+[eE]\d+")  # programs write exponents with a sign, or a point before them
# numbers as other programs write them: thousands, percent, money, Fortran's exponents, truth values
WRITTEN = re.compile(r"[+-]?(\d+|\d{1,3}([ ,'.]\d{3})+)([.,]\d*)?([dDeE][+-]?\d+)?|true|false", re.IGNORECASE)
PAIR = re.compile(r"(\d+),(\d+)")
MARKS = "%$\N{EURO SIGN}\N{POUND SIGN}\N{YEN SIGN} "
BRIEF = 2  # cells of a remark
UNITS = {"unit", "units"}
SHOWN = 40  # characters of a cell in a message
LOOKED_AT = 200  # lines from which the layout is found out

# What can be read in two ways is asked about: the argument that says which way, and how it is asked for.
QUESTIONS = {
    "first column": (
        "row_names",
        "its first column goes from {0} to {1}{how}: names (wavelengths, numbers of samples) or a feature? give "
        "{parameter}",
    ),
    "first line": (
        "header",
        "its first line goes from {0} to {1}{how}: names of columns (wavelengths, numbers of features) or a sample? "
        "give {parameter}",
    ),
    "cuts": ("delimiter", "its lines can be cut by {0} and by {1}, into different tables; give {parameter}"),
    "thousands": ("decimal", "{0!r} may have decimals or thousands; give {parameter}, '.' or ','"),
    "wells in a column": ("row_names", "{0!r} may be a name or a number; give {parameter}"),
    "wells in a line": ("header", "{0!r} may be a name or a number; give {parameter}"),
    "other numbers": (
        "row_names",
        "{0!r} may be a name, or a number that is not written as one here; give {parameter}, or write numbers with "
        "digits and a point alone",
    ),
    "decimal comma": (
        "row_names",
        "{0!r} may be a name and a number, or a number with a decimal comma; give {parameter}, or another delimiter "
        "and decimal=','",
    ),
}


def _unclear(path: Path, what: str, *seen: str, line: int | None = None, how: str = "") -> ReaderError:
    """One of these questions."""
    parameter, text = QUESTIONS[what]
    return fail(path, text.format(*seen, how=how, parameter="{parameter}"), line, kind="format", parameter=parameter)


@dataclass(frozen=True)
class Layout:
    """How lines become cells."""

    delimiter: str
    header: bool
    row_names: bool
    width: int  # cells in a line, the name included
    decimal_comma: bool = False
    decimal_told: bool = False
    names_line: int | None = None
    begins: int = 1  # the line where the numbers begin
    gone: frozenset[int] = frozenset()  # places of the columns that are left out
    trailing: bool = False  # whether lines end with a delimiter
    notes: tuple[str, ...] = ()

    @property
    def full(self) -> int:
        """Cells in a line, those included that are left out."""
        return self.width + len(self.gone)

    def cells(self, line: str) -> list[str]:
        """The cells of a line, without quotes and surrounding blanks."""
        return _ended(split(line, self.delimiter), self.full)

    def wanted(self, cells: list[str]) -> list[str]:
        """Those of the cells of a line that are not left out; a line of names may lack the first."""
        return _without(cells, self.gone, self.full)

    def value(self, cell: str) -> float | None:
        """The number in a cell, its thousands perhaps set apart; None where there is none."""
        found = number(cell, comma=self.decimal_comma)
        if found is not None or not (plain := self._together(cell)):
            return found
        return number(plain, comma=self.decimal_comma)

    def _together(self, cell: str) -> str | None:
        """A number without what sets thousands apart; None where that is not sure."""
        apart = APART.fullmatch(cell)
        if apart:
            return cell.replace(apart["mark"], "")
        sure, told = GROUPS[self.decimal_comma]
        if sure.fullmatch(cell) or (self.decimal_told and told.fullmatch(cell)):
            return cell.replace("." if self.decimal_comma else ",", "")
        return None


def find_layout(
    path: Path,
    chunk: Chunk,
    delimiter: str | None,
    header: bool | None,
    row_names: bool | None,
    decimal: str | None = None,
    drop: Sequence[str] = (),
) -> Layout:
    """How this text is to be read: where names and numbers begin, and what is between them."""
    filled = [(chunk.first + i, line) for i, line in enumerate(chunk.lines[: 10 * LOOKED_AT]) if line.strip()]
    if not filled:
        raise fail(path, "there is no number in it")
    if delimiter is None:
        delimiter = _find_delimiter(path, [line for _, line in filled[:LOOKED_AT]])
    table = [split(line, delimiter) for _, line in filled[:LOOKED_AT]]
    notes = []
    above = _remarks(table) if header is not False else 0
    if above:
        notes.append(f"left out above the table: {', '.join(_shown(row) for row in table[:above] if any(row))}")
        filled, table = filled[above:], table[above:]
    full = _usual_width(table[1:] or table)
    trailing = full > 1 and _is_trailing(table, full)
    if trailing and len(table[0]) < full:  # it may be one, and the first column that which has no name
        notes.append("left out: an empty last column, which the line of names lacks")
    full -= trailing
    table = [_ended(row, full) for row in table]
    names_line = filled[0][0]
    if header is not False and _is_line_of_units(table):
        notes.append(f"left out below the names of columns: {_shown(table[1])}")
        filled, table = [filled[0], *filled[2:]], [table[0], *table[2:]]
    gone = _named(table[0], full, drop)
    table = [_without(row, gone, full) for row in table]
    width = full - len(gone)
    named = _are_names(table) if row_names is None else row_names
    if gone and (width == 0 or (width == 1 and 0 not in gone and named)):
        raise fail(path, "{parameter} leaves no feature", kind="value", parameter="drop")
    comma = _decimal_comma(path, filled, table, delimiter) if decimal is None else decimal == ","
    if row_names is None:
        row_names = _find_row_names(path, table, width, comma, header)
        _ask_of_first_column(path, filled[: len(table)], table, width, comma, delimiter, row_names)
    if header is None:
        header = _find_header(path, table, width, comma, row_names)
        if not header and len(table) > 1:
            _ask_for_names(path, [(filled[0][0], cell) for cell in table[0][row_names:]], "line")
    return Layout(
        delimiter,
        header,
        row_names,
        width,
        comma,
        decimal is not None,
        names_line if header else None,
        filled[1][0] if header and len(filled) > 1 else names_line + header,
        gone,
        trailing,
        tuple(notes),
    )


def _remarks(table: list[list[str]]) -> int:
    """How many lines stand above the names: titles, dates and other remarks, which have fewer cells than the table."""
    width = _usual_width(table[1:] or table)
    lengths = [max((j + 1 for j, cell in enumerate(row) if cell), default=0) for row in table]
    above = next((i for i, length in enumerate(lengths) if length >= width - 1 or 2 * length > width), 0)
    if not above and width == 2:  # a title above the names of two columns
        above = next((i for i, row in enumerate(table) if len(row) == width and all(map(is_text, row))), 0)
    told = [row for row in table[:above] if any(row)]  # others have nothing but delimiters
    if not above or above + 1 == len(table) or not all(any(map(is_text, row)) for row in told):
        return 0
    corner = table[above][0]
    named = all(is_text(cell) for cell in table[above][1:] if cell) or not corner or is_corner(corner)
    # where no names come below it, a line of many cells, were they empty, may be a sample
    brief = all(len(row) <= BRIEF and len(row) < width - 1 for row in table[:above])
    return above if (named and max(lengths[:above]) < width) or brief else 0


def _is_line_of_units(table: list[list[str]]) -> bool:
    """Whether there is no number in the second line ("mg/l"), but in the third."""
    if len(table) < 3 or len(table[1]) < 2 or not len(table[0]) == len(table[1]) == len(table[2]):
        return False
    own = table[1][0]
    if is_text(own) and own.strip("()[]: ").lower() not in UNITS and all(is_text(row[0]) for row in table[2:] if row):
        return False  # it is called as samples are: one of which nothing is known
    here = [above for above, below in zip(table[1][1:], table[2][1:], strict=True) if is_number(below, comma=True)]
    texts = sum(map(is_text, here))
    return 2 * texts >= max(1, len(here)) and all(is_text(cell) or not cell for cell in table[1][1:])


def _is_trailing(table: list[list[str]], width: int) -> bool:
    """Whether lines end with a delimiter, behind which no column has a name."""
    named = len(table) > 1 and len(table[0]) == width and table[0][-1] != ""
    return not named and all(row[-1] == "" for row in table if len(row) == width)


def _ended(cells: list[str], width: int) -> list[str]:
    """Cells without the empty one behind a delimiter at the end of the line."""
    return cells[:-1] if len(cells) == width + 1 and not cells[-1] else cells


def _named(names: list[str], width: int, patterns: Sequence[str]) -> frozenset[int]:
    """Places of the columns of these names; the first one may have none."""
    shift = width - len(names)
    if shift not in (0, 1):
        return frozenset()
    found = frozenset(j + shift for j in matching(names, patterns))
    return found if names[0] in patterns else found - {0}  # names of samples go by their own name alone


def _are_names(table: list[list[str]]) -> bool:
    """Whether the first column, where it is the only one that is left, names the samples."""
    head, below = table[0], [row[0] for row in table[1:] if row]
    return not head or not head[0] or is_corner(head[0]) or any(map(is_text, below))


def _without(cells: list[str], gone: frozenset[int], width: int) -> list[str]:
    """The cells of a line but for those of some columns; a line of names may lack the first."""
    shift = width - len(cells)
    if not gone or shift not in (0, 1):
        return cells
    return [cell for j, cell in enumerate(cells, shift) if j not in gone]


def _shown(row: list[str]) -> str:
    text = ", ".join(filter(None, row))
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")


def _ask_of_first_column(
    path: Path,
    filled: list[tuple[int, str]],
    table: list[list[str]],
    width: int,
    comma: bool,
    delimiter: str,
    row_names: bool,
) -> None:
    """Refuse a column that may be names and was taken for numbers, or the other way round."""
    column = [(line, cells[0]) for (line, _), cells in zip(filled, table, strict=True)]
    short = len(table) > 1 and len(table[0]) == width - 1
    if not row_names and width > 1:
        _ask_for_names(path, column, "column")
    elif short and delimiter == ",":
        _ask_for_decimals(path, filled[1:])
    elif row_names and not short and table[0][0] not in ("", *CORNERS):
        _ask_for_numbers(path, column[len(table) > 1 :], comma=comma)


def _find_row_names(path: Path, table: list[list[str]], width: int, comma: bool, header: bool | None) -> bool:
    """Whether the first column has names: text, or numbers that are none of the data."""
    first, below = table[0], table[1:] or table
    if width < 2:
        return False
    # cells that may be missing numbers do not make names
    if any(not is_number(row[0], comma=comma, missing=True) for row in below):
        return True
    if len(table) == 1:
        return False
    if all(row[0].isdigit() for row in below) and any(PADDED.fullmatch(row[0]) for row in below):
        return True
    if len(first) == width - 1 or first[0] in CORNERS:  # as R writes it: no name above the names
        return True
    if first[0] == "" and all(row[0] for row in below) and header is not False:
        return True  # nothing but a corner is empty here
    headed = header if header is not None else _is_header(first[:1], comma) or _is_header(first, comma)
    rows = _values(below, comma, width)
    found = judge_names(first[0] if headed else None, rows[:, 0], rows[:, 1:].T)
    if found is Reading.EITHER:
        raise _unclear(path, "first column", below[0][0], below[-1][0], how=_how(rows[:, 0]))
    return found is Reading.NAMES


def _find_header(path: Path, table: list[list[str]], width: int, comma: bool, row_names: bool) -> bool:
    """Whether the first line has names: no numbers where lines below have them, or numbers that are none of these."""
    first, below = table[0], table[1:]
    if not below:
        return False
    if len(first) == width - 1 or _is_header(first[row_names:], comma) or (width > 1 and first[0] in CORNERS):
        return True
    cells = [number(cell, comma=comma) for cell in first[row_names:]]
    if len(first) != width or None in cells:
        return False
    corner = first[0] if row_names else ""
    if row_names and not corner:
        return True  # nothing above the names of rows: a corner
    if row_names and is_number(corner, comma=comma):
        corner = ""
    values = _values(below, comma, width)[:, int(row_names) :]
    named = [row[0] for row in below] if row_names else None
    values_of_names = [cell for cell in cells if cell is not None]
    found = judge_header(corner, values_of_names, values, named)
    if found is Reading.EITHER:
        raise _unclear(path, "first line", first[row_names], first[-1], how=_how(values_of_names), line=1)
    return found is Reading.NAMES


def _how(numbers: npt.ArrayLike) -> str:
    """How numbers go that may be names."""
    return " in order" if is_ordered(np.asarray(numbers, float)) else ", whole numbers unlike the others"


def _values(rows: list[list[str]], comma: bool, width: int) -> Array:
    """The numbers of some lines; NaN where there is none."""
    found = np.full((min(len(rows), LOOKED_AT), width), np.nan)
    for i, row in enumerate(rows[: len(found)]):
        for j, cell in enumerate(row[:width]):
            value = number(cell, comma=comma)
            found[i, j] = np.nan if value is None else value
    return found


def _find_delimiter(path: Path, lines: list[str]) -> str:
    """The one that makes a table of these lines; where two do, and not the same, neither is taken."""
    fitness = {one: _fitness(lines, one) for one in _preferred(path)}
    best = max(fitness, key=lambda one: fitness[one])
    # blanks are in names too, so they are no rival of a delimiter that does as well
    rivals = [one for one, fits in fitness.items() if one not in (best, " ") and fits == fitness[best] == (1.0, 1.0)]
    for rival in rivals if best != " " else []:
        if [split(line, best) for line in lines] != [split(line, rival) for line in lines]:
            raise _unclear(path, "cuts", DELIMITERS[best], DELIMITERS[rival])
    return best


def _decimal_comma(path: Path, filled: list[tuple[int, str]], table: list[list[str]], delimiter: str) -> bool:
    """European tables: numbers with a comma between other marks; where it may stand for thousands, it is refused."""
    if delimiter not in WITH_COMMAS:
        return False
    if delimiter == "," and not any('"' in line for _, line in filled[: len(table)]):
        return False
    cells = [(number, cell) for (number, _), row in zip(filled, table, strict=False) for cell in row]
    commas = [(number, cell) for number, cell in cells if "," in cell and is_number(cell, comma=True)]
    inner = [cell for row in table[1:] for cell in row[1:] if "," in cell or cell.count(".") > 1]  # no names
    sure = {comma for comma in (True, False) for cell in inner if GROUPS[comma][0].fullmatch(cell)}
    if len(sure) == 1:
        return sure.pop()
    if commas:
        unsure = commas if all(THOUSANDS.fullmatch(cell) for _, cell in commas) else []
    else:
        unsure = [] if delimiter == "," else _may_be_thousands(cells)
    if unsure:
        number, cell = unsure[0]
        raise _unclear(path, "thousands", cell, line=number)
    return bool(commas)


def _may_be_thousands(cells: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Numbers as 1.234, where all that have no point are below a thousand: rounded ones would all have points."""
    pointed = [(line, cell) for line, cell in cells if "." in cell]
    if not all(POINTED.fullmatch(cell) or not is_number(cell) for _, cell in pointed):
        return []
    pointed = [(line, cell) for line, cell in pointed if is_number(cell)]
    whole = [cell for _, cell in cells if cell.isdigit()]
    return pointed if whole and all(map(SMALL.fullmatch, whole)) else []


def _ask_for_names(path: Path, cells: list[tuple[int, str]], what: str) -> None:
    """Refuse to guess what 1E1 is, a number or the name of a well, where names may be."""
    for number, cell in cells:
        if WELL.fullmatch(cell):
            raise _unclear(path, f"wells in a {what}", cell, line=number)


def _ask_for_numbers(path: Path, cells: list[tuple[int, str]], *, comma: bool) -> None:
    """Refuse to take for names what are numbers to other programs: 5%, 1 234, 1.5D+03, True."""
    odd = [(line, cell) for line, cell in cells if not is_number(cell, comma=comma, missing=True)]
    if odd and all(written_otherwise(cell) for _, cell in odd):
        line, cell = odd[0]
        raise _unclear(path, "other numbers", cell, line=line)


def written_otherwise(cell: str) -> bool:
    """Whether a cell is a number to other programs: 5%, 1.5D+03, True."""
    text = unicodedata.normalize("NFKC", cell).replace("\N{MINUS SIGN}", "-").strip(MARKS)
    return WRITTEN.fullmatch(text) is not None


def _ask_for_decimals(path: Path, lines: list[tuple[int, str]]) -> None:
    """Refuse to guess what 1,5 is below one name, a row 1 with a 5 or one and a half; counted rows are rows."""
    pairs = [PAIR.fullmatch(line.strip()) for _, line in lines]
    names = [int(pair[1]) for pair in pairs if pair]
    if len(names) < len(pairs) or (len(names) > 1 and all(b - a == 1 for a, b in pairwise(names))):
        return
    raise _unclear(path, "decimal comma", lines[0][1].strip(), line=lines[0][0])


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


def is_text(cell: str) -> bool:
    """Whether a cell is a word, which no program takes for a number, nor for a missing one."""
    return not is_number(cell, comma=True, missing=True) and not written_otherwise(cell)


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
    numbers = sum(is_number(cell, comma=delimiter in WITH_COMMAS, missing=True) for cell in cells)
    return sum(len(row) == usual for row in below) / len(below), numbers / max(1, len(cells))


def _usual_width(rows: list[list[str]]) -> int:
    """Number of cells that most lines have; of several the first."""
    widths = [len(row) for row in rows]
    return max(widths, key=widths.count)
