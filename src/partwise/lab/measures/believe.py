"""Measures of a number of parts: whether it is right, too large, covered, and how sure of itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

from partwise.lab.experiment import Found, Measure, Problem

DETECTABLE = 1.5  # strength of the weakest part, of which 1 can just be seen beside independent noise


@dataclass(frozen=True, eq=False)
class Counted(Problem):
    """A problem whose number of parts is asked: `strength` of the weakest, and the largest number that is right."""

    strength: float = math.inf
    most: int = 0

    def holds(self, k: float) -> bool:
        """Whether a number is right."""
        return self.k <= k <= max(self.most, self.k)


def _k(found: Found) -> float:
    k = found.facts.get("k")
    return math.nan if k is None else float(k)


def _right(problem: Problem, k: float) -> bool:
    return problem.holds(k) if isinstance(problem, Counted) else k == problem.k


def exact(problem: Problem, found: Found) -> float:
    """1 if the number is right; 0 if it is another or there is none."""
    return float(_right(problem, _k(found)))


def near(problem: Problem, found: Found) -> float:
    """1 if it is off by one at most."""
    k = _k(found)
    return float(any(_right(problem, k + step) for step in (-1.0, 0.0, 1.0)))


def over(problem: Problem, found: Found) -> float:
    """1 if it is too large."""
    most = max(problem.k, problem.most) if isinstance(problem, Counted) else problem.k
    return float(_k(found) > most)


def no_number(problem: Problem, found: Found) -> float:
    """1 if there is none."""
    return float(math.isnan(_k(found)))


def covers(problem: Problem, found: Found) -> float:
    """1 if the interval holds the number; NaN for methods that give none."""
    if "low" not in found.facts:
        return math.nan
    most = max(problem.k, problem.most) if isinstance(problem, Counted) else problem.k
    low, high = found.facts["low"], found.facts["high"]
    return float(low <= most and (high is None or problem.k <= high))


def decides(problem: Problem, found: Found) -> float:
    """1 if the method is sure (exact or decided); NaN for methods that never say."""
    return float(found.facts["verdict"] in ("exact", "decided")) if "verdict" in found.facts else math.nan


def decided_right(problem: Problem, found: Found) -> float:
    """1 if a sure number is right; NaN where it is not sure."""
    return exact(problem, found) if decides(problem, found) == 1.0 else math.nan


def detectable(problem: Problem, found: Found) -> float:
    """1 if all parts can be seen."""
    return float(problem.strength >= DETECTABLE) if isinstance(problem, Counted) else 1.0


MEASURES: tuple[Measure, ...] = (
    Measure("k_exact", "number of parts right", "higher", exact, ".2f"),
    Measure("k_near", "number of parts off by one at most", "higher", near, ".2f"),
    Measure("k_over", "number of parts too large", "lower", over, ".2f"),
    Measure("k_none", "no number given", "", no_number, ".2f"),
    Measure("k_covers", "interval holds the number", "higher", covers, ".2f"),
    Measure("k_decides", "sure of its number", "higher", decides, ".2f"),
    Measure("k_decided_right", "right where it is sure", "higher", decided_right, ".3f"),
    Measure("k_detectable", "all parts can be seen", "", detectable, ".2f"),
)
