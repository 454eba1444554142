"""Condition D4 of the Dominant NMF model: the largest mean noise over many records, between two bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from partwise.exceptions import InputError
from partwise.metrics.checks import Matrix, Vector
from partwise.metrics.conditions.normalization import Normalize, check_shares, normalize_factors, weights_of
from partwise.metrics.conditions.table import SLACK, Condition, ConditionTable
from partwise.sources import RowSource, blocks, inspect, source_of
from partwise.sources.protocol import Block

CHUNK = 1 << 22  # numbers of a few columns of the noise that are held at once: 32 MB
# of _norms: too small with probability ODDS**-PROBES = 1e-12, and too large by 5 to 10% after so many POWERS
PROBES, POWERS, ODDS = 12, 20, 10.0


@dataclass(frozen=True, eq=False, repr=False)
class HeavyNoise(ConditionTable):
    """The largest mean noise over many records, of condition D4, between two bounds.

    Attributes
    ----------
    eps4 : float
        The constant: the sets T have at least ``eps4 * n_samples`` records, and the bound is its square; or itself.
    size : int
        The smallest number of records.
    lower : float
        The largest mean noise that the search found.
    upper : float
        More than it cannot be.
    sampled : float
        The largest over random sets, where the search began.
    least_lower : float
        With an eps4 below this D4 (equation 3) fails.
    least_upper : float
        With any above it holds; infinite if no eps4 up to 1 can be shown to do.
    equation : {2, 3}
        Which is checked: 3, that of D4, or 2, whose bound is eps4 itself.
    """

    eps4: float
    size: int
    lower: float
    upper: float
    sampled: float
    least_lower: float
    least_upper: float
    equation: Literal[2, 3] = 3

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """D4 (or equation 2), of the largest that was found and of the bound: between them nothing is known."""
        name, asked = ("D4", self.eps4**2) if self.equation == 3 else ("(2)", self.eps4)
        found = Condition.check(f"{name} noise found", "<=", asked, self.lower)
        bound = Condition.check(f"{name} noise bound", "<=", asked, self.upper)
        return found, bound if bound.holds or not found.holds else bound._replace(holds=None)


def heavy_noise(
    X: Any,
    W: Any = None,
    H: Any = None,
    *,
    eps4: float = 0.05,
    equation: Literal[2, 3] = 3,
    normalize: Normalize = "rows",
    n_starts: int = 20,
    random_state: int | np.random.Generator | None = 0,
) -> HeavyNoise:
    r"""Bounds of the largest mean noise over many records: condition D4, equation 3 [1]_, or equation 2.

    D4 asks for

    .. math:: \frac{1}{|T|} \Big\| \sum_{j \in T} N_{\cdot,j} \Big\|_1 \le \varepsilon_4^2
              \text{ for all } T, |T| \ge \varepsilon_4 n,

    and equation 2, of which Lemmas 1 to 4 are (`heavy_noise_levels`), for :math:`\varepsilon` in place of both.

    Sets of the smallest size t are enough: the mean over a larger set is the mean of those over its subsets of size t,
    and a norm is convex. The largest is

    - at least what a search finds. The norm of a sum is :math:`\max_s \sum_{j \in T} s \cdot N_{\cdot,j}` over vectors
      s of signs; the best s for T and the best T for s (the t largest :math:`s \cdot N_{\cdot,j}`) are found in turn,
      each of which can only increase it, until none does;
    - at most the mean of the t largest norms of records; the sum over features of the largest mean of t entries;
      and, for any positive d, :math:`\|d\|_2 \|\mathrm{diag}(d)^{-1} N\|_2 / \sqrt{t}` (Cauchy and Schwarz), where d is
      1, the norms of the features or their roots. The last needs a spectral norm, which is bounded by 12 random
      vectors and 20 powers [2]_: 5 to 10% too large, and too small with probability 1e-12. The least is taken.

    Parameters
    ----------
    X : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_features)
        The data, if ``H`` is given: the noise is X - W H, of which only a few columns are made at a time. Otherwise
        the noise itself, of a model that is normalised.
    W : array-like of shape (n_samples, n_components), optional
        Weights; by default the non-negative least squares ones of ``X``.
    H : array-like of shape (n_components, n_features) or fitted estimator, optional
        Components.
    eps4 : float, default=0.05
        The constant; the eps of equation 2.
    equation : {2, 3}, default=3
        Which of them.
    normalize : {"rows", "common", None}, default="rows"
        What the noise of each record is divided by, along with its weights; see `normalize_factors`. Needs ``H``.
    n_starts : int, default=20
        Number of random sets, and of random records, from which the search begins.
    random_state : int, numpy.random.Generator or None, default=0
        Where they come from.

    Returns
    -------
    HeavyNoise
        Both bounds, and which eps4 the noise would allow.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Section 3, D4.
    .. [2] N. Halko, P.-G. Martinsson, J. A. Tropp, "Finding structure with randomness", SIAM Review 53 (2), 2011,
       Lemma 4.1.

    Examples
    --------
    >>> from partwise.metrics import heavy_noise
    >>> heavy_noise([[0.2, -0.2], [-0.2, 0.2], [0.2, 0.2], [-0.2, -0.2]], eps4=0.5)
    HeavyNoise:
    D4 noise found        0.2 <= 0.25       holds
    D4 noise bound        0.4 <= 0.25       undecided
    """
    if H is not None:
        B, C, scales = normalize_factors(H, weights_of(W, H, X), normalize)
    elif W is not None:
        raise InputError("W is given without H: give both, or the noise alone.", parameter="W")
    else:  # a sum of no components
        n, m = source_of(X).shape
        B, C, scales = np.zeros((0, m)), np.zeros((n, 0)), np.ones(n)
    if equation not in (2, 3):
        raise InputError(f"equation={equation!r} is not about noise: give 2 or 3.", parameter="equation")
    return replace(noise_bounds(Noise.of("X", X, C, B, scales), eps4, n_starts, random_state), equation=equation)


def noise_bounds(
    noise: Noise, eps4: float, n_starts: int, random_state: int | np.random.Generator | None
) -> HeavyNoise:
    check_shares(eps4=eps4)
    if n_starts < 1:
        raise InputError(f"n_starts={n_starts!r}: the search needs at least one start.", parameter="n_starts")
    rng = np.random.default_rng(random_state)
    size = max(1, int(np.ceil(eps4 * noise.shape[0] * (1.0 - SLACK))))
    sampled, lower = _search(noise, size, n_starts, rng)
    upper = _upper_bounds(noise, rng)
    return HeavyNoise(
        eps4=eps4,
        size=size,
        lower=float(lower[size - 1]),
        upper=float(upper[size - 1]),
        sampled=sampled,
        least_lower=_least_eps4(lower),
        least_upper=_least_eps4(upper),
    )


@dataclass(frozen=True, eq=False)
class Noise:
    """``X / scales - W H`` by its products, so that it need not be made as a whole."""

    source: RowSource
    W: Matrix
    H: Matrix
    scales: Vector

    @classmethod
    def of(cls, name: str, X: Any, W: Matrix, H: Matrix, scales: Vector) -> Noise:
        source = source_of(X)
        shape, product = tuple(source.shape), (len(W), H.shape[1])
        if shape != product or 0 in shape:
            raise InputError(
                f"{name} has shape {shape} and W H has {product}: they must be the same and not empty.", parameter=name
            )
        inspect(source).check(allow_negative=True, name=name)
        return cls(source, W, H, scales)

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    def dot(self, V: Matrix) -> Matrix:
        fn = partial(_dot_block, V=V, HV=self.H @ V)
        return np.asarray(self.source.map_rows(fn, self.W, self.scales, width=V.shape[1], dtype=np.float64))

    def tdot(self, Z: Matrix) -> Matrix:
        return np.asarray(self.source.reduce(blocks.tdot, Z / self.scales[:, None]) - self.H.T @ (self.W.T @ Z))

    def columns(self, a: int, b: int) -> Matrix:
        fn = partial(_columns_block, a=a, b=b, H=self.H[:, a:b])
        return np.asarray(self.source.map_rows(fn, self.W, self.scales, width=b - a, dtype=np.float64))


def _dot_block(block: Block, W: Matrix, scales: Vector, *, V: Matrix, HV: Matrix) -> Matrix:
    return blocks.dot(block, V) / scales[:, None] - W @ HV


def _columns_block(block: Block, W: Matrix, scales: Vector, *, a: int, b: int, H: Matrix) -> Matrix:
    return blocks.to_dense(block[:, a:b]) / scales[:, None] - W @ H


def _search(noise: Noise, size: int, n_starts: int, rng: np.random.Generator) -> tuple[float, Vector]:
    """Return the largest mean noise of random sets, and of what a search from them finds, for all sizes 1, 2, ..."""
    n = noise.shape[0]
    # single records lead to others than sets do, and to better ones if sets are small
    first = [_largest(rng.random((n, n_starts)), number) for number in (size, 1)]
    sums = noise.tdot(np.hstack(first))
    sampled = float(np.abs(sums[:, :n_starts]).sum(axis=0).max() / size)
    values, last = np.zeros(2 * n_starts), np.full(2 * n_starts, -1.0)
    while (values > last * (1.0 + SLACK)).any():
        # with s the signs of the sum over T: |sum over T|_1 = sum over T of s.N_j <= sum over T' of s.N_j
        # <= |sum over T'|_1 for the T' of the largest s.N_j, so values never fall
        scores = noise.dot(np.where(sums < 0.0, -1.0, 1.0))
        sums = noise.tdot(_largest(scores, size))
        values, last = np.abs(sums).sum(axis=0), values
    # the signs are good for other sizes as well: any give a lower bound
    ranked = np.cumsum(np.sort(scores, axis=0)[::-1], axis=0).max(axis=1)
    return sampled, np.maximum(ranked, 0.0) / np.arange(1, n + 1)


def _largest(scores: Matrix, size: int) -> Matrix:
    """Return 1 for the ``size`` largest of each column, 0 for others."""
    chosen = np.zeros(scores.shape)
    np.put_along_axis(chosen, np.argpartition(-scores, size - 1, axis=0)[:size], 1.0, axis=0)
    return chosen


def _upper_bounds(noise: Noise, rng: np.random.Generator) -> Vector:
    """Return bounds on the largest mean noise over sets of 1, 2, ... records."""
    n, m = noise.shape
    features, lengths, squares = np.zeros(n), np.zeros(n), np.zeros(m)
    step = max(1, CHUNK // n)
    for a in range(0, m, step):
        N = np.ascontiguousarray(noise.columns(a, min(a + step, m)).T)
        lengths += np.abs(N).sum(axis=0)
        squares[a : a + step] = np.vecdot(N, N)
        N.sort(axis=1)
        features += np.maximum(N[:, ::-1].cumsum(axis=1), -N.cumsum(axis=1)).sum(axis=0)
    records = np.cumsum(np.sort(lengths)[::-1])
    d = np.sqrt(squares)[:, None] ** [0.0, 0.5, 1.0]
    spectral = (np.linalg.norm(d, axis=0) * _norms(noise, d, rng)).min()
    sizes = np.arange(1, n + 1)
    return np.asarray(np.minimum(np.minimum(features, records), spectral * np.sqrt(sizes)) / sizes)


def _norms(noise: Noise, d: Matrix, rng: np.random.Generator) -> Vector:
    """Return upper bounds of the spectral norms of the noise with features divided by each column of ``d``.

    With r Gaussian vectors v, |A| <= a sqrt(2/pi) max |A v| except with probability a**-r. A is a power of the Gram
    matrix, so that a root is taken of the factor.
    """
    inverse = np.repeat(np.divide(1.0, d, out=np.zeros_like(d), where=d > 0.0), PROBES, axis=1)
    V = rng.standard_normal(inverse.shape)
    logs = np.zeros(V.shape[1])
    with np.errstate(divide="ignore"):  # without noise, log(0)
        for _ in range(POWERS):
            V = noise.tdot(noise.dot(V * inverse)) * inverse
            lengths = np.linalg.norm(V, axis=0)
            logs += np.log(lengths)
            V /= np.where(lengths > 0.0, lengths, 1.0)
    largest = logs.reshape(-1, PROBES).max(axis=1)
    return np.asarray(np.exp((np.log(ODDS * np.sqrt(2.0 / np.pi)) + largest) / (2.0 * POWERS)))


def _least_eps4(means: Vector) -> float:
    """Return the smallest eps4 whose square is at least the mean noise, given for sets of 1, 2, ... records."""
    n = len(means)
    # eps4 in (t-1, t] / n stands for sets of t; means fall with t, so the first t that can do is the answer
    enough = np.flatnonzero(np.sqrt(means) <= np.arange(1, n + 1) / n)
    return max(float(np.sqrt(means[enough[0]])), float(enough[0]) / n) if enough.size else float("inf")
