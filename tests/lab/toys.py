"""Experiments small enough for a test."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from partwise.exceptions import DataNotFoundError
from partwise.lab import Case, Experiment, Figure, Problem, figures


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
    statistics={"two": lambda result, method: 2.0},
    explanations={"because": lambda result, method, claim: f"because it is 2 < {claim.bound:g}"},
    changed="Ours is <another>.",
    trivials=(),
    register=Path(__file__).with_name("toy.toml"),
    figures=(Figure("Score", figures.against("scale", "score", across="scale", logs="")),),
)
