"""Mini-batches: exact weights of a few samples, then components that minimise a bound on the loss of all so far.

Mairal, Bach, Ponce & Sapiro (2010), "Online learning for matrix factorization and sparse coding" (squared error: the
past is ``W' W`` and ``X' W``); Lefèvre, Bach & Févotte (2011), "Online algorithms for NMF with the Itakura-Saito
divergence" (other divergences: the past is two sums for each entry of the components); Févotte & Idier (2011) (the
bounds); Mairal (2013), "Stochastic majorization-minimization algorithms for large-scale optimization".

The loss of a batch with its best weights is bounded by that with the weights for the components at hand, and for a
divergence that by a sum over entries h of the components (Févotte & Idier 2011, section 4.1) whose derivative is

    ``-A h^p + B h^q``, ``A = negative h0^-p``, ``B = positive h0^-q``,

where ``positive - negative`` is the gradient at the components ``h0``.  The powers do not depend on the batch, so
bounds of many batches add up to one of the same kind.  What is remembered does not grow with the data.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine import Divergence, Factor, Pair
from partwise.algorithms.engine.alternating import update_components
from partwise.algorithms.engine.pair import column_totals
from partwise.algorithms.engine.rows import solve_rows, sweep_rows
from partwise.algorithms.engine.squared import EntryWeightedError, SquaredError, count_of
from partwise.algorithms.loop import Progress, Stages, State
from partwise.algorithms.randomness import packed, paired_batches, unpack
from partwise.outcomes import Stop
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Sums = tuple[Array, Array]

SWEEPS = 5  # over the components after a batch: of the Gram matrices alone, so cheap beside the batch itself
# The past counts for no more than a fifth of the batches so far: the first ones were explained by components that
# were hardly better than the start.  (20,000 pictures of MNIST, 20 parts, one pass: relative error of others .538
# without this, .529, .527 and .525 for a half, a third and a fifth, by a rule that forgot the first five wholly.)
YOUNG = 5.0
# For a divergence a thirtieth: its bound is also the looser the further components have moved since, and holds them
# back.  (8,000 texts, Kullback-Leibler, 8 batches a pass: divergence of others after 10 and 40 passes 2.808 and 2.783
# with a fifth, 2.778 and 2.755 with a twentieth, 2.782 and 2.750 with a fiftieth.)
YOUNG_DIVERGENCE = 30.0
# batches, the first ones, after which a part that has vanished is begun anew: a start has bad luck at times
REVIVED = 20
ROUNDING = 1e-12  # of a cost: less is no fall, or the last digits decided when a pass is the last
LEAST = 1e-8  # of the mean entry of a component, for divergences
NEWTON = 30  # steps for an entry with penalties, which converge from above: 5 to 10 are usual


class Bound(Protocol):
    """A bound on the loss as a function of the components, for all batches so far."""

    young: ClassVar[float]  # batches that count for one of the past, at most

    def empty(self, m: int, k: int) -> Sums:
        """That of no batch."""

    def of(self, block: Block, W: Array, H: Array, samples: Array | None = None) -> tuple[Sums, float]:
        """That of a batch with these weights at these components, a feature a row, and its loss there.

        Samples may count more often than once.
        """

    def lowest(self, H: Array, past: Sums, on_H: Factor) -> Array:
        """Components from ``H`` on, where bound and penalties are lower."""

    def met(self, past: Sums) -> Array | bool:
        """Features that any batch has had, as far as is remembered."""


@dataclass(frozen=True)
class QuadraticBound:
    """The squared error itself, for weights that stay as they are."""

    young: ClassVar[float] = YOUNG
    loss: SquaredError

    def empty(self, m: int, k: int) -> Sums:
        """See :class:`Bound`."""
        own = (m,) if isinstance(self.loss, EntryWeightedError) else ()
        return np.zeros((*own, k, k)), np.zeros((m, k))

    def of(self, block: Block, W: Array, H: Array, samples: Array | None = None) -> tuple[Sums, float]:
        """See :class:`Bound`: a square counts as often as its root is larger."""
        if samples is not None:
            roots = np.sqrt(samples)
            block, W = blocks.scale_rows(block, roots), W * roots[:, None].astype(W.dtype)
        G, B = self.loss.statistics(block, W)
        norm = float(blocks.squared_norms(blocks.zeroed(block)).sum())
        return (G, B), replace(self.loss, squared_norm=norm).value(H, G, B)

    def lowest(self, H: Array, past: Sums, on_H: Factor) -> Array:
        """See :class:`Bound`: a few sweeps over the coordinates."""
        new = update_components(H, past, on_H, partial(sweep_rows, sweeps=SWEEPS, shrink=0.0), self.loss)[0]
        if on_H.elastic["l1"] > 0.0 and past[0].ndim == 2:  # what no sample uses only costs, and sweeps rest there
            new[:, np.diagonal(past[0]) == 0.0] = 0.0
        return new

    def met(self, past: Sums) -> Array | bool:
        """See :class:`Bound`: the others are zero by themselves."""
        return True


@dataclass(frozen=True)
class DivergenceBound:
    """A beta-divergence, entry by entry."""

    young: ClassVar[float] = YOUNG_DIVERGENCE
    loss: Divergence

    @property
    def powers(self) -> tuple[float, float]:
        """Of an entry in the derivative of the bound: of its falling and of its rising part."""
        beta = self.loss.beta
        return min(beta - 2.0, 0.0), max(beta - 1.0, 0.0)

    def empty(self, m: int, k: int) -> Sums:
        """See :class:`Bound`."""
        return np.zeros((m, k)), np.zeros((m, k))

    def of(self, block: Block, W: Array, H: Array, samples: Array | None = None) -> tuple[Sums, float]:
        """See :class:`Bound`."""
        (p, q), loss, beside = self.powers, self.loss, () if samples is None else (samples,)
        if samples is not None:
            loss = replace(loss, observed=replace(loss.observed, samples=samples))
        negative, positive = loss.gradient_H(block, W, H, *beside)
        # nothing falls at an entry of zero
        h = np.where(H > 0.0, H, 1.0).astype(np.float64)
        return (negative * (H > 0.0) * h**-p, positive * h**-q), loss.block_value(block, W, H, *beside)

    def lowest(self, H: Array, past: Sums, on_H: Factor) -> Array:
        """See :class:`Bound`: the minimum, by Newton's steps on ``log h`` where penalties leave no formula."""
        (A, B), (p, q) = past, self.powers
        l1, l2 = on_H.elastic["l1"], on_H.elastic["l2"]
        if q == 0.0 or p == 0.0:  # a constant beside one of the two
            A, B, l1 = (A, B + l1, 0.0) if q == 0.0 else (A - l1, B, 0.0)
        log = np.full_like(A, -np.inf)
        here = (A > 0.0) & (B > 0.0)
        a, b = A[here], B[here]
        u = (np.log(a) - np.log(b)) / (q - p)
        for _ in range(NEWTON if l1 or l2 else 0):
            # -a + b h^(q-p) + l1 h^-p + l2 h^(1-p) rises and is convex in u = log h, and is above zero at the start
            terms = [(q - p, np.log(b)), *((c, np.log(size)) for c, size in ((-p, l1), (1.0 - p, l2)) if size)]
            parts = [(c, np.exp(c * u + lifted - np.log(a))) for c, lifted in terms]
            step = (sum(x for _, x in parts) - 1.0) / sum(c * x for c, x in parts)
            u = u - step
            if np.abs(step).max(initial=0.0) < 1e-12:
                break
        log[here] = u
        found = np.exp(log)
        # zero could never be left, and a feature that a batch does not have may be in the next
        return np.asarray(np.maximum(found, LEAST * found.mean(axis=0)))

    def met(self, past: Sums) -> Array | bool:
        """See :class:`Bound`."""
        return np.asarray((past[0] > 0.0).any(axis=1, keepdims=True))


