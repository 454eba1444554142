"""Measurements: rows as dictionaries, picked by the values of columns, written as CSV and, where possible, parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from partwise.io.atomic import write_atomically

Row = Mapping[str, Any]


class Measurements(Sequence[Row]):
    """Rows in the order in which they were measured.

    Parameters
    ----------
    rows : iterable of mappings
        Rows need not all have the same columns.

    Examples
    --------
    >>> rows = [{"method": "a", "error": 1.0}, {"method": "b", "error": 3.0}, {"method": "b", "error": 5.0}]
    >>> table = Measurements(rows)
    >>> table.mean("error", method="b"), table.distinct("method")
    (4.0, ['a', 'b'])
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def columns(self) -> list[str]:
        """Names of all columns, in the order of their first appearance."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def where(self, **equal: Any) -> Measurements:
        """The rows whose columns have these values; a tuple gives several to choose from."""
        wanted = {name: value if isinstance(value, tuple) else (value,) for name, value in equal.items()}
        return Measurements(row for row in self.rows if all(row.get(name) in values for name, values in wanted.items()))

    def distinct(self, column: str) -> list[Any]:
        """The values of a column, each once."""
        return list(dict.fromkeys(row[column] for row in self.rows if column in row))

    def values(self, column: str, **equal: Any) -> np.ndarray:
        """A column as numbers, NaN where a row has none."""
        return np.array([_number(row.get(column)) for row in self.where(**equal)])

    def mean(self, column: str, **equal: Any) -> float:
        """Mean of the finite values of a column; NaN if there are none, infinite if all are."""
        return _over(np.mean, self.values(column, **equal))

    def worst(self, column: str, **equal: Any) -> float:
        """Largest value of a column; NaN if there are none."""
        values = self.values(column, **equal)
        return float(np.max(values)) if len(values) else float("nan")

    def csv(self) -> str:
        """The rows as text, with a header."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()

    def write(self, path: Path) -> None:
        """Write ``path.csv``, and ``path.parquet`` if polars is installed."""
        if not self.rows:
            return
        write_bytes(path.with_suffix(".csv"), self.csv().encode())
        if find_spec("polars") is not None:
            import polars

            columns = {name: [row.get(name) for row in self.rows] for name in self.columns}
            data = io.BytesIO()
            polars.DataFrame(columns, strict=False).write_parquet(data)
            write_bytes(path.with_suffix(".parquet"), data.getvalue())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file that is either complete or as it was."""
    write_atomically(path, lambda file: file.write(data))


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float, np.number)) else float("nan")


def _over(function: Any, values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    if not len(known):
        return float("nan")
    finite = known[np.isfinite(known)]
    return float(function(finite)) if len(finite) == len(known) else float("inf")
