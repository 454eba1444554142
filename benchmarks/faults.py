"""A fault at every call to the disk, in every command: no torn file, and what goes on ends in the same bits.

For each command the calls that touch its files are counted (`benchmarks.faulty_files`). Then it is run once for every
one of them and every fault: no room from there on, EIO, EINTR, half a write, Ctrl-C, a kill. Whatever is left under a
final name must be readable, an error must be told as one of the disk, nothing hidden may stay behind but by a kill, and
the same command, resumed, must give the bits of the run that nothing disturbed. ``--peers fit,nmf`` chooses commands.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import json
import os
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import partwise as pw
from partwise.exceptions import InputError

from .faulty_files import FAULTS, FaultyFiles, Killed, unsynced
from .harness import Contender, chosen
from .kill_fit import unreadable

OWN_FAULT = "fault of partwise itself"
RNG = np.random.default_rng(0)
X = RNG.gamma(0.5, size=(60, 3)) @ RNG.gamma(0.5, size=(3, 8)) + 0.01
Bits = dict[str, Any]


@dataclass(frozen=True)
class Command:
    """Something that writes, below one folder."""

    note: str
    prepare: Callable[[Path], object]
    begin: Callable[[Path], int]
    resume: Callable[[Path], int]
    torn: Callable[[Path], list[str]]  # what is under a final name and cannot be read
    result: Callable[[Path], Bits]


@dataclass(frozen=True)
class Case:
    """One fault, and what came of it."""

    command: str
    fault: str
    at: int
    call: str
    findings: tuple[str, ...]


def program(*words: str) -> int:
    """The program, in this process, which must not take a fault of the disk for one of its own."""
    from partwise.cli.app import run

    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        code = run(list(words))
    told = " ".join(said.getvalue().split())
    if OWN_FAULT in told:
        raise AssertionError(told)
    return code


def library(work: Callable[[Path], object]) -> Callable[[Path], int]:
    """A call of the library as a command: errors of the disk are its failures."""

    def run(folder: Path) -> int:
        try:
            work(folder)
        except (OSError, InputError):
            return 1
        except KeyboardInterrupt:
            return 130
        return 0

    return run


# --- the commands --------------------------------------------------------------------------------------------------


def _data(folder: Path) -> None:
    np.save(folder / "data.npy", X)
    np.savetxt(folder / "data.txt", X)
    np.savetxt(folder / "data.csv", X, delimiter=",", header="a,b,c,d,e,f,g,h", comments="")


def _fit(*more: str) -> Callable[[Path], int]:
    words = [
        "-k",
        "3",
        "--method",
        "hals",
        "--max-iter",
        "4",
        "--tol",
        "0",
        "--checkpoint-every",
        "0",
        "-q",
        "--weights-format",
        "npy",
    ]
    return lambda folder: program("fit", str(folder / "data.npy"), *words, "-o", str(folder / "out"), *more)


def _fitted(folder: Path) -> Bits:
    out = folder / "out"
    names = {path.name for path in out.iterdir()}
    manifest = json.loads((out / "manifest.json").read_text())
    model = pw.load(out / "model.safetensors")
    return {
        "files": names,
        "status": manifest["status"],
        "model": model.components_.tobytes(),
        "components": (out / "components.csv").read_bytes(),
        "weights": (out / "weights.npy").read_bytes(),
        "data": manifest["data"]["sha256"],
    }


def _nmf(folder: Path) -> int:
    words = ["nmf", str(folder / "data.txt"), "-f", "3", "-b", "10", "-n", "90", "--checkpoint", "0"]
    return program(*words, "-o", str(folder / "run"), *(["--resume"] if (folder / "run.state").exists() else []))


def _nmf_torn(folder: Path) -> list[str]:
    from partwise.cli.nmf import read_model
    from partwise.runs import read_state

    bad = []
    log = (folder / "run.log").read_bytes() if (folder / "run.log").exists() else b""
    if log and not log.endswith(b"\n"):
        bad.append(f"run.log ends within a line: {log[-40:]!r}")
    if any(len(line.split()) != 2 for line in log.splitlines()):
        bad.append("run.log has a line that is none")
    for name, read in (("run.state", read_state), ("run.model", read_model)):
        try:
            if (folder / name).exists():
                read(folder / name)
        except Exception as error:  # whatever it is, it is the finding
            bad.append(f"{name}: {error}")
    return bad


def _nmf_result(folder: Path) -> Bits:
    from partwise.runs import read_state

    state = read_state(folder / "run.state")[0]
    return {name: (folder / f"run.{name}").read_bytes() for name in ("log", "model")} | {
        name: np.asarray(value).tobytes() for name, value in state.items()
    }


def _model_prepared(folder: Path) -> None:
    _data(folder)
    pw.save(_models()[0], folder / "model.safetensors")


@functools.cache
def _models() -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(pw.HALS(3, max_iter=n, tol=0.0, random_state=0).fit(X) for n in (2, 5))  # type: ignore[return-value]


def _transform(folder: Path) -> int:
    model, data, out = (str(folder / name) for name in ("model.safetensors", "data.csv", "weights.csv"))
    return program("transform", model, data, "-o", out, "-q", "--overwrite")


def _save(folder: Path) -> None:
    pw.save(_models()[1], folder / "model.safetensors")


def _save_torn(folder: Path) -> list[str]:
    found = pw.load(folder / "model.safetensors").components_.tobytes()
    return (
        [] if found in [model.components_.tobytes() for model in _models()] else ["neither the old model nor the new"]
    )


@functools.cache
def _experiment() -> Any:
    """A short one: what it writes is what all write."""
    from partwise.lab import find_experiment

    return dataclasses.replace(find_experiment("and-lemmas"), timed=False)


def _lab(folder: Path) -> None:
    from partwise.lab import run_experiment

    run_experiment(_experiment(), folder / "lab", size="tiny", seeds=1)


def _lab_result(folder: Path) -> Bits:
    from partwise.lab import load_result

    def plain(rows: Iterable[Any]) -> list[str]:
        return [repr({key: value for key, value in row.items() if "second" not in key}) for row in rows]

    found = load_result(_experiment(), folder / "lab")
    return {"rows": plain(found.table), "files": sorted(path.name for path in (folder / "lab").rglob("*"))}


def _lab_torn(folder: Path) -> list[str]:
    bad = []
    for path in sorted((folder / "lab").rglob("*")) if (folder / "lab").exists() else []:
        try:
            if path.name == "cells.jsonl" or path.is_dir():
                continue  # a line that is cut is the journal's to see
            if path.suffix == ".json":
                json.loads(path.read_text())
            elif path.suffix == ".html":
                assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
            elif path.suffix in (".csv", ".parquet"):
                import polars

                (polars.read_csv if path.suffix == ".csv" else polars.read_parquet)(path)
        except Exception as error:
            bad.append(f"{path.name}: {type(error).__name__}: {error}")
    return bad


def _spool(folder: Path) -> None:
    """Tables that do not fit into memory go by temporary files."""
    (folder / "tmp").mkdir(exist_ok=True)
    with mock.patch.object(tempfile, "tempdir", str(folder / "tmp")):
        table = pw.read(folder / "data.csv", in_memory=0)
        found = table.source().take(range(60))
        turned = pw.read(folder / "data.csv", in_memory=0, transpose=True)
        assert np.array_equal(turned.source().take(range(8)).T, found)
        with contextlib.suppress(FileNotFoundError):
            (folder / "copy").unlink()
        with (folder / "copy").open("wb") as file:
            file.write(found.tobytes())


def _tables(folder: Path) -> None:
    from partwise.io.writing import write_table

    for suffix in ("csv", "npy", "parquet"):
        write_table(folder / f"table.{suffix}", X, list("abcdefgh"), names=[f"s{i}" for i in range(60)])


def _tables_torn(folder: Path) -> list[str]:
    others = [path for path in sorted(folder.glob("table.*")) if not np.array_equal(np.asarray(pw.read(path).X), X)]
    return [f"{path.name} holds other numbers" for path in others]


def _bytes_of(*names: str) -> Callable[[Path], Bits]:
    return lambda folder: {name: (folder / name).read_bytes() for name in names}


COMMANDS = {
    "fit": Command(
        "partwise fit, all its files, a checkpoint after each iteration",
        _data,
        _fit(),
        _fit("--resume"),
        lambda folder: unreadable(folder / "out"),
        _fitted,
    ),
    "nmf": Command("partwise nmf, a checkpoint after each chunk", _data, _nmf, _nmf, _nmf_torn, _nmf_result),
    "transform": Command(
        "partwise transform",
        _model_prepared,
        _transform,
        _transform,
        lambda folder: [] if not (folder / "weights.csv").exists() else _read(folder / "weights.csv", (60, 3)),
        _bytes_of("weights.csv"),
    ),
    "save": Command(
        "pw.save over an older model",
        _model_prepared,
        library(_save),
        library(_save),
        _save_torn,
        _bytes_of("data.txt"),
    ),
    "lab": Command(
        "an experiment of the lab, its tables and pages", _data, library(_lab), library(_lab), _lab_torn, _lab_result
    ),
    "spool": Command(
        "pw.read of a table that does not fit into memory",
        _data,
        library(_spool),
        library(_spool),
        lambda folder: [],
        _bytes_of("copy"),
    ),
    "tables": Command(
        "write_table: csv, npy, parquet",
        _data,
        library(_tables),
        library(_tables),
        _tables_torn,
        _bytes_of("table.csv", "table.npy"),
    ),
}


def _read(path: Path, shape: tuple[int, int]) -> list[str]:
    found = pw.read(path).X.shape
    return [] if found == shape else [f"{path.name} has the shape {found}"]


# --- a fault -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def place(command: Command) -> Iterator[Path]:
    """A folder with the inputs of a command."""
    with tempfile.TemporaryDirectory(prefix="partwise-faults-") as name:
        folder = Path(name) / "work"
        folder.mkdir()
        command.prepare(folder)
        yield folder


def calls(command: Command) -> tuple[list[tuple[str, str]], Bits]:
    """The calls of a run that nothing disturbs, and its result."""
    with place(command) as folder:
        layer = FaultyFiles(folder)
        with layer.installed():
            code = command.begin(folder)
        assert code == 0, code
        assert unsynced(layer.calls) == [], "renamed before it was on disk"
        return [(what, os.path.relpath(name, folder)) for what, name in layer.calls], command.result(folder)


def places(made: list[tuple[str, str]]) -> list[tuple[str, int]]:
    """Every fault at every call; only writes can be short."""
    numbers = range(1, len(made) + 1)
    return [(fault, at) for fault in FAULTS for at in numbers if fault != "short" or made[at - 1][0] == "write"]


def disturbed(name: str, fault: str, at: int, wanted: Bits) -> Case:
    """Run a command with a fault, look at what is there, and go on."""
    command, findings = COMMANDS[name], []
    with place(command) as folder:
        layer = FaultyFiles(folder, fault, at)
        code: int | str
        try:
            with layer.installed():
                code = command.begin(folder)
        except Killed:
            code = "killed"
        except Exception as error:
            code = "raised"
            findings.append(f"{type(error).__name__}: {error}")
        what, where = layer.calls[at - 1] if len(layer.calls) >= at else ("", str(folder))
        call = f"{what} {os.path.relpath(where, folder)}"
        findings += [f"torn: {one}" for one in command.torn(folder)]
        hidden = [path.name for path in folder.rglob(".*")]
        if hidden and fault != "kill" and not call.startswith("unlink"):
            findings.append(f"left behind: {hidden}")
        if code == 0:
            findings += [f"said to be done, {one} differs" for one in _differing(command.result(folder), wanted)]
        again = command.resume(folder)
        if again:
            findings.append(f"to go on ended with {again}")
        else:
            findings += [
                f"{one} differs from the undisturbed run" for one in _differing(command.result(folder), wanted)
            ]
    return Case(name, fault, at, call, tuple(findings))


def _differing(found: Bits, wanted: Bits) -> list[str]:
    return [key for key in wanted if found.get(key) != wanted[key]]


CONTENDERS = {name: Contender(lambda *_: (0.0, {}, {}), note=command.note) for name, command in COMMANDS.items()}


def main(options: Any) -> None:
    """Run the case: every call, every fault."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # an exception would be taken for the end of a command
    bad = total = 0
    for name in chosen(CONTENDERS, options):
        begin = time.perf_counter()
        made, wanted = calls(COMMANDS[name])
        faulty: list[Case] = []
        count = 0
        for fault, at in places(made):
            case = disturbed(name, fault, at, wanted)
            count += 1
            if case.findings:
                faulty.append(case)
                print(f"  {case}", flush=True)
        total, bad = total + count, bad + len(faulty)
        seconds = time.perf_counter() - begin
        print(f"{name}: {len(made)} calls, {count} faults, {len(faulty)} findings, {seconds:.0f} s", flush=True)
    print(f"{total} faults, {bad} findings")
    raise SystemExit(1 if bad else 0)
