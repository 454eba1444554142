"""What a table holds, in a few lines: to be read before anything is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.door.guard import size_text
from partwise.io.table import Table
from partwise.sources import Inspection, RowSource, inspect
from partwise.sources import blocks as rows
from partwise.sources.protocol import Block


def summarize(table: Table, source: RowSource | None = None) -> str:
    """Describe shape, orientation, sparsity, range, missing numbers, empty rows and columns, and memory.

    Parameters
    ----------
    table : Table
        What was read; its numbers are passed over once or twice.
    source : RowSource, optional
        Its rows, where they are open already: what was seen of them is not looked for again.

    Returns
    -------
    str
        One line for each.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.io import Table, summarize
    >>> print(summarize(Table(np.array([[0.0, 2.0], [0.0, 0.5]]), origin="x.npy", format="npy")))
    file         x.npy (npy)
    shape        2 samples (rows) x 2 features (columns); transpose swaps them
    entries      50% zeros, dense
    range        0 to 2
    missing      none
    empty        no row, 1 column
    memory       32 bytes
    """
    source = table.source() if source is None else source
    seen = inspect(source)
    n, m = seen.shape
    lines = {
        "file": f"{table.origin} ({table.format})",
        "read as": "; ".join(table.notes),
        "shape": f"{n:,} samples (rows) x {m:,} features (columns); transpose swaps them",
        "images": f"{table.image_shape[0]} x {table.image_shape[1]}" if table.image_shape else "",
        "names": _names(table),
        "entries": _entries(seen, n * m),
        "range": _range(source),
        "missing": f"{seen.n_bad:,}, the first at {_place(table, seen.first_bad)}" if seen.n_bad else "none",
        "empty": f"{_count(seen.zero_rows, 'row')}, {_count(seen.zero_columns, 'column')}",
        "memory": _memory(table, seen),
    }
    return "\n".join(f"{name:<13}{text}" for name, text in lines.items() if text)


def _names(table: Table) -> str:
    found = [("features", table.feature_names), ("samples", table.sample_names)]
    return "; ".join(f"{what} {', '.join(names[:3])}{', ...' * (len(names) > 3)}" for what, names in found if names)


def _entries(seen: Inspection, total: int) -> str:
    zeros = f"{100.0 * (1.0 - seen.nonzero / max(1, total)):.3g}% zeros"
    return f"{zeros}, {'sparse' if seen.stored < total else 'dense'}"


def _range(source: Any) -> str:
    smallest, largest = source.reduce(_extremes, combine=_wider)
    return f"{smallest:.6g} to {largest:.6g}" if smallest <= largest else "no finite number"


def _extremes(block: Block) -> tuple[float, float]:
    values = rows.values(block)
    finite = np.isfinite(values)
    values = values if finite.all() else values[finite]
    if not values.size:
        return (0.0, 0.0) if rows.is_sparse(block) and np.prod(block.shape) else (np.inf, -np.inf)
    smallest, largest = float(values.min()), float(values.max())
    if rows.values(block).size < np.prod(block.shape):  # zeros that are not stored
        return min(smallest, 0.0), max(largest, 0.0)
    return smallest, largest


def _wider(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return min(a[0], b[0]), max(a[1], b[1])


def _count(count: int, what: str) -> str:
    return f"no {what}" if not count else f"{count:,} {what}{'s' * (count > 1)}"


def _place(table: Table, place: tuple[int, int] | None) -> str:
    assert place is not None
    row, column = place
    named = table.sample_names[row] if table.sample_names else row
    return f"row {named}, column {table.feature_names[column] if table.feature_names else column}"


def _memory(table: Table, seen: Inspection) -> str:
    n, m = seen.shape
    sparse = seen.stored < n * m
    need = seen.stored * (seen.dtype.itemsize + 4) + 4 * n if sparse else n * m * seen.dtype.itemsize
    return f"{size_text(need)}{', on disk and read in blocks' if table.on_disk else ''}"
