"""Every experiment is well defined, and its smallest size runs with all its methods."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from partwise.exceptions import InputError
from partwise.lab import experiments, find_experiment, run_experiment
from partwise.lab.measures import MEASURES
from partwise.lab.methods import METHODS

NAMES = [
    "and-figure1", "and-figure2-thresholds", "and-figure2-noise", "and-initialization", "and-sparsity",
    "purification-recovery", "purification-noise", "purification-ablation",
    "tsvdnmf-table1", "tsvdnmf-table2", "tsvdnmf-table3", "tsvdnmf-leave-one-out",
    "online-synthetic", "online-mnist", "online-reproducibility",
    "lecture-faces", "lecture-separable", "lecture-topics", "cold-start-grid",
]  # fmt: skip


def test_all_are_there():
    assert sorted(experiments()) == sorted(NAMES)
    with pytest.raises(InputError, match="no experiment 'x'; there are: and-figure1, "):
        find_experiment("x")


@pytest.mark.parametrize("name", NAMES)
def test_definition(name: str):
    experiment = find_experiment(name)
    assert experiment.name == name
    assert set(experiment.methods) <= set(METHODS)
    assert set(experiment.slow) <= set(experiment.methods)
    assert set(experiment.measures) <= set(MEASURES)
    assert experiment.claims
    assert experiment.figures
    assert {"quick", "full"} <= set(experiment.seeds)
    texts = [(claim.text, claim.where) for claim in experiment.claims]
    assert len(set(texts)) == len(texts), "two claims read the same"
    for size in ("tiny", "quick", "full"):
        names = [case.name for case in experiment.cases(size)]  # making a case reads no data
        assert names
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", NAMES)
def test_smallest_size_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PARTWISE_DATA", raising=False)  # a tiny run needs no files
    experiment = replace(find_experiment(name), timed=False)
    methods = experiment.methods_for("quick")
    result = run_experiment(experiment, tmp_path, size="tiny", seeds=1, methods=methods)
    assert set(result.table.distinct("method")) == set(methods)
    assert not [row["failure"] for row in result.table if row.get("failure")]
    for measure in experiment.measures:
        assert measure in result.table.columns
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") >= len(experiment.figures)
    assert len(result.verdicts()) == len(experiment.claims)
