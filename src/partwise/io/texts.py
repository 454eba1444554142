"""Texts as counts of words: a folder of them, or a column of a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from partwise.datasets.loaders.text import count_words, plain
from partwise.datasets.text import text_of
from partwise.datasets.words import LANGUAGES
from partwise.door.guard import check_memory, decoded, fail, first_bytes, of_file, open_bytes, reading
from partwise.door.parquet import columns_of, is_parquet, texts_of
from partwise.exceptions import InputError
from partwise.io.dates import year_first
from partwise.io.delimited import looks_like_table
from partwise.io.excel import is_workbook, rows_of_sheet
from partwise.io.table import Table
from partwise.sources.chunked import natural_order
from partwise.sources.names import some

NAMES = ("id", "name", "title", "file", "url")
DATES = ("date", "published", "created", "created_at", "time", "timestamp", "year")
ENDS = (".jsonl", ".ndjson")
LONG = 30  # mean characters of a column from which on it is text and not a name


def text_files(folder: Path) -> list[Path]:
    """The texts in a folder and below: ``.txt`` files, or where there are none, files of text with any end of name."""
    files = _all_files(folder)
    texts = [file for file in files if file.suffix.lower() == ".txt"]
    if texts or not files:
        return texts
    return files if all(looks_like_table(first_bytes(file, 512)) for file in files[:20]) else []


def _all_files(folder: Path) -> list[Path]:
    found = (file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
    return sorted(found, key=natural_order)


def read_text_folder(
    path: Path,
    *,
    min_count: int = 1,
    stop_words: str = "english",
    ngrams: int = 1,
    min_share: float = 0.0,
    max_share: float = 1.0,
    encoding: str = "utf-8",
) -> Table:
    """Count the words of every text in a folder and below.

    Parameters
    ----------
    path : pathlib.Path
        The folder, of ``.txt`` files or of texts with any end of name.
    min_count, stop_words, ngrams, min_share, max_share
        Which words are counted; see :func:`read_documents`.

    Returns
    -------
    Table
        Texts as rows, words as columns, with the names of both.
    """
    files = text_files(path)
    if not files:
        raise fail(path, "has no .txt file: give the folder that holds the documents", kind="empty")
    # words are counted in memory, which takes several times the text
    check_memory(path, 8.0 * sum(file.stat().st_size for file in files))
    texts = [text_of(file, encoding) for file in files]
    names = [file.relative_to(path).as_posix() for file in files]
    table = _counted(path, "texts", texts, names, (min_count, stop_words, ngrams, min_share, max_share))
    read = set(files)
    others = [file.relative_to(path).as_posix() for file in _all_files(path) if file not in read]
    if not others:
        return table
    left = f"{len(files)} .txt files; {len(others)} with another end of name are left out: {some(others)}"
    return replace(table, notes=(left, *table.notes))


def read_documents(
    path: Path,
    *,
    text: str | None = None,
    date: str | None = None,
    variable: str | None = None,
    min_count: int = 1,
    stop_words: str = "english",
    ngrams: int = 1,
    min_share: float = 0.0,
    max_share: float = 1.0,
    encoding: str = "utf-8",
) -> Table:
    """Count the words of a column of text: of a table with a header, of a workbook, of Parquet, or of JSON lines.

    Parameters
    ----------
    text : str, optional
        The column; by default the one of the longest texts.
    date : str, optional
        The column of dates; by default one that is called so.
    variable : str, optional
        Which sheet of a workbook; needed if several have cells.
    min_count : int, default=1
        Words that occur less often in all texts together are left out.
    stop_words : str, default="english"
        Words to leave out: a language (see `partwise.datasets.stop_words`), "none", or a file of words.
    ngrams : int, default=1
        Longest run of words that is counted as one.
    min_share, max_share : float, default=0.0, 1.0
        Words that a smaller or larger share of the texts has are left out.

    Returns
    -------
    Table
        Texts as rows, words as columns; ``extra["date"]`` where there are dates.
    """
    check_memory(path, 12.0 * path.stat().st_size)
    with reading(path, "table of texts"):
        columns = _columns(path, encoding, variable)
    chosen = text or _longest(path, columns)
    for name, wanted in (("text", chosen), ("date", date)):
        if wanted is not None and wanted not in columns:
            listed = ", ".join(list(columns)[:10])
            raise fail(path, f"has no column {wanted!r} for {{parameter}}; there are: {listed}", parameter=name)
    dates = date or next((name for name in columns if name.lower() in DATES), None)
    called = next((name for name in columns if name.lower() in NAMES and _are_names(columns[name])), None)
    names = columns[called] if called else [f"row {i}" for i in range(len(columns[chosen]))]
    made = _counted(path, "documents", columns[chosen], names, (min_count, stop_words, ngrams, min_share, max_share))
    when = None if dates is None else year_first(columns[dates])
    if date and when is None:
        example = next(one for one in columns[date] if one)
        text = f"the dates of {{parameter}} {date} may be read in two ways, or in none ({example[:40]!r}): write the "
        raise fail(path, text + "year first (2024-01-31)", kind="format", parameter="date")
    extra = {} if when is None else {"date": when}
    told = f"dates: column {dates}" if extra else f"left out: dates that are not clear (column {dates})"
    notes = (f"texts: column {chosen}", *((told,) if dates else ()), *made.notes)
    return Table(made.X, made.feature_names, names, origin=str(path), format="documents", notes=notes, extra=extra)


def _counted(path: Path, format: str, texts: Sequence[str], names: Sequence[str], how: tuple[Any, ...]) -> Table:
    min_count, stop, ngrams, min_share, max_share = how
    if ngrams not in (1, 2, 3, 4, 5):
        raise fail(path, f"{{parameter}} must lie in 1..5, got {ngrams}", kind="value", parameter="ngrams")
    if not 0.0 <= min_share < max_share <= 1.0:
        raise fail(
            path, "{parameter} must be below the largest share, both in 0..1", kind="value", parameter="min_share"
        )
    words, seen = _stop_words(path, stop), [plain(text) for text in texts]
    try:
        X, features = count_words(seen, min_count, words, ngrams=ngrams, min_share=min_share, max_share=max_share)
    except InputError as error:
        raise of_file(path, error) from error
    except ValueError as error:  # scikit-learn's: nothing but stop words
        text = f"the {len(texts)} documents have no word to count that {{parameter}} and the other limits leave"
        raise fail(path, text, kind="empty", parameter="min_share") from error
    left = f"{stop.capitalize()} stop words are" if stop in LANGUAGES else f"the words of {stop} are"
    notes = [f"words of two or more letters; {'no word is' if stop == 'none' else left} left out"]
    tagged = sum(one != text for one, text in zip(seen, texts, strict=True))
    if tagged:
        notes.append(f"HTML: the tags of {tagged} of {len(texts)} {format} are left out")
    return Table(X, features, list(names), origin=str(path), format=format, notes=tuple(notes))


def _stop_words(path: Path, stop: str) -> Any:
    if stop in ("none", *LANGUAGES):
        return None if stop == "none" else stop
    if Path(stop).is_file():
        with reading(Path(stop), "file of words in UTF-8"):
            return Path(stop).read_text(encoding="utf-8").lower().split()
    raise fail(
        path,
        f"{{parameter}} is {', '.join(LANGUAGES)}, none or a file of words; {stop!r} is none of them",
        parameter="stop_words",
    )


def _columns(path: Path, encoding: str, variable: str | None) -> dict[str, list[str]]:
    if is_workbook(first_bytes(path, 4096)):
        _, table = rows_of_sheet(path, variable)
        return _under_header(path, [[str(cell) for cell in row] for row in table])
    if is_parquet(first_bytes(path, 16)):
        import polars

        found = polars.read_parquet_schema(path)
        return {name: texts_of(path, name) for name, kind in found.items() if kind in (polars.String, polars.Date)} or {
            name: [] for name in columns_of(path, named=True).numbers
        }
    with open_bytes(path) as file:
        content = decoded(path, file.read(), encoding)
    if content.lstrip().startswith(("{", "[")):
        rows = _records(path, content)
        keys = dict.fromkeys(key for row in rows for key in row)
        return {key: ["" if row.get(key) is None else str(row[key]) for row in rows] for key in keys}
    delimiter = max(",\t;|", key=content.partition("\n")[0].count)
    csv.field_size_limit(1 << 30)
    return _under_header(path, list(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter)))


def _records(path: Path, content: str) -> list[dict[str, Any]]:
    """The objects of JSON lines, or of one list."""
    rows: list[dict[str, Any]] = []
    if content.lstrip().startswith("["):
        rows = json.loads(content)
    else:
        for number, line in enumerate(content.split("\n"), 1):
            try:
                rows += [json.loads(line)] if line.strip() else []
            except ValueError as error:
                raise fail(path, f"is not JSON ({error})", number) from error
    if not all(isinstance(row, dict) for row in rows):
        raise fail(path, "must hold objects, of which every one has the same names", kind="format")
    return rows


def _under_header(path: Path, table: list[list[str]]) -> dict[str, list[str]]:
    head, body = table[0], [row for row in table[1:] if row]
    bad = next((i for i, row in enumerate(body) if len(row) != len(head)), None)
    if bad is not None:
        raise fail(path, f"{len(body[bad])} cells, but {len(head)} in its header", bad + 2)
    return {name: [row[j] for row in body] for j, name in enumerate(head)}


def _longest(path: Path, columns: dict[str, list[str]]) -> str:
    lengths = {name: float(np.mean([len(text) for text in texts] or [0])) for name, texts in columns.items()}
    best = max(lengths, key=lambda name: lengths[name], default=None)
    if best is None or lengths[best] < LONG:
        listed = ", ".join(list(columns)[:10])
        raise fail(
            path, f"has no column of text; give {{parameter}}, one of: {listed}", kind="format", parameter="text"
        )
    return best


def _are_names(texts: list[str]) -> bool:
    return all(texts) and len(set(texts)) == len(texts)
