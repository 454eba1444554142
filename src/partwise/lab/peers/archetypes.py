"""archetypes: archetypal analysis as published."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.lab.peers.base import Factors, peer

ENTRIES = 5_000_000  # it is slow, and makes sparse data dense


def aa(X: Any, k: int, seed: int) -> Factors:
    """Archetypal analysis with its defaults; of EDAA, the archetypes of a scene, that is the model."""
    from archetypes import AA

    model = AA(k, random_state=seed)
    W = model.fit_transform(X)
    return np.asarray(W), np.asarray(model.archetypes_)


CONTENDERS = (peer("archetypes-aa", "archetypes' AA, defaults", aa, needs="archetypes", dense=True, most=ENTRIES),)
