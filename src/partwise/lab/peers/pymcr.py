"""pyMCR: alternating least squares of chemistry."""

from __future__ import annotations

from typing import Any

from partwise.lab.peers.base import Factors, peer

ENTRIES = 5_000_000  # it is slow, and makes sparse data dense


def mcr(X: Any, k: int, seed: int) -> Factors:
    """MCR-ALS with its defaults; it has no start of its own, so random samples are one."""
    import numpy as np
    from pymcr.mcr import McrAR

    start = X[np.random.default_rng(seed).choice(len(X), k, replace=False)]
    model = McrAR()
    model.fit(X, ST=start + 1e-9 * start.max())
    return model.C_opt_, model.ST_opt_


CONTENDERS = (
    peer("pymcr", "pyMCR's McrAR, defaults, begun at random samples", mcr, needs="pymcr", dense=True, most=ENTRIES),
)
