"""Facets on many samples: a folder of parts with ten times the rows, and a Dask cluster of two workers against one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from .harness import THREAD_VARIABLES, Arrays, Contender, Outcome, Row, chosen, problem, race
from .memory import MB, Peak
from .recovery import error
from .report import Target, finish, ratio, show

# rows, features, components and rows of a part; the same for Dask, whose rows --rows can change
SIZES = {
    "full": ((50_000, 200, 20, 10_000), (2_000_000, 500, 50, 50_000)),
    "small": ((5_000, 50, 5, 1_000), (40_000, 50, 5, 5_000)),
}
TIMES = 10
STAGES = 5  # of the fits on the cluster: the same for one worker and two, and enough to be compared
OURS = {"partwise": "partwise"}


def rows_of(H: np.ndarray, n: int, seed: int, dtype: Any = np.float64) -> np.ndarray:
    """A block of mixtures."""
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.full(len(H), 0.05), size=n).astype(dtype)
    return W @ H.astype(dtype)


def warm_up() -> None:
    """Compile what a fit needs in this process."""
    import partwise as pw

    H = np.random.default_rng(0).random((5, 50))
    for dtype in (np.float64, np.float32):
        pw.Facets(5, max_iter=2, tol=0.0).fit(rows_of(H, 200, 1, dtype))


def files(times: int) -> Contender:
    """Time and watch a fit on a folder of parts."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        import partwise as pw

        warm_up()
        model = pw.Facets(len(data["H"]), random_state=0)
        begin = time.perf_counter()
        with Peak() as peak:
            model.fit(params["folders"][str(times)])
        seconds = time.perf_counter() - begin
        return seconds, {"H": model.components_}, {"above": peak.above, "n_iter": model.n_iter_}

    return Contender(run, OURS, note="folder of .npy parts" + (f", {times} x the rows" if times > 1 else ""))


def cluster(workers: int) -> Contender:
    """Time a fit on blocks that the workers made and keep."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        import dask.array as da
        from dask import delayed
        from distributed import Client, LocalCluster, wait

        import partwise as pw

        H, n, block = data["H_dask"], params["rows"], params["block"]
        settings = {"threads_per_worker": 1, "processes": True, "memory_limit": 0, "dashboard_address": None}
        with LocalCluster(n_workers=workers, **settings) as local, Client(local) as client:
            made, shared = [], delayed(H)
            for i, a in enumerate(range(0, n, block)):
                size = min(block, n - a)
                part = delayed(rows_of)(shared, size, i, np.float32)
                made.append(da.from_delayed(part, (size, H.shape[1]), np.float32))
            begin = time.perf_counter()
            X = da.concatenate(made).persist()
            wait(X)
            making = time.perf_counter() - begin
            client.run(warm_up)
            model = pw.Facets(len(H), max_iter=STAGES, tol=0.0, random_state=0)
            begin = time.perf_counter()
            model.fit(X)
            seconds = time.perf_counter() - begin
        clock = model.history_["time"]
        facts = {"making": making, "n_iter": model.n_iter_, "start": clock[0], "stages": clock[-1] - clock[0]}
        return seconds, {"H": model.components_}, facts

    one_thread = dict.fromkeys(THREAD_VARIABLES, "1")
    note = f"Dask, {workers} worker process{'es' if workers > 1 else ''}"
    return Contender(run, OURS | {"dask": "dask", "distributed": "distributed"}, one_thread, note=note)


CONTENDERS = {
    "files": files(1),
    "files-more": files(TIMES),
    "dask-1": cluster(1),
    "dask-2": cluster(2),
}


def write_parts(folder: Path, H: np.ndarray, n: int, part: int) -> str:
    """Write rows as numbered parts."""
    folder.mkdir()
    for i, a in enumerate(range(0, n, part)):
        np.save(folder / f"part-{i}.npy", rows_of(H, min(part, n - a), i))
    return str(folder)


def table(title: str, rows: dict[str, Row], shapes: dict[str, str]) -> None:
    """Print times, memory and errors."""
    lines = []
    for name, row in rows.items():
        cells = ["-"] * 5
        if row.status == "ok":
            f = row.facts
            above = f"{f['above'] / MB:.1f}" if "above" in f else "-"
            making = f"{f['making']:.1f}" if "making" in f else "-"
            cells = [f"{row.median:.2f}", str(f["n_iter"]), above, making, f"{f['error']:.1e}"]
        lines.append([name, shapes[name.split("-")[0]], *cells, row.note if row.status == "ok" else row.status])
    columns = ["run", "rows", "seconds", "stages", "peak MB above begin", "s to make", "error", "note"]
    show(title, columns, lines)


def main(options: Any) -> None:
    """Run the case."""
    (n, m, k, part), (many, wide, inner, block) = SIZES[options.size]
    many = options.rows or many
    rng = np.random.default_rng(options.seed)
    truth = {"files": rng.dirichlet(np.full(m, 0.05), size=k), "dask": rng.dirichlet(np.full(wide, 0.05), size=inner)}
    contenders = chosen(CONTENDERS, options)

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        H = arrays["H"]
        return {"error": error(H, truth["files" if H.shape == (k, m) and "above" in facts else "dask"])}

    with problem({"H": truth["files"], "H_dask": truth["dask"]}) as folder:
        folders = {}
        if "files" in contenders:
            folders = {str(t): write_parts(folder / f"parts-{t}", truth["files"], t * n, part) for t in (1, TIMES)}
        params = {"folders": folders, "rows": many, "block": block}
        rows = race("and-scaling", contenders, folder, params, verify, options)
    shapes = {"files": f"{n} (x {TIMES}) x {m}, k = {k}", "dask": f"{many} x {wide}, k = {inner}, float32"}
    table(f"and-scaling, files with {options.threads} threads, Dask with one a worker", rows, shapes)

    def above(name: str) -> float:
        return float(rows[name].facts.get("above", np.nan)) if name in rows else float("nan")

    grows = (above("files-more") - above("files")) / ((TIMES - 1) * n)
    print(f"memory grows by {grows:.0f} bytes a row; {k} weights are {8 * k}, a row of the data is {8 * m}")
    targets = [
        Target(f"time of {TIMES} x the rows", ratio(rows, "files-more", "files"), 1.1 * TIMES, at_most=True),
        Target(f"peak memory of {TIMES} x the rows", above("files-more") / above("files"), 1.1, at_most=True),
        Target("Dask: x faster with two workers", ratio(rows, "dask-1", "dask-2"), 1.6),
    ]
    finish("and-scaling", [{"shapes": shapes, "rows": rows}], targets, options)
