"""The files of ``partwise nmf``: whole lines, checked checkpoints, one program at a time, no links."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwise.cli.app import run
from partwise.runs import read_state, write_state

X = np.random.default_rng(0).gamma(0.5, size=(300, 3)) @ np.random.default_rng(1).gamma(0.5, size=(3, 8))
OPTIONS = ("nmf", "data.txt", "-f", "4", "-b", "20", "--seed", "5", "-o", "a")
PROGRAM = [sys.executable, "-c", "from partwise.cli import main; main()"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("data.txt").write_text("".join(" ".join(map(repr, row)) + "\n" for row in X.tolist()))
    return tmp_path


def test_a_short_write_leaves_whole_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    from partwise.cli import nmf

    class Short:
        """A file on a disk that is full at some byte, as with ulimit -f."""

        def __init__(self, file: Any) -> None:
            self.file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, data: bytes) -> int:
            room = 100 - os.fstat(self.file.fileno()).st_size
            if room <= 0:
                raise OSError(27, "File too large")
            return self.file.write(data[:room])

    opened = nmf.Run._open_log

    def limited(self: Any) -> None:
        opened(self)
        self._lines = Short(self._lines)

    with monkeypatch.context() as patch:
        patch.setattr(nmf.Run, "_open_log", limited)
        assert run(list(OPTIONS)) == 1
    assert "File too large" in capsys.readouterr().err
    assert Path("a.log").read_bytes()[-1:] == b"\n"
    assert run([*OPTIONS, "--resume"]) == 0
    whole = Path("a.log").read_bytes()
    assert run([*OPTIONS[:-1], "b"]) == 0
    assert whole == Path("b.log").read_bytes()
    assert len(whole.splitlines()) == 15


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def changed(change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        state, note = read_state(path)
        change(state, note)
        write_state(path, state, note)

    return write


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"garbage" * 100),
    "zip": lambda path: path.write_bytes(b"PK\x03\x04" + bytes(100)),
    "cut": cut,
    "no-H": changed(lambda state, note: state.pop("H")),
    "no-totals": changed(lambda state, note: state.pop("totals")),
    "no-log": changed(lambda state, note: state.pop("log_bytes")),
    "no-settings": changed(lambda state, note: note.clear()),
    "settings": changed(lambda state, note: note.update(settings=[1])),
    "number": changed(lambda state, note: state.update(H=3.0)),
    "one-row": changed(lambda state, note: state.update(H=state["H"][:1].copy())),
    "nan": changed(lambda state, note: state.update(H=state["H"] * np.nan)),
    "type": changed(lambda state, note: state.update(H=state["H"].astype(np.float32))),
    "negative": changed(lambda state, note: state.update(totals=-state["totals"])),
    "log": changed(lambda state, note: state.update(log_bytes=-3)),
    "middle": changed(lambda state, note: state.update(log_bytes=state["log_bytes"] - 3)),
    "best": changed(lambda state, note: state.update(best=np.nan)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_refused(damage: str, capsys: pytest.CaptureFixture[str]):
    assert run([*OPTIONS, "-n", "100"]) == 0
    DAMAGES[damage](Path("a.state"))
    capsys.readouterr()
    assert run([*OPTIONS, "-n", "200", "--resume"]) in (1, 2)
    said = " ".join(capsys.readouterr().err.split())
    assert "a.state" in said
    assert "fault of partwise" not in said


def test_a_link_is_not_followed(folder: Path, capsys: pytest.CaptureFixture[str]):
    for kind in ("log", "model", "state"):
        Path(f"a.{kind}").symlink_to(folder / "elsewhere")
        assert run(list(OPTIONS)) == 2
        assert "is a link" in " ".join(capsys.readouterr().err.split())
        Path(f"a.{kind}").unlink()
    assert not Path("elsewhere").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such locks")
@pytest.mark.parametrize("removed", [False, True])
def test_one_program_at_a_time(removed: bool, capsys: pytest.CaptureFixture[str]):
    words = ["nmf", "-", "-f", "4", "-b", "20", "-o", "a"]
    with subprocess.Popen([*PROGRAM, *words], stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as first:
        assert first.stdin is not None
        first.stdin.write(Path("data.txt").read_bytes())
        while not Path("a.state").exists() and first.poll() is None:
            time.sleep(0.01)
        if not removed:
            assert run([*OPTIONS, "--overwrite"]) == 1
            assert "another partwise is writing into it" in " ".join(capsys.readouterr().err.split())
            first.kill()
            return
        # the lock is gone with the log: the second one runs, and the first does not write over its files
        Path("a.log").unlink()
        assert run([*OPTIONS, "--overwrite"]) == 0
        kept = Path("a.state").read_bytes()
        said = first.communicate()[1].decode()
    assert first.returncode == 1
    assert "was removed or replaced by another program" in " ".join(said.split())
    assert Path("a.state").read_bytes() == kept


def test_a_run_that_failed_before_its_first_checkpoint_is_no_run(monkeypatch: pytest.MonkeyPatch):
    from partwise.cli import nmf

    def full(self: Any, log_bytes: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(nmf.Run, "_write_state", full)
        assert run(list(OPTIONS)) == 1
    assert Path("a.log").read_bytes() == b""
    assert run([*OPTIONS, "--resume"]) == 0
