"""Coherence of topics: do the top words of a topic occur in the same documents?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse

from partwise.exceptions import InputError
from partwise.metrics.checks import Vector

__all__ = ["topic_coherence"]

# Smoothing of p(i, j) in the UCI measure, as in Röder et al. 2015.
EPSILON = 1e-12

Words = NDArray[np.intp]


def topic_coherence(
    topics: Any,
    counts: Any,
    measure: str = "npmi",
    top: int = 10,
    feature_names: Sequence[str] | None = None,
) -> Vector:
    r"""Coherence of the top words of each topic, from the documents in which they occur together.

    With D(i) the number of reference documents that contain word i, D(i, j) those that contain both, N the
    number of documents, p = D / N, and words v_1, v_2, ... in order of decreasing weight:

    - "npmi" [1]_ [2]_: the mean over pairs of
      :math:`\log \frac{p(i, j)}{p(i) p(j)} \big/ (-\log p(i, j))`, from -1 (never together) to 1 (always).
    - "umass" [3]_: :math:`\sum_{m=2}^{M} \sum_{l=1}^{m-1} \log \frac{D(v_m, v_l) + 1}{D(v_l)}`.
    - "uci" [4]_: the mean over pairs of :math:`\log \frac{p(i, j) + \epsilon}{p(i) p(j)}`, with
      epsilon = 1e-12 [5]_. (The original slides a window over Wikipedia; here documents are the windows.)

    Parameters
    ----------
    topics : array-like of shape (n_topics, n_words), or list of lists of words
        Components, over the columns of `counts`, whose largest positive entries are the top words; or the top
        words themselves, as column numbers or as names (see `feature_names`). An array as wide as `counts` is
        taken for components.
    counts : sparse matrix or array-like of shape (n_documents, n_words)
        Reference documents; only whether an entry is positive matters. Sparse counts stay sparse.
    measure : {"npmi", "umass", "uci"}, default="npmi"
        The measure.
    top : int, default=10
        How many words of each topic to take, at least 2.
    feature_names : sequence of str, optional
        Names of the columns of `counts`, where topics are given as names.

    Returns
    -------
    ndarray of shape (n_topics,)
        Larger is more coherent; NaN for a topic with fewer than two words. A pair with a word that no
        reference document has counts as very bad: -1 for "npmi", log(1/N) for "umass", log(epsilon) for
        "uci".

    References
    ----------
    .. [1] G. Bouma, "Normalized (pointwise) mutual information in collocation extraction", GSCL 2009.
    .. [2] N. Aletras, M. Stevenson, "Evaluating topic coherence using distributional semantics", IWCS 2013.
    .. [3] D. Mimno, H. Wallach, E. Talley, M. Leenders, A. McCallum, "Optimizing semantic coherence in topic
       models", EMNLP 2011, equation 1.
    .. [4] D. Newman, J. H. Lau, K. Grieser, T. Baldwin, "Automatic evaluation of topic coherence",
       NAACL 2010.
    .. [5] M. Röder, A. Both, A. Hinneburg, "Exploring the space of topic coherence measures", WSDM 2015.

    Examples
    --------
    >>> from partwise.metrics import topic_coherence
    >>> counts = [[1, 2, 0], [3, 1, 0], [0, 0, 1]]
    >>> topic_coherence([[0.6, 0.4, 0.0], [0.0, 0.5, 0.5]], counts, top=2)
    array([ 1., -1.])
    >>> topic_coherence([["cat", "dog"]], counts, feature_names=["cat", "dog", "sun"])
    array([1.])
    """
    if measure not in MEASURES:
        raise InputError(
            f"measure={measure!r} is unknown: choose one of {', '.join(map(repr, MEASURES))}.", parameter="measure"
        )
    if not isinstance(top, int | np.integer) or isinstance(top, bool) or top < 2:
        raise InputError(
            f"top={top!r} cannot be used: give an integer of at least 2, coherence is about pairs.", parameter="top"
        )
    present = _presence(counts)
    lists = [words[:top] for words in _top_words(topics, present.shape[1], int(top), feature_names)]
    used = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *lists]))
    if used.size == 0:
        return np.full(len(lists), np.nan)
    chosen = present[:, used]
    # of the size of the top words, not of the vocabulary; the diagonal is D(i)
    together = (chosen.T @ chosen).toarray().astype(np.float64)
    result = np.full(len(lists), np.nan)
    for i, words in enumerate(lists):
        if words.size >= 2:
            where = np.searchsorted(used, words)
            result[i] = MEASURES[measure](together[np.ix_(where, where)], present.shape[0])
    return result


def _npmi(D: NDArray[np.float64], n: int) -> float:
    first, second = np.triu_indices(len(D), 1)
    single, joint = np.diag(D) / n, D[first, second] / n
    values = np.full(joint.size, -1.0)  # the limit for p(i, j) -> 0
    values[joint == 1.0] = 1.0  # words that are everywhere always occur together
    some = (joint > 0) & (joint < 1)
    p = joint[some]
    values[some] = np.log(p / (single[first[some]] * single[second[some]])) / -np.log(p)
    return float(values.mean())


def _umass(D: NDArray[np.float64], n: int) -> float:
    # l < m: v_l is the more heavily weighted word of the pair
    l, m = np.triu_indices(len(D), 1)
    base = np.diag(D)
    known = (base[l] > 0) & (base[m] > 0)
    values = np.full(l.size, -np.log(n))
    values[known] = np.log((D[m, l][known] + 1.0) / base[l][known])
    return float(values.sum())


def _uci(D: NDArray[np.float64], n: int) -> float:
    first, second = np.triu_indices(len(D), 1)
    product = np.diag(D)[first] / n * (np.diag(D)[second] / n)
    values = np.full(first.size, np.log(EPSILON))
    known = product > 0
    values[known] = np.log((D[first, second][known] / n + EPSILON) / product[known])
    return float(values.mean())


MEASURES = {"npmi": _npmi, "umass": _umass, "uci": _uci}


def _presence(counts: Any) -> Any:
    """Return a sparse 0/1 matrix of which document has which word."""
    given: Any = counts if issparse(counts) else np.asarray(counts)
    if given.ndim != 2 or given.shape[0] == 0:
        raise InputError(f"counts has shape {given.shape}: give one reference document a row.", parameter="counts")
    table = csc_array(given)
    if not np.isfinite(table.data).all() or (table.data < 0).any():
        raise InputError("counts has NaN, infinity or negative entries: give counts of words.", parameter="counts")
    # a new array: counts given as CSC would share its memory
    present = csc_array(
        ((table.data > 0).astype(np.int64), table.indices.copy(), table.indptr.copy()), shape=table.shape
    )
    present.sum_duplicates()
    present.eliminate_zeros()
    present.data[:] = 1
    return present


def _top_words(topics: Any, m: int, top: int, feature_names: Sequence[str] | None) -> list[Words]:
    """Return the columns of the top words of each topic."""
    if hasattr(topics, "toarray"):
        topics = topics.toarray()
    if not hasattr(topics, "__len__") or isinstance(topics, str) or len(topics) == 0:
        raise InputError(
            "topics is empty or no list: give components, or a list of words for each topic.", parameter="topics"
        )
    rows = [np.asarray(topic) for topic in topics]
    if any(row.ndim != 1 for row in rows):
        raise InputError(
            "topics is not two-dimensional: give components, or a list of words for each topic.", parameter="topics"
        )
    if any(row.dtype.kind in "USO" for row in rows):
        return [_named(topic, m, feature_names) for topic in topics]
    if all(row.size == m for row in rows):
        return [_largest(row.astype(np.float64), i, top) for i, row in enumerate(rows)]
    if any(row.dtype.kind not in "iu" and row.size for row in rows):
        raise InputError(
            f"topics has rows of {rows[0].size} numbers where counts has {m} columns: give components over "
            "the columns of counts, or top words as integers or names.",
            parameter="topics",
        )
    for i, row in enumerate(rows):
        if row.size and (row.min() < 0 or row.max() >= m):
            raise InputError(f"topics[{i}] names a column outside 0..{m - 1}: give columns of counts.")
        if np.unique(row).size != row.size:
            raise InputError(f"topics[{i}] names a word twice: give each once.")
    return [row.astype(np.intp) for row in rows]


def _largest(row: Vector, i: int, top: int) -> Words:
    """Return the largest positive entries, ties in the order of the columns."""
    if np.isnan(row).any():
        raise InputError(f"topics[{i}] has NaN: remove or replace such components.")
    order = np.argsort(-row, kind="stable")[:top]
    return np.asarray(order[row[order] > 0], dtype=np.intp)


def _named(topic: Any, m: int, feature_names: Sequence[str] | None) -> Words:
    """Return the columns of named words."""
    if feature_names is None:
        raise InputError("topics are given as names: give feature_names, the names of the columns of counts.")
    if len(feature_names) != m:
        raise InputError(
            f"feature_names has {len(feature_names)} entries and counts {m} columns: give one for each.",
            parameter="feature_names",
        )
    column = {str(name): j for j, name in enumerate(feature_names)}
    names = list(dict.fromkeys(str(word) for word in topic))
    unknown = [name for name in names if name not in column]
    if unknown:
        raise InputError(f"topics has the word {unknown[0]!r}, which is not in feature_names: leave it out.")
    return np.array([column[name] for name in names], dtype=np.intp)
