"""What the documentation keeps of runs: small tables, of which its page is made (:mod:`partwise.lab.document`).

``docs/lab/<experiment>`` has ``results.csv`` (a row a case and method: means over the seeds, and their standard
deviations), ``claims.csv`` (what was asked, values and verdicts; words are in the register), ``curves.csv`` (what
figures need) and ``manifest.json``. Some may be of full runs and some of quick ones: each says which. A claim that was
changed after it had been judged is not judged again before the register tells the change.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.lab.claim import GOOD, SIDES, UNKNOWN, Claim
from partwise.lab.experiment import Experiment, Reproduction
from partwise.lab.measurements import Measurements, Row, write_bytes
from partwise.lab.measures import MEASURES
from partwise.lab.registry import experiments
from partwise.lab.run import read_manifest, remaining

FILES = "lab"  # in the folder of the documentation
POINTS = 30  # of a curve, for a figure of the documentation: more cannot be told apart at its width
DIGITS = {"claims": ".10g"}  # a verdict must follow from its number, however near to the bound; else five are enough
MANIFEST = ("experiment", "size", "seeds", "methods", "skipped", "cells", "versions", "seconds")
WORDY = ("data", "reason", "stop", "image", "failure", "seed")  # columns that the documentation does not need


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of a run."""

    result: Reproduction
    claims: Mapping[str, Row]

    @property
    def experiment(self) -> Experiment:
        """What was run."""
        return self.result.experiment

    @property
    def size(self) -> str:
        """Whether it is the published size ("full")."""
        return str(self.result.manifest["size"])

    @property
    def seeds(self) -> str:
        """How many, and of how many if the run has fewer than the experiment defines."""
        done = int(self.result.manifest["seeds"])
        return str(done) if self.all_seeds else f"{done} of {self._defined}"

    @property
    def all_seeds(self) -> bool:
        """Whether the run has as many as the experiment defines."""
        return int(self.result.manifest["seeds"]) >= self._defined

    @property
    def _defined(self) -> int:
        return self.experiment.seeds.get(self.size, 1)

    def lines(self) -> Iterable[tuple[Claim, Row]]:
        """Claims of the register with the row of the run; those that it does not have are left out."""
        return ((claim, self.claims[claim.id]) for claim in self.experiment.claims if claim.id in self.claims)

    def counted(self, side: str) -> tuple[int, int]:
        """Claims that hold, and all that were measured."""
        names = [row[f"{side}_verdict"] for _, row in self.lines() if row[f"{side}_verdict"] not in ("", UNKNOWN)]
        return sum(name in GOOD for name in names), len(names)

    def untold(self) -> list[str]:
        """Claims that were changed, dropped or, with a bound of ours, made after this run, without a word of it."""
        old = {name: row for name, row in self.claims.items() if "question" in row}
        now = {claim.id: claim for claim in self.experiment.claims}
        told = len(self.experiment.changes) > self.result.manifest.get("changes", 0)
        found = [f"{name} is gone" for name in old if name not in now and not told]
        ours = (claim for claim in now.values() if claim.set_by == "partwise" and not claim.published)
        found += [f"{claim.id} is new" for claim in ours if claim.id not in self.claims and not claim.changed]
        return found + [
            f"{name} was {row['question']}; is {now[name].question}"
            for name, row in old.items()
            if name in now and row["question"] != now[name].question and len(now[name].changed) <= row["changes"]
        ]


def choose(folder: Path, docs: Path) -> tuple[dict[str, Path], dict[Path, str]]:
    """Which runs are to be kept: of each experiment the full one if there is one, and none that is not complete.

    Parameters
    ----------
    folder : Path
        Runs, at any depth.
    docs : Path
        The folder of the documentation: what it has of a full run is not replaced by a quick one.

    Returns
    -------
    chosen : dict of str to Path
        Experiments and the folders of their runs.
    left : dict of Path to str
        The other folders, and why.
    """
    kept = {one.experiment.name: one.size for one in load_kept(docs)}
    best: dict[str, tuple[tuple[bool, int], Path]] = {}
    left: dict[Path, str] = {}
    for place in sorted(path.parent for path in folder.rglob("manifest.json")):
        manifest = read_manifest(place)
        name, full = str(manifest["experiment"]), manifest["size"] == "full"
        if name not in experiments():
            left[place] = f"there is no experiment {name}"
        elif missing := remaining(experiments()[name], place):
            left[place] = f"{missing} cells are missing; partwise lab run goes on with it"
        elif not full and kept.get(name) == "full":
            left[place] = "a full run is kept"
        else:
            run = (full, int(manifest["cells"])), place
            worse, better = sorted([best.get(name, run), run])
            best[name] = better
            if worse != better:
                left[worse[1]] = "there is a larger run"
    return {name: place for name, (_, place) in best.items()}, left


