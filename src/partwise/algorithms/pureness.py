"""What the samples say of parts that were found among them: whether some are pure, and whether some are of no part."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.archetypes import WIDE, counts_of
from partwise.algorithms.directions import Directions
from partwise.sources import blocks

Array = npt.NDArray[Any]

SEEN = 4  # samples for each direction outside the span, where the variation of a part is looked for
EXACTLY = 1e-12  # of the squared deviation inside, or length: what is less is rounding
OFF = 5.0  # times the typical distance from the span of the parts: like none of them


def unlike(data: Directions, E: Array) -> float:
    """Share of the samples that are `OFF` times as far from the span of the parts as the typical one, or farther.

    From the span: samples that are purer than the parts are far from their mixtures, too, where there is little noise.
    """
    Q = np.linalg.qr(E.T)[0]
    left = blocks.squared_norms(data.points - data.points @ Q @ Q.T)
    return float(np.mean(left > max(OFF**2 * float(np.median(left)), EXACTLY)))


def variation(data: Directions, E: Array, A: Array, trim: float) -> Array:
    """Of what the samples that have most of each part differ by inside the span, the share that is the part's own.

    A part that varies takes its samples out of the span of the parts and along it, both at once: the one tells the
    other, as far as a regression says.  What is mixed with other parts stays inside.

    Parameters
    ----------
    data : Directions
        The samples.
    E : ndarray of shape (k, d)
        The parts.
    A : ndarray of shape (n_points, k)
        Weights of the samples.
    trim : float
        Share of a part's samples that are looked at.

    Returns
    -------
    ndarray of shape (k,)
        Near 1 if these samples are pure and the part varies, near 0 if they are mixtures or noise is white; NaN for a
        part that has too few samples to say.
    """
    amounts = A * np.linalg.norm(E, axis=1)
    amounts /= np.maximum(amounts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    Q = np.linalg.qr(E.T, mode="complete")[0]
    least = SEEN * max(E.shape[1] - len(E), 1)
    found = np.full(len(E), np.nan)
    for j, count in enumerate(counts_of(A, trim)):
        if WIDE * count >= least:
            purest = np.argsort(-amounts[:, j], kind="stable")[: max(count, least)]
            found[j] = _explained(data.points[purest] @ Q, E[j] @ Q, len(E))
    return found


def _explained(points: Array, part: Array, k: int) -> float:
    """Share of the variance along the first k coordinates, but for that of the part, which the others explain."""
    points = points - points.mean(axis=0)
    inside, outside = points[:, :k], points[:, k:]
    towards = part[:k] / max(float(np.linalg.norm(part[:k])), np.finfo(float).tiny)
    inside = inside - np.outer(inside @ towards, towards)
    freedom = len(points) - 1 - outside.shape[1]
    total, beside = float(np.square(inside).sum()), float(np.square(outside).sum())
    if freedom < 1 or total == 0.0 or beside <= EXACTLY * total:
        return 0.0
    left = float(np.square(inside - outside @ np.linalg.lstsq(outside, inside, rcond=None)[0]).sum())
    return max(1.0 - float(left / freedom / (total / (len(points) - 1))), 0.0)
