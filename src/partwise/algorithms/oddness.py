"""Samples that are unlike all others: a direction, or a feature, that only a handful of them carry is no part."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.linalg.svd import truncated_svd
from partwise.noise.spectrum import edge
from partwise.sources import RowSource, blocks

Array = npt.NDArray[Any]

HANDFUL = 5.0  # samples: a direction that fewer carry could be any of them, and no mean would tell
TENTH = 10.0  # of few samples a tenth is a handful
PAIR = (
    3.0  # samples: a feature that fewer carry, though most samples have it, has an entry that is out of all proportion
)
COMMON = 0.5  # of the samples have a common feature: of rare ones it is usual that few samples carry them
FURTHER = 10  # directions beside those of the parts, where there is room: each odd sample takes one
FEWEST = 20  # samples, or four times the parts, below which every direction is carried by a handful
MOST = 0.25  # of the samples: if more were odd, it would be the others that are
PASSES = 4  # over the data in search of a span: odd samples stand out, and half-settled vectors show them
ROUNDS = 10  # of setting aside: the span without some samples may show others
NOTHING = 1e-6  # of the largest singular value: directions below are rounding, or as good as


def odd_samples(source: RowSource, k: int) -> npt.NDArray[np.int64]:
    r"""The samples that carry a leading direction of the data all but alone.

    The participation number of a left singular vector u of unit length, :math:`1 / \sum_i u_i^4`, is about the number
    of samples that it rests on. Where it is below a handful, those with more than a tenth of its square are odd; the
    directions of the others are then looked at anew.

    Parameters
    ----------
    source : RowSource
        The data, as the method that looks for parts sees it: weighed, if it weighs.
    k : int
        Number of parts.

    Returns
    -------
    ndarray of int64
        Numbers of the samples, rising.
    """
    n = source.shape[0]
    kept = np.ones(n, bool)
    if n < max(FEWEST, 4 * k):
        return np.flatnonzero(~kept)
    for _ in range(ROUNDS):
        rows = source if kept.all() else source.choose(kept)
        found = np.flatnonzero(kept)[_alone(rows, k)]
        if not len(found) or n - kept.sum() + len(found) > MOST * n:
            break
        kept[found] = False
    return np.flatnonzero(~kept)


def exceeds(values: Array, k: int) -> bool:
    """Whether there is more in the data than k parts: else each of its directions is one, whoever carries it."""
    return bool((values[k:] > NOTHING * values.max(initial=0.0)).any())


def odd_entries(source: RowSource, k: int) -> npt.NDArray[np.int64]:
    """Empty samples, and those that have a common feature all but alone: one gene at a hundred times its count.

    Samples count at unit length; a participation number (see `odd_samples`) of a feature below a pair is alone.

    Parameters
    ----------
    source : RowSource
        The data.
    k : int
        Number of parts.

    Returns
    -------
    ndarray of int64
        Numbers of the samples, rising.
    """
    n = source.shape[0]
    if n < max(FEWEST, 4 * k):
        return np.zeros(0, np.int64)
    squares, fourths, present, used = source.reduce(_feature_block)
    few = (present >= COMMON * used) & (squares**2 < PAIR * fourths)
    if few.any():
        values, _ = truncated_svd(source, min(k + 1, *source.shape), rng=np.random.default_rng(0), max_passes=PASSES)
        few &= exceeds(values, k)
    if not few.any() and used == n:
        return np.zeros(0, np.int64)
    limits = np.where(few, squares / (2.0 * PAIR), np.inf)
    above, zero = np.asarray(source.map_rows(partial(_above_block, limits=limits), width=2, dtype=np.float64)).T > 0.0
    return np.flatnonzero(zero | above if above.sum() <= MOST * used else zero)


def _unit_squares(block: Any) -> Any:
    lengths = blocks.norms(block)
    unit = blocks.scale_rows(block, np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0))
    return blocks.with_values(unit, np.square(blocks.values(unit), dtype=np.float64))


def _feature_block(block: Any) -> tuple[Array, Array, Array, int]:
    S = _unit_squares(block)
    ones = np.ones((S.shape[0], 1))
    fourths, present = (blocks.with_values(S, f(blocks.values(S))) for f in (np.square, np.sign))
    used = int((blocks.norms(block) > 0.0).sum())
    return blocks.tdot(S, ones)[:, 0], blocks.tdot(fourths, ones)[:, 0], blocks.tdot(present, ones)[:, 0], used


def _above_block(block: Any, limits: Array) -> Array:
    S = _unit_squares(block)
    few = np.flatnonzero(np.isfinite(limits))
    above = (blocks.to_dense(blocks.take_columns(S, few)) > limits[few]).any(axis=1)
    return np.column_stack([above, blocks.norms(block) == 0.0]).astype(np.float64)


def _alone(source: RowSource, k: int) -> npt.NDArray[np.int64]:
    """The samples that directions with a small participation number rest on."""
    n, m = source.shape
    d = k + FURTHER if 2 * (k + FURTHER) <= min(n, m) else min(k + 1, n, m)
    values, basis = truncated_svd(source, d, rng=np.random.default_rng(0), max_passes=PASSES)
    if not exceeds(values, k):
        return np.zeros(0, np.int64)
    U = np.asarray(source.map_rows(partial(_squares, basis=_typed(basis, source)), width=d + 1, dtype=np.float64))
    # beside those that take the place of a part, directions above what noise of the size of the rest would make
    variance = max(float(U[:, d].sum() - values @ values), 0.0) / max((n - d) * (m - d), 1)
    looked = (values**2 > variance * edge(n, m)) | (np.arange(d) < k)
    looked[k:] &= d == k + FURTHER
    shares = U[:, :d][:, looked] / np.maximum(U[:, :d][:, looked].sum(axis=0), np.finfo(np.float64).tiny)
    handful = min(HANDFUL, n / TENTH)
    few = (shares * shares).sum(axis=0) > 1.0 / handful
    return np.flatnonzero((shares[:, few] > 0.5 / handful).any(axis=1))


def _typed(basis: Array, source: RowSource) -> Array:
    return np.ascontiguousarray(basis.T, source.dtype)


def _squares(block: Any, basis: Array) -> Array:
    """Squares of the coordinates of every row, and of its length."""
    inside = np.square(blocks.dot(block, basis), dtype=np.float64)
    return np.column_stack([inside, blocks.squared_norms(block)])
