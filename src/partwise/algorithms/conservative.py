"""Conservative online learning: for every sample the smallest change of encoder and decoder that recovers it.

V. Elser, "Online Non-negative Matrix Factorization" (notes on conservative learning), "Summary of the conservative
update rule", steps 1 to 11.  For a sample x of unit length, encoder E and decoder D::

    y0 = E x                                   2
    y = max(0, y0)                             3
    E += (y - y0) x'                           4
    Delta = x - D y                            5, 6
    eta = Delta / (|D' Delta|^2 / |Delta|^2 + w |y|^2)   7
    xi = D' eta                                9, with D as it was before step 8 (equation 6 keeps the leading order)
    D += w eta y'                              8
    E += xi x'                                 10
    D = max(0, D)                              11

The summary prints step 9 behind step 8, without saying which D it means; ``Rule.printed`` takes the new one.

Ours: more than one conjugate gradient iteration for equation (7), of which step 7 is the first; and taking only a share
of every change, which may fall with the number of samples: noise is then averaged, where full steps follow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.loop import Progress, Stages, State
from partwise.algorithms.randomness import packed, unpack
from partwise.exceptions import InputError
from partwise.kernels.conservative import COUNT, ERROR, LEARNT, SEEN, learn, workspace
from partwise.outcomes import AVERAGE_ERROR, Stop
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

CHUNK = 128  # samples between two looks at the keyboard: a few milliseconds


@dataclass(frozen=True)
class Decay:
    """``first / (1 + t / after) ** power`` for sample t; by default a constant.

    Attributes
    ----------
    first : float
        The value for the first sample.
    after : float
        After so many samples it has begun to fall: for ``power=1`` to a half.
    power : float
        How fast it falls.
    """

    first: float
    after: float = np.inf
    power: float = 1.0

    @classmethod
    def of(cls, value: Any, name: str, largest: float = np.inf) -> Decay:
        """A number, or ``(first, after)`` or ``(first, after, power)``."""
        try:
            numbers = [float(part) for part in np.atleast_1d(np.asarray(value, float))]
        except (TypeError, ValueError):
            numbers = []
        if not 1 <= len(numbers) <= 3 or not all(part > 0.0 for part in numbers) or numbers[0] > largest:
            limit = "" if largest == np.inf else f", the first at most {largest:g}"
            raise InputError(
                f"{{parameter}} must be a positive number, or (first, after) or (first, after, power){limit}; got "
                f"{value!r}",
                parameter=name,
            )
        return cls(*numbers)

    def __call__(self, t: npt.ArrayLike) -> Array:
        """The values for these samples."""
        return np.asarray(self.first / (1.0 + np.asarray(t, float) / self.after) ** self.power)

    def packed(self) -> npt.NDArray[np.float64]:
        """As the kernel wants it."""
        return np.array([self.first, self.after, self.power])


@dataclass(frozen=True)
class Rule:
    """How a sample changes the matrices; the defaults are the document's.

    Attributes
    ----------
    w : Decay
        How freely the decoder changes, relative to the encoder.
    share : Decay
        Share of every change that is made.
    steps : int
        Conjugate gradient iterations for equation (7).
    nonnegative : bool
        Whether the decoder is made non-negative by hand, step 11.
    printed : bool
        Whether step 9 reads the decoder as step 8 has changed it, which is the order of the printed summary, and not
        the one before, which is equation (6).
    """

    w: Decay = Decay(1.0)
    share: Decay = Decay(1.0)
    steps: int = 1
    nonnegative: bool = True
    printed: bool = False


class Learner:
    """Encoder and decoder, and how many samples they have seen: all that there is to continue from.

    Parameters
    ----------
    E : ndarray of shape (n_components, n_features)
        The encoder to begin with; its type is that of the computation. The decoder begins at zero.
    rule : Rule
        How samples are learnt.
    batch_size : int, default=10000
        Errors are averaged over so many samples; learning does not depend on it.
    """

    def __init__(self, E: Array, rule: Rule | None = None, *, batch_size: int = 10000) -> None:
        self.rule, self.batch_size = Rule() if rule is None else rule, batch_size
        self.Et: Array = np.array(E.T, order="C")
        self.H: Array = np.zeros(E.shape, E.dtype)
        self.totals = np.zeros(4)

    @classmethod
    def random(
        cls, n_components: int, n_features: int, dtype: Any, rng: np.random.Generator, rule: Rule, **options: Any
    ) -> Learner:
        """As the document begins: E uniform in [-1, 1], D zero."""
        return cls(rng.uniform(-1.0, 1.0, (n_components, n_features)).astype(dtype), rule, **options)

    @property
    def features(self) -> Array:
        """The columns of the decoder, as rows (a copy)."""
        return self.H.copy()

    @property
    def detectors(self) -> Array:
        """The rows of the encoder (a copy)."""
        return np.array(self.Et.T, order="C")

    @property
    def seen(self) -> int:
        """Samples given so far."""
        return int(self.totals[SEEN])

    @property
    def skipped(self) -> int:
        """Samples that were passed over, being zero or not finite."""
        return int(self.totals[SEEN] - self.totals[LEARNT])

    @property
    def error(self) -> float:
        """Average error ``|Delta|`` of the samples of the unfinished batch, each before it was learnt."""
        return float(self.totals[ERROR] / self.totals[COUNT]) if self.totals[COUNT] else np.nan

    def feed(self, block: Block) -> Iterator[float]:
        """Learn the rows of a block; yields the average error whenever a batch is complete."""
        start = 0
        while start < block.shape[0]:
            room = self.batch_size - self.seen % self.batch_size
            stop = min(block.shape[0], start + room, start + CHUNK)
            self._learn(block[start:stop])
            start = stop
            if self.seen % self.batch_size == 0:
                error = self.error
                self.totals[[ERROR, COUNT]] = 0.0
                yield error

    def state(self) -> dict[str, Array]:
        """The arrays from which :meth:`restore` continues with the same bits; they change with every sample."""
        return {"H": self.H, "Et": self.Et, "totals": self.totals}

    def restore(self, state: State) -> None:
        """Continue from a saved state; a ValueError where it is not that of such a learner."""
        for name, mine in self.state().items():
            given = state.get(name)
            if not isinstance(given, np.ndarray) or given.shape != mine.shape or given.dtype != mine.dtype:
                raise ValueError(f"the state of its learner does not go with its components ({name})")
            if not np.isfinite(given).all() or (name == "totals" and not _are_totals(given)):
                raise ValueError(f"the state of its learner holds numbers that no learner has ({name})")
        for name, mine in self.state().items():
            mine[...] = state[name]

    def __copy__(self) -> Learner:
        """One of its own arrays, which this one goes on to change."""
        return deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_work"}

    def _learn(self, rows: Block) -> None:
        if not hasattr(self, "_work"):
            k, m = self.H.shape
            self._work = (workspace(m, k, self.H.dtype), np.zeros(m, np.int64), np.zeros(k, np.int64))
        rule = self.rule
        switches = rule.steps, rule.nonnegative, rule.printed
        how = (rule.w.packed(), rule.share.packed(), *switches, *self._work, self.totals)
        kind, none = self.H.dtype, np.empty(0, np.int64)
        if blocks.is_complete(rows):
            # a read-only array would be another type for the compiler
            X = np.require(rows, kind, ["C", "A", "W"])
            learn(X, none, none, np.empty(0, kind), self.H, self.Et, *how)
        else:
            indptr, indices = np.asarray(rows.indptr, np.int64), np.asarray(rows.indices, np.int64)
            data = rows.data.astype(kind, copy=False)
            learn(np.empty((0, 0), kind), indptr, indices, data, self.H, self.Et, *how)


def _are_totals(totals: Array) -> bool:
    counts = totals[[SEEN, LEARNT, COUNT]]
    return bool((totals >= 0.0).all() and (counts == np.rint(counts)).all() and totals[LEARNT] <= totals[SEEN])


def conservative(
    source: RowSource,
    learner: Learner,
    *,
    passes: int,
    tol: float = 0.0,
    rng: np.random.Generator | None = None,
    state: State | None = None,
) -> Stages:
    """Passes over the data, in file order or, with ``rng``, shuffled.

    Parameters
    ----------
    learner : Learner
        What has been learnt so far; it is changed in place. The passes go on behind the samples that it has seen.
    tol : float, default=0
        Stop when the average error of a batch is at most this.
    state : mapping, optional
        Of a batch of an earlier run on this data: the first batch is the next one.

    Yields
    ------
    Progress
        The start, then every batch; the objective is the average error, and there is no optimality residual.
    """
    error, over = 1.0, False  # the error of samples of unit length, while the decoder is zero
    stream = _Passes(source, passes, rng, state)
    if state is None:
        yield _progress(learner, error, stream)
    else:
        learner.restore(state)
        error, over = float(state["error"]), bool(state["over"])
        if learner.seen and error <= tol and not over:
            return Stop("converged", error, tol, measure=AVERAGE_ERROR)
    for block in stream.blocks(learner.seen):
        for error in learner.feed(block):
            yield _progress(learner, error, stream)
            if error <= tol:
                return Stop("converged", error, tol, measure=AVERAGE_ERROR)
    if learner.seen % learner.batch_size and not over:
        yield _progress(learner, error if np.isnan(learner.error) else learner.error, stream, over=True)
    return Stop("passes", passes)


def _progress(learner: Learner, error: float, stream: _Passes, *, over: bool = False) -> Progress:
    kept = {**learner.state(), "error": error, "over": over, **stream.state()}
    return Progress(learner.features, error, details={"samples": float(learner.seen)}, state=kept)


class _Passes:
    """Passes over the data and where they stand: the pass, and the generator as it was before it."""

    def __init__(
        self, source: RowSource, passes: int, rng: np.random.Generator | None, state: State | None = None
    ) -> None:
        self.source, self.passes, self.rng = source, passes, rng
        self.number = 0 if state is None else int(state["pass"])
        if rng is not None and state is not None:
            unpack(state["shuffled"], rng)
        self._mark()

    def _mark(self) -> None:
        self._order = {} if self.rng is None else {"shuffled": packed(self.rng)}

    def state(self) -> dict[str, Any]:
        return {"pass": self.number, **self._order}

    def blocks(self, seen: int) -> Iterable[Block]:
        """Those of the samples behind the ``seen`` first ones; of its own pass, the others are drawn again."""
        n = self.source.shape[0]
        for number in range(self.number, self.passes):
            self.number = number
            self._mark()
            if self.rng is None and seen >= (self.number + 1) * n:
                continue
            before = self.number * n
            for block in self.source.batches(8 * CHUNK, self.rng):
                known = min(max(0, seen - before), block.shape[0])
                before += block.shape[0]
                if known < block.shape[0]:
                    yield block[known:] if known else block
