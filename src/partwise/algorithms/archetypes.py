"""Trimmed archetypes: parts that lie among the samples, where no single sample makes one; ours.

With ``y_i`` the samples at unit length it makes small, over non-negative weights and over the parts ``E_j``,

    f(E) = mean_i |y_i - a_i E|,    E_j a mean of samples of which none counts for more than 1 / p_j,

``p_j`` being a tenth of the samples that part j makes up.  It is archetypal analysis (Cutler & Breiman 1994) with
three changes.  The norm is not squared, so what a sample has of its own (noise, a variant of a part, an outlier) counts
little.  The trimming keeps a part from being more extreme than the mean of the most extreme tenth of its own samples:
rare parts are averaged over few samples and frequent ones over many.  And weights need not sum to one: what counts is a
sample's direction.  That parts lie among the samples bounds their cone, so there is no volume to weigh against the fit,
no threshold and no estimate of the noise in the weights; samples that are (nearly) pure are what it needs.

For given weights f is bounded above by a quadratic that is equally curved in all directions, so the best part is the
feasible mean next to the point where that quadratic is least.  It is found among mixtures of the feasible means that
reach farthest (Frank & Wolfe 1956, with all of them corrected); the weights follow by coordinate descent.  Neither
raises f.  There are many minima: several starts compete.  Of those that differ by no more than per mills the one is
taken in which samples are purest: that some are is what the method lives on, and where parts are many, as topics are,
such minima are too.  One in which they are far purer is taken though its f is larger by per cents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from partwise.algorithms.directions import SKETCH, Directions
from partwise.algorithms.loop import Progress, Stages, State
from partwise.kernels.coordinate import descend_lanes
from partwise.outcomes import GAP, Stop
from partwise.sources import blocks
from partwise.sources.passes import ordered

Array = npt.NDArray[Any]

WIDE = 3.0  # times as many samples in a mean while searching: wider means have fewer false minima
LEAST = 4  # samples in a mean at least, of parts with hardly any
FIRST, SECOND, THIRD = 10, 10, 20  # steps: wide, narrow on the sketch, narrow on all
KEPT = 6  # minima of the sketch that are followed on all samples: their order there is decided by per mills
# Objectives that differ by less, relatively, are a toss. A standard error of the difference, the natural bound, is too
# wide where samples are few: of 2,000 pixels of Jasper Ridge it takes a minimum that is 2% and ten degrees worse.
TOSS = 0.002
# What a minimum must be purer by, in `_extent`, to be taken though its objective is larger. Of 52 generated scenes with
# spectra that vary it was 0.51 to 1.24 on five, where the least objective was wrong, and below 0.04 on the others; on
# Jasper Ridge, where a material in some per cent of the pixels is none of the four surveyed ones, 0.24 to 0.27.
PURER = 0.4
SAME = 3.0  # degrees within which all parts of two minima are the same
INNER = 3  # further means that a part is mixed of in a step, unless
CLOSE = 1e-4  # the best one would bring it nearer by no more than this part of its squared distance
HEAVY = 1e3  # what the condition that shares sum to one weighs, where points have lengths of about one
SWEEPS = 30  # over the weights in a step; they begin where they were
FIRST_SWEEPS = 60  # over weights that begin at zero
STANDS = 1e-9  # a step that lowers f by less than this part of it ends the descent
ROUNDED = 0.25  # of the median squared residual: the norm is rounded off below half of the typical residual


@dataclass(frozen=True)
class Minimum:
    """Parts in the coordinates of the directions, weights of all points, and the mean residual."""

    parts: Array
    weights: Array
    objective: float

    @property
    def purity(self) -> float:
        """Mean share of the largest part of a point, where all parts are equally long."""
        amounts = self.weights * np.linalg.norm(self.parts, axis=1)
        sums = np.maximum(amounts.sum(axis=1), np.finfo(float).tiny)
        return float((amounts.max(axis=1) / sums).mean())

    @property
    def mass(self) -> Array:
        """Share of each part in all points."""
        return shares(self.weights)


@dataclass(frozen=True)
class Search:
    """What the starts led to.

    Attributes
    ----------
    best : Minimum
        The one of least objective, or a purer one that is as good up to per mills.
    moved : ndarray of shape (k,)
        How far each part moved when the trimming was narrowed, as a share of the angle to the nearest other part:
        far, if no samples are pure.
    rival : float
        How much larger, relatively, the objective of the best other minimum is, 0 if it is no larger; infinite if there
        is none.
    """

    best: Minimum
    moved: Array
    rival: float


def archetypes(
    data: Directions, found: Search | None, *, trim: float, finish: Finish, state: State | None = None
) -> Stages:
    """The last descent, from what the search found: the numbers of samples in the means stay what they are.

    Parameters
    ----------
    found : Search or None
        Where to begin; not used with a state.
    trim : float
        Share of a part's samples in its mean.
    finish : callable
        Makes components of parts in the coordinates of `data`.
    state : mapping, optional
        Of an iteration of an earlier run on this data: the first iteration is the next one.

    Yields
    ------
    Progress
        The start, then every step: ``objective`` is f with its norm rounded off, which never rises, ``residual`` the
        gap of Frank and Wolfe, relative to it: at 0 no feasible change of the parts lowers f for these weights.
    """
    if state is None:
        assert found is not None
        counts = counts_of(found.best.weights, trim)
        now = _feasible(data, found.best, counts)
        rounded = ROUNDED * float(np.median(now.squares))
        facts = {"moved": found.moved, "rival": found.rival}
    else:
        counts, rounded = np.asarray(state["counts"]), float(state["rounded"])
        sizes = np.cumsum(np.asarray(state["sizes"]))[:-1]
        atoms = tuple(np.split(np.asarray(state["atoms"]), sizes))
        now = Point.of(data, np.asarray(state["parts"]), np.asarray(state["weights"]), atoms)
        facts = {"moved": np.asarray(state["moved"]), "rival": float(state["rival"])}
    while True:
        if state is None:
            kept = {"parts": now.E, "weights": now.A, "atoms": np.vstack(now.atoms), "counts": counts, **facts}
            kept |= {"sizes": np.array([len(a) for a in now.atoms]), "rounded": rounded}
            yield Progress(finish(now.E), now.objective(rounded), now.gap(data, counts, rounded), state=kept)
        state = None
        before, now = now.objective(rounded), now.step(data, counts, rounded)
        if now.objective(rounded) >= (1.0 - STANDS) * before:
            return Stop("stalled", now.gap(data, counts, rounded), measure=GAP)


Finish = Callable[[Array], Array]


def search(
    data: Directions,
    k: int,
    *,
    trim: float,
    starts: int,
    rng: np.random.Generator,
    sketch: int = SKETCH,
    kept: int = KEPT,
) -> Search:
    """Descents from several starts: all on a sketch, the best different ones on all points.

    Parameters
    ----------
    trim : float
        Share of a part's samples in its mean.
    sketch : int
        How many points the starts see.
    kept : int
        How many different minima of the sketch are followed.

    Returns
    -------
    Search
        The best minimum, and what the others say of it.
    """
    some = data.sketch(rng, sketch)
    seeds = rng.spawn(starts)
    wide = min(WIDE * trim, 1.0)

    def begin(i: int) -> tuple[Minimum, Minimum]:
        E = _scattered(some.points, k, trim, seeds[i]) if i % 2 else _extremes(some.points, k, wide, seeds[i], i)
        first = descend(some, decoded(some, E), wide, FIRST)
        return first, descend(some, first, trim, SECOND)

    runs = list(ordered(begin, starts))
    several = _different([runs[i] for i in ordering([second for _, second in runs])], kept)

    def follow(i: int) -> Minimum:
        return descend(data, decoded(data, several[i][1].parts), trim, THIRD)

    followed = list(ordered(follow, len(several)))
    order = ordering(followed)
    best = followed[order[0]]
    others = [followed[i].objective for i in order[1:] if not _same(followed[i].parts, best.parts)]
    moved = _moved(several[order[0]][0].parts, best.parts)
    heaviest = np.argsort(-best.mass, kind="stable")
    best = replace(best, parts=best.parts[heaviest], weights=np.ascontiguousarray(best.weights[:, heaviest]))
    rival = min(others, default=np.inf) / max(best.objective, np.finfo(float).tiny) - 1.0
    return Search(best, moved[heaviest], max(rival, 0.0))


def _moved(E: Array, F: Array) -> Array:
    """Angles between partners as shares of the angle to the nearest other part; of parts that are one, none."""
    between = (angles(F, F) + np.diag(np.full(len(F), np.inf))).min(axis=1, initial=180.0)
    moved: Array = np.divide(np.diag(angles(E, F)), between, out=np.zeros(len(F)), where=between > SAME / 100.0)
    return moved


def ordering(minima: Sequence[Minimum]) -> list[int]:
    """Those that are as good as the best, the purest first, then the others by their objective.

    One that is clearly purer is before them: to split a frequent part that varies may pay more than to find a rare one,
    and many samples are mixtures of the halves then.  Descents to the same minimum differ by little, and rounding does
    not choose of them.
    """
    objectives, purities = [_rounded(one.objective) for one in minima], [_rounded(one.purity) for one in minima]
    limit = (1.0 + TOSS) * min(objectives)

    def rank(i: int) -> tuple[bool, float]:
        toss = objectives[i] <= limit
        return not toss, -purities[i] if toss else objectives[i]

    order = sorted(range(len(minima)), key=rank)
    extents = [_extent(f, p, len(one.parts)) for f, p, one in zip(objectives, purities, minima, strict=True)]
    purest = min(order, key=extents.__getitem__)
    if extents[order[0]] - extents[purest] > PURER:
        order.remove(purest)
        order.insert(0, purest)
    return order


def _extent(objective: float, purity: float, k: int) -> float:
    """Logarithm of the room that samples take: for each dimension of the simplex, beside it and from its corners."""
    beside = max(objective, np.finfo(float).tiny)  # it is also how well shares are known
    return (k - 1) * float(np.log(beside) + np.log(beside + max(1.0 - purity, 0.0)))


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _different(runs: Sequence[tuple[Minimum, Minimum]], most: int) -> list[tuple[Minimum, Minimum]]:
    kept: list[tuple[Minimum, Minimum]] = []
    for run in runs:
        if len(kept) < most and not any(_same(run[1].parts, other[1].parts) for other in kept):
            kept.append(run)
    return kept


def _same(E: Array, F: Array) -> bool:
    return bool(angles(E, F).min(axis=1).max() < SAME)


def descend(data: Directions, at: Minimum, share: float, steps: int) -> Minimum:
    """Some steps; the numbers of samples in the means follow the masses of the parts."""
    now = Point.of(data, at.parts.copy(), at.weights.copy())
    for _ in range(steps):
        now = now.step(data, counts_of(now.A, share), ROUNDED * float(np.median(now.squares)))
    return Minimum(now.E, now.A, float(np.sqrt(now.squares).mean()))


@dataclass(frozen=True)
class Point:
    """Where a descent is: parts, weights, residuals with their squared lengths, and what each part is a mixture of."""

    E: Array
    A: Array
    R: Array
    squares: Array
    atoms: tuple[Array, ...]

    @classmethod
    def of(cls, data: Directions, E: Array, A: Array, atoms: tuple[Array, ...] | None = None) -> Point:
        """With the residuals that parts and weights make."""
        R = data.points - A @ E
        return cls(E, A, R, blocks.squared_norms(R), tuple(e[None] for e in E) if atoms is None else atoms)

    def step(self, data: Directions, counts: Array, rounded: float) -> Point:
        """Every part to the best place for given weights, then the weights."""
        E, A, atoms = self.E.copy(), self.A.copy(), list(self.atoms)
        weighed = A * self._slopes(rounded)[:, None]
        products, gram = weighed.T @ data.points, weighed.T @ A
        for j in range(len(E)):
            # the least point of the bound: what the other parts leave, as the part j has it
            target = E[j] + (products[j] - gram[j] @ E) / max(float(gram[j, j]), np.finfo(float).tiny)
            E[j], atoms[j] = nearest(data.points, target, counts[j], atoms[j])
        _sweep(data.points, E, A, SWEEPS)
        return Point.of(data, E, A, tuple(atoms))

    def gap(self, data: Directions, counts: Array, rounded: float) -> float:
        """Frank and Wolfe's: by how much f falls, at most and relatively, for these weights and means."""
        G = (self.A * self._slopes(rounded)[:, None]).T @ self.R
        falls = [g @ (extreme(data.points, g, count) - e) for g, count, e in zip(G, counts, self.E, strict=True)]
        return max(float(np.sum(falls)), 0.0) / max(self.objective(rounded) * len(self.A), np.finfo(float).tiny)

    def objective(self, rounded: float) -> float:
        """The mean residual, rounded off."""
        return float(np.sqrt(self.squares + rounded).mean())

    def _slopes(self, rounded: float) -> Array:
        return np.asarray(1.0 / np.sqrt(self.squares + rounded + np.finfo(float).tiny))


