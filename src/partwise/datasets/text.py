"""Text in: a folder, strings, or counts in a file of the UCI repository's or of MatrixMarket's format."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy.io import mmread
from scipy.sparse import coo_array, csr_array

from partwise.datasets.checks import check_choice, check_integer
from partwise.datasets.loaders.base import Dataset
from partwise.datasets.loaders.text import count_words, plain, weigh
from partwise.door.guard import decoded, open_bytes, reading
from partwise.exceptions import InputError, Place

__all__ = ["read_texts"]

BANNER = "%%MatrixMarket"


def read_texts(
    source: str | PathLike[str] | Iterable[str],
    *,
    vocabulary: str | PathLike[str] | Sequence[str] | None = None,
    min_count: int = 1,
    stop_words: Any = "english",
    weighting: str = "counts",
    transpose: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Read documents and count their words.

    Parameters
    ----------
    source : path or iterable of str
        - a folder: every ``.txt`` file in it or below is a document, in alphabetical order; where all of them are in
          subfolders, the first of these is its label.
        - strings: the documents.
        - a file in the ``docword`` format of the UCI repository (numbers of documents, words and entries, then
          lines "document word count", from 1), or in MatrixMarket's; either may be compressed, ``.gz``.

        Of texts in HTML the words count that a reader sees, and no tags.

    vocabulary : path or sequence of str, optional
        For files of counts: the words, one a line. By default the file beside ``docword.name.txt`` that is called
        ``vocab.name.txt``, if there is one.
    min_count : int, default=1
        Words that occur less often in all documents together are left out.
    stop_words : str, list of str or None, default="english"
        Words to leave out, where texts are counted here: a language of :func:`stop_words`, or the words.
    weighting : {"counts", "tfidf"}, default="counts"
        "tfidf": logarithmic tf-idf, documents scaled to unit length.
    transpose : bool, default=False
        A MatrixMarket file has words as rows.
    encoding : str, default="utf-8"
        Of the texts.

    Returns
    -------
    Dataset
        ``X`` (documents, words) CSR, ``feature_names`` if the words are known, for texts also ``texts``; for a folder
        ``sample_names`` (paths within it) and ``labels``.

    Examples
    --------
    >>> from partwise.datasets import read_texts
    >>> data = read_texts(["One fish, two fish.", "Red fish, blue fish."])
    >>> data.feature_names, data.X.toarray().tolist()
    (['blue', 'fish', 'red'], [[0, 2, 0], [1, 2, 1]])
    """
    check_choice("weighting", weighting, ("counts", "tfidf"))
    check_integer("min_count", min_count)
    if isinstance(source, (str, PathLike)):
        path = Path(source)
        if not path.is_dir():
            return _read_counts(path, vocabulary, min_count, weighting, transpose)
        files = _text_files(path)
        texts = [text_of(path / name, encoding) for name in files]
        extra: dict[str, Any] = {"sample_names": [name.as_posix() for name in files], "labels": _folders(files)}
        name = path.resolve().name
    else:
        texts, extra, name = _strings(source), {}, "texts"
    try:
        counts, words = count_words([*map(plain, texts)], min_count, stop_words)
    except InputError:
        raise
    except ValueError as error:  # scikit-learn's: nothing but stop words
        raise InputError(f"the {len(texts)} documents have no word to count ({error})") from error
    return Dataset(name, weigh(counts, weighting), feature_names=words, texts=texts, **extra)


def _strings(source: Iterable[str]) -> list[str]:
    texts = list(source)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"document {i} is no string but a {type(text).__name__}")
    if not texts:
        raise InputError("there are no documents: give at least one string")
    return texts


def _text_files(folder: Path) -> list[Path]:
    files = sorted(path.relative_to(folder) for path in folder.rglob("*.txt") if path.is_file())
    if not files:
        raise InputError(
            "{place} has no .txt file: give the folder that holds the documents",
            kind="empty",
            place=Place(file=str(folder)),
        )
    return files


def _folders(files: list[Path]) -> np.ndarray | None:
    return np.array([name.parts[0] for name in files]) if all(len(name.parts) > 1 for name in files) else None


