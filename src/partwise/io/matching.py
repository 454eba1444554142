"""Columns by their names: the features of one table in the order of another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.sources import RowSource, blocks
from partwise.sources.names import column_order, names_of, some


def aligned(X: Any, wanted: Sequence[str] | None) -> Any:
    """The columns of a data frame or source in this order, where it has the same ones in another; else as it is."""
    names = None if wanted is None else names_of(X)
    if wanted is None or names is None or names == list(wanted) or set(names) != set(wanted):
        return X
    if isinstance(X, RowSource):
        return match_features(X, names, wanted)
    import narwhals as nw

    return nw.from_native(X, eager_only=True).select([names[i] for i in _order(names, wanted)]).to_native()


def _order(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    return [int(i) for i in column_order(names, wanted, parameter="X", other="the fit")]


def match_features(
    source: RowSource,
    names: Sequence[str],
    wanted: Sequence[str],
    *,
    ignore_extra: bool = False,
    fill_missing: bool = False,
) -> RowSource:
    """The columns that are wanted, in their order; where they are so already, the source itself.

    Parameters
    ----------
    names : sequence of str
        Names of its columns, each once.
    wanted : sequence of str
        Names of the columns that are wanted.
    ignore_extra : bool, default=False
        Leave out columns that are not wanted, instead of refusing them.
    fill_missing : bool, default=False
        Take columns that are missing for zeros, instead of refusing the data.

    Returns
    -------
    RowSource
        With ``len(wanted)`` features, which are named.
    """
    places = {name: j for j, name in enumerate(names)}
    columns = np.array([places.get(name, -1) for name in wanted], dtype=np.int64)
    missing = [name for name in wanted if name not in places]
    extra = sorted(set(places) - set(wanted), key=lambda name: places[name])
    if len(missing) == len(wanted):
        raise InputError(
            f"none of the model's {len(wanted)} features is there: it has {some(wanted)}, and the data {some(names)}",
            parameter="names",
            kind="features",
        )
    flaws = []
    if missing and not fill_missing:
        flaws.append(f"{len(missing)} of the model's features missing: {some(missing)}")
    if extra and not ignore_extra:
        flaws.append(f"{len(extra)} features that the model does not know: {some(extra)}")
    if flaws:
        raise InputError(f"the data has {' and '.join(flaws)}", parameter="names", kind="features")
    if len(names) != len(wanted) or (columns != np.arange(len(wanted))).any():
        source = source.derive(partial(blocks.take_columns, columns=columns), n_features=len(wanted))
    return source.named(feature_names=list(wanted))
