"""Weights on the simplex, a row at a time: least squares and Kullback-Leibler, each with its duality gap.

Least squares works on sufficient statistics, ``min 1/2 w G w' - b w'`` over ``w >= 0, a w' = 1`` with a unit diagonal
of ``G``, by the active-set method of Lawson & Hanson (1974) with the one equation in it: a primal method, so a feasible
start is a good start.  Kullback-Leibler, ``min -sum_j x_j log (w H)_j``, is a few EM steps, then Newton steps whose
quadratic programs the same active-set method solves (Kim, Carbonetto, Stephens & Anitescu 2020, "A fast algorithm for
maximum likelihood estimation of mixture proportions using sequential quadratic programming").
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit
from partwise.kernels.nnls import ROUNDING, _factor, _finish_row, _move, _null_move, _solve

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# EM saves Newton steps: 60 random documents (60 words, 10 topics) took a mean of 10 without it, 4.9 after 3 steps,
# 3.5 after 10, 2.3 after 30; what is fastest was not measured
EM_STEPS = 10
NEWTON_STEPS = 100  # a limit for what should not happen: these documents took at most 5, and 23 without EM
HALVINGS = 40  # to 1e-12 of a step, where what is left to gain is rounding error


@jit
def _start(G: Array, b: Array, a: Array, w: Array, P: Index) -> int:
    """Scale ``w`` to ``a w' = 1``, or put it on the best vertex ``e_j / a_j`` if it is zero; its support."""
    k = w.shape[0]
    total = 0.0
    for j in range(k):
        total += a[j] * w[j]
    if not total > 0.0:
        best = 0
        for j in range(k):
            lead = (0.5 * G[j, j] / a[j] - b[j]) / a[j] - (0.5 * G[best, best] / a[best] - b[best]) / a[best]
            best = j if lead < 0.0 else best
        w[best] = 1.0 / a[best]
        total = 1.0
    p = 0
    for j in range(k):
        if w[j] > 0.0:
            w[j] /= total
            P[p] = j
            p += 1
    return p


@jit
def _residual(G: Array, b: Array, w: Array, P: Index, p: int, g: Array) -> float:
    """The gradient ``g = G w - b``; its product with ``w``, which is the multiplier of the equation."""
    k = w.shape[0]
    for j in range(k):
        g[j] = -b[j]
    for i in range(p):
        row = G[P[i]]
        for j in range(k):
            g[j] += w[P[i]] * row[j]
    multiplier = 0.0
    for i in range(p):
        multiplier += w[P[i]] * g[P[i]]
    return multiplier


@jit
def _step(L: Array, a: Array, g: Array, P: Index, p: int, d: Array, z: Array) -> None:
    """``d`` that makes the gradient a multiple of ``a`` on the support while ``a d' = 0``."""
    for i in range(p):
        d[i] = -g[P[i]]
        z[i] = a[P[i]]
    _solve(L, p, d)
    _solve(L, p, z)
    ad = 0.0
    az = 0.0
    for i in range(p):
        ad += a[P[i]] * d[i]
        az += a[P[i]] * z[i]
    for i in range(p):
        d[i] -= ad / az * z[i]


@jit
def _most_violated(a: Array, w: Array, g: Array, multiplier: float, limit: float, banned: Index) -> int:
    """The zero weight that would lower the objective most steeply, or -1."""
    worst = -limit
    found = -1
    for j in range(w.shape[0]):
        if w[j] == 0.0 and banned[j] == 0 and g[j] - multiplier * a[j] < worst:
            worst = g[j] - multiplier * a[j]
            found = j
    return found