def _feasible(data: Directions, at: Minimum, counts: Array) -> Point:
    """The feasible parts next to given ones, whose means were of other numbers of samples."""
    near = [
        nearest(data.points, e, count, extreme(data.points, e, count)[None], 10 * INNER)
        for e, count in zip(at.parts, counts, strict=True)
    ]
    E, A = np.array([e for e, _ in near]), at.weights.copy()
    _sweep(data.points, E, A, SWEEPS)
    return Point.of(data, E, A, tuple(atoms for _, atoms in near))


def nearest(points: Array, target: Array, count: int, atoms: Array, most: int = INNER) -> tuple[Array, Array]:
    """The mixture of feasible means that is next to a point, and these: `atoms`, and some that reach farther."""
    E, atoms = _mixture(atoms, target)
    for _ in range(most):
        d = target - E
        far = extreme(points, d, count)
        if d @ (far - E) <= CLOSE * (d @ d):
            break
        E, atoms = _mixture(np.vstack([atoms, far]), target)
    return E, atoms


def _mixture(atoms: Array, target: Array) -> tuple[Array, Array]:
    """The mixture of rows that is next to a point, and the rows that are in it."""
    if len(atoms) == 1:
        return atoms[0], atoms
    T = np.vstack([atoms.T, np.full((1, len(atoms)), HEAVY)])
    shares, _ = nnls(T, np.append(target, HEAVY))
    shares /= max(shares.sum(), np.finfo(float).tiny)
    used = shares > 0.0
    return np.asarray(shares @ atoms), atoms[used]


