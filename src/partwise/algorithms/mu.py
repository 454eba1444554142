"""MU: multiplicative updates for the Frobenius norm, Kullback-Leibler and any beta-divergence.

Lee & Seung (2001), "Algorithms for non-negative matrix factorization" (the updates in Hsu's lecture, section
2); Févotte & Idier (2011), "Algorithms for NMF with the beta-divergence" (the exponent that makes them
monotone).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from partwise.algorithms.engine import PLAIN, Divergence, Factor, alternate, multiply, squared_error
from partwise.algorithms.engine.rows import multiply_rows
from partwise.algorithms.loop import Progress, State
from partwise.sources import RowSource

Array = npt.NDArray[Any]


def mu(
    source: RowSource,
    H0: Array,
    *,
    squared_norm: float,
    W0: Array | None = None,
    beta: float = 2.0,
    on_W: Factor = PLAIN,
    on_H: Factor = PLAIN,
    state: State | None = None,
) -> Iterator[Progress]:
    """Iterations of MU from the components ``H0``, and weights ``W0``; see :class:`partwise.MU` for the parameters."""
    on_W.check("W", "MU", additive=False)
    on_H.check("H", "MU", additive=False)
    if beta != 2.0:
        return multiply(source, H0, W0=W0, loss=Divergence(beta), on_W=on_W, on_H=on_H, state=state)
    # on sufficient statistics: a pass reads X once and never forms W H
    loss, _ = squared_error(source, squared_norm)
    return alternate(
        source, H0, W0=W0, loss=loss, update=multiply_rows, on_W=on_W, on_H=on_H, positive_start=True, state=state
    )