@jit
def _descend_row(
    G: Array, b: Array, a: Array, w: Array, P: Index, L: Array, d: Array, z: Array, g: Array, banned: Index
) -> float:
    """Solve one row from the support of ``w``; the duality gap ``w g' - min_j g_j / a_j``."""
    k = w.shape[0]
    size = 0.0
    for j in range(k):
        size = max(size, abs(b[j]))
        banned[j] = 0
    p = _start(G, b, a, w, P)
    start = 0
    entered = -1
    multiplier = _residual(G, b, w, P, p, g)
    for _ in range(20 * k + 20):
        q = _factor(G, P, p, start, L)
        before = p
        if q < p:  # G has the outer product of a in it, so what it does not see leaves a w' alone too
            p, start = _null_move(G, g, w, P, p, q, L, d)
            start = min(start, q)
        else:
            _step(L, a, g, P, p, d, z)
            p, start = _move(w, P, p, d, 1.0)
        multiplier = _residual(G, b, w, P, p, g)
        if p < before:
            if entered >= 0 and w[entered] == 0.0:  # it could not rise: what made it enter was rounding error
                banned[entered] = 1
            entered = -1
            continue
        total = 0.0
        for i in range(p):
            total += w[P[i]]
        entered = _most_violated(a, w, g, multiplier, ROUNDING * (size + total), banned)
        if entered < 0:
            break
        P[p] = entered
        start = p
        p += 1
    return _gap(G, b, a, w, P, p, g)


@jit
def _gap(G: Array, b: Array, a: Array, w: Array, P: Index, p: int, g: Array) -> float:
    total = 0.0
    for i in range(p):
        total += a[P[i]] * w[P[i]]
    for i in range(p):
        w[P[i]] /= total
    multiplier = _residual(G, b, w, P, p, g)
    lowest = np.inf
    for j in range(w.shape[0]):
        lowest = min(lowest, g[j] / a[j])
    return multiplier - lowest


@jit
def least_squares(G: Array, B: Array, a: Array, W: Array) -> Array:
    """Put the solution in the place of every row of ``W``, a non-negative start; the duality gaps."""
    n, k = W.shape
    gaps = np.empty(n)
    P = np.empty(k + 1, np.int64)
    banned = np.empty(k, np.int64)
    L = np.zeros((k + 1, k + 1))
    d = np.empty(k + 1)
    z = np.empty(k + 1)
    g = np.empty(k)
    for i in range(n):
        gaps[i] = _descend_row(G, B[i], a, W[i], P, L, d, z, g, banned)
    return gaps


@jit
def _ratios(x: Array, columns: Index, Ht: Array, w: Array, y: Array, r: Array) -> None:
    """``y = w H`` at the row's entries and ``r = H (x / y)'``, which is minus the gradient."""
    k = w.shape[0]
    for l in range(k):
        r[l] = 0.0
    for j in range(x.shape[0]):
        h = Ht[columns[j]]
        s = 0.0
        for l in range(k):
            s += w[l] * h[l]
        y[j] = s
        f = x[j] / s
        for l in range(k):
            r[l] += f * h[l]


@jit
def _prune(x: Array, columns: Index, Ht: Array, w: Array, y: Array, r: Array) -> None:
    """Drop the weights that a Newton step of their own would make negative by far: EM never ends a weight.

    Those that were needed come back, as their gradient asks for it; unless all that has some feature would go.
    """
    k = w.shape[0]
    curvature = np.zeros(k)
    for j in range(x.shape[0]):
        h = Ht[columns[j]]
        f = x[j] / (y[j] * y[j])
        for l in range(k):
            curvature[l] += f * h[l] * h[l]
    kept = w.copy()
    for l in range(k):
        if w[l] * curvature[l] < 1.0 - r[l]:
            kept[l] = 0.0
    for j in range(x.shape[0]):
        h = Ht[columns[j]]
        s = 0.0
        for l in range(k):
            s += kept[l] * h[l]
        if not s > 0.0:
            return
    w[:] = kept / kept.sum()
    _ratios(x, columns, Ht, w, y, r)


