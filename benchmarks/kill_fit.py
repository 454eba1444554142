"""``partwise fit`` killed at random moments: ``python -m benchmarks.kill_fit --count 20``.

For each method an unbroken run is timed. Then runs are killed (SIGKILL) at moments drawn evenly over that time, from
the start of the program to its end. Whatever a kill leaves under a final name must be readable, and the same command
with ``--resume`` must finish with a model about as good as the unbroken one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import partwise as pw

PROGRAM = [sys.executable, "-c", "from partwise.cli import main; main()", "fit"]
METHODS = {
    "hals": ["--max-iter", "250", "--tol", "0"],
    "mu": ["--set", "beta_loss=kullback-leibler", "--max-iter", "40", "--tol", "0"],
    "conservative": ["--set", "max_passes=40", "--set", "batch_size=1000"],
    "facets": [],
    "and": ["--max-iter", "150"],
    "tsvdnmf": ["--set", "refine=true"],
    "spa": [],  # done at once: mostly reading and writing
}
SLACK = 1.05  # error of a run that was broken, relative to an unbroken one


@dataclass(frozen=True)
class Case:
    """One kill."""

    method: str
    moment: float  # share of the unbroken run
    files: tuple[str, ...]
    unreadable: tuple[str, ...]
    error: float
    unbroken: float

    @property
    def good(self) -> bool:
        """Whether all is as it must be."""
        return not self.unreadable and self.error <= SLACK * self.unbroken + 1e-6


def command(folder: Path, out: str, method: str) -> list[str]:
    """The command of a run."""
    words = [*PROGRAM, str(folder / "data.npy"), "-k", "10", "--method", method, *METHODS[method], "-q"]
    return [*words, "--checkpoint-every", "0.2", "-o", str(folder / out)]


def unreadable(folder: Path) -> list[str]:
    """Files under a final name that do not parse."""
    bad = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        try:
            check(path)
        except Exception as error:  # whatever it is, it is the finding
            bad.append(f"{path.name}: {type(error).__name__}: {error}")
    return bad


def check(path: Path) -> None:
    """Read a file of a run as its user would."""
    if path.name.startswith("."):  # what a killed write leaves has no final name
        return
    if path.suffix == ".json":
        assert json.loads(path.read_text())["status"] in ("running", "complete")
    elif path.suffix == ".safetensors":
        assert np.isfinite(pw.load(path).components_).all()
    elif path.suffix == ".html":
        assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    else:
        assert min(pw.read(path).X.shape) > 0


def kill(words: list[str], out: Path, moment: float, seconds: float) -> None:
    """Kill a run at this share of its time; one that ends before is measured, and run again."""
    while True:
        begin = time.perf_counter()
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(moment * seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        if process.wait() == -signal.SIGKILL:
            return
        seconds = time.perf_counter() - begin
        shutil.rmtree(out)


def kill_once(folder: Path, method: str, number: int, moment: float, seconds: float, unbroken: float) -> Case:
    """Run, kill, look, resume."""
    words = command(folder, f"{method}-{number}", method)
    out = folder / f"{method}-{number}"
    kill(words, out, moment, seconds)
    files = tuple(sorted(path.name for path in out.iterdir())) if out.is_dir() else ()
    bad = unreadable(out)
    ended = subprocess.run([*words, "--resume"], capture_output=True, text=True, timeout=600)
    if ended.returncode:
        bad.append(f"--resume ended with {ended.returncode}: {ended.stderr.strip()}")
        return Case(method, moment, files, tuple(bad), float("nan"), unbroken)
    bad += unreadable(out)
    manifest = json.loads((out / "manifest.json").read_text())
    left = [path.name for path in out.iterdir() if path.name not in {"manifest.json", *manifest["outputs"]}]
    if manifest["status"] != "complete" or left:
        bad.append(f"status {manifest['status']}, left over {left}")
    return Case(method, moment, files, tuple(bad), float(manifest["fit"]["error"]), unbroken)


def run(count: int, seed: int, methods: list[str], rows: int) -> list[Case]:
    """Kill so many runs, the methods in turn."""
    rng = np.random.default_rng(seed)
    data = pw.datasets.make_topics(n_samples=rows, n_features=300, n_components=10, random_state=seed)
    noisy = pw.datasets.add_gaussian_noise(data, 0.1, random_state=seed)
    cases, whole = [], {}
    with tempfile.TemporaryDirectory(prefix="partwise-kill-") as name:
        folder = Path(name)
        np.save(folder / "data.npy", np.maximum(noisy.X, 0.0))
        for number in range(count):
            method = methods[number % len(methods)]
            if method not in whole:
                for again in ("first", "timed"):  # the first compiles
                    begin = time.perf_counter()
                    subprocess.run(command(folder, f"{method}-{again}", method), check=True, capture_output=True)
                    seconds = time.perf_counter() - begin
                manifest = json.loads((folder / f"{method}-timed" / "manifest.json").read_text())
                whole[method] = seconds, float(manifest["fit"]["error"])
                print(f"{method}: {seconds:.1f} s, error {whole[method][1]:.6f}", flush=True)
            # one moment in each of equal parts of the run, so that a few kills cover all of it
            strata = -(-count // len(methods))
            moment = (number // len(methods) + rng.random()) / strata
            cases.append(kill_once(folder, method, number, moment, *whole[method]))
            print(told(cases[-1]), flush=True)
    return cases


def told(case: Case) -> str:
    """A line about it."""
    verdict = "ok" if case.good else f"FAILED {case.unreadable}"
    left = ", ".join(name for name in case.files if not name.startswith(".")) or "nothing"
    ratio = case.error / case.unbroken
    return f"{case.method:<13}{case.moment:5.0%}  error {ratio:.4f} of unbroken  {verdict}  (left: {left})"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=10000)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--json", type=Path, help="write the cases here too")
    chosen = parser.parse_args()
    cases = run(chosen.count, chosen.seed, chosen.methods.split(","), chosen.rows)
    bad = [case for case in cases if not case.good]
    if chosen.json:
        result: dict[str, Any] = {"cases": [asdict(case) for case in cases], "failures": len(bad)}
        chosen.json.write_text(json.dumps(result | {"cores": os.cpu_count()}, indent=2) + "\n")
    worst = max(case.error / case.unbroken for case in cases)
    print(f"{len(cases)} runs killed, {len(bad)} failures; largest error relative to an unbroken run {worst:.4f}")
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
