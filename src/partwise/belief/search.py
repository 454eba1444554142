"""The search for how far parts can move: a growing pool of mixings, each pushed along features, and other starts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from partwise.belief.exact import Exact
from partwise.belief.opening import sums
from partwise.belief.span import Span
from partwise.belief.tolerance import Tolerant
from partwise.estimators import ANLS
from partwise.exceptions import InputError
from partwise.linalg.nnls import check_components
from partwise.outcomes import Stop
from partwise.sources import RowSource, blocks

Array = npt.NDArray[Any]

WHOLE = 10  # parts that are moved together: beyond, a direction takes minutes and not seconds
DIRECTIONS = 200  # that are searched, of a part, a feature and a sign each, unless the fewest take more
ROWS, ITERATIONS = 500, 200  # of the fit that a random start is made by: what it misses is repaired
NOISY_DIRECTIONS = 120  # where corners are round, fewer will do
FEATURES, NOISY_FEATURES = 12, 4  # that every part of many is pushed along: a linear program each, or 30 times as long
FEW, BEGINS, DIFFERENT = 4, 4, 0.01  # up to FEW parts a search begins at BEGINS mixings with entries this far apart
INSIDE = 1e-12  # share of a start's part that lies in the span of the model's, below which it is rounding
APART = 0.01  # share of its mass by which a part of another solution differs from all that were found before

# the two kinds of conditions have the same verbs
Conditions = Exact | Tolerant


class Search:
    """A growing pool of mixings that meet the conditions."""

    def __init__(
        self, span: Span, conditions: Conditions, go_on: Callable[[], bool], progress: Callable[[float], object] | None
    ) -> None:
        self.span, self.conditions, self.go_on, self.progress = span, conditions, go_on, progress
        self.shapes = span.shapes
        self.whole = span.k <= WHOLE
        self.pool = [conditions.base()]
        self.others: list[Array] = []
        self.done = 0.0

    @property
    def moved(self) -> float:
        """The largest shift of all parts in the pool."""
        return float(shifts(np.array(self.pool), self.shapes).max())

    def run(self, starts: Iterator[Array]) -> Stop:
        """Do all of it, or as much as there is time for."""
        try:
            for T in starts:
                self._other(T)
            jobs = list(self._jobs()) if self.span.k > 1 else []  # of sum one there is no other part
            self.done = 0.0 if jobs else 1.0
            for number, (together, i, direction) in enumerate(jobs):
                if number and not self.go_on():
                    return Stop("time")
                self._push(together, i, direction)
                self.done = (number + 1) / len(jobs)
                if self.progress is not None:
                    self.progress(self.done)
        except KeyboardInterrupt:
            return Stop("interrupted")
        return Stop("done")

    def _jobs(self) -> Iterator[tuple[bool, int, Array]]:
        """First every part by itself, which is cheap, then all together; features that differ most come first."""
        k, exact = self.span.k, isinstance(self.conditions, Exact)
        directions, many = (DIRECTIONS, FEATURES) if exact else (NOISY_DIRECTIONS, NOISY_FEATURES)
        features = spread_features(self.shapes, max(k + 2 if self.whole else many, directions // (2 * k)))
        # with noise one part alone is no linear program, and saves nothing
        for together in [False] * (exact or not self.whole) + [True] * self.whole:
            for f in features:
                for i in range(k):
                    direction = self.shapes[:, f] / np.abs(self.shapes[:, f]).max()
                    yield together, i, direction
                    yield together, i, -direction

    def _push(self, together: bool, i: int, direction: Array) -> None:
        if not together:
            self.pool.append(self.conditions.alone(i, direction))
            return
        ahead = sorted(self.pool, key=lambda T: -float(T[i] @ direction))
        # a program ends in the corner that is nearest to where it begins, which need not be the farthest of all
        begins = [ahead[0]] if self.span.k > FEW or not isinstance(self.conditions, Exact) else _apart(ahead, BEGINS)
        self.pool += [self.conditions.together(i, direction, T) for T in begins]

    def _other(self, T: Array) -> None:
        """Take up another solution, if a start leads to one that is not near the fit."""
        if not self.go_on() or not np.linalg.cond(T) < 1e6:
            return
        found = self.conditions.repair(T)
        if found is None:
            return
        found = matched(found, self.shapes, self.shapes)
        known = [T @ self.shapes for T in (self.pool[0], *self.others)]
        apart = [
            np.abs(matched(found, shapes, self.shapes) @ self.shapes - shapes).sum(axis=1).max() for shapes in known
        ]
        if min(apart) / 2.0 > APART:
            between = (self.pool[0] + found) / 2.0
            if self.conditions.violation(between) > 0.0:
                self.others.append(found)
            self.pool.append(found)


def starting(
    starts: int | Sequence[Any] | Iterator[Any], span: Span, source: RowSource, rng: np.random.Generator
) -> Iterator[Array]:
    """Mixings to begin with: those of given fits, or of fits of a few samples from random starts."""
    if isinstance(starts, (int, np.integer)):
        if starts < 0:
            raise InputError(f"{{parameter}} must not be negative, got {starts}", parameter="starts")
        starts = _fits(int(starts), span.k, source, rng) if span.k <= WHOLE else ()
    for start in starts:
        H = check_components(getattr(start, "components_", start), span.parts.shape[1], name="starts")
        if len(H) != span.k:
            raise InputError(
                f"{{parameter}} has a fit of {len(H)} parts, the model has {span.k}", parameter="starts", kind="shape"
            )
        T = (H / sums(H)[:, None] / span.columns) @ np.linalg.pinv(span.parts)
        total = T.sum(axis=1, keepdims=True)
        if (
            np.abs(total) > INSIDE * np.maximum(1.0, np.abs(T).max())
        ).all():  # else a part of it is no mixture of these
            yield matched(T / total, span.shapes, span.shapes)


def _fits(count: int, k: int, source: RowSource, rng: np.random.Generator) -> Iterator[Any]:
    n = source.shape[0]
    for seed in range(count):
        rows = source.take(np.sort(rng.choice(n, min(n, ROWS), replace=False)))
        with warnings.catch_warnings():  # of samples that are few: repairs follow
            warnings.simplefilter("ignore")
            rows = blocks.with_values(rows, np.maximum(blocks.values(rows), 0.0))
            fit = ANLS(k, init="random", max_iter=ITERATIONS, random_state=seed).fit(rows)
        if (fit.components_.sum(axis=1) > 0.0).all():
            yield fit


def _apart(pool: list[Array], most: int) -> list[Array]:
    """The first mixings that differ from each other, and the last one: the fit, or what is nearest to it."""
    found = [pool[0]]
    for T in pool[1:]:
        if len(found) < most and min(np.abs(T - one).max() for one in found) > DIFFERENT:
            found.append(T)
    return found


def matched(T: Array, others: Array, shapes: Array) -> Array:
    """The mixing with its parts in the order of the others that they are most like."""
    away = np.abs((T @ shapes)[:, None, :] - others).sum(axis=2)
    result: Array = T[linear_sum_assignment(away.T)[1]]
    return result


def shifts(pool: Array, shapes: Array) -> Array:
    """The share of its mass by which every part of every mixing differs from that of the fit."""
    return np.array([np.abs(T @ shapes - shapes).sum(axis=1) / 2.0 for T in pool])


def spread_features(shapes: Array, count: int) -> list[int]:
    """Features that pull the parts in different directions, one after the other the one least like those before."""
    height = np.abs(shapes).max(axis=0)
    profile = (shapes / np.where(height > 0.0, height, 1.0)).T
    profile = profile - profile.mean(axis=1, keepdims=True)
    size = np.linalg.norm(profile, axis=1)
    profile = profile / np.where(size > 0.0, size, 1.0)[:, None]
    weight = size * height
    useful = weight > 0.01 * weight.max()  # the others hardly tell parts apart
    picked: list[int] = []
    near = np.where(useful, 1.0 - weight / (weight.max() or 1.0), 3.0)
    for _ in range(min(count, int(np.count_nonzero(height)))):
        f = int(np.argmin(near))
        if not picked:
            near = np.where(useful, 0.0, 3.0)
        picked.append(f)
        near = np.maximum(near, np.where(useful, np.abs(profile @ profile[f]), 3.0))
        near[f] = np.inf
    return picked
