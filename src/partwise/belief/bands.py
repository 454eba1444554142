"""How far every part of a fit can move while everything else fits as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from partwise.belief import telling
from partwise.belief.exact import Exact
from partwise.belief.opening import opened, sums
from partwise.belief.rigid import rigid_bound
from partwise.belief.search import Conditions, Search, shifts, starting
from partwise.belief.span import Span, span_of
from partwise.belief.tolerance import Tolerant
from partwise.exceptions import InputError
from partwise.outcomes import Stop
from partwise.sources.passes import single_blas_thread

Array = npt.NDArray[Any]

# share of its mass by which a part has moved at all: a hundred times what linear programs are asked for
STILL = 1e-7
OUTSIDE = 1e-6  # share of squares outside the span that is too much where no noise is said to be
NEGATIVE = 1e-3  # of a sample or a feature: negative values that are no rounding


@dataclass(frozen=True, eq=False)
class Bands:
    """What `feasible_bands` found: how far parts can move.

    Parts are in the scale of the model's components. All bounds are from inside: every alternative was checked, there
    may be others farther out.

    Attributes
    ----------
    parts : ndarray of shape (n_components, n_features)
        The parts within the span of the data.
    centre : ndarray of shape (n_components, n_features)
        The parts that are least negative beyond the noise, near those of the fit; these themselves without noise.
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
    centre: Array
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

        The distance from the centre to the farthest alternative and the quantile of the error are added as squares, as
        for independent causes; this is a choice that calibration supports (benchmarks/bands.py), not a theorem.

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
        lower, upper = self.centre - self.lower, self.upper - self.centre
        return (
            np.maximum(self.centre - np.hypot(lower, noise), 0.0),
            np.maximum(self.centre + np.hypot(upper, noise), 0.0),
        )

    def __str__(self) -> str:
        """The verdict in words."""
        return telling.bands_sentence(self)


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
    most 1, for each part and wherever each other one is. All is allowed that misses this by no more than two
    deviations beyond what misses it least. That this covers the truth is measured, not proved.

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
    source, H, observed = opened(X, model)
    if observed.holes:
        raise InputError(
            "{parameter} has unknown entries, and how far parts can move is searched for in complete data; judge says "
            "how wrong each may be",
            parameter="X",
            kind="not-judged",
        )
    rng = np.random.default_rng(random_state)
    span = span_of(source, H, noise, rng)
    conditions: Conditions = Exact(span) if span.variance is None else Tolerant(span)
    search = Search(span, conditions, lambda: perf_counter() - began < seconds, progress)
    stop = search.run(starting(starts, span, source, rng))
    bound = np.nan
    if stop.kind == "done" and isinstance(conditions, Exact) and conditions.strict and search.moved <= STILL:
        proved = _uninterrupted(lambda: rigid_bound(conditions, search.go_on))
        bound = np.nan if proved is None else float(proved.max())
    return _result(span, search, stop, bound, sums(H), perf_counter() - began)


def _uninterrupted(prove: Callable[[], Array | None]) -> Array | None:
    try:
        return prove()
    except KeyboardInterrupt:
        return None


def _result(span: Span, search: Search, stop: Stop, bound: float, total: Array, seconds: float) -> Bands:
    conditions, shapes, k = search.conditions, search.shapes, span.k
    pool = np.array([np.eye(k), *search.pool])
    moved = shifts(pool, shapes)
    amounts = span.amounts
    share = np.array([amounts @ np.linalg.inv(T) for T in pool]) / amounts.sum()
    values = np.array([T @ shapes for T in (pool[0], *pool[moved.argmax(axis=0)])])
    centre = (pool[0] if isinstance(conditions, Exact) else conditions.centre) @ shapes
    lower, upper = np.minimum(values.min(axis=0), centre), np.maximum(values.max(axis=0), centre)
    for T in pool:  # one at a time: all together may be large
        np.minimum(lower, T @ shapes, out=lower)
        np.maximum(upper, T @ shapes, out=upper)
    scale = total[:, None]
    variance = span.variance
    error = np.zeros_like(shapes) if isinstance(conditions, Exact) else conditions.errors() * span.columns
    return Bands(
        parts=shapes * scale,
        centre=centre * scale,
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


def _verdict(span: Span, search: Search, moved: float, bound: float) -> str:
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
