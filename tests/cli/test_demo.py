"""The program: what it prints and writes, and how it fails."""

from __future__ import annotations

import re
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import partwise as pw
from partwise import cli
from partwise.cli import demo, files
from partwise.cli.app import app, run
from partwise.cli.console import Failure
from partwise.runs.progress import Watch

SMALL = ["demo", "--samples", "300", "--parts", "8", "--per-sample", "2", "--seed", "3"]


def png_size(path: Path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


def cells(output: str, name: str) -> list[str]:
    (line,) = [line for line in output.splitlines() if line.startswith(name)]
    return re.split(r"\s{3,}", line.strip())[1:]


def test_demo(tmp_path: Path):
    folder = tmp_path / "a" / "b"
    result = CliRunner().invoke(app, [*SMALL, "-o", str(folder)], env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in folder.iterdir()) == ["digits.png", "report.html"]
    width, height = png_size(folder / "digits.png")
    assert width > 600
    assert height > 200
    for name in ("digits.png", "report.html"):
        assert str(folder / name) in result.output.replace("\n", "")
    ours, theirs = cells(result.output, "digits recovered")
    assert ours == "8 of 8"
    assert re.fullmatch(r"\d of 8", theirs)
    for name in ("mean cosine", "total correlation error", "relative error"):
        assert all(np.isfinite(float(cell)) for cell in cells(result.output, name))
    assert all(cell.endswith(" s") for cell in cells(result.output, "time"))
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert report.count('<img class="part"') == 8
    assert "8 of 8 by partwise HALS, mean cosine" in report  # what was found, held against the truth
    assert f"{theirs} by scikit-learn NMF" in report
    assert "<code>partwise demo --samples 300 --parts 8 --per-sample 2 --seed 3</code>" in report


def test_unwritable_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(demo, "REPORT", "missing/report.html")
    assert run([*SMALL, "-o", str(tmp_path)]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_table_tells_what_was_measured():
    mixture = pw.datasets.make_digit_mixtures(n_samples=50, n_components=5, per_sample=2, random_state=0)

    class Found:
        components_ = 2.0 * mixture.components[::-1]
        n_iter_ = 7

    outcome = demo.Outcome.of("found", mixture, Found(), 1.5, converged=False)
    assert outcome.recovered == 5
    assert outcome.match.permutation.tolist() == [4, 3, 2, 1, 0]
    assert outcome.relative_error < 1e-12
    assert outcome.correlation_error < 1e-12
    Found.components_ = np.vstack([mixture.components[:2], mixture.components[:3].mean(axis=0)])
    assert demo.Outcome.of("found", mixture, Found(), 1.5, converged=False).recovered == 2


def test_version(capsys: pytest.CaptureFixture[str]):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"partwise {pw.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["methods", "-h"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    assert run(arguments) == 0
    assert "Usage" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "nonsense"),
        (["demo", "--samples", "many"], "--samples"),
        (["demo", "--samples", "0"], "--samples"),
        (["demo", "--parts", "1"], "--parts"),
        (["demo", "--per-sample", "0"], "--per-sample"),
        (["demo", "--seed", "-1"], "--seed"),
        (["demo", "--parts", "5", "--per-sample", "6"], "--per-sample 6"),
        (["demo", "--parts", "20", "--samples", "10"], "--samples 10"),
        (["demo", "--parts", "65", "--samples", "100"], "--parts 65"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == []


def test_output_cannot_be_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    target = tmp_path / "file [x]"
    target.write_text("here already")
    assert run([*SMALL, "-o", str(target)]) == 1
    message = capsys.readouterr().err
    assert "cannot write into" in message
    assert "[x]" in message
    assert target.read_text() == "here already"


def test_unwritable_output_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert run([*SMALL, "-o", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert "Permission denied" in " ".join(captured.err.split())  # wrapped where the path is long
    assert captured.out == ""


def test_interrupted_fit_ends_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def interrupt(self: object, state: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "__call__", interrupt)
    assert run([*SMALL, "-o", str(tmp_path)]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_write_is_all_or_nothing(tmp_path: Path):
    path = tmp_path / "picture.png"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(Failure, match="No space left"):
        files.write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    files.write_atomically(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"
    assert [file.name for file in tmp_path.iterdir()] == ["picture.png"]


@pytest.mark.parametrize("name", cli.NEEDED)
def test_missing_packages(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cli, "find_spec", lambda wanted: None if wanted == name else object())
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert name in end.value.code
    assert "pip install 'partwise[cli]'" in end.value.code


def test_main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", ["partwise", "--version"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert pw.__version__ in capsys.readouterr().out
