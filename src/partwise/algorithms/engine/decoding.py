"""Weights under a constraint, for given components: every row's problem solved by the constraint itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine.factor import Factor
from partwise.algorithms.engine.rows import solve_rows
from partwise.algorithms.engine.squared import SquaredError
from partwise.sources import blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]


def constrained_weights(block: Block, *entries: Block, H: Array, loss: SquaredError, on_W: Factor) -> Array:
    """The weights of a block of rows; ``H`` comes transposed, ``loss`` says what is known and counts."""
    W = np.full((block.shape[0], H.shape[1]), 1.0 / H.shape[1], H.dtype)
    shared = loss.shared(H)
    for rows, part in blocks.row_parts(block):
        w = W[rows]
        G, B = loss.row_problem(part, H, shared, *(M[rows] for M in entries))
        on_W.constraint.apply(solve_rows, *on_W.problem(G, np.array(B), w), w)
        W[rows] = w
    return W.astype(block.dtype, copy=False)
