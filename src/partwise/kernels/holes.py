"""Holes of dense blocks: NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.kernels._jit import jit

Array = npt.NDArray[np.floating[Any]]


@jit
def put_known(X: Array, Y: Array) -> None:
    """Put the numbers of ``X`` into ``Y``, which keeps its own where ``X`` has NaN."""
    for i in range(X.shape[0]):
        x = X[i]
        y = Y[i]
        for j in range(X.shape[1]):
            y[j] = x[j] if x[j] == x[j] else y[j]
