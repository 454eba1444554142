"""The contender's side: load the problem, run, write the arrays to verify. Started by `harness.spawn`."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import platform
import sys
import warnings
from pathlib import Path

from .cases import CASES
from .harness import Contender, load_arrays, save_arrays


def missing(contender: Contender) -> list[str]:
    """Give the distributions of the modules that cannot be imported here."""
    absent = [dist for module, dist in contender.needs.items() if importlib.util.find_spec(module) is None]
    if not absent and contender.ready is not None and not contender.ready():
        absent.append("its program")
    return absent


def versions(contender: Contender) -> dict[str, str]:
    """Give the versions of Python, NumPy and the contender's own packages."""
    found = {"python": platform.python_version()}
    for dist in ("numpy", "scipy", *contender.needs.values()):
        try:
            found[dist] = importlib.metadata.version(dist)
        except importlib.metadata.PackageNotFoundError:  # importable from a folder, but not installed
            found[dist] = "unknown"
    return found


def main(folder: Path) -> None:
    """Do the job written in `folder` and answer beside it."""
    warnings.simplefilter("ignore")  # a fixed number of iterations is meant, not a lack of convergence
    job = json.loads((folder / "job.json").read_text())
    case = importlib.import_module(CASES[job["case"]])
    contender = (case.CONTENDERS | getattr(case, "HIDDEN", {}))[job["contender"]]
    absent = missing(contender)
    if absent:
        answer = {"status": f"skipped: not installed ({', '.join(absent)})"}
    else:
        params = job["params"] | {"known": job["known"]}
        seconds, arrays, facts = contender.run(load_arrays(Path(job["data"])), params)
        save_arrays(folder / "out", arrays)
        answer = {"status": "ok", "seconds": seconds, "facts": facts, "versions": versions(contender)}
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
