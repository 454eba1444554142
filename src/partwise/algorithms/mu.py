"""MU: multiplicative updates for the Frobenius norm, Kullback-Leibler and any beta-divergence.

Lee & Seung (2001), "Algorithms for non-negative matrix factorization" (the updates in Hsu's lecture, section
2); Févotte & Idier (2011), "Algorithms for NMF with the beta-divergence" (the exponent that makes them
monotone).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from partwise.algorithms.engine import PLAIN, Divergence, Factor, Observed, alternate, multiply, squared_error
from partwise.algorithms.engine.entries import loss_of
from partwise.algorithms.engine.multiplicative import given_start
from partwise.algorithms.engine.rows import multiply_rows
from partwise.algorithms.loop import Progress, State
from partwise.linalg.reweighed import Loss
from partwise.sources import RowSource

Array = npt.NDArray[Any]


def mu(
    source: RowSource,
    H0: Array,
    *,
    squared_norm: float,
    W0: Array | None = None,
    decode: Any = None,
    weights: Any = None,
    beta: float = 2.0,
    named: Loss | None = None,
    on_W: Factor = PLAIN,
    on_H: Factor = PLAIN,
    state: State | None = None,
) -> Iterator[Progress]:
    """Iterations of MU from the components ``H0``, and weights ``W0``; see :class:`partwise.MU` for the parameters.

    Without ``W0`` weights are those of the block function ``decode``, or equal.  ``weights`` (of the data) are those of
    :func:`partwise.algorithms.engine.squared_error`; ``named`` is a loss by name and number, in the place of ``beta``.
    """
    on_W.check("W", "MU", additive=False)
    on_H.check("H", "MU", additive=False)
    observed = Observed.of(weights)
    # l1 belongs to the positive part of the gradient: taken from the other, it made zeros that no update leaves
    linear = on_W.elastic["l1"] or on_H.elastic["l1"]
    if named is not None or beta != 2.0 or linear or observed.holes or observed.entries is not None:
        loss = Divergence(beta, observed) if named is None else loss_of(named, observed)
        return multiply(source, H0, W0=W0, decode=decode, loss=loss, on_W=on_W, on_H=on_H, state=state)
    # on sufficient statistics: a pass reads X once and never forms W H
    squared, beside = squared_error(source, squared_norm, observed)
    how: dict[str, Any] = {"loss": squared, "beside": beside, "update": multiply_rows, "on_W": on_W, "on_H": on_H}
    if state is not None:
        return alternate(source, H0, **how, state=state)
    H, W = given_start(source, H0, W0, on_H, decode, observed)
    return alternate(source, H.T, W0=W, **how)
