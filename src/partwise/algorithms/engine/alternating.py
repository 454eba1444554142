"""Alternating updates for a loss that is quadratic in each factor: weights, then components, on sufficient statistics.

One pass a round: a block of rows updates its weights ``W`` for the components at hand and, while it is in cache,
contributes to ``W' W`` and ``X' W``, which is all that the components' update needs.

Extrapolation (Nesterov 1983; Ang & Gillis 2019, "Accelerating NMF by extrapolation"): the pair that a round begins with
is the last one, moved on by ``beta`` times the last step.  The pair that it ends with is feasible and its objective is
known exactly, so the round is kept only if the objective did not rise; otherwise the next round starts at the kept
pair, without momentum.  (Ang & Gillis move weights on behind their update; what unknown entries are filled in with
would be left behind then, and on complete data it takes more rounds, too.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine.constraints import Constraint, NonNegative
from partwise.algorithms.engine.factor import PLAIN, Factor
from partwise.algorithms.engine.pair import Pair
from partwise.algorithms.engine.rows import RowUpdate, solve_rows
from partwise.algorithms.engine.squared import SquaredError
from partwise.algorithms.loop import Progress, State
from partwise.kernels.coordinate import beyond
from partwise.linalg.nnls import Gram, decode_block
from partwise.sources import MemorySource, RowSource, add, blocks
from partwise.sources.copies import with_columns
from partwise.sources.memory import SMALLEST_BLOCK_ROWS
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]

POSITIVE_START = 1e-3  # relative to the largest entry
IDLE = 4  # rounds without gain after which momentum is taken back, where the objective does not tell
PATIENCE = 5  # rounds in single precision without gain before double precision takes over


@dataclass
class Momentum:
    """The extrapolation weight ``age / (age + 3)`` of Nesterov (1983): it grows with the rounds that were kept.

    A round that is taken back halves the age; it need not begin anew, for what slows a factorization down is the same
    few directions all the time.
    """

    age: float = 0.0

    @property
    def beta(self) -> float:
        """How far to go on, in last steps."""
        return self.age / (self.age + 3.0)

    def accept(self) -> None:
        """The objective fell: trust the direction more."""
        self.age += 1.0

    def reject(self) -> None:
        """The objective rose: less."""
        self.age /= 2.0


@dataclass
class Worth:
    """Whether rounds in single precision still gain anything, by what its rounding leaves of the objective.

    Attributes
    ----------
    lowest : float
        The least residual so far, give or take a tenth.
    mark : float
        The objective when something was last gained.
    idle : int
        Rounds since.
    """

    lowest: float = np.inf
    mark: float = np.inf
    idle: int = 0

    def round(self, residual: float, objective: float, slack: float) -> None:
        """One more."""
        gained = residual < 0.9 * self.lowest or objective < self.mark - slack
        self.idle = 0 if gained else self.idle + 1
        if gained:
            self.mark = objective
        self.lowest = residual if residual < 0.9 * self.lowest else self.lowest


def alternate(
    source: RowSource,
    H0: Array,
    *,
    W0: Rows | None = None,
    loss: SquaredError,
    beside: tuple[Rows, ...] = (),
    update: RowUpdate,
    on_W: Factor = PLAIN,
    on_H: Factor = PLAIN,
    extrapolate: bool = False,
    tol: float = 0.0,
    light: RowSource | None = None,
    state: State | None = None,
) -> Iterator[Progress]:
    """Alternate updates of weights and components; yields the start, then every round that was kept.

    The residual of a round with momentum belongs to the extrapolated point, and is what the first sweep tells of it;
    when it reaches ``tol`` a round without momentum follows, whose residual is exact and ``certified``.  Rounds on
    ``light`` are never certified.

    Parameters
    ----------
    H0 : ndarray of shape (n_components, n_features)
        Where to start.
    W0 : row-aligned weights, optional
        The weights to start with; by default the best ones of ``H0``.
    beside : tuple of row-aligned arrays
        What the loss needs beside the data.
    update : callable
        How rows that must not be negative are updated: see ``rows.py``.
    on_W, on_H : Factor
        What is asked of the factors.
    extrapolate : bool
        Whether to move on beyond updates.
    tol : float
        The residual at which momentum ends.
    light : RowSource, optional
        The same rows in single precision: rounds are on these until they gain nothing more, or reach ``tol``.
    state : mapping, optional
        Of an earlier run, whose components ``H0`` are: the first round is then the next one.
    """
    k, size = len(H0), loss.squared_norm
    pair = Pair(on_W, on_H, *loss.lengths(source.shape), v=loss.feature_weights())
    here = source if light is None else light
    spare: Rows | None = None
    moving = False
    fixed = np.setdiff1d(np.arange(k), np.arange(k)[on_H.constraint.moving(k)])
    shown = partial(_shown, dtype=source.dtype, fixed=fixed, known=H0[fixed])
    if state is None:
        ahead = H = np.ascontiguousarray(H0.T, here.dtype)
        momentum, worth, last = Momentum(), Worth(), np.inf
        opening: Any = partial(_given_block, loss=loss, pair=pair)
        given: tuple[Rows, ...] = (W0,)
        if W0 is None:
            ahead = H = pair.started(H)
            opening, given = _opening(H, loss, pair), ()
        W, stats = here.map_rows(partial(opening, H=H), *given, *beside, width=k, combine=add)
        stats = loss.totalled(stats)
        best, totals = _objective(H, stats, loss, pair), stats[2]
        del stats, opening, given, W0  # each as large as the components
        yield Progress(shown(H), best, state=_state(here, W, None, momentum, worth, last, best, totals))
    else:
        here = source if np.dtype(state["W"].dtype) == source.dtype else here
        momentum, last, best = Momentum(float(state["age"])), float(state["last"]), float(state["best"])
        worth = Worth(float(state["lowest"]), float(state["mark"]), int(state["idle"]))
        ahead = H = np.ascontiguousarray(H0.T, here.dtype)
        W, totals = placed(here, state), state.get("totals", 0.0)
        if "before" in state:
            ahead, moving = np.array(state["ahead"], here.dtype, order="C"), True
            spare = given_weights(here, state["before"])
    del H0, state
    while True:
        if here is not source and (worth.idle >= PATIENCE or last <= tol):
            here = source = with_columns(source)
            W, spare, light = source.map_rows(_widened, W, width=k), None, None
            ahead = H = np.ascontiguousarray(shown(H).T)
            moving, best, last = False, np.inf, np.inf
        slack = _slack(here) * size
        beta = momentum.beta if moving else 0.0
        now = partial(update, exact=not moving)
        step = partial(_round_block, H=blocks.in_lines(ahead), shared=loss.shared(ahead), loss=loss, update=now)
        step = partial(step, on_W=pair.weights(ahead, totals), pair=pair, beta=beta)
        before = (spare,) if beta else ()  # read row by row before it is written over
        spare, (residual_W, *stats) = here.map_rows(step, W, *before, *beside, width=k, combine=add, out=spare)
        stats = loss.totalled(stats)
        new, residual_H = update_components(ahead, stats, pair.components(ahead, stats[2]), now, loss)
        objective, new_totals = _objective(new, stats, loss, pair), stats[2]
        del stats, step  # each as large as the components: not during the next pass
        kkt = float(np.sqrt((residual_W + residual_H) / size)) if size > 0.0 else 0.0
        # where the objective cannot be told from its rounding error, rounds that gain nothing judge
        worse = worth.idle >= IDLE if abs(objective - best) <= slack else objective > best
        if worse and moving:
            momentum.reject()
            ahead, moving = H, False
            continue
        last = kkt
        worth.round(kkt, objective, slack)
        certified = here is source and not moving
        W, spare, totals = spare, W, new_totals
        if moving:
            momentum.accept()
        moving = extrapolate and kkt > tol
        ahead = _ahead(new, H, momentum.beta, on_H.constraint) if moving else new
        H, best = new, min(best, objective)
        kept = _state(here, W, (ahead, spare) if moving else None, momentum, worth, last, best, totals)
        details = {"momentum": beta, "certified": float(certified)}
        yield Progress(shown(H), objective, kkt, certified=certified, details=details, state=kept)


def _slack(source: RowSource) -> float:
    """What rounding may leave in the objective, relative to the data.

    That of the last sums, which are in double precision, and of the statistics, whose errors are as many as their
    entries and cancel (measured in single precision: a thirtieth of this).
    """
    return float(64.0 * np.finfo(np.float64).eps + np.finfo(source.dtype).eps)


def _shown(H: Array, *, dtype: np.dtype[Any], fixed: Array, known: Array) -> Array:
    """The components in the type of the data; those that are given as they were given, to the bit."""
    shown = H.T.astype(dtype, copy=False)
    if len(fixed) and shown.dtype != H.dtype:
        shown[fixed] = known
    return shown


def _widened(block: Block, W: Array) -> Array:
    return W.astype(np.float64)


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


def _state(
    source: RowSource,
    W: Rows,
    moved: tuple[Array, Rows | None] | None,
    momentum: Momentum,
    worth: Worth,
    last: float,
    best: float,
    totals: Any,
) -> State:
    """All that a round begins with but the components: with momentum where these go on, and the weights before."""
    numbers = {"last": last, "best": best, **asdict(momentum), **asdict(worth)}
    further = {} if moved is None else {"ahead": moved[0], "before": source.deliver(moved[1])}
    return {"W": source.deliver(W), **numbers, **further} | ({"totals": totals} if np.ndim(totals) else {})


def _opening(H: Array, loss: SquaredError, pair: Pair) -> Any:
    """The exact weights of the start."""
    if type(loss) is SquaredError and isinstance(
        pair.on_W.constraint, NonNegative
    ):  # components may be nearly dependent there
        gram = Gram.of(np.asarray(H.T, np.float64), H.dtype, **pair.on_W.elastic)
        return partial(_exact_block, gram=gram, loss=loss, pair=pair)
    exact = loss.exact()
    return partial(_solved_block, shared=exact.shared(H), exact=exact, loss=loss, pair=pair)


def _exact_block(block: Block, *, gram: Gram, H: Array, loss: SquaredError, pair: Pair) -> Any:
    W = np.ascontiguousarray(decode_block(block, gram), block.dtype)
    return _opened(block, W, H, loss, pair)


def _solved_block(
    block: Block, *beside: Block, H: Array, shared: Array, exact: SquaredError, loss: SquaredError, pair: Pair
) -> Any:
    on_W = pair.on_W
    W = np.zeros((block.shape[0], H.shape[1]), block.dtype)
    for rows, part in blocks.row_parts(block):
        G, B = on_W.problem(*exact.row_problem(part, H, shared, *(x[rows] for x in beside)), W[rows])
        on_W.constraint.apply(solve_rows, G, B, W[rows])
    return _opened(block, W, H, loss, pair, *beside)


def _given_block(block: Block, W: Array, *beside: Block, H: Array, loss: SquaredError, pair: Pair) -> Any:
    return _opened(block, W.copy(), H, loss, pair, *beside)


def _opened(block: Block, W: Array, H: Array, loss: SquaredError, pair: Pair, *beside: Block) -> Any:
    full = loss.complete(block, W, H)
    return W, (*loss.statistics(full, W, *beside), *_totals(full, W, loss, pair, beside))


def _round_block(
    block: Block,
    W: Array,
    *beside: Block,
    H: Array,
    shared: Array,
    loss: SquaredError,
    on_W: Factor,
    pair: Pair,
    update: RowUpdate,
    beta: float,
) -> tuple[Array, tuple[Any, ...]]:
    new, residual = W.copy(), 0.0
    if beta:
        new, beside = _ahead(W, beside[0], beta, on_W.constraint), beside[1:]
    full = loss.complete(block, new, H)
    for rows, part in loss.parts(full):
        G, B = on_W.problem(*loss.row_problem(part, H, shared, *(x[rows] for x in beside)), new[rows])
        residual += updated(update, G, B, new[rows], on_W.constraint, loss.row_weights(*(x[rows] for x in beside)))
    return new, (residual, *loss.statistics(full, new, *beside), *_totals(full, new, loss, pair, beside))


def update_components(
    start: Array, stats: Any, on_H: Factor, update: RowUpdate, loss: SquaredError
) -> tuple[Array, float]:
    """Features are rows here: the same row update on ``W' W`` and ``X' W``."""
    G, B = on_H.problem(stats[0], stats[1].copy() if on_H.penalties else stats[1], start)
    own, v = (G,) if G.ndim == 3 else (), loss.feature_weights()
    own = own if v is None else (*own, v)
    shared = G if G.ndim == 2 else None
    fn = partial(_component_block, G=shared, constraint=on_H.constraint, update=update, weighed=v is not None)
    if on_H.constraint.whole:
        return fn(B, start, *own)
    blocks_of_features = MemorySource(B, block_rows=max(SMALLEST_BLOCK_ROWS, -(-len(B) // 16)))
    new, residual = blocks_of_features.map_rows(fn, start, *own, width=B.shape[1], combine=add)
    return new, residual


def _component_block(
    B: Array, H: Array, *own: Array, G: Array | None, constraint: Constraint, update: RowUpdate, weighed: bool
) -> tuple[Array, float]:
    new = H.copy()
    return new, updated(update, own[0] if G is None else G, B, new, constraint, own[-1] if weighed else None)


def updated(update: RowUpdate, G: Array, B: Array, F: Array, constraint: Constraint, weights: Array | None) -> float:
    """Update rows; the squared residual that they came with, each with its weight."""
    return constraint.apply(update if weights is None else partial(update, weights=weights), G, B, F)


def _totals(full: Block, W: Array, loss: SquaredError, pair: Pair, beside: tuple[Block, ...]) -> tuple[Any, float]:
    """What of the weights decides their penalties, and what was filled in."""
    return pair.totals(W, loss.row_weights(*beside)), loss.offset(full, W, *beside)


def _ahead(new: Array, old: Array, beta: float, constraint: Constraint) -> Array:
    """``new + beta (new - old)``, put back to where it may be, with one new array."""
    ahead = np.empty_like(new)
    beyond(new, old, new.dtype.type(beta), ahead)
    constraint.project(ahead)
    return ahead


def _objective(H: Array, stats: Any, loss: SquaredError, pair: Pair) -> float:
    """The loss from the statistics of ``W``, and the penalties."""
    G, B, totals, offset = stats
    penalised = H.astype(np.float64, copy=False) if pair.on_H.penalties else H
    return float(loss.value(H, G, B, offset) + pair.value(penalised, totals))
