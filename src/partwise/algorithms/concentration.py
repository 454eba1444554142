"""How far the mean of independent matrices is from its expectation, and what can be told apart in spite of that.

J. A. Tropp (2012), "User-friendly tail bounds for sums of random matrices", Theorem 1.6 (matrix Bernstein): independent
matrices ``S`` of shape (d1, d2) with ``|S - E S| <= L``, n of them, have a mean that is off by ``t`` in the spectral
norm with a probability of at most::

    (d1 + d2) exp(- n t^2 / 2 / (v + L t / 3)),    v = max(|mean E S S'|, |mean E S' S|)

Here entries of ``S`` are not negative and sum to one, or to less.  Then ``|S - E S|^2 <= |S|_F^2 + |E S|_F^2 <= 2``,
and ``v`` is at most the largest sum of a row of ``mean E S S'`` and ``mean E S' S``: a mean of numbers from 0 to 1,
which is bounded from what was seen by Chernoff's inequality.  Nothing has to be known but the data.

The mean over all pairs of a document of l words is the mean, over all orders of the words, of that over floor(l / 2)
pairs without a common word, which are independent.  The proof bounds the expectation of a convex function of the sum,
so by Jensen's inequality its bound for these holds for all pairs too (Hoeffding's argument for U-statistics).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine.rows import solve_rows

Array = npt.NDArray[Any]

LARGEST = np.sqrt(2.0)  # L
HALVINGS = 40  # of the interval in which a separation is: to 1e-12 of its length


@dataclass(frozen=True)
class Deviation:
    """A bound of the spectral norm of a mean's error, for one number of matrices or another.

    Attributes
    ----------
    n : int
        Number of independent matrices.
    variance : float
        An upper bound of v, from the data.
    log_odds : float
        Logarithm of the dimensions over the probability that is left to Bernstein's inequality.
    scale : float
        Largest sum of the entries of a matrix.
    """

    n: int
    variance: float
    log_odds: float
    scale: float = 1.0

    @classmethod
    def of(cls, sums: Array, n: int, confidence: float, scale: float = 1.0) -> Deviation:
        """From the sums of the rows of ``sum S S'`` and ``sum S' S``; half of the doubt is for these."""
        log_odds = float(np.log(2.0 * len(sums) / (1.0 - confidence)))
        # Chernoff: a sum of numbers from 0 to 1 with mean u is below u - sqrt(2 u c) with probability exp(-c) at most
        seen, c = float(np.max(sums)), log_odds * scale
        return cls(n, (seen + c + np.sqrt(c**2 + 2.0 * seen * c)) / n, log_odds, scale)

    @property
    def bound(self) -> float:
        """What the error is at most."""
        a = LARGEST * self.scale * self.log_odds / (3.0 * self.n)
        return float(a + np.sqrt(a**2 + 2.0 * self.variance * self.log_odds / self.n))

    def needed(self, bound: npt.ArrayLike) -> Array:
        """How many matrices it takes until the bound is this; infinite for zero."""
        t = np.asarray(bound, np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(2.0 * self.log_odds * (self.variance + LARGEST * self.scale * t / 3.0) / t**2)


def separations(rows: Array) -> Array:
    """By how much, in the spectral norm, rows must change before each is in the cone of the others.

    If ``z_w = c Z`` for some ``c >= 0`` and all rows are off by an error D, what is seen has
    ``|z_w - c Z| = |(1, -c) D| <= |D| sqrt(1 + |c|^2)``.  So a row is outside the cone, whatever D, if the least
    ``|z_w - c Z| / sqrt(1 + |c|^2)`` over ``c >= 0`` is above ``|D|``; that is its separation.  For a given ratio s the
    question is a quadratic program, convex while ``s`` is below the least singular value of the other rows, at which
    the search ends: what is returned is then a lower bound.
    """
    G = np.asarray(rows, np.float64) @ np.asarray(rows, np.float64).T
    return np.sqrt([_squared_separation(G, w) for w in range(len(G))])


def _squared_separation(G: Array, w: int) -> float:
    others = np.arange(len(G)) != w
    if not others.any():
        return float(G[w, w])
    H, b = G[np.ix_(others, others)], G[w, others]
    low, high = 0.0, min(float(G[w, w]), float(np.linalg.eigvalsh(H)[0]))
    for _ in range(HALVINGS):
        s = 0.5 * (low + high)
        c = np.zeros((1, len(b)))
        solve_rows(H - s * np.eye(len(b)), b[None, :].copy(), c)
        left = G[w, w] - s + float(c[0] @ (H @ c[0]) - s * (c[0] @ c[0]) - 2.0 * (b @ c[0]))
        low, high = (s, high) if left > 0.0 else (low, s)
    return max(low, 0.0)
