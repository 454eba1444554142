"""Alternating updates for a loss that is quadratic in each factor: weights, then components, on sufficient statistics.

One pass a round: a block of rows updates its weights ``W`` for the components at hand and, while it is in cache,
contributes to ``W' W`` and ``X' W``, which is all that the components' update needs.

Extrapolation (Ang & Gillis 2019, "Accelerating NMF by extrapolation"): both factors move on beyond their update by
``beta`` times the last step.  The pair that a round ends with is feasible and its objective is known exactly, so the
round is kept only if the objective did not rise; otherwise the next round starts at the kept pair, without momentum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine.constraints import Constraint, NonNegative
from partwise.algorithms.engine.factor import PLAIN, Factor
from partwise.algorithms.engine.rows import RowUpdate, solve_rows
from partwise.algorithms.engine.squared import SquaredError
from partwise.algorithms.loop import Progress, State
from partwise.linalg.nnls import Gram, decode_block
from partwise.sources import MemorySource, RowSource, add, blocks
from partwise.sources.memory import SMALLEST_BLOCK_ROWS
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]

POSITIVE_START = 1e-3  # relative to the largest entry


@dataclass
class Momentum:
    """The extrapolation weight beta and its bounds, with the constants of Ang & Gillis (2019) but a bolder start."""

    beta: float = 0.7
    ceiling: float = 1.0
    growth: float = 1.05
    ceiling_growth: float = 1.01
    shrink: float = 1.5

    def accept(self) -> None:
        """The objective fell: trust the direction more."""
        self.beta = min(self.ceiling, self.growth * self.beta)
        self.ceiling = min(1.0, self.ceiling_growth * self.ceiling)

    def reject(self) -> None:
        """The objective rose: less, and remember where."""
        self.ceiling = self.beta
        self.beta /= self.shrink


def alternate(
    source: RowSource,
    H0: Array,
    *,
    W0: Array | None = None,
    loss: SquaredError,
    beside: tuple[Rows, ...] = (),
    update: RowUpdate,
    on_W: Factor = PLAIN,
    on_H: Factor = PLAIN,
    extrapolate: bool = False,
    positive_start: bool = False,
    tol: float = 0.0,
    state: State | None = None,
) -> Iterator[Progress]:
    """Alternate updates of weights and components; yields the start, then every round that was kept.

    The residual of a round with momentum belongs to the extrapolated point; when it reaches ``tol`` a round
    without momentum follows, whose residual is exact and ``certified``.

    Parameters
    ----------
    source : RowSource
        The data.
    H0 : ndarray of shape (n_components, n_features)
        Where to start.
    W0 : ndarray of shape (n_samples, n_components), optional
        The weights to start with; by default the best ones of ``H0``.
    loss : SquaredError
        What is minimised, with the penalties.
    beside : tuple of row-aligned arrays
        What the loss needs beside the data.
    update : callable
        How rows that must not be negative are updated: see ``rows.py``.
    on_W, on_H : Factor
        What is asked of the factors.
    extrapolate : bool
        Whether to move on beyond updates.
    positive_start : bool
        Lift zeros of the first weights and components, which multiplicative updates could never leave; not where both
        are given.
    tol : float
        The residual at which momentum ends.
    state : mapping, optional
        Of an earlier run, whose components ``H0`` are: the first round is then the next one.
    """
    k, size = len(H0), loss.squared_norm
    H = np.ascontiguousarray(H0.T, source.dtype)
    # what rounding may leave in the objective: of the last sums, which are in double precision, and of the statistics,
    # whose errors are as many as their entries and cancel (measured in single precision: a thirtieth of this)
    slack = (64.0 * np.finfo(np.float64).eps + np.finfo(source.dtype).eps) * size
    spare, ahead, moving = None, H, False
    if state is None:
        momentum, last = Momentum(), np.inf
        lift = POSITIVE_START if positive_start and W0 is None else 0.0
        opening = partial(_given_block, loss=loss, on_W=on_W)
        given = () if W0 is None else (given_weights(source, W0),)
        if W0 is None:
            opening = _opening(H0, H, loss, on_W, lift, plain=not beside)
        ahead = H = lifted(H, lift * H.max(initial=0.0), on_H) if lift else H
        W, stats = source.map_rows(opening, *given, *beside, width=k, combine=add)
        best = _objective(H, stats, loss, on_H)
        del stats, opening, given  # each as large as the components
        yield Progress(H.T, best, state=_state(source, W, None, momentum, last, best))
    else:
        momentum = Momentum(float(state["beta"]), float(state["ceiling"]))
        last, best = float(state["last"]), float(state["best"])
        W = placed(source, state)
        if "ahead" in state:
            ahead, moving = np.array(state["ahead"], source.dtype, order="C"), True
    del H0, W0, state
    while True:
        beta = momentum.beta if moving else 0.0
        step = partial(_round_block, H=ahead, shared=loss.shared(ahead), loss=loss, on_W=on_W, update=update, beta=beta)
        spare, (residual_W, *stats) = source.map_rows(step, W, *beside, width=k, combine=add, out=spare)
        new, residual_H = _update_components(ahead, stats, on_H, update)
        objective = _objective(new, stats, loss, on_H)
        del stats, step  # each as large as the components: not during the next pass
        kkt = float(np.sqrt((residual_W + residual_H) / size)) if size > 0.0 else 0.0
        # where the objective is too small to be told from its rounding error, the KKT residual judges
        worse = kkt > last if abs(objective - best) <= slack else objective > best
        if worse and moving:
            momentum.reject()
            ahead, moving = H, False
            continue
        last = kkt
        certified = not moving
        W, spare = spare, W
        ahead = _ahead(new, H, beta, on_H.constraint) if beta else new
        H, best = new, min(best, objective)
        if extrapolate:
            if moving:
                momentum.accept()
            moving = kkt > tol
            ahead = ahead if moving else H
        kept = _state(source, W, ahead if moving else None, momentum, last, best)
        yield Progress(H.T, objective, kkt, certified=certified, details={"momentum": beta}, state=kept)


def placed(source: RowSource, state: State) -> Rows:
    """The weights of a state beside their rows; a copy, since rounds write over them."""
    return given_weights(source, state["W"])


def given_weights(source: RowSource, W0: Array) -> Rows:
    """Weights of the caller beside their rows."""
    return source.place(np.array(W0, source.dtype, order="C"))


def lifted(H: Array, least: float, on_H: Factor) -> Array:
    """Components without entries below ``least``, where they are not fixed."""
    H, moving = H.copy(), on_H.constraint.moving(H.shape[1])
    H[:, moving] = np.maximum(H[:, moving], np.asarray(least, H.dtype))
    return H


def _state(source: RowSource, W: Rows, ahead: Array | None, momentum: Momentum, last: float, best: float) -> State:
    """All that a round begins with but the components; without momentum it begins at those."""
    numbers = {"beta": momentum.beta, "ceiling": momentum.ceiling, "last": last, "best": best}
    return {"W": source.deliver(W), **numbers} | ({} if ahead is None else {"ahead": ahead})


def _opening(H0: Array, H: Array, loss: SquaredError, on_W: Factor, lift: float, *, plain: bool) -> Any:
    """The exact weights of the start."""
    if plain and isinstance(on_W.constraint, NonNegative):  # components may be nearly dependent there
        gram = Gram.of(H0, H.dtype, **on_W.elastic)
        return partial(_exact_block, gram=gram, loss=loss, on_W=on_W, lift=lift)
    return partial(_solved_block, H=H, shared=loss.shared(H), loss=loss, on_W=on_W, lift=lift)


def _exact_block(block: Block, *, gram: Gram, loss: SquaredError, on_W: Factor, lift: float) -> Any:
    W = np.ascontiguousarray(decode_block(block, gram), block.dtype)
    return _opened(block, W, loss, on_W, lift)


def _solved_block(
    block: Block, *beside: Block, H: Array, shared: Array, loss: SquaredError, on_W: Factor, lift: float
) -> Any:
    W = np.zeros((block.shape[0], H.shape[1]), block.dtype)
    for rows, part in blocks.row_parts(block):
        G, B = on_W.problem(*loss.row_problem(part, H, shared, *(x[rows] for x in beside)), W[rows])
        on_W.constraint.apply(solve_rows, G, B, W[rows])
    return _opened(block, W, loss, on_W, lift, *beside)


def _given_block(block: Block, W: Array, *beside: Block, loss: SquaredError, on_W: Factor) -> Any:
    return _opened(block, W.copy(), loss, on_W, 0.0, *beside)


def _opened(block: Block, W: Array, loss: SquaredError, on_W: Factor, lift: float, *beside: Block) -> Any:
    if lift:
        np.maximum(W, lift * W.max(axis=1, keepdims=True), out=W)
    return W, (*loss.statistics(block, W, *beside), on_W.value(W))


def _round_block(
    block: Block,
    W: Array,
    *beside: Block,
    H: Array,
    shared: Array,
    loss: SquaredError,
    on_W: Factor,
    update: RowUpdate,
    beta: float,
) -> tuple[Array, tuple[Any, ...]]:
    new = W.copy()
    residual = 0.0
    for rows, part in blocks.row_parts(block):
        G, B = on_W.problem(*loss.row_problem(part, H, shared, *(x[rows] for x in beside)), new[rows])
        residual += on_W.constraint.apply(update, G, B, new[rows])
        if beta:
            new[rows] = _ahead(new[rows], W[rows], beta, on_W.constraint)
    return new, (residual, *loss.statistics(block, new, *beside), on_W.value(new))


def _update_components(start: Array, stats: Any, on_H: Factor, update: RowUpdate) -> tuple[Array, float]:
    """Features are rows here: the same row update on ``W' W`` and ``X' W``."""
    G, B = on_H.problem(stats[0], stats[1].copy() if on_H.penalties else stats[1], start)
    own = (G,) if G.ndim == 3 else ()
    fn = partial(_component_block, G=None if own else G, constraint=on_H.constraint, update=update)
    blocks_of_features = MemorySource(B, block_rows=max(SMALLEST_BLOCK_ROWS, -(-len(B) // 16)))
    new, residual = blocks_of_features.map_rows(fn, start, *own, width=B.shape[1], combine=add)
    return new, residual


def _component_block(
    B: Array, H: Array, *own: Array, G: Array | None, constraint: Constraint, update: RowUpdate
) -> tuple[Array, float]:
    new = H.copy()
    return new, constraint.apply(update, own[0] if G is None else G, B, new)


def _ahead(new: Array, old: Array, beta: float, constraint: Constraint) -> Array:
    """``new + beta (new - old)``, put back to where it may be, with one new array."""
    ahead = new - old
    ahead *= np.asarray(beta, ahead.dtype)
    ahead += new
    constraint.project(ahead)
    return ahead


def _objective(H: Array, stats: Any, loss: SquaredError, on_H: Factor) -> float:
    """The loss from the statistics of ``W``, and the penalties."""
    G, B, W_value = stats
    H = H.astype(np.float64, copy=False)
    return float(loss.value(H, G, B) + (W_value + on_H.value(H)))