@jit
def _newton_target(x: Array, columns: Index, Ht: Array, w: Array, y: Array, r: Array, S: Index) -> Array:
    """Minimiser over ``v >= 0`` on ``S`` of the second-order model of ``sum(v) - sum_j x_j log (v H)_j`` at ``w``.

    That sum has its minimum on the simplex.  With the Hessian A, ``A w = r``: the model is
    ``1/2 v A v' - (2 r - 1) v'`` and its gradient at w is ``1 - r``.
    """
    s = S.shape[0]
    A = np.zeros((s, s))
    h = np.empty(s)
    for j in range(x.shape[0]):
        f = np.sqrt(x[j]) / y[j]
        for i in range(s):
            h[i] = f * Ht[columns[j], S[i]]
        for i in range(s):
            if h[i] != 0.0:
                row = A[i]
                for l in range(i, s):
                    row[l] += h[i] * h[l]
    scale = np.empty(s)
    for i in range(s):
        scale[i] = np.sqrt(A[i, i]) if A[i, i] > 0.0 else 1.0
    v = np.empty(s)
    g = np.empty(s)
    size = 0.0
    for i in range(s):
        for l in range(i, s):
            A[i, l] /= scale[i] * scale[l]
            A[l, i] = A[i, l]
        v[i] = w[S[i]] * scale[i]
        g[i] = (1.0 - r[S[i]]) / scale[i]
        size = max(size, abs(2.0 * r[S[i]] - 1.0) / scale[i])
    work = np.empty((4, s + 1))
    L = np.zeros((s, s))
    P = np.empty(s + 1, np.int64)
    _finish_row(A, g, size, v, work[0, :s], P, L, work[1], work[2, :s], work[3, :s], np.empty(s, np.int64))
    return v / scale


@jit
def _line_search(x: Array, columns: Index, Ht: Array, w: Array, y: Array, r: Array, S: Index, v: Array) -> float:
    """How far to go from ``w`` towards ``v``, by halves until the objective falls as the slope says; 0 if nowhere."""
    slope = 0.0
    mass = 0.0
    for i in range(S.shape[0]):
        slope += (1.0 - r[S[i]]) * (v[i] - w[S[i]])
        mass += v[i] - w[S[i]]
    t = np.empty(x.shape[0])
    for j in range(x.shape[0]):
        h = Ht[columns[j]]
        t[j] = 0.0
        for i in range(S.shape[0]):
            t[j] += (v[i] - w[S[i]]) * h[S[i]]
        t[j] /= y[j]
    alpha = 1.0
    for _ in range(HALVINGS):
        change = alpha * mass
        for j in range(x.shape[0]):
            # the change of a log, and not a difference of logs: it is small near the end
            change -= x[j] * np.log1p(alpha * t[j]) if alpha * t[j] > -1.0 else -np.inf
        if change <= 1e-4 * alpha * slope:
            return alpha
        alpha *= 0.5
    return 0.0


@jit
def _likelihood_row(x: Array, columns: Index, Ht: Array, w: Array, tol: float) -> float:
    """Solve one row, ``x`` of sum one, from the positive ``w``; its duality gap ``max_l r_l - 1``."""
    k = w.shape[0]
    y = np.empty(x.shape[0])
    r = np.empty(k)
    for _ in range(EM_STEPS):
        _ratios(x, columns, Ht, w, y, r)
        for l in range(k):
            w[l] *= r[l]
    S = np.empty(k, np.int64)
    _ratios(x, columns, Ht, w, y, r)
    _prune(x, columns, Ht, w, y, r)
    for _ in range(NEWTON_STEPS):
        if r.max() - 1.0 <= tol:
            break
        s = 0
        for l in range(k):
            if w[l] > 0.0 or r[l] > 1.0:
                S[s] = l
                s += 1
        v = _newton_target(x, columns, Ht, w, y, r, S[:s])
        alpha = _line_search(x, columns, Ht, w, y, r, S[:s], v)
        if alpha == 0.0:  # what is left to gain is rounding error
            break
        total = 0.0
        for i in range(s):
            w[S[i]] = max(w[S[i]] + alpha * (v[i] - w[S[i]]), 0.0) if alpha < 1.0 else v[i]
            total += w[S[i]]
        for l in range(k):
            w[l] /= total
        _ratios(x, columns, Ht, w, y, r)
    return float(r.max() - 1.0)


@jit
def likelihood(indptr: Index, columns: Index, X: Array, Ht: Array, W: Array, tol: float) -> Array:
    """Put the solution for every CSR row (of sum one, or empty) in the place of a row of ``W``; the duality gaps.

    Entries are positive, in columns that some component has.
    """
    n, k = W.shape
    gaps = np.zeros(n)
    for i in range(n):
        w = W[i]
        for l in range(k):
            w[l] = 1.0 / k
        if indptr[i + 1] > indptr[i]:
            here = slice(indptr[i], indptr[i + 1])
            gaps[i] = _likelihood_row(X[here], columns[here], Ht, w, tol)
    return gaps
