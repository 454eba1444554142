"""TSVDNMF: thresholds, singular vectors, clusters, dominant features, nearly pure records.

C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative Matrix Factorization under Heavy Noise", ICML 2016,
Section 4; and its forerunner TSVD: T. Bansal, C. Bhattacharyya, R. Kannan, "A provable SVD-based algorithm for
learning topics in dominant admixture corpus", NIPS 2014.  Here records are rows: the paper's A is X'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from partwise.algorithms.kmeans import Clustering, Rule, best_start, lloyd
from partwise.exceptions import DegenerateDataWarning, warn_user
from partwise.kernels.threshold import find_partners, find_partners_listed, set_bits, threshold_rows
from partwise.linalg.order import kth_largest
from partwise.linalg.svd import truncated_svd
from partwise.sources import RowSource, blocks
from partwise.sources.inspection import listed
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]

SAMPLED = 4.0  # records for pruning, in units of k log(m) / eps0 (the Remark of Section 4.1)


@dataclass(frozen=True)
class Thresholds:
    """What thresholding keeps.

    Attributes
    ----------
    levels : ndarray of shape (n_features,)
        zeta: an entry counts if it is at least this large; zero where a feature is left out.
    partner : ndarray of int, shape (n_features,)
        The feature in whose records alone a pruned feature counts; -1 if it is not pruned.
    """

    levels: Array
    partner: npt.NDArray[np.int64]

    @property
    def kept(self) -> npt.NDArray[np.int64]:
        """The features that take part."""
        return np.flatnonzero(self.levels > 0.0)

    def apply(self, source: RowSource) -> RowSource:
        """The thresholded records D, on the kept features: sqrt(zeta) where an entry counts."""
        kept = self.kept
        place = np.full(len(self.levels), -1, np.int64)
        place[kept] = np.arange(len(kept))
        partner = self.partner[kept]
        partner = np.where(partner >= 0, place[partner], -1)
        block = partial(
            _threshold_block,
            # shares of counts are often equal to a threshold but for rounding
            levels=self.levels[kept] * (1.0 - 8.0 * float(np.finfo(source.dtype).eps)),
            place=place,
            partner=partner,
            values=np.sqrt(self.levels[kept]).astype(source.dtype),
        )
        return source.derive(block, n_features=len(kept))


@dataclass(frozen=True)
class Parts:
    """The components, and how they were found.

    Attributes
    ----------
    components : ndarray of shape (k, n_features)
        Mean of the nearly pure records of each.
    thresholds : Thresholds
        Step 1.
    clusters : Clustering
        Step 3, of the thresholded records.
    dominant : list of ndarray of int
        Step 4, the features J_l.
    pure : list of ndarray of int
        Step 5, the records that were averaged, purest first.
    notes : list of str
        What was done where the paper's steps are not defined.
    """

    components: Array
    clusters: Clustering
    thresholds: Thresholds = field(default_factory=lambda: Thresholds(np.empty(0), np.empty(0, np.int64)))
    dominant: list[npt.NDArray[np.int64]] = field(default_factory=list)
    pure: list[npt.NDArray[np.int64]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @staticmethod
    def of_clusters(clusters: Clustering) -> Parts:
        """The centres themselves."""
        empty = np.flatnonzero(clusters.sizes == 0)
        return Parts(clusters.centres, clusters, notes=_too_few(len(clusters.sizes), empty))

    def nonnegative(self) -> Parts:
        """Means below zero, which noise makes, are set to zero."""
        negative = int((self.components < 0.0).sum())
        if not negative:
            return self
        note = f"{negative} entries of the components, means of data with negative entries, were set to zero"
        return replace(self, components=np.maximum(self.components, 0.0), notes=[*self.notes, note])


def find_thresholds(source: RowSource, rank: int, *, alpha: float, eps4: float) -> Thresholds:
    """Steps 1 and 2 of the thresholding procedure: zeta_i = alpha nu_i - 2 eps4, nu_i the rank-th largest entry."""
    levels = alpha * kth_largest(source, [rank])[0] - 2.0 * eps4
    return Thresholds(np.maximum(levels, 0.0), np.full(source.shape[1], -1, np.int64))


def programmed_thresholds(source: RowSource, rank: int, *, alpha: float) -> Thresholds:
    """As the authors' program has them: of the least positive entry, if fewer than ``rank`` are positive."""
    levels = kth_largest(source, [rank])[0]
    least = source.reduce(partial(_least_block, n_features=source.shape[1]), combine=np.minimum)
    levels = np.where(levels > 0.0, levels, np.where(np.isfinite(least), least, 0.0))
    return Thresholds(alpha * levels, np.full(source.shape[1], -1, np.int64))