@dataclass(frozen=True)
class Cost:
    """The cost of a sample, smoothed over about a pass, and for how many batches it has not been lower than ever."""

    mean: float = np.nan
    least: float = np.inf
    idle: int = 0

    def added(self, cost: float, share: float) -> Cost:
        """With one more batch, that is such a share of a pass."""
        mean = cost if np.isnan(self.mean) else self.mean + min(share, 1.0) * (cost - self.mean)
        fell = not np.isfinite(self.least) or mean < self.least - ROUNDING * abs(self.least)
        return Cost(mean, mean, 0) if fell else Cost(mean, self.least, self.idle + 1)


class Learner:
    """Components and what is remembered of the samples so far: all that there is to continue from.

    A batch is learnt as a whole, and its arrays are new ones: states and copies stay what they are.

    Parameters
    ----------
    H : ndarray of shape (n_components, n_features)
        Where to start.
    bound : Bound
        How batches are remembered.
    decode_of : callable
        Gives, for components, the block function of their weights.
    on_W : Factor
        What is asked of the weights.
    on_H : callable
        What is asked of the components, by the number of samples.
    dense : bool, default=False
        Whether what a batch does not store is zero, though it may have holes.
    """

    def __init__(
        self,
        H: Array,
        bound: Bound,
        decode_of: Callable[[Array, Any], Any],
        on_W: Factor,
        on_H: Callable[[float], Factor],
        *,
        dense: bool = False,
    ) -> None:
        self.bound, self.decode_of, self.on_W, self.on_H, self.dense = bound, decode_of, on_W, on_H, dense
        self.H = np.array(H.T, np.float64, order="C")
        self.past = bound.empty(*self.H.shape)
        self.sizes = np.zeros(2 * self.H.shape[1])  # sums and squares of the weights, fading with the past
        self.counted, self.seen, self.steps = 0.0, 0, 0
        self.cost = Cost()

    def cost_of(self, block: Block, samples: Array | None = None) -> float:
        """The cost of a sample of a batch, which is not learnt."""
        return self._look(self._ready(block), samples)[2]

    def _ready(self, block: Block) -> Block:
        return blocks.to_dense(block) if self.dense else block

    def _look(self, block: Block, samples: Array | None) -> tuple[Array, Sums, float]:
        """The best weights of a batch, the bound with these, and the cost of a sample: loss and penalties."""
        n, kind = count_of(block, samples), block.dtype
        H, pair = self.H.astype(kind, copy=False), self._pair(n)
        if pair.alone and self.counted:
            W = self._beside(block, H)
        else:
            W = self.decode_of(np.ascontiguousarray(self.H.T), kind)(block)
        sums, loss = self.bound.of(block, W, H, samples)
        return W, sums, (loss + pair.value(self.H, pair.totals(W, samples))) / (n or 1.0)

    def _pair(self, n: float) -> Pair:
        return Pair(self.on_W, self.on_H(n), n, float(len(self.H)))

    def _beside(self, block: Block, H: Array) -> Array:
        """Exact weights where a penalty of one factor alone goes by the size of the other (see ``pair.py``)."""
        W = np.zeros((block.shape[0], H.shape[1]), H.dtype)
        on = self._pair(self.counted).weights(H, self.sizes)
        solve_rows(*on.problem(H.T @ H, blocks.dot(block, H), W), W)
        return W

    def learn(self, block: Block, left: float, share: float, samples: Array | None = None) -> float:
        """Learn a batch, which leaves ``left`` of the past and is such a ``share`` of a pass; the cost of a sample."""
        block = self._ready(block)
        W, sums, cost = self._look(block, samples)
        left = left * self.steps / (self.steps + self.bound.young)
        past = left * self.past[0] + sums[0], left * self.past[1] + sums[1]
        counted = left * self.counted + count_of(block, samples)
        pair = self._pair(counted)
        sizes = left * self.sizes + np.concatenate(column_totals(W, samples))
        H = self.bound.lowest(self.H, past, pair.components(self.H, sizes))
        asked = any(self.on_W.elastic.values()) or any(pair.on_H.elastic.values())  # penalties may empty a part
        if self.steps < REVIVED and not asked and not H.any(axis=0).all():
            self._revive(block, W, H, samples)
        smoothed = self.cost.added(cost, share)
        self.H, self.past, self.sizes, self.cost = H, past, sizes, smoothed
        self.counted, self.seen, self.steps = counted, self.seen + block.shape[0], self.steps + 1
        return cost

    def _revive(self, block: Block, W: Array, new: Array, samples: Array | None) -> None:
        """Begin parts that have vanished with what is left of the samples that are explained worst."""
        H, X, dead = self.H, blocks.zeroed(block), np.flatnonzero(~new.any(axis=0))
        squares = blocks.squared_norms(X) + np.einsum("ij,ij->i", W @ (H.T @ H) - 2.0 * blocks.dot(X, H), W)
        worst = np.argsort(-squares, kind="stable")
        worst = (worst if samples is None else worst[samples[worst] > 0.0])[: len(dead)]
        left = blocks.to_dense(X[worst]) - W[worst] @ H.T
        new[:, dead[: len(worst)]] = np.maximum(left, 0.0).T

    def components(self, dtype: Any) -> Array:
        """A component a row; zero at features that no batch has had."""
        H = self._pair(max(1.0, self.counted)).started(self.H)
        return (H * (self.bound.met(self.past) if self.steps else True)).T.astype(dtype)

    def state(self) -> dict[str, Any]:
        """The arrays and numbers from which :meth:`restore` continues with the same bits."""
        numbers = [self.counted, self.seen, self.steps, self.cost.mean, self.cost.least, self.cost.idle]
        arrays = {"H": self.H, "past_0": self.past[0], "past_1": self.past[1], "sizes": self.sizes}
        return arrays | {"totals": np.array(numbers, np.float64)}

    def restore(self, state: State) -> None:
        """Continue from a saved state; a ValueError where it is not that of such a learner."""
        for name, mine in self.state().items():
            given = state.get(name)
            if not isinstance(given, np.ndarray) or given.shape != mine.shape or given.dtype != mine.dtype:
                raise ValueError(f"the state of its learner does not go with its components ({name})")
            good = given[:3] if name == "totals" else given
            if not np.isfinite(good).all() or (good < 0.0).any():
                raise ValueError(f"the state of its learner holds numbers that no learner has ({name})")
        self.H = np.array(state["H"], order="C")
        self.past, self.sizes = (np.array(state["past_0"]), np.array(state["past_1"])), np.array(state["sizes"])
        self.counted, seen, steps, mean, least, idle = map(float, state["totals"])
        self.seen, self.steps, self.cost = int(seen), int(steps), Cost(mean, least, int(idle))


