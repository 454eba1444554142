"""No claim is met by the start, by the zero matrix or by the mean sample, unless the register says why it may be.

Nor does it go without them: one of them has a number, or the register says why none has. The runs that are kept have
these beside the methods; what they do not show, claims that were changed or made since and numbers of curves that are
not kept, is asked of the quick data, with what these claims compare with.
"""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwise.lab import Claim, Experiment, Problem, Reproduction, find_experiment, run_experiment
from partwise.lab.claim import SIDES
from partwise.lab.contenders import CONTENDERS
from partwise.lab.experiment import TRIVIALS
from partwise.lab.kept import Kept, load_kept
from partwise.lab.values import mean
from tests.lab.test_document import DOCS
from tests.lab.test_experiments import NAMES
from tests.lab.toys import TOY

# what the statistics of COMPARING claims compare with, where the register does not name it
COMPARING = ("ahead-", "gain")
PEERS = {
    "tsvdnmf-table2": {"spa-features"},
    "tsvdnmf-leave-one-out": {"spa-features"},
    "tsvdnmf-table3": {"spa-features", "er-spa-features", "pw-spa-features"},
}
# statistics of several data sets, some of which the quick size has not
LATER = {"tsvdnmf-table3": ("ahead-on-faces*", "ahead-of-extended*")}
SECONDS = 0.3  # for a peer that can be stopped


def peers(value: Any) -> set[str]:
    """The contenders that an argument names."""
    if isinstance(value, dict):
        return set().union(*map(peers, value.values()))
    if isinstance(value, list):
        return set().union(*map(peers, value))
    return {value} & set(CONTENDERS) if isinstance(value, str) else set()


def trivials(experiment: Experiment) -> tuple[str, ...]:
    """What is no method there; where an experiment runs nothing of the kind, what is none anywhere."""
    return experiment.trivials or TRIVIALS


@cache
def kept_runs() -> dict[str, Kept]:
    """What the documentation keeps, by experiment."""
    return {one.experiment.name: one for one in load_kept(DOCS)}


def judged(experiment: Experiment, claims: list[Claim], folder: Path) -> Reproduction:
    """Quick data, what is no method, and peers; two seeds where their spread is what a claim allows."""
    spread = any(claim.tolerance == "spread" for claim in claims)
    named = set().union(*(peers(dict(claim.arguments)) for claim in claims))
    if any(claim.id.startswith(COMPARING) for claim in claims):
        named |= PEERS.get(experiment.name, set())
    methods = [*trivials(experiment), *sorted(named - set(trivials(experiment)))]
    plain = replace(experiment, timed=False, figures=(), budget={"quick": SECONDS})
    return run_experiment(plain, folder, methods=methods, seeds=1 + spread)


def silent(claim: Claim, result: Reproduction) -> bool:
    """Whether what is no method has no number, though the run has the data that the claim is about."""
    table, name = result.table, result.experiment.name
    about = {key: value for key, value in claim.arguments.items() if key in table.columns}
    here = all(
        set(table.distinct(key)) & set(value if isinstance(value, list) else [value]) for key, value in about.items()
    )
    if not here or any(fnmatchcase(claim.id, pattern) for pattern in LATER.get(name, ())):
        return False
    sides = [side for side in SIDES if getattr(claim, side)]
    return bool(
        np.isnan(
            [claim.measure(result, trivial, side) for trivial in trivials(result.experiment) for side in sides]
        ).all()
    )


@pytest.mark.parametrize("name", NAMES)
def test_what_does_nothing_meets_no_claim(name: str, tmp_path: Path):
    experiment, kept = find_experiment(name), kept_runs().get(name)
    asked = [claim for claim in experiment.claims if not claim.trivial]
    rows = {claim.id: row for claim, row in kept.lines() if row["question"] == claim.question} if kept else {}
    then = [claim for claim in asked if claim.id in rows]
    met = {claim.id: rows[claim.id]["met_by"] for claim in then if rows[claim.id]["met_by"]}
    met |= {claim.id: found for claim in then if (found := claim.judge(kept.result, trivials(experiment)).met_by)}
    left = [claim for claim in asked if claim not in then or silent(claim, kept.result)]
    result = judged(experiment, left, tmp_path) if left else None
    met |= {claim.id: found for claim in left if (found := claim.judge(result, trivials(experiment)).met_by)}
    assert not met, "these claims are met by what is no method: tighten them, or give a reason in `trivial`"
    without = [claim.id for claim in left if silent(claim, result)]
    assert not without, "what is no method has no number for these claims: measure it, or give a reason in `trivial`"


def test_a_claim_that_the_start_meets_is_seen(tmp_path: Path):
    below = Claim("below", "", lambda result, method: result.table.mean("error", method=method), 1e3, ours="hals")
    result = run_experiment(replace(TOY, trivials=TRIVIALS), tmp_path, seeds=1)
    for better, expected in (("lower", TRIVIALS), ("higher", ())):
        one = replace(below, better=better)
        assert one.judge(result, TRIVIALS).met_by == expected
    assert replace(below, better="lower").judge(result, TRIVIALS).empty
    assert not replace(below, better="lower", trivial="a reason").judge(result, TRIVIALS).empty
    assert "Says nothing here" in (tmp_path / "index.html").read_text()  # two is at least two, whoever asks


def test_a_claim_that_what_is_no_method_has_no_number_for_is_seen(tmp_path: Path):
    result = run_experiment(replace(TOY, trivials=TRIVIALS), tmp_path, seeds=1)
    measured = Claim("some", "", mean, 0.0, arguments={"column": "score"}, ours="hals")
    assert not silent(measured, result)
    assert silent(replace(measured, arguments={"column": "nothing"}), result)
    assert not silent(replace(measured, arguments={"column": "nothing", "scale": 3.0}), result)  # not at this size
    assert silent(replace(measured, arguments={"column": "nothing", "scale": [1.0, 3.0]}), result)  # one of them is


def test_what_the_trivial_ones_are():
    X = np.arange(12.0).reshape(4, 3)
    problem = Problem(X, 2, truth=X[:2], start=X[2:])
    found = {name: CONTENDERS[name].run(problem, 0, None) for name in TRIVIALS}
    np.testing.assert_array_equal(found["trivial-start"].components, X[2:])
    np.testing.assert_array_equal(found["trivial-zero"].components, np.zeros((2, 3)))
    np.testing.assert_array_equal(found["trivial-constant"].components, [X.mean(axis=0)] * 2)
    first = CONTENDERS["trivial-start"].run(replace(problem, start=None), 0, None)
    np.testing.assert_array_equal(first.components, X[:2])
    assert first.facts["least_error"] == pytest.approx(0.0)
    errors = {point["error"] for point in found["trivial-constant"].curve}
    assert len(errors) == 1
