"""Weights under a loss that is bounded by a weighted one: Huber's by squares, the negative binomial by Poisson counts.

Every step solves the weighted problem of each sample exactly, and none raises the loss; samples leave when the
optimality conditions of the loss itself hold.  Huber's problem is convex, so they are then best; that of the negative
binomial is not, and they are where the most likely Poisson weights lead to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.linalg.incomplete import Parts, own_grams, own_sums
from partwise.sources import blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Loss = tuple[str, float]

NAMED = ("huber", "negative-binomial")
STEPS, SETTLED = 40000, 1e-9


def named_loss(given: Any, parameter: str) -> Loss | None:
    """A loss that is given as its name and its number; None for anything else."""
    if isinstance(given, str) and given in NAMED:
        words = f"{{parameter}}: {given} needs its number: ({given!r}, 1.0)"
        raise InputError(words, parameter=parameter, kind="value")
    if not isinstance(given, (tuple, list)):
        return None
    try:
        name, number = given
        number = float(number)
    except (TypeError, ValueError):
        name, number = "", np.nan
    if name not in NAMED or not (np.isfinite(number) and number > 0.0):
        raise InputError(
            "{parameter} must be ('huber', delta) or ('negative-binomial', dispersion), with a positive number; got "
            f"{str(given)[:60]}",
            parameter=parameter,
            kind="value",
        )
    return name, number


def huber_squares(x: Array, y: Array, delta: float) -> Array:
    """The weights of squares that bound Huber's loss at the product ``y``."""
    r = np.abs(x - y)
    return np.asarray(np.divide(delta, r, out=np.ones_like(r), where=r > delta))


def binomial_slopes(x: Array, y: Array, dispersion: float) -> Array:
    """The slopes of the tangents, at ``y``, that make a Poisson likelihood of the negative binomial one."""
    a = 1.0 / dispersion
    return np.asarray((x + a) / (y + a))


def decode_reweighed(block: Block, *, parts: Parts, loss: Loss, complete: bool = False) -> Array:
    """Weights of a block of rows with holes, or of one that is complete: where nothing is stored there is a zero."""
    return certified_reweighed(blocks.to_dense(block) if complete else block, parts=parts, loss=loss)[0]


def certified_reweighed(block: Block, *, parts: Parts, loss: Loss) -> tuple[Array, Array]:
    """Weights, and by what the optimality conditions are missed, relative to the sample and the components."""
    name, number = loss
    X = blocks.to_dense(blocks.zeroed(block)).astype(np.float64)
    known = blocks.to_dense(blocks.known(block)).astype(np.float64)
    H = parts.H
    scale = np.abs(H) @ (np.ones(H.shape[1]) if parts.features is None else parts.features)
    W, kkt = np.zeros((len(X), len(H))), np.full(len(X), np.inf)
    rows, M = np.arange(len(X)), known.copy()
    for _ in range(STEPS):
        W[rows] = _step(X[rows], M, parts, name)
        x, y = X[rows], W[rows] @ H
        if name == "huber":
            M = known[rows] * huber_squares(x, y, number)
            slope = M * (y - x)
        else:
            M = known[rows] * binomial_slopes(x, y, number)
            slope = M - known[rows] * np.divide(x, y, out=np.zeros_like(x), where=y > 0.0)
        g = (slope if parts.features is None else slope * parts.features) @ H.T + parts.l1 + parts.l2 * W[rows]
        # slopes of Huber's loss are delta at most, which is what they are small beside
        size = np.clip(np.abs(X[rows]).max(axis=1), 1e-300, number) if name == "huber" else np.ones(len(rows))
        norms = np.where(scale > 0.0, scale, 1.0)
        missed = np.where(W[rows] > 0.0, np.abs(g), np.maximum(-g, 0.0)) / norms
        kkt[rows] = missed.max(axis=1, initial=0.0) / size
        left = kkt[rows] > SETTLED
        rows, M = rows[left], M[left]
        if not len(rows):
            break
    return W.astype(block.dtype, copy=False), kkt


def _step(X: Array, M: Array, parts: Parts, name: str) -> Array:
    """Exact weights of the bound."""
    if name == "huber":
        return own_grams(X, M, parts)[0]
    # sum of M y - x log y is a Poisson likelihood of counts x / M, each counted M times
    return own_sums(np.divide(X, M, out=np.zeros_like(X), where=M > 0.0), M, parts)[0]
