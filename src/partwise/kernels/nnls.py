"""Exact non-negative least squares on sufficient statistics, many rows against one Gram matrix.

Each row solves ``min 1/2 w G w' - b w'`` over ``w >= 0``; ``G`` has unit diagonal (zero for a null
component). :func:`solve_supports` replaces the positive entries of every row by the exact solution on that
support, many rows side by side; :func:`finish` is the active-set method of Lawson & Hanson (1974), started at
a feasible point, for the rows that are not optimal after that.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Places = npt.NDArray[np.uint64]

LANES = 32  # rows factored side by side: one turn of a loop over vectors, small enough for the L2 cache
PANEL = 4  # rows of a factor that are taken from the others at once: what is updated is then read and written a quarter
EPS = 2.0**-52  # the spacing of float64 at 1
ROUNDING = 4.0 * EPS  # violations below this times (largest |b| + sum of w) are rounding error


@jit
def _by_support_size(W: Array) -> tuple[Index, Index]:
    """Row order by number of positive entries (a counting sort), and those numbers in that order."""
    n, k = W.shape
    sizes = np.zeros(n, np.int64)
    starts = np.zeros(k + 2, np.int64)
    for t in range(n):
        w = W[t]
        for j in range(k):
            sizes[t] += w[j] > 0.0
        starts[sizes[t] + 1] += 1
    for p in range(k + 1):
        starts[p + 1] += starts[p]
    order = np.empty(n, np.int64)
    in_order = np.empty(n, np.int64)
    for t in range(n):
        place = starts[sizes[t]]
        order[place] = t
        in_order[place] = sizes[t]
        starts[sizes[t]] += 1
    return order, in_order


@jit
def _load_lanes(G: Array, B: Array, W: Array, rows: Index, width: int, P: Places, A: Array) -> None:
    """Gather each lane's passive block of ``G``, its right-hand side beside it, padded with the identity.

    ``P[i, s]`` is the i-th passive index of lane s, or k beyond the last; ``G`` comes with a zero row and column k, as
    one line.  All loops are without branches, which could not be foreseen here.
    """
    k = B.shape[1]
    lanes = A.shape[2]
    stride, none = np.uint64(k + 1), np.uint64(k)
    for s in range(lanes):
        p = 0
        if s < rows.shape[0]:
            w = W[rows[s]]
            b = B[rows[s]]
            for j in range(k):  # the next positive entry overwrites what is not one
                P[p, s] = j
                A[p, width, s] = b[j]
                p += w[j] > 0.0
        for i in range(p, width):
            P[i, s] = none
            A[i, width, s] = 0.0
    for i in range(width):
        Pi = P[i]
        for j in range(i, width):
            Pj = P[j]
            a = A[i, j]
            for s in range(lanes):
                a[s] = G[Pi[s] * stride + Pj[s]]
        a = A[i, i]
        for s in range(lanes):
            if Pi[s] == none:
                a[s] = 1.0


@jit
def _factor_lanes(A: Array, width: int, smallest: Array) -> None:
    """Right-looking Cholesky ``A = U' U`` of all lanes at once, with the forward substitution in the last column."""
    lanes = A.shape[2]
    for first in range(0, width, PANEL):
        end = first + PANEL
        for i in range(first, end):
            d = A[i, i]
            for s in range(lanes):
                smallest[s] = min(smallest[s], d[s])
                d[s] = 1.0 / np.sqrt(max(d[s], EPS))
            for j in range(i + 1, width + 1):
                a = A[i, j]
                for s in range(lanes):
                    a[s] *= d[s]
            for r in range(i + 1, end):
                f = A[i, r]
                for j in range(r, width + 1):
                    c = A[r, j]
                    u = A[i, j]
                    for s in range(lanes):
                        c[s] -= f[s] * u[s]
        for r in range(end, width):
            f0, f1, f2, f3 = A[first, r], A[first + 1, r], A[first + 2, r], A[first + 3, r]
            for j in range(r, width + 1):
                c = A[r, j]
                u0, u1, u2, u3 = A[first, j], A[first + 1, j], A[first + 2, j], A[first + 3, j]
                for s in range(lanes):
                    c[s] -= (f0[s] * u0[s] + f1[s] * u1[s]) + (f2[s] * u2[s] + f3[s] * u3[s])


@jit
def _back_substitute_lanes(A: Array, width: int) -> None:
    lanes = A.shape[2]
    for i in range(width - 1, -1, -1):
        y = A[i, width]
        for j in range(i + 1, width):
            f = A[i, j]
            u = A[j, width]
            for s in range(lanes):
                y[s] -= f[s] * u[s]
        d = A[i, i]
        for s in range(lanes):
            y[s] *= d[s]


