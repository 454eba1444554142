"""Weights of least absolute deviations, ``min |x - w H|_1`` over ``w >= 0``, side by side and with a duality gap.

As a linear program: ``w H + u - v = x`` with ``w, u, v >= 0`` and least ``sum(u + v)``; its dual is ``max x y`` over
``H y <= 0``, ``-1 <= y <= 1``.  Mehrotra's predictor and corrector steps need one k x k system a sample each
(Portnoy & Koenker 1997 do so for regression without signs).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.linalg.certificate import Certificate
from partwise.linalg.nnls import check_components
from partwise.sources import blocks, inspect, source_of
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

GAP = 1e-9  # asked for; the normal equations lose half of the 16 digits at the end
STEPS = 60  # a limit for what should not happen: 10 to 20 are usual
BOUNDARY = 0.9995  # of the way to the boundary that a step may go, as usual for Mehrotra's steps
CHUNK = 1 << 21  # numbers of samples x components x features that are held at once: 16 MB
RIDGE = 1e-13  # of the diagonal: components that depend on each other leave systems singular, and any solution will do
SHIFT = 0.5  # the first dual point, half of what the bounds leave


@dataclass(frozen=True)
class AbsoluteCertificate(Certificate):
    """Proof of optimality of every sample.

    Attributes
    ----------
    gap : ndarray of shape (n_samples,)
        No weights have a misfit that is smaller by more than this share of the sum of the sample's magnitudes:
        the difference from the dual objective. A proof for components without negative entries; with them for weights
        up to those found and the sample's size, since the dual's constraints hold only nearly.
    """

    gap: Array

    @property
    def largest(self) -> float:
        """The largest gap of all samples."""
        return float(self.gap.max(initial=0.0))


def least_absolute(
    H: npt.ArrayLike, X: Any, *, return_certificate: bool = False
) -> Array | tuple[Array, AbsoluteCertificate]:
    r"""Weights ``W >= 0`` that minimise :math:`\|X_i - W_i H\|_1` for every sample i.

    Single entries that are far off, as corrupted ones, move them little. The gap is below 1e-9 where components are
    not nearly dependent. Features are held densely, a few samples at a time.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features)
        Components; one of zeros gets weight zero.
    X : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_features)
        Samples, of any sign.
    return_certificate : bool, default=False
        Also return the duality gap of every sample.

    Returns
    -------
    W : ndarray of shape (n_samples, n_components)
        The weights, in the floating type of ``X``.
    certificate : AbsoluteCertificate
        Only with ``return_certificate``.

    References
    ----------
    .. [1] S. Portnoy, R. Koenker, "The Gaussian hare and the Laplacian tortoise", Statistical Science 12, 1997.
    .. [2] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optim. 2, 1992.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> H = np.array([[1.0, 1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0]])
    >>> x = np.array([[2.0, 2.0, 3.0, 1.0, 99.0]])
    >>> pw.linalg.least_absolute(H, x).round(6)
    array([[2., 1.]])
    """
    source = source_of(X)
    components = check_components(H, source.shape[1])
    inspect(source).check(allow_negative=True, name="X", squares=False)
    fn = partial(certified_block, H=components)
    W, gap = source.map_rows(fn, width=len(components), combine=_join)
    W = np.asarray(W)
    return (W, AbsoluteCertificate(gap)) if return_certificate else W


def decode_block(block: Block, H: Array) -> Array:
    """The weights of one block of rows."""
    return certified_block(block, H)[0]


def certified_block(block: Block, H: Array) -> tuple[Array, Array]:
    """The weights of one block of rows, and the gap of each."""
    sizes = np.abs(H).sum(axis=1)
    rows, columns = np.flatnonzero(sizes), np.flatnonzero(np.abs(H).sum(axis=0))
    W, gap = np.zeros((block.shape[0], len(H)), block.dtype), np.zeros(block.shape[0])
    if not len(rows):
        return W, gap
    # features that no component has cost what they cost
    unit = np.ascontiguousarray((H[rows] / sizes[rows, None])[:, columns])
    step = max(1, CHUNK // unit.size)
    for a in range(0, block.shape[0], step):
        part = blocks.to_dense(block[a : a + step]).astype(np.float64)
        totals = np.abs(part).sum(axis=1)
        here = a + np.flatnonzero(totals > 0.0)
        if len(here):
            scale = totals[here - a, None]
            w, gap[here] = _solve(part[here - a][:, columns] / scale, unit)
            W[here[:, None], rows] = w * scale / sizes[rows]
    return W, gap


def _solve(X: Array, H: Array) -> tuple[Array, Array]:
    """Samples and components whose magnitudes sum to at most one."""
    n, d = X.shape
    k = len(H)
    width = 1.0 / d
    w = np.full((n, k), 1.0 / k)
    r = X - w @ H
    u = (r + np.sqrt(r * r + width**2)) / 2.0
    state = [w, u, u - r, np.full((n, d), -SHIFT), np.maximum(SHIFT * H.sum(axis=1), 0.1) * np.ones((n, 1))]
    best, least = w.copy(), np.full(n, np.inf)
    active = np.arange(n)
    for _ in range(STEPS):
        gap = _gap(X[active], H, state[0], state[3])
        better = gap < least[active]
        best[active[better]], least[active[better]] = state[0][better], gap[better]
        going = gap > GAP
        active, state = active[going], [part[going] for part in state]
        if not len(active):
            break
        with np.errstate(all="ignore"):  # as far as rounding goes: what is not finite below ends
            state = _step(X[active], H, *state)
        sound = np.isfinite(state[0]).all(axis=1) & np.isfinite(state[3]).all(axis=1)
        active, state = active[sound], [part[sound] for part in state]
    return best, least


def _gap(X: Array, H: Array, w: Array, y: Array) -> Array:
    """Primal minus dual objective, of a y that is first moved down to where ``H y <= 0``.

    With negative entries that may not be possible.  The best weights w* then have a misfit of at least
    ``x y - w* max(H y, 0)``, in which these weights, and one, stand for w*.
    """
    misfit, over = np.abs(X - w @ H).sum(axis=1), np.maximum(y @ H.T, 0.0)
    if H.min() >= 0.0:
        most = over.max(axis=1, keepdims=True)
        return np.asarray(misfit - np.vecdot(X, (y - most) / (1.0 + most)))
    return np.asarray(np.abs(misfit - np.vecdot(X, y)) + np.vecdot(1.0 + w, over))


def _step(X: Array, H: Array, w: Array, u: Array, v: Array, y: Array, s: Array) -> list[Array]:
    """One predictor and corrector step; the slacks of the bounds on y are 1 - y and 1 + y."""
    su, sv = 1.0 - y, 1.0 + y
    rp, rd = X - w @ H - u + v, -(y @ H.T) - s
    q = 1.0 / (u / su + v / sv)
    M = (H[None] * q[:, None]) @ H.T
    diagonal = np.arange(len(H))
    M[:, diagonal, diagonal] = (M[:, diagonal, diagonal] + s / w) * (1.0 + RIDGE) + np.finfo(float).tiny
    count = w.shape[1] + 2 * X.shape[1]

    def direction(cw: Array, cu: Array, cv: Array) -> tuple[Array, ...]:
        g = (rp - cu / su + cv / sv) * q
        dw = np.linalg.solve(M, (cw / w - rd + g @ H.T)[..., None])[..., 0]
        dy = g - (dw @ H) * q
        return dw, (cu + u * dy) / su, (cv - v * dy) / sv, dy, rd - dy @ H.T

    def lengths(dw: Array, du: Array, dv: Array, dy: Array, ds: Array) -> tuple[Array, Array]:
        primal = np.minimum(np.minimum(_room(w, dw), _room(u, du)), _room(v, dv))
        return primal, np.minimum(np.minimum(_room(s, ds), _room(su, -dy)), _room(sv, dy))

    mu = (np.vecdot(w, s) + np.vecdot(u, su) + np.vecdot(v, sv)) / count
    dw, du, dv, dy, ds = direction(-w * s, -u * su, -v * sv)
    p, t = (length[:, None] for length in lengths(dw, du, dv, dy, ds))
    after = (
        np.vecdot(w + p * dw, s + t * ds) + np.vecdot(u + p * du, su - t * dy) + np.vecdot(v + p * dv, sv + t * dy)
    ) / count
    goal = ((after / mu) ** 3 * mu)[:, None]
    change = direction(goal - w * s - dw * ds, goal - u * su + du * dy, goal - v * sv - dv * dy)
    p, t = (length[:, None] for length in lengths(*change))
    dw, du, dv, dy, ds = change
    return [w + p * dw, u + p * du, v + p * dv, y + t * dy, s + t * ds]


def _room(x: Array, dx: Array) -> Array:
    """How far x may go along dx, at most all the way."""
    share = np.min(np.where(dx < 0.0, -x / np.where(dx < 0.0, dx, -1.0), np.inf), axis=1)
    return np.asarray(np.minimum(1.0, BOUNDARY * share))


def _join(a: Array, b: Array) -> Array:
    return np.concatenate([a, b])
