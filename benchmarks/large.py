"""HALS, Likelihood and weights from folders of 0.1, 1 and 10 GB, and on Dask with one worker and two."""

from __future__ import annotations

import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .harness import THREAD_VARIABLES, Arrays, Contender, Outcome, Row, chosen, problem, race
from .memory import MB, Peak
from .report import Target, finish, ratio, show

# rows of a part, features, components, numbers of parts; rows of the cluster, in blocks of so many
SIZES = {
    "full": (50_000, 500, 20, (1, 10, 100), 1_000_000, 25_000),
    "small": (2_000, 50, 5, (1, 10), 8_000, 1_000),
}
ROUNDS = 5
OURS = {"partwise": "partwise"}
METHODS = ("hals", "likelihood", "weights")


def rows_of(H: np.ndarray, n: int, seed: int) -> np.ndarray:
    """A block of noisy mixtures, in single precision."""
    rng = np.random.default_rng([seed, n])
    W = rng.dirichlet(np.full(len(H), 0.1), size=n).astype(np.float32)
    return np.maximum(W @ H + 0.01 * rng.standard_normal((n, H.shape[1]), np.float32), 0.0)


def work(method: str, X: Any, H: np.ndarray) -> Any:
    """One of the three, in a fixed number of rounds."""
    import partwise as pw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is not converged
        if method == "weights":
            return pw.nnls(H, X)
        kind = {"hals": pw.HALS, "likelihood": pw.Likelihood}[method]
        return kind(len(H), init=H[::-1], max_iter=ROUNDS, tol=0.0).fit(X)


def files(method: str, parts: int) -> Contender:
    """Processor time and highest memory on a folder of so many parts."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        work(method, rows_of(data["H"], 2000, 0), data["H"])  # compiles
        begin = time.process_time()
        with Peak() as peak:
            found = work(method, Path(params["folders"][str(parts)]), data["H"])
        seconds = time.process_time() - begin
        del found
        return seconds, {}, {"above": peak.above}

    return Contender(run, OURS, note=f"{method}, folder of {parts} part(s)")


def cluster(workers: int) -> Contender:
    """Time of HALS on blocks that the workers made and keep."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        import dask.array as da
        from dask import delayed
        from distributed import Client, LocalCluster, wait

        H, n, block = data["H"], params["rows"], params["block"]
        settings = {"threads_per_worker": 1, "processes": True, "memory_limit": 0, "dashboard_address": None}
        with LocalCluster(n_workers=workers, **settings) as local, Client(local) as client:
            shared = delayed(H)
            made = [delayed(rows_of)(shared, block, i) for i in range(n // block)]
            X = da.concatenate([da.from_delayed(one, (block, H.shape[1]), np.float32) for one in made]).persist()
            wait(X)
            client.run(work, "hals", rows_of(H, 2000, 0), H)
            begin = time.perf_counter()
            work("hals", X, H)
            return time.perf_counter() - begin, {}, {}

    note = f"HALS, Dask, {workers} worker process{'es' if workers > 1 else ''}, clock"
    needs = OURS | {"dask": "dask", "distributed": "distributed"}
    return Contender(run, needs, dict.fromkeys(THREAD_VARIABLES, "1"), note=note)


CONTENDERS = {
    **{f"{method}-{parts}": files(method, parts) for method in METHODS for parts in SIZES["full"][3]},
    "dask-1": cluster(1),
    "dask-2": cluster(2),
}


def main(options: Any) -> None:
    """Run the case."""
    part, m, k, numbers, many, block = SIZES[options.size]
    H = np.random.default_rng(options.seed).dirichlet(np.full(m, 0.1), size=k).astype(np.float32) * np.float32(m)
    wanted = {f"{method}-{parts}" for method in METHODS for parts in numbers} | {"dask-1", "dask-2"}
    contenders = {name: one for name, one in chosen(CONTENDERS, options).items() if name in wanted}
    with problem({"H": H}) as folder:
        folders = {}
        for parts in numbers:
            if any(name.endswith(f"-{parts}") and "dask" not in name for name in contenders):
                folders[str(parts)] = str(folder / f"parts-{parts}")
                Path(folders[str(parts)]).mkdir()
        for i in range(max(map(int, folders), default=0)):
            X = rows_of(H, part, i)
            for parts, place in folders.items():
                if i < int(parts):
                    np.save(Path(place, f"part-{i:03}.npy"), X)
        params = {"folders": folders, "rows": many, "block": block}
        rows = race("large", contenders, folder, params, lambda arrays, facts: facts, options)
    lines = [
        [name, f"{row.median:.2f}", f"{row.facts['above'] / MB:.0f}" if "above" in row.facts else "-", row.note]
        for name, row in rows.items()
        if row.status == "ok"
    ]
    show(f"large: parts of {part} x {m} in float32, k = {k}", ["run", "seconds", "MB above begin", "note"], lines)
    targets = [target for method in METHODS for target in _grows(rows, method, numbers, part * k * 4)]
    targets.append(Target("Dask: x faster with two workers", ratio(rows, "dask-1", "dask-2"), 1.7))
    finish("large", [{"part": part, "features": m, "k": k, "rows": rows}], targets, options)


def _grows(rows: dict[str, Row], method: str, numbers: tuple[int, ...], weights: int) -> list[Target]:
    """From each number of parts to ten times as many: time, and memory beyond the weights, which it keeps."""
    found = []
    for few, more in pairwise(numbers):
        names = f"{method}-{more}", f"{method}-{few}"
        if all(name in rows and rows[name].status == "ok" for name in names):
            above = [float(rows[name].facts["above"]) for name in names]
            beyond = (above[0] - above[1]) / ((more - few) * weights)
            found += [
                Target(f"{method}: time of {more} parts over that of {few}", ratio(rows, *names), 11.0, at_most=True),
                Target(f"{method}: bytes that a weight takes, {few} to {more} parts", 4.0 * beyond, 12.0, at_most=True),
            ]
    return found
