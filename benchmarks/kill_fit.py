"""``partwise fit`` killed at random moments: ``python -m benchmarks.kill_fit --count 100 --methods hals,mu``.

For each method an unbroken run is timed. Then runs are killed (SIGKILL) at random moments, gone on with and killed
again, ``--chain`` times each: every third time anywhere from the start of the program to its end, the others behind a
checkpoint of its own, while it iterates or writes. Whatever a kill leaves under a final name must be readable, and the
same command with ``--resume`` must finish with the components, weights and history (but for its clock) of the unbroken
run, bit by bit. Runs are forks of this process, in which all is imported, on one thread.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import signal
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import partwise as pw
import partwise.report  # once, and not by every run
from partwise.cli.app import run as program
from partwise.cli.results import FEATURES
from partwise.estimators.catalog import METHODS as CATALOG
from partwise.runs import CHECKPOINT, read_state

ONLINE = ["--set", "max_passes=20", "--set", "batch_size=100"]
METHODS = {
    "hals": ["--max-iter", "150", "--tol", "0"],
    "anls": ["--max-iter", "100", "--tol", "0"],
    "mu": ["--set", "beta_loss=kullback-leibler", "--max-iter", "60", "--tol", "0"],
    "and": ["--max-iter", "60", "--tol", "0"],
    "facets": ["--max-iter", "60", "--tol", "0"],
    "purification": ["--max-iter", "60", "--tol", "0"],
    "likelihood": ["--max-iter", "80", "--tol", "0"],
    "bayes": ["--max-iter", "60", "--tol", "0"],
    "minvol": ["--max-iter", "80", "--tol", "0"],
    "archetypes": ["--set", "starts=2", "--max-iter", "100", "--tol", "0"],
    "conservative": ONLINE,
    "minibatch": ["--max-iter", "60", "--tol", "0", "--set", "batch_size=50", "--set", "max_no_improvement=none"],
    "shuffled": ["--method", "conservative", *ONLINE, "--set", "shuffle=true"],
    "tsvdnmf": ["--set", "refine=true"],
    "spa": [],  # done at once: mostly reading and writing
}


@dataclass(frozen=True)
class Case:
    """One run, killed again and again."""

    method: str
    kills: int
    files: tuple[str, ...]  # that any of them left
    reached: tuple[int, ...]  # iterations of the checkpoints that they left
    faults: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether all is as it must be."""
        return not self.faults


def command(folder: Path, out: str, method: str) -> list[str]:
    """The command of a run."""
    options = METHODS[method]
    named = [] if "--method" in options else ["--method", method]
    words = ["fit", str(folder / "data.npy"), "-k", "5", *named, *options, "-q", "--weights-format", "npy"]
    return [*words, "--no-judge", "--checkpoint-every", "0", "-o", str(folder / out)]


