"""Conservative online learning, a sample at a time: the smallest change of encoder and decoder that recovers it.

The encoder is kept with a row for every feature of the data (``Et = E'``): a sample touches only those rows where it is
not zero.  The decoder is kept with a row for every code (``H = D'``): codes that are zero cost nothing in ``D y`` and
its update.  A sample is at most five passes over a small matrix, and allocates nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import inlined, jit

Array = npt.NDArray[np.floating[Any]]
Index = npt.NDArray[np.signedinteger[Any]]
Totals = npt.NDArray[np.float64]
Work = tuple[Array, ...]


# what `totals` holds: samples seen and learnt since the start; sum of errors and number of samples learnt in the batch
SEEN, LEARNT, ERROR, COUNT = range(4)


def workspace(n_features: int, n_components: int, dtype: npt.DTypeLike) -> Work:
    """Vectors that the kernels write into: four as long as a sample, five as long as a code."""
    return tuple(np.zeros(size, dtype) for size in 4 * [n_features] + 5 * [n_components])


@inlined
def _at(schedule: Totals, t: float) -> float:
    """``first / (1 + t / after) ** power`` for ``schedule = (first, after, power)``."""
    return float(schedule[0] / (1.0 + t / schedule[1]) ** schedule[2])


@inlined
def _encode(where: Index, x: Array, Et: Array, y: Array) -> None:
    """Step 2, ``y = E x``, four entries of the sample at a time."""
    k = y.shape[0]
    y[:] = 0.0
    t = 0
    while t + 4 <= x.shape[0]:
        a, b, c, d = x[t], x[t + 1], x[t + 2], x[t + 3]
        Ea, Eb, Ec, Ed = Et[where[t]], Et[where[t + 1]], Et[where[t + 2]], Et[where[t + 3]]
        for j in range(k):
            y[j] += a * Ea[j] + b * Eb[j] + c * Ec[j] + d * Ed[j]
        t += 4
    while t < x.shape[0]:
        a = x[t]
        Ea = Et[where[t]]
        for j in range(k):
            y[j] += a * Ea[j]
        t += 1


@inlined
def _subtract(H: Array, y: Array, some: Index, r: Array) -> None:
    """``r -= H' y``, over the entries of ``y`` that are not zero, four at a time."""
    m = r.shape[0]
    n = 0
    for j in range(y.shape[0]):
        some[n] = j
        n += y[j] != 0.0
    t = 0
    while t + 4 <= n:
        a, b, c, d = some[t], some[t + 1], some[t + 2], some[t + 3]
        ya, yb, yc, yd = y[a], y[b], y[c], y[d]
        Ha, Hb, Hc, Hd = H[a], H[b], H[c], H[d]
        for i in range(m):
            r[i] -= ya * Ha[i] + yb * Hb[i] + yc * Hc[i] + yd * Hd[i]
        t += 4
    while t < n:
        ya = y[some[t]]
        Ha = H[some[t]]
        for i in range(m):
            r[i] -= ya * Ha[i]
        t += 1


@inlined
def _project(H: Array, r: Array, g: Array) -> None:
    """``g = H r``, four rows at a time."""
    k, m = H.shape
    zero = H.dtype.type(0.0)
    j = 0
    while j + 4 <= k:
        Ha, Hb, Hc, Hd = H[j], H[j + 1], H[j + 2], H[j + 3]
        a, b, c, d = zero, zero, zero, zero
        for i in range(m):
            a += Ha[i] * r[i]
            b += Hb[i] * r[i]
            c += Hc[i] * r[i]
            d += Hd[i] * r[i]
        g[j], g[j + 1], g[j + 2], g[j + 3] = a, b, c, d
        j += 4
    while j < k:
        Ha = H[j]
        a = zero
        for i in range(m):
            a += Ha[i] * r[i]
        g[j] = a
        j += 1


@inlined
def _add_outer(H: Array, y: Array, f: Array, nonnegative: bool) -> None:
    """``H += y f'`` (step 8), then ``H = max(0, H)`` (step 11); rows that do not change are not negative."""
    zero = H.dtype.type(0.0)
    for j in range(y.shape[0]):
        a = y[j]
        if a == 0.0:
            continue
        row = H[j]
        if nonnegative:
            for i in range(f.shape[0]):
                row[i] = max(row[i] + a * f[i], zero)
        else:
            for i in range(f.shape[0]):
                row[i] += a * f[i]


@inlined
def _add_outer_at(where: Index, x: Array, step: Array, Et: Array) -> None:
    """``E += step x'`` (steps 4 and 10 together)."""
    k = step.shape[0]
    for t in range(x.shape[0]):
        row = Et[where[t]]
        a = x[t]
        for j in range(k):
            row[j] += a * step[j]


@inlined
def _square(a: Array) -> float:
    """``|a|^2``."""
    total = a.dtype.type(0.0)
    for l in range(a.shape[0]):
        total += a[l] * a[l]
    return float(total)