def minibatch(
    source: RowSource,
    learner: Learner,
    *,
    batch_size: int,
    left: float,
    patience: int | None = None,
    rng: np.random.Generator | None = None,
    samples: Array | None = None,
    state: State | None = None,
) -> Stages:
    """Passes over the data, in file order or, with ``rng``, shuffled; yields the start, then every pass.

    Parameters
    ----------
    learner : Learner
        What has been learnt so far; it is changed in place.
    batch_size : int
        Samples a batch.
    left : float
        What a pass leaves of the past.
    patience : int, optional
        Batches without a lower smoothed cost after which it ends.
    samples : ndarray of shape (n_samples,), optional
        How often each sample counts.
    state : mapping, optional
        Of a pass of an earlier run on this data, from which the learner was restored: the first pass is the next one.
    """
    n = count_of(source, samples)
    if state is None:
        batches = paired_batches(source, min(source.shape[0], batch_size), None, samples)
        first = next(pair for pair in batches if count_of(*pair))
        yield _progress(learner, source, n * learner.cost_of(*first), np.nan, rng)
    elif rng is not None:
        if "shuffled" not in state:
            raise ValueError("the state is of passes in file order, and does not go with shuffled ones")
        unpack(state["shuffled"], rng)
    while patience is None or learner.cost.idle < patience:
        before, total = copy(learner), 0.0
        try:
            for block, counts in paired_batches(source, batch_size, rng, samples):
                size = count_of(block, counts)
                if size:  # what does not count at all is not learnt
                    total += size * learner.learn(block, left ** (size / n), size / n, counts)
                if patience is not None and learner.cost.idle >= patience:
                    break
        except BaseException:  # Ctrl-C above all: a fit keeps the last whole pass
            vars(learner).update(vars(before))
            raise
        size = float(np.linalg.norm(before.H))
        change = float(np.linalg.norm(learner.H - before.H)) / size if size > 0.0 else 0.0
        yield _progress(learner, source, total, change, rng)
    return Stop("floor", learner.cost.mean, cause="batches", details={"batches": float(patience)})


def _progress(
    learner: Learner, source: RowSource, total: float, change: float, rng: np.random.Generator | None
) -> Progress:
    kept = learner.state() | ({} if rng is None else {"shuffled": packed(rng)})
    details = {"samples": float(learner.seen), "batches": float(learner.steps)}
    return Progress(learner.components(source.dtype), total, change, details=details, state=kept)
