"""The parts on which many starts agree.

Kotliar et al. (2019), "Identifying gene expression programs of cell-type identity and cellular activity with
single-cell RNA-Seq" (cNMF): the parts of all fits together, without those that few others are like, in k clusters;
the median of a cluster is a part. Here the consensus is then a start: the fit that goes on from it has a certificate.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from partwise.exceptions import InputError
from partwise.io import open_source
from partwise.outcomes import ended

Array = npt.NDArray[Any]

NEIGHBOURS = 0.3  # of the starts: so many parts must be near one that counts (cNMF's default)
FAR = 0.5  # mean distance to them from which on a part is left out (cNMF's default)
CLUSTERINGS = 10
SEEDS = 2**31 - 1


@dataclass(frozen=True)
class Agreement:
    """What many starts agree on.

    Parameters
    ----------
    start : ndarray of shape (n_components, n_features)
        The consensus itself: medians of clusters of parts, of length one.
    stability : ndarray of shape (n_components,)
        Mean cosine of the parts of a cluster with their median: 1 where all starts find the same part.
    found : ndarray of shape (n_components,)
        Share of the starts that have a part in the cluster.
    kept : float
        Share of all parts that are near enough to others to count.
    objectives : ndarray of shape (n_starts,)
        Where the fits ended.
    """

    start: Array
    stability: Array
    found: Array
    kept: float
    objectives: Array


@dataclass(frozen=True)
class Consensus(Agreement):
    """What many starts agree on, and the fit from there.

    Parameters
    ----------
    start, stability, found, kept, objectives : ndarray or float
        See :class:`Agreement`.
    model : estimator
        Fitted from the consensus.
    """

    model: Any


def consensus(estimator: Any, X: Any, *, n_starts: int = 20, random_state: int = 0, watch: Any = None) -> Consensus:
    """Fit from many random starts, and from what these agree on.

    Parameters
    ----------
    estimator : estimator
        With ``n_components`` and ``init``, not fitted: `Likelihood`, `HALS`, `ANLS`, `MU`.
    X : array-like, sparse matrix, data frame, AnnData, path or source
        Samples as rows.
    n_starts : int, default=20
        Number of random starts; at least 3.
    random_state : int, default=0
        Of the starts and of the clustering.
    watch : callable, optional
        Called with the number of fits that are done.

    Returns
    -------
    Consensus
        The model that begins at the consensus, and how stable each part is.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_topics(n_samples=200, n_features=40, n_components=4, random_state=0)
    >>> found = pw.consensus(pw.HALS(4), data.X, n_starts=5)
    >>> found.model.converged_, bool(found.stability.min() > 0.99)
    (True, True)
    """
    if n_starts < 3:
        raise InputError(f"{{parameter}} must be at least 3, got {n_starts}", parameter="n_starts", kind="value")
    if "init" not in estimator.get_params(deep=False) or estimator.n_components is None:
        raise InputError("{parameter} needs n_components, and a start (init)", parameter="estimator", kind="value")
    _free(estimator, estimator.n_components)
    rows = open_source(X)
    found = agreement(estimator, rows, n_starts=n_starts, random_state=random_state, watch=watch)
    model = clone(estimator).set_params(init=found.start, random_state=random_state).fit(rows)
    return Consensus(**vars(found), model=model)


def agreement(estimator: Any, rows: Any, *, n_starts: int, random_state: int = 0, watch: Any = None) -> Agreement:
    """What the fits from many random starts agree on; see :func:`consensus`."""
    rng = np.random.default_rng(random_state)
    parts, objectives = [], []
    for done in range(n_starts):
        one = clone(estimator).set_params(init="random", random_state=int(rng.integers(SEEDS)))
        with warnings.catch_warnings():  # of fits that are only on the way
            warnings.simplefilter("ignore")
            ended(one.fit(rows))
        parts.append(np.asarray(one.components_, np.float64))
        objectives.append(float(one.history_["objective"][-1]))
        if watch is not None:
            watch(done + 1)
    free = _free(estimator, len(parts[0]))
    found = agreed([one[-free:] for one in parts], free, seed=random_state)
    return Agreement(*found, np.array(objectives))


def _free(estimator: Any, k: int) -> int:
    """How many parts are sought: on those that are fixed, the first ones, all starts agree."""
    fixed = 0 if getattr(estimator, "fixed", None) is None else len(estimator.fixed)
    if fixed >= k:
        raise InputError(
            f"{{parameter}} keeps all {k} parts fixed: nothing is left for starts to agree on",
            parameter="estimator",
            kind="value",
        )
    return k - fixed


def agreed(parts: list[Array], k: int, *, seed: int = 0) -> tuple[Array, Array, Array, float]:
    """Medians of k clusters of parts, their stability, the share of the starts in each, and the share that counts."""
    H = np.vstack(parts)
    lengths = np.linalg.norm(H, axis=1, keepdims=True)
    H, origin = H / np.where(lengths > 0.0, lengths, 1.0), np.repeat(np.arange(len(parts)), [len(one) for one in parts])
    distances = np.sqrt(np.maximum(2.0 - 2.0 * (H @ H.T), 0.0))
    near = max(1, round(NEIGHBOURS * len(parts)))
    density = np.sort(distances, axis=1)[:, 1 : near + 1].mean(axis=1)
    counts = (density < FAR) & (lengths[:, 0] > 0.0)
    if counts.sum() < k:  # nothing agrees: all of them, and the stability says so
        counts = lengths[:, 0] > 0.0
    if counts.sum() < k:
        raise InputError(
            f"{{parameter}}: all fits together have {counts.sum()} part(s) that are not zero, fewer than {k}",
            parameter="estimator",
            kind="value",
        )
    from sklearn.cluster import KMeans  # slow to import

    clusters = KMeans(k, n_init=CLUSTERINGS, random_state=seed).fit_predict(H[counts])
    start, stability, found = np.zeros((k, H.shape[1])), np.zeros(k), np.zeros(k)
    for j in range(k):
        members = H[counts][clusters == j]
        median = np.median(members, axis=0)
        median = median if median.any() else members.mean(axis=0)
        start[j] = median / np.linalg.norm(median)
        stability[j] = float((members @ start[j]).mean())
        found[j] = len(np.unique(origin[counts][clusters == j])) / len(parts)
    order = np.argsort(-stability, kind="stable")
    return start[order], stability[order], found[order], float(counts.mean())
