"""ANLS: alternating exact non-negative least squares.

Kim & Park (2008), "Nonnegative matrix factorization based on alternating nonnegativity constrained least
squares and active set method".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.alternating import NO_PENALTY, Penalty, alternate, natural_residual
from partwise.algorithms.loop import Progress, State
from partwise.linalg.nnls import solve
from partwise.sources import RowSource

Array = npt.NDArray[Any]


def anls(
    source: RowSource,
    H0: Array,
    *,
    squared_norm: float,
    W_penalty: Penalty = NO_PENALTY,
    H_penalty: Penalty = NO_PENALTY,
    state: State | None = None,
) -> Iterator[Progress]:
    """Iterations of ANLS from the components ``H0``; see :class:`partwise.ANLS` for the parameters."""
    return alternate(
        source,
        H0,
        update_W=solve_rows,
        update_H=solve_rows,
        squared_norm=squared_norm,
        W_penalty=W_penalty,
        H_penalty=H_penalty,
        state=state,
    )


def solve_rows(G: Array, B: Array, W: Array) -> float:
    """The exact minimiser for every row, in place."""
    residual = natural_residual(G, B, W)
    norms = np.sqrt(np.diag(G).astype(np.float64))
    norms[norms == 0.0] = 1.0
    unit = G / np.outer(norms, norms)
    np.fill_diagonal(unit, (np.diag(G) > 0.0).astype(np.float64))
    W[:] = solve(unit, B / norms, W * norms)[0] / norms
    return residual
