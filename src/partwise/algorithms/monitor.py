"""The proofs of AND and Purification watched without the truth: one half of the samples stands in for it.

Both proofs write the components as ``A = A* (Sigma + E) + N`` and follow E. Here the iteration is run on one half of
the samples to its end, what that finds takes the place of ``A*``, and the iteration on the other half is measured by
it: ``A_1 = A_2 (Sigma + E) + N``, its potential ``a_t + beta b_t`` (Li, Liang & Risteski 2016, Section 5.2), and the
threshold ``alpha = (lambda |E|_2 / r)^(2 / (q + 1))`` of Li & Liang (2017), Theorem 4.

Two halves err independently of each other as far as samples and noise decide. Errors of size e each then differ by
``sqrt(2) e``, and all samples together, twice as many, err by ``e / sqrt(2)``: half the disagreement. What goes wrong
in both halves in the same way (a biased decoder, a start from which neither gets away) does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.loop import Ending, Progress, Stages, State, prefixed, under
from partwise.algorithms.schedule import look
from partwise.algorithms.signal import NOISELESS_EPS
from partwise.algorithms.thresholds import weight_quantities
from partwise.metrics import Match, RecoveryMeasures, decoding_threshold, match_components
from partwise.metrics.conditions.induction import BETA
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

STATE = "half."  # before the names of what the halves add to a state,
COLUMN = "half_"  # and to the history
MEASURES = RecoveryMeasures.names[1:]  # all but the error, which is the truth's
NAMES = (*MEASURES, "potential", "contraction", "decoding", "alpha")
LEVEL = 0.1  # the l of (A3): parts of one half within it are a start for those of the other
# times the largest decoding error of a part: only above it a weight is one. The errors of some parts are all positive
CLEAR = 2.0
FALLEN = 2.0  # within this factor of its least, a potential has come down


def split(n_rows: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """One half of the rows, drawn: neighbours, which may be alike, go either way."""
    chosen = np.zeros(n_rows, bool)
    chosen[rng.permutation(n_rows)[: n_rows // 2]] = True
    return chosen


@dataclass(frozen=True, eq=False)
class Halves:
    """What two fits on disjoint halves of the samples say of the fit on all of them.

    Attributes
    ----------
    disagreement : ndarray of shape (n_components,)
        For every row of ``components_`` the sine of the angle between what the two halves make of it; 1 where they have
        nothing in common.
    E_s : float
        ``|E|_s`` between the halves when both had come to their end, which may be later than that of the fit.
    r, lam, q : float
        Of AND's Definitions 1 and 3, from the weights of one half decoded by its own parts.
    """

    disagreement: Array
    E_s: float
    r: float
    lam: float
    q: float

    @property
    def error(self) -> Array:
        """What samples and noise leave as the error of every component: half of what the halves disagree by."""
        return self.disagreement / 2.0

    @property
    def agree(self) -> npt.NDArray[np.bool_]:
        """Which parts of one half are within 1/10 of the other's, as near as (A3) asks of a start."""
        return np.asarray(self.disagreement <= LEVEL)


@dataclass(frozen=True, eq=False)
class Reference:
    """The parts of one half in the unit of the theorems, and what its weights are like.

    Attributes
    ----------
    H : ndarray of shape (n_components, n_features)
        The parts, so scaled that the largest weight of each is 1 (Definition 1: weights in [0, 1]).
    r, lam, q : float
        The largest sum of the weights of a sample, ``lambda_min(E[w w']) D / k``, and the order of decay. Weights
        that are not clear of the decoding error, as negative ones show it, count as zero.
    """

    H: Array
    r: float
    lam: float
    q: float

    @classmethod
    def of(cls, H: Array, held: RowSource) -> Reference:
        """The reference that these parts, found in these rows, make."""
        H = np.array(H, np.float64)
        seen = look(held, np.ones(held.shape[0]), np.linalg.pinv(H))
        H *= seen.unit[:, None]
        P = np.linalg.pinv(H)
        least = max(CLEAR * float(seen.error.max()), NOISELESS_EPS * float(np.finfo(held.dtype).eps))
        return cls(H, **weight_quantities(held, P, least))

    @classmethod
    def from_state(cls, state: State) -> Reference:
        """As a state has it."""
        r, lam, q = (float(state[name]) for name in ("r", "lam", "q"))
        return cls(np.asarray(state["reference"]), r, lam, q)

    def state(self) -> dict[str, Any]:
        """What `from_state` takes."""
        return {"reference": self.H, "r": self.r, "lam": self.lam, "q": self.q}

    def alpha(self, error: float) -> float:
        """Theorem 4's threshold for an error ``|E|_2``, relative to the largest weight; for infinite q Theorem 1's."""
        if not (self.r > 0.0 and self.lam >= 0.0 and error >= 0.0):
            return np.nan
        return decoding_threshold(error, r=self.r, lam=self.lam, q=self.q)