def text_of(path: Path, encoding: str) -> str:
    """What a file of text says."""
    with reading(path, "text"), open_bytes(path) as file:
        return decoded(path, file.read(), encoding)


def _read_counts(path: Path, vocabulary: Any, min_count: int, weighting: str, transpose: bool) -> Dataset:
    if not path.is_file():
        raise InputError(f"there is no file or folder {path}")
    with _opened(path) as file:
        first = file.readline()
    counts = _read_matrix_market(path, transpose) if first.startswith(BANNER) else _read_docword(path)
    words = _vocabulary(path, vocabulary, counts.shape[1])
    if min_count > 1:
        kept = np.flatnonzero(np.asarray(counts.sum(axis=0)).ravel() >= min_count)
        if not len(kept):
            raise InputError(
                f"min_count={min_count} leaves no word of {path}: give a smaller number", parameter="min_count"
            )
        counts = csr_array(counts[:, kept])
        words = None if words is None else [words[j] for j in kept]
    return Dataset(path.name, weigh(counts, weighting), feature_names=words)


def _opened(path: Path) -> IO[str]:
    # latin-1 reads anything: what is no number is found by its line
    return gzip.open(path, "rt", encoding="latin-1") if path.suffix == ".gz" else path.open(encoding="latin-1")


def _read_matrix_market(path: Path, transpose: bool) -> csr_array:
    try:
        table = mmread(path, spmatrix=False)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path} is no MatrixMarket file of numbers ({error})") from error
    counts = csr_array(table.T if transpose else table)
    if counts.dtype.kind not in "iuf" or not np.isfinite(counts.data).all() or (counts.data < 0).any():
        raise InputError(f"{path} has entries that are no counts: they must be finite and not negative")
    return counts


def _read_docword(path: Path) -> csr_array:
    with _opened(path) as file:
        try:
            n, m, entries = (int(file.readline()) for _ in range(3))
        except (ValueError, EOFError) as error:
            raise InputError(
                f"{path}, line 1: neither a MatrixMarket file nor the numbers of documents, words and entries of the "
                "docword format; for texts give a folder or a list of strings"
            ) from error
        try:
            table = np.loadtxt(file, dtype=np.int64, ndmin=2, comments=None)
        except (ValueError, EOFError):
            table = None
    if table is None or (table.size and table.shape[1] != 3):
        raise _bad_line(path, n, m)
    table = table.reshape(-1, 3)
    inside = (table > 0).all(axis=1) & (table[:, 0] <= n) & (table[:, 1] <= m)
    if not inside.all():
        raise _bad_line(path, n, m)
    if len(table) != entries:
        raise InputError(f"{path}, line 3 promises {entries} entries and {len(table)} follow: get it again")
    return csr_array(coo_array((table[:, 2], (table[:, 0] - 1, table[:, 1] - 1)), shape=(n, m)))


def _bad_line(path: Path, n: int, m: int) -> InputError:
    """Say where the first line is that is no entry."""
    with _opened(path) as file:
        try:
            for number, line in enumerate(file, start=1):
                parts = line.split()
                whole = len(parts) == 3 and all(part.isdigit() and int(part) > 0 for part in parts)
                if number > 3 and parts and not (whole and int(parts[0]) <= n and int(parts[1]) <= m):
                    return InputError(
                        f"{path}, line {number}: {line.strip()[:60]!r} is not 'document word count' with a document up "
                        f"to {n}, a word up to {m} and a count of at least 1"
                    )
        except EOFError:
            pass
    return InputError(f"{path} ends too early: get it again")


def _vocabulary(path: Path, given: Any, n_words: int) -> list[str] | None:
    origin = "vocabulary"
    if given is None:
        given = path.with_name(path.name.removesuffix(".gz").replace("docword", "vocab", 1))
        if "docword" not in path.name or not given.is_file():
            return None
    if isinstance(given, (str, PathLike)):
        origin = str(given)
        if not Path(given).is_file():
            raise InputError(f"vocabulary: there is no file {given}")
        given = text_of(Path(given), "utf-8").splitlines()
    words = [str(word) for word in given]
    if len(words) != n_words:
        raise InputError(f"{origin} has {len(words)} words for the {n_words} columns of {path}")
    return words
