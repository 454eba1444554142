"""Weights of a whole data set, which stay on disk where the data does."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partwise.algorithms.loop import State
from partwise.estimators.base import Factorization
from partwise.estimators.observing import NOTHING
from partwise.metrics.residuals import squared_residual
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block


def fit_weights(model: Factorization, source: RowSource, state: State | None = None) -> Any:
    """Fit, and keep the weights that its error is computed with.

    Parameters
    ----------
    model : estimator
        With its parameters.
    state : mapping, optional
        Where another fit of it had come to.

    Returns
    -------
    ndarray or ScratchRows of shape (n_samples, n_components)
        As `stored_weights` returns them.
    """
    return model._fit_whole(source, weights=True, stored=True, state=state)[1]


def stored_weights(model: Factorization, source: RowSource, *, check: bool = True) -> Any:
    """The bits of ``model.transform(source)``, in memory for rows in memory, else in a temporary file.

    The rows are prepared as the model has it.

    Parameters
    ----------
    model : estimator
        Fitted.
    check : bool, default=True
        Whether to look at the data first, as ``transform`` does.

    Returns
    -------
    ndarray or ScratchRows of shape (n_samples, n_components)
        Slices of rows can be taken of both.
    """
    check_is_fitted(model)
    if check:
        source, observed = model._readable(source)
    else:
        source, observed, _ = model._observe(model.preparation_.apply(source, check=False), NOTHING)
    return model._decode(source, stored=True, observed=observed)


def relative_error(model: Factorization, source: RowSource, weights: Any) -> float:
    """``|X - W H| / |X|`` with these weights, of the prepared rows."""
    source, observed, _ = model._observe(model.preparation_.apply(source, check=False), NOTHING)
    squared, norm = squared_residual(source, np.ascontiguousarray(model.components_.T), W=weights, observed=observed)
    return float(np.sqrt(squared / norm)) if norm > 0.0 else 0.0


def completed(model: Factorization, source: RowSource, weights: Any = None) -> tuple[RowSource, float]:
    """Prepared rows without holes, and the share of entries that the parts have filled in.

    Parameters
    ----------
    model : estimator
        Fitted.
    source : RowSource
        Rows, prepared as the model has it.
    weights : row-aligned array of shape (n_samples, n_components), optional
        By default they are computed.

    Returns
    -------
    source : RowSource
        Itself where every entry is known.
    unknown : float
        The share of entries that are not.
    """
    rows, observed, _ = model._observe(source, NOTHING)
    if not observed.holes:
        return source, 0.0
    W = model._decode(rows, observed=observed) if weights is None else weights
    Ht = np.ascontiguousarray(model.components_.T, source.dtype)
    return rows.derive(partial(_completed_block, Ht=Ht), W), observed.unknown


def holed(model: Factorization, source: RowSource) -> tuple[RowSource, bool]:
    """Prepared rows with their holes, as the model has it what stands for one, and whether there are any."""
    if getattr(model, "missing", None) is None:
        return source, False
    rows, observed, _ = model._observe(source, NOTHING)
    return rows, observed.holes


def _completed_block(block: Block, W: Any, *, Ht: Any) -> Any:
    return blocks.completed(block, np.asarray(W), Ht)


def part_shares(components: Any, weights: Any) -> Any:
    """How much of all that is explained each part explains: the sum of its weights times that of its entries."""
    totals = np.zeros(len(components))
    for first in range(0, weights.shape[0], 65536):
        totals += weights[first : first + 65536].sum(axis=0, dtype=np.float64)
    sizes = totals * np.abs(np.asarray(components, np.float64)).sum(axis=1)
    return sizes / sizes.sum() if sizes.sum() > 0.0 else sizes