@jit
def solve_supports(G: Array, B: Array, W: Array) -> None:
    """Put the exact solution on its support in the place of every row of ``W``.

    What comes out negative is set to zero, and a row whose support is dependent is left alone: :func:`verdict` tells.
    """
    n, k = W.shape
    order, sizes = _by_support_size(W)
    padded = np.zeros((k + 1, k + 1))
    padded[:k, :k] = G
    flat, most = padded.ravel(), PANEL + (sizes.max() if n else 0)
    A = np.empty((most, most, LANES))
    P = np.empty((most, LANES), np.uint64)  # without a sign no negative index has to be thought of
    smallest = np.empty(LANES)
    for start in range(0, n, LANES):
        here = order[start : start + LANES]
        width = (sizes[start + here.shape[0] - 1] + PANEL - 1) // PANEL * PANEL
        _load_lanes(flat, B, W, here, width, P, A)
        smallest[:] = 1.0
        _factor_lanes(A, width, smallest)
        _back_substitute_lanes(A, width)
        for s in range(here.shape[0]):
            if smallest[s] > 64.0 * k * EPS:
                w = W[here[s]]
                for i in range(sizes[start + s]):
                    w[P[i, s]] = max(A[i, width, s], 0.0)


@jit
def enlarge_supports(B: Array, W: Array, g: Array) -> None:
    """Let every zero weight with a negative gradient into the support, by a coordinate step of its own."""
    n, k = W.shape
    for i in range(n):
        w = W[i]
        total = 0.0
        size = 0.0
        for j in range(k):
            total += w[j]
            size = max(size, abs(B[i, j]))
        for j in range(k):
            if w[j] == 0.0 and g[i, j] < -ROUNDING * (size + total):
                w[j] = -g[i, j]


@jit
def _factor(G: Array, P: Index, p: int, start: int, L: Array) -> int:
    """Rows ``start..p`` of the Cholesky factor of ``G[P, P]``; the first dependent position, or ``p``.

    Row i of ``L`` needs only the rows before it, so an index appended to ``P`` costs one row and an index
    removed at position q leaves the rows before q valid.
    """
    tolerance = 8.0 * G.shape[0] * EPS
    for i in range(start, p):
        row = G[P[i]]
        Li = L[i]
        for j in range(i):
            Lj = L[j]
            s = row[P[j]]
            for l in range(j):
                s -= Li[l] * Lj[l]
            Li[j] = s / Lj[j]
        pivot = row[P[i]]
        for l in range(i):
            pivot -= Li[l] * Li[l]
        if pivot <= tolerance:
            return i
        Li[i] = np.sqrt(pivot)
    return p


@jit
def _back_substitute(L: Array, p: int, y: Array) -> None:
    for i in range(p - 1, -1, -1):
        Li = L[i]
        y[i] /= Li[i]
        for l in range(i):
            y[l] -= Li[l] * y[i]


@jit
def _solve(L: Array, p: int, y: Array) -> None:
    for i in range(p):
        Li = L[i]
        s = y[i]
        for l in range(i):
            s -= Li[l] * y[l]
        y[i] = s / Li[i]
    _back_substitute(L, p, y)


@jit
def _gradient(G: Array, g0: Array, w0: Array, w: Array, g: Array) -> None:
    """``g = g0 + G (w - w0)``: the gradient at ``w``, exact to the size of the difference."""
    k = w.shape[0]
    for j in range(k):
        g[j] = g0[j]
    for j in range(k):
        d = w[j] - w0[j]
        if d != 0.0:
            row = G[j]
            for l in range(k):
                g[l] += d * row[l]


@jit
def _move(w: Array, P: Index, p: int, d: Array, limit: float) -> tuple[int, int]:
    """Go from ``w`` along ``d`` (on ``P``) to the first boundary, at most ``limit``; drop what reached zero.

    Returns the new number of passive indices and the first position that changed.
    """
    blocker = -1
    alpha = limit
    for j in range(p):
        if d[j] < 0.0:
            reach = w[P[j]] / -d[j]
            if reach < alpha:
                alpha = reach
                blocker = j
    if blocker < 0 and limit == np.inf:
        return p, -1
    kept = 0
    first = p
    for j in range(p):
        c = P[j]
        value = w[c] + alpha * d[j]
        if j == blocker or (d[j] < 0.0 and value <= EPS * w[c]):
            w[c] = 0.0
            if first == p:
                first = j
        else:
            w[c] = value
            P[kept] = c
            kept += 1
    return kept, min(first, kept)


@jit
def _null_move(G: Array, g: Array, w: Array, P: Index, p: int, q: int, L: Array, d: Array) -> tuple[int, int]:
    """Component ``P[q]`` depends on those before it: move along the null direction, downhill, to a bound."""
    d[:p] = 0.0
    for l in range(q):
        d[l] = -L[q, l]
    # L[q, :q] solves L y = G[P[:q], P[q]], so one back substitution gives the combination that cancels P[q]
    _back_substitute(L, q, d)
    d[q] = 1.0
    slope = 0.0
    for j in range(q + 1):
        slope += d[j] * g[P[j]]
    if slope > 0.0 or (slope == 0.0 and w[P[q]] > 0.0):
        for j in range(q + 1):
            d[j] = -d[j]
    kept, first = _move(w, P, p, d, np.inf)
    if first >= 0:
        return kept, first
    # No boundary that way: the slope is rounding error. Leave the component out.
    w[P[q]] = 0.0
    for j in range(q + 1, p):
        P[j - 1] = P[j]
    return p - 1, q


