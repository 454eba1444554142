"""Hartigan's dip: how far an empirical distribution is from the nearest one with a single mode."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import inlined, jit

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@jit
def dip_of_sorted(x: Array) -> float:
    """The dip of sorted values: J. A. Hartigan & P. M. Hartigan (1985), Algorithm AS 217 with Mächler's corrections.

    A modal interval shrinks: outside it the distribution is compared with its greatest convex minorant on the left and
    its least concave majorant on the right, inside it the two are compared with each other, until the second is no
    larger than the first.  Distances are counted in jumps of the distribution, of 1 / n.
    """
    n = x.shape[0]
    if n < 2 or x[0] == x[n - 1]:
        return 0.0 if n else np.nan
    convex, concave = _hulls(x)
    below, above = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    low, high, dip = 0, n - 1, 1.0
    while True:
        n_below, n_above = _walk(convex, high, low, below), _walk(concave, low, high, above)
        d, g, h = _between(x, below, n_below, above, n_above)
        if d < dip:
            break
        left = _outside(x, below, g, n_below - 1, 1.0)
        right = _outside(x, above, h, n_above - 1, -1.0)
        dip = max(dip, left, right)
        if low == below[g] and high == above[h]:
            break
        low, high = below[g], above[h]
    return float(0.5 * dip / n)


@inlined
def _hulls(x: Array) -> tuple[Index, Index]:
    """For each value the one before it on the convex minorant that ends there, and after it on the concave majorant."""
    n = x.shape[0]
    convex, concave = np.zeros(n, np.int64), np.full(n, n - 1)
    for j in range(1, n):
        convex[j] = j - 1
        while True:
            a = convex[j]
            b = convex[a]
            if a == 0 or (x[j] - x[a]) * (a - b) < (x[a] - x[b]) * (j - a):
                break
            convex[j] = b
    for j in range(n - 2, -1, -1):
        concave[j] = j + 1
        while True:
            a = concave[j]
            b = concave[a]
            if a == n - 1 or (x[j] - x[a]) * (a - b) < (x[a] - x[b]) * (j - a):
                break
            concave[j] = b
    return convex, concave


@inlined
def _walk(following: Index, first: int, last: int, knots: Index) -> int:
    """The knots from one end of the modal interval to the other, and how many there are."""
    count = 0
    knots[0] = first
    while knots[count] != last:
        knots[count + 1] = following[knots[count]]
        count += 1
    return count + 1


@inlined
def _between(x: Array, below: Index, n_below: int, above: Index, n_above: int) -> tuple[float, int, int]:
    """The largest distance of the majorant from the minorant, and the knots of both between which it is."""
    g, h = n_below - 1, n_above - 1
    if n_below == 2 and n_above == 2:
        return 1.0, g, h
    i, j, d = n_below - 2, 1, 0.0
    while True:
        a, b = below[i], above[j]
        if a > b:
            c = below[i + 1]
            gap = (b - c + 1) - (x[b] - x[c]) * (a - c) / (x[a] - x[c])
            j += 1
            if gap >= d:
                d, g, h = gap, i + 1, j - 1
        else:
            c = above[j - 1]
            gap = (x[a] - x[c]) * (b - c) / (x[b] - x[c]) - (a - c - 1)
            i -= 1
            if gap >= d:
                d, g, h = gap, i + 1, j
        i, j = max(i, 0), min(j, n_above - 1)
        if below[i] == above[j]:
            return d, g, h


@inlined
def _outside(x: Array, knots: Index, first: int, last: int, sign: float) -> float:
    """The largest distance of the distribution from the pieces of a hull between two of its knots; at least a jump."""
    largest = 1.0 if first < last else 0.0
    for t in range(first, last):
        a, b = min(knots[t], knots[t + 1]), max(knots[t], knots[t + 1])
        if b - a > 1 and x[b] != x[a]:
            slope = (b - a) / (x[b] - x[a])
            for i in range(a, b + 1):
                largest = max(largest, sign * ((i - a) - (x[i] - x[a]) * slope) + 1.0)
    return largest
