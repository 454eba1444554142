"""Leading singular values and right vectors of a source, by passes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

MOST_DEPENDENT = 1e12  # condition of a Gram matrix up to which two rounds of its Cholesky factor are exact


def truncated_svd(
    source: RowSource,
    k: int,
    *,
    rng: np.random.Generator,
    oversample: int = 10,
    max_passes: int = 12,
    tol: float = 1e-6,
    beyond: int = 0,
) -> tuple[Array, Array]:
    """Singular values (k,) and right singular vectors (k, m), by randomised subspace iteration on ``X' X``.

    Halko, Martinsson & Tropp (2011).  Every pass is one reduce of ``X' (X Q)``; it stops when the leading singular
    values have settled to ``tol``.  Signs are fixed (the largest entry of a vector is positive).

    Parameters
    ----------
    source : RowSource
        The data.
    k : int
        Number of singular vectors, at most ``min(shape)``.
    rng : numpy.random.Generator
        Where the first subspace comes from.
    oversample : int
        Further dimensions of the subspace.
    max_passes : int
        Largest number of passes.
    tol : float
        Relative change of the singular values at which to stop.
    beyond : int
        How many further singular values to return, as far as they are known when the first ones have settled: in a
        bulk of equal ones a little too low.

    Returns
    -------
    values : ndarray of shape (k + beyond,), or of the smaller side of the data if that is less
        Singular values, falling.
    vectors : ndarray of shape (k, n_features)
        Right singular vectors.
    """
    n, m = source.shape
    width = min(k + max(oversample, beyond), n, m)
    # for few features X'X itself is cheaper than a search for its leading part; another pass makes it accurate
    few = m <= 8 * width
    Q = np.eye(m) if few else orthonormal(rng.standard_normal((m, width)))
    values = np.zeros(k)
    invariant = max(1e-10, 10.0 * float(np.finfo(source.dtype).eps))
    for number in range(max_passes):
        Z = source.reduce(partial(_gram_block, Q=np.ascontiguousarray(Q, source.dtype))).astype(np.float64)
        # Rayleigh-Ritz: Q' X'X Q = Q' Z
        QZ = Q.T @ Z
        eigenvalues, U = np.linalg.eigh((QZ + QZ.T) / 2.0)
        order = np.argsort(eigenvalues)[::-1][:width]
        new = np.sqrt(np.maximum(eigenvalues[order[:k]], 0.0))
        settled = np.all(np.abs(new - values) <= np.maximum(tol * new, 1e-12 * new.max(initial=0.0)))
        values = new
        # where the rank is below the width, the second pass finds that X'X leads nowhere out of the subspace
        if settled or (number and (few or np.linalg.norm(Z - Q @ QZ) <= invariant * np.linalg.norm(Z))):
            break
        Q = orthonormal(Z @ U[:, order])
    # X'X times the Ritz vectors: each column holds one scale, so the last ones are not drowned by the first, as they
    # are in U itself
    vectors = orthonormal(Z @ U[:, order[:k]]).T
    strongest = vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)]
    found = np.sqrt(np.maximum(eigenvalues[order[: k + beyond]], 0.0))
    return found, vectors * np.where(strongest < 0.0, -1.0, 1.0)[:, None]


def _gram_block(block: Block, Q: Array) -> Array:
    return blocks.tdot(block, blocks.dot(block, Q))


def orthonormal(A: Array) -> Array:
    """An orthonormal basis of the columns of a tall matrix, each within the span of those up to it.

    By Cholesky factors of the Gram matrix, twice (Yamamoto, Nakatsukasa, Yanagisawa & Fukaya 2015, "Roundoff error
    analysis of the CholeskyQR2 algorithm"): a few matrix products, a fifth of the time of Householder reflections.
    Those where columns are dependent, or all but.
    """
    sizes = np.sqrt(np.einsum("ij,ij->j", A, A))
    if len(sizes) and sizes.all():
        Q: Array = A / sizes
        for _ in range(2):
            gram = Q.T @ Q
            if np.linalg.cond(gram) > MOST_DEPENDENT:
                break
            Q = Q @ np.linalg.inv(np.linalg.cholesky(gram)).T
        else:
            return Q
    return np.asarray(np.linalg.qr(A)[0])
