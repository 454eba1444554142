"""Data that comes through a pipe, and the columns of it that are wanted."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.console import Failure

if TYPE_CHECKING:
    from partwise.io import Table

STANDARD = "-"
LEAST_MEAN = 1e-3  # below it a variance says little


def read_stream(options: dict[str, Any]) -> Table:
    """Read what standard input gives, as a file would be."""
    from partwise.io.packed import spooled
    from partwise.io.reading import EVERYTHING, table_of

    if sys.stdin is None or sys.stdin.isatty():
        raise Failure("- reads standard input, and nothing is sent there: program | partwise fit - ...", 2)
    name = Path("standard input")
    with spooled(name, "stream", sys.stdin.buffer) as inside:
        if inside.stat().st_size == 0:
            raise Failure("standard input: is empty", 2)
        return replace(table_of(inside, **{**options, "in_memory": EVERYTHING}), origin=str(name))


def selected(table: Table, columns: str | None, varying: int | None = None) -> Table:
    """The table with the features that are wanted: by name, then those that vary most."""
    from partwise.io.selecting import only, patterns, take

    if columns is not None:
        table = only(table, patterns(columns))
    return table if varying is None else take(table, most_varying(table, varying))


def most_varying(table: Table, count: int) -> list[int]:
    """The features whose variance is largest for their mean, in the order of the table."""
    import numpy as np

    from partwise.sources import blocks

    source = table.source()
    n, m = source.shape
    if count > m:
        raise Failure(f"--varying {count}: there are {m} features", 2)
    total, squares = source.reduce(blocks.column_moments)
    mean = total / n
    spread = np.maximum(squares / n - mean**2, 0.0) / np.maximum(mean, LEAST_MEAN)
    unknown = np.flatnonzero(~np.isfinite(spread))
    if len(unknown):
        name = unknown[0] + 1 if table.feature_names is None else repr(table.feature_names[unknown[0]])
        raise Failure(f"--varying: feature {name} has an entry that is not known or infinite; --drop leaves it out", 2)
    return sorted(np.argsort(-spread, kind="stable")[:count].tolist())
