"""Sparse matrices as text: MatrixMarket, and the counts of words of the UCI repository.

Not by ``scipy.io.mmread``: that reads past the end of what is damaged (seen in scipy 1.17: segmentation faults).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.door.guard import check_memory, check_shape, content_bytes, fail, open_bytes, reading
from partwise.io.lines import Chunk, chunks
from partwise.io.names import unique_names
from partwise.io.numbers import parse
from partwise.io.spool import Entries
from partwise.io.table import LARGE, Table

Array = npt.NDArray[Any]

BANNER = re.compile(r"%%MatrixMarket\s+matrix\s+(\S+)\s+(\S+)\s+(\S+)\s*$", re.IGNORECASE)
SHORTEST_ENTRY = len("1 1\n")
FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
MIRRORS = {"general": 0.0, "symmetric": 1.0, "skew-symmetric": -1.0}


@dataclass(frozen=True)
class _Header:
    dense: bool
    pattern: bool
    mirror: float  # factor of the entry on the other side of the diagonal; 0 if there is none
    shape: tuple[int, int]
    count: int
    line: int  # the one with the sizes


def is_matrix_market(first: bytes) -> bool:
    """Whether a file that begins so is one of MatrixMarket."""
    return first.lower().startswith(b"%%matrixmarket")


def read_matrix_market(path: Path, *, in_memory: int = LARGE, transpose: bool = False) -> Table:
    """Read a MatrixMarket file, compressed or not.

    Parameters
    ----------
    in_memory : int
        Bytes of numbers up to which they are held in memory; more of them are sorted into parts on disk.
    transpose : bool, default=False
        Take its columns for rows.

    Returns
    -------
    Table
        A CSR matrix, an array (format "array") or a source.
    """
    with reading(path, "MatrixMarket file"):
        content = content_bytes(path)
        with open_bytes(path) as file:
            header = _read_header(path, chunks(path, file), content)
        with open_bytes(path) as file:
            if header.dense:
                X: Any = _dense(path, chunks(path, file), header)
                X = np.ascontiguousarray(X.T if transpose else X)
            else:
                X = _collect(path, chunks(path, file), header, in_memory, transpose=transpose)
    return Table(X, origin=str(path), format="MatrixMarket")


def read_docword(
    path: Path, *, vocabulary: Path | None = None, in_memory: int = LARGE, duplicates: str = "error"
) -> Table:
    """Read counts of words as the UCI repository has them: documents, words and entries, then one entry a line.

    Parameters
    ----------
    path : pathlib.Path
        Such as ``docword.nips.txt``, compressed or not.
    vocabulary : pathlib.Path, optional
        Such as ``vocab.nips.txt``, the words one a line; by default the one that lies beside it.
    in_memory : int
        Bytes of numbers up to which they are held in memory.
    duplicates : {"error", "number"}, default="error"
        What to do with a word that was there before.

    Returns
    -------
    Table
        Documents as rows, words as names of the columns.
    """
    with reading(path, "file of counts"), open_bytes(path) as file:
        text = chunks(path, file)
        first = next(text, Chunk([], 1))
        sizes = [_integers(path, line, i + 1, 1)[0] for i, line in enumerate(first.lines[:3])]
        if len(sizes) < 3:
            raise fail(path, "must begin with three lines: the numbers of documents, words and entries", 1)
        header = _Header(False, False, 0.0, (sizes[0], sizes[1]), sizes[2], 3)
        _check_sizes(path, header, content_bytes(path))
        X = _collect(path, chain([first], text), header, in_memory)
    words = find_vocabulary(path) if vocabulary is None else vocabulary
    names = None if words is None else read_names(words, header.shape[1], duplicates=duplicates)
    return Table(X, names, origin=str(path), format="docword")


def find_vocabulary(path: Path) -> Path | None:
    """The vocabulary beside a docword file: ``docword.nips.txt.gz`` has ``vocab.nips.txt``."""
    stem = path.name.removesuffix(".gz").replace("docword", "vocab", 1)
    there = [path.with_name(name) for name in (stem, f"{stem}.gz")]
    return next((file for file in there if file.is_file() and file != path), None)


def read_names(path: Path, wanted: int, *, column: int = 0, duplicates: str = "error") -> list[str]:
    """Names, one a line; of several columns between tabs one."""
    names: list[str] = []
    with reading(path, "list of names"), open_bytes(path) as file:
        for chunk in chunks(path, file):
            names += [(line.split("\t") + [""] * column)[column].strip() for line in chunk.lines]
            while names and not names[-1]:
                names.pop()
            if len(names) > wanted:
                raise fail(path, f"there are more than {wanted} names", wanted + 1)
    if len(names) != wanted:
        raise fail(path, f"{len(names)} names for {wanted} rows or columns", len(names))
    return unique_names(path, names, "name", duplicates, lambda i: i + 1)


def _read_header(path: Path, text: Iterator[Chunk], content: int) -> _Header:
    first = next(text, Chunk([""], 1))
    banner = BANNER.match(first.lines[0])
    if banner is None:
        raise fail(path, "must begin with '%%MatrixMarket matrix ...'", 1)
    layout, field, symmetry = (word.lower() for word in banner.groups())
    if layout not in ("coordinate", "array") or field not in FIELDS or symmetry not in MIRRORS:
        raise fail(path, f"{layout} {field} {symmetry} is not supported; {', '.join(FIELDS)} are", 1)
    for i, line in enumerate(first.lines[1:], start=2):
        if line.strip() and not line.startswith("%"):
            dense = layout == "array"
            sizes = _integers(path, line, i, 2 if dense else 3)
            count = sizes[0] * sizes[1] if dense else sizes[2]
            header = _Header(dense, field == "pattern", MIRRORS[symmetry], (sizes[0], sizes[1]), count, i)
            _check_sizes(path, header, content)
            return header
    raise fail(path, "the line with the sizes is missing", len(first.lines))


def _integers(path: Path, line: str, number: int, count: int) -> list[int]:
    words = line.split()
    if len(words) != count or not all(word.isascii() and word.isdigit() and len(word) < 19 for word in words):
        raise fail(path, f"must be {count} whole number(s), and is {line[:40]!r}", number)
    return [int(word) for word in words]


def _check_sizes(path: Path, header: _Header, content: int) -> None:
    check_shape(path, header.shape, content, header.line)
    # half of a symmetric array is written
    shortest = 1 if header.dense else SHORTEST_ENTRY
    if header.count * shortest > content + SHORTEST_ENTRY:
        raise fail(path, f"declares {header.count} entries, which {content} bytes cannot hold", header.line)


def _dense(path: Path, text: Iterator[Chunk], header: _Header) -> Array:
    """Numbers one a line, column after column; of a symmetric matrix those on and below the diagonal."""
    n, m = header.shape
    check_memory(path, 16.0 * n * m)
    if header.mirror and n != m:
        raise fail(path, f"{n} x {m} cannot be symmetric", header.line)
    values = _values(path, text, header, n * (n + int(header.mirror)) // 2 if header.mirror else n * m)
    if not header.mirror:
        return values.reshape((n, m), order="F")
    # of a skew-symmetric matrix those below the diagonal alone
    columns, rows = np.triu_indices(n, 1 if header.mirror < 0.0 else 0)
    X = np.zeros((n, n))
    X[columns, rows] = header.mirror * values
    X[rows, columns] = values
    return X


def _values(path: Path, text: Iterator[Chunk], header: _Header, count: int) -> Array:
    """As many numbers as are declared."""
    values, seen = np.empty(count), 0
    for chunk in text:
        skip = max(0, header.line + 1 - chunk.first)
        lines = [line for line in chunk.lines[skip:] if line.strip()]
        block = parse(lines, None, 1) if lines else np.empty((0, 1))
        if block is None:
            raise _blame_number(path, Chunk(chunk.lines[skip:], chunk.first + skip))
        if seen + len(block) > count:
            raise fail(path, f"there are more than the {count} numbers declared in line {header.line}")
        values[seen : seen + len(block)] = block[:, 0]
        seen += len(block)
    if seen != count:
        raise fail(path, f"{seen} numbers, but {count} declared in line {header.line}: it is cut off")
    return values


def _blame_number(path: Path, chunk: Chunk) -> Exception:
    for number, line in enumerate(chunk.lines, start=chunk.first):
        try:
            float(line.strip() or "0")
        except ValueError:
            return fail(path, f"{line[:40]!r} is not a number", number)
    return fail(path, "not a readable list of numbers", chunk.first)


def _collect(path: Path, text: Iterator[Chunk], header: _Header, in_memory: int, *, transpose: bool = False) -> Any:
    """Read entry after entry: the file is never in memory as a whole."""
    shape = header.shape[::-1] if transpose else header.shape
    entries = Entries(shape, header.count * (2 if header.mirror else 1), in_memory)
    seen = 0
    try:
        for chunk in text:
            skip = max(0, header.line + 1 - chunk.first)
            i, j, v = _parse(path, Chunk(chunk.lines[skip:], chunk.first + skip), header)
            seen += len(i)
            if seen > header.count:
                raise fail(path, f"there are more than the {header.count} entries declared in line {header.line}")
            if header.mirror:
                off = i != j
                i, j, v = (
                    np.concatenate([i, j[off]]),
                    np.concatenate([j, i[off]]),
                    np.concatenate([v, header.mirror * v[off]]),
                )
            entries.add(*((j, i) if transpose else (i, j)), v)
        if seen != header.count:
            raise fail(path, f"{seen} entries, but {header.count} declared in line {header.line}: it is cut off")
        return entries.finish()
    except BaseException:
        entries.close()
        raise


def _parse(path: Path, chunk: Chunk, header: _Header) -> tuple[Array, Array, Array]:
    width = 2 if header.pattern else 3
    lines = [line for line in chunk.lines if line.strip()]
    if not lines:
        none = np.empty(0, np.int64)
        return none, none, np.empty(0)
    table = parse(lines, None, width)
    if table is not None:
        index = table[:, :2]
        if np.all((index >= 1) & (index <= header.shape) & (index == np.floor(index))):
            i, j = (index - 1).astype(np.int64).T
            return i, j, np.ones(len(i)) if header.pattern else table[:, 2]
    raise _blame(path, chunk, header, width)


def _blame(path: Path, chunk: Chunk, header: _Header, width: int) -> Exception:
    for number, line in enumerate(chunk.lines, start=chunk.first):
        words = line.split()
        if not words:
            continue
        try:
            values = [float(word) for word in words]
        except ValueError:
            return fail(path, f"{line[:40]!r} is not an entry", number)
        if len(values) != width:
            return fail(path, f"{len(values)} numbers where an entry has {width}", number)
        for value, size in zip(values, header.shape, strict=False):
            if not (value == int(value) if np.isfinite(value) else False) or not 1 <= value <= size:
                return fail(path, f"index {words[values.index(value)]} is not in 1..{size}", number)
    return fail(path, "not a readable list of entries", chunk.first)
