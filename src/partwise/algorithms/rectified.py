"""Rectified co-occurrence: the nearest matrix that topics could have made.

Lee, Bindel & Mimno (2015), "Robust spectral inference for joint stochastic matrix factorization".  The expected
co-occurrence of words, ``Q = H' R H``, has rank k, no negative eigenvalue, no negative entry, and sums to one.  That of
few or short documents has none of the first two: rows of words are noisy, and the corners of their hull are those of
the noise.  Projections onto the three sets in turn end where all three hold, nearly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import eigh

from partwise.algorithms.cooccurrence import AllPairs, Cooccurrence
from partwise.exceptions import InputError

Array = npt.NDArray[Any]

ROUNDS = 150  # of the three projections at most, as in the paper
SETTLED = 1e-3  # relative change of the matrix in a round at which it ends: far below the noise of counts
MOST_BYTES = 4 << 30  # the matrix is dense


@dataclass(frozen=True)
class Rectified(Cooccurrence):
    """Co-occurrence made possible for k topics; what is known of the documents stays as it was.

    Attributes
    ----------
    pairs : AllPairs
        What was counted.
    C : ndarray of shape (n_words, n_words)
        The projected matrix: symmetric, non-negative, of sum one, and of rank k but for what the last projection did.
    """

    pairs: AllPairs
    C: Array

    @property
    def probabilities(self) -> Array:  # type: ignore[override]
        """See :class:`Cooccurrence`."""
        return np.asarray(self.C.sum(axis=1))

    @property
    def n_documents(self) -> int:  # type: ignore[override]
        """See :class:`Cooccurrence`."""
        return self.pairs.n_documents

    @property
    def documents(self) -> Array:
        """See :class:`AllPairs`."""
        return self.pairs.documents

    @property
    def n_dropped(self) -> int:
        """See :class:`AllPairs`."""
        return self.pairs.n_dropped

    @property
    def n_words(self) -> float:
        """See :class:`AllPairs`."""
        return self.pairs.n_words

    def dot(self, M: Array) -> Array:
        """``C M``."""
        return np.asarray(self.C @ M)

    def matrix(self) -> sp.csr_array:
        """See :class:`Cooccurrence`."""
        return sp.csr_array(self.C)

    def _row_sums(self, chosen: npt.NDArray[np.bool_]) -> Array:
        raise InputError("the error of rectified co-occurrence is not bounded: ask that of the counts")


def rectify(pairs: AllPairs, k: int) -> Rectified:
    """Project onto matrices of rank k without negative eigenvalues, of sum one, without negative entries, in turn.

    Parameters
    ----------
    pairs : AllPairs
        Co-occurrence as it was counted.

    Returns
    -------
    Rectified
        The last of the projections.
    """
    m = len(pairs.probabilities)
    if 8 * m * m > MOST_BYTES:
        raise InputError(
            f"{{parameter}}: the matrix of {m:,} x {m:,} words is too large; leave out rare words",
            parameter="rectify",
            kind="memory",
        )
    C = pairs.matrix().toarray()
    C = (C + C.T) / 2.0
    for _ in range(ROUNDS):
        values, V = eigh(C, subset_by_index=[max(0, m - k), m - 1])
        new = (V * np.maximum(values, 0.0)) @ V.T  # of rank k, no negative eigenvalue
        new += (1.0 - new.sum()) / m**2  # of sum one
        np.maximum(new, 0.0, out=new)
        change = np.linalg.norm(new - C) / max(float(np.linalg.norm(C)), np.finfo(np.float64).tiny)
        C = new
        if change <= SETTLED:
            break
    return Rectified(pairs, C / C.sum())
