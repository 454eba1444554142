"""Minimum volume: of all simplices around the samples the smallest, as far as the noise lets one say what is around.

V. Leplat, A. M. S. Ang, N. Gillis, "Minimum-volume rank-deficient nonnegative matrix factorizations", ICASSP 2019; X.
Fu, W.-K. Ma, K. Huang, N. D. Sidiropoulos, "Blind separation of quasi-stationary sources: exploiting convex geometry in
covariance domain", IEEE Trans. Signal Process. 63(9), 2015.  Samples are brought to one size, so that their weights sum
to one, and are looked at in the span of their k leading singular vectors, as points ``d_i``.  With ``T`` the k parts
there,

    min  1/2 sum_i |d_i - w_i T|^2 + n v/2 log det(T T' + delta)     over w_i in the simplex and any T.

The weight ``v`` is the variance of the noise along the span.  That is no choice: if weights are uniform in the simplex
the density of the points is one over its volume, so this is their negative log-likelihood, times ``v``, up to what the
noise adds at the borders.  Larger weights cut off corners, smaller ones follow the noise.

Where the noise is small the volume pulls weakly and the way is long; it begins with the weight of more noise, which
falls fourfold from stage to stage down to its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine import Factor, Free, Simplex, Volume, alternate, squared_error
from partwise.algorithms.engine.rows import solve_rows
from partwise.algorithms.loop import Progress, Stages, State, prefixed, run, under
from partwise.algorithms.pureness import Variation
from partwise.algorithms.signal import TINY_ROW, Signal, find_signal
from partwise.algorithms.signs import beyond_noise, constrain
from partwise.linalg.nnls import Gram, decode_block
from partwise.outcomes import ended
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

FIRST = 1e-2  # deviation of the noise, relative to an entry of the points, whose weight the stages begin with
FALL = 2.0  # factor of that deviation from stage to stage
LEAST = 1e-3  # and the least one: the error is about as large, and further down the way becomes too long
LOUD = 3.0  # times the typical noise, relative to its size, that a sample may have
ROUNDED = 1e3  # rounding units that what the volume pulls with is to be above
LOOSE, PATIENCE = 0.3, 100  # residual, or iterations, at which a stage but the last is over
FLAT = 1e-9  # delta, of the mean squared entry of the start: parts may depend on each other, but for rounding
DEPENDENT = 1e8  # condition of parts that are one too many for their span
# Of what parts vary by a rest stays, and makes the simplex larger, but not by much: of 17 generated scenes whose
# spectra vary its sides were 1.07 to 1.4 times as long where samples have no more than 0.8 of a part; with pure ones
# 1.04 at most, or the simplex was better
LONGER = 1.05
ENGINE = "engine."  # before the names of the engine's state


@dataclass(frozen=True)
class Points:
    """Samples of one size in the span of the data.

    Attributes
    ----------
    rows : RowSource
        The points. Samples with far more noise than most, relative to their size, are drawn towards the middle by as
        much: there they say nothing wrong.
    squared_norm : float
        Of all of them.
    noise : float
        Deviation of a coordinate, with the colour of the noise.
    """

    rows: RowSource
    squared_norm: float
    noise: float

    @property
    def entry(self) -> float:
        """Root of the mean square of a coordinate."""
        n, k = self.rows.shape
        return float(np.sqrt(self.squared_norm / (n * k)))

    @property
    def variance(self) -> float:
        """Of the noise, and at least what the weight is never below."""
        least = max(LEAST, float(np.sqrt(ROUNDED * np.finfo(self.rows.dtype).eps)))
        return max(self.noise, least * self.entry) ** 2

    def relative(self, weight: float) -> float:
        """What the volume of this weight pulls with, in the unit of the engine's residual."""
        return weight / self.entry**2


