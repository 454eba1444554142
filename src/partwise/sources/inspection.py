"""One pass that says what is in the data: flaws with their first place, empty rows and columns, norms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from partwise.exceptions import DegenerateDataWarning, InputError, Place, ReaderError, warn_user
from partwise.sources import blocks
from partwise.sources.protocol import Block, RowSource

Array = npt.NDArray[Any]

SHOWN = 10  # rows or columns named in a warning


@dataclass(frozen=True)
class Inspection:
    """What one pass over the data found."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    stored: int
    nonzero: int
    n_bad: int
    first_bad: tuple[int, int] | None
    n_negative: int
    first_negative: tuple[int, int] | None
    zero_rows: int
    first_zero_rows: tuple[int, ...]
    zero_columns: int
    first_zero_columns: tuple[int, ...]
    largest: float
    total: float
    squared_norm: float

    @property
    def norm(self) -> float:
        """Frobenius norm."""
        return float(np.sqrt(self.squared_norm))

    @property
    def mean(self) -> float:
        """Mean entry, zeros counted."""
        return self.total / max(1, self.shape[0] * self.shape[1])

    def check(self, *, allow_negative: bool, name: str = "X", squares: bool = True) -> None:
        """Raise an error for what no method can use, and for negative entries where they are forbidden."""
        if self.n_bad and self.first_bad is not None:
            raise InputError(
                f"{{parameter}} contains {self.n_bad} NaN or infinity value(s), the first in {{place}}; remove or "
                "impute them first",
                parameter=name,
                kind="not-finite",
                place=Place(*self.first_bad),
            )
        if self.n_negative and not allow_negative and self.first_negative is not None:
            raise InputError(
                f"Negative values in data passed to {{parameter}}: {self.n_negative}, the first in {{place}}; this "
                "method needs {parameter} >= 0. Shift or drop them yourself, they are never clipped silently",
                parameter=name,
                kind="negative",
                place=Place(*self.first_negative),
            )

        limits = np.finfo(self.dtype)
        # sums of squares of this size, with some room for products of factors
        square = float(np.longdouble(self.largest) ** 2 * max(self.shape))
        if squares and self.largest and not 1e3 * float(limits.tiny) < square < 1e-3 * float(limits.max):
            raise InputError(
                f"{{parameter}} has entries up to {self.largest:.3g}, whose squares leave the range of {self.dtype}; "
                "multiply {parameter} by a constant first (components and errors only change by that factor)",
                parameter=name,
                kind="out-of-range",
            )

    def warn(self, name: str = "X") -> None:
        """Warn of all-zero rows and columns."""
        found = []
        if self.zero_rows:
            found.append(f"{self.zero_rows} all-zero row(s): {listed(self.first_zero_rows, self.zero_rows)}")
        if self.zero_columns:
            found.append(
                f"{self.zero_columns} all-zero column(s): {listed(self.first_zero_columns, self.zero_columns)}"
            )
        if found:
            follows = (
                "their weights and entries of the components will be zero" if self.largest else "any components fit"
            )
            told = DegenerateDataWarning(
                f"{{parameter}} has {' and '.join(found)}; {follows}", parameter=name, kind="empty"
            )
            warn_user(told)


# what was seen of a source, as long as that lives: its rows do not change
_SEEN: WeakKeyDictionary[Any, Inspection] = WeakKeyDictionary()


def inspect(source: RowSource) -> Inspection:
    """Look at every entry once (a reduce over the real data, wherever it lives), and remember what was seen."""
    if source not in _SEEN:
        _SEEN[source] = _inspect(source)
    return _SEEN[source]


def empty_columns(source: RowSource) -> Array:
    """Numbers of the columns without an entry; a pass, if there are any."""
    if not inspect(source).zero_columns:
        return np.zeros(0, np.int64)
    return np.flatnonzero(~source.reduce(_column_support, combine=np.logical_or))


def _column_support(block: Block) -> Array:
    return np.asarray(blocks.support(block)[1])


