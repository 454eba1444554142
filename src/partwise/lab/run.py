"""The runner: cell by cell into a journal, so that an interrupted run goes on where it stopped; tables and page."""

from __future__ import annotations

import io
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partwise.exceptions import DataNotFoundError, InputError
from partwise.lab.contenders import CONTENDERS
from partwise.lab.experiment import (
    SAMPLES,
    TRUTH,
    Case,
    Experiment,
    Found,
    Problem,
    Reproduction,
    Size,
    cells,
    detectors_of,
    kept_as,
)
from partwise.lab.measurements import Measurements, write_bytes
from partwise.lab.measures import MEASURES
from partwise.runs import MANIFEST, Journal, Manifest, RunFolder, sweep
from partwise.runs import read_manifest as read_entries

JOURNAL = "cells.jsonl"
FILES = (MANIFEST, "*.csv", "*.parquet", "*.html", "*.npy")
KINDS: dict[str, Any] = {"experiment": str, "size": str, "seeds": int, "methods": list, "sessions": list}
MORE_LIBRARIES = ("matplotlib", "polars")
LONGEST_CURVE = 400  # points kept of a history; a choice between detail and the size of the folder
SHOWN = 10  # samples that are kept for a picture: a row of it
WARM_UP = 0.03  # seconds after which a method that can be stopped is stopped: an iteration, for compiling
# one method's failure on one data set is a result of the lab like any other
FAILURES = (ValueError, ArithmeticError, MemoryError, ImportError)

Watch = Callable[[int, int, str], None]  # cells done, all cells, what is next


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    size: Size = "quick",
    seeds: int | None = None,
    methods: Sequence[str] = (),
    literal: bool = False,
    watch: Watch | None = None,
) -> Reproduction:
    """Run what is not in the folder yet, and write tables, manifest and page.

    Parameters
    ----------
    folder : Path
        Where results are kept; made if needed. A run of the same experiment and size in it is continued.
    size : {"quick", "full", "tiny"}, default="quick"
        "full" is the published size.
    seeds : int, optional
        Repetitions; the experiment's own number by default.
    methods : sequence of str
        Some of the experiment's methods, or others by name; all of the experiment's by default.
    literal : bool, default=False
        Of these, only those that are as published: constants, starts, weights, preparation.
    watch : callable, optional
        Called before every cell with the number of cells done, of all, and what is next.

    Returns
    -------
    Reproduction
        The cells that were asked for, those of earlier runs included.
    """
    chosen = tuple(methods) or experiment.methods_for(size)
    _check_methods(chosen)
    absent = {name: CONTENDERS[name].needs for name in chosen if not CONTENDERS[name].installed}
    chosen = tuple(name for name in chosen if name not in absent)
    if literal:
        if not any(CONTENDERS[name].literal for name in chosen):
            raise InputError(f"no method of {experiment.name} is literally published", parameter="literal")
        chosen = tuple(name for name in chosen if CONTENDERS[name].literal or name in experiment.trivials)
    count = seeds or experiment.seeds.get(size, 1)
    if count < 1:
        raise InputError(f"seeds={seeds} must be at least 1", parameter="seeds")
    with RunFolder(folder):
        for place in (folder, folder / "components"):
            sweep(place, FILES)  # what a killed run was writing
        manifest = _begin(folder, experiment, size, chosen, count)
        manifest.update(absent=absent)
        journal = _journal(folder)
        wanted = list(cells(experiment.cases(size), range(count), chosen))
        todo = [cell for cell in wanted if not _measured(journal.done.get(_key(*cell)), experiment)]
        try:
            if todo and experiment.timed:
                _warm_up(experiment, dict.fromkeys(name for _, _, name in todo), watch)
            _work(_Session(experiment, size, journal, manifest), todo, len(wanted), watch)
        finally:
            manifest.update(cells=len(journal.done))
    if watch:
        watch(len(wanted), len(wanted), "the page")
    return finish(experiment, folder)


