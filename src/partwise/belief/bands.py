"""How far every part of a fit can move while everything else fits as well."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.special import ndtri

from partwise.belief import telling
from partwise.belief.exact import Exact
from partwise.belief.opening import opened, sums
from partwise.belief.rigid import rigid_bound
from partwise.belief.span import Span, span_of
from partwise.belief.tolerance import Tolerant
from partwise.estimators import ANLS
from partwise.exceptions import InputError
from partwise.linalg.nnls import check_components
from partwise.outcomes import Stop
from partwise.sources import RowSource, blocks
from partwise.sources.passes import single_blas_thread

Array = npt.NDArray[Any]

WHOLE = 10  # parts that are moved together: beyond, a direction takes minutes and not seconds
DIRECTIONS = 200  # that are searched, of a part, a feature and a sign each, unless the fewest take more
ROWS, ITERATIONS = 500, 200  # of the fit that a random start is made by: what it misses is repaired
NOISY_DIRECTIONS = 60  # where corners are round, fewer will do
FEATURES, NOISY_FEATURES = 12, 4  # that every part of many is pushed along: a linear program each, or 30 times as long
# share of its mass by which a part has moved at all: a hundred times what linear programs are asked for
STILL = 1e-7
OUTSIDE = 1e-6  # share of squares outside the span that is too much where no noise is said to be
NEGATIVE = 1e-3  # of a sample or a feature: negative values that are no rounding
FEW, BEGINS, DIFFERENT = 4, 4, 0.01  # up to FEW parts a search begins at BEGINS mixings with entries this far apart
INSIDE = 1e-12  # share of a start's part that lies in the span of the model's, below which it is rounding
APART = 0.01  # share of its mass by which a part of another solution differs from all that were found before


@dataclass(frozen=True, eq=False)
class Bands:
    """What `feasible_bands` found: how far parts can move.

    Parts are in the scale of the model's components. All bounds are from inside: every alternative was checked, there
    may be others farther out.

    Attributes
    ----------
    parts : ndarray of shape (n_components, n_features)
        The parts within the span of the data.
    lower, upper : ndarray of shape (n_components, n_features)
        The lowest and the highest value of every feature over the alternatives found, without statistical error.
    error : ndarray of shape (n_components, n_features)
        Standard error of each entry, from noise alone; zero without noise.
    shift : ndarray of shape (n_components,)
        The largest share of its mass that a part can exchange for other mass.
    share : ndarray of shape (n_components, 3)
        Share of the part in the data: now, lowest and highest.
    exchange : ndarray of shape (n_components, n_components)
        How much of part j the alternatives of part i can hold or give, as a share of part i.
    mixings : ndarray of shape (n_components, n_components, n_components)
        ``mixings[i] @ parts``, each of sum one, is the whole factorization in which part i has moved most.
    others : ndarray of shape (n_others, n_components, n_components)
        Mixings of other solutions, found from other starts, that no straight path from the fit leads to.
    verdict : {"rigid", "still", "moves", "misfit"}
        Proved that no part can move gradually and no other solution found; no movement found, without a proof; parts
        move; the fit is not non-negative, or not of this number of dimensions, within the noise.
    bound : float
        Proved: no entry of a mixing that a path leads to differs from that of the fit by more; NaN without a proof.
    whole : bool
        Whether all parts were moved together, and not each by itself alone.
    done : float
        Share of the search that was done.
    stop : Stop
        Why it ended.
    misfit : float
        What is negative in the fit itself: a standard score with noise, a share of the sample or feature without.
    noise : tuple of float
        Floor and slope of the variance of an entry, ``floor + slope * mean``, in scaled units; zeros without noise.
    seconds : float
        Time taken.
    """

    parts: Array
    lower: Array
    upper: Array
    error: Array
    shift: Array
    share: Array
    exchange: Array
    mixings: Array
    others: Array
    verdict: str
    bound: float
    whole: bool
    done: float
    stop: Stop
    misfit: float
    noise: tuple[float, float]
    seconds: float

    def alternative(self, i: int) -> Array:
        """The factorization in which part ``i`` has moved most.

        Parameters
        ----------
        i : int
            A part.

        Returns
        -------
        ndarray of shape (n_components, n_features)
            All parts, in the scale of the model's components.
        """
        total = sums(self.parts)[:, None]
        result: Array = (self.mixings[i] @ (self.parts / total)) * total
        return result

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Bands with statistical error: for each entry where the true part is with this chance, as measured.

        The distance to the farthest alternative and the quantile of the error are added as squares, as for
        independent causes; this is a choice that calibration supports (benchmarks/bands.py), not a theorem.

        Parameters
        ----------
        level : float, default=0.95
            The chance, of each entry by itself.

        Returns
        -------
        tuple of two ndarray of shape (n_components, n_features)
            Lower and upper ends; not below zero.
        """
        if not 0.0 < level < 1.0:
            raise InputError(f"{{parameter}} must lie between 0 and 1, got {level!r}", parameter="level")
        noise = float(ndtri((1.0 + level) / 2.0)) * self.error
        lower = self.parts - np.hypot(self.parts - self.lower, noise)
        return np.maximum(lower, 0.0), np.maximum(self.parts + np.hypot(self.upper - self.parts, noise), 0.0)

    def __str__(self) -> str:
        """The verdict in words."""
        return telling.bands_sentence(self)


# the two kinds of conditions have the same verbs
Conditions = Exact | Tolerant