@jit
def _passive_solution(G: Array, g0: Array, w0: Array, w: Array, P: Index, p: int, L: Array, z: Array, g: Array) -> None:
    """``z`` with zero gradient on ``P``, correcting the base: G_PP (z - w0_P) = -(g0 - G_PN w0_N)_P."""
    for j in range(w.shape[0]):
        w[j] = w0[j]
    for j in range(p):
        w[P[j]] = 0.0
    # w now holds the base outside P; the gradient is that of the base with everything outside P taken away
    for j in range(w.shape[0]):
        g[j] = g0[j]
    for j in range(w.shape[0]):
        if w[j] != 0.0:
            row = G[j]
            for l in range(w.shape[0]):
                g[l] -= w[j] * row[l]
    for j in range(p):
        z[j] = -g[P[j]]
    _solve(L, p, z)
    for j in range(p):
        z[j] += w0[P[j]]


@jit
def _finish_row(  # noqa: C901 - one loop, as in the book
    G: Array,
    g0: Array,
    size: float,
    w: Array,
    w0: Array,
    P: Index,
    L: Array,
    z: Array,
    g: Array,
    scratch: Array,
    banned: Index,
) -> None:
    k = w.shape[0]
    p = 0
    for j in range(k):
        w0[j] = w[j]
        banned[j] = 0
        if w[j] > 0.0:
            P[p] = j
            p += 1
    start = 0
    entered = -1
    for _ in range(20 * k + 20):
        q = _factor(G, P, p, start, L)
        if q < p:
            c = P[q]
            before = w[c]
            _gradient(G, g0, w0, w, g)
            p, start = _null_move(G, g, w, P, p, q, L, z)
            start = min(start, q)
            if before == 0.0 and w[c] == 0.0:
                banned[c] = 1
            continue
        _passive_solution(G, g0, w0, scratch, P, p, L, z, g)
        inside = True
        for j in range(p):
            inside = inside and z[j] > 0.0
        if not inside:
            for j in range(p):
                z[j] -= w[P[j]]
            p, start = _move(w, P, p, z, 1.0)
            # An entering index that cannot rise was rounding error; do not try it again in this row.
            if entered >= 0 and w[entered] == 0.0:
                banned[entered] = 1
            entered = -1
            continue
        total = 0.0
        for j in range(p):
            w[P[j]] = z[j]
            total += z[j]
        _gradient(G, g0, w0, w, g)
        worst = -ROUNDING * (size + total)
        entered = -1
        for j in range(k):
            if w[j] == 0.0 and banned[j] == 0 and G[j, j] > 0.0 and g[j] < worst:
                worst = g[j]
                entered = j
        if entered < 0:
            return
        P[p] = entered
        start = p
        p += 1


@jit
def verdict(B: Array, W: Array, g: Array, residual: Array, rounding: float = ROUNDING) -> Index:
    """Write each row's largest KKT violation, given its gradient ``g``; return the rows not yet optimal.

    A violation up to ``rounding`` times (largest |b| + sum of w) is none.
    """
    n, k = W.shape
    rows = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        total = 0.0
        size = 0.0
        worst = 0.0
        for j in range(k):
            total += W[i, j]
            size = max(size, abs(B[i, j]))
            worst = max(worst, abs(g[i, j]) if W[i, j] > 0.0 else -g[i, j])
        residual[i] = worst
        if not worst <= rounding * (size + total):
            rows[count] = i
            count += 1
    return rows[:count]


@jit
def finish(G: Array, B: Array, W: Array, g: Array, rows: Index) -> None:
    """Solve the given rows exactly, in place, starting from the feasible ``W`` with gradient ``g``.

    Every solve corrects the base point, so a gradient that was computed from the residual itself (and not as
    ``G w - b``) makes the answer as accurate as a QR method's: corrected semi-normal equations (Björck 1987).
    """
    k = W.shape[1]
    L = np.zeros((k, k))
    P = np.empty(k + 1, np.int64)
    z = np.empty(k + 1)
    w0 = np.empty(k)
    gradient = np.empty(k)
    scratch = np.empty(k)
    banned = np.empty(k, np.int64)
    for t in range(rows.shape[0]):
        i = rows[t]
        size = 0.0
        for j in range(k):
            size = max(size, abs(B[i, j]))
        _finish_row(G, g[i], size, W[i], w0, P, L, z, gradient, scratch, banned)


@jit
def finish_each(G: Array, B: Array, W: Array, g: Array) -> None:
    """As :func:`finish` for all rows, with a Gram matrix for each."""
    first = np.zeros(1, np.int64)
    for i in range(B.shape[0]):
        finish(G[i], B[i : i + 1], W[i : i + 1], g[i : i + 1], first)
