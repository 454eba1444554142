"""Samples of a single part each, up to noise: parts are the directions that their samples have on average.

Texts are such samples: they differ from their topic no more towards other topics than in any direction.  The farthest
tenth of a topic's texts is then extreme in what the texts have of their own, further parts of a text explain only
that, and both move parts away from the topics.  Parts are therefore means of all samples that are next to them (I. S.
Dhillon, D. S. Modha, "Concept decompositions for large sparse text data using clustering", Machine Learning 42, 2001):
with ``y_i`` the samples and ``e_j`` the parts, all at unit length, it makes

    f(E) = mean_i w_i min_j (1 - y_i e_j)

small by Lloyd's algorithm from several starts (k-means++).  Where half of the samples are of one part that would rather
split it than keep rare parts apart; so samples count the less (``w_i``) the more others are like them, in the span that
they are looked at in, too (as in normalized cuts, J. Shi, J. Malik, IEEE Trans. PAMI 22, 2000).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.archetypes import SAME, TOSS, Minimum, Search, angles, decoded, ordering
from partwise.algorithms.directions import Directions
from partwise.algorithms.kmeans import plus_plus
from partwise.algorithms.loop import Progress, State
from partwise.sources.passes import ordered

Array = npt.NDArray[Any]

# What samples leave of their part, along a direction of the other parts relative to other directions: 1 if they differ
# from it in every direction alike, more if they are mixtures, less if parts were fitted to it. Four corpora had 0.69 to
# 0.86, mixtures whose parts vary wildly 0.99 to 1.6, those of scenes, RNA and cells 1.9 to 3.9.
PURE = 0.9
FEW = 4  # starts tell whether samples are: their minima differ by a per cent or so
STEPS = 100  # of a start at most,
STANDS = 1e-5  # if none lowers f by less than this part of it


def are_single(data: Directions, k: int, rng: np.random.Generator) -> bool:
    """Whether a single part explains each sample up to noise.

    Parameters
    ----------
    data : Directions
        The samples, all of which count alike.

    Returns
    -------
    bool
        False if samples are mixtures, or too few to tell.
    """
    if k == 1 or data.points.shape[1] <= k or len(data.points) <= k:
        return False
    runs = _runs(data, k, FEW, rng)
    return towards_others(data, min(runs, key=lambda run: run[1])[0]) <= PURE


def singles(data: Directions, k: int, *, starts: int, rng: np.random.Generator) -> Search:
    """The best of several starts.

    Parameters
    ----------
    starts : int
        How many compete.

    Returns
    -------
    Search
        The parts, the most frequent one first; ``weights`` have one positive entry a sample.
    """
    Y = data.points
    runs = _runs(data, k, starts, rng)
    # of those that are as good as the best the one in which samples are purest, as of other minima
    least = min(f for _, f in runs)
    runs.sort(key=lambda run: run[1])
    toss = [replace(decoded(data, E), objective=f) for E, f in runs if f <= (1.0 + TOSS) * least]
    E, f = runs.pop(ordering(toss)[0])
    weights = _weights(Y, E)
    heaviest = np.argsort(-(weights > 0.0).sum(axis=0), kind="stable")
    others = [other for D, other in runs if angles(D, E).min(axis=1).max() > SAME]
    rival = min(others, default=np.inf) / max(f, np.finfo(float).tiny) - 1.0
    best = Minimum(E[heaviest], np.ascontiguousarray(weights[:, heaviest]), f)
    return Search(best, np.zeros(k), max(rival, 0.0))


def _runs(data: Directions, k: int, starts: int, rng: np.random.Generator) -> list[tuple[Array, float]]:
    seeds = rng.spawn(starts)
    return list(ordered(lambda i: _descend(data, _unit(plus_plus(data.points, k, seeds[i]))), starts))


def towards_others(data: Directions, E: Array) -> float:
    """Deviation of the samples from their parts in the span of all parts, relative to that along other directions."""
    R = data.points - _weights(data.points, E) @ E
    inside, total = float(np.square(R @ np.linalg.qr(E.T)[0]).sum()), float(np.square(R).sum())
    beside = data.own * (total - inside) / (R.shape[1] - len(E))
    others = inside / (len(E) - 1)
    return np.inf if beside <= np.finfo(float).eps * others else float(np.sqrt(others / beside))


def lloyd(
    data: Directions, found: Search | None, *, finish: Callable[[Array], Array], state: State | None
) -> Iterator[Progress]:
    """Lloyd's steps from what the starts found, without end: at the end the residual is 0.

    Parameters
    ----------
    found : Search or None
        Where to begin; not used with a state.
    finish : callable
        Makes components of parts in the coordinates of `data`.
    state : mapping, optional
        Of an iteration of an earlier run on this data: the first iteration is the next one.

    Yields
    ------
    Progress
        The start, then every step: ``objective`` is f, which never rises, ``residual`` what the next step lowers it by,
        relatively.
    """
    begun = state is not None
    if state is None:
        assert found is not None
        E, rival = found.best.parts, found.rival
    else:
        E, rival = np.asarray(state["parts"]), float(state["rival"])
    f = _objective(data, E)
    while True:
        after = _step(data, E)
        lower = _objective(data, after)
        if lower >= f:  # nothing changes any more, but for rounding
            after, lower = E, f
        if not begun:
            kept = {"single": 1, "parts": E, "weights": _weights(data.points, E), "rival": rival}
            yield Progress(finish(E), f, (f - lower) / max(f, np.finfo(float).tiny), state=kept)
        begun = False
        E, f = after, lower


def _descend(data: Directions, E: Array) -> tuple[Array, float]:
    f = _objective(data, E)
    for _ in range(STEPS):
        E, before = _step(data, E), f
        f = _objective(data, E)
        if before - f <= STANDS * before:
            break
    return E, f


def _step(data: Directions, E: Array) -> Array:
    """Every part to the mean of the samples next to it; one without any stays."""
    labels = (data.points @ E.T).argmax(axis=1)
    order = np.argsort(labels, kind="stable")
    used, first = np.unique(labels[order], return_index=True)
    new = E.copy()
    new[used] = _unit(np.add.reduceat((data.points * np.reshape(data.counted, (-1, 1)))[order], first))
    return new


def _objective(data: Directions, E: Array) -> float:
    return float((data.counted * (1.0 - (data.points @ E.T).max(axis=1))).mean())


def _weights(Y: Array, E: Array) -> Array:
    C, W = Y @ E.T, np.zeros((len(Y), len(E)))
    largest = np.arange(len(Y)), C.argmax(axis=1)
    W[largest] = np.maximum(C[largest], 0.0)
    return W


def _unit(E: Array) -> Array:
    return np.asarray(E / np.maximum(np.linalg.norm(E, axis=1, keepdims=True), np.finfo(float).tiny))
