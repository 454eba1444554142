"""The files that a fit leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.console import Failure
from partwise.cli.fields import OUTPUTS as OF_FIELDS
from partwise.cli.fields import write_rows

if TYPE_CHECKING:
    from partwise.cli.fields import Field
    from partwise.cli.fitting import Fitted
    from partwise.cli.job import Job
    from partwise.io import Table
    from partwise.runs import RunFolder
    from partwise.sources import RowSource

MODEL, COMPONENTS, HISTORY, REPORT = "model.safetensors", "components.csv", "history.csv", "report.html"
FEATURES = "features.csv"
RANKED = 50  # features of a part in it
FORMATS = ("csv", "parquet", "npy")
OUTPUTS = (MODEL, COMPONENTS, FEATURES, HISTORY, REPORT, *(f"weights.{kind}" for kind in FORMATS), *OF_FIELDS)
MANY = 2_000_000  # numbers: more weights than this are written as parquet


@dataclass(frozen=True)
class Results:
    """A fitted model and its data, to be written into a folder."""

    folder: RunFolder
    job: Job
    model: Any
    table: Table
    source: RowSource
    fingerprint: dict[str, Any]
    weights: Any  # those of the fit
    field: Field

    def write_model(self) -> None:
        """The model alone, with the share of each part where there are weights."""
        from partwise.estimators.saving import save
        from partwise.estimators.weights import part_shares

        if self.weights is not None:
            self.field.name_parts(self.model, self.weights)
            self.model.part_shares_ = part_shares(self.model.components_, self.weights)
        self._write(MODEL, partial(save, self.model, data=self.fingerprint))

    def write_tables(self) -> None:
        """Components, weights, history."""
        from partwise.io.writing import write_table

        model, table = self.model, self.table
        parts = model.part_names_
        features = table.feature_names or [f"feature_{j}" for j in range(model.n_features_in_)]
        components = partial(write_table, rows=model.components_, columns=features, names=parts, corner="part")
        self._write(COMPONENTS, components)
        profile = self.field.profile
        scores = None if profile is None else profile.scores(self.field.found(model, self.weights))
        self._write(FEATURES, partial(write_rows, columns=RANKING, rows=ranked_features(model, features, scores)))
        rows = partial(write_table, rows=self.weights, columns=parts, names=table.sample_names)
        self._write(f"weights.{self._format(self.weights.shape)}", rows)
        if hasattr(model, "history_"):
            self._write(HISTORY, partial(write_history, history=model.history_))
        with self._writing("the tables of the field"):
            self.field.write(self.folder, self.field.found(model, self.weights))

    def write_report(self, fitted: Fitted, about: dict[str, str]) -> None:
        """The page, which finds out by itself much of what the fit has warned of."""
        from partwise.report import write_report
        from partwise.report.findings import found_here

        name = Path(self.job.data).name
        told = zip(fitted.warnings, fitted.kinds, strict=True)
        self._write(
            REPORT,
            partial(
                write_report,
                model=self.model,
                data=self.source,
                weights=self.weights,
                feature_names=self.table.feature_names,
                sample_names=self.table.sample_names,
                image_shape=self.job.image_shape or self.table.image_shape,
                title=f"{self.field.counted(len(self.model.components_))} of {name}",
                about=about,
                command=self.job.command(self.folder.path),
                warnings=[text for text, kind in told if not found_here(kind)],
                verdicts=fitted.verdicts,
                **self.field.shown(self.field.found(self.model, self.weights)),
            ),
        )

    def _write(self, name: str, write: Callable[[Path], object]) -> None:
        with self._writing(name):
            self.folder.write(name, write)

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            there = self.folder.path.is_dir()
            rest = "; with --resume it can be finished" if there else ": the folder was taken away"
            raise Failure(f"cannot write {self.folder.path / name}: {error.strerror or error}{rest}") from error

    def _format(self, shape: tuple[int, int]) -> str:
        if self.job.weights_format != "auto":
            return self.job.weights_format
        return "parquet" if shape[0] * shape[1] > MANY else "csv"


RANKING = ["part", "rank", "feature", "weight", "specificity"]


def ranked_features(model: Any, names: list[str], scores: Any = None) -> list[list[Any]]:
    """The features of every part in the order in which the report has them, without those that are not in it."""
    import numpy as np

    from partwise.metrics.specificity import specificity
    from partwise.profiles.base import figure
    from partwise.report.facts import top_features, without_rounding

    H = without_rounding(np.asarray(model.components_, np.float64))
    signed = bool((H < 0.0).any())
    own, ranked = None if signed else specificity(H), top_features(H if scores is None else scores, RANKED)
    rows = []
    for j, part in enumerate(model.part_names_):
        there = [i for i in ranked[j] if H[j, i] != 0.0]
        rows += [
            [part, rank, names[i], figure(H[j, i]), "" if own is None else figure(own[j, i])]
            for rank, i in enumerate(there, 1)
        ]
    return rows


def write_history(path: Path, history: Any) -> None:
    """One row an iteration."""
    from partwise.io.atomic import write_atomically

    names = list(history)
    lines = [",".join(names)]
    lines += [",".join(map(str, row)) for row in zip(*(history[name].tolist() for name in names), strict=True)]
    write_atomically(path, lambda file: file.write(("\n".join(lines) + "\n").encode()))
