"""The frame of HALS, ANLS and MU: weights, then components, each updated on sufficient statistics.

One pass a round: a block of rows updates its weights ``W`` for the components at hand and, while it is in cache,
contributes to ``W' W`` and ``X' W``, which is all that the components' update needs.

Extrapolation (Ang & Gillis 2019, "Accelerating NMF by extrapolation"): both factors move on beyond their update by
``beta`` times the last step.  The pair that a round ends with is feasible and its objective is known exactly, so the
round is kept only if the objective did not rise; otherwise the next round starts at the kept pair, without momentum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.loop import Progress, State
from partwise.linalg.nnls import Gram, decode_block
from partwise.sources import MemorySource, RowSource, add, blocks
from partwise.sources.memory import SMALLEST_BLOCK_ROWS
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]
# In place on W, for min 1/2 w G w' - b w' over w >= 0; returns the squared natural residual W came with.
RowUpdate = Callable[[Array, Array, Array], float]


POSITIVE_START = 1e-3  # relative to the largest entry


@dataclass(frozen=True)
class Penalty:
    """Elastic-net penalties of one factor, already multiplied by the size that makes them independent of the data's.

    The objective is ``1/2 |X - W H|^2 + m (l1_W |W|_1 + l2_W/2 |W|^2) + n (l1_H |H|_1 + l2_H/2 |H|^2)`` with n samples
    and m features: twice the samples, or every feature twice, leaves the same trade-off.
    """

    l1: float = 0.0
    l2: float = 0.0

    def to_gram(self, G: Array) -> Array:
        """The Gram matrix with the l2 penalty on its diagonal."""
        return G + np.asarray(self.l2, G.dtype) * np.eye(len(G), dtype=G.dtype) if self.l2 else G

    def to_product(self, B: Array) -> Array:
        """The right-hand side less the l1 penalty."""
        return B - np.asarray(self.l1, B.dtype) if self.l1 else B

    def value(self, total: float, squares: float) -> float:
        """The penalty of a factor with this sum and sum of squares."""
        return self.l1 * total + 0.5 * self.l2 * squares


NO_PENALTY = Penalty()


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
    update_W: RowUpdate,
    update_H: RowUpdate,
    squared_norm: float,
    W_penalty: Penalty = NO_PENALTY,
    H_penalty: Penalty = NO_PENALTY,
    extrapolate: bool = False,
    positive_start: bool = False,
    tol: float = 0.0,
    state: State | None = None,
) -> Iterator[Progress]:
    """Alternate updates of weights and components; yields the start, then every round that was kept.

    The residual of a round with momentum belongs to the extrapolated point; when it reaches ``tol`` a round
    without momentum follows, whose residual is exact and ``certified``.  ``positive_start`` lifts zeros of the first
    weights and components, which multiplicative updates could never leave.  With a ``state`` of an earlier run, whose
    components ``H0`` are, the first round is the next one.
    """
    k = len(H0)
    H = np.ascontiguousarray(H0.T, source.dtype)
    slack = 64.0 * np.finfo(source.dtype).eps * squared_norm
    spare, ahead, moving = None, H, False
    if state is None:
        momentum, last = Momentum(), np.inf
        gram = Gram.of(H0, source.dtype, l1=W_penalty.l1, l2=W_penalty.l2)
        lift = POSITIVE_START if positive_start else 0.0
        ahead = H = np.maximum(H, np.asarray(lift * H.max(initial=0.0), H.dtype))
        W, stats = source.map_rows(partial(_open_block, gram=gram, lift=lift), width=k, combine=add)
        best = _objective(H, stats, squared_norm, W_penalty, H_penalty)
        del stats, gram  # each as large as the components
        yield Progress(H.T, best, state=_state(source, W, None, momentum, last, best))
    else:
        momentum = Momentum(float(state["beta"]), float(state["ceiling"]))
        last, best = float(state["last"]), float(state["best"])
        W = source.place(np.array(state["W"], source.dtype, order="C"))  # a copy: rounds write over it
        if "ahead" in state:
            ahead, moving = np.array(state["ahead"], source.dtype, order="C"), True
    del H0, state
    while True:
        G = W_penalty.to_gram(_gram(ahead))
        beta = momentum.beta if moving else 0.0
        step = partial(_round_block, H=ahead, G=G, l1=W_penalty.l1, update=update_W, beta=beta)
        spare, (residual_W, *stats) = source.map_rows(step, W, width=k, combine=add, out=spare)
        new, residual_H = _update_components(ahead, stats, H_penalty, update_H)
        objective = _objective(new, stats, squared_norm, W_penalty, H_penalty)
        del stats, step  # each as large as the components: not during the next pass
        kkt = float(np.sqrt((residual_W + residual_H) / squared_norm)) if squared_norm > 0.0 else 0.0
        # where the objective is too small to be told from its rounding error, the KKT residual judges
        worse = kkt > last if abs(objective - best) <= slack else objective > best
        if worse and moving:
            momentum.reject()
            ahead, moving = H, False
            continue
        last = kkt
        certified = not moving
        W, spare = spare, W
        ahead = _ahead(new, H, beta) if beta else new
        H, best = new, min(best, objective)
        if extrapolate:
            if moving:
                momentum.accept()
            moving = kkt > tol
            ahead = ahead if moving else H
        kept = _state(source, W, ahead if moving else None, momentum, last, best)
        yield Progress(H.T, objective, kkt, certified=certified, details={"momentum": beta}, state=kept)


def _state(source: RowSource, W: Rows, ahead: Array | None, momentum: Momentum, last: float, best: float) -> State:
    """All that a round begins with but the components; without momentum it begins at those."""
    numbers = {"beta": momentum.beta, "ceiling": momentum.ceiling, "last": last, "best": best}
    return {"W": source.deliver(W), **numbers} | ({} if ahead is None else {"ahead": ahead})


def natural_residual(G: Array, B: Array, W: Array) -> float:
    """Sum of squares of ``min(w_j sqrt(G_jj), g_j / sqrt(G_jj))``, ``g = W G - B``: zero at the KKT points alone."""
    norms = np.sqrt(np.diag(G))
    safe = np.where(norms > 0.0, norms, 1.0)
    parts = np.minimum(W * norms, (W @ G - B) / safe) * (norms > 0.0)
    return float(np.vdot(parts, parts))


def _statistics(block: Block, W: Array) -> tuple[Array, Array, float]:
    return W.T @ W, blocks.tdot(block, W), float(W.sum(dtype=np.float64))


def _open_block(block: Block, gram: Gram, lift: float) -> tuple[Array, tuple[Any, ...]]:
    W = np.ascontiguousarray(decode_block(block, gram), block.dtype)
    if lift:
        np.maximum(W, lift * W.max(axis=1, keepdims=True), out=W)
    return W, _statistics(block, W)


def _round_block(
    block: Block, W: Array, *, H: Array, G: Array, l1: float, update: RowUpdate, beta: float
) -> tuple[Array, tuple[Any, ...]]:
    new = W.copy()
    residual = 0.0
    for rows, part in blocks.row_parts(block):
        B = blocks.dot(part, H)
        if l1:
            B -= np.asarray(l1, B.dtype)
        residual += update(G, B, new[rows])
        if beta:
            new[rows] = _ahead(new[rows], W[rows], beta)
    return new, (residual, *_statistics(block, new))


def _update_components(start: Array, stats: Any, penalty: Penalty, update: RowUpdate) -> tuple[Array, float]:
    """Features are rows here: the same row update on ``W' W`` and ``X' W``."""
    G, B = penalty.to_gram(stats[0]), penalty.to_product(stats[1])
    fn = partial(_component_block, G=G, update=update)
    blocks_of_features = MemorySource(B, block_rows=max(SMALLEST_BLOCK_ROWS, -(-len(B) // 16)))
    new, residual = blocks_of_features.map_rows(fn, start, width=B.shape[1], combine=add)
    return new, residual


def _component_block(B: Array, H: Array, *, G: Array, update: RowUpdate) -> tuple[Array, float]:
    new = H.copy()
    return new, update(G, B, new)


def _ahead(new: Array, old: Array, beta: float) -> Array:
    """``max(0, new + beta (new - old))`` with one new array."""
    ahead = new - old
    ahead *= np.asarray(beta, ahead.dtype)
    ahead += new
    np.maximum(ahead, 0.0, out=ahead)
    return ahead


def _gram(H: Array) -> Array:
    """``H' H`` by blocks of features: threads of BLAS would still be spinning when the next pass begins."""
    return np.asarray(MemorySource(H).reduce(_gram_block))


def _gram_block(H: Array) -> Array:
    return H.T @ H


def _objective(H: Array, stats: Any, squared_norm: float, W_penalty: Penalty, H_penalty: Penalty) -> float:
    """1/2 |X - WH|^2 = 1/2 |X|^2 - <X'W, H'> + 1/2 <W'W, HH'>, and the penalties."""
    WtW, XtW, W_sum = stats
    H = H.astype(np.float64, copy=False)
    HHt = _gram(H)
    fit = 0.5 * squared_norm - float(np.einsum("ij,ij->", XtW, H)) + 0.5 * float((WtW * HHt).sum())
    penalties = W_penalty.value(W_sum, float(np.trace(WtW))) + H_penalty.value(float(H.sum()), float(np.trace(HHt)))
    return float(max(fit, 0.0) + penalties)
