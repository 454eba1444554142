"""Peers that several experiments share: other methods from a cold start, other libraries, and what knows the truth."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise.lab.contenders.base import fitted
from partwise.lab.experiment import Contender, Found, Problem


def sklearn_nmf(problem: Problem, seed: int, budget: float | None, *, solver: str = "NMF", **settings: Any) -> Found:
    """One of scikit-learn's factorizations."""
    from sklearn import decomposition

    model = getattr(decomposition, solver)(problem.k, random_state=seed, **settings)
    X = problem.X if sp.issparse(problem.X) else np.maximum(problem.X, 0.0)
    begin = time.perf_counter()
    model.fit(X)
    return Found(model.components_, facts={"seconds": time.perf_counter() - begin, "iterations": int(model.n_iter_)})


def true_components(problem: Problem, seed: int, budget: float | None) -> Found:
    """The truth itself."""
    if problem.truth is None:
        raise ValueError("this data has no known components")
    return Found(problem.truth)


def true_weights(problem: Problem, seed: int, budget: float | None) -> Found:
    """Least squares on the true weights: nobody who must find the weights has so much to go on."""
    if problem.weights is None:
        raise ValueError("this data has no known weights")
    return Found(np.linalg.lstsq(problem.weights, problem.X)[0])


CONTENDERS: tuple[Contender, ...] = (
    Contender("anls-cold", "ANLS from near-pure samples", fitted("ANLS", clip=True, max_iter=500)),
    Contender("mu-cold", "multiplicative updates from nndsvda", fitted("MU", clip=True, init="nndsvda", max_iter=2000)),
    Contender("hals-cold", "HALS from near-pure samples", fitted("HALS", clip=True, max_iter=1000)),
    Contender(
        "hals-random",
        "HALS from a random start, 200 iterations",
        fitted("HALS", clip=True, init="random", max_iter=200, tol=0.0),
    ),
    Contender(
        "sklearn-nmf",
        "scikit-learn's NMF: coordinate descent, nndsvda, at most 1000 iterations, tol 1e-6",
        partial(sklearn_nmf, init="nndsvda", max_iter=1000, tol=1e-6),
    ),
    Contender(
        "sklearn-minibatch",
        "scikit-learn's MiniBatchNMF, random start, 10 passes, batches of 1024",
        partial(sklearn_nmf, solver="MiniBatchNMF", init="random", max_iter=10, batch_size=1024),
    ),
    Contender("spa-samples", "SPA on samples (pure records)", fitted("SPA")),
    Contender("pw-spa-samples", "PW-SPA on samples", fitted("PreconditionedSPA")),
    Contender("xray-samples", "XRAY on samples, negative entries set to 0", fitted("XRAY", clip=True)),
    Contender("true-components", "the true components: no method can be asked for more", true_components),
    Contender("true-weights", "least squares on the true weights, which no method knows", true_weights),
)