def extreme(points: Array, direction: Array, count: int) -> Array:
    """The mean of the `count` points that reach farthest: the feasible mean that does."""
    if count >= len(points):
        return np.asarray(points.mean(axis=0))
    return np.asarray(points[np.argpartition(points @ -direction, count - 1)[:count]].mean(axis=0))


def _extremes(points: Array, k: int, share: float, rng: np.random.Generator, number: int) -> Array:
    """Extremes outside the span of those before: the first time towards the longest rest (SPA), then anywhere."""
    E, N = np.zeros((k, points.shape[1])), np.eye(points.shape[1])
    mean = points.mean(axis=0) / max(float(np.linalg.norm(points.mean(axis=0))), np.finfo(float).tiny)
    for j in range(k):
        R = points @ N
        if number:
            u = rng.standard_normal(len(N)) * R.std(axis=0)
        else:  # at first all are equally long: the one that is farthest from the mean
            u = R[np.argmax(blocks.squared_norms(R if j else R - np.outer(R @ mean, mean)))]
        E[j] = extreme(points, N @ u, members(share / k, len(points)))
        v = N @ E[j]
        N -= np.outer(v, v) / max(float(v @ v), np.finfo(float).tiny)
    return E


def _scattered(points: Array, k: int, share: float, rng: np.random.Generator) -> Array:
    """Means around points picked in proportion to their squared distance from the cone of those before."""
    E: list[Array] = []
    while len(E) < k:
        squares = _squares(points, np.array(E)) if E else np.ones(len(points))
        picked = points[rng.choice(len(points), p=squares / squares.sum())]
        E.append(extreme(points, picked, members(share / k, len(points))))
    return np.array(E)


