"""Every method of the catalog with its defaults, under the name of its class; and the other libraries' methods."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from partwise.estimators.catalog import METHODS, Method
from partwise.lab.contenders.base import WorkClock, facts_of
from partwise.lab.experiment import Contender, Found, Problem
from partwise.lab.peers import PEERS

# linear programs with a variable for every pair of samples, or one for every sample: minutes beyond this
LONGEST = {"SeparableLP": 100, "ConvexHull": 1000}
LARGEST = {"ConvexHull": 1_000_000}  # entries: hundreds of programs of all of them, hours (288 samples of 15,149 genes)
COUNTING = ("AnchorTopics",)  # of texts it is given counts, which is what it models


def catalogued(method: Method, problem: Problem, seed: int, budget: float | None, *, told: bool = True) -> Found:
    """Parts and weights by a method that is told k and nothing else; or not even that."""
    X = problem.counts if method.estimator in COUNTING and problem.counts is not None else problem.X
    most = LONGEST.get(method.estimator)
    if most is not None and X.shape[0] > most:
        raise ValueError(f"not run: more than {most:,} samples")
    if X.shape[0] * X.shape[1] > LARGEST.get(method.estimator, np.inf):
        raise ValueError(f"not run: more than {LARGEST[method.estimator]:,} entries")
    model: Any = method.kind(problem.k) if told else method.kind()
    known = model.get_params()
    if "judge" in known:
        model.set_params(judge=False)  # which parts are to be believed is not what is compared
    if "random_state" in known:
        model.set_params(random_state=seed)
    if budget is not None and "callbacks" in known:
        model.set_params(callbacks=[WorkClock(budget)])
    begin, work = time.perf_counter(), time.process_time()
    W = model.fit_transform(X)
    seconds, work = time.perf_counter() - begin, time.process_time() - work
    facts = facts_of(model, seconds) | {"seconds": seconds, "processor_seconds": work}
    # a method that gives proportions of its own is asked for them
    own = partial(model.proportions, X) if hasattr(model, "proportions") else None
    return Found(model.components_, weights=W, proportions=own, facts=facts)


OURS: tuple[Contender, ...] = tuple(
    Contender(method.estimator, f"ours, defaults: {method.assumes}", partial(catalogued, method))
    for method in METHODS.values()
)
ALONE = Contender("Parts-auto", "ours, told nothing: chooses k, too", partial(catalogued, METHODS["parts"], told=False))
CONTENDERS: tuple[Contender, ...] = (*OURS, ALONE, *PEERS.values())
