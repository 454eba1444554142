"""``partwise lab``: list, run, show, and how it fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from partwise.cli.app import app, run
from partwise.lab import experiments, registry
from tests.lab.toys import TOY


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

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
    assert "✓ 1 reproduced, ✗ 1 not reproduced, · 1 not measured" in shown
    assert "because it is 2 < 3" in shown
    assert "smaller than published" in shown
    assert (tmp_path / "toy" / "quick" / "index.html").exists()
    assert not (tmp_path / "index.html").exists()
    again = invoke("show", str(tmp_path / "toy" / "quick"))
    assert "the truth is exact" in again
    assert "1 reproduced" in again


@pytest.mark.usefixtures("toy")
def test_run_all_makes_a_summary(tmp_path: Path):
    shown = invoke("run", "all", "--seeds", "1", "-o", str(tmp_path))
    assert "Summary" in shown
    page = (tmp_path / "index.html").read_text()
    assert 'href="toy-2/quick/index.html"' in page
    assert (tmp_path / "summary.csv").read_text().count("two is three") == 2
    (tmp_path / "index.html").unlink()
    assert "Summary" in invoke("show", str(tmp_path))
    assert (tmp_path / "index.html").read_text() == page


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
