"""Samples that are unlike all others: a direction, or a feature, that only a handful of them carry is no part."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.linalg.svd import truncated_svd
from partwise.noise.spectrum import edge
from partwise.sources import RowSource, blocks

Array = npt.NDArray[Any]

HANDFUL = 5.0  # samples: a direction that fewer carry could be any of them, and no mean would tell
ALONE = 0.9  # of a direction that is no singular vector is carried by a handful, at least, if it is theirs
TENTH = 10.0  # of few samples a tenth is a handful
PAIR = 2  # samples that have a feature all but alone, at most: three may be of a kind
TIMES = 3.0  # as large as that of all others is an entry out of proportion, at least: where entries hardly vary, or
CHANCE = 0.05  # with which one or more features of the table have such an entry otherwise
ALIKE = 50  # features, as common as each other, in which entries vary alike: rare ones vary by more
FURTHER = 10  # directions beside those of the parts, where there is room: each odd sample takes one
FEWEST = 20  # samples, or four times the parts, below which every direction is carried by a handful
MOST = 0.25  # of the samples: if more were odd, it would be the others that are
PASSES = 4  # over the data in search of a span: odd samples stand out, and half-settled vectors show them
ROUNDS = 10  # of setting aside: the span without some samples may show others
NOTHING = 1e-6  # of the largest singular value: directions below are rounding, or as good as


def odd_samples(source: RowSource, k: int) -> npt.NDArray[np.int64]:
    r"""The samples that carry a leading direction of the data all but alone.

    The participation number of a left singular vector u of unit length, :math:`1 / \sum_i u_i^4`, is about the number
    of samples that it rests on. Where it is below a handful, those with more than a tenth of its square are odd, and so
    are those that are nine tenths of any other direction within these; the directions of the others are then looked at
    anew. In the end each is held against the others alone: one that lies in their span, such as a pure sample, is not
    odd. A direction beside those of the parts has one that is odd at least; what that has in common with another
    sample, such as the one that it is a copy of, makes the other no odder.

    Parameters
    ----------
    source : RowSource
        The data, as the method that looks for parts sees it: weighed, if it weighs.

    Returns
    -------
    ndarray of int64
        Numbers of the samples, rising.
    """
    n = source.shape[0]
    kept = np.ones(n, bool)
    if n < max(FEWEST, 4 * k):
        return np.flatnonzero(~kept)
    further: list[npt.NDArray[np.int64]] = []
    for _ in range(ROUNDS):
        rows = source if kept.all() else source.choose(kept)
        found = [(j, np.flatnonzero(kept)[some]) for j, some in _alone(rows, k)]
        together = np.unique(np.concatenate([np.zeros(0, np.int64), *(some for _, some in found)]))
        if not len(together) or n - kept.sum() + len(together) > MOST * n:
            break
        kept[together] = False
        further += [some for j, some in found if j >= k]
    odd = np.flatnonzero(~kept)
    return odd[_beside(source, kept, k, further)] if len(odd) else odd


def exceeds(values: Array, k: int) -> bool:
    """Whether there is more in the data than k parts: else each of its directions is one, whoever carries it."""
    return bool((values[k:] > NOTHING * values.max(initial=0.0)).any())


def odd_entries(source: RowSource, k: int) -> npt.NDArray[np.int64]:
    r"""Empty samples, and those with an entry out of all proportion: one gene at a hundred times its count.

    Samples count at unit length. In features whose entries fall off as a power, :math:`x^{-a}`, the largest ones
    :math:`x_1 > x_2 > \dots` have spacings :math:`i \log(x_i / x_{i+1})` that are independent and exponential with mean
    1 / a (A. Renyi, "On the theory of order statistics", Acta Math. Hung. 4, 1953), whatever the number of samples.
    The mean is taken from features that are as common. A spacing too large for chance in all of the features is none.
    An entry that is large only because its sample is smaller than most, as one count in a well that is all but empty,
    is not odd: it has to be out of proportion at their length too.

    Returns
    -------
    ndarray of int64
        Numbers of the samples, rising.
    """
    n = source.shape[0]
    if n < max(FEWEST, 4 * k):
        return np.zeros(0, np.int64)
    present, largest, empty = source.reduce(_largest_block, combine=_larger)
    limits = _limits(present, largest)
    few = np.isfinite(limits)
    if few.any():
        values, _ = truncated_svd(source, min(k + 1, *source.shape), rng=np.random.default_rng(0), max_passes=PASSES)
        limits[few] = limits[few] if exceeds(values, k) else np.inf
    if not np.isfinite(limits).any() and not empty:
        return np.zeros(0, np.int64)
    lengths = np.asarray(source.map_rows(blocks.norms, width=None, dtype=np.float64))
    least = float(np.median(lengths[lengths > 0.0])) if empty < n else 0.0
    told = source.map_rows(partial(_above_block, limits=limits, least=least), width=2, dtype=np.float64)
    above, zero = np.asarray(told).T > 0.0
    return np.flatnonzero(zero | above if above.sum() <= MOST * (n - empty) else zero)


def _limits(present: Array, largest: Array) -> Array:
    """Above which entries of each feature are out of proportion to all below; infinite where none are."""
    limits = np.full(len(present), np.inf)
    common = np.flatnonzero(present >= FEWEST)
    if not len(common):
        return limits
    logs = np.log(np.maximum(largest[:, common], np.finfo(np.float64).tiny))
    spacings = (logs[:-1] - logs[1:]) * np.arange(1, PAIR + 1)[:, None]
    order = np.argsort(present[common], kind="stable")
    for alike in np.array_split(order, max(len(order) // ALIKE, 1)):
        mean = np.median(spacings[0, alike]) / np.log(2.0)
        least = np.maximum(mean * np.log(spacings.size / CHANCE), np.arange(1, PAIR + 1)[:, None] * np.log(TIMES))
        for i in reversed(range(PAIR)):  # beside one that is alone the next are as they come
            odd = alike[spacings[i, alike] > least[i]]
            limits[common[odd]] = np.exp(logs[i : i + 2, odd].mean(axis=0))
    return limits


def _unit(block: Any, least: float = 0.0) -> Any:
    lengths = np.maximum(blocks.norms(block), least)
    unit = blocks.scale_rows(block, np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0))
    return blocks.with_values(unit, np.abs(blocks.values(unit)))


def _largest_block(block: Any) -> tuple[Array, Array, int]:
    """How many rows have each feature, its largest entries in them, falling, and how many rows are empty."""
    U = _unit(block)
    present = blocks.tdot(blocks.with_values(U, np.sign(blocks.values(U))), np.ones((U.shape[0], 1)))[:, 0]
    return present, _largest(U, PAIR + 1), int((blocks.norms(block) == 0.0).sum())


def _largest(block: Any, count: int) -> Array:
    """The largest entries of every column, falling; zero where there are fewer."""
    n, m = block.shape
    found = np.zeros((count, m))
    if blocks.is_sparse(block):
        columns, values = blocks.columns_of(block), blocks.values(block)
        order = np.lexsort((-values, columns))
        ends = np.searchsorted(columns[order], np.arange(m))
        place = np.arange(len(order)) - ends[columns[order]]
        order, place = order[place < count], place[place < count]
        found[place, columns[order]] = values[order]
    else:
        few = min(n, count)
        found[:few] = -np.sort(np.partition(-block, few - 1, axis=0)[:few], axis=0)
    return found


def _larger(a: tuple[Array, Array, int], b: tuple[Array, Array, int]) -> tuple[Array, Array, int]:
    return a[0] + b[0], -np.sort(-np.vstack([a[1], b[1]]), axis=0)[: len(a[1])], a[2] + b[2]


def _above_block(block: Any, limits: Array, least: float) -> Array:
    few = np.flatnonzero(np.isfinite(limits))
    above = (blocks.to_dense(blocks.take_columns(_unit(block, least), few)) > limits[few]).any(axis=1)
    return np.column_stack([above, blocks.norms(block) == 0.0]).astype(np.float64)


def _alone(source: RowSource, k: int) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Directions with a small participation number, by their place, and the samples that each rests on."""
    n = source.shape[0]
    values, _, rows, limit = _span(source, k)
    d = len(values)
    coordinates = rows[:, :d]
    if not exceeds(values, k):
        return []
    # beside those that take the place of a part, directions above what noise of the size of the rest would make
    looked = (values**2 > limit) | (np.arange(d) < k)
    looked[k:] &= d == k + FURTHER
    places = np.flatnonzero(looked)
    lengths = np.maximum(np.linalg.norm(coordinates, axis=0), np.finfo(np.float64).tiny)
    shares = np.square(coordinates[:, looked] / lengths[looked])
    leading = coordinates[:, : k + 1] / lengths[: k + 1]

    def handfuls(count: int) -> list[tuple[int, npt.NDArray[np.int64]]]:
        handful = min(HANDFUL, max(count, 1) / TENTH)  # where none remain, none is odd
        few = np.flatnonzero((shares * shares).sum(axis=0) > 1.0 / handful)
        found = [(int(places[j]), np.flatnonzero(shares[:, j] > 0.5 / handful)) for j in few]
        return found + _own(leading, handful)

    found = handfuls(n)
    # a tenth of those that remain: what is a handful beside odd samples may be none without them
    return handfuls(n - len(np.unique(np.concatenate([some for _, some in found])))) if found else []


