"""mcrnmf: minimum volume."""

from __future__ import annotations

from typing import Any

from partwise.lab.peers.base import Factors, peer

ENTRIES = 5_000_000  # it is slow, and makes sparse data dense


def minvol(X: Any, k: int, seed: int) -> Factors:
    """MinVol with its defaults, begun at SNPA's choice as its documentation does."""
    from mcrnmf.models import SNPA, MinVol

    start = SNPA(k)
    start.fit(X.T)
    model = MinVol(k)
    model.fit(X.T, start.W, start.H)
    return model.H.T, model.W.T


CONTENDERS = (
    peer("mcrnmf-minvol", "mcrnmf's MinVol, defaults, begun at SNPA", minvol, needs="mcrnmf", dense=True, most=ENTRIES),
)