def keep(result: Reproduction, docs: Path) -> Path:
    """Write what the documentation keeps of a run.

    Parameters
    ----------
    result : Reproduction
        A run.

    Returns
    -------
    Path
        The folder of the files; an `InputError` names claims that are not those judged before, if no change is told.
    """
    folder = docs / FILES / result.experiment.name
    before = _load(result.experiment, folder)
    if before and (untold := before.untold()):
        raise InputError(f"{result.experiment.name}: `changed` does not tell that {'; '.join(untold)}")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    _write(_means(result), folder / "results.csv")
    _write(_claims(result), folder / "claims.csv")
    if any(figure.documented == "curves" for figure in result.experiment.figures):
        _write(_thin(result), folder / "curves.csv")
    kept = {name: result.manifest[name] for name in MANIFEST if name in result.manifest}
    kept["changes"] = len(result.experiment.changes)
    write_bytes(folder / "manifest.json", (json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode())
    return folder


def load_kept(docs: Path) -> list[Kept]:
    """Read what the documentation keeps, in the order of the experiments.

    Returns
    -------
    list of Kept
        Experiments that are not kept are missing.
    """
    found = (_load(experiment, docs / FILES / name) for name, experiment in experiments().items())
    return [one for one in found if one is not None]


def _load(experiment: Experiment, folder: Path) -> Kept | None:
    if not (folder / "manifest.json").exists():
        return None
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    tables = [Measurements(_read(folder / f"{what}.csv")) for what in ("results", "curves", "claims")]
    return Kept(Reproduction(experiment, tables[0], tables[1], manifest), {row["id"]: row for row in tables[2]})


def _means(result: Reproduction) -> list[Row]:
    rows: list[Row] = []
    for case in result.table.distinct("case"):
        for method in result.table.where(case=case).distinct("method"):
            group = result.table.where(case=case, method=method)
            row: dict[str, Any] = {"case": case, "method": method, "seeds": len(group)}
            for column in group.columns:
                values = group.values(column)
                if column in row or column in WORDY:
                    continue
                if np.isnan(values).all():
                    row[column] = group[0].get(column, "")
                    continue
                row[column] = group.mean(column)
                if column in MEASURES and len(values) > 1:
                    row[f"{column}_sd"] = float(np.std(values, ddof=1)) if np.isfinite(values).all() else np.nan
            rows.append(row)
    return rows


def _claims(result: Reproduction) -> list[Row]:
    rows: list[Row] = []
    for one in result.verdicts():
        row: dict[str, Any] = {"id": one.claim.id, **_asked(one.claim)}
        for side in SIDES:
            verdict = one.sides.get(side)
            row[f"{side}_value"] = verdict.value if verdict else np.nan
            row[f"{side}_tolerance"] = verdict.tolerance if verdict else np.nan
            row[f"{side}_verdict"] = verdict.name if verdict else ""
        rows.append(row | {"met_by": " ".join(one.met_by), "explanation": " ".join(one.explanations)})
    return rows


def _asked(claim: Claim) -> dict[str, Any]:
    """What is judged, and how many changes of it the register tells."""
    return {"question": claim.question, "changes": len(claim.changed)}


def _thin(result: Reproduction) -> list[Row]:
    rows: list[Row] = []
    for case in result.curves.distinct("case"):
        for method in result.curves.distinct("method"):
            curve = result.curves.where(case=case, method=method, seed=0)
            for place in np.unique(np.linspace(0, len(curve) - 1, POINTS).astype(int)) if len(curve) else ():
                point = curve[int(place)]
                names = [name for name in ("n_iter", "time", "error", "objective") if name in point]
                rows.append({"case": case, "method": method, "seed": 0} | {name: point[name] for name in names})
    return rows


def _write(rows: Sequence[Row], path: Path) -> None:
    if rows:
        style = DIGITS.get(path.stem, ".5g")
        short = [{name: _short(value, style) for name, value in row.items()} for row in rows]
        write_bytes(path, Measurements(short).csv().encode())


def _short(value: Any, style: str) -> Any:
    if isinstance(value, float):
        return "" if np.isnan(value) else format(value, style)
    return value


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _number(name, value) for name, value in row.items()} for row in csv.DictReader(file)]


def _number(name: str, value: str) -> Any:
    """A cell as it was: a number if it is one; nothing is NaN where numbers are."""
    if value == "" and name.endswith(("_value", "_tolerance")):
        return float("nan")
    try:
        return int(value) if name == "seed" else float(value)
    except ValueError:
        return value
