"""What the samples say of parts that were found among them: how parts vary in them, and whether some are of no part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.archetypes import WIDE, counts_of
from partwise.algorithms.directions import Directions
from partwise.linalg.nnls import Gram, decode_block
from partwise.sources import blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

SEEN = 4  # samples for each direction outside the span, where the variation of a part is looked for
ROWS = 1000  # samples at a time: each has a small matrix
ROUNDED = 1e-6  # of the mean variance outside: directions with less are rounding
EXACTLY = 1e-12  # of the squared deviation inside, or length: what is less is rounding
OFF = 5.0  # times the typical distance from the span of the parts: like none of them


def unlike(data: Directions, E: Array) -> float:
    """Share of the samples that are `OFF` times as far from the span of the parts as the typical one, or farther.

    From the span: samples that are purer than the parts are far from their mixtures, too, where there is little noise.
    """
    Q = np.linalg.qr(E.T)[0]
    left = blocks.squared_norms(data.points - data.points @ Q @ Q.T)
    return float(np.mean(left > max(OFF**2 * float(np.median(left)), EXACTLY)))


@dataclass(frozen=True)
class Variation:
    """How parts vary from sample to sample: what that does inside their span is told by what it does outside.

    Attributes
    ----------
    parts : ndarray of shape (k, d)
        The parts, in the coordinates of the directions.
    basis : ndarray of shape (d, n_features)
        Of these.
    inside : ndarray of shape (d, k)
        Orthonormal: the span of the parts.
    outside : ndarray of shape (d, d - k)
        And what is beside it.
    covariances : ndarray of shape (k, d - k, d - k)
        Of what samples of each part alone are by outside.
    shared : ndarray of shape (k, d - k, k)
        Their covariances with what these samples differ by inside; zero where nothing is known of it.
    """

    parts: Array
    basis: Array
    inside: Array
    outside: Array
    covariances: Array
    shared: Array

    @property
    def told(self) -> bool:
        """Whether any part is seen to vary."""
        return bool(self.shared.any())

    def along(self, block: Block, basis: Array) -> Array:
        """What rows deviate by inside the span since their parts vary, in the coordinates of another basis.

        The best linear guess: what a sample has outside is shared among its parts by how much they vary there.
        """
        points = np.asarray(blocks.dot(block, np.ascontiguousarray(self.basis.T, block.dtype)), np.float64)
        own = np.square(_shares(decode_block(points, gram=Gram.of(self.parts, np.float64)), self.parts))
        beside, k = points @ self.outside, len(self.parts)
        guard = ROUNDED * np.trace(self.covariances.mean(axis=0)) / beside.shape[1] * np.eye(beside.shape[1])
        moved = np.empty((len(points), k))
        for first in range(0, len(points), ROWS):
            some = slice(first, first + ROWS)
            both = np.tensordot(own[some], self.covariances, axes=1) + guard
            told = np.linalg.solve(both, beside[some, :, None])[:, :, 0]
            moved[some] = np.einsum("ij,jil->il", own[some], told @ self.shared)
        return np.asarray(moved @ self.inside.T @ (self.basis @ basis.T), block.dtype)


def variation(data: Directions, E: Array, A: Array, trim: float) -> Variation:
    """How parts vary, from the samples that have most of each.

    A part that varies takes its samples out of the span of the parts and along it, both at once: the one tells the
    other, as far as a regression says.  What is mixed with other parts stays inside, and is not told by it.

    Parameters
    ----------
    E : ndarray of shape (k, d)
        The parts.
    A : ndarray of shape (n_points, k)
        Weights of the samples.
    trim : float
        Share of a part's samples that are looked at.

    Returns
    -------
    Variation
        Of parts that have too few samples to say, and of those whose samples are mixtures, none.
    """
    own = _shares(A, E)
    Q = np.linalg.qr(E.T, mode="complete")[0]
    inside, outside = Q[:, : len(E)], Q[:, len(E) :]
    beside = outside.shape[1]
    least = SEEN * max(beside, 1)
    covariances, shared = np.zeros((len(E), beside, beside)), np.zeros((len(E), beside, len(E)))
    seen = np.zeros(len(E), bool)
    for j, count in enumerate(counts_of(A, trim)):
        seen[j] = WIDE * count >= least
        if seen[j]:
            purest = data.points[np.argsort(-own[:, j], kind="stable")[: max(count, least)]]
            covariances[j], shared[j] = _together(purest @ inside, purest @ outside, E[j] @ inside)
    if seen.any():
        covariances[~seen] = covariances[seen].mean(axis=0)
    return Variation(E, data.basis, inside, outside, covariances, shared)


def _shares(A: Array, E: Array) -> Array:
    """Of each sample the share of every part, where all parts are equally long."""
    amounts = A * np.linalg.norm(E, axis=1)
    return np.asarray(amounts / np.maximum(amounts.sum(axis=1, keepdims=True), np.finfo(float).tiny))


def _together(inside: Array, outside: Array, part: Array) -> tuple[Array, Array]:
    """Covariance of what samples are by outside, and that with what they differ by inside, but for their size.

    The latter shrunk by what chance explains of a regression, so that nothing is left where nothing is there.
    """
    inside, outside = inside - inside.mean(axis=0), outside - outside.mean(axis=0)
    towards = part / max(float(np.linalg.norm(part)), np.finfo(float).tiny)
    inside = inside - np.outer(inside @ towards, towards)
    total, beside = float(np.square(inside).sum()), float(np.square(outside).sum())
    n, freedom = len(inside), len(inside) - 1 - outside.shape[1]
    covariance, shared = outside.T @ outside / n, outside.T @ inside / n
    if freedom < 1 or total == 0.0 or beside <= EXACTLY * total:
        return covariance, np.zeros_like(shared)
    found = np.linalg.lstsq(outside, inside, rcond=None)[0]
    left = float(np.square(inside - outside @ found).sum()) / total
    explained = max(1.0 - left * (n - 1) / freedom, 0.0)
    return covariance, shared * (explained / (1.0 - left) if explained else 0.0)
