"""Parts of data without negative entries that came out negative: beyond the noise they are no parts.

Methods that decode with an inverse (:mod:`~partwise.algorithms.facets`, :mod:`~partwise.algorithms.and_`) leave the
signs of their components free.  Where a component of data without negative entries has more below zero than noise puts
there, the negative entries are set to zero, the weights are computed anew, exactly, and the components are fitted to
the data with them, none of their entries below zero.  Both steps are projections onto sets in which the truth lies.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.anls import anls
from partwise.linalg.nnls import Gram, decode_block
from partwise.metrics.residuals import squared_residual
from partwise.sources import RowSource
from partwise.sources.observed import COMPLETE, Observed
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

BEYOND = 2.0  # times what noise puts below zero if all entries of a part are truly zero: hardly ever by chance
SEEN = 1e-4  # of the squared size of a part, 1% of its length: less nobody sees, and other errors than noise make it
UNFINISHED = 1e-2  # the same of data without noise: less is what an iteration has not yet got rid of


def beyond_noise(source: RowSource, H: Array, *, noise: float, observed: Observed = COMPLETE) -> Array | None:
    """How much of each component of non-negative data is below zero; None if nothing is beyond the noise.

    Parameters
    ----------
    H : ndarray of shape (k, n_features)
        The components.
    noise : float
        Standard deviation of the noise in an entry of the data, along the span of the components; 0 for exact data.
    observed : Observed
        How often samples count.

    Returns
    -------
    ndarray of shape (k,) or None
        Share of the squared size of each component.
    """
    below, least = below_zero(H), SEEN if noise > 0.0 else UNFINISHED
    if not (below > least).any():
        return None
    decode = partial(decode_block, gram=Gram.of(H, source.dtype))
    # fitted to given weights, an entry of component j has the variance noise^2 (W'W)^-1_jj; half of them are negative
    gram = source.reduce(partial(_gram_block, decode=decode), *observed.beside(source))
    spread = np.diag(np.linalg.pinv(gram, hermitian=True))
    squares = (H.astype(np.float64) ** 2).sum(axis=1)
    expected = 0.5 * H.shape[1] * np.nan_to_num(noise) ** 2 * spread
    beyond = below * squares > np.maximum(BEYOND * expected, least * squares)
    return below if beyond.any() else None


def constrain(source: RowSource, H: Array, *, squared_norm: float, observed: Observed = COMPLETE) -> Array:
    """Components fitted anew, none of their entries below zero.

    Parameters
    ----------
    H : ndarray of shape (k, n_features)
        The components.
    observed : Observed
        How often samples count.

    Returns
    -------
    ndarray of shape (k, n_features)
        The components.
    """
    rounds = anls(source, np.maximum(H, 0.0), squared_norm=squared_norm, weights=observed)
    return np.asarray(next(islice(rounds, 1, None)).components, H.dtype)


def cost(source: RowSource, H: Array, new: Array, *, squared_norm: float, observed: Observed = COMPLETE) -> float:
    """By how much ``|X - W H| / |X|`` is larger with the new components, with exact weights of both."""
    before, after = (_length(source, parts, observed) for parts in (H, new))
    return float((after - before) / np.sqrt(squared_norm))


def _length(source: RowSource, H: Array, observed: Observed) -> float:
    """The length of what the components leave of the data, with exact weights."""
    decode = partial(decode_block, gram=Gram.of(H, source.dtype))
    Ht = np.ascontiguousarray(H.T, source.dtype)
    return float(np.sqrt(squared_residual(source, Ht, decode=decode, observed=observed)[0]))


def below_zero(H: Array) -> Array:
    """Share of the squared size of every row that lies below zero.

    Examples
    --------
    >>> below_zero(np.array([[2.0, -1.0, 0.0], [0.0, 0.0, 0.0]]))
    array([0.2, 0. ])
    """
    squares = (H.astype(np.float64) ** 2).sum(axis=1)
    negative = (np.minimum(H, 0.0).astype(np.float64) ** 2).sum(axis=1)
    return np.asarray(np.divide(negative, squares, out=np.zeros(len(H)), where=squares > 0.0))


def _gram_block(block: Block, samples: Array | None = None, *, decode: Any) -> Array:
    W = np.asarray(decode(block), np.float64)
    return np.asarray((W if samples is None else W * samples[:, None]).T @ W)