def tsvd_thresholds(source: RowSource, rank: int, *, most_equal: float) -> Thresholds:
    """TSVD's: the largest value that fewer than ``rank`` entries exceed no more, unless too many are equal to it.

    Of the values v that at least ``rank`` entries of a feature exceed, the largest of which there are at most
    ``most_equal``; entries above v count.  The level is the next larger value, so that "above" is "at least".
    """
    above = kth_largest(source, [rank])[0]
    levels, open_ = above.copy(), above > 0.0
    while open_.any():
        below, equal = source.reduce(partial(_below_block, limits=np.where(open_, above, 0.0)), combine=_merge_below)
        settled = open_ & ((equal <= most_equal) | (below == 0.0))
        levels = np.where(settled, above, levels)
        open_ &= ~settled
        above = np.where(open_, below, above)
    return Thresholds(levels, np.full(source.shape[1], -1, np.int64))


def usable(find: Callable[[int], Thresholds], rank: int) -> tuple[Thresholds, int, list[str]]:
    """Thresholds that leave a feature, and the rank that does it: halved until some threshold is positive."""
    wanted, notes = rank, []
    thresholds = find(rank)
    while not len(thresholds.kept) and rank > 1:
        rank //= 2
        thresholds = find(rank)
    if not len(thresholds.kept):
        notes.append("no threshold is positive: all records are in one cluster")
    elif rank < wanted:
        notes.append(f"no threshold is positive for the {wanted}-th largest entries: they are of the {rank}-th largest")
    return thresholds, rank, notes


def prune(
    source: RowSource,
    thresholds: Thresholds,
    k: int,
    eps0: float,
    rng: np.random.Generator,
    *,
    sampled: float = SAMPLED,
) -> Thresholds:
    """Steps 3 and 4 of the thresholding procedure: a feature that counts wherever a rarer one does keeps those records.

    W_i are the records in which feature i counts.  Where ``|W_i| <= |W_i'| - eps0 n / 8`` and
    ``|W_i \\ W_i'| <= eps0 n / 4``, feature i' counts in the records of W_i only.  On many records the sets are
    compared on a random sample of ``sampled k log(m) / eps0`` of them (the Remark).
    """
    kept = thresholds.kept
    n = source.shape[0]
    size = int(sampled * k * np.log(max(2, source.shape[1])) / eps0)
    rows = np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))
    share = eps0 * len(rows)
    return _pruned(thresholds, kept, thresholds.apply(source).take(rows), share / 8.0, share / 4.0)


def prune_programmed(source: RowSource, thresholds: Thresholds, *, gap: float, slack: float) -> Thresholds:
    """As the authors' program prunes: sets of more than ``2 slack`` records, compared on all records."""
    D = thresholds.apply(source).take(np.arange(source.shape[0]))
    large = np.flatnonzero(np.bincount(D.indices, minlength=D.shape[1]) > 2.0 * slack)
    return _pruned(thresholds, thresholds.kept[large], sp.csr_array(D[:, large]), gap, slack)


def _pruned(thresholds: Thresholds, features: Array, D: Block, gap: float, slack: float) -> Thresholds:
    """Thresholds with the partners that these features, the columns of D, have among each other."""
    partner = _partners(D, gap, slack)
    full = np.full(len(thresholds.levels), -1, np.int64)
    full[features] = np.where(partner >= 0, features[partner], -1)
    return Thresholds(thresholds.levels, full)


