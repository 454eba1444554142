"""nimfa."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.lab.peers.base import Factors, peer

ENTRIES = 5_000_000  # it is slow, and makes sparse data dense


def lsnmf(X: Any, k: int, seed: int) -> Factors:
    """Its alternating least squares, defaults, random start."""
    import nimfa

    vars(np).setdefault("mat", np.asmatrix)  # NumPy 2 dropped the old name, which nimfa 1.4 still uses
    model = nimfa.Lsnmf(X, rank=k)()
    return np.asarray(model.basis()), np.asarray(model.coef())


CONTENDERS = (peer("nimfa-lsnmf", "nimfa's Lsnmf, defaults", lsnmf, needs="nimfa", dense=True, most=ENTRIES),)
