"""What the AND cases share: topics whose truth is known to the driver alone, and the error against it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .harness import Arrays, Contender, Outcome, Row, best_of, chosen, problem, race

# n, k and the number of features of "dir", "ctm" and "neg"; full is the paper's
SIZES: dict[str, tuple[int, int, dict[str, int]]] = {
    "full": (5000, 100, {"dir": 2000, "ctm": 2000, "neg": 1000}),
    "small": (1000, 20, {"dir": 200, "ctm": 200, "neg": 100}),
}


def topics(kind: str, size: str, seed: int, **more: Any) -> Any:
    """The topics of the paper's experiments."""
    import partwise as pw

    n, k, features = SIZES[size]
    shape = {"n_samples": n, "n_components": k, "n_features": features[kind]}
    return pw.datasets.make_topics(kind, **(shape | more), random_state=seed)


def error(H: np.ndarray, truth: np.ndarray) -> float:
    """Total correlation error; infinite where something is not finite."""
    import partwise as pw

    return float(pw.metrics.total_correlation_error(H, truth)) if np.isfinite(H).all() else float("inf")


def contender(solve: Callable[[Arrays], tuple[Any, dict[str, Any]]], needs: dict[str, str], note: str) -> Contender:
    """Run `solve` once: it gives components and facts."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        seconds, (H, facts) = best_of(lambda: solve(data), most=1)
        return seconds, {"H": H}, facts

    return Contender(run, needs, note=note)


def solved(
    contenders: Mapping[str, Contender], mixture: Any, label: str, options: Any, extra: Arrays | None = None
) -> dict[str, Row]:
    """Let each solve this problem once, without the truth unless `extra` has it; measure what comes back."""
    print(f"{label}:")

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        return {"error": error(arrays["H"], mixture.components)}

    with problem({"X": mixture.X} | dict(extra or {})) as folder:
        once = Namespace(**(vars(options) | {"repeat": 1}))
        return race(options.case, chosen(contenders, options), folder, {}, verify, once)


def fact(rows: Mapping[str, Row], name: str, key: str = "error") -> float:
    """What is known of a contender; nan where nothing is."""
    return float(rows[name].facts.get(key, np.nan)) if name in rows else float("nan")


def worst(values: list[float], largest: bool = True) -> float:
    """The largest (or least); nan where one was not measured."""
    return float((np.max if largest else np.min)(values)) if values else float("nan")