def _partners(D: Block, gap: float, slack: float) -> npt.NDArray[np.int64]:
    """The partner of every feature of thresholded records; by bit sets, or by lists where records are very sparse."""
    n, m = D.shape
    sizes = np.bincount(D.indices, minlength=m)
    order = np.argsort(sizes, kind="stable")
    partner = np.full(m, -1, np.int64)
    words = -(-n // 64)
    if float((np.diff(D.indptr).astype(np.float64) ** 2).sum()) < 0.5 * m * min(m * words, D.nnz):
        by_feature = sp.csc_array(D)
        lists = (D.indptr, D.indices, by_feature.indptr, by_feature.indices)
        find_partners_listed(*lists, sizes, order, gap, slack, partner)
    else:
        bits = np.zeros((m, words), np.uint64)
        set_bits(D.indptr, D.indices, bits)
        find_partners(bits, sizes, order, gap, slack, partner)
    return partner


def cluster(D: RowSource, k: int, rng: np.random.Generator, *, n_init: int, max_iter: int) -> Clustering:
    """Steps 2 and 3: k-means on the projection onto k singular vectors, then Lloyd's algorithm on D itself."""
    if not D.shape[1]:
        return _one_cluster(D, k)
    rank = min(k, *D.shape)
    _, V = truncated_svd(D, rank, rng=rng)
    centres = best_start(D.project(V.T), k, rng=rng, n_init=n_init)
    return lloyd(D, Rule.nearest(centres, D.dtype, basis=V), max_iter=max_iter)


def _one_cluster(D: RowSource, k: int) -> Clustering:
    n = D.shape[0]
    sizes = np.bincount([0], minlength=k) * n
    return Clustering(np.zeros(n, np.int32), np.zeros((k, 0)), sizes, 0.0, 1, True)


def dominant_features(
    source: RowSource, labels: Rows, ranks: Array, *, nu: float, least: float
) -> list[npt.NDArray[np.int64]]:
    """Step 4: J_l, the features whose ``ranks[l]``-th largest entry in cluster l is nu times that in any other."""
    g = kth_largest(source, ranks, labels)
    best = g.argmax(axis=0)
    top = g.max(axis=0)
    g[best, np.arange(g.shape[1])] = 0.0
    clear = top > np.maximum(least, nu * g.max(axis=0))
    return [np.flatnonzero(clear & (best == l)) for l in range(len(g))]


def purest_records(source: RowSource, features: list[npt.NDArray[np.int64]], count: int) -> list[Array]:
    """Step 5: for each set of features the ``count`` records with the largest sum over them, largest first."""
    indicator = np.zeros((source.shape[1], len(features)), source.dtype)
    for l, chosen in enumerate(features):
        indicator[chosen, l] = 1.0
    numbers = np.arange(source.shape[0], dtype=np.int64)
    _, rows = source.reduce(
        partial(_top_block, indicator=indicator, count=count), numbers, combine=partial(_merge_top, count=count)
    )
    return list(rows.T)


def means_of(source: RowSource, chosen: list[Array]) -> Array:
    """The mean of the chosen records of each set; zero for an empty one."""
    numbers = np.arange(source.shape[0], dtype=np.int64)
    sums = source.reduce(partial(_sum_block, chosen=[np.sort(rows) for rows in chosen]), numbers)
    return np.asarray(sums / np.maximum([len(rows) for rows in chosen], 1)[:, None])


def basis_vectors(
    source: RowSource, thresholds: Thresholds, clusters: Clustering, *, rank: int, n_pure: int, nu: float, least: float
) -> Parts:
    """Steps 4 and 5: from clusters of records to components.

    A cluster of fewer than ``rank`` records is taken whole.  Where no feature is dominant the component is the mean
    of the cluster, as in TSVD, and an empty cluster gives a component of zeros.
    """
    sizes = clusters.sizes
    dominant = dominant_features(source, clusters.labels, np.minimum(rank, sizes), nu=nu, least=least)
    pure = purest_records(source, dominant, min(n_pure, source.shape[0]))
    components = means_of(source, pure)
    without = np.array([len(features) == 0 for features in dominant])
    notes = []
    if without.any():
        averages = source.reduce(partial(blocks.group_sums, n_groups=len(sizes)), clusters.labels)
        components[without] = averages[without] / np.maximum(sizes, 1)[without, None]
        pure = [rows[:0] if lost else rows for rows, lost in zip(pure, without, strict=True)]
        filled = np.flatnonzero(without & (sizes > 0))
        if len(filled):
            notes.append(
                f"cluster(s) {listed(filled.tolist())} have no dominant feature: their component is the mean record"
            )
    notes += _too_few(len(sizes), np.flatnonzero(sizes == 0))
    return Parts(components, clusters, thresholds, dominant, pure, notes)


def tell(notes: list[str]) -> None:
    """One warning with everything that was done off the paper's path."""
    if notes:
        warn_user(DegenerateDataWarning("; ".join(notes), kind="off-path"))


def _too_few(k: int, empty: Array) -> list[str]:
    if not len(empty):
        return []
    return [
        f"only {k - len(empty)} of {k} clusters could be told apart: component(s) {listed(empty.tolist())} are zero"
    ]


def _threshold_block(block: Block, *, levels: Array, place: Array, partner: Array, values: Array) -> Block:
    indptr, indices, data = blocks.triple(block)
    out_indptr = np.zeros(block.shape[0] + 1, np.int64)
    out_indices = np.empty(len(data), np.int32)
    out_data = np.empty(len(data), values.dtype)
    threshold_rows(indptr, indices, data, levels, place, partner, values, out_indptr, out_indices, out_data)
    count = out_indptr[-1]
    return sp.csr_array(
        (out_data[:count].copy(), out_indices[:count].copy(), out_indptr), shape=(block.shape[0], len(values))
    )


def _least_block(block: Block, *, n_features: int) -> Array:
    """The least positive entry of every feature; infinite where there is none."""
    _, indices, data = blocks.triple(block)
    least = np.full(n_features, np.inf)
    positive = data > 0.0
    np.minimum.at(least, indices[positive], data[positive])
    return least


def _below_block(block: Block, *, limits: Array) -> tuple[Array, Array]:
    """For every feature the largest entry below its limit, and how many are equal to it; 0 if none is positive."""
    _, indices, data = blocks.triple(block)
    lower = (data < limits[indices]) & (data > 0.0)
    largest = np.zeros(len(limits))
    np.maximum.at(largest, indices[lower], data[lower])
    equal = np.bincount(indices[lower][data[lower] == largest[indices[lower]]], minlength=len(limits))
    return largest, equal


def _merge_below(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    largest = np.maximum(a[0], b[0])
    return largest, a[1] * (a[0] == largest) + b[1] * (b[0] == largest)


def _top_block(block: Block, numbers: Array, *, indicator: Array, count: int) -> tuple[Array, Array]:
    # equal sums, of which shares of counts make many, are equal again without their last digits
    part, exponent = np.frexp(blocks.dot(block, indicator).astype(np.float64))
    digits = 3 * np.finfo(indicator.dtype).nmant // 4
    sums = np.ldexp(np.rint(np.ldexp(part, digits)), exponent - digits)
    return _largest(sums, np.broadcast_to(numbers[:, None], sums.shape), min(count, len(sums)))


def _merge_top(a: tuple[Array, Array], b: tuple[Array, Array], *, count: int) -> tuple[Array, Array]:
    sums, rows = np.vstack([a[0], b[0]]), np.vstack([a[1], b[1]])
    return _largest(sums, rows, min(count, len(sums)))


def _largest(sums: Array, rows: Array, count: int) -> tuple[Array, Array]:
    """The ``count`` largest of every column, falling; the first record wins among equals."""
    order = np.lexsort((rows, -sums), axis=0)[:count]
    return np.take_along_axis(sums, order, axis=0), np.take_along_axis(rows, order, axis=0)


def _sum_block(block: Block, numbers: Array, *, chosen: list[Array]) -> Array:
    sums = np.zeros((len(chosen), block.shape[1]))
    if not len(numbers):
        return sums
    for l, rows in enumerate(chosen):
        here = rows[np.searchsorted(rows, numbers[0]) : np.searchsorted(rows, numbers[-1], side="right")] - numbers[0]
        if len(here):
            sums[l] = blocks.group_sums(block[here], np.zeros(len(here), np.int32), 1)[0]
    return sums
