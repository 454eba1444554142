"""Weights under a loss that is bounded by a weighted one: Huber's by squares, the negative binomial by Poisson counts.

Every step solves the weighted problem of each sample exactly, and often takes Newton's step where that is no higher:
none raises the loss.  Samples leave when the optimality conditions of the loss itself hold, or when steps move them no
more.  Huber's problem is convex, so they are then best; that of the negative binomial is not, and they are in a minimum
near to the most likely Poisson weights.
"""

from __future__ import annotations

from dataclasses import replace
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
OFTEN, RARELY = 32, 16  # Newton's steps are taken from the first so many on, then as one of so many
SHARES = (
    1.0,
    1 / 4,
    1 / 16,
    1 / 64,
)  # of the way to where Fisher's scoring goes: it is the right one, but may be too far
EPS = np.finfo(np.float64).eps


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
    X = blocks.to_dense(blocks.zeroed(block)).astype(np.float64)
    known = blocks.to_dense(blocks.known(block)).astype(np.float64)
    W, kkt = np.full((len(X), len(parts.H)), np.nan), np.full(len(X), np.inf)
    rows, M = np.arange(len(X)), known.copy()
    for step in range(STEPS):
        x, v = X[rows], known[rows] if parts.features is None else known[rows] * parts.features
        w = _step(x, M, parts, loss[0])
        if step < OFTEN or step % RARELY == 0:
            with np.errstate(all="ignore"):  # a step out of range is no number, and is not taken
                _lower(x, v, w, _newton(x, v, w, parts, loss), parts, loss)
                if loss[0] != "huber":
                    _lower(x, v, w, _scored(x, v, w, parts, loss[1]), parts, loss, SHARES)
        still = np.abs(w - W[rows]).max(axis=1, initial=0.0) <= 4.0 * EPS * w.max(axis=1, initial=0.0)
        W[rows], kkt[rows] = w, _missed(x, v, w, parts, loss)
        left = (kkt[rows] > SETTLED) & ~still
        rows, M = rows[left], known[rows[left]] * _bound(x[left], w[left] @ parts.H, loss)
        if not len(rows):
            break
    return W.astype(block.dtype, copy=False), kkt


def _bound(x: Array, y: Array, loss: Loss) -> Array:
    """The weights of entries with which squares, or a Poisson likelihood, bound the loss and touch it at ``y``."""
    return (huber_squares if loss[0] == "huber" else binomial_slopes)(x, y, loss[1])


def _step(X: Array, M: Array, parts: Parts, name: str) -> Array:
    """Exact weights of the bound."""
    if name == "huber":
        return own_grams(X, M, parts)[0]
    # sum of M y - x log y is a Poisson likelihood of counts x / M, each counted M times
    return own_sums(np.divide(X, M, out=np.zeros_like(X), where=M > 0.0), M, parts)[0]


def _value(x: Array, v: Array, w: Array, parts: Parts, loss: Loss) -> Array:
    """The loss of each sample with its penalties, entries counted ``v`` times."""
    name, number = loss
    y = w @ parts.H
    if name == "huber":
        r = np.abs(x - y)
        each = np.where(r <= number, r**2 / 2.0, number * (r - number / 2.0))
    else:
        logs = np.log(y, out=np.zeros_like(y), where=x > 0.0)
        each = (x + 1.0 / number) * np.log1p(number * y) - x * logs
    return np.asarray((v * each).sum(axis=1) + parts.l1 * w.sum(axis=1) + parts.l2 / 2.0 * (w**2).sum(axis=1))


def _gradient(x: Array, v: Array, w: Array, parts: Parts, loss: Loss) -> Array:
    y = w @ parts.H
    if loss[0] == "huber":
        slope = huber_squares(x, y, loss[1]) * (y - x)
    else:
        slope = (1.0 - np.divide(x, y, out=np.zeros_like(x), where=y > 0.0)) / (1.0 + loss[1] * y)
    return np.asarray((v * slope) @ parts.H.T + parts.l1 + parts.l2 * w)


def _missed(x: Array, v: Array, w: Array, parts: Parts, loss: Loss) -> Array:
    """By what the optimality conditions are missed."""
    g = _gradient(x, v, w, parts, loss)
    counted = np.ones(parts.H.shape[1]) if parts.features is None else parts.features
    if loss[0] != "huber":  # large counts have small slopes: beside those that draw weights to zero
        counted = counted / (1.0 + loss[1] * (w @ parts.H))
    scale = counted @ np.abs(parts.H).T
    missed = np.where(w > 0.0, np.abs(g), np.maximum(-g, 0.0)) / np.where(scale > 0.0, scale, 1.0)
    # slopes of Huber's loss are delta at most, which is what they are small beside
    size = np.clip(np.abs(x).max(axis=1), 1e-300, loss[1]) if loss[0] == "huber" else 1.0
    return np.asarray(missed.max(axis=1, initial=0.0) / size)


def _newton(x: Array, v: Array, w: Array, parts: Parts, loss: Loss) -> Array:
    """Newton's step among the weights that are not held at zero: it may end higher, where a bound never does."""
    H, k = parts.H, len(parts.H)
    y, g = w @ H, _gradient(x, v, w, parts, loss)
    if loss[0] == "huber":
        curvature = (np.abs(x - y) <= loss[1]).astype(np.float64)
    else:
        ratio = np.divide(1.0, y, out=np.zeros_like(y), where=y > 0.0)
        curvature = x * ratio**2 - (x + 1.0 / loss[1]) / (y + 1.0 / loss[1]) ** 2
    free = (w > 0.0) | (g < 0.0)
    both = free[:, :, None] & free[:, None, :]
    G = np.where(both, np.einsum("nj,aj,bj->nab", v * curvature, H, H, optimize=True), 0.0)
    at = np.arange(k)
    largest = np.abs(G[:, at, at]).max(axis=1, initial=0.0)[:, None]
    G[:, at, at] += np.where(free, parts.l2 + 1e-14 * largest, 1.0) + (largest == 0.0)
    try:
        step = np.linalg.solve(G, np.where(free, g, 0.0)[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return w
    return np.asarray(np.maximum(w - step, 0.0))


def _scored(x: Array, v: Array, w: Array, parts: Parts, dispersion: float) -> Array:
    """Weights by squares over the variances of counts with the mean at hand: a step of Fisher's scoring."""
    y = w @ parts.H
    variance = np.maximum(y, EPS * y.max(axis=1, keepdims=True)) * (1.0 + dispersion * y)
    return own_grams(x, v / variance, replace(parts, features=None))[0]


def _lower(
    x: Array, v: Array, w: Array, to: Array, parts: Parts, loss: Loss, shares: tuple[float, ...] = (1.0,)
) -> None:
    """Move weights by the first of these shares of the way with which the loss does not rise."""
    step, left = to - w, np.ones(len(w), bool)
    before = _value(x, v, w, parts, loss)
    for share in shares:
        near = w + share * step
        taken = left & (_value(x, v, near, parts, loss) <= before)
        w[taken], left = near[taken], left & ~taken
