"""A bound from outside: how far any factorization can be that a path of factorizations leads to.

In the box ``|D| <= B``, ``(I + D)^-1 = I - D + R`` with ``|R| <= B^2 (I - B)^-1``, entry by entry. With that much room
the conditions are linear in D. If the largest D that they allow lies strictly inside the box, no path leaves the box:
the factorization is rigid up to that D. Smaller boxes leave less room, so the bound is applied to itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.belief.exact import Exact, conditions, kept_sums
from partwise.linalg.lp import maximise

Array = npt.NDArray[Any]

BOXES = (1e-1, 1e-2, 1e-3, 1e-4)  # that are tried: a large one proves more, a small one leaves less room
ROUNDS = 12
INSIDE = 0.999  # of a box, strictly inside it
SLACK = 1e-7  # that linear programs may be wrong by, a hundred times what HiGHS is asked for


def rigid_bound(exact: Exact, go_on: Callable[[], bool]) -> Array | None:
    """A bound on every ``|T - I|`` of what can be reached from the fit without a jump; None where nothing is proved.

    Parameters
    ----------
    go_on : callable
        Whether there is time left; without, what is proved until then is returned.

    Returns
    -------
    ndarray of shape (n_components, n_components) or None
        The bound.
    """
    for box in BOXES:
        bound = _proved(exact, box, go_on)
        if bound is not None or not go_on():
            return bound
    return None


def _proved(exact: Exact, box: float, go_on: Callable[[], bool]) -> Array | None:
    k = exact.k
    B = np.full((k, k), box)
    proved: Array | None = None
    for _ in range(ROUNDS):
        if np.abs(np.linalg.eigvals(B)).max() >= 1.0:
            break
        new = _largest(exact, B, go_on)
        if new is None or (proved is None and new.max() >= INSIDE * box):
            break
        done = proved is not None and bool((new > 0.7 * B).all())
        proved = B = np.minimum(B, new + SLACK)
        if done:
            break
    return proved


def _largest(exact: Exact, B: Array, go_on: Callable[[], bool]) -> Array | None:
    """The largest ``|D|`` in the box B, entry by entry; None if a program has no answer, or time is up."""
    k = exact.k
    W, G = exact.samples, exact.features
    R = B @ B @ np.linalg.inv(np.eye(k) - B)
    room = np.abs(W) @ R + exact.tolerance + SLACK
    near_w = W + room < np.abs(W) @ B
    near_g = G + exact.tolerance + SLACK < np.abs(G) @ B.T
    A, b = conditions(W, near_w, G, near_g)
    b += np.concatenate([room[near_w], np.full(int(near_g.sum()), exact.tolerance + SLACK)])
    largest = np.zeros(k * k)
    for entry in range(k * k):
        for sign in (1.0, -1.0):
            goal = np.zeros(k * k)
            goal[entry] = sign
            found = (
                maximise(goal, A, b, -B.ravel(), B.ravel(), A_eq=kept_sums(k), b_eq=np.zeros(k)) if go_on() else None
            )
            if found is None:
                return None
            largest[entry] = max(largest[entry], sign * found[entry])
        if largest[entry] >= INSIDE * B.max() and np.ptp(B) == 0.0:
            return B  # not inside: nothing is proved by this box
    return largest.reshape(k, k)