def begin(words: list[str], said: int) -> int:
    """A run in a fork of this process, and the number of it."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.dup2(said, 1)
        os.dup2(said, 2)
        code = program(words)
    finally:
        os._exit(code)


def ended(child: int, seconds: float | None = None) -> int | None:
    """How a run ended: its code, or minus the signal; None if it goes on after so many seconds."""
    until = time.perf_counter() + (seconds or 0.0)
    while True:
        number, status = os.waitpid(child, 0 if seconds is None else os.WNOHANG)
        if number:
            return os.waitstatus_to_exitcode(status)
        if time.perf_counter() >= until:
            return None
        time.sleep(0.001)


def whole(words: list[str]) -> tuple[int | None, str]:
    """Run to the end: the code, and what was said."""
    with tempfile.TemporaryFile() as said:
        code = ended(begin(words, said.fileno()))
        said.seek(0)
        return code, said.read().decode(errors="replace").strip()


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
        assert json.loads(path.read_text())["status"] in ("running", "complete", "interrupted")
    elif path.name == CHECKPOINT:
        assert np.isfinite(read_state(path)[0]["components"]).all()
    elif path.suffix == ".safetensors":
        assert np.isfinite(pw.load(path).components_).all()
    elif path.suffix == ".html":
        assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    elif path.name == FEATURES:  # of names
        with path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
        assert len(lines) > 1
        assert len(set(map(len, lines))) == 1
    else:
        assert min(pw.read(path).X.shape) > 0


def differences(out: Path, whole: Path) -> list[str]:
    """In what two finished runs differ, but for the clock."""
    one, other = (pw.load(folder / "model.safetensors") for folder in (out, whole))
    values = {"components": (one.components_, other.components_)}
    values["weights"] = np.load(out / "weights.npy"), np.load(whole / "weights.npy")
    history, wanted = getattr(one, "history_", {}), getattr(other, "history_", {})
    found = [] if list(history) == list(wanted) else ["the columns of the history"]
    values |= {f"history {name}": (history[name], wanted[name]) for name in wanted if name in history}
    values.pop("history time", None)
    found += [name for name, (a, b) in values.items() if a.dtype != b.dtype or a.tobytes() != b.tobytes()]
    return found + ["stop"] * (getattr(one, "stop_", None) != getattr(other, "stop_", None))


def killed(words: list[str], out: Path, seconds: float, *, behind_checkpoint: bool) -> bool:
    """Kill a run after so many seconds, or so many behind its next checkpoint; False for one that ends before."""

    def written() -> int:
        return (out / CHECKPOINT).stat().st_mtime_ns if (out / CHECKPOINT).exists() else 0

    with open(os.devnull, "w") as nowhere:
        before, child = written(), begin(words, nowhere.fileno())
        code = None
        while behind_checkpoint and code is None and written() == before:
            code = ended(child, 0.002)
        if code is None:
            code = ended(child, seconds)
        if code is None:
            os.kill(child, signal.SIGKILL)
            code = ended(child)
    return code == -signal.SIGKILL


def kill_chain(
    folder: Path, method: str, number: int, most: int, rng: np.random.Generator, timings: dict[str, float]
) -> Case:
    """Run, kill, look, go on, kill again; at last let it come to its end."""
    out = folder / f"{method}-{number}"
    words = [*command(folder, out.name, method), "--resume"]
    kills, files, bad, reached = 0, set(), [], []
    while kills < most:
        behind = rng.random() < 2.0 / 3.0 and method != "spa"
        seconds = rng.random() * (2.0 * timings["fit"] / most if behind else timings["all"])
        if not killed(words, out, seconds, behind_checkpoint=behind):
            break
        kills += 1
        files |= {path.name for path in out.iterdir()} if out.is_dir() else set()
        bad += unreadable(out)
        if (out / CHECKPOINT).exists():
            reached.append(int(read_state(out / CHECKPOINT)[1]["n_iter"]))
    code, said = whole(words)
    if code:
        bad.append(f"--resume ended with {code}: {said}")
        return Case(method, kills, tuple(sorted(files)), tuple(reached), tuple(bad))
    bad += unreadable(out)
    manifest = json.loads((out / "manifest.json").read_text())
    there, wanted = ({path.name for path in place.iterdir()} for place in (out, folder / f"{method}-timed"))
    if manifest["status"] != "complete" or there != wanted:
        bad.append(f"status {manifest['status']}, other files {sorted(there ^ wanted)}")
    bad += [f"{name} differs from the unbroken run" for name in differences(out, folder / f"{method}-timed")]
    shutil.rmtree(out)
    return Case(method, kills, tuple(sorted(files)), tuple(reached), tuple(bad))


def run(count: int, seed: int, methods: list[str], rows: int, chain: int = 10) -> list[Case]:
    """Kill runs of each method so many times, each run up to ``chain`` times."""
    os.environ["PARTWISE_NUM_THREADS"] = "1"  # a fork has no threads of the process that it comes from
    for method in CATALOG.values():  # imported once, and not by every run
        assert method.kind
    rng = np.random.default_rng(seed)
    data = pw.datasets.make_topics(n_samples=rows, n_features=60, n_components=5, random_state=seed)
    noisy = pw.datasets.add_gaussian_noise(data, 0.1, random_state=seed)
    cases = []
    with tempfile.TemporaryDirectory(prefix="partwise-kill-") as name:
        folder = Path(name)
        np.save(folder / "data.npy", np.maximum(noisy.X, 0.0))
        for method in methods:
            for again in ("first", "timed"):  # the first compiles
                start = time.perf_counter()
                code, said = whole(command(folder, f"{method}-{again}", method))
                seconds = time.perf_counter() - start
                if code:
                    raise RuntimeError(f"{method} ended with {code}: {said}")
            timings = json.loads((folder / f"{method}-timed" / "manifest.json").read_text())["timings"]
            print(f"{method}: {seconds:.1f} s, {timings['fit']:.1f} s of it the fit", flush=True)
            done = 0
            while done < count:
                most = min(chain, count - done)
                cases.append(kill_chain(folder, method, len(cases), most, rng, timings | {"all": seconds}))
                done += cases[-1].kills
                print(told(cases[-1]), flush=True)
    return cases


def told(case: Case) -> str:
    """A line about it."""
    verdict = "same bits" if case.good else f"FAILED {case.faults}"
    left = ", ".join(name for name in case.files if not name.startswith(".")) or "nothing"
    behind = ", ".join(map(str, case.reached)) or "none"
    return f"{case.method:<13}{case.kills:3} kills  {verdict}, behind iterations {behind}  (left: {left})"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="kills of each method")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--chain", type=int, default=10, help="kills of one run")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--json", type=Path, help="write the cases here too")
    chosen = parser.parse_args()
    cases = run(chosen.count, chosen.seed, chosen.methods.split(","), chosen.rows, chosen.chain)
    bad = [case for case in cases if not case.good]
    if chosen.json:
        result: dict[str, Any] = {"cases": [asdict(case) for case in cases], "failures": len(bad)}
        chosen.json.write_text(json.dumps(result | {"cores": os.cpu_count()}, indent=2) + "\n")
    kills, behind = sum(case.kills for case in cases), sum(len(case.reached) for case in cases)
    print(f"{kills} kills of {len(cases)} runs, {behind} of them behind a checkpoint; {len(bad)} runs differ")
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
