"""A run: its lock, manifest, journal, checkpoints and Ctrl-C."""

from __future__ import annotations

import gzip
import io
import json
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars
import pytest
from rich.console import Console
from scipy.io import savemat

import partwise as pw
from partwise.algorithms.loop import Progress
from partwise.door.guard import watching
from partwise.exceptions import InputError, ReaderError
from partwise.outcomes import Stop
from partwise.runs import (
    AtOnce,
    Checkpoints,
    Interrupt,
    Journal,
    RunFolder,
    read_manifest,
    read_state,
    sweep,
    write_state,
)
from partwise.runs.progress import Counted, Watch, bar, reading_step

STATE: dict[str, Any] = {
    "components": np.asfortranarray(np.random.default_rng(0).random((3, 4))),
    "single": np.float32([[1, np.nan], [np.inf, 4]]),
    "rng": np.arange(5, dtype=np.uint8),
    "none": np.empty((0, 3)),
    "scalar": np.array(2.5),
    "history.n_iter": np.arange(3),
    "best": 0.1 + 0.2,
    "last": np.inf,
    "count": 2**70,
    "certified": True,
    "step": np.float32(0.1),
}


# --- checkpoints --------------------------------------------------------------------------------------------


def test_a_state_keeps_every_bit(tmp_path: Path) -> None:
    write_state(tmp_path / "state", STATE, {"n_iter": 3})
    found, note = read_state(tmp_path / "state")
    assert note == {"n_iter": 3}
    assert list(found) == list(STATE)
    for name, value in STATE.items():
        assert type(found[name]) is type(value)
        if isinstance(value, np.ndarray):
            assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape)
            assert found[name].flags.f_contiguous == value.flags.f_contiguous  # decides the last bits of products
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize(
    "value", ["text", {"a": 1}, [1, 2], None, np.array(["x", "y"], object), np.array([1j])], ids=str
)
def test_what_is_no_state_is_refused_by_name(value: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="momentum"):
        write_state(tmp_path / "state", {"momentum": value})
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    pw.save(pw.SPA(2), tmp_path / "model")
    with pytest.raises(ReaderError, match="no checkpoint of this version"):
        read_state(tmp_path / "model")
    (tmp_path / "half").write_bytes(b"half")
    with pytest.raises(ReaderError, match="not a readable checkpoint"):
        read_state(tmp_path / "half")


def test_slow_writes_come_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, written = [0.0], []

    def slow(path: Path, state: Any, note: Any) -> None:
        written.append((clock[0], note["n_iter"]))
        clock[0] += 2.0

    monkeypatch.setattr("partwise.runs.checkpoints.write_state", slow)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    keep = Checkpoints(tmp_path / "state", 5.0, Interrupt())
    for number in range(61):
        keep(Progress(np.eye(2), 1.0, n_iter=number, state={"x": 1}))
        clock[0] += 1.0
    # at 5 seconds, then 9 times what a write took after its end
    assert [moment for moment, _ in written] == [5.0, 25.0, 45.0, 65.0]
    keep(Progress(np.eye(2), 1.0, n_iter=61))  # cannot be gone on from
    keep(Progress(np.eye(2), 1.0, n_iter=62, state={"x": 1}, stop=Stop("settled")))  # nothing is left
    assert len(written) == 4


