"""The runner: an interruption changes nothing, a failure is a result, and the manifest says what was run."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
import scipy.sparse as sp

from partwise.exceptions import InputError
from partwise.lab import (
    Case,
    Contender,
    Figure,
    Found,
    Problem,
    figures,
    finish,
    load_result,
    read_manifest,
    run_experiment,
)
from partwise.lab import run as runner
from partwise.lab.contenders import CONTENDERS
from tests.lab.toys import TOY, with_missing


def numbers(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(newline="") as file:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch):
    """A method that is interrupted, raises, or works: whatever its list says next."""
    plan: list[object] = []

    def run(problem, seed, budget) -> Found:
        what = plan.pop(0) if plan else None
        if isinstance(what, BaseException):
            raise what
        return Found(problem.truth, facts=what or {})

    monkeypatch.setitem(CONTENDERS, "plan", Contender("plan", "", run))
    return plan


def test_files_and_manifest(tmp_path: Path):
    seen: list[tuple[int, int]] = []
    result = run_experiment(TOY, tmp_path / "a", watch=lambda done, total, note: seen.append((done, total)))
    folder = tmp_path / "a"
    assert {path.name for path in folder.iterdir()} >= {"results.csv", "claims.csv", "manifest.json", "index.html"}
    assert [done for done, _ in seen] == [*range(8), 8]
    assert len(result.table) == 8
    assert result.table.distinct("seed") == [0, 1]
    manifest = read_manifest(folder)
    assert (manifest["experiment"], manifest["size"]) == ("toy", "quick")
    assert manifest["seeds"] == 2
    assert manifest["methods"] == ["true-components", "true-weights"]
    assert manifest["cells"] == 8
    assert manifest["threads"]["partwise"] >= 1
    assert manifest["machine"]["cores"] >= 1
    assert {"numpy", "partwise"} <= set(manifest["versions"])
    assert manifest["seconds"] > 0
    assert not list(folder.glob(".*")), "temporary files are left"


def test_parquet_has_the_same(tmp_path: Path):
    polars = pytest.importorskip("polars")
    run_experiment(TOY, tmp_path)
    assert polars.read_parquet(tmp_path / "results.parquet").height == 8


@pytest.mark.parametrize("cut", [1, 40])
def test_cut_line_is_measured_again(tmp_path: Path, cut: int):
    run_experiment(TOY, tmp_path)
    before = numbers(tmp_path)
    journal = tmp_path / runner.JOURNAL
    journal.write_bytes(journal.read_bytes()[:-cut])
    run_experiment(TOY, tmp_path)
    assert numbers(tmp_path) == before
    assert len(journal.read_bytes().splitlines()) == 8


def test_interrupted_run_resumes(tmp_path: Path, failing: list[object]):
    experiment = replace(TOY, methods=("true-components", "plan", "true-weights"))
    run_experiment(experiment, tmp_path / "whole")
    failing += [None, KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment, tmp_path / "parts")
    journal = tmp_path / "parts" / runner.JOURNAL
    done = len(journal.read_text().splitlines())
    assert 0 < done < 12
    assert read_manifest(tmp_path / "parts")["cells"] == done
    # the machine also lost its power in the middle of a line
    with journal.open("a") as file:
        file.write('{"row": {"case": "scale 2", "met')
    again: list[int] = []
    run_experiment(experiment, tmp_path / "parts", watch=lambda done, total, note: again.append(done))
    assert again[0] == done
    assert numbers(tmp_path / "parts") == numbers(tmp_path / "whole")
    assert len(read_manifest(tmp_path / "parts")["sessions"]) == 2
    assert len(journal.read_text().splitlines()) == 12


def test_fit_that_kept_what_it_had_is_no_measurement(tmp_path: Path, failing: list[object]):
    failing += [{"stop": "interrupted"}]
    with pytest.raises(KeyboardInterrupt):
        run_experiment(replace(TOY, methods=("plan",)), tmp_path)
    assert not (tmp_path / runner.JOURNAL).exists()


def test_methods_are_compiled_before_they_are_timed(tmp_path: Path, failing: list[object]):
    failing += [{"number": number} for number in range(9)]
    result = run_experiment(replace(TOY, methods=("plan",), timed=True), tmp_path, seeds=1)
    assert [row["number"] for row in result.table] == [1, 2]


def test_method_that_cannot_be_compiled_is_measured(tmp_path: Path, failing: list[object]):
    failing += [ValueError("not on so little data")]
    result = run_experiment(replace(TOY, methods=("plan",), timed=True), tmp_path, seeds=1)
    assert result.table.values("score").tolist() == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("name", ["anls-signed", "online-lda"])
def test_method_that_cannot_take_the_data_is_a_row(tmp_path: Path, name: str):
    experiment = replace(TOY, cases=lambda size: [Case("sparse", lambda seed: Problem(sp.eye_array(4).tocsr(), 2))])
    result = run_experiment(experiment, tmp_path, seeds=1, methods=[name])
    assert "ValueError: this method is for dense data" in result.table[0]["failure"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
def test_figures_of_anything(tmp_path: Path, failing: list[object], monkeypatch: pytest.MonkeyPatch, value: float):
    monkeypatch.setitem(runner.MEASURES, "score", replace(runner.MEASURES["score"], of=lambda problem, found: value))
    drawn = (figures.against("scale", "score", across="scale"), figures.bars("score"), figures.heat("score"))
    experiment = replace(TOY, methods=("plan",), figures=tuple(Figure("", draw) for draw in drawn))
    run_experiment(experiment, tmp_path, seeds=1)
    assert (tmp_path / "index.html").read_text().count("<svg") == 4


def test_method_of_another_version_is_shown(tmp_path: Path, failing: list[object]):
    run_experiment(TOY, tmp_path, seeds=1, methods=["plan", "true-weights"])
    del CONTENDERS["plan"]
    finish(TOY, tmp_path)
    assert "plan" in (tmp_path / "index.html").read_text()


def test_failure_is_a_row(tmp_path: Path, failing: list[object]):
    failing += [ValueError("too <small>")]
    result = run_experiment(replace(TOY, methods=("plan",)), tmp_path, seeds=1)
    assert result.table[0]["failure"] == "ValueError: too <small>"
    assert result.table.mean("score", case="scale 2") == pytest.approx(1.0)
    assert "too &lt;small&gt;" in (tmp_path / "index.html").read_text()


def test_missing_data_is_told(tmp_path: Path):
    result = run_experiment(replace(TOY, cases=with_missing), tmp_path, seeds=1)
    assert result.manifest["skipped"] == {"absent": "put it there"}
    assert result.table.distinct("case") == ["scale 1", "scale 2"]


def test_more_seeds_and_methods_are_added(tmp_path: Path):
    first = run_experiment(TOY, tmp_path, seeds=1, methods=["true-weights"])
    assert len(first.table) == 2
    second = run_experiment(TOY, tmp_path, seeds=2)
    assert second.manifest["methods"] == ["true-components", "true-weights"]
    assert len(second.table) == 8


def test_measures_are_added(tmp_path: Path):
    run_experiment(TOY, tmp_path, seeds=1)
    result = run_experiment(replace(TOY, measures=("score", "error", "part_error")), tmp_path, seeds=1)
    assert len(result.table) == 4
    assert result.table.values("part_error").max() < 1e-6


def test_another_run_is_not_overwritten(tmp_path: Path):
    run_experiment(TOY, tmp_path, seeds=1)
    with pytest.raises(InputError, match="holds toy --quick"):
        run_experiment(TOY, tmp_path, size="full")


def test_wrong_names(tmp_path: Path):
    with pytest.raises(InputError, match=r"no method xyz; there are: facets, "):
        run_experiment(TOY, tmp_path / "a", methods=["xyz"])
    assert not (tmp_path / "a").exists()
    with pytest.raises(InputError, match="holds no results"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text("[1]")
    with pytest.raises(InputError, match="is not a manifest"):
        read_manifest(tmp_path)


def test_components_are_kept(tmp_path: Path):
    result = run_experiment(replace(TOY, keep=True), tmp_path, seeds=1)
    kept = result.kept("scale 1", "true-components", 0)
    assert kept is not None
    assert kept.shape == (2, 5)
    assert result.kept("scale 1", "hals", 0) is None


def test_finish_writes_from_the_journal(tmp_path: Path):
    run_experiment(TOY, tmp_path, seeds=1)
    (tmp_path / "index.html").unlink()
    finish(TOY, tmp_path)
    assert (tmp_path / "index.html").exists()
    assert (
        len(load_result(TOY, tmp_path).table)
        == len(json.loads((tmp_path / "manifest.json").read_text())["methods"]) * 2
    )


def test_what_a_killed_run_was_writing_is_removed(tmp_path: Path):
    run_experiment(TOY, tmp_path / "run", seeds=1)
    (tmp_path / "run" / ".results.parquet.16c6a36490ddde2b").write_bytes(b"half of")
    run_experiment(TOY, tmp_path / "run", seeds=1)
    assert not list((tmp_path / "run").glob(".*"))
