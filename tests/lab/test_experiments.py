"""Every experiment is well defined, and its smallest size runs with all its methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

from partwise.exceptions import InputError
from partwise.lab import Case, Reproduction, experiments, find_experiment, run_experiment
from partwise.lab.contenders import CONTENDERS
from partwise.lab.experiment import cells
from partwise.lab.measures import MEASURES
from partwise.lab.page import write_summary
from tests.lab import toys
from tests.lab.browser import look_at

make = partial(toys.make, 1.0)
NAMES = [
    "and-figure1", "and-figure2-thresholds", "and-figure2-noise", "and-initialization", "and-sparsity",
    "and-correlations", "and-decay", "and-sparse-weights", "and-counterexample", "and-correlated-topics",
    "and-lemmas", "and-theorem-4", "and-theorem-5", "and-real-topics",
    "purification-recovery", "purification-noise", "purification-ablation", "purification-theorems",
    "purification-fixed-sample", "purification-sparsity", "purification-balancing", "purification-denoising",
    "purification-adversarial", "purification-proof",
    "tsvdnmf-table1", "tsvdnmf-table2", "tsvdnmf-table3", "tsvdnmf-leave-one-out",
    "online-synthetic", "online-mnist", "online-reproducibility", "online-starts",
    "lecture-faces", "lecture-separable", "lecture-topics", "lecture-updates", "lecture-pairs", "cold-start-grid",
    "tsvdnmf-lemmas", "tsvdnmf-theorem1", "tsvdnmf-theorem2", "tsvdnmf-scaling", "tsvdnmf-sketch",
    "proof-monitor", "truth", "believe",
]  # fmt: skip


def test_all_are_there():
    assert sorted(experiments()) == sorted(NAMES)
    with pytest.raises(InputError, match="no experiment 'x'; there are: and-figure1, "):
        find_experiment("x")


@pytest.mark.parametrize("name", NAMES)
def test_definition(name: str):
    experiment = find_experiment(name)
    assert experiment.name == name
    assert set(experiment.methods) <= set(CONTENDERS)
    assert set(experiment.slow) <= set(experiment.methods)
    assert set(experiment.measures) <= set(MEASURES)
    assert experiment.claims
    assert experiment.figures
    assert {"quick", "full"} <= set(experiment.seeds)
    assert experiment.timed or not set(experiment.budget) - {"tiny"}, "compiling must not use up the time of a fit"
    assert all(change.why for change in experiment.changes)
    for claim in experiment.claims:
        assert not claim.literal or CONTENDERS[claim.literal].literal, f"{claim.id}: {claim.literal} is not literal"
        assert {claim.literal, claim.ours} - {""} <= set(experiment.methods), claim.id
    texts = [(claim.text, claim.where) for claim in experiment.claims]
    assert len(set(texts)) == len(texts), "two claims read the same"
    for size in ("tiny", "quick", "full"):
        names = [case.name for case in experiment.cases(size)]  # making a case reads no data
        assert names
        assert len(set(names)) == len(names)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Reproduction]:
    """The smallest run of an experiment, made once."""
    folder = tmp_path_factory.mktemp("tiny")

    @cache
    def run(name: str) -> Reproduction:
        experiment = replace(find_experiment(name), timed=False)
        methods = experiment.methods_for("quick")
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("PARTWISE_DATA", raising=False)  # a tiny run needs no files
            return run_experiment(experiment, folder / name, size="tiny", seeds=1, methods=methods)

    return run


@pytest.mark.parametrize("name", NAMES)
def test_smallest_size_runs(name: str, tiny: Callable[[str], Reproduction]):
    result = tiny(name)
    experiment = result.experiment
    cases = experiment.cases("tiny")
    wanted = {name for name in experiment.methods_for("quick") if any(name not in case.skip for case in cases)}
    assert set(result.table.distinct("method")) == {name for name in wanted if CONTENDERS[name].installed}
    assert not [row["failure"] for row in result.table if row.get("failure")]
    for measure in experiment.measures:
        assert measure in result.table.columns
    assert result.folder is not None
    page = (result.folder / "index.html").read_text()
    assert page.count("<svg") >= len(experiment.figures)
    assert len(result.verdicts()) == len(experiment.claims)


def test_pages_in_a_browser(tiny: Callable[[str], Reproduction], tmp_path: Path):
    results = [tiny(name) for name in NAMES]
    write_summary([(f"{result.experiment.name}/index.html", result) for result in results], tmp_path)
    figures = {result.folder / "index.html": len(result.experiment.figures) for result in results if result.folder}
    look_at(figures | {tmp_path / "index.html": 0})


def test_cases_that_are_evidence_run_once_by_their_methods():
    cases = [Case("published", make), Case("otherwise", make, evidence=("true-weights",))]
    found = [(case.name, seed, method) for case, seed, method in cells(cases, range(2), ("true-weights", "hals"))]
    assert len(found) == 5
    assert found[-1] == ("otherwise", 0, "true-weights")
