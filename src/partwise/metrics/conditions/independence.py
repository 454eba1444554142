"""Whether weights are independent of one another, as Purification assumes (Li, Liang & Risteski 2016, A2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr

from partwise.exceptions import InputError
from partwise.metrics.checks import Matrix, Vector, open_matrix
from partwise.metrics.conditions.table import Condition, ConditionTable
from partwise.sources import blocks, inspect
from partwise.sources.protocol import Block

EXPECTED = 5.0  # samples in which a pair is expected together, below which its sum is not nearly normal (Cochran 1954)


@dataclass(frozen=True, eq=False, repr=False)
class Independence(ConditionTable):
    """A test that weights are independent in pairs.

    Attributes
    ----------
    correlation : float
        The correlation of the pair that is least likely, of values or of presence.
    pair : tuple of int
        These two components.
    chance : float
        The probability of one as large or larger in any pair if the weights are independent (Bonferroni).
    level : float
        Below this chance independence is refuted.
    tested : int
        Number of pairs that could be tested.
    n_pairs : int
        Number of pairs.

    Examples
    --------
    >>> from partwise.metrics import independence
    >>> print(independence([[1, 0], [0, 1]] * 50))
    largest correlation         -1
    pairs tested                 1 >= 1          holds
    chance               6.096e-23 >= 0.01       fails
    """

    correlation: float
    pair: tuple[int, int]
    chance: float
    level: float
    tested: int
    n_pairs: int

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Pairs that are together too seldom to be tested leave it undecided, unless another pair refutes it."""
        refuted = self.chance < self.level
        return (
            Condition.quantity("largest correlation", self.correlation),
            Condition(
                "pairs tested", ">=", float(self.n_pairs), float(self.tested), self.tested == self.n_pairs or None
            ),
            Condition("chance", ">=", self.level, self.chance, not refuted),
        )


def independence(W: Any, *, level: float = 0.01) -> Independence:
    r"""Test whether weights are independent in pairs: part of Purification's assumption (A2) [1]_.

    For every pair of components, the correlations of their weights and of their presence (x > 0), each with each. If
    two weights are independent, whatever their laws, :math:`\sqrt N r` of N samples is nearly a standard normal
    number. The chance of the largest is multiplied by the number of correlations (Bonferroni), which no dependence
    among them makes wrong. Dependence that shows in no pair, such as a parity, is not found, and neither is one of the
    order :math:`1/\sqrt N`.

    Parameters
    ----------
    W : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_components)
        Weights, one sample a row. Decoded weights of a model are not independent where its components are wrong.
    level : float, default=0.01
        How rarely independent weights are to be taken for dependent.

    Returns
    -------
    Independence
        The least likely pair and its chance.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery Guarantee of Non-negative Matrix Factorization via Alternating
       Updates", NIPS 2016, Assumption (A2).

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.metrics import independence
    >>> rng = np.random.default_rng(0)
    >>> free, summing_to_one = rng.random((1000, 5)), rng.dirichlet(np.ones(5), 1000)
    >>> independence(free).holds, independence(summing_to_one).holds
    (True, False)
    """
    if not 0.0 < level < 1.0:
        raise InputError(f"level={level!r} is a probability: give a number between 0 and 1.", parameter="level")
    source = open_matrix("W", W)
    inspect(source).check(allow_negative=True, name="W", squares=False)
    n, k = source.shape
    mean = source.reduce(_sums_block) / n
    covariance = source.reduce(partial(_products_block, mean=mean)) / n
    deviations = np.sqrt(covariance.diagonal())
    varies = deviations > n * np.finfo(float).eps * np.abs(mean)  # what rounding of the mean leaves of a constant
    deviations[~varies] = 1.0
    r = covariance / np.outer(deviations, deviations)
    r, possible = r.reshape(2, k, 2, k), np.outer(varies, varies).reshape(2, k, 2, k)
    present, i, j = mean[k:], *np.triu_indices(k, 1)
    together = (n * np.outer(present, present) >= EXPECTED)[i, j]
    r = r[:, i, :, j].transpose(1, 2, 0).reshape(4, -1)
    usable = possible[:, i, :, j].transpose(1, 2, 0).reshape(4, -1) & together
    if not usable.any():
        return Independence(0.0, (0, 0), 1.0, level, 0, len(i))
    worst, at = np.unravel_index(np.argmax(np.where(usable, np.abs(r), -1.0)), r.shape)
    largest = float(r[worst, at])
    chance = float(usable.sum() * 2.0 * ndtr(-np.sqrt(n) * abs(largest)))
    tested = int(usable.any(axis=0).sum())
    return Independence(largest, (int(i[at]), int(j[at])), min(1.0, chance), level, tested, len(i))


def _sums_block(block: Block) -> Vector:
    return np.asarray(sum(both.sum(axis=0) for both in _values_and_presence(block)))


def _products_block(block: Block, mean: Vector) -> Matrix:
    """Sums of products about the means: large means do not cancel."""
    return np.asarray(sum((both - mean).T @ (both - mean) for both in _values_and_presence(block)))


def _values_and_presence(block: Block) -> Iterator[Matrix]:
    for a, b in blocks.row_chunks(block):
        x = blocks.to_dense(block[a:b]).astype(np.float64, copy=False)
        yield np.hstack([x, x > 0.0])
