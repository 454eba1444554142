"""``partwise lab``: list, run, show, and how it fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from partwise.cli.app import app, run
from partwise.lab import experiments, load_result, read_manifest, registry
from partwise.lab.contenders import CONTENDERS
from tests.lab.toys import TOY


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"toy": TOY, "toy-2": replace(TOY, name="toy-2", figures=())}
    monkeypatch.setattr(registry, "experiments", lambda: known)
    monkeypatch.setattr("partwise.lab.experiments", lambda: known)


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["lab", *arguments], env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    return result.output


def test_list():
    lines = invoke("list")
    for name in experiments():
        assert name in lines


@pytest.mark.usefixtures("toy")
def test_run_and_show(tmp_path: Path):
    shown = invoke(
        "run", "toy", "--quick", "--seeds", "1", "--methods", "true-components,true-weights", "-o", str(tmp_path)
    )
    assert "literal: ✓ 1 reproduced, ✗ 1 not reproduced; ours: ✓ 2 reproduced, · 1 not measured" in shown
    assert "because it is 2 < 3" in shown
    assert "changed after a run, 2000-01-02: was <= 2; is >= 3. Two is not enough." in shown
    assert "was a claim that zero is one; is none. It failed." in shown
    assert "smaller than published" in shown
    assert (tmp_path / "toy" / "quick" / "index.html").exists()
    assert not (tmp_path / "index.html").exists()
    again = invoke("show", str(tmp_path / "toy" / "quick"))
    assert "the truth is exact" in again
    assert "1 reproduced" in again


@pytest.mark.usefixtures("toy")
def test_run_all_makes_a_summary(tmp_path: Path):
    shown = invoke("run", "all", "--seeds", "1", "--jobs", "1", "-o", str(tmp_path))
    assert "Claims reproduced: literal 2 of 4, ours 4 of 6. Summary" in shown
    page = (tmp_path / "index.html").read_text()
    assert 'href="toy-2/quick/index.html"' in page
    assert (tmp_path / "summary.csv").read_text().count("two is three") == 2
    (tmp_path / "index.html").unlink()
    assert "Summary" in invoke("show", str(tmp_path))
    assert (tmp_path / "index.html").read_text() == page


@pytest.mark.usefixtures("toy")
def test_literal_runs_what_is_published_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(CONTENDERS, "true-weights", replace(CONTENDERS["true-weights"], literal=True))
    shown = invoke("run", "toy", "--literal", "--seeds", "1", "-o", str(tmp_path))
    assert "literal: ✓ 1 reproduced, ✗ 1 not reproduced; ours: ✓ 1 reproduced, · 2 not measured" in shown
    assert read_manifest(tmp_path / "toy" / "quick")["methods"] == ["true-weights"]


@pytest.mark.usefixtures("toy")
def test_sizes_do_not_mix(tmp_path: Path):
    invoke("run", "toy", "--seeds", "1", "-o", str(tmp_path))
    invoke("run", "toy", "--full", "--seeds", "1", "-o", str(tmp_path))
    assert (tmp_path / "toy" / "full" / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "nothing"], 2, "no experiment 'nothing'; there are: and-figure1"),
        (["run", "and-sparsity", "-m", "nothing"], 2, "no method nothing; there are: facets,"),
        (["run", "cold-start-grid", "--literal"], 2, "no method of cold-start-grid is literally published"),
        (["show", "."], 2, "holds no results of the lab"),
    ],
)
def test_wrong_names(
    arguments: list[str], code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    assert run(["lab", *arguments]) == code
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err


def test_several_at_once_are_what_they_are_alone(tmp_path: Path):
    names = ["and-theorem-4", "and-figure2-thresholds"]
    shown = invoke("run", *names, "--seeds", "1", "--jobs", "2", "-m", "facets-same-start", "-o", str(tmp_path))
    assert all(f"{name} --quick" in shown for name in names)
    assert "Claims reproduced" in shown
    invoke("run", names[0], "--seeds", "1", "-m", "facets-same-start", "-o", str(tmp_path / "alone"))
    together, alone = (
        load_result(experiments()[names[0]], folder / names[0] / "quick").table
        for folder in (tmp_path, tmp_path / "alone")
    )
    measures = experiments()[names[0]].measures
    assert [[row.get(name) for name in measures] for row in together] == [
        [row.get(name) for name in measures] for row in alone
    ]


def test_what_fails_at_once_is_told_as_alone(tmp_path: Path):
    names = ["lecture-updates", "cold-start-grid"]
    assert run(["lab", "run", *names, "--literal", "--jobs", "2", "-m", "facets", "-o", str(tmp_path)]) == 2