def check_steady(source: RowSource, squared_norm: float) -> None:
    """Refuse the result of a source that was other rows in its last pass than when it was inspected.

    ``squared_norm`` is that of the last pass, which computes it anyway; rounding, by another order of the sum, is far
    below the square root of the precision.
    """
    seen = inspect(source)
    if not abs(squared_norm - seen.squared_norm) <= np.sqrt(np.finfo(seen.dtype).eps) * seen.squared_norm:
        raise _changed(source)


@contextmanager
def steady(source: RowSource) -> Iterator[None]:
    """What algebra trips over where rows have changed is told as that: NaN and rows that are missing raise anything."""
    try:
        yield
    except (ArithmeticError, LookupError, ValueError) as error:
        if not isinstance(error, ReaderError) and not _is_same(source):  # a file says itself that it has changed
            raise _changed(source) from error
        raise


def _is_same(source: RowSource) -> bool:
    try:
        before = inspect(source)
        return before.n_bad > 0 or _inspect(source) == before  # where NaN is unknown, it equals nothing
    except (ArithmeticError, LookupError, ValueError):
        return False


def _changed(source: RowSource) -> InputError:
    _SEEN.pop(source, None)  # whoever tries again shall be told of what is there then
    return InputError(
        "{parameter} is not what it was when it was first looked at: its rows were changed meanwhile, by a callback, "
        "another thread or a function that does not return the same rows each time; fit a copy of it",
        parameter="X",
        kind="changed",
    )


def _inspect(source: RowSource) -> Inspection:
    first_rows = np.arange(source.shape[0], dtype=np.int64)
    found = source.reduce(_inspect_block, first_rows, combine=_merge)
    m = max(1, source.shape[1])
    bad, negative = found["bad"], found["negative"]
    return Inspection(
        shape=source.shape,
        dtype=source.dtype,
        stored=found["stored"],
        nonzero=found["nonzero"],
        n_bad=found["n_bad"],
        first_bad=None if bad is None else (bad // m, bad % m),
        n_negative=found["n_negative"],
        first_negative=None if negative is None else (negative // m, negative % m),
        zero_rows=found["n_zero_rows"],
        first_zero_rows=tuple(found["zero_rows"]),
        zero_columns=len(found["columns"]) - int(np.count_nonzero(found["columns"])),
        first_zero_columns=tuple(np.flatnonzero(~found["columns"])[:SHOWN].tolist()),
        largest=found["largest"],
        total=found["total"],
        squared_norm=found["squares"],
    )


def _inspect_block(block: Block, row_numbers: npt.NDArray[np.int64]) -> dict[str, Any]:
    first = int(row_numbers[0]) if len(row_numbers) else 0
    bad, negative, largest, total, squares = blocks.scan(block)
    n_bad, n_negative = blocks.flaws(block) if bad >= 0 or negative >= 0 else (0, 0)
    rows, columns = blocks.support(block)
    zero_rows = np.flatnonzero(~rows)
    offset = first * block.shape[1]
    return {
        "stored": int(blocks.values(block).size),
        "nonzero": int(np.count_nonzero(blocks.values(block))),
        "n_bad": n_bad,
        "bad": offset + bad if bad >= 0 else None,
        "n_negative": n_negative,
        "negative": offset + negative if negative >= 0 else None,
        "n_zero_rows": len(zero_rows),
        "zero_rows": (first + zero_rows[:SHOWN]).tolist(),
        "columns": columns,
        "largest": largest,
        "total": total,
        "squares": squares,
    }


def _merge(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    sums = ("stored", "nonzero", "n_bad", "n_negative", "n_zero_rows", "total", "squares")
    merged = {name: a[name] + b[name] for name in sums}
    for name in ("bad", "negative"):
        merged[name] = b[name] if a[name] is None else a[name]
    merged["zero_rows"] = (a["zero_rows"] + b["zero_rows"])[:SHOWN]
    merged["columns"] = a["columns"] | b["columns"]
    merged["largest"] = max(a["largest"], b["largest"])
    return merged


def listed(numbers: Sequence[int], count: int | None = None) -> str:
    """The first few numbers, and whether there are more (``count`` in all, if not all are given)."""
    shown = numbers[:SHOWN]
    return ", ".join(map(str, shown)) + (", ..." if (len(numbers) if count is None else count) > len(shown) else "")