def _own(U: Array, handful: float) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Samples that have a direction among those of the parts, and the first beside, to a handful and themselves.

    It need not be a singular vector: directions that are about as strong mix, and many samples carry each. Of all
    directions of a span the row u of a sample is the one that is most its own; samples carry U u / |u| of it.
    """
    found: list[tuple[int, npt.NDArray[np.int64]]] = []
    few = min(int(handful), len(U))
    if not few or len(U) < TENTH * U.shape[1]:  # where there are few to each direction, some sample has it anyway
        return found
    for i in np.flatnonzero(np.square(U).sum(axis=1) > ALONE / few):
        shares = np.square(U @ (U[i] / np.linalg.norm(U[i])))
        largest = np.argpartition(shares, -few)[-few:]
        if shares[largest].sum() > ALONE:
            found.append((0, largest[shares[largest] > 0.5 / handful]))
    return found


def _beside(
    source: RowSource, kept: npt.NDArray[np.bool_], k: int, further: list[npt.NDArray[np.int64]]
) -> npt.NDArray[np.bool_]:
    """Which of those set aside have more outside the span of the others than noise, or the most of a direction."""
    values, basis, _, limit = _span(source.choose(kept), k)
    rows = source.choose(~kept)
    Y = np.asarray(rows.map_rows(partial(_coordinates, basis=basis), width=len(values) + 1, dtype=np.float64))
    outside = np.full(len(kept), -np.inf)
    outside[~kept] = Y[:, -1] - np.square(Y[:, :-1]).sum(axis=1)
    odd = outside > limit
    for some in further:
        odd[some[np.argmax(outside[some])]] = True
    return odd[~kept]


def _span(source: RowSource, k: int) -> tuple[Array, Array, Array, float]:
    """Leading singular values and vectors, coordinates of all rows and squared lengths, and the end of the noise."""
    n, m = source.shape
    d = k + FURTHER if 2 * (k + FURTHER) <= min(n, m) else min(k + 1, n, m)
    values, vectors = truncated_svd(source, d, rng=np.random.default_rng(0), max_passes=PASSES)
    basis = np.ascontiguousarray(vectors.T, source.dtype)
    rows = np.asarray(source.map_rows(partial(_coordinates, basis=basis), width=d + 1, dtype=np.float64))
    variance = max(float(rows[:, d].sum() - values @ values), 0.0) / max((n - d) * (m - d), 1)
    return values, basis, rows, variance * edge(n, m)


def _coordinates(block: Any, basis: Array) -> Array:
    """The coordinates of every row, and its squared length."""
    return np.column_stack([np.asarray(blocks.dot(block, basis), np.float64), blocks.squared_norms(block)])