@single_blas_thread()
def feasible_bands(
    X: Any,
    model: Any,
    *,
    noise: Any = None,
    starts: int | Sequence[Any] = 4,
    seconds: float = 60.0,
    random_state: int = 0,
    progress: Callable[[float], object] | None = None,
) -> Bands:
    r"""How far the parts of a fit can move while nothing becomes negative and the fit stays as good.

    If ``X ~ W H`` then also ``X ~ (W T^-1) (T H)`` for every invertible T; what decides between them is that nothing
    may be negative (rotational ambiguity, [1]_). Every part is pushed as far as it goes, in directions given by
    features: alone, with the other parts where they are, and with all parts moving together.

    Without noise the conditions are hard. One part alone is a linear program, solved exactly; all together are
    successive programs, with every answer checked by the true inverse, and if nothing moves, a bound from outside
    may prove that nothing can. With noise, weights and entries of parts may be negative as far as zeros
    seen through that noise are: the squares of the negative ones, in units of their deviations, are in the mean at
    most 1 for each part. That this covers the truth is measured, not proved.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, path, Dask collection or source
        The data. ``n_components`` numbers a sample are held in memory, whatever the data is.
    model : estimator or array-like of shape (n_components, n_features)
        A fit of it.
    noise : None, float or object, default=None
        Standard deviation of an entry's noise; or what has ``row_scale`` and ``column_scale``, by which the data is
        divided, such as a measured noise. None measures it from what lies outside the span of the parts: a
        variance of ``floor + slope * mean``, for noise of one size, for counts, and between. 0: no noise.
    starts : int or sequence, default=4
        Other solutions, to which no path leads, are sought from as many random starts (of at most 10 parts), or from
        the given fits.
    seconds : float, default=60.0
        When to stop; what was found until then is returned, and ``done`` says how much that is.
    random_state : int, default=0
        For the random starts.
    progress : callable, optional
        Called with the share of the search that is done. Ctrl-C ends the search and leaves what was found.

    Returns
    -------
    Bands
        The bands, the alternatives and a verdict.

    References
    ----------
    .. [1] R. Tauler, "Calculation of maximum and minimum band boundaries of feasible solutions for species profiles
       obtained by multivariate curve resolution", Journal of Chemometrics 15, 2001.
    .. [2] H. Laurberg et al., "Theorems on positive data: on the uniqueness of NMF", Computational Intelligence and
       Neuroscience, 2008.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_laurberg(0.3)
    >>> bands = pw.feasible_bands(data.X, data.components)
    >>> bands.verdict, bool(bands.bound < 1e-6)
    ('rigid', True)
    """
    began = perf_counter()
    if not (isinstance(seconds, (int, float)) and seconds >= 0.0):
        raise InputError(f"{{parameter}} must be a number of at least 0, got {seconds!r}", parameter="seconds")
    source, H = opened(X, model)
    rng = np.random.default_rng(random_state)
    span = span_of(source, H, noise, rng)
    conditions: Conditions = Exact(span) if span.variance is None else Tolerant(span)
    search = _Search(span, conditions, lambda: perf_counter() - began < seconds, progress)
    stop = search.run(_starts(starts, span, source, rng))
    bound = np.nan
    if stop.kind == "done" and isinstance(conditions, Exact) and conditions.strict and search.moved <= STILL:
        proved = _uninterrupted(lambda: rigid_bound(conditions, search.go_on))
        bound = np.nan if proved is None else float(proved.max())
    return _result(span, search, stop, bound, sums(H), perf_counter() - began)


class _Search:
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


def _starts(
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


def _uninterrupted(prove: Callable[[], Array | None]) -> Array | None:
    try:
        return prove()
    except KeyboardInterrupt:
        return None


def _result(span: Span, search: _Search, stop: Stop, bound: float, total: Array, seconds: float) -> Bands:
    conditions, shapes, k = search.conditions, search.shapes, span.k
    pool = np.array([np.eye(k), *search.pool])
    moved = shifts(pool, shapes)
    amounts = span.amounts
    share = np.array([amounts @ np.linalg.inv(T) for T in pool]) / amounts.sum()
    values = np.array([T @ shapes for T in (pool[0], *pool[moved.argmax(axis=0)])])
    lower, upper = values.min(axis=0), values.max(axis=0)
    for T in pool:  # one at a time: all together may be large
        np.minimum(lower, T @ shapes, out=lower)
        np.maximum(upper, T @ shapes, out=upper)
    scale = total[:, None]
    variance = span.variance
    error = np.zeros_like(shapes) if isinstance(conditions, Exact) else conditions.errors() * span.columns
    return Bands(
        parts=shapes * scale,
        lower=lower * scale,
        upper=upper * scale,
        error=error * scale,
        shift=moved.max(axis=0),
        share=np.c_[share[0], share.min(axis=0), share.max(axis=0)],
        exchange=np.abs(pool - np.eye(k)).max(axis=0) * ~np.eye(k, dtype=bool),
        mixings=pool[moved.argmax(axis=0)],
        others=np.array(search.others).reshape(-1, k, k),
        verdict=_verdict(span, search, float(moved.max()), bound),
        bound=bound,
        whole=search.whole,
        done=search.done,
        stop=stop,
        misfit=conditions.misfit,
        noise=(0.0, 0.0) if variance is None else (variance.floor, variance.slope),
        seconds=seconds,
    )


def _verdict(span: Span, search: _Search, moved: float, bound: float) -> str:
    conditions = search.conditions
    if isinstance(conditions, Exact):
        fits = (conditions.strict or conditions.own < NEGATIVE) and span.outside < OUTSIDE
    else:
        fits = conditions.strict
    if not fits:
        return "misfit"
    if moved > STILL:
        return "moves"
    return "rigid" if np.isfinite(bound) else "still"
