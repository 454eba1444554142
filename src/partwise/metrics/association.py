"""Which features go with a part from sample to sample: large where the part is, whatever their size."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.exceptions import InputError, Place
from partwise.metrics.checks import Matrix
from partwise.sources import blocks, inspect, source_of

ROUNDING = 1e-13  # of a mean of squares: what is left of it in a variance says nothing


def association(X: Any, shares: Any) -> Matrix:
    """Score of every feature in every part by how it goes with the part's share from sample to sample.

    Samples are scaled to one total, features to mean zero and variance one; the scores are the least-squares
    coefficients of the features on the shares: in deviations of a feature, for a sample that is all of one part.
    Sizes of features do not count, so a rare marker is ahead of a common gene that merely varies. It is what cNMF ranks
    genes by.

    Parameters
    ----------
    X : array-like, sparse matrix or source of shape (n_samples, n_features)
        Counts, or other data that is not negative; NaN is refused.
    shares : array-like of shape (n_samples, n_components)
        How much of each sample is of each part.

    Returns
    -------
    ndarray of shape (n_components, n_features)
        Coefficients; zero for features that do not vary.

    References
    ----------
    Kotliar et al. (2019), Identifying gene expression programs of cell-type identity and cellular activity with
    single-cell RNA-Seq, eLife 8:e43803.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.metrics import association
    >>> shares = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> X = np.array([[90, 10, 0], [95, 5, 0], [90, 0, 10], [95, 0, 5]])  # the first feature is large in both
    >>> association(X, shares).argmax(axis=1).tolist()
    [1, 2]
    """
    source, U = source_of(X), np.ascontiguousarray(shares, np.float64)
    n = source.shape[0]
    if U.ndim != 2 or len(U) != n:
        raise InputError(
            f"{{parameter}} must have {n} rows, one a sample; got {U.shape}", parameter="shares", kind="shape"
        )
    bad = np.argwhere(~np.isfinite(U))
    if len(bad):
        row, column = map(int, bad[0])
        raise InputError(
            "{parameter} contains NaN or infinity in {place}: leave out samples that use no part",
            parameter="shares",
            kind="not-finite",
            place=Place(row, column),
        )
    inspect(source).check(allow_negative=False, squares=False)
    sums, squares, product = source.reduce(_moments, source.place(U))
    mean, square = sums / n, squares / n
    varies = square - mean**2 > ROUNDING * square
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    centred = (product - U.sum(axis=0)[:, None] * mean) / np.where(varies, spread, 1.0)
    found = np.linalg.lstsq(U.T @ U, np.where(varies, centred, 0.0), rcond=None)[0]
    return np.asarray(found)


def exclusive(scores: Any, components: Any) -> Matrix:
    """Scores above zero, each times the share of the feature that is the part's, or zero.

    Of the score of :func:`association` this is specificity: of two genes that go with a program equally well, the one
    that the other programs have less of is the better marker. The share is that of the part's entry in the sum over
    the parts, each scaled to sum to one: how sure a count of the gene makes the part, where all parts are used alike.

    Parameters
    ----------
    scores : array-like of shape (n_components, n_features)
        Of :func:`association`.
    components : array-like of shape (n_components, n_features)
        Non-negative parts, one a row.

    Returns
    -------
    ndarray of shape (n_components, n_features)
        None is below zero; for a single part the scores themselves, where they are above zero.
    """
    H = np.asarray(components, np.float64)
    totals = H.sum(axis=1, keepdims=True)
    P = H / np.where(totals > 0.0, totals, 1.0)
    over = P.sum(axis=0)
    return np.asarray(np.maximum(np.asarray(scores, np.float64), 0.0) * (P / np.where(over > 0.0, over, 1.0)))


def _moments(block: Any, U: Any) -> tuple[Any, Any, Any]:
    """Sums and sums of squares of the features of samples of total one, and their products with the shares."""
    totals = blocks.row_sums(block).astype(np.float64)
    scaled = blocks.scale_rows(block, np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0.0))
    return *blocks.column_moments(scaled), np.asarray(blocks.tdot(scaled, U), np.float64).T
