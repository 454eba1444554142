"""How large parts are: weights times amounts are proportions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from partwise.exceptions import DegenerateDataWarning, Place, warn_user

Array = npt.NDArray[Any]

SAMPLES = 20_000  # as many as are looked at, evenly spread: k numbers are known well enough from them
ROUNDING = 1e-6  # logarithms of totals that differ by no more than this are equal
NAMED = 6  # of the samples that a warning is about


def find_amounts(W: Array, sizes: Array) -> Array:
    r"""The size of each part: the sum of its entries, or what makes all samples equally large.

    Samples of equal amounts, such as wells of as many cells, have proportions :math:`W_{ij} s_j` that sum to one for
    the right sizes s. These make :math:`\log \sum_j W_{ij} s_j` least (soft absolute values; depth and odd samples are
    in it too). They are taken instead of the sums of entries if totals then vary so much less, by standard
    deviation and by median deviation, that k - 1 further numbers are worth it by BIC.

    Parameters
    ----------
    W : ndarray of shape (n_samples, k)
        Weights.
    sizes : ndarray of shape (k,)
        Sums of the entries of the parts.

    Returns
    -------
    ndarray of shape (k,)
        Positive, with the mean total of the samples near one where they were fitted.
    """
    A = np.maximum(W, 0.0) * sizes
    totals = A.sum(axis=1)
    used = np.flatnonzero(totals > 0.0)
    used = used[:: max(1, -(-len(used) // SAMPLES))]
    n, k = len(used), W.shape[1]
    if k < 2 or n <= k or not (sizes > 0.0).all():
        return np.where(sizes > 0.0, sizes, 1.0)
    A = A[used] / np.median(totals[used])
    before = np.log(A.sum(axis=1))
    spread = _spread(before)
    if spread <= ROUNDING:
        return sizes
    fit = least_squares(_log_totals, np.zeros(k), jac=_slopes, args=(A,), loss="soft_l1", f_scale=spread)
    after = _log_totals(fit.x, A)
    falls = [before.std() / max(after.std(), ROUNDING), spread / max(_spread(after), ROUNDING)]
    # twice the logarithm of a likelihood, by the spread alone, is 2 n log(fall)
    if 2.0 * n * np.log(max(min(falls), 1.0)) <= (k - 1) * np.log(n):
        return sizes
    return np.asarray(sizes * np.exp(fit.x))


def shares_of(W: Array, amounts: Array) -> Array:
    """Weights times amounts, each row as shares of its sum; rows without any are NaN, and named."""
    P = np.maximum(W, 0.0) * amounts
    totals = P.sum(axis=1)
    empty = np.flatnonzero(totals <= 0.0)
    if len(empty):
        few = ", ".join(map(str, empty[:NAMED])) + (f" and {len(empty) - NAMED} more" if len(empty) > NAMED else "")
        warn_user(
            DegenerateDataWarning(
                f"sample(s) {few} use no part at all: their proportions are NaN",
                parameter="X",
                kind="empty",
                place=Place(row=int(empty[0])),
            )
        )
    shares: Array = np.divide(P, totals[:, None], out=np.full_like(P, np.nan), where=totals[:, None] > 0.0)
    return shares


def _spread(logs: Array) -> float:
    """Median deviation from the median."""
    return float(np.median(np.abs(logs - np.median(logs))))


def _log_totals(b: Array, A: Array) -> Array:
    return np.asarray(np.log(np.maximum(A @ np.exp(b), np.finfo(np.float64).tiny)))


def _slopes(b: Array, A: Array) -> Array:
    B = A * np.exp(b)
    return np.asarray(B / np.maximum(B.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))
