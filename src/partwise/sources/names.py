"""Columns by their names: two tables over the same features, whose columns may come in another order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.sources.protocol import column_names

SHOWN = 5


def names_of(X: Any) -> list[str] | None:
    """Names of the columns of a data frame, or of a source; None where there are none."""
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        return column_names(X.columns)
    found = getattr(X, "feature_names", None)
    return list(found) if isinstance(found, (list, tuple)) else None


def named_by_text(X: Any) -> Any:
    """A data frame whose columns are called by numbers with these as text, as other libraries want names."""
    kinds = {(base.__module__.partition(".")[0], base.__name__) for base in type(X).__mro__}
    names = names_of(X) if ("pandas", "DataFrame") in kinds else None
    return X if names is None or names == list(X.columns) else X.set_axis(names, axis=1)


def check_columns(X: Any) -> None:
    """Refuse columns of a data frame by their names: what is no number (text, dates), and what has a name twice."""
    names = names_of(X)
    if names is None or not hasattr(X, "to_numpy"):
        return
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(
            f"{{parameter}} has more than one column that is called {some(twice)}: rename them, since columns are "
            "taken by their names",
            parameter="X",
            kind="duplicate",
        )
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    texts = [name for name, kind in frame.schema.items() if kind in (nw.String, nw.Object, nw.Categorical, nw.Enum)]
    times = [name for name, kind in frame.schema.items() if kind.is_temporal()]
    if times:
        raise InputError(
            f"{{parameter}} must hold numbers, and has dates or times in {some(times)}: drop such columns, or make one "
            "of them the index of a pandas frame",
            parameter="X",
            kind="not-real",
        )
    odd = [name for name in texts if any(_is_text(value) for value in frame[name].to_list())]
    if odd:
        first = next(value for value in frame[odd[0]].to_list() if _is_text(value))
        raise InputError(
            f"{{parameter}} must hold numbers, and has text in {some(odd)} ({first!r}): drop such columns, or make one "
            "of them the index of a pandas frame",
            parameter="X",
            kind="not-real",
        )


def _is_text(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return True
    except TypeError:  # None, and what is refused otherwise
        return False
    return False


def column_order(have: Sequence[str], wanted: Sequence[str], *, parameter: str, other: str) -> npt.NDArray[np.int64]:
    """Where each column that is wanted is among those that there are.

    Parameters
    ----------
    have, wanted : sequence of str
        Names of the columns; each once.
    parameter, other : str
        What both tables are called, for the message where they have not the same features.

    Returns
    -------
    ndarray of int
        ``[have[i] for i in order] == list(wanted)``.
    """
    places = {name: j for j, name in enumerate(have)}
    flaw = difference(have, wanted) or "has a name twice" * (len(places) != len(have))
    if flaw:
        raise InputError(
            f"the columns of {{parameter}} are not those of {other}: it {flaw}", parameter=parameter, kind="features"
        )
    return np.array([places[name] for name in wanted], np.int64)


def difference(have: Sequence[str], wanted: Sequence[str]) -> str:
    """What a table with some names lacks and has besides of those wanted, after "it"; empty where nothing is."""
    missing, extra = ([name for name in a if name not in b] for a, b in ((wanted, set(have)), (have, set(wanted))))
    flaws = [f"lacks {some(missing)}"] * bool(missing) + [f"has {some(extra)} besides"] * bool(extra)
    return " and ".join(flaws)


def some(names: Sequence[str]) -> str:
    """The first of some names."""
    return ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
