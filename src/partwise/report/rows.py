"""The one pass over the data: what every sample is made of, kept only as sums, extremes and an even selection."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.io.preparation import Preparation
from partwise.metrics.residuals import CANCELLATION
from partwise.sources import RowSource, blocks, source_of
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

# a choice: enough for a line of examples
BEST = 6  # samples kept for every part
WORST = 6  # samples kept that are explained worst
NAMED = 6  # zero rows kept by number
POOR = 0.5  # a sample of which more than this share is left unexplained is poorly explained
LEAST_NORM = 1e-290  # squared, below which figures are lost: 18 digits above the least normal number, 2e-308
OUT_OF_RANGE = "data or weights hold NaN or infinity, or entries whose squares leave the range of numbers"
MAP_ENTRIES = 1 << 22  # of weights kept for the map: 32 MB
CURVE_ENTRIES = 1 << 20  # of unexplained shares kept for the histogram: 8 MB


@dataclass(frozen=True)
class Selected:
    """A few samples by number, and what they were selected by; the best first."""

    numbers: Array
    scores: Array
    values: Array

    @classmethod
    def best(cls, numbers: Array, scores: Array, values: Array, count: int) -> Selected:
        """The samples of the highest scores above zero; of equal ones the first."""
        order = np.lexsort((numbers, -scores))[:count]
        order = order[scores[order] > 0.0]
        return cls(numbers[order], scores[order], values[order])

    def with_(self, other: Selected, count: int) -> Selected:
        """The best of both."""
        numbers, scores, values = (
            np.concatenate(pair)
            for pair in zip(
                (self.numbers, self.scores, self.values), (other.numbers, other.scores, other.values), strict=True
            )
        )
        return Selected.best(numbers, scores, values, count)


@dataclass(frozen=True)
class Rows:
    """What the pass found.

    Attributes
    ----------
    mass : ndarray of shape (n_components,)
        Sum over the samples of weight times 1-norm of the component: how much of the model each part is.
    dominant : ndarray of shape (n_components,)
        Number of samples in which the part has most mass.
    left, norm : float
        Squared norms of the residual and of the data.
    poor, n_zero : int
        Samples that are poorly explained, and all-zero ones.
    zero_rows : ndarray
        Numbers of the first zero rows.
    support : ndarray of shape (n_features,)
        Whether a feature is more than zero anywhere.
    best : tuple of Selected
        For each part the samples that show it best: the part's share in the sample's mass times the share of the
        sample that is explained; values are the former.
    worst : Selected
        The samples explained worst.
    unexplained : ndarray
        Squared residual over squared norm of the samples that are not zero (of an even selection of very many).
    shares : ndarray of shape (n_shown, n_components)
        Shares of the parts in samples (in an even selection of many), zero for a sample without weights.
    """

    mass: Array
    dominant: Array
    left: float
    norm: float
    poor: int
    n_zero: int
    zero_rows: Array
    support: Array
    best: tuple[Selected, ...]
    worst: Selected
    unexplained: Array
    shares: Array


def pass_over(source: RowSource, model: Any, weights: Any = None) -> Rows:
    """Look at every sample once; without weights they are computed block by block and not kept."""
    n, k = source.shape[0], len(model.components_)
    H = np.asarray(model.components_, np.float64)
    look = partial(
        _look,
        model=_bare(model),
        Ht=np.ascontiguousarray(H.T),
        steps=(max(1, -(-n // CURVE_ENTRIES)), max(1, -(-n * k // MAP_ENTRIES))),
    )
    aligned = () if weights is None else (weights,)
    found: Rows = source.reduce(look, np.arange(n, dtype=np.int64), *aligned, combine=_merge)
    if found.n_zero < n and found.norm < LEAST_NORM:
        raise InputError(OUT_OF_RANGE)
    return found


def _bare(model: Any) -> Any:
    """The model without its callbacks, which need not be able to travel to where the rows are; rows come prepared."""
    bare = copy(model)
    bare.preparation_ = Preparation()
    if hasattr(bare, "callbacks"):
        bare.callbacks = ()
    return bare


def _look(block: Block, numbers: Array, weights: Any = None, *, model: Any, Ht: Array, steps: tuple[int, int]) -> Rows:
    if weights is None:
        # as a source: the names of the columns were compared before
        weights = model.transform(source_of(block))
    W = np.asarray(weights, np.float64)
    if not np.isfinite(W).all():
        raise InputError("weights contain NaN or infinity")
    with np.errstate(over="ignore", invalid="ignore"):
        left, norms = residuals(block, W, Ht)
    if not (np.isfinite(left).all() and np.isfinite(norms).all()):
        raise InputError(OUT_OF_RANGE)
    amounts = np.abs(W) * np.abs(Ht).sum(axis=0)
    totals = amounts.sum(axis=1)
    shares = amounts / np.where(totals > 0.0, totals, 1.0)[:, None]
    used = totals > 0.0
    something, support = blocks.support(block)
    unexplained = left / np.where(norms > 0.0, norms, 1.0)
    unexplained[~something] = 0.0
    scores = shares * np.clip(1.0 - unexplained, 0.0, 1.0)[:, None]
    return Rows(
        mass=amounts.sum(axis=0),
        dominant=np.bincount(amounts.argmax(axis=1)[used], minlength=W.shape[1]),
        left=float(left.sum()),
        norm=float(norms.sum()),
        poor=int((unexplained > POOR).sum()),
        n_zero=int((~something).sum()),
        zero_rows=numbers[~something][:NAMED],
        support=support,
        best=tuple(Selected.best(numbers, scores[:, j], shares[:, j], BEST) for j in range(W.shape[1])),
        worst=Selected.best(numbers, unexplained, unexplained, WORST),
        unexplained=unexplained[something & (numbers % steps[0] == 0)],
        shares=shares[numbers % steps[1] == 0].astype(np.float32),
    )


def _merge(a: Rows, b: Rows) -> Rows:
    return Rows(
        mass=a.mass + b.mass,
        dominant=a.dominant + b.dominant,
        left=a.left + b.left,
        norm=a.norm + b.norm,
        poor=a.poor + b.poor,
        n_zero=a.n_zero + b.n_zero,
        zero_rows=np.concatenate([a.zero_rows, b.zero_rows])[:NAMED],
        support=a.support | b.support,
        best=tuple(x.with_(y, BEST) for x, y in zip(a.best, b.best, strict=True)),
        worst=a.worst.with_(b.worst, WORST),
        unexplained=np.concatenate([a.unexplained, b.unexplained]),
        shares=np.concatenate([a.shares, b.shares]),
    )


def residuals(block: Block, W: Array, Ht: Array) -> tuple[Array, Array]:
    """Squared norms of every row of ``block - W Ht'`` and of the block."""
    norms = blocks.squared_norms(block)
    if blocks.is_complete(block):
        return _dense_residuals(block, W, Ht), norms
    cross = np.zeros(len(W))
    for rows, part in blocks.row_parts(block):
        at = blocks.product_at(part, W[rows], Ht)
        cross[rows] = blocks.row_sums(blocks.with_values(part, blocks.values(part) * at))
    left = norms - 2.0 * cross + np.vecdot(W @ (Ht.T @ Ht), W)
    doubtful = np.flatnonzero(left <= CANCELLATION * norms)
    if len(doubtful):
        left[doubtful] = _dense_residuals(block[doubtful], W[doubtful], Ht)
    return left, norms


def _dense_residuals(block: Block, W: Array, Ht: Array) -> Array:
    left = np.empty(len(W))
    for a, b in blocks.row_chunks(block):
        R = blocks.to_dense(block[a:b]) - W[a:b] @ Ht.T
        left[a:b] = np.vecdot(R, R)
    return left
