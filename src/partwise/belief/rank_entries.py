"""How many parts incomplete data has: those that predict entries best which were left out of fits.

Entries that are not known are no matter to a fit with holes, so a few more of them can be left out and be predicted
(Wold 1978, "Cross-validatory estimation of the number of components in factor and principal components models").
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.belief.rank_rule import Answer
from partwise.estimators import HALS
from partwise.estimators.observing import missing_in
from partwise.outcomes import ended
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

FOLDS = 4  # a tenth of the entries each
ASIDE = 0.1
BEHIND = 3  # numbers of parts without a smaller error after which no more are asked about
ENOUGH = 1e-3  # residual of the fits: what is left does not move errors of entries,
NOTHING = (3.0 * ENOUGH) ** 2  # by more than about this, which is all that is left of data without noise


def entry_errors(source: RowSource, most: int, seed: int) -> Array:
    """Errors of entries that were left out, relative to their size, by number of parts and fold.

    Parameters
    ----------
    source : RowSource
        The data with holes: NaN in dense blocks, what is not stored in sparse ones.
    seed : int
        Which entries.

    Returns
    -------
    ndarray of shape (numbers of parts, FOLDS)
        Mean squared errors over the mean square, from one part on.
    """
    errors: list[list[float]] = []
    while len(errors) < most and len(errors) - (int(np.argmin(np.mean(errors, axis=1))) if errors else 0) <= BEHIND:
        errors.append([_error(source, len(errors) + 1, (seed, fold)) for fold in range(FOLDS)])
    return np.array(errors)


def by_entries(errors: Array, most: int) -> Answer:
    """The least number of parts whose error cannot be told from the least, by how folds differ or by what fits leave.

    Examples
    --------
    >>> errors = np.array([[0.5, 0.52], [0.2, 0.21], [0.199, 0.212], [0.22, 0.23], [0.25, 0.26]])
    >>> by_entries(errors, 10).k
    2
    """
    best = int(np.argmin(errors.mean(axis=1)))
    beyond = errors - errors[best]
    spread = beyond.std(axis=1, ddof=1) / np.sqrt(errors.shape[1])
    alike = np.flatnonzero(beyond.mean(axis=1) <= np.maximum(spread, NOTHING)) + 1
    low, high = int(alike[0]), int(alike[-1])
    if len(errors) == most and best + 1 == most:  # it may fall further
        return Answer(None, low, None, "undecided", "entries")
    return Answer(low, low, high, "between", "entries")


def _error(source: RowSource, k: int, seed: tuple[int, int]) -> float:
    numbers = source.place(np.arange(source.shape[0], dtype=np.int64))
    rest = source.derive(partial(_kept, seed=seed), numbers)
    model = HALS(k, missing=missing_in(source), init="random", tol=ENOUGH, random_state=seed[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        W = model.fit_transform(rest)
        ended(model)
    Ht = np.ascontiguousarray(model.components_.T, source.dtype)
    squared, size = source.reduce(partial(_left_out, Ht=Ht, seed=seed), W, numbers)
    return float(squared / max(size, np.finfo(float).tiny))


def _drawn(block: Block, numbers: Array, seed: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Which of the values of a block are left out."""
    first = int(numbers[0]) if len(numbers) else 0
    return np.random.default_rng([*seed, first]).random(blocks.values(block).shape) < ASIDE


def _kept(block: Block, numbers: Array, *, seed: tuple[int, int]) -> Block:
    out = _drawn(block, numbers, seed)
    if not blocks.is_sparse(block):
        return np.where(out.reshape(block.shape), block.dtype.type(np.nan), block)
    rest = blocks.with_values(block, (~out).astype(block.dtype)).copy()
    rest.eliminate_zeros()
    rest.data = blocks.values(block)[~out]  # a zero that is stored is known
    return rest


def _left_out(block: Block, W: Array, numbers: Array, *, Ht: Array, seed: tuple[int, int]) -> tuple[float, float]:
    out, x = np.ravel(_drawn(block, numbers, seed)), np.ravel(blocks.values(block))
    out &= ~np.isnan(x)
    made = blocks.product_at(block, np.ascontiguousarray(W, block.dtype), Ht)
    wrong, x = (x[out] - made[out]).astype(np.float64), x[out].astype(np.float64)
    return float(wrong @ wrong), float(x @ x)
