"""Names that are numbers: wavelengths above the columns, 0, 1, 2, ... beside the rows.

A line or column of numbers is taken for names if it goes strictly up or down as the others do not, and lies where their
numbers are not, or if a word says so. What may be either is for the user to say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FEW, MANY = 6, 20  # numbers that are in order by chance once in 360 times, and never
FAR = 2.0  # how many times the largest other number
# what people write above a first column that numbers or names the samples, and above one that is an axis
COUNTS = {"id", "ids", "index", "idx", "row", "rows", "no", "nr", "number", "#", "unnamed: 0", "observation", "obs"}
COUNTS |= {"sample", "samples", "sample id", "pixel", "pixels", "cell", "cells", "spot", "scan", "spectrum", "document"}
COUNTS |= {"patient", "patients", "patient id", "subject", "subjects", "subject id", "participant", "donor", "animal"}
COUNTS |= {"specimen", "case id", "record", "record id", "user", "user id", "customer", "customer id", "barcode"}
AXES = {"wavelength", "wavelengths", "wavenumber", "wavenumbers", "nm", "um", "cm-1", "1/cm", "lambda", "band", "bands"}
AXES |= {"energy", "ev", "kev", "frequency", "hz", "ppm", "m/z", "mz", "2theta", "channel", "raman shift", "raman"}
TIMES = {"time", "date", "rt", "retention time", "t", "year"}
OTHERS = {"gene", "genes", "name", "names", "feature", "features", "word", "words", "type", "mutation type", "spectra"}


NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*[^\d\s]{0,12}")


class Reading(Enum):
    """What a line or column of numbers is."""

    NAMES = "names"
    NUMBERS = "numbers"
    EITHER = "either"


def is_corner(word: str) -> bool:
    """Whether a word above names is one that stands there."""
    return _plain(word) in COUNTS | AXES | TIMES | OTHERS


def is_axis(word: str) -> bool:
    """Whether a word names what is measured along: wavelengths and the like."""
    return _plain(word) in AXES | OTHERS


def in_order(names: Sequence[str]) -> bool:
    """Whether names are numbers, a unit perhaps behind them, that only rise or only fall."""
    found = [NUMBER.fullmatch(name) for name in names]
    if len(found) < 2 or any(one is None for one in found):
        return False
    return is_ordered(np.array([float(one[1]) for one in found if one is not None]))


def even_scale(names: Sequence[str]) -> tuple[float, float, str] | None:
    """The first number, the step and the unit of names that are an even scale; None of others."""
    if not in_order(names):
        return None
    numbers = [found[1] for name in names if (found := NUMBER.fullmatch(name))]
    values = np.array(numbers, float)
    step = float(values[-1] - values[0]) / (len(values) - 1)
    return (float(values[0]), step, names[0].strip()[len(numbers[0]) :].strip()) if _is_even(values) else None


def counted_from(names: Sequence[str]) -> int | None:
    """The first of names that are whole numbers one after the other, as those of samples are; None of others."""
    try:
        values = [int(name) for name in names]
    except ValueError:
        return None
    return values[0] if values and all(b - a == 1 for a, b in pairwise(values)) else None


def is_scale(names: Sequence[str]) -> bool:
    """Whether names are those of an axis: numbers in order, which do not merely count from 0 or 1."""
    return in_order(names) and counted_from(names) not in (0, 1)


def judge_header(corner: str, cells: Sequence[float], below: Array, names: Sequence[str] | None) -> Reading:
    """What a first line of numbers is.

    Parameters
    ----------
    corner : str
        The text before them; empty if there is none.
    below : ndarray of shape (n_lines, len(cells))
        Those of the next lines; NaN where there are none.
    names : sequence of str or None
        What stands in the lines below where the corner is, if it is text.

    Returns
    -------
    Reading
        Names of columns, numbers, or nobody knows.
    """
    if corner and is_corner(corner):
        return Reading.NAMES
    line = np.asarray(cells, float)
    if corner and names is not None and is_ordered(line) and not _mostly_ordered(below):
        unlike = all(_form(corner) != _form(name) for name in names)
        if unlike or len(line) >= MANY:
            return Reading.NAMES
    return _judge(line, below)


def judge_names(head: str | None, column: npt.ArrayLike, others: Array) -> Reading:
    """What a first column of numbers is.

    Parameters
    ----------
    head : str or None
        What stands above it, if there is a header.
    others : ndarray of shape (n_others, len(column))
        The other columns, as rows.

    Returns
    -------
    Reading
        Names of rows, numbers, or nobody knows.
    """
    values = np.asarray(column, float)
    word = _plain(head or "")
    if word in COUNTS and _is_whole(values) and _are_distinct(values):
        return Reading.NAMES
    if len(values) > 1 and not is_ordered(values):
        return Reading.EITHER if _are_codes(values, others) else Reading.NUMBERS
    if (word in COUNTS and _is_whole(values)) or (word in AXES | TIMES and len(values) > 1):
        return Reading.NAMES
    if len(values) >= FEW and _counts(values) and not any(_counts(other) for other in others):
        return Reading.NAMES
    return _judge(values, others)


def _judge(line: Array, others: Array) -> Reading:
    if not is_ordered(line):
        return Reading.EITHER if _are_codes(line, others) else Reading.NUMBERS
    if len(line) < FEW:
        return Reading.NUMBERS
    with np.errstate(all="ignore"):
        largest = np.nanmax(np.abs(others), initial=0.0)
        low, high = np.nanmin(others, initial=np.inf), np.nanmax(others, initial=-np.inf)
    if np.abs(line).min() > FAR * largest:
        return Reading.NAMES
    if _mostly_ordered(others):
        return Reading.NUMBERS  # a line like any other
    outside = np.mean((line < low) | (line > high)) >= 0.5
    if outside and (len(line) >= MANY or np.abs(line).max() > FAR * largest):
        return Reading.NAMES
    return Reading.NAMES if len(line) >= MANY and _is_even(line) else Reading.EITHER


def is_ordered(line: Array) -> bool:
    """Whether numbers only rise or only fall."""
    steps = np.diff(line)
    return len(line) > 1 and bool(np.isfinite(line).all()) and bool((steps > 0).all() or (steps < 0).all())


def _are_codes(line: Array, others: Array) -> bool:
    """Whether they are whole numbers, each once, above all others, which are not whole: numbers of patients."""
    if len(line) < FEW or not _is_whole(line) or not _are_distinct(line):
        return False
    known = others[np.isfinite(others)]
    if not len(known) or _is_whole(known):
        return False
    return bool(np.abs(line).min() > FAR * np.abs(known).max())


def _are_distinct(line: Array) -> bool:
    return len(np.unique(line)) == len(line)


def _mostly_ordered(lines: Array) -> bool:
    return bool(len(lines)) and float(np.mean([is_ordered(line) for line in lines])) >= 0.5


def _is_even(line: Array) -> bool:
    steps = np.diff(line)
    return bool(np.ptp(steps) <= 1e-6 * np.abs(steps).max())


def _is_whole(line: Array) -> bool:
    return bool((np.isfinite(line) & (line == np.round(line))).all())


def _counts(line: Array) -> bool:
    """Whether it is 0, 1, 2, ... or 1, 2, 3, ...."""
    return bool(line[0] in (0.0, 1.0) and (np.diff(line) == 1.0).all())


def _plain(word: str) -> str:
    return re.sub(r"[\s_]+", " ", re.sub(r"\(.*\)|\[.*\]", "", word)).strip().lower()


def _form(name: str) -> str:
    """Letters and digits as one sign each: "s12" and "s7" have one form."""
    return re.sub(r"[0-9]+", "0", re.sub(r"[^\W\d_]+", "a", name))
