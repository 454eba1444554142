"""The program under faults: names that are more than text, terminals that cannot show them, folders that go."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwise.cli.app import run
from partwise.io.writing import live_names, quiet_name

X = np.random.default_rng(0).gamma(0.5, size=(20, 4))
PROGRAM = [sys.executable, "-c", "from partwise.cli import main; main()"]
LIVE = ["=cmd|' /C calc'!A0", "\x1b[31mred", "plain", "-1"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_data(names: list[str], path: str = "a.csv") -> None:
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *names])
        writer.writerows([f"s{i}", *row] for i, row in enumerate(X.tolist()))


def fit_live(*words: str) -> list[str]:
    """The names of features in the results of data with live ones."""
    np.save("a.npy", X)
    Path("names.txt").write_text("\n".join(LIVE), encoding="utf-8")
    assert run(["fit", "a.npy", "-k", "2", "--feature-names", "names.txt", *words]) == 0
    with Path("partwise-fit/components.csv").open(newline="", encoding="utf-8") as file:
        return next(csv.reader(file))[1:]


def test_live_names_are_told_and_read_back_equal(capsys: pytest.CaptureFixture[str]):
    assert fit_live() == LIVE
    assert "2 names, such as" in " ".join(capsys.readouterr().err.split())
    assert live_names(LIVE) == LIVE[:2]


def test_live_names_are_made_plain_on_request(capsys: pytest.CaptureFixture[str]):
    found = fit_live("--quiet-names")
    assert "steer a terminal" not in capsys.readouterr().err
    assert found == [quiet_name(name) for name in LIVE]
    assert found == ["'=cmd|' /C calc'!A0", "\N{REPLACEMENT CHARACTER}[31mred", "plain", "-1"]
    assert live_names(found) == []


@pytest.mark.skipif(sys.platform == "win32", reason="has another console")
def test_names_that_the_terminal_cannot_show(folder: Path):
    write_data(["größe", "温度", "c", "d"])
    shutil.copy("a.csv", "größe.csv")
    env = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    env |= {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    for words in (
        ["fit", "größe.csv", "-k", "2", "--no-judge"],
        ["inspect", "partwise-fit"],
        ["fit", "a.csv", "-k", "9"],
    ):
        done = subprocess.run([*PROGRAM, *words], env=env, check=False, capture_output=True)
        assert b"fault of partwise" not in done.stderr + done.stdout, done.stderr
        assert done.returncode == (2 if "9" in words else 0), done.stderr
    assert Path("partwise-fit/report.html").exists()


def test_a_folder_that_goes_during_a_fit_is_told_at_once(monkeypatch: pytest.MonkeyPatch, capsys: Any):
    from partwise.runs import Checkpoints

    write_data(list("abcd"))
    called: list[int] = []
    before = Checkpoints.__call__

    def gone(self: Any, progress: Any) -> Any:
        called.append(progress.n_iter)
        if progress.n_iter == 1:
            shutil.rmtree("out")
        return before(self, progress)

    monkeypatch.setattr(Checkpoints, "__call__", gone)
    words = [
        "fit",
        "a.csv",
        "-k",
        "2",
        "-m",
        "hals",
        "-o",
        "out",
        "--tol",
        "0",
        "--max-iter",
        "500",
        "--checkpoint-every",
        "0",
    ]
    assert run(words) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "out" in said
    assert "--resume" not in said
    assert called[-1] <= 3


@pytest.mark.skipif(sys.platform == "win32", reason="folders in use cannot be removed")
@pytest.mark.parametrize("lost", ["standard input", "the folder"])
def test_what_the_system_takes_away_is_no_fault_of_the_program(
    folder: Path, lost: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    if lost == "standard input":
        monkeypatch.setattr(sys, "stdin", None)
        code = run(["nmf", "-", "-f", "2", "-o", "a"])
    else:
        write_data(list("abcd"))
        (folder / "gone").mkdir()
        monkeypatch.chdir(folder / "gone")
        (folder / "gone").rmdir()
        code = run(["fit", str(folder / "a.csv"), "-k", "2"])
    assert code == 1
    assert "fault of partwise" not in " ".join(capsys.readouterr().err.split())
