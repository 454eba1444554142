"""Thresholding of rows, and which thresholded features are nearly contained in others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit

Array = npt.NDArray[Any]
Index = npt.NDArray[np.signedinteger[Any]]
Words = npt.NDArray[np.uint64]


@jit
def threshold_rows(
    indptr: Index,
    indices: Index,
    data: Array,
    levels: Array,
    place: Index,
    partner: Index,
    values: Array,
    out_indptr: Index,
    out_indices: Index,
    out_data: Array,
) -> None:
    """Rows of the thresholded matrix: ``values[p]`` where an entry reaches the level of its feature, p its place.

    A feature with a partner is kept only in the rows where the partner reaches its own level.  ``place`` is -1 for
    features that are left out; ``out_indices`` and ``out_data`` are as long as the data.
    """
    row_of = np.full(values.shape[0], -1, np.int64)  # the last row in which a feature reached its level
    count = 0
    for i in range(indptr.shape[0] - 1):
        for t in range(indptr[i], indptr[i + 1]):
            p = place[indices[t]]
            if p >= 0 and data[t] >= levels[p]:
                row_of[p] = i
        for t in range(indptr[i], indptr[i + 1]):
            p = place[indices[t]]
            if p >= 0 and row_of[p] == i and (partner[p] < 0 or row_of[partner[p]] == i):
                out_indices[count] = p
                out_data[count] = values[p]
                count += 1
        out_indptr[i + 1] = count


@jit
def set_bits(indptr: Index, indices: Index, bits: Words) -> None:
    """``bits[feature]`` is the set of rows in which the feature is stored, 64 to a word."""
    for i in range(indptr.shape[0] - 1):
        for t in range(indptr[i], indptr[i + 1]):
            bits[indices[t], i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@jit
def _popcount(v: np.uint64) -> int:
    v = v - ((v >> np.uint64(1)) & np.uint64(0x5555555555555555))
    v = (v & np.uint64(0x3333333333333333)) + ((v >> np.uint64(2)) & np.uint64(0x3333333333333333))
    v = (v + (v >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((v * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit
def find_partners(bits: Words, sizes: Index, order: Index, gap: float, slack: float, partner: Index) -> None:
    """For each set the first one, by size, that is smaller by ``gap`` and lies in it but for ``slack`` members.

    ``order`` sorts ``sizes`` upwards.  A set with a partner is nobody's partner (step 4 of the paper's procedure).
    Only the words in which the smaller set has members are looked at, until too many are missing.
    """
    n, width = bits.shape
    used = np.empty(width, np.int64)
    for a in range(n):
        i = order[a]
        if partner[i] >= 0:
            continue
        count = 0
        for w in range(width):
            if bits[i, w] != 0:
                used[count] = w
                count += 1
        for b in range(a + 1, n):
            other = order[b]
            if partner[other] >= 0 or sizes[i] > sizes[other] - gap:
                continue
            missing = 0
            for t in range(count):
                w = used[t]
                missing += _popcount(bits[i, w] & ~bits[other, w])
                if missing > slack:
                    break
            if missing <= slack:
                partner[other] = i


@jit
def find_partners_listed(
    indptr: Index,
    indices: Index,
    members_ptr: Index,
    members: Index,
    sizes: Index,
    order: Index,
    gap: float,
    slack: float,
    partner: Index,
) -> None:
    """The same from lists: ``indices`` the sets of every row, ``members`` the rows of every set.

    One walk over the rows of a set counts what it shares with all others, which is cheaper where rows are in few sets.
    """
    shared = np.zeros(sizes.shape[0], np.int64)
    for a in range(sizes.shape[0]):
        i = order[a]
        if partner[i] >= 0:
            continue
        shared[:] = 0
        for t in range(members_ptr[i], members_ptr[i + 1]):
            row = members[t]
            for u in range(indptr[row], indptr[row + 1]):
                shared[indices[u]] += 1
        for b in range(a + 1, sizes.shape[0]):
            other = order[b]
            if partner[other] < 0 and sizes[i] <= sizes[other] - gap and sizes[i] - shared[other] <= slack:
                partner[other] = i
