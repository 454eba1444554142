"""One fresh process a contender, one after the other, interleaved over the repeats, verified by the driver.

The driver writes the problem once into a folder; each contender loads it in a process of its own (so that no
library's thread pool or allocator meets another's) under the same thread budget. What a contender says about
its accuracy is never read: the driver recomputes it from the arrays that come back.
"""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parent.parent
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "PARTWISE_NUM_THREADS",
)
ONE_BLAS = {"OPENBLAS_NUM_THREADS": "1"}  # for OpenMP loops that call BLAS: pools of both fight each other

Arrays = Mapping[str, Any]
Outcome = tuple[float, dict[str, Any], dict[str, Any]]  # seconds, arrays to verify, facts to report
Run = Callable[[Arrays, dict[str, Any]], Outcome]
Verify = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Contender:
    """Somebody who solves the problem: `run(data, params)` gives seconds, arrays and facts."""

    run: Run
    needs: Mapping[str, str] = field(default_factory=dict)  # module to import -> distribution that has it
    env: Mapping[str, str] = field(default_factory=dict)
    ready: Callable[[], bool] | None = None  # for what is not a Python module
    note: str = ""


@dataclass
class Row:
    """All that is known of one contender after its repeats."""

    name: str
    status: str = "ok"
    seconds: list[float] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def median(self) -> float:
        """Seconds of the repeat in the middle, scaled up where only a share of the rows was solved."""
        return statistics.median(self.seconds) * self.facts.get("scale", 1.0) if self.seconds else float("nan")


def best_of(function: Callable[[], Any], budget: float = 2.0, most: int = 5) -> tuple[float, Any]:
    """Time `function`; short ones again while the budget lasts (the first call pays for page faults)."""
    fastest, spent, result = float("inf"), 0.0, None
    for _ in range(most):
        begin = time.perf_counter()
        result = function()
        elapsed = time.perf_counter() - begin
        fastest, spent = min(fastest, elapsed), spent + elapsed
        if spent + elapsed > budget:
            break
    return fastest, result


def save_arrays(folder: Path, arrays: Arrays) -> None:
    """Write dense arrays as .npy and sparse ones as .npz."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in arrays.items():
        if sp.issparse(value):
            sp.save_npz(folder / f"{name}.npz", value, compressed=False)
        else:
            np.save(folder / f"{name}.npy", value)


def load_arrays(folder: Path) -> dict[str, Any]:
    """Read back what `save_arrays` wrote."""
    dense = {path.stem: np.load(path) for path in sorted(folder.glob("*.npy"))}
    return dense | {path.stem: sp.load_npz(path) for path in sorted(folder.glob("*.npz"))}


@contextmanager
def problem(arrays: Arrays) -> Iterator[Path]:
    """Give a temporary folder that holds the problem for all contenders."""
    with tempfile.TemporaryDirectory(prefix="partwise-bench-") as name:
        folder = Path(name)
        save_arrays(folder / "data", arrays)
        yield folder


def interpreter(name: str, options: Any) -> str:
    """Python for this contender: `--python name=path`, BENCH_PYTHON_<NAME>, or the driver's own.

    A family name reaches its members: `pyplanc` also sets `pyplanc-hals`.
    """
    for key in (name, name.split("-")[0]):
        chosen = options.python.get(key) or os.environ.get("BENCH_PYTHON_" + re.sub(r"\W", "_", key).upper())
        if chosen:
            return chosen
    return sys.executable


def environment(contender: Contender, threads: int) -> dict[str, str]:
    """Give every contender the same thread budget, and the package from this tree."""
    env = dict(os.environ) | dict.fromkeys(THREAD_VARIABLES, str(threads)) | dict(contender.env)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    return env


def spawn(case: str, name: str, contender: Contender, job: dict[str, Any], options: Any) -> dict[str, Any]:
    """Run one contender in a fresh process; give its answer, or a status that says what went wrong."""
    folder = Path(job["folder"])
    (folder / "job.json").write_text(json.dumps({"case": case, "contender": name} | job))
    command = [interpreter(name, options), "-m", "benchmarks.worker", str(folder)]
    with (folder / "log.txt").open("w+b") as log:
        # a session of its own, so that a timeout also reaches what the contender started (Rscript)
        env = environment(contender, options.threads)
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            code = process.wait(timeout=options.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return {"status": f"timeout ({options.timeout:g} s)"}
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        if code == 0:
            return json.loads((folder / "answer.json").read_text())
        log.seek(0)
        tail = log.read().decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {code}"]
        return {"status": f"failed: {tail[0][:160]}"}


def chosen(contenders: Mapping[str, Contender], options: Any) -> dict[str, Contender]:
    """Keep the peers asked for with `--peers` (by name or family); ours always run."""
    wanted = options.peers
    if wanted is None:
        return dict(contenders)
    unknown = set(wanted) - set(contenders) - {name.split("-")[0] for name in contenders}
    if unknown:
        raise SystemExit(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(contenders)}")
    return {
        name: contender
        for name, contender in contenders.items()
        if name.startswith("partwise") or name in wanted or name.split("-")[0] in wanted
    }


def race(
    case: str,
    contenders: Mapping[str, Contender],
    folder: Path,
    params: dict[str, Any],
    verify: Verify,
    options: Any,
) -> dict[str, Row]:
    """Run everybody `--repeat` times, interleaved, so that noise of the machine hits all alike."""
    rows = {name: Row(name, note=contender.note) for name, contender in contenders.items()}
    for repeat in range(options.repeat):
        for name, contender in contenders.items():
            row = rows[name]
            if row.status != "ok":
                continue
            print(f"  {case} repeat {repeat + 1}/{options.repeat}: {name} ...", end=" ", flush=True)
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                job = {"folder": scratch, "data": str(folder / "data"), "params": params, "known": row.facts}
                answer = spawn(case, name, contender, job, options)
                row.status = answer["status"]
                row.versions = answer.get("versions", row.versions)
                if row.status == "ok":
                    row.seconds.append(answer["seconds"])
                    row.facts |= answer["facts"]
                    row.facts |= verify(load_arrays(Path(scratch) / "out"), row.facts)
                    row.status = row.facts.pop("status", "ok")  # the driver's word is the last
            print(f"{row.seconds[-1]:.4g} s" if row.status == "ok" else row.status, flush=True)
    return rows