# --- Ctrl-C -------------------------------------------------------------------------------------------------


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def test_ctrl_c_waits_where_it_is_held() -> None:
    told: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with Interrupt(lambda: told.append("waits")) as interrupt:
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()
        done: list[str] = []

        def held(times: int) -> None:
            with interrupt.held():
                for _ in range(times):
                    ctrl_c()
                done.append("to the end")

        with pytest.raises(KeyboardInterrupt):
            held(1)
        assert (done, told) == (["to the end"], ["waits"])
        with interrupt.held():
            ctrl_c()
            assert interrupt.take()
        with pytest.raises(AtOnce):
            held(2)
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()
    assert done == ["to the end"]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_ends_a_fit_with_a_state(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((30, 8))
    options = {"n_components": 3, "max_iter": 30, "tol": 0.0, "random_state": 0}
    place = tmp_path / "state"
    with Interrupt() as interrupt, interrupt.held():
        press = lambda progress: ctrl_c() if progress.n_iter == 4 else None  # noqa: E731
        model = pw.HALS(**options, callbacks=[press, Checkpoints(place, 1e9, interrupt)])
        with pytest.warns(match="interrupted"):
            model.fit(X)
    assert (model.stop_.kind, model.n_iter_) == ("interrupted", 4)
    whole = pw.HALS(**options).fit(X)
    resumed = pw.HALS(**options).fit(X, state=read_state(place)[0])
    np.testing.assert_array_equal(resumed.components_, whole.components_)


# --- folder, manifest, journal ------------------------------------------------------------------------------


def test_one_run_a_folder(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "a"), pytest.raises(BlockingIOError, match="another partwise"):
        RunFolder(tmp_path / "a").open()
    with RunFolder(tmp_path / "a"):
        pass


def test_outputs_are_named_when_they_are_there(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, ["a.csv", "b.csv"])
    folder.begin({"what": 1})
    with pytest.raises(RuntimeError):
        folder.write("a.csv", lambda path: (_ for _ in ()).throw(RuntimeError))
    folder.write("b.csv", lambda path: path.write_text("b"))
    (tmp_path / "a.csv").write_text("of another run")
    (tmp_path / ".b.csv.xyz").write_text("half")
    assert list(json.loads((tmp_path / "manifest.json").read_text())["outputs"]) == ["b.csv"]
    again = RunFolder(tmp_path, ["a.csv", "b.csv"])
    before = read_manifest(tmp_path, {"outputs": dict, "what": int}, of="a test")
    again.begin(before, before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.csv", "manifest.json"]
    assert again.has("b.csv")
    (tmp_path / "b.csv").write_text("changed")
    assert not again.has("b.csv")
    assert again.manifest["status"] == "running"
    assert len(again.manifest["sessions"]) == 2
    again.finish("complete")
    assert read_manifest(tmp_path, {}, of="a test")["status"] == "complete"
    with pytest.raises(InputError, match="manifest of a test: other is missing"):
        read_manifest(tmp_path, {"other": int}, of="a test")


def test_sweep_leaves_other_files(tmp_path: Path) -> None:
    for name in (".a.1", ".a.b.2", ".c.3", "a"):
        (tmp_path / name).touch()
    sweep(tmp_path, ["a"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [".c.3", "a"]


@pytest.mark.parametrize("end", [b"", b'{"n": 3, "x', b'{"x": 1}\n', b"[1]\n", b"\xff\n"], ids=repr)
def test_journal_goes_on_behind_what_is_whole(end: bytes, tmp_path: Path) -> None:
    place = tmp_path / "cells.jsonl"
    journal = Journal(place, lambda entry: entry["n"])
    journal.add({"n": 1, "x": np.float32(0.5)})
    journal.add({"n": 2})
    whole = place.read_bytes()
    place.write_bytes(whole + end)
    again = Journal(place, lambda entry: entry["n"])
    assert again.done == {1: {"n": 1, "x": 0.5}, 2: {"n": 2}}
    again.add({"n": 3})
    assert place.read_bytes() == whole + b'{"n": 3}\n'


# --- the bar ------------------------------------------------------------------------------------------------


def test_bar_says_how_far_and_how_long() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with bar(console) as progress:
        count = Counted(progress, "Cells")
        count(600, 5000, "first")  # from two counts on somebody knows what is left
        count(1200, 5000, "next")
        model = pw.HALS(3, tol=1e-4, max_iter=100)
        watch = Watch(
            progress, progress.add_task("Fit", total=1.0, note=""), model, measure="squares", norm=2.0, n_samples=9
        )
        start = Progress(np.eye(3), 2.0, 1e-2)
        watch(start)
        watch(replace(start, residual=1e-3, n_iter=3))
        assert progress.tasks[1].completed == pytest.approx(0.5)  # a half of the decades, though 3 of 100 iterations
        assert progress.tasks[1].fields["note"] == "iteration 3, error 1"
        assert progress.tasks[0].fields["note"] == "1,200 of 5,000, next"
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "left" in shown
    assert bar(Console(file=io.StringIO())).disable


@pytest.mark.parametrize("end", ["", ".gz"])
def test_what_is_left_of_reading_falls(tmp_path: Path, end: str) -> None:
    file = tmp_path / f"a.csv{end}"
    text = "".join(f"{i},{i * 7919 % 1000 / 7}\n" for i in range(500_000)).encode()
    file.write_bytes(gzip.compress(text, 1) if end else text)
    for place in (file, tmp_path):
        with bar(Console(file=io.StringIO(), force_terminal=True, width=120)) as progress:
            update = mock.patch.object(progress, "update", side_effect=progress.update)
            with update as told, reading_step(progress, str(place)):
                assert pw.read(place, row_names=False, header=False).X.shape == (500_000, 2)
            assert progress.finished
        steps = np.array([call.kwargs["completed"] for call in told.call_args_list])
        assert (np.diff(steps) >= 0.0).all()
        assert steps[0] < 0.6 < 0.99 == steps[-2] < steps[-1] == 1.0


@pytest.mark.parametrize("end", ["npy", "mat", "parquet"])
def test_so_does_what_is_left_of_other_files(tmp_path: Path, end: str) -> None:
    X, file = np.random.default_rng(0).random((400_000, 25)), tmp_path / f"a.{end}"
    if end == "npy":
        np.save(file, X)
    elif end == "mat":
        savemat(file, {"X": X}, do_compression=True)
    else:
        polars.DataFrame(X).write_parquet(file)
    seen: list[int] = []
    with watching(lambda path, place: seen.append(place)):
        np.testing.assert_array_equal(pw.read(file).X, X)
    assert len(seen) > 1
    assert (np.diff(seen) > 0).all()
    assert seen[0] < 0.9 * file.stat().st_size <= seen[-1] < 1.1 * file.stat().st_size


def test_a_folder_of_many_files_is_not_looked_through_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("1.5,2\n2,3\n")
    monkeypatch.setattr("partwise.runs.progress.MANY", 3)
    with bar(Console(file=io.StringIO(), force_terminal=True, width=120)) as progress:
        update = mock.patch.object(progress, "update", side_effect=progress.update)
        with update as told, reading_step(progress, str(tmp_path)):
            assert pw.read(tmp_path, row_names=False, header=False).X.shape[0] == 3
    assert [call.kwargs.get("completed") for call in told.call_args_list] == [1.0]
