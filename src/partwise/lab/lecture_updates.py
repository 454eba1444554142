"""What the lecture says of multiplicative updates themselves: when a factor is at least 1, and where they rest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.lecture import DOCUMENT

# rows, columns, components: small, since it takes thousands of iterations until little moves
SHAPES = {"tiny": (12, 9, 2), "quick": (40, 30, 4), "full": (200, 100, 8)}


def _matrix(noise: float, size: Size, seed: int) -> Problem:
    rng, (n, m, k) = np.random.default_rng(seed), SHAPES[size]
    X = rng.gamma(0.5, size=(n, k)) @ rng.gamma(0.5, size=(k, m))
    X = X + noise * X.mean() * rng.random(X.shape)
    return Problem(
        X, k, note=f"{n} x {m}, k = {k}, " + (f"uniform noise of {noise:g} of the mean" if noise else "exact")
    )


def _cases(size: Size) -> Sequence[Case]:
    return [Case("exact", partial(_matrix, 0.0, size)), Case("noise", partial(_matrix, 0.5, size))]


def _zeros_stay(result: Reproduction, method: str, claim: Claim) -> str:
    settled = result.table.worst("unsettled", method=method)
    free = result.table.worst("locked", method="mu-lifted")
    return (
        "A zero of the start is multiplied for ever and stays zero, whatever its derivative: the updates rest "
        f"(entries that are neither zero nor stationary: {settled:.1e}) at a pair that is neither zero nor a "
        f"stationary point. With zeros lifted, as ours do, {free:.1e} is left."
    )


UPDATES = Experiment(
    name="lecture-updates",
    title="Multiplicative updates: factors, and where they rest",
    document=DOCUMENT,
    about="The updates from a given pair, untouched, on random matrices. In every iteration each entry's factor is "
    "held against the sign of its derivative; after 1,500 iterations both factors are held against the conditions of a "
    "fixed point: entry by entry, and as a stationary point of f over non-negative factors, which a start with zeros "
    "does not lead to.",
    cases=_cases,
    methods=("mu-settled", "mu-zeros", "mu-lifted"),
    measures=("unsettled", "locked", "fit"),
    seeds={"quick": 1, "full": 5},
    explanations={"zeros_stay": _zeros_stay},
    figures=(Figure("Objective against iterations", figures.way("n_iter", "objective", across="iterations")),),
)

EXPERIMENTS = (UPDATES,)
