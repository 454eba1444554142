"""From which size on penalties leave nothing of a model."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine import Pair
from partwise.linalg.svd import truncated_svd
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

GRID = 241
SCALES = 8.0  # decades of sizes looked at, around those of the data


def emptying_factor(source: RowSource, pair: Pair, rng: np.random.Generator) -> float:
    """The largest multiple of the penalties at which a part along the largest singular pair pays for itself.

    With ``w = a u`` and ``h = b v`` along the largest singular value s the objective is
    ``-a b s + (a b)^2 / 2`` and the penalties, relative to no part at all. Above, a part of another direction may still
    pay; below, an empty model is not the best one. With l2 alone the number is exact.

    Parameters
    ----------
    source : RowSource
        The data, without holes.

    Returns
    -------
    float
        Zero if no part ever pays.
    """
    _, V = truncated_svd(source, 1, rng=rng)
    v = np.abs(V[0])
    sums, squares = source.reduce(partial(_projected, v=np.ascontiguousarray(v[:, None], source.dtype)))
    sigma = float(np.sqrt(squares))
    if sigma == 0.0:
        return 0.0
    u_sum, v_sum = sums / sigma, float(v.sum())
    product = sigma * np.logspace(-6, 0.5, GRID)[:, None]
    a = np.sqrt(product) * np.logspace(-SCALES / 2, SCALES / 2, GRID)
    b = product / a
    gain = product * sigma - 0.5 * product**2
    W, H = pair.on_W.elastic, pair.on_H.elastic
    on_W = a if pair.alone != "W" else a * b / np.sqrt(pair.n_H)
    on_H = b if pair.alone != "H" else a * b / np.sqrt(pair.n_W)
    cost = W["l1"] * u_sum * on_W + 0.5 * W["l2"] * on_W**2 + H["l1"] * v_sum * on_H + 0.5 * H["l2"] * on_H**2
    return float(np.max(gain / np.maximum(cost, np.finfo(float).tiny)))


def _projected(block: Block, *, v: Array) -> tuple[float, float]:
    """Sum and squared length of ``X v``."""
    found = blocks.dot(block, v)[:, 0].astype(np.float64)
    return float(np.abs(found).sum()), float(found @ found)
