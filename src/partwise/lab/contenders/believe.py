"""Who says how many parts there are: ours, with how sure it is, and others; and who says which parts to believe."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from partwise.lab.experiment import Contender, Found, Problem
from partwise.lab.rivals import RIVALS

LARGEST = 1_000_000  # entries of a table beyond which rivals, who want it dense and often, are not run
RIGHT = 0.2  # error of a part that is right


def _nothing(problem: Problem) -> np.ndarray:
    return np.zeros((0, problem.X.shape[1]))


def chosen(problem: Problem, seed: int, budget: float | None, *, halves: Any) -> Found:
    """Ours."""
    import partwise as pw

    begin = time.process_time()
    choice = pw.choose_k(problem.X, halves=halves, random_state=seed)
    assert choice.noise is not None  # the data is complete
    facts: dict[str, Any] = {"processor_seconds": time.process_time() - begin, "verdict": choice.verdict}
    facts |= {"low": choice.low, "high": choice.high, "k": choice.k, "basis": choice.basis}
    return Found(_nothing(problem), facts=facts | {"kind": choice.noise.kind, "spectral": choice.spectral})


def counted(name: str, problem: Problem, seed: int, budget: float | None) -> Found:
    """Another's number, without a word on how sure it is."""
    if problem.X.shape[0] * problem.X.shape[1] > LARGEST:
        raise ValueError(f"not run: more than {LARGEST:,} entries")
    X = cast(Any, problem.X).toarray() if sp.issparse(problem.X) else np.asarray(problem.X)
    X = X[:, X.any(axis=0)]
    begin = time.process_time()
    k = RIVALS[name][0](X, seed)
    return Found(_nothing(problem), facts={"k": k, "processor_seconds": time.process_time() - begin})


def judged(problem: Problem, seed: int, budget: float | None) -> Found:
    """Verdicts on the parts of Archetypes, told the number of parts."""
    import partwise as pw
    from partwise.metrics import match_components

    if problem.truth is None:
        raise ValueError("not run: the parts are not known")
    begin = time.process_time()
    model = pw.Archetypes(problem.k, random_state=seed).fit(problem.X)
    verdicts = pw.judge(model, problem.X, random_state=seed)
    true = match_components(problem.truth, model.components_).errors
    again = np.array([row.verdict == "found again" for row in verdicts])
    ratio = verdicts.expected_error / np.maximum(true, 1e-12)
    facts: dict[str, Any] = {"processor_seconds": time.process_time() - begin, "parts": len(true)}
    facts |= {"again": int(again.sum()), "again_right": int((true[again] <= RIGHT).sum())}
    facts |= {"ratio": float(np.median(ratio)), "within": int((ratio >= 1.0 / 3.0).sum())}
    return Found(model.components_, facts=facts)


CONTENDERS: tuple[Contender, ...] = (
    Contender("choose_k", "ours: noise, cliff, halves where they are needed", partial(chosen, halves="needed")),
    Contender("choose_k without halves", "ours: noise and cliff alone", partial(chosen, halves=False)),
    *(Contender(name, note, partial(counted, name)) for name, (_, note) in RIVALS.items()),
    Contender("judge", "ours: verdicts on the parts of Archetypes, told k", judged),
)
