"""Known parts beside found ones: the same features, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.io.table import Table
from partwise.sources import blocks

Array = npt.NDArray[Any]


def aligned_reference(reference: Table, features: list[str] | None, n_features: int) -> tuple[list[str], Array]:
    """Names and rows of the reference over the features of the data, turned if its features are rows.

    Parameters
    ----------
    reference : Table
        Known parts, as rows or as columns.
    features : list of str or None
        Features of the data.
    n_features : int
        How many there are.

    Returns
    -------
    names : list of str
        Of the known parts.
    rows : ndarray of shape (n_known, n_features)
        In the order of the data's features.
    """
    wanted = None if features is None else list(features)
    for table in (reference, reference.transposed()):
        have = table.feature_names
        if wanted is not None and have is not None:
            places = {_number(name): j for j, name in enumerate(have)}
            order = [places.get(_number(name), -1) for name in wanted]
            if min(order) >= 0:
                return _known(table), np.asarray(blocks.to_dense(table.X), np.float64)[:, order]
        elif table.X.shape[1] == n_features:
            return _known(table), np.asarray(blocks.to_dense(table.X), np.float64)
    theirs = reference.feature_names or reference.sample_names or []
    there = ", ".join(theirs[:3]) or " x ".join(map(str, reference.X.shape))
    raise InputError(
        f"the features of {{parameter}} are not those of the data: it has {there} and the data "
        f"{', '.join(wanted[:3]) if wanted else n_features}",
        parameter="reference",
        kind="features",
    )


def _known(table: Table) -> list[str]:
    return table.sample_names or [f"known {i + 1}" for i in range(table.X.shape[0])]


def _number(name: str) -> Any:
    """Numbers are compared as such, whatever unit is behind them."""
    word = name.split()[0] if name.split() else name
    try:
        return round(float(word), 6)
    except ValueError:
        return name