def load_result(experiment: Experiment, folder: Path) -> Reproduction:
    """Read a run from its folder.

    Returns
    -------
    Reproduction
        What is in the journal, complete or not.
    """
    manifest = read_manifest(folder)
    journal = _journal(folder)
    chosen = [_key(*cell) for cell in _asked(experiment, manifest)]
    entries = [journal.done[key] for key in chosen if key in journal.done]
    rows = [entry["row"] for entry in entries]
    curves = [
        {name: entry["row"][name] for name in ("case", "method", "seed")} | point
        for entry in entries
        for point in entry["curve"]
    ]
    return Reproduction(experiment, Measurements(rows), Measurements(curves), manifest, folder)


def remaining(experiment: Experiment, folder: Path) -> int:
    """Cells that a run has still to measure.

    Returns
    -------
    int
        Of all methods of the experiment, also those that were not asked for; data that is not there does not count.
    """
    manifest, journal = read_manifest(folder), _journal(folder)
    methods = dict.fromkeys([*manifest["methods"], *experiment.methods_for(manifest["size"])])
    return sum(
        cell[0].name not in manifest["skipped"] and not _measured(journal.done.get(_key(*cell)), experiment)
        for cell in _asked(experiment, {**manifest, "methods": list(methods)})
    )


def finish(experiment: Experiment, folder: Path) -> Reproduction:
    """Write the tables and the page of what the journal holds."""
    from partwise.lab.page import write_page

    result = load_result(experiment, folder)
    result.table.write(folder / "results")
    result.curves.write(folder / "curves")
    Measurements([verdict.row(experiment.name) for verdict in result.verdicts()]).write(folder / "claims")
    write_page(result, folder)
    return result


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder; an `InputError` where there is none.

    Returns
    -------
    dict
        As it was written.
    """
    if not (folder / MANIFEST).exists():
        raise InputError(f"{folder} holds no results of the lab: no {MANIFEST}")
    return read_entries(folder, KINDS, of="the lab")


def _asked(experiment: Experiment, manifest: Mapping[str, Any]) -> list[tuple[Case, int, str]]:
    cases = experiment.cases(manifest["size"])
    return list(cells(cases, range(int(manifest["seeds"])), manifest["methods"]))


def _check_methods(names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in CONTENDERS]
    if unknown:
        raise InputError(f"no method {', '.join(unknown)}; there are: {', '.join(CONTENDERS)}")


def _key(case: Case, seed: int, method: str) -> str:
    return json.dumps([case.name, method, seed])


def _measured(entry: Mapping[str, Any] | None, experiment: Experiment) -> bool:
    """Whether a cell has all that the experiment measures, also what it did not when the folder was begun."""
    return entry is not None and ("failure" in entry["row"] or set(experiment.measures) <= set(entry["row"]))


def _journal(folder: Path) -> Journal:
    """The finished cells, by `_key`."""
    return Journal(
        folder / JOURNAL, lambda entry: json.dumps([entry["row"][name] for name in ("case", "method", "seed")])
    )


@dataclass(frozen=True)
class _Session:
    experiment: Experiment
    size: Size
    journal: Journal
    manifest: Manifest


def _work(session: _Session, todo: list[tuple[Case, int, str]], total: int, watch: Watch | None) -> None:
    """Go over the cells; a data set that is not there is told, and the others are measured."""
    made: tuple[str, int] | None = None
    problem: Problem | None = None
    for number, (case, seed, name) in enumerate(todo):
        if watch:
            watch(total - len(todo) + number, total, f"{case.name}, {name}")
        if case.name in session.manifest["skipped"]:
            continue
        if made != (case.name, seed):
            try:
                problem, made = case.make(seed), (case.name, seed)
            except DataNotFoundError as error:
                session.manifest["skipped"][case.name] = str(error)
                continue
        assert problem is not None
        row, curve = _cell(session, case, problem, seed, name)
        session.journal.add({"row": row, "curve": [dict(point) for point in curve]})


def _cell(
    session: _Session, case: Case, problem: Problem, seed: int, name: str
) -> tuple[dict[str, Any], Sequence[Mapping[str, float]]]:
    """One row: where it stands, how long it took, what was measured; what went wrong where something did."""
    row: dict[str, Any] = {"case": case.name, "method": name, "seed": seed, **case.at, "data": problem.note}
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a limit was reached is in the table
            found = CONTENDERS[name].run(problem, seed, session.experiment.budget.get(session.size))
            row["seconds"] = float(found.facts.get("seconds", time.perf_counter() - begin))
            _stop_if_interrupted(found)
            for measure in session.experiment.measures:
                row[measure] = (
                    float(MEASURES[measure].of(problem, found)) if measure in (case.measures or (measure,)) else np.nan
                )
    except FAILURES as error:
        return row | {"failure": f"{type(error).__name__}: {error}"}, ()
    row |= {key: value for key, value in found.facts.items() if key != "seconds"}
    if problem.image_shape is not None:
        row["image"] = "{}x{}".format(*problem.image_shape)
    if session.experiment.keep:
        kept = {name: found.components, detectors_of(name): found.detectors, SAMPLES: problem.X[:SHOWN]}
        if case.picture is not None:
            kept = {name: case.picture(problem, found), TRUTH: case.picture(problem, None)}
        for what, rows in kept.items():
            _keep(rows, session.journal.path.parent / kept_as(case.name, what, seed))
    return row, _thinned(found.curve)


def _keep(rows: Any, path: Path) -> None:
    if rows is None:
        return
    path.parent.mkdir(exist_ok=True)
    data = io.BytesIO()
    np.save(data, np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, np.float32))
    write_bytes(path, data.getvalue())


def _stop_if_interrupted(found: Found) -> None:
    # a fit that gets Ctrl-C keeps the best so far and returns: that is no measurement, so the run ends here
    if found.facts.get("stop") == "interrupted":
        raise KeyboardInterrupt


def _thinned(curve: Sequence[Mapping[str, float]]) -> Sequence[Mapping[str, float]]:
    step = -(-len(curve) // LONGEST_CURVE) if curve else 1
    return [point for i, point in enumerate(curve) if i % step == 0 or i == len(curve) - 1]


def _warm_up(experiment: Experiment, names: Mapping[str, None], watch: Watch | None) -> None:
    """Every method once on a tiny problem: numba compiles now and not while the clock runs."""
    problems = [case.make(0) for case in experiment.cases("tiny")[:1]]
    for name in names:
        if watch:
            watch(0, len(names), f"compiling {name}")
        with warnings.catch_warnings(), suppress(*FAILURES):
            warnings.simplefilter("ignore")
            for problem in problems:
                CONTENDERS[name].run(problem, 0, WARM_UP)


def _begin(folder: Path, experiment: Experiment, size: Size, methods: tuple[str, ...], seeds: int) -> Manifest:
    """The manifest of a folder's run, which goes on with what an earlier one has measured."""
    old: dict[str, Any] = {}
    if (folder / MANIFEST).exists():
        old = read_manifest(folder)
        if (old["experiment"], old["size"]) != (experiment.name, size):
            raise InputError(
                f"{folder} holds {old['experiment']} --{old['size']}; choose another folder for "
                f"{experiment.name} --{size}"
            )
    # what an earlier run measured stays on the page: it was asked for too
    both = dict.fromkeys([*old.get("methods", ()), *methods])
    entries = {
        "experiment": experiment.name,
        "size": size,
        "seeds": max(seeds, int(old.get("seeds", 0))),
        "methods": sorted(both, key=lambda name: _order(experiment, name)),
        "skipped": {},
        "cells": 0,
    }
    return Manifest(folder, entries, old, MORE_LIBRARIES)


def _order(experiment: Experiment, name: str) -> int:
    return experiment.methods.index(name) if name in experiment.methods else len(experiment.methods)
