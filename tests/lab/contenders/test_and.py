"""The competitors of AND's Figure 1: all begin where AND begins."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.datasets import make_topics
from partwise.lab import Problem
from partwise.lab.and_ import COMPETITORS
from partwise.lab.contenders import CONTENDERS
from partwise.metrics import total_correlation_error

MIXTURE = make_topics("dir", n_samples=300, n_features=40, n_components=4, random_state=0)


@pytest.mark.parametrize("name", ["and-published", *COMPETITORS])
def test_all_have_the_same_start(name: str) -> None:
    """A*(I + U); for methods that cannot have negative entries these are zero, or as good as that."""
    problem = Problem.of(MIXTURE, start=MIXTURE.warm_start(0.05, random_state=0))
    assert problem.start is not None
    start = problem.start if name == "and-published" else np.maximum(problem.start, 0.0)
    # the first compiles, which is on the clock
    _, found = (CONTENDERS[name].run(problem, 0, 0.02) for _ in range(2))
    begin = total_correlation_error(start, MIXTURE.components)
    # what online LDA begins with is a posterior, which has a prior in it; MU lifts zeros, which it never leaves
    assert found.curve[0]["error"] == pytest.approx(begin, rel=0.02 if name in ("online-lda", "mu") else 1e-4)
    assert found.curve[-1]["error"] != found.curve[0]["error"]
