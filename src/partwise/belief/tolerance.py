"""What counts as non-negative under noise, and how far parts can move within it.

Weights that are truly zero are normal around zero, with the deviation s that the noise of the data gives them, so below
zero their squares are ``s^2`` in the mean, whatever their number; weights that are truly positive have smaller ones
(E[min(y, 0)^2] <= P(y < 0) for y of mean w >= 0 and variance 1, with equality at 0). So for the weights of one part,
in units of s, and whatever the samples count,

    sum over y < 0 of v y^2  <=  sum over y < 0 of v

holds in the mean for the true parts, whichever of the weights are zero, and fails as soon as a wrong part makes weights
negative that noise does not. The difference of the two sides has a standard deviation of about ``sqrt(2 sum of v^2)``:
that many deviations it is too large is a score. A part can be wrong by some of each other one, and what that makes
negative are weights of samples in proportion to how much of the other one is there: with v that amount there is a score
of each part against each other one, as many as there are directions to move in. Without v, one score a part, what one
direction makes negative is lost among all samples, and what another makes positive pays for it: bands were a third
wider. The same is asked of the entries of each part.

The squares of the scores above zero, added, are what a factorization misses. As of a likelihood, twice the logarithm of
it, all is allowed that misses the square of two deviations more than the least: for a single quantity that is a
statement of 95%, so bands are pointwise. That they cover what they should is measured (benchmarks/bands.py), not
proved.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.belief.span import Span

Array = npt.NDArray[Any]

LIMIT = 1.96**2  # by which squares of scores may be above the least: see above
RAMP = 0.5  # a weight is counted as negative gradually, from this many deviations above zero to as many below
MET = 1e-3  # what is missed may be above its limit by this: rounding of the search
REACH = 0.2  # of the entries of T where nothing else bounds a step: a permutation is no other solution
CLIMBS = 8  # of that reach, one after the other; a part that moves alone goes no farther
LEAST_LEFT = 0.05  # of a part that moves alone: it is the same part, not another one in its place
STEPS = 40  # of quadratic programs in a climb
WORTH = 1e-3  # gain, in units of what noise moves it by, for which another climb is made
ALONE = 1e-5  # the same of a part that moves alone, where it costs little, of the largest value of the feature
HALVINGS = 20  # of the way back to where everything is met
POINTS = 16  # on either side of a part that moves alone, at which weights of another part are looked at
NARROWINGS = 6  # of where that ends
SLOPES = 1e-5  # step in the entries of T, by which curvature is measured
SINGULAR = 1e-9
FAR = 1e12  # more than anything misses
ILL_CONDITIONED = 1e6
CHANCE = 4.0  # a standard score that chance does not make, of a few dozen


class Side:
    """The rows (or the features) whose coordinates must not be negative.

    Coordinate j of a point is ``points @ F[:, j]``, with variance ``sum_a spread[:, a] (F_j' forms[a] F_j)``.
    """

    def __init__(self, points: Array, spread: Array, forms: Array) -> None:
        self.points, self.spread, self.forms = points, spread, forms
        amounts = np.maximum(points, 0.0)
        size = np.sqrt(np.square(amounts).mean(axis=0))
        # how much of each part is there, and last all points alike
        self.amounts = np.c_[amounts / np.where(size > 0.0, size, 1.0), np.ones(len(points))]
        k = points.shape[1]
        self._other = np.vstack([~np.eye(k, dtype=bool), np.zeros((1, k), bool)])

    def missed(self, F: Array, which: int | slice = slice(None)) -> tuple[float, Array]:
        """Squares of the scores of these parts against others, added, and the slope in F."""
        AF = np.einsum("aij,jc->aic", self.forms, F)
        variance = self.spread @ np.einsum("ic,aic->ac", F, AF)
        deviation = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
        y = (self.points @ F) / deviation
        each, slope = self.missed_by(y, which)
        slope /= deviation
        pull = self.spread.T @ (slope * y / deviation)
        return float(each.sum()), self.points.T @ slope - np.einsum("aic,ac->ic", AF, pull)

    def missed_by(self, y: Array, which: int | slice = slice(None)) -> tuple[Array, Array]:
        """The same of each part, of coordinates in units of their deviations, and the slope in these."""
        score, size, fewer = scores(y, self.amounts)
        score = self.against(score, which)
        pull = 2.0 * score / size
        slope = (2.0 * np.minimum(y, 0.0) - fewer) * (self.amounts @ pull)
        slope -= fewer * (np.square(self.amounts) @ (pull * score / size))
        return np.square(score).sum(axis=0), slope

    def against(self, score: Array, which: int | slice = slice(None)) -> Array:
        """Scores of these parts above zero, without those against themselves and of all points."""
        result: Array = np.maximum(score, 0.0) * self._other[:, which].reshape(score.shape)
        return result

    def scores(self, F: Array) -> Array:
        """By how many deviations the negative coordinates are too large: against each other part, and of all points."""
        found = scores((self.points @ F) / np.maximum(self.deviations(F), np.finfo(float).tiny), self.amounts)[0]
        result: Array = np.where(self._other | (np.arange(len(found)) == len(found) - 1)[:, None], found, -np.inf)
        return result

    def deviations(self, F: Array) -> Array:
        """Standard deviations of all coordinates."""
        forms = np.einsum("ic,aij,jc->ac", F, self.forms, F)
        result: Array = np.sqrt(np.maximum(self.spread @ forms, 0.0))
        return result


def scores(y: Array, v: Array) -> tuple[Array, Array, Array]:
    """``sum v (y-^2 - 1) / sqrt(2 sum v^2 + 1)`` over negative y, for columns of v and y: about standard scores.

    Returned are they, the roots, and the slope of the number (of 1) of each y.
    """
    below = np.minimum(y, 0.0)
    # smoothly: at a kink a search ends
    below_by = np.clip(0.5 - y / (2.0 * RAMP), 0.0, 1.0)
    number = np.square(below_by) * (3.0 - 2.0 * below_by)
    size = np.sqrt(2.0 * (np.square(v).T @ number) + 1.0)
    return (v.T @ (np.square(below) - number)) / size, size, -3.0 / RAMP * below_by * (1.0 - below_by)


class Tolerant:
    """The matrices T that noise allows, around the fit.

    Parameters
    ----------
    span : Span
        The fit, with its noise.
    """

    def __init__(self, span: Span) -> None:
        variance = span.variance
        assert variance is not None
        self.k = span.k
        self.weights = Side(span.weights, variance.of_rows(), span.weight_forms())
        self.parts = Side(np.ascontiguousarray(span.parts.T), variance.of_columns(), span.part_forms())
        self.limit = LIMIT
        self.centre = np.eye(self.k)
        self._off = ~np.eye(self.k, dtype=bool)
        self._start = np.eye(self.k)
        self._units: Array | None = None
        self._intervals: dict[int, tuple[Array, Array, Callable[[Array], tuple[float, Array]]]] = {}

    @property
    def misfit(self) -> float:
        """The largest score of the fit itself."""
        return self._largest(np.eye(self.k))

    def base(self) -> Array:
        """Where the search begins: the fit, or what misses least near it, if the fit misses too much."""
        self.centre = self._least_missed(np.eye(self.k))
        self.limit = self._missed(self.centre)[0] + LIMIT
        self._start = np.eye(self.k) if self.violation(np.eye(self.k)) <= 0.0 else self.centre
        self._units = None
        self._intervals.clear()
        return self._start

    @property
    def strict(self) -> bool:
        """Whether where the search begins is no more negative than chance explains."""
        return self._largest(self._start) < CHANCE

    def _largest(self, T: Array) -> float:
        return float(max(self.weights.scores(np.linalg.inv(T)).max(), self.parts.scores(T.T).max()))

    def errors(self) -> Array:
        """Standard errors of the entries of the parts, in the units of the span."""
        return self.parts.deviations(np.eye(self.k)).T

    def violation(self, T: Array) -> float:
        """By how much more is missed than may be."""
        return self._missed(T)[0] - self.limit

    def alone(self, i: int, direction: Array) -> Array:
        """The largest ``T[i] @ direction`` while the other parts stay where the search begins.

        With r the shares of the parts in the new one, r_i = 1, the weights of part j are ``w_j - r_j w_i``: what they
        miss is a function of r_j by itself. Besides there is what the part that moves misses.
        """
        if i not in self._intervals:
            self._intervals[i] = self._allowed(i)
        T, goal, free = self._start, self._start @ direction, np.arange(self.k) != i
        low, high, beside = self._intervals[i]
        left = self.limit - self._missed(T)[0] + self.parts.missed(T[i][:, None], i)[0]

        def lost(x: Array) -> tuple[float, Array]:
            gained, size = goal[i] + float(goal[free] @ x), 1.0 + float(x.sum())
            return -gained / size, -(goal[free] - gained / size) / size

        def room(x: Array) -> tuple[float, Array]:
            more, rise = beside(x)
            missed, slope = self.parts.missed((T[i] + x @ T[free])[:, None], i)
            return left - more - missed, -rise - T[free] @ slope[:, 0]

        x = _climbed(lost, _remembered(room), np.c_[low, high])
        if not 1.0 + x.sum() > LEAST_LEFT / 2.0:
            return T
        new = T.copy()
        new[i] = (T[i] + x @ T[free]) / (1.0 + x.sum())
        return self._back(T, new)

    def _allowed(self, i: int) -> tuple[Array, Array, Callable[[Array], tuple[float, Array]]]:
        """How much of each other part may be in part i, at least and at most, and what its weights miss between."""
        F, side = np.linalg.inv(self._start), self.weights
        Y, own = side.points @ F, side.spread @ np.einsum("pj,apq,qj->aj", F, side.forms, F, optimize=True)
        shared = side.spread @ np.einsum("p,apq,qj->aj", F[:, i], side.forms, F, optimize=True)

        def missed(r: Array) -> Array:
            variance = own - 2.0 * r * shared + np.square(r) * own[:, [i]]
            y = (Y - r * Y[:, [i]]) / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
            found: Array = np.square(side.against(scores(y, side.amounts)[0])).sum(axis=0)
            return found

        begin = missed(np.zeros(self.k))
        most = begin + max(self.limit - self._missed(self._start)[0], 0.0)
        low, high = (_beyond(lambda r: missed(r) <= most, self.k, sign) for sign in (-1.0, 1.0))
        ways = np.linspace(0.0, 1.0, POINTS + 1)[:, None]
        free = np.arange(self.k) != i
        r = np.concatenate([low * ways[:0:-1], high * ways])
        more = np.array([missed(x) for x in r])[:, free] - begin[free]
        return low[free], high[free], _curves(r[:, free], more)

    def together(self, i: int, direction: Array, T: Array) -> Array:
        """The largest ``T[i] @ direction`` that is found from T while all parts may move."""
        if self._units is None:
            self._units = self._unit_steps(self._start)
        goal = np.zeros((self.k, self.k))
        goal[i] = direction
        slope = _along(goal, self._off) @ self._units
        size = float(np.linalg.norm(slope))
        if not size > 0.0:
            return T
        for _ in range(CLIMBS):
            new = self._back(T, self._search(T, slope / size, self._units))
            gain = float((new[i] - T[i]) @ direction)
            if gain > 0.0:
                T = new
            if gain < WORTH * size:
                break
        return T

    def repair(self, T: Array) -> Array | None:
        """A matrix that noise allows, as found from one that it does not; None if none is found."""
        if not np.linalg.cond(T) < ILL_CONDITIONED:
            return None
        found = self._least_missed(T)
        return found if self.violation(found) <= MET else None

    def _least_missed(self, T: Array) -> Array:
        """The matrix that misses least, from T on."""
        from scipy.optimize import minimize

        def missed(x: Array) -> tuple[float, Array]:
            value, slope = self._missed(_with(T, x, self._off))
            return value, _along(slope, self._off)

        if self.k == 1:
            return T
        solver: Any = minimize
        limits = {"maxiter": 5 * STEPS, "ftol": 0.0, "gtol": 1e-6}
        found = solver(missed, T[self._off], jac=True, method="L-BFGS-B", options=limits)
        return _with(T, found.x, self._off)

    def _unit_steps(self, T: Array) -> Array:
        """Steps of the free entries of T that miss one more each: what is allowed is a ball of them, nearly.

        Parts that are alike can exchange a thousand times what others can; in entries of T a search does not find along
        that valley.
        """
        begin = T[self._off]

        def slope(x: Array) -> Array:
            return _along(self._missed(_with(T, x, self._off))[1], self._off)

        steps = SLOPES * np.eye(len(begin))
        curvature = np.array([slope(begin + step) - slope(begin - step) for step in steps]) / (4.0 * SLOPES)
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2.0)
        found: Array = vectors / np.sqrt(np.maximum(values, 0.0) + LIMIT / REACH**2)
        return found

    def _search(self, T: Array, goal: Array, units: Array) -> Array:
        """Sequential quadratic programming in steps of one unit; the diagonal of T keeps the sums of its rows."""
        start = T[self._off]

        def compute(z: Array) -> tuple[float, Array]:
            missed, slope = self._missed(_with(T, start + units @ z, self._off))
            return self.limit - missed, -_along(slope, self._off) @ units

        room = _remembered(compute)
        conditions = {"type": "ineq", "fun": lambda z: room(z)[0], "jac": lambda z: room(z)[1]}
        bounds = 2.0 * np.sqrt(LIMIT) * np.array([[-1.0, 1.0]] * len(start))
        found = _programmed(lambda z: (-float(goal @ z), -goal), np.zeros(len(start)), conditions, bounds, 1e-4)
        return _with(T, start + units @ found, self._off)

    def _missed(self, T: Array) -> tuple[float, Array]:
        """Squares of all scores above zero, and the slope in T; far too much where T has no inverse."""
        if not (np.isfinite(T).all() and abs(np.linalg.det(T)) > SINGULAR):
            return FAR, np.zeros_like(T)
        F = np.linalg.inv(T)
        weights, dF = self.weights.missed(F)
        parts, dT = self.parts.missed(T.T)
        return weights + parts, dT.T - F.T @ dF @ F.T  # dF = -F dT F

    def _back(self, T: Array, new: Array) -> Array:
        """The farthest matrix that noise allows on the way from T, which it does, to the new one."""
        limit = max(MET, self.violation(T))
        return _reached(T, new, lambda X: self.violation(X) <= limit)


def _beyond(met: Callable[[Array], npt.NDArray[np.bool_]], k: int, sign: float) -> Array:
    """Where each of k numbers, from zero on, is a little too far: four times as far, then halved between."""
    inside, outside = np.zeros(k), np.full(k, REACH / 4**POINTS)
    going = np.ones(k, bool)
    while going.any() and outside.max() <= CLIMBS * REACH:
        going &= met(sign * outside)
        inside[going] = outside[going]
        outside[going] *= 4.0
    outside = np.minimum(outside, CLIMBS * REACH)
    for _ in range(NARROWINGS):
        middle = (inside + outside) / 2.0
        fine = met(sign * middle)
        inside, outside = np.where(fine, middle, inside), np.where(fine, outside, middle)
    result: Array = sign * outside
    return result


def _curves(at: Array, values: Array) -> Callable[[Array], tuple[float, Array]]:
    """The sum of functions of one number each, known at some, and their slopes; monotone between."""
    from scipy.interpolate import PchipInterpolator

    each = np.arange(at.shape[1])
    terms = np.stack([PchipInterpolator(at[:, j], values[:, j]).c for j in each], axis=-1)

    def read(x: Array) -> tuple[float, Array]:
        piece = np.clip((x >= at).sum(axis=0) - 1, 0, len(at) - 2)
        (a, b, c, d), t = terms[:, piece, each], x - at[piece, each]
        return float((((a * t + b) * t + c) * t + d).sum()), (3.0 * a * t + 2.0 * b) * t + c

    return read


def _programmed(lost: Callable[[Array], Any], start: Array, conditions: Any, bounds: Array, ftol: float) -> Array:
    """Where sequential quadratic programming ends; ``lost`` gives a value and its slope."""
    from scipy.optimize import minimize

    solver: Any = minimize
    with warnings.catch_warnings():  # SciPy 1.15 tells of steps that it has clipped to the bounds itself
        warnings.filterwarnings("ignore", message="Values in x were outside bounds", category=RuntimeWarning)
        options = {"maxiter": STEPS, "ftol": ftol}
        found = solver(lost, start, jac=True, method="SLSQP", constraints=conditions, bounds=bounds, options=options)
    return np.asarray(found.x)


def _climbed(lost: Callable[[Array], Any], room: Callable[[Array], Any], bounds: Array) -> Array:
    """The least loss with room left, as found from zero and from where the straight way down ends.

    The room may end at a thousandth of the bounds, and a first step of the program's own choice far outside it, from
    where it finds back or not as rounding has it: so lengths are counted in those of the straight way.
    """
    zero = np.zeros(len(bounds))
    slope = lost(zero)[1]
    farthest = np.clip(-slope * np.abs(bounds).max() / max(np.abs(slope).max(), np.finfo(float).tiny), *bounds.T)
    straight = _reached(zero, farthest, lambda x: _has_room(room, x))
    unit = float(np.linalg.norm(straight)) or 1.0
    return min((_descended(lost, room, bounds, unit, begin) for begin in (zero, straight)), key=lambda x: lost(x)[0])


def _descended(
    lost: Callable[[Array], Any], room: Callable[[Array], Any], bounds: Array, unit: float, best: Array
) -> Array:
    """The least loss from a point on, in units of length; begun again where kinks of the room end a search early."""

    def lost_by(z: Array) -> tuple[float, Array]:
        value, slope = lost(unit * z)
        return value / unit, slope

    conditions = [
        {"type": "ineq", "fun": lambda z: room(unit * z)[0], "jac": lambda z: unit * room(unit * z)[1]},
        {"type": "ineq", "fun": lambda z: 1.0 + unit * z.sum() - LEAST_LEFT, "jac": lambda z: unit * np.ones_like(z)},
    ]
    for _ in range(CLIMBS):
        found = _programmed(lost_by, best / unit, conditions, bounds / unit, 1e-9)
        if not np.isfinite(found).all():
            break
        x = _reached(best, np.clip(unit * found, *bounds.T), lambda y: _has_room(room, y))
        gain = lost(best)[0] - lost(x)[0]
        best = x if gain > 0.0 else best
        if gain < ALONE:
            break
    return best


def _has_room(room: Callable[[Array], Any], x: Array) -> bool:
    return bool(room(x)[0] >= -MET / 2.0 and 1.0 + x.sum() >= LEAST_LEFT)


def _reached(begin: Array, end: Array, met: Callable[[Array], bool]) -> Array:
    """The farthest point on the way from one that meets a condition."""
    if met(end):
        return end
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if met(begin + middle * (end - begin)) else (low, middle)
    return begin + low * (end - begin)


def _remembered(compute: Callable[[Array], Any]) -> Callable[[Array], Any]:
    """A function that knows its last answer: value and slope are asked for one after the other."""
    last: dict[bytes, Any] = {}

    def ask(x: Array) -> Any:
        key = x.tobytes()
        if key not in last:
            last.clear()
            last[key] = compute(x)
        return last[key]

    return ask


def _with(T: Array, x: Array, free: npt.NDArray[np.bool_]) -> Array:
    new = T.copy()
    new[free] = x
    np.fill_diagonal(new, 0.0)
    np.fill_diagonal(new, 1.0 - new.sum(axis=1))
    return new


def _along(slopes: Array, free: npt.NDArray[np.bool_]) -> Array:
    """Slopes in the free entries, each taken from the diagonal of its row."""
    result: Array = (slopes - np.diagonal(slopes, axis1=-2, axis2=-1)[..., :, None])[..., free]
    return result
