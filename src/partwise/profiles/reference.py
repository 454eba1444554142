"""Known parts beside found ones: the same features, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.io.table import Table
from partwise.sources import blocks

Array = npt.NDArray[Any]

SAME = 1e-3  # of the distance of two points: less is how they are written


def aligned_reference(reference: Table, features: list[str] | None, n_features: int) -> tuple[list[str], Array]:
    """Names and rows of the reference over the features of the data, turned if its features are rows.

    Parameters
    ----------
    reference : Table
        Known parts, as rows or as columns.
    features : list of str or None
        Features of the data.

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
            order = _order(have, wanted)
            if order is not None:
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


def _order(have: list[str], wanted: list[str]) -> Array | None:
    """Where each of the wanted names stands; numbers are compared as such, whatever unit is behind them."""
    theirs, ours = _numbers(have), _numbers(wanted)
    if theirs is None or ours is None:
        places = {name: j for j, name in enumerate(have)}
        order = np.array([places.get(name, -1) for name in wanted])
        return order if order.min() >= 0 else None
    # points are written with as many digits as a program likes: the nearest one, if it is no other point
    step = np.diff(np.unique(ours)).min(initial=np.abs(ours).max())
    rank = np.argsort(theirs, kind="stable")
    right = np.clip(np.searchsorted(theirs, ours, sorter=rank), 1, max(len(rank) - 1, 1))
    both = rank[np.stack([right - 1, np.minimum(right, len(rank) - 1)])]
    nearest = np.take_along_axis(both, np.abs(theirs[both] - ours).argmin(axis=0)[None], axis=0)[0]
    return nearest if (np.abs(theirs[nearest] - ours) <= SAME * step).all() else None


def _numbers(names: list[str]) -> Array | None:
    try:
        values = np.array([float(name.split()[0]) for name in names])
    except (IndexError, ValueError):
        return None
    return values if np.isfinite(values).all() else None
