"""The program ``partwise nmf``: its files, and that no end of it, however sudden, changes a bit of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.algorithms.conservative import Decay, Learner, Rule
from partwise.cli.app import run
from partwise.cli.nmf import Run, read_model
from partwise.runs import lock, read_state, write_state

PROGRAM = [sys.executable, "-c", "from partwise.cli import main; main()", "nmf"]
X = np.random.default_rng(0).gamma(0.5, size=(200, 3)) @ np.random.default_rng(1).gamma(0.5, size=(3, 8))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_text("data.txt", X)
    return tmp_path


def write_text(path: str, rows: np.ndarray) -> None:
    Path(path).write_text("".join(" ".join(map(repr, row)) + "\n" for row in rows.tolist()))


def nmf(*arguments: object, code: int = 0) -> None:
    assert run(["nmf", *map(str, arguments)]) == code


def files(name: str) -> dict[str, bytes]:
    """Log and model as they are, and the checkpoint array by array."""
    found = {kind: Path(f"{name}.{kind}").read_bytes() for kind in ("log", "model")}
    return found | {key: np.asarray(value).tobytes() for key, value in state(name).items()}


def state(name: str) -> dict[str, Any]:
    """The checkpoint."""
    return read_state(Path(f"{name}.state"))[0]


def learner(n: int, *, batch: int, dtype: type = np.float64, **rule: object) -> tuple[Learner, list[float]]:
    made = Learner.random(4, 8, dtype, np.random.default_rng(5), Rule(**rule), batch_size=batch)
    rows = np.tile(X.astype(dtype), (n // len(X) + 1, 1))[:n]
    return made, list(made.feed(rows))


OPTIONS = ("data.txt", "-f", 4, "-b", 150, "--seed", 5)


@pytest.mark.parametrize(
    ("options", "dtype", "rule"),
    [
        (["-w", "0.5"], np.float64, {"w": Decay(0.5)}),
        (["-w", "2:100:0.5", "--relaxation", "1:50"], np.float64, {"w": Decay(2, 100, 0.5), "share": Decay(1, 50)}),
        (["--cg-steps", "3", "--signed"], np.float64, {"steps": 3, "nonnegative": False}),
        (["--printed-order"], np.float64, {"printed": True}),
        (["--single"], np.float32, {}),
    ],
    ids=["w", "schedules", "variant", "printed", "single"],
)
def test_log_and_model(options: list[str], dtype: type, rule: dict) -> None:
    nmf(*OPTIONS, "-n", 750, "-o", "sub/run.1", *options)
    expected, averages = learner(750, batch=150, dtype=dtype, **rule)
    log = np.loadtxt("sub/run.1.log")
    np.testing.assert_array_equal(log[:, 0], [150, 300, 450, 600, 750])
    np.testing.assert_array_equal(log[:, 1], averages)
    best, _ = learner(150 * (1 + int(np.argmin(averages))), batch=150, dtype=dtype, **rule)
    detectors, features = read_model(Path("sub/run.1.model"))
    np.testing.assert_array_equal(detectors.astype(dtype), best.detectors)
    np.testing.assert_array_equal(features.astype(dtype), best.features)
    lines = Path("sub/run.1.model").read_text().split("\n")
    assert [len(line.split()) for line in lines] == [8] * 4 + [0] + [8] * 4 + [0]
    np.testing.assert_array_equal(state("sub/run.1")["H"], expected.H)


def test_what_the_estimator_finds() -> None:
    nmf(*OPTIONS, "-n", 600, "-w", "0.5", "-o", "run")
    model = pw.ConservativeNMF(4, w=0.5, max_passes=3, random_state=5).fit(X)
    np.testing.assert_array_equal(state("run")["H"], model.components_)


@pytest.mark.parametrize("kind", ["npy", "csv", "folder", "stdin"])
def test_other_data(kind: str, folder: Path) -> None:
    nmf(*OPTIONS, "-n", 200, "-o", "text")
    if kind == "stdin":
        command = [*PROGRAM, "-", *map(str, OPTIONS[1:]), "-o", "other"]
        subprocess.run(command, check=True, input=Path("data.txt").read_bytes(), capture_output=True, timeout=60)
    else:
        (folder / "parts").mkdir()
        for path, rows in {"X.npy": X, "parts/1.npy": X[:90], "parts/2.npy": X[90:]}.items():
            np.save(path, rows)
        lines = [",".join(f"pixel{i}" for i in range(X.shape[1]))] + [",".join(map(repr, row)) for row in X.tolist()]
        Path("X.csv").write_text("\n".join(lines))
        nmf({"folder": "parts"}.get(kind, f"X.{kind}"), *OPTIONS[1:], "-o", "other")  # one pass by default
    assert files("other") == files("text")


def test_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    nmf(*OPTIONS, "-n", 300, "-o", "run.1", "--pictures", "2x4")
    for kind in ("error", "features", "detectors"):
        assert Path(f"run.1.{kind}.png").read_bytes().startswith(b"\x89PNG")
    nmf(*OPTIONS, "-n", 300, "-o", "other", "--pictures", "3x3", code=1)
    assert "images of 3 x 3" in " ".join(capsys.readouterr().err.split())


def test_a_short_run_has_a_model() -> None:
    nmf(*OPTIONS, "-n", 20, "-o", "run")
    assert Path("run.log").read_bytes() == b""
    np.testing.assert_array_equal(read_model(Path("run.model"))[1], learner(20, batch=150)[0].features)


# --- going on -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stops", [[1, 149, 150, 151, 333], [600]], ids=str)
def test_resumed_is_as_unbroken(stops: list[int]) -> None:
    nmf(*OPTIONS, "-n", 1000, "-o", "whole")
    for n in [*stops, 1000]:
        nmf(*OPTIONS, "-n", n, "-o", "broken", "--resume")
    assert files("broken") == files("whole")


def test_batches_after_the_checkpoint_come_again() -> None:
    nmf(*OPTIONS, "-n", 1000, "-o", "whole")
    nmf(*OPTIONS, "-n", 400, "-o", "run")
    kept = Path("run.state").read_bytes()
    nmf(*OPTIONS, "-n", 700, "-o", "run", "--resume")
    Path("run.state").write_bytes(kept)  # killed after the batches, before their checkpoint
    with Path("run.log").open("ab") as log:
        log.write(b"75")
    Path(".run.model.left").write_bytes(b"half")
    nmf(*OPTIONS, "-n", 1000, "-o", "run", "--resume")
    assert files("run") == files("whole")
    assert not Path(".run.model.left").exists()


def test_a_checkpoint_of_before_there_was_another_order() -> None:
    nmf(*OPTIONS, "-n", 1000, "-o", "whole")
    nmf(*OPTIONS, "-n", 400, "-o", "run")
    state, note = read_state(Path("run.state"))
    del note["settings"]["printed_order"]
    write_state(Path("run.state"), state, note)
    nmf(*OPTIONS, "-n", 1000, "-o", "run", "--resume")
    np.testing.assert_array_equal(read_model(Path("run.model"))[1], read_model(Path("whole.model"))[1])


def readable(name: str) -> None:
    """Whatever there is can be read."""
    if Path(f"{name}.log").exists():
        text = Path(f"{name}.log").read_text()
        assert text == "" or text.endswith("\n")
        assert all(len(line.split()) == 2 and float(line.split()[1]) > 0 for line in text.splitlines())
    if Path(f"{name}.model").exists():
        assert read_model(Path(f"{name}.model"))[0].shape == (4, 8)


def test_killed_and_resumed() -> None:
    options = [*map(str, OPTIONS), "-n", "20000", "--checkpoint", "0"]
    nmf(*options, "-o", "whole")
    rng = np.random.default_rng(0)
    killed = 0
    while killed < 3:
        process = subprocess.Popen(
            [*PROGRAM, *options, "-o", "run", "--resume"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        wait_for("run.state", process)
        time.sleep(rng.uniform(0.0, 0.2))
        process.kill()
        killed += process.wait(timeout=60) == -signal.SIGKILL
        readable("run")
        if process.returncode == 0:
            break
    nmf(*options, "-o", "run", "--resume")
    assert killed
    assert files("run") == files("whole")


def wait_for(path: str, process: subprocess.Popen) -> None:
    """Until the program is at work; later starts find the file there, and are given time to begin."""
    begin = time.monotonic()
    before = Path(path).stat().st_mtime_ns if Path(path).exists() else 0
    while process.poll() is None and time.monotonic() - begin < 60:
        if Path(path).exists() and Path(path).stat().st_mtime_ns != before:
            return
        time.sleep(0.01)


def test_ctrl_c_stops_and_writes() -> None:
    options = [*map(str, OPTIONS), "--checkpoint", "1000"]
    process = subprocess.Popen(
        [*PROGRAM, *options, "-n", "100000000", "-o", "run"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    while not (Path("run.log").exists() and Path("run.log").read_bytes()):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    message = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130
    assert "--resume goes on" in " ".join(message.split())
    seen = int(state("run")["totals"][0])
    assert seen > 0
    nmf(*options, "-n", seen + 100, "-o", "run", "--resume")
    nmf(*options, "-n", seen + 100, "-o", "whole")
    assert files("run") == files("whole")


def test_a_second_ctrl_c_stops_at_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    nmf(*OPTIONS, "-n", 1000, "-o", "whole")
    proper = Run.learn

    def learn(self: Run, rows: Any) -> None:
        proper(self, rows)
        if self.learner.seen > 400:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "learn", learn)
        nmf(*OPTIONS, "-n", 1000, "-o", "run", "--checkpoint", 0, code=130)
    assert "--resume goes on" in " ".join(capsys.readouterr().err.split())
    nmf(*OPTIONS, "-n", 1000, "-o", "run", "--resume")
    assert files("run") == files("whole")


def test_one_program_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    nmf(*OPTIONS, "-n", 300, "-o", "run")
    before, held = files("run"), lock(Path("run.log"))
    for flag in ("--resume", "--overwrite"):  # which leaves all of the other's files alone
        nmf(*OPTIONS, "-n", 600, "-o", "run", flag, code=1)
        assert "another partwise is writing into it" in " ".join(capsys.readouterr().err.split())
        assert files("run") == before
    os.close(held)
    nmf(*OPTIONS, "-n", 600, "-o", "run", "--resume")


# --- samples that are none ----------------------------------------------------------------------------------


def test_zero_and_missing_samples_are_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    rows = X.copy()
    rows[3], rows[7, 2] = 0.0, np.nan
    write_text("holes.txt", rows)
    nmf("holes.txt", *OPTIONS[1:], "-o", "holes", "--skip-missing")
    assert "200 samples, 2 of them passed over" in capsys.readouterr().out
    write_text("rest.txt", np.delete(rows, [3, 7], axis=0))
    nmf("rest.txt", *OPTIONS[1:], "-o", "rest")
    np.testing.assert_array_equal(state("holes")["H"], state("rest")["H"])


# --- wrong usage --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["nowhere.txt"], "there is no file or folder nowhere.txt", 1),
        (["bad.txt"], "bad.txt, line 2: 'two' is not a number", 1),
        (["negative.txt"], "negative.txt: sample 2 is negative in column 1", 1),
        (["nan.npy"], "nan.npy: sample 1 is not finite in column 2", 1),
        (["empty.txt"], "empty.txt: there is no sample in it", 1),
        (["data.txt", "-w", "0"], "-w must be a positive number", 2),
        (["data.txt", "-w", "1:x"], "-w must be a positive number", 2),
        (["data.txt", "--relaxation", "1.5"], "the first at most 1", 2),
        (["data.txt", "-f", "0"], "features", 2),
        (["data.txt", "--pictures", "28"], "give height x width", 2),
        (["data.txt", "-n", "0"], "samples", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage(arguments: list[str], message: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.txt").write_text("1 2\n1 two\n")
    Path("negative.txt").write_text("1 2\n-1 2\n")
    Path("empty.txt").write_text("\n")
    np.save("nan.npy", np.array([[1.0, np.nan]]))
    nmf("-f", "2", "-o", "run", *arguments, code=code)
    said = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert message in said
    assert "Traceback" not in said


def test_earlier_files_are_safe(capsys: pytest.CaptureFixture[str]) -> None:
    nmf(*OPTIONS, "-n", 300, "-o", "run")
    before = files("run")
    nmf(*OPTIONS, "-n", 300, "-o", "run", code=2)
    assert "give --resume to go on, --overwrite to begin anew" in " ".join(capsys.readouterr().err.split())
    nmf(*OPTIONS, "-n", 600, "-w", "2", "-o", "run", "--resume", code=2)
    assert "w was 1 in that run and is 2 now" in " ".join(capsys.readouterr().err.split())
    write_text("wide.txt", np.ones((5, 9)))
    nmf("wide.txt", *OPTIONS[1:], "-o", "run", "--resume", code=2)
    assert files("run") == before
    nmf(*OPTIONS, "-n", 150, "-o", "run", "--overwrite")
    assert files("run")["log"] == before["log"].splitlines(keepends=True)[0]
    Path("run.state").write_bytes(b"rubbish")
    nmf(*OPTIONS, "-n", 300, "-o", "run", "--resume", code=1)
    assert "is not a checkpoint" in " ".join(capsys.readouterr().err.split())
