"""k-means by passes: Lloyd's algorithm on any source, from the best of several k-means++ starts on a sample.

S. Lloyd (1982), "Least squares quantization in PCM"; D. Arthur & S. Vassilvitskii (2007), "k-means++: the advantages
of careful seeding" (with several candidates a step, as they suggest).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.sources import MemorySource, RowSource, add, blocks
from partwise.sources.passes import ordered
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]

SAMPLE = 20_000  # records among which the starts are compared, at least
SAMPLE_PER_CLUSTER = 500  # so that small clusters are in the sample too
MAX_ITER = 100  # passes; most data settles in some tens
COMPARABLE = 1e-4  # to this part the inertia of a start must be known for starts to be compared
ROUNDING = 32.0  # epsilons of a record's squared norm: below it a squared distance may be rounding


@dataclass(frozen=True)
class Clustering:
    """A partition of the records.

    Attributes
    ----------
    labels : row-aligned vector of int
        Cluster of each record.
    centres : ndarray of shape (k, n_features)
        Mean of each cluster; that of an empty one is zero.
    sizes : ndarray of int
        Number of records in each.
    inertia : float
        Sum of the squared distances from the centres.
    n_iter : int
        Passes.
    settled : bool
        Whether the last pass changed no label, or the inertia by less than was asked for.
    """

    labels: Rows
    centres: Array
    sizes: npt.NDArray[np.int64]
    inertia: float
    n_iter: int
    settled: bool


@dataclass(frozen=True)
class Rule:
    """A record x belongs to the cluster l of largest ``x . M[:, l] - offset[l]``."""

    M: Array
    offset: Array

    @staticmethod
    def nearest(centres: Array, dtype: Any, basis: Array | None = None) -> Rule:
        """The nearest centre; centres in the coordinates of an orthonormal ``basis`` if there is one."""
        M = centres.T if basis is None else basis.T @ centres.T
        return Rule(np.ascontiguousarray(M, dtype), 0.5 * np.einsum("ij,ij->i", centres, centres))

    def __call__(self, block: Block) -> Array:
        """``x . c - |c|^2 / 2`` for every record and centre."""
        return np.asarray(blocks.dot(block, self.M) - self.offset)


def lloyd(source: RowSource, start: Rule, *, max_iter: int = MAX_ITER, tol: float = 0.0) -> Clustering:
    """Lloyd's algorithm from the clusters that ``start`` makes, until no record changes its cluster.

    A cluster that becomes empty starts anew at the record farthest from its centre.

    Parameters
    ----------
    max_iter : int
        Largest number of passes.
    tol : float
        Stop before that when the inertia falls by less than this part.

    Returns
    -------
    Clustering
        The clusters, and the centres of their records.
    """
    k = len(start.offset)
    numbers = np.arange(source.shape[0], dtype=np.int64)
    labels: Rows = np.full(source.shape[0], -1, np.int32)
    rule, used, before = start, np.ones(k, bool), np.inf
    for number in count(1):
        labels, (sums, sizes, inertia, changed, far) = source.map_rows(
            partial(_assign_block, rule=rule, used=used),
            labels,
            numbers,
            width=None,
            dtype=np.int32,
            combine=_merge,
            out=labels if number > 1 else None,
        )
        centres = sums / np.maximum(sizes, 1)[:, None]
        empty = np.flatnonzero(sizes == 0)
        seeds = far[far[:, 0] > 0.0, 1].astype(np.int64)[: len(empty)]
        settled = changed == 0 or before - inertia < tol * inertia
        if number == max_iter or (settled and not len(seeds)):
            break
        before = inertia
        used = sizes > 0
        if len(seeds):
            centres[empty[: len(seeds)]] = blocks.to_dense(source.take(seeds))
            used[empty[: len(seeds)]] = True
        rule = Rule.nearest(centres, source.dtype)
    return Clustering(labels, centres, sizes, float(inertia), number, bool(settled))


def kmeans(
    source: RowSource, k: int, *, rng: np.random.Generator, n_init: int = 10, max_iter: int = MAX_ITER
) -> Clustering:
    """The best of ``n_init`` clusterings from k-means++ starts; on large data they are compared on a sample.

    Parameters
    ----------
    max_iter : int
        Largest number of passes for each.
    """
    best = best_start(source, k, rng=rng, n_init=n_init, max_iter=max_iter)
    return lloyd(source, Rule.nearest(best, source.dtype), max_iter=max_iter)


def best_start(source: RowSource, k: int, *, rng: np.random.Generator, n_init: int, max_iter: int = MAX_ITER) -> Array:
    """The centres of the best clustering of a sample of the records (of all of them if they are few)."""
    n = source.shape[0]
    size = max(SAMPLE, SAMPLE_PER_CLUSTER * k)
    rows = np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))
    sample = source.take(rows)
    # one block: the starts are the parallelism
    points = MemorySource(sample, block_rows=len(rows))
    seeds = rng.integers(2**63, size=n_init)
    found = list(ordered(lambda i: _from_seed(points, k, int(seeds[i]), max_iter), n_init))
    return min(found, key=lambda clustering: clustering.inertia).centres


def _from_seed(points: MemorySource, k: int, seed: int, max_iter: int) -> Clustering:
    centres = plus_plus(points.block(0), k, np.random.default_rng(seed))
    return lloyd(points, Rule.nearest(centres, points.dtype), max_iter=max_iter, tol=COMPARABLE)


def plus_plus(points: Block, k: int, rng: np.random.Generator) -> Array:
    """k records far from one another: each is drawn with the square of its distance from those drawn before."""
    n = points.shape[0]
    squares = blocks.squared_norms(points)
    trials = 2 + int(np.log(k))
    chosen = [int(rng.integers(n))]
    distance = _distances(points, squares, chosen)[:, 0]
    while len(chosen) < k:
        total = distance.sum()
        if total <= 0.0:  # no further record differs from those chosen
            chosen.append(int(rng.integers(n)))
            continue
        drawn = np.searchsorted(np.cumsum(distance), rng.random(trials) * total)
        drawn = np.minimum(drawn, n - 1)
        after = np.minimum(distance[:, None], _distances(points, squares, drawn))
        best = int(after.sum(axis=0).argmin())
        chosen.append(int(drawn[best]))
        distance = after[:, best]
    return blocks.to_dense(points[np.array(chosen)]).astype(np.float64)


def _distances(points: Block, squares: Array, chosen: Any) -> Array:
    """Squared distances of all points from the chosen ones."""
    chosen = np.asarray(chosen)
    M = np.ascontiguousarray(blocks.to_dense(points[chosen]).T)
    found = squares[:, None] + squares[chosen] - 2.0 * blocks.dot(points, M)
    return np.asarray(np.maximum(found, 0.0))


def _assign_block(block: Block, labels: Array, numbers: Array, *, rule: Rule, used: Array) -> tuple[Array, Any]:
    scores = rule(block)
    scores[:, ~used] = -np.inf
    new = scores.argmax(axis=1).astype(np.int32)
    k = len(rule.offset)
    squares = blocks.squared_norms(block)
    distance = np.maximum(squares - 2.0 * scores.max(axis=1), 0.0)
    surely = np.where(distance > ROUNDING * np.finfo(block.dtype).eps * squares, distance, 0.0)
    far = np.argpartition(-surely, k)[:k] if len(surely) > k else np.arange(len(surely))
    small = (
        blocks.group_sums(block, new, k),
        np.bincount(new, minlength=k),
        float(distance.sum()),
        int((new != labels).sum()),
        _farthest(np.column_stack([surely[far], numbers[far]]), k),
    )
    return new, small


def _merge(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*add(a[:4], b[:4]), _farthest(np.vstack([a[4], b[4]]), len(a[1])))


def _farthest(table: Array, k: int) -> Array:
    """The k records of largest distance (first column), falling; the first record (second column) among equals."""
    return np.asarray(table[np.lexsort((table[:, 1], -table[:, 0]))[:k]])
