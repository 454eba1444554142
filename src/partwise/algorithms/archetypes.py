"""Trimmed archetypes: parts that lie among the samples, where no single sample makes one; ours.

With ``y_i`` the samples at unit length it makes small, over non-negative weights and over the parts ``E_j``,

    f(E) = mean_i |y_i - a_i E|,    E_j a mean of samples of which none counts for more than 1 / p_j,

``p_j`` being a tenth of the samples that part j makes up.  It is archetypal analysis (Cutler & Breiman 1994) with
three changes.  The norm is not squared, so what a sample has of its own (noise, a variant of a part, an outlier) counts
little.  The trimming keeps a part from being more extreme than the mean of the most extreme tenth of its own samples:
rare parts are averaged over few samples and frequent ones over many.  And weights need not sum to one: what counts is a
sample's direction.  That parts lie among the samples bounds their cone, so there is no volume to weigh against the fit,
no threshold and no estimate of the noise in the weights; samples that are (nearly) pure are what it needs.

A step replaces, part by part, ``E_j`` by a mean of it and of the feasible mean that reaches farthest down the gradient
(Frank & Wolfe 1956), with the step that is best for the quadratic that bounds f from above; weights follow by
coordinate descent.  Neither raises f.  There are many minima: several starts compete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from partwise.algorithms.loop import Progress, Stages, State
from partwise.kernels.coordinate import descend_lanes
from partwise.linalg.svd import truncated_svd
from partwise.sources import RowSource, blocks
from partwise.sources.passes import ordered

Array = npt.NDArray[Any]

WIDE = 0.3  # share of a part's samples in its mean while searching: wider means have fewer false minima
NARROW = 0.1  # and at the end: the mean of the most extreme tenth
LEAST = 4  # samples in a mean at least, of parts with hardly any
DIMENSIONS = 3  # distances are taken in 3 k leading dimensions, and what is outside is added
SAMPLES = 20_000  # at most so many are looked at: a mean of a tenth of a part's is then known well enough
SKETCH = 2_500  # and so many while it is decided which starts are worth more
STARTS = 32
FIRST, SECOND, THIRD = 10, 10, 20  # steps: wide, narrow on the sketch, narrow on all
KEPT = 6  # minima of the sketch that are followed on all samples: their order there is decided by per mills
SAME = 3.0  # degrees within which all parts of two minima are the same
INNER, CLOSE = 3, 0.05
SWEEPS = 30  # over the weights in a step; they begin where they were
FIRST_SWEEPS = 60  # over weights that begin at zero
ROUNDED = 0.25  # of the median squared residual: the norm is rounded off below half of the typical residual


@dataclass(frozen=True)
class Directions:
    """Samples at unit length in the coordinates of their leading singular vectors.

    Attributes
    ----------
    points : ndarray of shape (n_points, d)
        The samples, or some of them.
    basis : ndarray of shape (d, n_features)
        Orthonormal.
    size : float
        Mean length of the samples.
    """

    points: Array
    basis: Array
    size: float

    def sketch(self, rng: np.random.Generator) -> Directions:
        """A few of the points."""
        n = len(self.points)
        if n <= SKETCH:
            return self
        some = np.sort(rng.choice(n, SKETCH, replace=False))
        return replace(self, points=self.points[some])


@dataclass(frozen=True)
class Minimum:
    """Parts in the coordinates of the directions, weights of all points, and the mean residual."""

    parts: Array
    weights: Array
    objective: float

    @property
    def mass(self) -> Array:
        """Share of each part in all points."""
        return shares(self.weights)


@dataclass(frozen=True)
class Search:
    """What the starts led to.

    Attributes
    ----------
    best : Minimum
        The one of least objective.
    moved : ndarray of shape (k,)
        By how many degrees each part moved when the trimming was narrowed: much, if no samples are pure.
    rival : float
        How much larger, relatively, the objective of the best other minimum is; infinite if there is none.
    """

    best: Minimum
    moved: Array
    rival: float


def find_directions(source: RowSource, k: int, *, squared_norm: float, rng: np.random.Generator) -> Directions:
    """The samples as directions.

    Parameters
    ----------
    source : RowSource
        The data.
    k : int
        Number of parts.
    squared_norm : float
        Squared Frobenius norm of the data.
    rng : numpy.random.Generator
        Randomness of the singular vectors, and which samples are looked at if there are many.

    Returns
    -------
    Directions
        In at most 3 k dimensions.
    """
    n, m = source.shape
    values, _ = truncated_svd(source, k, rng=rng)
    # the noise of a sample: samples of nothing else have no direction and are not drawn out to unit length
    noise = np.sqrt(max(squared_norm - float((values**2).sum()), 0.0) / n)
    lengths = np.asarray(source.map_rows(blocks.norms, width=None, dtype=np.float64))
    floor = max(noise, np.finfo(source.dtype).eps * lengths.max(initial=0.0), np.finfo(np.float64).tiny)
    unit = source.derive(blocks.scale_rows, 1.0 / np.maximum(lengths, floor))
    _, basis = truncated_svd(unit, min(DIMENSIONS * k, n, m), rng=rng)
    some = np.arange(n) if n <= SAMPLES else np.sort(rng.choice(n, SAMPLES, replace=False))
    Y = unit.take(some)
    points = np.ascontiguousarray(blocks.dot(Y, np.ascontiguousarray(basis.T, Y.dtype)), np.float64)
    # what lies outside is noise: directions are those inside, but for points that have next to nothing there
    inside, spread = np.linalg.norm(points, axis=1), np.linalg.eigvalsh(points.T @ points)[:-k]
    floor = max(np.sqrt(max(float(spread.sum()), 0.0) / len(points)), np.finfo(np.float64).eps)
    return Directions(points / np.maximum(inside, floor)[:, None], basis, float(lengths.mean()))


def search(data: Directions, k: int, rng: np.random.Generator) -> Search:
    """Descents from several starts: all on a sketch, the best different ones on all points."""
    sketch = data.sketch(rng)
    def down(E: Array) -> tuple[Minimum, Minimum]:
        wide = descend(sketch, _decoded(sketch, E), WIDE, FIRST)
        return wide, descend(sketch, wide, NARROW, SECOND)

    seeds = rng.spawn(STARTS)

    def begin(i: int) -> tuple[Minimum, Minimum]:
        return down(_apart(sketch.points, k, seeds[i]) if i % 2 else _start(sketch.points, k, seeds[i] if i else None))

    runs = sorted(ordered(begin, STARTS), key=_narrowed)
    several = _different(runs)

    def follow(i: int) -> Minimum:
        return descend(data, _decoded(data, several[i][1].parts), NARROW, THIRD)

    followed = list(ordered(follow, len(several)))
    order = np.argsort([one.objective for one in followed], kind="stable")
    best = followed[order[0]]
    others = [followed[i].objective / max(best.objective, np.finfo(float).tiny) - 1.0 for i in order[1:]
              if not _same(followed[i].parts, best.parts)]
    moved = np.diag(angles(several[order[0]][0].parts, best.parts))
    return Search(best, moved, min(others, default=np.inf))


def _narrowed(run: tuple[Minimum, Minimum]) -> float:
    return run[1].objective


def _different(runs: Sequence[tuple[Minimum, Minimum]]) -> list[tuple[Minimum, Minimum]]:
    kept: list[tuple[Minimum, Minimum]] = []
    for run in runs:
        if len(kept) < KEPT and not any(_same(run[1].parts, other[1].parts) for other in kept):
            kept.append(run)
    return kept


def _same(E: Array, F: Array) -> bool:
    return bool(angles(E, F).min(axis=1).max() < SAME)


def descend(data: Directions, at: Minimum, share: float, steps: int) -> Minimum:
    """Every part to the best place for given weights, then the weights; over and over.

    For given weights f is bounded above by a quadratic of the same curvature in all directions, so the best place is
    the feasible point next to where that quadratic is least.
    """
    E, A = at.parts.copy(), at.weights.copy()
    atoms = [e[None] for e in E]
    R, squares = _residual(data, E, A)
    for _ in range(steps):
        w = 1.0 / np.sqrt(squares + ROUNDED * np.median(squares) + np.finfo(float).tiny)
        counts = _counts(A, share)
        for j in range(len(E)):
            a = A[:, j]
            aw = a * w
            target = E[j] + (aw @ R) / max(float(aw @ a), np.finfo(float).tiny)
            atoms[j], new = nearest(data.points, target, counts[j], atoms[j])
            R -= np.outer(a, new - E[j])
            E[j] = new
        _sweep(data.points, E, A, SWEEPS)
        R, squares = _residual(data, E, A)
    return Minimum(E, A, float(np.sqrt(squares).mean()))


def nearest(points: Array, target: Array, count: int, atoms: Array) -> tuple[Array, Array]:
    """The feasible mean next to a point, among the mixtures of some extremes; and these."""
    E, atoms = _mixture(atoms, target)
    for _ in range(INNER):
        d = target - E
        far = extreme(points, d, count)
        if d @ (far - E) <= CLOSE * (d @ d):
            break
        E, atoms = _mixture(np.vstack([atoms, far]), target)
    return atoms, E


def _mixture(atoms: Array, target: Array) -> tuple[Array, Array]:
    """The mixture of rows that is next to a point, and the rows that are in it."""
    if len(atoms) == 1:
        return atoms[0], atoms
    heavy = 1e3  # of the condition that shares sum to one
    T = np.vstack([atoms.T, np.full((1, len(atoms)), heavy)])
    shares, _ = nnls(T, np.append(target, heavy))
    shares /= max(shares.sum(), np.finfo(float).tiny)
    used = shares > 0.0
    return shares @ atoms, atoms[used]


def extreme(points: Array, direction: Array, count: int) -> Array:
    """The mean of the `count` points that reach farthest: the feasible mean that does."""
    if count >= len(points):
        return np.asarray(points.mean(axis=0))
    return np.asarray(points[np.argpartition(points @ -direction, count - 1)[:count]].mean(axis=0))


def _start(points: Array, k: int, rng: np.random.Generator | None) -> Array:
    """Extremes outside the span of those before: towards the longest rest (SPA, smoothed), or in random directions."""
    E, N = np.zeros((k, points.shape[1])), np.eye(points.shape[1])
    count = _count(WIDE / k, len(points))
    for j in range(k):
        R = points @ N
        longest = np.argmax(blocks.squared_norms(R))
        u = R[longest] if rng is None else rng.standard_normal(len(N)) * R.std(axis=0)
        E[j] = extreme(points, N @ u, count)
        v = N @ E[j]
        N -= np.outer(v, v) / max(float(v @ v), np.finfo(float).tiny)
    return E


def _apart(points: Array, k: int, rng: np.random.Generator) -> Array:
    """Means around points picked in proportion to their squared distance from the cone of those before."""
    directions = points / np.maximum(np.linalg.norm(points, axis=1), np.finfo(float).tiny)[:, None]
    count = _count(NARROW / k, len(points))
    E: list[Array] = []
    while len(E) < k:
        squares = _squares(points, np.array(E)) if E else np.ones(len(points))
        E.append(extreme(points, directions[rng.choice(len(points), p=squares / squares.sum())], count))
    return np.array(E)


def _squares(points: Array, E: Array) -> Array:
    """Squared distances from a cone; never all zero."""
    A = np.zeros((len(points), len(E)))
    _sweep(points, E, A, FIRST_SWEEPS)
    return np.asarray(blocks.squared_norms(points - A @ E) + np.finfo(float).tiny)


def _decoded(data: Directions, E: Array) -> Minimum:
    A = np.zeros((len(data.points), len(E)))
    _sweep(data.points, E, A, FIRST_SWEEPS)
    return Minimum(E, A, np.nan)


def _sweep(points: Array, E: Array, A: Array, sweeps: int) -> None:
    descend_lanes(E @ E.T, points @ E.T, A, sweeps)


def _residual(data: Directions, E: Array, A: Array) -> tuple[Array, Array]:
    R = data.points - A @ E
    return R, blocks.squared_norms(R)


def _counts(A: Array, share: float) -> Array:
    return np.array([_count(share * mass, len(A)) for mass in shares(A)])


def _count(share: float, n: int) -> int:
    return min(max(LEAST, int(share * n)), n)


def shares(A: Array) -> Array:
    """Mean share of every part."""
    return np.asarray((A / np.maximum(A.sum(axis=1, keepdims=True), np.finfo(float).tiny)).mean(axis=0))


def angles(E: Array, F: Array) -> Array:
    """Degrees between the rows of two matrices."""
    lengths = np.linalg.norm(E, axis=1)[:, None] * np.linalg.norm(F, axis=1)
    return np.degrees(np.arccos(np.clip(E @ F.T / np.maximum(lengths, np.finfo(float).tiny), -1.0, 1.0)))
