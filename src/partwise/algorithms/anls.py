"""ANLS: alternating exact non-negative least squares.

Kim & Park (2008), "Nonnegative matrix factorization based on alternating nonnegativity constrained least
squares and active set method".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from partwise.algorithms.engine import PLAIN, Factor, alternate, squared_error
from partwise.algorithms.engine.alternating import given_weights
from partwise.algorithms.engine.rows import solve_rows
from partwise.algorithms.loop import Progress, State
from partwise.sources import RowSource

Array = npt.NDArray[Any]


def anls(
    source: RowSource,
    H0: Array,
    *,
    squared_norm: float,
    W0: Array | None = None,
    weights: Any = None,
    on_W: Factor = PLAIN,
    on_H: Factor = PLAIN,
    state: State | None = None,
) -> Iterator[Progress]:
    """Iterations of ANLS from the components ``H0``; see :class:`partwise.ANLS` for the parameters.

    ``W0`` are weights to start with, by default the best ones; ``weights`` of samples or entries are those of
    :func:`partwise.algorithms.engine.squared_error`.
    """
    on_W.check("W", "ANLS")
    on_H.check("H", "ANLS")
    loss, beside = squared_error(source, squared_norm, weights)
    how: dict[str, Any] = {"loss": loss, "beside": beside, "update": solve_rows, "on_W": on_W, "on_H": on_H}
    return alternate(source, H0, W0=None if W0 is None else given_weights(source, W0), **how, state=state)
