"""Some features of a table, by their names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.io.names import matched, matching
from partwise.io.table import Table
from partwise.sources import blocks
from partwise.sources.names import some


def patterns(wanted: str | Sequence[str]) -> list[str]:
    """The names that are asked for: a list of them, or one text with commas between them."""
    parts = wanted.split(",") if isinstance(wanted, str) else map(str, wanted)
    return [part for part in map(str.strip, parts) if part]


def without(table: Table, drop: Sequence[str], *, there: bool = True) -> Table:
    """The table without the features of these names, but for columns that its reader left out already.

    Unless they must be ``there``, names that no feature has are none to leave out.
    """
    rest = [one for one in drop if one not in table.left_out]
    if not there:
        rest = list(matched(table.feature_names or [], rest))
    if not rest:
        return table
    gone = places(table, rest, "drop")
    return take(table, [j for j in range(table.X.shape[1]) if j not in gone])


def only(table: Table, columns: Sequence[str]) -> Table:
    """The features of these names, in the order of the table."""
    return take(table, sorted(places(table, columns, "columns")))


def places(table: Table, wanted: Sequence[str], parameter: str) -> set[int]:
    """Where the features of these names are."""
    names = table.feature_names
    if names is None:
        raise InputError("{parameter} needs names of features, and there are none", parameter=parameter, kind="empty")
    found: set[int] = set()
    for one in wanted:
        here = matching(names, [one])
        if not here:
            near = get_close_matches(one, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {some(names)}"
            raise InputError(f"{{parameter}}: there is no feature {one!r}{hint}", parameter=parameter, kind="unknown")
        found |= here
    return found


def take(table: Table, kept: Collection[int]) -> Table:
    """These features of a table."""
    if not kept:
        raise InputError("{parameter} leaves no feature", parameter="drop", kind="value")
    columns = np.array(list(kept), np.int64)
    X: Any = table.X
    if table.on_disk:
        X = X.derive(partial(blocks.take_columns, columns=columns), n_features=len(columns))
    else:
        X = X[:, columns]
    names = table.feature_names
    return replace(table, X=X, feature_names=names and [names[j] for j in columns], image_shape=None)