@inlined
def _multipliers(
    H: Array,
    ridge: float,
    squares: float,
    steps: int,
    some: Index,
    r: Array,
    g: Array,
    p: Array,
    q: Array,
    eta: Array,
    xi: Array,
) -> None:
    """Steps 7 and 9: ``eta`` of ``(D D' + ridge) eta = r`` (equation 7), by conjugate gradients; ``xi = D' eta``.

    One iteration from zero is the document's.  ``squares = |r|^2`` and ``g = D' r`` are given; all are used up.
    ``q = D' p`` has a recurrence of its own, so a further iteration costs two passes over the decoder.
    """
    kind = H.dtype.type
    limit = float(np.finfo(kind).eps) ** 2
    p[:] = r
    q[:] = g
    eta[:] = 0.0
    xi[:] = 0.0
    for step in range(steps):
        curvature = _square(q) + ridge * _square(p)
        # what is orthogonal to every feature up to rounding: no code and no small change of the decoder explains it
        if not curvature > limit * squares:
            return
        length = kind(squares / curvature)
        for i in range(p.shape[0]):
            eta[i] += length * p[i]
        for j in range(q.shape[0]):
            xi[j] += length * q[j]
        if step + 1 == steps:
            return
        pull = kind(ridge) * length
        for i in range(p.shape[0]):
            r[i] -= pull * p[i]
        for j in range(q.shape[0]):
            g[j] = length * q[j]
        _subtract(H, g, some, r)
        _project(H, r, g)
        last = squares
        squares = _square(r)
        turn = kind(squares / last)
        for i in range(p.shape[0]):
            p[i] = r[i] + turn * p[i]
        for j in range(q.shape[0]):
            q[j] = g[j] + turn * q[j]


@inlined
def _update(
    where: Index,
    x: Array,
    H: Array,
    Et: Array,
    w: float,
    share: float,
    steps: int,
    nonnegative: bool,
    printed: bool,
    work: Work,
    some: Index,
) -> float:
    """Learn one sample, given as its non-zero entries; return the error before, or -1 if it was passed over."""
    _, r, p, eta, y0, y, g, q, xi = work
    kind = H.dtype.type
    zero = kind(0.0)
    norm = 0.0
    for t in range(x.shape[0]):
        norm += float(x[t]) * float(x[t])
    # nothing to recover, or nothing that is known: NaN and infinity must not reach the matrices
    if not 0.0 < norm < np.inf:
        return -1.0
    inverse = 1.0 / np.sqrt(norm)
    r[:] = 0.0
    for t in range(x.shape[0]):  # step 1
        x[t] = kind(float(x[t]) * inverse)
        r[where[t]] = x[t]
    _encode(where, x, Et, y0)  # step 2
    for j in range(y.shape[0]):  # step 3
        y[j] = max(y0[j], zero)
    _subtract(H, y, some, r)  # steps 5 and 6
    _project(H, r, g)
    squares = _square(r)
    _multipliers(H, w * _square(y), squares, steps, some, r, g, p, q, eta, xi)
    pull, part = kind(share * w), kind(share)
    # step 9 with the decoder of step 8: (D + pull eta y')' eta = D' eta + pull |eta|^2 y
    turned = kind(float(pull) * _square(eta)) if printed else zero
    for j in range(y.shape[0]):
        xi[j] = part * (y[j] - y0[j] + xi[j] + turned * y[j])
        y[j] *= pull
    _add_outer(H, y, eta, nonnegative)  # steps 8 and 11
    _add_outer_at(where, x, xi, Et)  # steps 4 and 10
    return float(np.sqrt(squares))


@jit
def learn(
    X: Array,
    indptr: Index,
    indices: Index,
    data: Array,
    H: Array,
    Et: Array,
    w: Totals,
    share: Totals,
    steps: int,
    nonnegative: bool,
    printed: bool,
    work: Work,
    where: Index,
    some: Index,
    totals: Totals,
) -> None:
    """Learn the rows of ``X``, or if it has none those of a CSR block with sorted columns, one after the other.

    One function for both, so that both give the same bits.  ``w`` and ``share`` are schedules, see :func:`_at`;
    ``printed`` has step 9 read the decoder that step 8 has changed.
    """
    kept = work[0]
    dense = X.shape[0] > 0
    for s in range(X.shape[0] if dense else indptr.shape[0] - 1):
        n = 0
        if dense:
            row = X[s]
            for i in range(row.shape[0]):  # without a branch: zeros are overwritten
                kept[n] = row[i]
                where[n] = i
                n += row[i] != 0.0
        else:
            for i in range(indptr[s], indptr[s + 1]):
                kept[n] = data[i]
                where[n] = indices[i]
                n += data[i] != 0.0
        t = totals[SEEN]
        error = _update(where[:n], kept[:n], H, Et, _at(w, t), _at(share, t), steps, nonnegative, printed, work, some)
        totals[SEEN] += 1.0
        if error >= 0.0:
            totals[LEARNT] += 1.0
            totals[ERROR] += error
            totals[COUNT] += 1.0
