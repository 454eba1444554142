"""Catalogues of mutations: Poisson counts of a few COSMIC signatures each, with which ones and how many at random."""

from __future__ import annotations

from functools import partial

import numpy as np

from partwise import datasets
from partwise.lab.experiment import Problem, Size
from partwise.lab.truths.base import Truth

SHAPES = {5: 200, 10: 300, 20: 700}  # genomes by signatures
EVERYWHERE = ("SBS1", "SBS5")  # clock-like: nearly all genomes have them
IN_EACH = (3, 7)  # signatures in a genome
MUTATIONS = (np.log(3000.0), 0.9)  # of a genome: log-normal, between
FEWEST, MOST = 500.0, 20_000.0
ARTEFACTS = frozenset({"SBS27", "SBS43", "SBS95", *(f"SBS{i}" for i in range(45, 61))})  # of sequencing, says COSMIC


def make(k: int, size: Size, seed: int) -> Problem:
    """Other signatures and other genomes for every seed."""
    rng = np.random.default_rng(seed)
    known = datasets.load_cosmic()
    assert known.components is not None
    assert known.component_names is not None
    names = [name for name in known.component_names if name not in ARTEFACTS]
    others = [name for name in names if name not in EVERYWHERE]
    chosen = [*EVERYWHERE, *rng.choice(others, k - len(EVERYWHERE), replace=False)]
    H = known.components[[known.component_names.index(name) for name in chosen]]
    n = SHAPES[k]
    common = np.concatenate([[0.85, 0.8], 0.05 + 0.7 * rng.beta(1.2, 3.0, k - len(EVERYWHERE))])
    W = np.zeros((n, k))
    for w in W:
        few = rng.choice(k, min(k, int(rng.integers(*IN_EACH))), replace=False, p=common / common.sum())
        w[few] = np.exp(rng.standard_normal(len(few)))
    size_of = np.clip(np.exp(rng.normal(*MUTATIONS, size=(n, 1))), FEWEST, MOST)
    W *= size_of / W.sum(axis=1, keepdims=True)
    X = rng.poisson(W @ H).astype(float)
    return Problem(X, k, truth=H, weights=W, signal=W @ H, note=f"{n} x 96, k = {k}, COSMIC 3.4, Poisson counts")


TRUTHS = tuple(
    Truth(f"{k} signatures", "signatures", partial(make, k), "signatures", "whole" if k == min(SHAPES) else "")
    for k in SHAPES
)
