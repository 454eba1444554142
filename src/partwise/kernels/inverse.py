"""Basis pursuit ``min |p|_1, Q' p = c`` by the primal simplex method with long steps.

Any k independent rows of ``Q`` are a feasible start, because p may have any sign, so there is no first phase.  An
entering variable moves through the zeros of basic ones, whose signs turn, for as long as the objective falls: a
step does the work of several exchanges (Barrodale & Roberts 1973).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

VIOLATION = 1e-11  # of |q'y| <= 1 that is worth an exchange: it is the gap that is left, rounding is some 1e-14
# Only listed rows are priced between passes over all: a shorter list makes more passes, a longer one dearer exchanges.
LISTED = 0.1  # violations of at least this part of the worst are listed
STALE = 0.5  # all rows are looked at again when the worst violation of the listed ones is this part of what it was
PIVOT = 1e-9  # entries of an entering column below this are rounding error: dividing by one would lose 9 digits


@jit
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for l in range(a.shape[0]):
        total += a[l] * b[l]
    return total


@jit
def _add(a: Array, factor: float, b: Array) -> None:
    for l in range(a.shape[0]):
        a[l] += factor * b[l]


@jit
def _most_violated(Q: Array, y: Array, rows: Index) -> tuple[int, float]:
    """Of the given rows the one with the largest ``|q'y| > 1``, or -1, and its ``q'y``."""
    entering = -1
    price = 0.0
    # half of what put it on the list: a sum rounded otherwise must not make all of them disappear
    largest = 1.0 + 0.5 * VIOLATION
    for row in rows:
        value = _dot(Q[row], y)
        if abs(value) > largest:
            largest = abs(value)
            price = value
            entering = row
    return entering, price


@jit
def _shortlist(Q: Array, y: Array, prices: Array, rows: Index) -> int:
    """Write rows of ``Q`` with large violations of ``|q'y| <= 1``, the largest first; return their number."""
    worst = 0
    for i in range(Q.shape[0]):
        prices[i] = abs(_dot(Q[i], y)) - 1.0
        if prices[i] > prices[worst]:
            worst = i
    if prices[worst] <= VIOLATION:
        return 0
    rows[0] = worst
    count = 1
    for i in range(Q.shape[0]):
        if count == rows.shape[0]:
            break
        if prices[i] > LISTED * prices[worst] and i != worst:
            rows[count] = i
            count += 1
    return count


@jit
def _multipliers(inverse: Array, x: Array, signs: Array, y: Array) -> None:
    """``y`` with ``q'y = sign(x)`` for the basic rows q."""
    y[:] = 0.0
    for i in range(x.shape[0]):
        signs[i] = 1.0 if x[i] >= 0.0 else -1.0
        _add(y, signs[i], inverse[i])


@jit
def _leaving(x: Array, d: Array, signs: Array, slope: float, steps: Array) -> int:
    """Position at whose zero, on the way ``x - t d``, the objective stops falling; -1 if there is none."""
    for i in range(x.shape[0]):
        steps[i] = x[i] / d[i] if signs[i] * d[i] > PIVOT else np.inf
    while True:
        position = int(np.argmin(steps))
        if steps[position] == np.inf:
            return -1
        slope += 2.0 * abs(d[position])
        if slope >= 0.0:
            return position
        steps[position] = np.inf


@jit
def _exchange(inverse: Array, d: Array, sign: float, position: int) -> None:
    """Inverse of the basis matrix with another column at ``position``, ``sign * d`` being that in the old basis."""
    pivotal = inverse[position]
    for i in range(d.shape[0]):
        if i != position:
            _add(inverse[i], -d[i] / d[position], pivotal)
    for l in range(d.shape[0]):
        pivotal[l] *= sign / d[position]


@jit
def descend(Q: Array, c: Array, basis: Index, inverse: Array, limit: int) -> Array:
    """Exchange rows of ``basis`` until it is optimal, or ``limit`` times; return the signs of its solution.

    ``inverse`` is that of ``Q[basis].T``, and kept so.  There is no rule against cycling: ``c`` has to be in general
    position, as a small random change makes it.
    """
    m, k = Q.shape
    x = np.empty(k)
    for i in range(k):
        x[i] = _dot(inverse[i], c)
    signs, y, d, steps = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    prices = np.empty(m)
    rows = np.empty(min(2 * k, m), np.int64)
    _multipliers(inverse, x, signs, y)
    count, worst = 0, 0.0
    for _ in range(limit):
        entering, price = _most_violated(Q, y, rows[:count])
        if entering < 0 or abs(price) - 1.0 < STALE * worst:
            # y from scratch, so that no rounding of its updates is left in the verdict
            _multipliers(inverse, x, signs, y)
            count = _shortlist(Q, y, prices, rows)
            entering, price = _most_violated(Q, y, rows[:count])
            if entering < 0:
                break
            worst = abs(price) - 1.0
        a = Q[entering]
        sign = 1.0 if price > 0.0 else -1.0
        for i in range(k):
            d[i] = sign * _dot(inverse[i], a)
        out = _leaving(x, d, signs, 1.0 - abs(price), steps)
        if out < 0:
            break
        step = x[out] / d[out]
        for i in range(k):
            x[i] -= step * d[i]
            if i != out and x[i] * signs[i] < 0.0:
                _add(y, -2.0 * signs[i], inverse[i])
                signs[i] = -signs[i]
        _add(y, (1.0 - sign * _dot(a, y)) / d[out], inverse[out])
        _exchange(inverse, d, sign, out)
        x[out], signs[out], basis[out] = sign * step, sign, entering
    return signs
