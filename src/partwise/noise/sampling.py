"""A small part of a table that shows its noise: at most a few hundred rows by a thousand columns, or the other way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.sources import RowSource, add, blocks, marks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]

# the spectrum of so many tells noise that differs by a sixth from row to row from noise that does not, in 0.1 s
SHORT, LONG = 300, 600
RUN = 8  # neighbours are taken together: where order has a meaning, noise depends on what is next to it
BESIDE = 4  # times as many as the dimensions of the signal, so that there is noise beside it
# where fewer entries than this are not zero, the fullest rows and columns are looked at: they have most to tell
DENSE = 0.3


@dataclass(frozen=True)
class Sample:
    """Some rows and columns of a table, none of them empty."""

    rows: Index
    columns: Index
    X: Array
    part: Block  # the rows with all of their columns


def draw(source: RowSource, rng: np.random.Generator, k: int | None = None) -> Sample:
    """Look at every entry once for what is there, and take a few rows and columns.

    Parameters
    ----------
    rng : numpy.random.Generator
        Which of them, if there are many.
    k : int, optional
        Dimensions of the signal.

    Returns
    -------
    Sample
        Possibly of no rows or columns, if nothing is there.
    """
    n, m = source.shape
    in_rows, in_columns = source.map_rows(_present, width=None, dtype=np.int64, combine=add)
    in_rows = np.asarray(in_rows)
    sparse = float(in_columns.sum()) < DENSE * n * m
    short, long = max(SHORT, BESIDE * (k or 0)), max(LONG, BESIDE * (k or 0))
    rows = _some(in_rows, short if n <= m else long, sparse, rng)
    columns = _some(in_columns, long if n <= m else short, sparse, rng)
    part = source.take(rows)
    X = np.asarray(blocks.to_dense(blocks.take_columns(part, columns)), np.float64)
    return Sample(rows, columns, X, part)


def distinct(sample: Sample, rng: np.random.Generator) -> Sample:
    """Without rows and columns that are constant or there already: a repeated row is not two of independent noise.

    Parameters
    ----------
    sample : Sample
        Rows and columns.
    rng : numpy.random.Generator
        Of the marks by which rows are compared.

    Returns
    -------
    Sample
        Some of them; all if nothing varies.
    """
    keep = _distinct(sample.X, rng)
    X = sample.X[keep]
    kept = _distinct(X.T, rng)
    if not len(kept):  # nothing varies
        return sample
    return Sample(sample.rows[keep], sample.columns[kept], np.ascontiguousarray(X[:, kept]), sample.part[keep])


def _present(block: Block) -> tuple[Array, Array]:
    there = blocks.with_values(block, (blocks.values(block) != 0).astype(np.float64))
    columns = blocks.tdot(there, np.ones((block.shape[0], 1)))[:, 0]
    return blocks.row_sums(there).astype(np.int64), columns.astype(np.int64)


def _some(present: Array, most: int, sparse: bool, rng: np.random.Generator) -> Index:
    """Numbers of at most so many that are not empty: any of them, or the fullest."""
    able = np.flatnonzero(present > 0)
    if len(able) <= most:
        return able
    if sparse:
        return np.sort(able[np.argsort(-present[able], kind="stable")[:most]])
    runs = rng.choice(len(able) // RUN, most // RUN, replace=False)
    return np.sort(able[(RUN * runs[:, None] + np.arange(RUN)).ravel()])


def _distinct(X: Array, rng: np.random.Generator) -> Index:
    """Rows that are not constant, the first of those that are alike."""
    found = marks.of_rows(X, marks.keys(rng, X.shape[1]))
    first = np.sort(np.unique(found, return_index=True)[1])
    return first[np.any(X[first] != X[first, :1], axis=1)]
