"""Least absolute deviations: ``min |X - W H|_1``, each factor in turn by exact linear programs.

Ke & Kanade (2005), "Robust L1 norm factorization in the presence of outliers and missing data by alternative convex
programming", here with factors that are not negative.  Every program has its duality gap (``linalg/absolute.py``), none
raises the sum, and at the end neither factor alone can be improved: a minimum of both at once that is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.linalg.absolute import least_absolute
from partwise.sources import blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Deviations:
    """Factors, and how they were found.

    Attributes
    ----------
    W, H : ndarray
        Weights, the best ones for the components, and components.
    sums : tuple of float
        Sums of absolute deviations, after every round.
    gap : float
        Largest duality gap of the weights.
    settled : bool
        Whether the last round lowered the sum by no more than was asked for.
    """

    W: Array
    H: Array
    sums: tuple[float, ...]
    gap: float
    settled: bool


def deviations(X: Block, W: Array, H: Array) -> float:
    """``|X - W H|_1``, a few rows at a time."""
    return sum(float(np.abs(blocks.to_dense(X[a:b]) - W[a:b] @ H).sum()) for a, b in blocks.row_chunks(X))


def least_deviations(X: Block, H0: Array, *, max_iter: int, tol: float) -> Deviations:
    """Weights, then components, until a round lowers the sum by no more than ``tol`` of itself.

    Parameters
    ----------
    X : ndarray or CSR array
        The data, all of it.
    H0 : ndarray of shape (n_components, n_features)
        Where to start.
    max_iter : int
        Largest number of rounds.
    tol : float
        When to end.
    """
    columns, H, sums = blocks.transposed(X), np.asarray(H0, np.float64), []
    W, proof = least_absolute(H, X, return_certificate=True)
    sums.append(deviations(X, W, H))
    settled = False
    while not settled and len(sums) <= max_iter:
        H = np.ascontiguousarray(np.asarray(least_absolute(np.ascontiguousarray(W.T), columns)).T)
        W, proof = least_absolute(H, X, return_certificate=True)
        sums.append(deviations(X, W, H))
        settled = sums[-2] - sums[-1] <= tol * sums[-2]
    return Deviations(W, H, tuple(sums), proof.largest, settled)
