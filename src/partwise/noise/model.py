"""What the noise of a table is like, as facts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.noise.telling import sentence
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

COUNTS = ("poisson", "over-dispersed")  # the sizes of their noise are known from the counts themselves
# entries are independent of each other, and scales of rows and columns make their noise white
INDEPENDENT = ("white", "rows", "columns", "rows and columns", *COUNTS)
KINDS = ("none", *INDEPENDENT, "coloured", "heavy-tailed", "unclear")


@dataclass(frozen=True)
class NoiseKind:
    """What the noise of a table is like, without its scales.

    Attributes
    ----------
    kind : str
        ``"none"``; ``"white"``, ``"rows"``, ``"columns"`` or ``"rows and columns"``: independent entries of one
        size, or of a size that differs between rows, columns, both; ``"poisson"`` or ``"over-dispersed"``: counting
        noise, or more than that; ``"coloured"``: entries that depend on one another; ``"heavy-tailed"``: a few
        entries far off; ``"unclear"``: none of these fits.
    phi : float
        Extra dispersion of counts, whose variance is mean + phi mean²; 0 where there is none.
    colour : float
        How many times the first singular value behind the signal stands above the end of the Marchenko-Pastur law of
        the rest; about 1 for independent noise.
    direction : str
        Of coloured noise: ``"features"`` if the features of a sample depend on one another, ``"samples"`` if the
        samples do, ``"both"``, or empty if that cannot be said.
    misfit : float
        Kolmogorov's distance of the spectrum of the scaled rest from the law of Marchenko and Pastur, times the number
        of its singular values: 1.3 to 3 for independent noise.
    chance : float
        How often independent noise fits no better.
    tails : float
        Share of the entries of the scaled rest beyond six robust standard deviations; 2e-9 for normal noise, not
        looked for in counts.
    k : int
        Dimensions of the signal that were taken out.
    looked_at : tuple of int
        Rows and columns of the part of the table that this was read from.
    clipped : int
        How many entries are the largest value, where readings end there: more than four times as many as are the next
        one below; else 0. What a signal was beyond that is lost, and parts are bent to it.
    ceiling : float
        That value.
    clipped_features : tuple of int
        Features with most of these entries, at most ten.
    """

    kind: str
    phi: float
    colour: float
    direction: str
    misfit: float
    chance: float
    tails: float
    k: int
    looked_at: tuple[int, int]
    clipped: int
    ceiling: float
    clipped_features: tuple[int, ...]

    def facts(self) -> dict[str, Any]:
        """Numbers and words by name, for a manifest.

        Returns
        -------
        dict
            The attributes but for scales.
        """
        return {field.name: getattr(self, field.name) for field in fields(NoiseKind)}

    def __str__(self) -> str:
        return sentence(self)


@dataclass(frozen=True, eq=False)
class Noise(NoiseKind):
    """The noise of a table: its kind, its size from row to row and column to column, and how well that fits.

    Attributes
    ----------
    row_scale : ndarray of shape (n_samples,)
        ``X / (row_scale[:, None] * column_scale)`` has noise of variance one. Positive and finite, of empty rows too.
    column_scale : ndarray of shape (n_features,)
        The same of the columns.
    kind, phi, colour, direction, misfit, chance, tails, k, looked_at, clipped, ceiling, clipped_features
        See :class:`partwise.noise.NoiseKind`.
    """

    row_scale: Array
    column_scale: Array

    def scale(self, source: RowSource) -> RowSource:
        """The rows of ``source`` with noise of variance one; entries that are zero stay so.

        Parameters
        ----------
        source : RowSource
            The data that the noise was measured on.

        Returns
        -------
        RowSource
            The same rows, divided by ``row_scale`` and ``column_scale``.
        """
        factors = np.asarray(1.0 / self.column_scale)
        return source.derive(partial(_scaled, factors=factors), source.place(1.0 / self.row_scale))


def _scaled(block: Block, row_factors: Array, factors: Array) -> Block:
    return blocks.scale_columns(blocks.scale_rows(block, row_factors), factors)
