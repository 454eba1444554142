"""How well clusters agree with classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array

from partwise.exceptions import InputError

__all__ = ["clustering_accuracy", "nmi"]


def clustering_accuracy(labels: Any, assigned: Any) -> float:
    r"""Share of samples in the right cluster, under the best one-to-one naming of the clusters.

    .. math:: AC = \frac{1}{n} \max_\pi \sum_j |S_{\pi(j)} \cap T_j|

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The class T of each sample; numbers, strings or anything hashable.
    assigned : array-like of shape (n_samples,)
        The cluster S of each sample. There may be more or fewer clusters than classes; those left over
        count as wrong.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy
       noise", ICML 2016, Section 5.3, "Performance measures".

    Examples
    --------
    >>> from partwise.metrics import clustering_accuracy
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    0.75
    """
    classes, clusters = _encode_both(labels, assigned)
    ones = np.ones(classes.size, dtype=np.int64)
    # repeated coordinates are summed: the table of how often class and cluster meet
    table = coo_array((ones, (classes, clusters))).toarray()
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / classes.size)


def nmi(labels: Any, assigned: Any, average: str = "arithmetic") -> float:
    r"""Mutual information of classes and clusters, divided by an average of their entropies.

    .. math:: NMI(S, T) = 2 I(S, T) / (H(S) + H(T))

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The class T of each sample; numbers, strings or anything hashable.
    assigned : array-like of shape (n_samples,)
        The cluster S of each sample.
    average : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"
        The average of the entropies: "arithmetic" is the formula above, used by the TSVDNMF paper.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy
       noise", ICML 2016, Section 5.3, "Performance measures".

    Examples
    --------
    >>> from partwise.metrics import nmi
    >>> nmi(["cat", "cat", "dog", "dog"], [1, 1, 0, 0])
    1.0
    """
    from sklearn.metrics import normalized_mutual_info_score  # slow to import

    choices = ("arithmetic", "geometric", "min", "max")
    if average not in choices:
        raise InputError(
            f"average={average!r} is unknown: choose one of {', '.join(map(repr, choices))}.", parameter="average"
        )
    classes, clusters = _encode_both(labels, assigned)
    return float(normalized_mutual_info_score(classes, clusters, average_method=average))


def _encode_both(labels: Any, assigned: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return both as integers 0, 1, ... of the same length."""
    classes, clusters = _encode("labels", labels), _encode("assigned", assigned)
    if classes.size != clusters.size:
        raise InputError(
            f"labels has {classes.size} entries and assigned {clusters.size}: give one for each sample.",
            parameter="labels",
        )
    return classes, clusters


def _encode(name: str, values: Any) -> NDArray[np.intp]:
    """Number the distinct values of a list or one-dimensional array."""
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise InputError(
            f"{name} is a {type(values).__name__}: give a list or array with one entry for each sample.", parameter=name
        )
    array = np.asarray(values) if isinstance(values, np.ndarray) or hasattr(values, "__array__") else None
    if array is not None and array.ndim != 1:
        raise InputError(
            f"{name} has shape {array.shape}: give one entry for each sample (for weights: argmax).", parameter=name
        )
    if len(values) == 0:
        raise InputError(f"{name} is empty: give one entry for each sample.", parameter=name)
    if array is not None and array.dtype.kind in "biufSU":
        return np.asarray(np.unique(array, return_inverse=True)[1], dtype=np.intp)
    # lists are not turned into arrays: [1, "1"] would become one string twice
    numbers: dict[Any, int] = {}
    try:
        codes = [numbers.setdefault(value, len(numbers)) for value in (values if array is None else array.tolist())]
    except TypeError as error:
        raise InputError(
            f"{name} has entries that cannot be labels ({error}): give numbers or strings.", parameter=name
        ) from error
    return np.asarray(codes, dtype=np.intp)