def points_of(signal: Signal) -> Points:
    """The rows of a signal as points.

    Parameters
    ----------
    signal : Signal
        Of data whose samples have a size.
    """
    typical, n = signal.relative_noise, max(1, signal.rows.shape[0])
    loud = np.inf if signal.noiseless else LOUD * typical  # rounding is not to decide
    centre = signal.rows.reduce(_sum_block, signal.inverse_size) / n
    centre *= signal.mean_size / float(centre @ signal.size)
    place = partial(_place_block, size=signal.size, mean=signal.mean_size, centre=centre, loud=loud)
    rows = signal.rows.derive(place, signal.row_noise)
    return Points(rows, float(rows.reduce(_squares)), typical * signal.colour)


def minvol(
    signal: Signal, points: Points, T0: Array | None, k: int, *, weight: float, tol: float, state: State | None = None
) -> Stages:
    """Iterations of the engine, stage by stage; the last stage, at the weight itself, does not end.

    Parameters
    ----------
    T0 : ndarray of shape (k, k) or None
        Where to begin, as many parts as the span has dimensions; not used with a state.
    k : int
        Number of components; those that the rank of the data does not allow are zero.
    weight : float
        The weight ``v`` of the volume, a variance.
    tol : float
        The residual at which the engine's momentum ends.
    state : mapping, optional
        Of an iteration of an earlier run on this data: the first iteration is the next one.

    Yields
    ------
    Progress
        The start, then every iteration: ``objective`` is that of the stage's weight, over n, and never rises while
        that stays; ``residual`` what the KKT conditions of both factors are missed by, relative to what the volume
        pulls with: at 1 the volume is not felt.
    """
    n = max(1, points.rows.shape[0])
    weights = weights_of(points, weight)
    stage, spent, inner = 0, 0, None
    T = np.asarray(T0) if state is None else np.asarray(state["T"])
    delta = FLAT * float((T**2).mean()) if state is None else float(state["delta"])
    if state is not None:
        stage, spent, inner = int(state["stage"]), int(state["spent"]), under(ENGINE, state)
        if state["over"]:
            stage, spent, inner = stage + 1, 0, None
    told = state is not None
    while True:
        last, unit = stage == len(weights) - 1, points.relative(weights[stage])
        least = (tol if last else LOOSE) * unit
        for now in _stage(points, T, Volume(n * weights[stage], delta), least, inner):
            T, begins = now.components, np.isnan(now.residual)
            spent += not begins
            over = not last and (spent >= PATIENCE or (now.certified and now.residual <= least))
            if not (begins and told):
                kept = {"T": T, "delta": delta, "stage": stage, "spent": spent, "over": over}
                told = True
                yield replace(
                    now,
                    components=_components(signal, T, k),
                    objective=now.objective / n,
                    residual=now.residual / unit,
                    certified=now.certified and last,
                    details={"weight": weights[stage], **now.details},
                    state={**kept, **prefixed(ENGINE, now.state)},
                )
            if over:
                break
        stage, spent, inner = stage + 1, 0, None


def enclosing(
    source: RowSource,
    H: Array,
    *,
    squared_norm: float,
    tol: float,
    most: int,
    pays: float,
    varies: Variation | None,
) -> Array | None:
    """The parts of the smallest simplex, from given parts; None where they are no better for the data.

    The simplex is that of the samples without what their parts vary by, which is not to be inside it.

    Parameters
    ----------
    H : ndarray of shape (k, n_features)
        Where to begin.
    tol : float
        As in :func:`minvol`.
    most : int
        Iterations at most.
    pays : float
        The parts are taken if they leave less than this of the mean distance of the samples, as directions.
    varies : Variation or None
        How parts vary, if they are seen to.

    Returns
    -------
    ndarray of shape (k, n_features) or None
        In the same order, without negative entries; None if the parts depend on each other inside the span of the
        data, if they do not pay, or if parts vary and these are hardly farther out than the given ones.
    """
    # what is random is where the singular vectors begin, and they converge
    signal = find_signal(source, len(H), squared_norm=squared_norm, rng=np.random.default_rng(0))
    T = H @ signal.basis.T
    sizes = T @ signal.size
    if signal.rank < len(H) or not (sizes > 0.0).all() or np.linalg.cond(T) > DEPENDENT:
        return None
    before = float(source.reduce(partial(_distances, H=H, gram=Gram.of(H, source.dtype))))
    # no simplex inside the span is nearer than the span
    if float(source.reduce(partial(_beside, basis=np.asarray(signal.basis, source.dtype)))) >= pays * before:
        return None
    T *= (signal.mean_size / sizes)[:, None]
    if varies is not None:
        own = source.map_rows(partial(varies.along, basis=signal.basis), width=signal.rank)
        signal = replace(signal, rows=signal.rows.derive(np.subtract, own))
    points = points_of(signal)
    iterations = minvol(signal, points, T, len(H), weight=points.variance, tol=tol)
    new = ended(run(iterations, max_iter=most, tol=tol)).components
    if varies is not None and _side(new) < LONGER * _side(H):
        return None
    noise = 0.0 if signal.noiseless else signal.noise * signal.colour
    if beyond_noise(source, new, noise=noise) is None:
        new = np.maximum(new, 0.0)
    else:
        new = constrain(source, new, squared_norm=squared_norm)
    after = float(source.reduce(partial(_distances, H=new, gram=Gram.of(new, source.dtype))))
    return new if after < pays * before else None


