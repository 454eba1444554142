"""The package's own errors and warnings: what is wrong and where, as values, and one sentence for those who read it."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from types import FrameType
from typing import Any

BETWEEN = {"partwise", "sklearn", "joblib", "contextlib"}  # what may lie between a warning and the user's line
KINDS = {
    "value": "an argument is not what it must be",
    "unknown": "a name that is none of those there are",
    "option": "an option that a method does not have, or that must be something else",
    "elsewhere": "an argument that is given in another way",
    "negative": "entries below zero where none may be",
    "zero": "entries that are zero where none may be",
    "not-finite": "entries that are NaN or infinite",
    "not-real": "something else than real numbers",
    "out-of-range": "numbers whose squares are too large or too small for their type",
    "empty": "no numbers, rows or columns, or rows and columns without any",
    "suspect": "data that looks like a mistake: logarithms for counts, labels among the features",
    "shape": "a shape that does not go with another one",
    "features": "features that are not those of the model",
    "too-many-components": "more components than the data can have",
    "rank": "fewer dimensions in the data than components",
    "dependent": "components that depend on each other",
    "negative-part": "a part below zero, of data that is not",
    "coloured": "noise that has directions of its own",
    "clipped": "readings that end at one value",
    "odd": "samples that are unlike all others",
    "not-determined": "parts that are not to be believed",
    "not-judged": "parts of which nothing could be said",
    "off-path": "a method that had to do something else than its paper says",
    "missing-file": "no such file or folder",
    "damaged": "a file that is not what it begins as",
    "format": "a file of a kind that is not read, or not like that",
    "duplicate": "a name that occurs twice",
    "changed": "a file or rows that are not what they were when they were first looked at",
    "memory": "more than the machine can hold",
}

HINTS = {  # what a Python program can do about it, by what is wrong and with which argument
    ("not-finite", "X"): "; HALS, ANLS, MU and Likelihood take NaN for what is not known with missing='nan'",
}


@dataclass(frozen=True)
class Place:
    """Where something is: in a file, in a line of it, in a row or column of a matrix (both counted from 0).

    Examples
    --------
    >>> str(Place(row=3, column=5)), str(Place(file="a.csv", line=7))
    ('row 3, column 5', 'a.csv, line 7')
    """

    row: int | None = None
    column: int | None = None
    line: int | None = None
    file: str | None = None

    def __str__(self) -> str:
        parts = [] if self.file is None else [self.file]
        named = (("line", self.line), ("row", self.row), ("column", self.column))
        return ", ".join(parts + [f"{name} {number}" for name, number in named if number is not None])


class _Told(Exception):
    """A message with the facts that it is about.

    Parameters
    ----------
    message : str
        The sentence; "{parameter}" and "{place}" in it stand for these two, which each front end has words of its own
        for.
    parameter : str, optional
        The argument that is to blame.
    kind : str
        One of `KINDS`: what is wrong.
    place : Place
        Where it is.
    """

    def __init__(
        self, message: str = "", *, parameter: str | None = None, kind: str = "value", place: Place | None = None
    ) -> None:
        self.parameter, self.kind, self.place, self._message = parameter, kind, place or Place(), message
        super().__init__(self.worded(parameter or "", str(self.place)) + HINTS.get((kind, parameter or ""), ""))

    def worded(self, parameter: str, place: str) -> str:
        """The message with these words for the parameter and the place."""
        return self._message.replace("{parameter}", parameter).replace("{place}", place)


class InputError(_Told, ValueError):
    """An argument or the data cannot be used; the message says which, where and what to do."""


class ReaderError(InputError):
    """A file cannot be read; the message names the file, the line where it is text, and what is wrong."""


class MissingDependencyError(ImportError):
    """An optional dependency is needed; the message names the extra that installs it."""


class DataNotFoundError(FileNotFoundError):
    """A real data set is neither under ``PARTWISE_DATA`` nor at a public source; the message says where to put it."""


class DegenerateDataWarning(_Told, UserWarning):
    """The data has all-zero rows or columns, fewer usable dimensions than components, or looks like a mistake."""


TOLD = "_partwise_told"  # what was told in a search over many fits, beside the variables of its call: gone with it


def warn_user(warning: Warning | str, category: type[Warning] | None = None) -> None:
    """Warn at the user's line; in a search of scikit-learn's once of each kind for all folds, and once for the end.

    Parameters
    ----------
    category : type, optional
        What kind of warning a text is.
    """
    search, folds = _search()
    if search is not None:
        told: set[Any] = search.f_locals.setdefault(TOLD, set())
        kind = getattr(warning, "kind", warning if isinstance(warning, str) else None)
        what = (category or type(warning), kind, folds)
        if what in told:
            return
        told.add(what)
    warnings.warn(warning, category, stacklevel=user_level())


def _search() -> tuple[FrameType | None, bool]:
    """The outermost call of a search or cross-validation around this one, and whether this is one of its folds."""
    found, folds, frame = None, False, sys._getframe(1)
    while frame.f_back is not None:
        if str(frame.f_globals.get("__name__")).startswith("sklearn.model_selection"):
            found, folds = frame, folds or frame.f_code.co_name == "_fit_and_score"
        frame = frame.f_back
    return found, folds


def user_level() -> int:
    """The `stacklevel` with which ``warnings.warn``, where this is called, points at the user's line.

    However deep in the package a warning is, and whether ``fit``, ``fit_transform`` (which scikit-learn wraps) or a
    pipeline was called.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    return level
