"""The shell completes commands and options."""

from __future__ import annotations

import pytest

from partwise.cli.app import run


@pytest.mark.parametrize(("typed", "wanted"), [("partwise f", "fit"), ("partwise fit --vary", "--varying")])
def test_bash_is_told_what_may_follow(
    typed: str, wanted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    words = typed.split()
    monkeypatch.setenv("_PARTWISE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    monkeypatch.setattr("sys.argv", ["partwise"])
    run([])
    assert wanted in capsys.readouterr().out.split()
