"""Rows of a factor under the Poisson likelihood (Kullback-Leibler divergence): descent, EM steps, exact minimisers.

A row ``w`` of a factor has counts ``x_t`` at its stored entries, where it says ``y_t = w . h_t``, and the objective
``w . s - sum_t x_t log y_t`` with ``s`` the sums of the components: zeros of the data never have to be looked at.  The
same kernels update samples (rows of ``W``, with the rows of ``H'``) and features (rows of ``H'``, with those of ``W``,
on a transposed copy of the data).

Inside, rows are free of units: ``u_l = w_l t_l / sum(x)``, where ``t`` is ``s`` and the l1 penalty, and ``F`` holds the
other factor divided by ``t``.  Then ``f(u) = sum u - sum_t x_t log y_t + sum_l r_l u_l^2 / 2``, with counts of sum one,
``y = u F'`` and the ridge ``r`` of an l2 penalty, and the gradient is ``1 + r u - sum_t x_t F_t / y_t``.  The
components that a row needs are first copied side by side, a component a line: all loops run over neighbours.

All arrays are float64, indices int32 and no stored entry is zero: one compilation serves every kind of data.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import inlined, jit
from partwise.kernels.nnls import finish
from partwise.kernels.sparse import csr_dot

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]

# Of counts with sum one and components with sum one, a product below this says that nothing explains an entry: no
# component has it.  Its square, in curvatures, is still far from underflow.
UNEXPLAINED = 1e-60
FALL = 0.1  # what a step leaves at least of y wherever there are counts: gradients are far off beyond that
EXACT = 1e-9  # residual that exact weights must have,
SETTLED = 1e-12  # and at which they are left alone; rounding leaves some 1e-15
STEPS = 200  # Newton steps for exact weights at most; some 5 are usual
NEWTON = 1e-3  # changes of y, relative to it, that are so small that a Newton step needs no line search
HALVINGS = 60  # of a step at most: it is then below the spacing of numbers
PROMISED = 1e-4  # share of the fall along the slope that a step must bring (Armijo)

_row_sums = inlined(vars(csr_dot)["py_func"])  # its sums stay in registers: half the time of a loop


@inlined
def _shares(data: Array, total: float, x: Array) -> None:
    for t in range(data.shape[0]):
        x[t] = data[t] / total


@inlined
def _load(indices: Index, F: Array, chosen: Places, h: Array) -> None:
    for t in range(indices.shape[0]):
        row = F[indices[t]]
        for l in range(chosen.shape[0]):
            h[l, t] = row[chosen[l]]


@inlined
def _explain(indices: Index, F: Array, u: Array, y: Array) -> None:
    """``y_t = u . F_t``: two entries at a time, so that one waits for its sum while the other is added up."""
    c = indices.shape[0]
    for t in range(0, c - 1, 2):
        one, other = F[indices[t]], F[indices[t + 1]]
        first, second = 0.0, 0.0
        for l in range(u.shape[0]):
            first += u[l] * one[l]
            second += u[l] * other[l]
        y[t] = first
        y[t + 1] = second
    if c % 2:
        one, first = F[indices[c - 1]], 0.0
        for l in range(u.shape[0]):
            first += u[l] * one[l]
        y[c - 1] = first


@inlined
def _products(h: Array, u: Array, c: int, y: Array) -> None:
    for t in range(c):
        y[t] = 0.0
    for l in range(u.shape[0]):
        f = u[l]
        if f != 0.0:
            line = h[l]
            for t in range(c):
                y[t] += f * line[t]


@inlined
def _inverses(y: Array, c: int, q: Array) -> None:
    for t in range(c):
        q[t] = 1.0 / max(y[t], UNEXPLAINED)


@inlined
def _pull(line: Array, x: Array, q: Array, c: int) -> float:
    """What the counts pull a component up with: ``sum_t x_t h_t / y_t``."""
    pull = 0.0
    for t in range(c):
        pull += x[t] * line[t] * q[t]
    return pull


@inlined
def _share(line: Array, q: Array, c: int) -> float:
    """The largest share that a weight of one would have in a product."""
    share = 0.0
    for t in range(c):
        share = max(share, line[t] * q[t])
    return share


@inlined
def _sweep(h: Array, x: Array, ridge: Array, c: int, moving: Places, y: Array, q: Array, u: Array) -> None:
    """One step for each moving coordinate in turn, with ``y`` and ``q = 1 / y`` kept up to date.

    The pull is a sum of hyperbolas ``a / (u + b)``.  One hyperbola with its value and slope (Newton's method on
    ``1 / pull``, which is concave in u) gives the step: exact where one entry decides, and from below it never goes too
    far, as plain Newton steps do not (Hsieh & Dhillon 2011), but it goes further.  From above it may: see ``FALL``.
    """
    for i in range(moving.shape[0]):
        l, line = moving[i], h[i]
        pull = 0.0
        slope = 0.0
        for t in range(c):
            f = line[t] * q[t]
            g = x[t] * f
            pull += g
            slope += g * f
        old = u[l]
        new = 0.0
        if pull > 0.0:
            push = 1.0 + ridge[l] * old
            new = old + (pull - push) / (slope * push / pull + ridge[l])
            if new < FALL * old:
                new = FALL * old if _share(line, q, c) * old > 1.0 - FALL else max(new, 0.0)
        step = new - old
        if step != 0.0:
            u[l] = new
            for t in range(c):
                y[t] += step * line[t]
                q[t] = 1.0 / max(y[t], UNEXPLAINED)


@inlined
def _most(indptr: Index) -> int:
    most = 1
    for i in range(indptr.shape[0] - 1):
        most = max(most, indptr[i + 1] - indptr[i])
    return most


@inlined
def _missed(pull: float, push: float, u: float, total: float, mean: float) -> float:
    """By what a weight misses its optimality conditions, in units of mass, at most the mass of its row.

    Zero where the gradient is zero, or positive at a zero weight; a zero weight that is pulled up counts with the mean.
    """
    return min(abs(min(total * u * push, (push - pull) * mean)), total)


@inlined
def _emptied(t: Array, mean: Array, w: Array, held: int) -> tuple[float, float]:
    """A row without counts has weights zero, but for those that are held: what it missed and had."""
    missed, mass = 0.0, 0.0
    for l in range(held, w.shape[0]):
        missed += min(w[l], mean[l]) * t[l]
        mass += w[l] * t[l]
        w[l] = 0.0
    return missed, mass


@inlined
def _unit_free(w: Array, t: Array, l2: float, total: float, u: Array, ridge: Array) -> None:
    for l in range(w.shape[0]):
        u[l] = w[l] * t[l] / total
        ridge[l] = l2 / t[l] * (total / t[l]) if t[l] > 0.0 else 0.0


@inlined
def _give_back(u: Array, t: Array, total: float, w: Array, held: int) -> None:
    for l in range(held, w.shape[0]):
        w[l] = u[l] * total / t[l] if t[l] > 0.0 else 0.0


@jit
def descend(
    indptr: Index,
    indices: Index,
    data: Array,
    F: Array,
    t: Array,
    l2: float,
    mean: Array,
    sweeps: int,
    W: Array,
    held: int,
    ratio: Array,
) -> tuple[float, float]:
    """Update every row of ``W`` in place by coordinate sweeps; zeros that nothing pulls up rest in them.

    Without sweeps it is one multiplicative (EM) step. The first ``held`` coordinates of every row stay as they are, to
    the bit, and count in no residual.  Returns the residual of the optimality conditions that the rows came with, in
    units of mass (see ``_missed``), and the mass that they came with.  ``ratio``, if it has room, gets the counts over
    what is said of them in the end, ``x / y``.
    """
    k = W.shape[1]
    most = _most(indptr)
    room, x, y, q, r = np.empty(k * most), np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    u, ridge, pulls, moving = np.empty(k), np.empty(k), np.empty((1, k)), np.empty(k, np.int64)
    span, pull = np.zeros(2, np.int32), pulls[0]
    residual, mass = 0.0, 0.0
    for i in range(W.shape[0]):
        a, b = indptr[i], indptr[i + 1]
        c, near = b - a, indices[a:b]
        total = data[a:b].sum()
        if total <= 0.0:
            missed, had = _emptied(t, mean, W[i], held)
            residual += missed
            mass += had
            continue
        _shares(data[a:b], total, x)
        _unit_free(W[i], t, l2, total, u, ridge)
        _explain(near, F, u, y)
        _inverses(y, c, q)
        for s in range(c):
            r[s] = x[s] * q[s]
        span[1] = c
        _row_sums(span, near, r, F, pulls)  # what the counts pull with: sum_t x_t F_t / y_t
        p = 0
        for l in range(held, k):
            push = 1.0 + ridge[l] * u[l]
            mass += total * u[l] * push
            residual += _missed(pull[l], push, u[l], total, mean[l] * t[l])
            if not sweeps:
                u[l] *= np.sqrt(pull[l] / push) if l2 > 0.0 else pull[l] / push
            elif u[l] != 0.0 or pull[l] > push:
                moving[p] = l
                p += 1
        if p:
            h = room[: p * c].reshape(p, c)  # lines of their own length: a short row then fills few lines of the cache
            _load(near, F, moving[:p], h)
            for _ in range(sweeps):
                _sweep(h, x, ridge, c, moving[:p], y, q, u)
        if ratio.shape[0]:
            _explain(near, F, u, y)
            for s in range(c):
                ratio[a + s] = x[s] / max(y[s], UNEXPLAINED)
        _give_back(u, t, total, W[i], held)
    return residual, mass


@jit
def _gradient(h: Array, x: Array, q: Array, ridge: Array, c: int, u: Array, g: Array) -> float:
    """The gradient, and by how much it misses zero where a weight is positive, or is negative where it is zero."""
    worst = 0.0
    for l in range(u.shape[0]):
        g[l] = 1.0 + ridge[l] * u[l] - _pull(h[l], x, q, c)
        worst = max(worst, abs(g[l]) if u[l] > 0.0 else -g[l])
    return worst


@jit
def _hessian(h: Array, r: Array, ridge: Array, c: int, free: Places, p: int, v: Array, G: Array, size: Array) -> None:
    """Second derivatives over the free components, scaled to a unit diagonal, and the scales."""
    for i in range(p):
        line = h[free[i]]
        for t in range(c):
            v[t] = r[t] * line[t]
        for j in range(i + 1):
            other = h[free[j]]
            value = 0.0
            for t in range(c):
                value += v[t] * other[t]
            G[i, j] = value
        size[i] = np.sqrt(G[i, i] + ridge[free[i]])
    for i in range(p):
        for j in range(i):
            scale = size[i] * size[j]
            G[i, j] = G[i, j] / scale if scale > 0.0 else 0.0
            G[j, i] = G[i, j]
        G[i, i] = 1.0 if size[i] > 0.0 else 0.0


@jit
def _newton_step(h: Array, x: Array, q: Array, ridge: Array, c: int, u: Array, g: Array, r: Array, d: Array) -> float:
    """To the minimum of the quadratic model over non-negative weights; the slope that way.

    Components without a weight that nothing pulls up stay out: should the step change that, the next one sees it.
    """
    free, p = np.empty(u.shape[0], np.int64), 0
    for l in range(u.shape[0]):
        d[l] = 0.0
        if u[l] > 0.0 or g[l] < 0.0:
            free[p] = l
            p += 1
    for t in range(c):
        r[t] = x[t] * q[t] * q[t]
    G, size, v = np.empty((p, p)), np.empty(p), np.empty(c)
    _hessian(h, r, ridge, c, free, p, v, G, size)
    z, slopes = np.empty((1, p)), np.empty((1, p))
    for i in range(p):
        z[0, i] = u[free[i]] * size[i]
        slopes[0, i] = g[free[i]] / size[i] if size[i] > 0.0 else 0.0
    finish(G, np.zeros((1, p)), z, slopes, np.zeros(1, np.int64))
    slope = 0.0
    for i in range(p):
        l = free[i]
        d[l] = (z[0, i] / size[i] if size[i] > 0.0 else 0.0) - u[l]
        slope += d[l] * g[l]
    return slope


@jit
def _length(x: Array, q: Array, ridge: Array, c: int, u: Array, d: Array, move: Array, slope: float) -> float:
    """How far to go: all the way where the model is good, else halved until the objective falls as it promised.

    The change of the objective is summed from logarithms of one and a small number, so that it is known to a share of
    itself however small it is.
    """
    largest = 0.0
    for t in range(c):
        largest = max(largest, abs(move[t] * q[t]))
    if largest <= NEWTON:
        return 1.0
    linear, square = 0.0, 0.0
    for l in range(u.shape[0]):
        linear += d[l] * (1.0 + ridge[l] * u[l])
        square += 0.5 * ridge[l] * d[l] * d[l]
    length = 1.0
    for _ in range(HALVINGS):
        change = length * (linear + length * square)
        for t in range(c):
            change -= x[t] * np.log1p(max(length * move[t] * q[t], -1.0))
        if change <= PROMISED * length * slope:
            return length
        length *= 0.5
    return 0.0


@jit
def solve(indptr: Index, indices: Index, data: Array, F: Array, t: Array, l2: float, W: Array, kkt: Array) -> None:
    """The exact minimiser for every row, from ``W``, in place: Newton steps on the non-negative quadratic model.

    ``kkt`` gets the largest residual of the optimality conditions over the components, relative to ``t``: ``|g|`` where
    a weight is positive, ``max(0, -g)`` where it is zero.
    """
    k = W.shape[1]
    most = _most(indptr)
    room, x, y, q, r = np.empty(k * most), np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    u, best, ridge, g, d = np.empty(k), np.empty(k), np.zeros(k), np.empty(k), np.empty(k)
    every = np.arange(k)
    for i in range(W.shape[0]):
        a, b = indptr[i], indptr[i + 1]
        c, w = b - a, W[i]
        total = data[a:b].sum()
        kkt[i] = 0.0
        if total <= 0.0:
            w[:] = 0.0
            continue
        h = room[: k * c].reshape(k, c)
        _shares(data[a:b], total, x)
        _load(indices[a:b], F, every, h)
        _unit_free(w, t, l2, total, u, ridge)
        least = np.inf
        for _ in range(STEPS):
            _products(h, u, c, y)
            _inverses(y, c, q)
            worst = _gradient(h, x, q, ridge, c, u, g)
            gained = worst < 0.1 * least
            if worst < least:
                least = worst
                best[:] = u
            # where the tolerance is not to be had for rounding, steps go on as long as they gain a digit
            if worst <= SETTLED or (least <= EXACT and not gained):
                break
            slope = _newton_step(h, x, q, ridge, c, u, g, r, d)
            _products(h, d, c, y)
            length = _length(x, q, ridge, c, u, d, y, slope)
            if length == 0.0:
                break
            for l in range(k):
                u[l] = max(u[l] + length * d[l], 0.0)  # with d = -u to zero itself
        kkt[i] = least
        _give_back(best, t, total, w, 0)
