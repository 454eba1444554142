"""Experiments small enough for a test."""

from __future__ import annotations

import numpy as np

from partwise.exceptions import DataNotFoundError
from partwise.lab import Case, Claim, Experiment, Figure, Problem, figures
from partwise.lab.values import mean


def make(scale: float, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    H = rng.random((2, 5))
    W = rng.random((12, 2))
    return Problem(W @ H * scale, 2, truth=H, weights=W, signal=W @ H * scale, note=f"scale {scale:g} <b>")


def missing(seed: int) -> Problem:
    raise DataNotFoundError("put it there")


def cases(size: str) -> list[Case]:
    return [Case(f"scale {s:g}", lambda seed, s=s: make(s, seed), {"scale": s}) for s in (1.0, 2.0)]


def with_missing(size: str) -> list[Case]:
    return [Case("absent", missing), *cases(size)]


TOY = Experiment(
    name="toy",
    title="A toy <script>alert(1)</script>",
    document="Nobody (2000)",
    about="Two & two.",
    cases=cases,
    methods=("true-components", "true-weights"),
    measures=("score", "error"),
    seeds={"quick": 2, "full": 3},
    claims=(
        Claim("the truth is exact <i>", mean("score", method="true-components"), 1.0, "higher", 1e-9, where="Table 1"),
        Claim("nobody measured this", mean("score", method="hals"), 1.0),
        Claim("two is three", lambda result: 2.0, 3.0, "higher", 0.5, why=lambda result: "because it is 2 < 3"),
    ),
    figures=(Figure("Score", figures.against("scale", "score", across="scale", logs="")),),
)
