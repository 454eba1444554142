"""ANLS: alternating exact non-negative least squares.

Kim & Park (2008), "Nonnegative matrix factorization based on alternating nonnegativity constrained least
squares and active set method".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from partwise.algorithms.engine import PLAIN, Factor, alternate, squared_error
from partwise.algorithms.engine.rows import solve_rows
from partwise.algorithms.loop import Progress, State
from partwise.sources import RowSource

Array = npt.NDArray[Any]


def anls(
    source: RowSource,
    H0: Array,
    *,
    squared_norm: float,
    weights: Any = None,
    on_W: Factor = PLAIN,
    on_H: Factor = PLAIN,
    state: State | None = None,
) -> Iterator[Progress]:
    """Iterations of ANLS from the components ``H0``; see :class:`partwise.ANLS` for the parameters.

    ``weights`` of samples or entries are those of :func:`partwise.algorithms.engine.squared_error`.
    """
    on_W.check("W", "ANLS")
    on_H.check("H", "ANLS")
    loss, beside = squared_error(source, squared_norm, weights)
    return alternate(source, H0, loss=loss, beside=beside, update=solve_rows, on_W=on_W, on_H=on_H, state=state)
