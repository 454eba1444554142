"""What counts as non-negative under noise, and how far parts can move within it.

Weights that are truly zero are normal around zero, with the deviation s that the noise of the data gives them, so below
zero their squares are ``s^2`` in the mean, whatever their number; weights that are truly positive have smaller ones
(E[min(y, 0)^2] <= P(y < 0) for y of mean w >= 0 and variance 1, with equality at 0). So for the weights of one part,
in units of s,

    sum over y < 0 of y^2  <=  number of y < 0

holds in the mean for the true parts, whichever of the weights are zero, and fails as soon as a wrong part makes weights
negative that noise does not. The same is asked of the entries of each part. The difference of the two sides has a
standard deviation of about ``sqrt(2 number)``; it may be one of them above zero. That is a chance of 0.84 for each of
the 2 k statements about the true parts, not for all of them at once: bands are pointwise. That they cover what they
should is measured (benchmarks/bands.py), not proved.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.belief.span import Span

Array = npt.NDArray[Any]

LIMIT = 1.0  # standard scores above the mean that chance may make: see above
RAMP = 0.5  # a weight is counted as negative gradually, from this many deviations above zero to as many below
# score that is met to this: rounding of the search, far below the 1 that chance alone moves it
MET = 1e-3
REACH = 0.2  # of the entries of T in one climb: parts may not jump over each other, a permutation is no other solution
CLIMBS = 8  # of that reach, one after the other; a part that moves alone goes no farther
LEAST_LEFT = 0.05  # of a part that moves alone: it is the same part, not another one in its place
STEPS = 40  # of quadratic programs in a climb
WORTH = 1e-4  # gain, of the largest value of the feature, for which another climb is made
HALVINGS = 20  # of the way back to where everything is met
SINGULAR = 1e-9
ILL_CONDITIONED = 1e6
CHANCE = 4.0  # a standard score that chance does not make, of a few dozen


@dataclass(frozen=True)
class Side:
    """The rows (or the features) whose coordinates must not be negative.

    Coordinate j of a point is ``points @ F[:, j]``, with variance ``sum_a spread[:, a] (F_j' forms[a] F_j)``.
    """

    points: Array
    spread: Array
    forms: Array

    def scores(self, F: Array) -> tuple[Array, Array]:
        """How many deviations the negative coordinates are too large, and the gradient of score j in column j of F."""
        AF = np.einsum("aij,jc->aic", self.forms, F)
        variance = self.spread @ np.einsum("ic,aic->ac", F, AF)
        deviation = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
        y = (self.points @ F) / deviation
        score, slope = _score(y)
        slope /= deviation
        pull = self.spread.T @ (slope * y / deviation)
        return score, self.points.T @ slope - np.einsum("aic,ac->ic", AF, pull)

    def deviations(self, F: Array) -> Array:
        """Standard deviations of all coordinates."""
        forms = np.einsum("ic,aij,jc->ac", F, self.forms, F)
        result: Array = np.sqrt(np.maximum(self.spread @ forms, 0.0))
        return result


def _score(y: Array) -> tuple[Array, Array]:
    """``(sum y-^2 - number) / sqrt(2 number + 1)`` of every column: about a standard score; and its slope in y."""
    below = np.minimum(y, 0.0)
    # smoothly: at a kink a search ends
    below_by = np.clip(0.5 - y / (2.0 * RAMP), 0.0, 1.0)
    number = (np.square(below_by) * (3.0 - 2.0 * below_by)).sum(axis=0)
    size = np.sqrt(2.0 * number + 1.0)
    score = (np.square(below).sum(axis=0) - number) / size
    fewer = -3.0 / RAMP * below_by * (1.0 - below_by)
    return score, (2.0 * below - fewer) / size - fewer * (score / size**2)


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
        self.own = np.concatenate(self._scores(np.eye(self.k))[:2])
        self.limit = np.full(2 * self.k, LIMIT)
        self._off = ~np.eye(self.k, dtype=bool)
        self._start = np.eye(self.k)
        self._intervals: dict[int, tuple[Array, Array]] = {}

    @property
    def misfit(self) -> float:
        """The largest score of the fit itself."""
        return float(self.own.max())

    def base(self) -> Array:
        """Where the search begins: the fit, or the nearest that noise allows; if there is none, more is allowed."""
        if self.misfit <= LIMIT:
            return np.eye(self.k)
        self._start = T = self._least_missed(np.eye(self.k))
        self.limit = np.maximum(np.concatenate(self._scores(T)[:2]), LIMIT)
        self._intervals.clear()
        return T

    @property
    def strict(self) -> bool:
        """Whether no more is allowed than chance explains."""
        return bool(self.limit.max() < CHANCE)

    def errors(self) -> Array:
        """Standard errors of the entries of the parts, in the units of the span."""
        return self.parts.deviations(np.eye(self.k)).T

    def violation(self, T: Array) -> float:
        """By how much the worst score is above its limit."""
        if not abs(np.linalg.det(T)) > SINGULAR:
            return np.inf
        return float((np.concatenate(self._scores(T)[:2]) - self.limit).max())

    def alone(self, i: int, direction: Array) -> Array:
        """The largest ``T[i] @ direction`` while the other parts stay where the search begins.

        With r the shares of the parts in the new one, r_i = 1, the weights of part j are ``w_j - r_j w_i``: what noise
        allows them is an interval of r_j by itself. What is left is one condition, on the part that moves.
        """
        if i not in self._intervals:
            self._intervals[i] = self._allowed(i)
        T, goal, free = self._start, self._start @ direction, np.arange(self.k) != i
        low, high = (ends[free] for ends in self._intervals[i])

        def lost(x: Array) -> tuple[float, Array]:
            gained, size = goal[i] + float(goal[free] @ x), 1.0 + float(x.sum())
            return -gained / size, -(goal[free] - gained / size) / size

        def room(x: Array) -> tuple[float, Array]:
            score, slope = self.parts.scores((T[i] + x @ T[free])[:, None])
            return float(self.limit[self.k + i] - score[0]), -(T[free] @ slope[:, 0])

        x = _climbed(lost, _remembered(room), np.c_[low, high])
        if not 1.0 + x.sum() > LEAST_LEFT / 2.0:
            return T
        new = T.copy()
        new[i] = (T[i] + x @ T[free]) / (1.0 + x.sum())
        return self._back(T, new)

    def _allowed(self, i: int) -> tuple[Array, Array]:
        """How much of every other part may be in part i, at least and at most, for the weights of that other part."""
        F, side = np.linalg.inv(self._start), self.weights
        Y, own = side.points @ F, side.spread @ np.einsum("pj,apq,qj->aj", F, side.forms, F, optimize=True)
        shared = side.spread @ np.einsum("p,apq,qj->aj", F[:, i], side.forms, F, optimize=True)

        def met(r: Array) -> npt.NDArray[np.bool_]:
            variance = own - 2.0 * r * shared + np.square(r) * own[:, [i]]
            y = (Y - r * Y[:, [i]]) / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
            found: npt.NDArray[np.bool_] = _score(y)[0] <= self.limit[: self.k] + MET / 2.0
            return found

        return _farthest(met, self.k, -1.0), _farthest(met, self.k, 1.0)

    def together(self, i: int, direction: Array, T: Array) -> Array:
        """The largest ``T[i] @ direction`` that is found from T while all parts may move."""
        return self._climb(i, direction, T, self._off)

    def repair(self, T: Array) -> Array | None:
        """A matrix that noise allows, as found from one that it does not; None if none is found."""
        if not np.linalg.cond(T) < ILL_CONDITIONED:
            return None
        found = self._least_missed(T)
        return found if self.violation(found) <= MET else None

    def _least_missed(self, T: Array) -> Array:
        """The matrix with the least squares of scores above their limits, from T on."""
        from scipy.optimize import minimize

        def missed(x: Array) -> Any:
            room, slopes = self._room(_with(T, x, self._off), self._off)
            above = np.minimum(room - MET / 2.0, 0.0)
            return 0.5 * float(above @ above), above @ slopes

        solver: Any = minimize
        limits = {"maxiter": 5 * STEPS, "ftol": 0.0, "gtol": 1e-9}
        found = solver(missed, T[self._off], jac=True, method="L-BFGS-B", options=limits)
        return _with(T, found.x, self._off)

    def _climb(self, i: int, direction: Array, T: Array, free: npt.NDArray[np.bool_]) -> Array:
        goal = np.zeros((self.k, self.k))
        goal[i] = direction
        for _ in range(CLIMBS):
            new = self._back(T, self._search(T, goal, free))
            gain = float((new[i] - T[i]) @ direction)
            reached = np.abs(new - T)[free].max()
            if gain > 0.0:
                T = new
            if gain < WORTH or reached < 0.9 * REACH:
                break
        return T

    def _search(self, T: Array, goal: Array, free: npt.NDArray[np.bool_]) -> Array:
        """Sequential quadratic programming in the free entries of T; the diagonal keeps the sums of its rows."""
        start, slope = T[free], _along(goal, free)
        room = _remembered(lambda x: self._room(_with(T, x, free), free))
        conditions = {"type": "ineq", "fun": lambda x: room(x)[0], "jac": lambda x: room(x)[1]}
        bounds = np.c_[start - REACH, start + REACH]
        found = _programmed(lambda x: (-float(slope @ x), -slope), start, conditions, bounds, 1e-5)
        return _with(T, found, free)

    def _room(self, T: Array, free: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
        """What is left of every limit, and its slope in the free entries."""
        if not (np.isfinite(T).all() and abs(np.linalg.det(T)) > SINGULAR):
            return np.full(2 * self.k, -1e3), np.zeros((2 * self.k, int(free.sum())))
        weights, parts, dW, dP = self._scores(T)
        slopes = np.zeros((2 * self.k, self.k, self.k))
        slopes[: self.k] = dW
        slopes[self.k + np.arange(self.k), np.arange(self.k)] = dP
        return self.limit - np.concatenate([weights, parts]), -_along(slopes, free)

    def _scores(self, T: Array) -> tuple[Array, Array, Array, Array]:
        """Scores of weights and parts; the slope of the first in T, of the others in their own row of it."""
        F = np.linalg.inv(T)
        weights, dF = self.weights.scores(F)
        parts, dT = self.parts.scores(T.T)
        # dF = -F dT F, and score j knows column j of F alone
        return weights, parts, -np.einsum("aj,bj->jab", F.T @ dF, F), dT.T

    def _back(self, T: Array, new: Array) -> Array:
        """The farthest matrix that noise allows on the way from T, which it does, to the new one."""
        limit = max(MET, self.violation(T))
        return _reached(T, new, lambda X: self.violation(X) <= limit)


def _farthest(met: Callable[[Array], npt.NDArray[np.bool_]], k: int, sign: float) -> Array:
    """How far each of k numbers can go from zero: doubled until it is too far, then halved between."""
    inside, outside = np.zeros(k), np.full(k, REACH / 2**HALVINGS)
    going = np.ones(k, bool)
    while going.any() and outside.max() <= CLIMBS * REACH:
        going &= met(sign * outside)
        inside[going] = outside[going]
        outside[going] *= 2.0
    outside = np.minimum(outside, CLIMBS * REACH)
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2.0
        fine = met(sign * middle)
        inside, outside = np.where(fine, middle, inside), np.where(fine, outside, middle)
    return sign * inside


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
        if gain < WORTH / 10.0:
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
