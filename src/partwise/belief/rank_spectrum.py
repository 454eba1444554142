"""What the leading singular values of scaled data say: how many stand above noise, and how far.

Where the noise is independent and of variance one, the number of values above its edge is the number of parts that can
be seen at all (Kritchman & Nadler 2008; Gavish & Donoho 2014); a part that is just below is not seen by anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.linalg.svd import truncated_svd
from partwise.noise.spectrum import CAP, edge
from partwise.sources import RowSource, add, blocks, inspect
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

FIRST = 40  # singular values that are looked at; twice as many, as long as all of them stand above noise,
MOST = 160  # but no more than these: nobody looks at so many parts
# A direction of one feature that so few samples have is no part, but a rare count that its own scale has blown up.
ONE, FEW = 2.0, 10.0
SETTLED = 1e-4  # relative change at which they are known: far less than their own chance


@dataclass(frozen=True)
class Leading:
    """The leading singular values of scaled data, falling, and the squared norm of all of it."""

    values: Array
    squared_norm: float
    shape: tuple[int, int]

    @property
    def most(self) -> int:
        """The largest number of parts that these values can speak of."""
        return max(min(len(self.values) - 1, int(CAP * min(self.shape))), 0)

    def variance(self, k: int) -> float:
        """Variance of an entry of what ``k`` directions leave."""
        n, m = self.shape
        left = self.squared_norm - float((self.values[:k] ** 2).sum())
        return max(left, 0.0) / max((n - k) * (m - k), 1)

    def explained(self, k: int) -> float:
        """Share of the squares that ``k`` directions explain, which ``k`` parts cannot exceed."""
        if self.squared_norm <= 0.0:
            return 1.0
        return min(float((self.values[:k] ** 2).sum()) / self.squared_norm, 1.0)

    def count(self) -> int:
        """Directions above the edge of noise as large as what they leave: the last above, not the first below."""
        n, m = self.shape
        above = [r for r in range(self.most) if self.values[r] ** 2 > self.variance(r) * edge(n - r, m - r)]
        return above[-1] + 1 if above else 0

    def strength(self, k: int) -> float:
        """The k-th value with the noise taken out of it, over the least that rises above noise at all; 0 of none.

        A signal of singular value x appears at y with y² = (x² + n)(x² + m) / x² beside white noise (Benaych-Georges
        & Nadakuditi 2012), and not at all for x⁴ <= n m.
        """
        n, m = self.shape
        if k < 1:
            return 0.0
        left = self.variance(k)
        if left <= np.finfo(np.float64).eps * self.squared_norm / (n * m):
            return np.inf
        d = float(self.values[k - 1]) ** 2 / left - n - m
        squared = (d + np.sqrt(max(d * d - 4.0 * n * m, 0.0))) / 2.0
        return float(np.sqrt(max(squared, 0.0)) / (n * m) ** 0.25)

    def rank(self, tolerance: float) -> int:
        """Directions that leave no more than this, relative to the norm of all."""
        size = max(self.squared_norm, np.finfo(np.float64).tiny)
        tails = np.maximum(self.squared_norm - np.cumsum(self.values**2), 0.0)
        return int((np.sqrt(np.append(self.squared_norm, tails[:-1]) / size) > tolerance).sum())


def leading(source: RowSource, rng: np.random.Generator, first: int = FIRST, *, noisy: bool = True) -> Leading:
    """Leading singular values: as many as stand above noise, and some more.

    Parameters
    ----------
    source : RowSource
        Rows whose noise has variance one, or any.
    noisy : bool
        Whether there is noise, beside which a direction of one feature and a few samples is none.
    """
    smallest = min(source.shape)
    squared_norm = inspect(source).squared_norm
    wanted = min(first, smallest)
    while True:
        values, vectors = truncated_svd(source, wanted, rng=rng, tol=SETTLED)
        alone = _alone(source, vectors) if noisy else np.zeros(len(values), bool)
        found = Leading(values[~alone], squared_norm - float((values[alone] ** 2).sum()), source.shape)
        if found.count() < found.most or wanted >= min(MOST, int(CAP * smallest) + 1, smallest):
            return found
        wanted = min(2 * wanted, MOST, smallest)


def _alone(source: RowSource, vectors: Array) -> npt.NDArray[np.bool_]:
    """Which directions rest on one feature and a few samples, by their participation numbers, 1 / sum u⁴."""
    alone: npt.NDArray[np.bool_] = (vectors**4).sum(axis=1) > 1.0 / ONE
    if alone.any():
        V = np.ascontiguousarray(vectors[alone].T, source.dtype)
        squares, fourths = source.reduce(partial(_moments, V=V), combine=add)
        alone[alone] = fourths > squares**2 / FEW
    return alone


def _moments(block: Block, V: Array) -> tuple[Array, Array]:
    squares = np.square(blocks.dot(block, V), dtype=np.float64)
    return squares.sum(axis=0), (squares**2).sum(axis=0)


def held_out(source: RowSource, most: int, rng: np.random.Generator) -> Array:
    """Errors of entries that were left out, relative to their size, for 0, 1, ... directions: bi-cross-validation.

    Rows and columns are halved.  Of the four blocks one, A, is left out, and its neighbours B (same rows), C (same
    columns) and the opposite one, D, predict it: A ~ B V_k S_k⁻¹ U_k' C, with D ~ U_k S_k V_k' (Owen & Perry 2009).

    Parameters
    ----------
    source : RowSource
        Rows whose noise has variance one, or any.
    rng : numpy.random.Generator
        Which rows and columns.

    Returns
    -------
    ndarray of shape (at most most + 1,)
        Mean squared errors over the mean square.
    """
    n, m = source.shape
    rows = np.zeros(n, bool)
    rows[rng.permutation(n)[: n // 2]] = True
    columns = rng.permutation(m)
    a, b = np.sort(columns[: m // 2]), np.sort(columns[m // 2 :])
    errors = [_predicted(source, *fold, most, rng) for fold in ((rows, a, b), (~rows, b, a))]
    length = min(len(error) for error in errors)
    return np.asarray(np.mean([error[:length] for error in errors], axis=0))


def _predicted(
    source: RowSource, out: npt.NDArray[np.bool_], a: Array, b: Array, most: int, rng: np.random.Generator
) -> Array:
    """The fold in which rows ``out`` of columns ``a`` are left out."""
    rest = source.choose(~out)
    D = rest.derive(partial(blocks.take_columns, columns=b), n_features=len(b))
    k = min(most, *D.shape)
    s, V = truncated_svd(D, k, rng=rng, tol=SETTLED)
    k = int((s > np.finfo(np.float64).eps * max(D.shape) * s.max(initial=0.0)).sum())
    # S⁻¹ U' C with U = D V' S⁻¹
    M = rest.reduce(partial(_cross, a=a, b=b, V=np.ascontiguousarray(V[:k].T))) / np.maximum(s[:k, None] ** 2, 1e-300)
    size, along, G = source.choose(out).reduce(
        partial(_errors, a=a, b=b, V=np.ascontiguousarray(V[:k].T), M=np.ascontiguousarray(M.T)), combine=add
    )
    N = G * (M @ M.T)
    squares = np.array([N[:r, :r].sum() for r in range(k + 1)])
    errors = size - 2.0 * np.append(0.0, np.cumsum(along)) + squares
    return np.asarray(errors / max(size, np.finfo(np.float64).tiny))


def _cross(block: Block, a: Array, b: Array, V: Array) -> Array:
    Z = blocks.dot(blocks.take_columns(block, b), V.astype(block.dtype))
    return np.asarray(blocks.tdot(blocks.take_columns(block, a), Z), np.float64).T


def _errors(block: Block, a: Array, b: Array, V: Array, M: Array) -> tuple[float, Array, Array]:
    """Squared size of what is left out, its product with the prediction of each direction, and their Gram matrix."""
    A = blocks.take_columns(block, a)
    Z = np.asarray(blocks.dot(blocks.take_columns(block, b), V.astype(block.dtype)), np.float64)
    T = np.asarray(blocks.dot(A, M.astype(block.dtype)), np.float64)
    return float(blocks.squared_norms(A).sum()), (Z * T).sum(axis=0), Z.T @ Z
