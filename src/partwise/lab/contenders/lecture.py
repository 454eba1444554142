"""What the lecture names: multiplicative updates, principal components, corners of the hull, topics from pairs."""

from __future__ import annotations

import numpy as np

from partwise.lab.contenders.base import fitted
from partwise.lab.experiment import Contender, Found, Problem


def any_hull(problem: Problem, seed: int, budget: float | None) -> Found:
    """All corners of the hull of the samples."""
    import partwise as pw

    model = pw.ConvexHull().fit(np.maximum(problem.X, 0.0))
    return Found(model.components_, facts={"found": len(model.components_)})


def pca(problem: Problem, seed: int, budget: float | None) -> Found:
    """As many principal components, with their own weights."""
    from partwise.linalg.svd import truncated_svd
    from partwise.sources import source_of

    _, V = truncated_svd(source_of(problem.X), problem.k, rng=np.random.default_rng(seed))
    return Found(V, weights=problem.X @ V.T)


CONTENDERS: tuple[Contender, ...] = (
    Contender(
        "mu-random",
        "Lee & Seung's multiplicative updates, random start, 500 iterations",
        fitted("MU", init="random", max_iter=500, tol=0.0, clip=True),
        literal=True,
    ),
    Contender("pca", "principal components, which may be negative", pca, literal=True),
    Contender("hull", "corners of the convex hull of the samples (Arora et al. 2012)", fitted("ConvexHull", clip=True)),
    Contender("hull-any", "the same, not told how many corners there are", any_hull, literal=True),
    Contender("anchor-topics", "anchor words, RecoverL2, our defaults", fitted("AnchorTopics")),
    Contender(
        "anchor-topics-published",
        "anchor words as published: every document alike, random projection, RecoverL2, no refinement",
        fitted("AnchorTopics", refine=0, projection="random", weighting="equal"),
        literal=True,
    ),
)