def _distances(block: Block, H: Array, gram: Gram) -> float:
    """The distances of all rows, at unit length, from the cone of parts."""
    return _relative(block, decode_block(block, gram=gram) @ H)


def _beside(block: Block, basis: Array) -> float:
    """The distances of all rows, at unit length, from a span."""
    return _relative(block, blocks.dot(block, basis.T) @ basis)


def _relative(block: Block, near: Array) -> float:
    left, lengths = blocks.norms(blocks.to_dense(block) - near), blocks.norms(block)
    return float(np.divide(left, lengths, out=np.zeros_like(lengths), where=lengths > 0.0).sum())


def _side(H: Array) -> float:
    """The typical side of the simplex that parts make as directions: the root of its volume, but for a factor."""
    U = H / np.maximum(blocks.norms(H), np.finfo(H.dtype).tiny)[:, None]
    return float(np.exp(0.5 * np.linalg.slogdet(U @ U.T)[1] / max(len(H) - 1, 1)))


def _stage(points: Points, T: Array, volume: Volume, tol: float, state: State | None) -> Iterator[Progress]:
    """The engine at one weight."""
    loss, _ = squared_error(points.rows, points.squared_norm)
    on_W, on_H = Factor((), Simplex()), Factor((volume,), Free())
    how: dict[str, Any] = {"loss": loss, "on_W": on_W, "on_H": on_H, "tol": tol, "state": state}
    return alternate(points.rows, T, update=solve_rows, extrapolate=True, **how)


def weights_of(points: Points, weight: float) -> Sequence[float]:
    """The weights of the stages, down to the last one.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.sources import source_of
    >>> weights_of(Points(source_of(np.ones((4, 2))), 8.0, 0.0), 1e-6)
    [0.0001, 2.5e-05, 6.25e-06, 1.5625e-06, 1e-06]
    """
    found, now = [], (FIRST * points.entry) ** 2
    while now > weight:
        found.append(now)
        now /= FALL**2
    return [*found, weight]


def _components(signal: Signal, T: Array, k: int) -> Array:
    H = np.asarray(T @ signal.basis, signal.rows.dtype)
    return np.vstack([H, np.zeros((k - len(H), H.shape[1]), H.dtype)])


def _sum_block(Y: Block, inverse_size: Array) -> Array:
    return np.asarray(inverse_size @ Y, np.float64)


def _place_block(Y: Block, row_noise: Array, *, size: Array, mean: float, centre: Array, loud: float) -> Array:
    """Rows at the mean size, drawn towards the centre by what their noise is too loud."""
    sizes = np.asarray(Y @ size, np.float64)
    usable = sizes > TINY_ROW * mean
    scale = np.divide(mean, sizes, out=np.zeros_like(sizes), where=usable)
    noise = row_noise * scale
    share = np.where(usable, np.minimum(1.0, np.divide(loud, noise, out=np.ones_like(noise), where=noise > 0)), 0.0)
    return np.asarray(centre + share[:, None] * (Y * scale[:, None] - centre), Y.dtype)


def _squares(Y: Block) -> float:
    return float(blocks.squared_norms(Y).sum())
