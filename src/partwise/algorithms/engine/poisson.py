"""Coordinate descent for the Poisson likelihood: rows of weights, then rows of features, each a convex problem.

The first rounds are multiplicative (EM): coordinate steps from far away end in worse optima now and then.  Then both
factors move on beyond their sweeps by ``beta`` times the last step (Ang & Gillis 2019), judged by the objective, as in
``alternating.py``; a round without momentum that raised it, which a coordinate step from above can, is done again as a
multiplicative one, which cannot.

Features are updated on a copy of the data that has them as rows.  Where the data is too large for that
(``sources/copies.py``) only weights have sweeps, in the pass over the data, and features one multiplicative step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine.alternating import POSITIVE_START, lifted
from partwise.algorithms.engine.constraints import Fixed, NonNegative
from partwise.algorithms.engine.divergence import Divergence
from partwise.algorithms.engine.factor import PLAIN, Factor
from partwise.algorithms.engine.multiplicative import even_weights
from partwise.algorithms.loop import Progress, State
from partwise.exceptions import InputError
from partwise.kernels.poisson import descend
from partwise.linalg.poisson import Components
from partwise.sources import RowSource, add, blocks
from partwise.sources.copies import both_ways
from partwise.sources.memory import BlockedSource
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]

# Multiplicative rounds at the beginning.  In a trial with plain Newton steps, from eight random starts (two data sets),
# all ended at or below what many multiplicative rounds reach with 30 of them; one of eight was above with none, and two
# with 10.
OPENING = 30
SWEEPS = 2  # over each factor in a round: the copying of components side by side is then worth its time
KL = Divergence(1.0)


@dataclass
class Momentum:
    """The extrapolation weight beta and its bounds, with the constants of Ang & Gillis (2019) but a bolder start.

    Rounds are few here, so the weight begins high, where that of the squared error grows with the rounds.
    """

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


@dataclass(frozen=True)
class Round:
    """What a round found: the new factors, what is summed on the way, and how far the old ones were from optimal."""

    W: Rows
    W_sums: Array
    H: Array
    objective: float
    kkt: float


@dataclass(frozen=True)
class Both:
    """The data twice in memory: a half round is a map over samples, or over features."""

    samples: BlockedSource
    features: BlockedSource
    on_W: Factor
    on_H: Factor

    def begin(self, source: RowSource, H: Array) -> tuple[Array, Array]:
        """The first weights, and their sums."""
        W = self.samples.map_rows(partial(even_weights, H=H), width=H.shape[1])
        return W, self.samples.reduce(_sums, W)

    def place(self, source: RowSource, W: Any) -> Rows:
        """Weights of a state."""
        return np.array(W, np.float64, order="C")

    def kept(self, source: RowSource, W: Rows) -> Any:
        """Weights for a state."""
        return W

    def value(self, source: RowSource, W: Rows, H: Array) -> float:
        """Loss and penalties."""
        loss, penalty = self.samples.reduce(partial(_value_block, H=H, on_W=self.on_W), W)
        return float(loss + penalty + self.on_H.value(H))

    def round(self, source: RowSource, W: Rows, W_sums: Array, H: Array, sweeps: int, beta: float) -> Round:
        """One round from weights and (extrapolated) components; the new weights are extrapolated by ``beta``."""
        (n, k), H_sums = W.shape, H.sum(axis=0)
        other = Components.of(H, H_sums, **self.on_W.elastic)
        half = partial(_half_block, on=self.on_W, other=other, mean=W_sums / n, sweeps=sweeps)
        step = partial(half, beta=beta, valued=False)
        W, (missed, mass, _, sums, penalty) = self.samples.map_rows(step, W, width=k, combine=add)
        on = self.on_H
        other = Components.of(W, sums, **on.elastic)
        half = partial(_half_block, on=on, other=other, mean=H_sums / len(H), sweeps=sweeps, held=held(on))
        step = partial(half, beta=0.0, valued=True)
        new, (missed_H, mass_H, value, H_sums, penalty_H) = self.features.map_rows(step, H, width=k, combine=add)
        objective = max(value + float(sums @ H_sums), 0.0) + penalty + penalty_H
        return Round(W, sums, new, objective, max(_share(missed, mass), _share(missed_H, mass_H)))


@dataclass(frozen=True)
class Once:
    """The data where it is: weights have sweeps, features a multiplicative step; a second pass for the objective."""

    on_W: Factor
    on_H: Factor

    def begin(self, source: RowSource, H: Array) -> tuple[Rows, Array]:
        """See :class:`Both`."""
        W = source.map_rows(partial(even_weights, H=H), width=H.shape[1], dtype=np.float64)
        return W, source.reduce(_sums, W)

    def place(self, source: RowSource, W: Any) -> Rows:
        """See :class:`Both`."""
        return source.place(np.array(W, np.float64, order="C"))

    def kept(self, source: RowSource, W: Rows) -> Any:
        """See :class:`Both`."""
        return source.deliver(W)

    def value(self, source: RowSource, W: Rows, H: Array) -> float:
        """See :class:`Both`."""
        loss, penalty = source.reduce(partial(_value_block, H=H, on_W=self.on_W), W)
        return float(loss + penalty + self.on_H.value(H))

    def round(self, source: RowSource, W: Rows, W_sums: Array, H: Array, sweeps: int, beta: float) -> Round:
        """See :class:`Both`."""
        n, k = W.shape
        other = Components.of(H, **self.on_W.elastic)
        half = partial(_pass_block, on=self.on_W, other=other, mean=W_sums / n, sweeps=sweeps)
        step = partial(half, beta=beta, valued=False, H=H)
        W, stats = source.map_rows(step, W, width=k, dtype=np.float64, combine=add)
        missed, mass, _, sums, _, negative = stats
        positive = self.on_H.raised(np.broadcast_to(sums, H.shape), H)
        ratio = np.divide(negative, positive, out=np.zeros_like(H), where=positive > 0.0)
        new, free = H * ratio ** KL.exponent(curved=self.on_H.curved(H)), slice(held(self.on_H), None)
        new[:, : held(self.on_H)] = H[:, : held(self.on_H)]
        parts = np.abs(np.minimum(H * positive, (positive - negative) * H.mean(axis=0)))[:, free]
        kkt = max(_share(missed, mass), _share(float(parts.sum()), float((H * positive)[:, free].sum())))
        return Round(W, sums, new, self.value(source, W, new), kkt)


def maximise(
    source: RowSource,
    H0: Array,
    *,
    nonzero: int,
    opening: int = OPENING,
    sweeps: int = SWEEPS,
    on_W: Factor = PLAIN,
    on_H: Factor = PLAIN,
    tol: float = 0.0,
    state: State | None = None,
) -> Iterator[Progress]:
    """Maximise the likelihood; yields the start, then every round that was kept.

    Parameters
    ----------
    H0 : ndarray of shape (n_components, n_features)
        Where to start.
    nonzero : int
        Entries of the data other than zero.
    opening : int
        Multiplicative rounds before coordinate descent.
    sweeps : int
        Over each factor in a round.
    on_W, on_H : Factor
        What is asked of the factors: elastic nets on rows that must not be negative.
    tol : float
        The residual at which momentum ends: the next round's is then exact and ``certified``.
    state : mapping, optional
        Of an earlier run: the first round is then the next one.
    """
    _check(on_W, "W")
    _check(on_H, "H")
    copies = both_ways(source, nonzero)
    data = Once(on_W, on_H) if copies is None else Both(*copies, on_W, on_H)
    if state is None:
        tiny = float(np.finfo(np.float64).tiny) ** 0.5
        H = np.ascontiguousarray(H0.T, np.float64)
        H = lifted(H, max(tiny, POSITIVE_START * H.max(initial=0.0)), on_H)
        W, W_sums = data.begin(source, H)
        number, momentum, last, best = 0, Momentum(), np.inf, data.value(source, W, H)
        ahead, moving = H, False
        kept = _state(data.kept(source, W), W_sums, H, None, number, momentum, last, best)
        yield Progress(H.T.astype(source.dtype), best, state=kept)
    else:
        W, W_sums = data.place(source, state["W"]), np.asarray(state["W_sums"])
        number, last, best = int(state["round"]), float(state["last"]), float(state["best"])
        momentum = Momentum(float(state["beta"]), float(state["ceiling"]))
        H, moving = np.array(state["H"], order="C"), "ahead" in state
        ahead = np.array(state["ahead"], order="C") if moving else H
    # the objective is a difference of sums of this size
    slack = 64.0 * np.finfo(np.float64).eps * float(W_sums @ H.sum(axis=0))
    gentle = False
    while True:
        gentle = gentle or number < opening
        beta = momentum.beta if moving else 0.0
        found = data.round(source, W, W_sums, ahead, 0 if gentle else sweeps, beta)
        # where the objective is too small to be told from its rounding error, the KKT residual judges
        close = abs(found.objective - best) <= slack
        worse = found.kkt > last if close else found.objective > best
        if worse and moving:
            momentum.reject()
            ahead, moving = H, False
            continue
        if worse and not close and not gentle:
            gentle = True
            continue
        number, last, certified = number + 1, found.kkt, not moving
        ahead = np.maximum(found.H + beta * (found.H - H), 0.0) if beta else found.H
        W, W_sums, H, best = found.W, found.W_sums, found.H, min(best, found.objective)
        if moving:
            momentum.accept()
        moving = found.kkt > tol and number >= opening and not gentle
        gentle = False
        ahead = ahead if moving else H
        kept = _state(data.kept(source, W), W_sums, H, ahead if moving else None, number, momentum, last, best)
        details = {"momentum": beta}
        yield Progress(
            H.T.astype(source.dtype), found.objective, found.kkt, certified=certified, details=details, state=kept
        )


def _check(on: Factor, factor: str) -> None:
    """Refuse by name what the kernels do not know."""
    on.check(factor, "Likelihood")
    others = [one.name for one in on.penalties if not hasattr(one, "l1")]
    constraint = on.constraint.rest if isinstance(on.constraint, Fixed) else on.constraint
    others += [] if isinstance(constraint, NonNegative) else [constraint.name]
    if others:
        name = f"{others[0]}_{factor}"
        raise InputError("{parameter} is nothing for Likelihood: its steps know l1 and l2 alone", parameter=name)


def held(on: Factor) -> int:
    """How many components stay as they are: the first ones."""
    return len(on.constraint.components) if isinstance(on.constraint, Fixed) else 0


def _state(
    W: Any, W_sums: Array, H: Array, ahead: Array | None, number: int, momentum: Momentum, last: float, best: float
) -> State:
    numbers = {"round": number, "beta": momentum.beta, "ceiling": momentum.ceiling, "last": last, "best": best}
    return {"W": W, "W_sums": W_sums, "H": H, **numbers} | ({} if ahead is None else {"ahead": ahead})


def _half_block(
    block: Block,
    W: Array,
    *,
    other: Components,
    mean: Array,
    sweeps: int,
    beta: float,
    valued: bool,
    on: Factor,
    held: int = 0,
) -> tuple[Array, tuple[Any, ...]]:
    """Of counts as CSR."""
    new, ratio = W.copy(), np.empty(block.nnz if valued else 0)
    problem = block.indptr, block.indices, block.data, other.F, other.t, other.l2, mean
    measured = descend(*problem, sweeps, new, held, ratio)
    np.log(ratio, out=ratio)  # here and not in the kernel: NumPy takes several logarithms at a time
    ratio -= 1.0
    value = float(block.data @ ratio) if valued else 0.0
    if beta:
        new += beta * (new - W)
        np.maximum(new, 0.0, out=new)
    return new, (*measured, value, _sums(block, new), on.value(new))


def _pass_block(block: Block, W: Array, *, H: Array, **how: Any) -> tuple[Array, tuple[Any, ...]]:
    block = blocks.counts(block)
    new, stats = _half_block(block, W, **how)
    return new, (*stats, KL.gradient_H(block, new, H)[0])


def _value_block(block: Block, W: Array, *, H: Array, on_W: Factor) -> tuple[float, float]:
    return KL.block_value(blocks.counts(block), W, H), on_W.value(W)


def _sums(block: Block, W: Array) -> Array:
    # by BLAS, which has one thread here: NumPy's own sum takes ten times as long
    return np.asarray(np.ones(len(W)) @ W)


def _share(missed: float, mass: float) -> float:
    return missed / mass if mass > 0.0 else 0.0
