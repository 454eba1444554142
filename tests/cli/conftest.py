"""The program in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from partwise.cli.app import run
from tests.cli.helpers import FEATURES, SAMPLES, X, write_csv


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with data.csv."""
    monkeypatch.chdir(tmp_path)
    write_csv("data.csv", X, FEATURES, SAMPLES)
    return tmp_path


@pytest.fixture
def program(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    """Runs the program in that folder, and returns what it said: results, and the rest."""

    def call(*words: object, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        ended = run([str(word) for word in words])
        said = capsys.readouterr()
        assert ended == code, said
        assert "Traceback" not in said.err
        return said.out, " ".join(said.err.replace("│", " ").split())

    return call
