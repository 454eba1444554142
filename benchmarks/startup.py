"""Processor time of whole commands, warm: the version, the list of methods, a fit of a small table with its report."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .harness import Arrays, Contender, Outcome, Row, chosen, problem, race
from .report import Target, finish, show

REACH = {"version": 0.2, "methods": 0.5, "fit": 1.5}


def _cached(folder: str) -> dict[str, str]:
    """The environment with bytecode kept in a folder, as installed programs have it, whatever is set here."""
    rest = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return rest | {"PYTHONPYCACHEPREFIX": str(Path(folder, "bytecode"))}


def command(*words: str) -> Any:
    """One command in a process of its own, once to warm up and once to measure."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        with tempfile.TemporaryDirectory() as name:
            np.savetxt(Path(name, "table.csv"), data["X"], delimiter=",")
            spent = 0.0
            for turn in range(2):
                line = [sys.executable, "-m", "partwise", *words, *(["-o", f"out{turn}"] if "fit" in words else [])]
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run(line, cwd=name, check=True, capture_output=True, env=_cached(name))
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return spent, {}, {}

    return run


OURS = {"partwise": "partwise"}
CONTENDERS = {
    "partwise-version": Contender(command("--version"), OURS, note="partwise --version"),
    "partwise-methods": Contender(command("methods"), OURS, note="partwise methods"),
    "partwise-fit": Contender(command("fit", "table.csv", "-k", "3"), OURS, note="partwise fit, 200 x 30, report"),
}


def _imported(data: Arrays, params: dict[str, Any]) -> Outcome:
    line = [sys.executable, "-c", "import sklearn.base"]
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(line, check=True, env=_cached(name))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(line, check=True, env=_cached(name))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, {}, {}


CONTENDERS["sklearn"] = Contender(_imported, {"sklearn": "scikit-learn"}, note="import sklearn.base alone")


def main(options: Any) -> None:
    """Run the case."""
    rng = np.random.default_rng(options.seed)
    X = rng.gamma(0.5, size=(200, 3)) @ rng.gamma(0.5, size=(3, 30))
    with problem({"X": X}) as folder:
        rows: dict[str, Row] = race(
            "startup", chosen(CONTENDERS, options), folder, {}, lambda arrays, facts: {}, options
        )
    show("startup", ["", "processor s"], [[name, f"{row.median:.2f}"] for name, row in rows.items()])
    targets = [
        Target(f"{name}, s", rows[f"partwise-{name}"].median, goal, at_most=True) for name, goal in REACH.items()
    ]
    finish("startup", [{"rows": rows}], targets, options)