class Watch:
    """The iterations on one half, measured by the other half's parts.

    Parameters
    ----------
    reference : Reference
        The other half's parts.
    held : RowSource
        The other half's rows, which both decode.
    half : iterator of Progress
        The iterations on this half, or those behind ``state``.
    state : mapping, optional
        That of the watch in an earlier run.
    """

    def __init__(
        self, reference: Reference, held: RowSource, half: Iterator[Progress], state: State | None = None
    ) -> None:
        self.reference, self.held, self.half = reference, held, half
        self._measures = RecoveryMeasures(reference.H)
        self._decoder = np.linalg.pinv(reference.H)
        self.potential = np.nan
        self.last = Progress(np.zeros_like(reference.H), np.nan)
        if state:
            self.potential = float(state["potential"])
            self.last = Progress(np.asarray(state["components"]), np.nan, state=under("own.", state))

    def step(self) -> dict[str, float]:
        """One iteration on this half, if it has not come to its end, and the columns of the history that tell of it."""
        self.last = next(self.half, self.last)
        H = np.asarray(self.last.components, np.float64)
        found = self._measures(H)
        before, self.potential = self.potential, found["E_plus"] + BETA * found["E_minus"]
        found["potential"] = self.potential
        found["contraction"] = self.potential / before if before > 0.0 else np.nan
        found |= {"decoding": np.nan, "alpha": np.nan}
        if np.isfinite(H).all():
            matched = _matched(H, self.reference.H)
            found["decoding"] = self._decoding(matched.aligned(H))
            # in the unit of this half's own weights, as the method's thresholds are
            found["alpha"] = self.reference.alpha(found["E_2"]) * float(np.median(matched.scales))
        return {f"{COLUMN}{name}": found[name] for name in NAMES}

    def _decoding(self, H: Array) -> float:
        """``|W_1 - W_2| / |W_2|`` over the held rows, decoded by these parts and by the reference."""
        P = np.ascontiguousarray(np.hstack([np.linalg.pinv(H), self._decoder]), self.held.dtype)
        apart, size = self.held.reduce(partial(_apart_block, P=P))
        return float(np.sqrt(apart / size)) if size > 0.0 else np.nan

    def state(self) -> dict[str, Any]:
        """What a later watch goes on from."""
        own = {"components": self.last.components, "potential": self.potential, **prefixed("own.", self.last.state)}
        return prefixed(STATE, {**self.reference.state(), **own})

    def finish(self, limit: int) -> None:
        """The iterations that are left on this half, so many at most: fewer samples may take more of them."""
        for progress in islice(self.half, limit):
            self.last = progress

    def halves(self, components: Array) -> Halves:
        """What the halves say of these components."""
        H, reference = np.asarray(self.last.components, np.float64), self.reference
        apart = _matched(H, reference.H).errors if np.isfinite(H).all() else np.ones(len(H))
        order = _matched(reference.H, components).permutation
        disagreement = np.where(order >= 0, apart[order], 1.0)
        return Halves(disagreement, self._measures(H)["E_s"], reference.r, reference.lam, reference.q)


def monitored(iterations: Iterator[Progress], watch: Watch) -> Stages:
    """The iterations as they are, with what a watch sees meanwhile and, in their states, what it goes on from."""
    whole = Ending(iterations)
    for progress in whole:
        details = {**progress.details, **watch.step()}
        state = {**progress.state, **watch.state()} if progress.state else progress.state
        yield replace(progress, details=details, state=state)
    return whole.stop


def fall(values: npt.ArrayLike) -> tuple[float, float, float]:
    """The first and the last of the values over the iterations, and the factor of one iteration on the way down.

    The way down ends where they are within a factor of 2 of their least. The factor is NaN if there is no way down or
    they end where they began or above; all three are if no value is known.

    Examples
    --------
    >>> fall([8.0, 4.0, 2.0, 1.0, 0.9, 1.0])
    (8.0, 1.0, 0.5)
    """
    known = np.asarray(values, float)
    known = known[np.isfinite(known)]
    if not len(known):
        return np.nan, np.nan, np.nan
    steps = int(np.argmax(known <= FALLEN * known.min()))
    rate = (known[steps] / known[0]) ** (1.0 / steps) if steps and known[-1] < known[0] else np.nan
    return float(known[0]), float(known[-1]), float(rate)


def _matched(components: Array, truth: Array) -> Match:
    """Which component is which; zeros, in the place of parts that the data has not got, have none."""
    used = np.flatnonzero(np.any(truth, axis=1))
    k = len(truth)
    found = Match(np.full(k, -1), np.zeros(k), np.zeros(k), np.ones(k))
    if len(used):
        for into, part in zip(
            vars(found).values(), vars(match_components(components, truth[used])).values(), strict=True
        ):
            into[used] = part
    return found


def _apart_block(block: Block, *, P: Array) -> tuple[float, float]:
    W = np.maximum(blocks.dot(block, P), 0.0)
    k = P.shape[1] // 2
    one, other = W[:, :k], W[:, k:]
    return float(np.sum((one - other) ** 2, dtype=np.float64)), float(np.sum(other**2, dtype=np.float64))