def _squares(points: Array, E: Array) -> Array:
    """Squared distances from a cone; never all zero."""
    A = np.zeros((len(points), len(E)))
    _sweep(points, E, A, FIRST_SWEEPS)
    return np.asarray(blocks.squared_norms(points - A @ E) + np.finfo(float).tiny)


def decoded(data: Directions, E: Array) -> Minimum:
    A = np.zeros((len(data.points), len(E)))
    _sweep(data.points, E, A, FIRST_SWEEPS)
    return Minimum(E, A, np.nan)


def _sweep(points: Array, E: Array, A: Array, sweeps: int) -> None:
    descend_lanes(E @ E.T, points @ E.T, A, sweeps, False)


def counts_of(A: Array, share: float) -> Array:
    """Samples in the mean of every part."""
    return np.array([members(share * mass, len(A)) for mass in shares(A)])


def members(share: float, n: int) -> int:
    """Samples in a mean of this share of all."""
    return min(max(LEAST, int(share * n)), n)


def shares(A: Array) -> Array:
    """Mean share of every part."""
    return np.asarray((A / np.maximum(A.sum(axis=1, keepdims=True), np.finfo(float).tiny)).mean(axis=0))


def angles(E: Array, F: Array) -> Array:
    """Degrees between the rows of two matrices."""
    lengths = np.linalg.norm(E, axis=1)[:, None] * np.linalg.norm(F, axis=1)
    return np.asarray(np.degrees(np.arccos(np.clip(E @ F.T / np.maximum(lengths, np.finfo(float).tiny), -1.0, 1.0))))
