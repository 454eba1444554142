"""The files that a fit leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.run_folder import COMPONENTS, HISTORY, MODEL, REPORT, WEIGHTS, RunFolder

if TYPE_CHECKING:
    from partwise.cli.job import Job
    from partwise.io import Table
    from partwise.sources import RowSource

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

    def write_model(self) -> None:
        """The model alone."""
        from partwise.estimators.saving import save

        self.folder.write(MODEL, partial(save, self.model, data=self.fingerprint))

    def write_tables(self) -> Any:
        """Components, weights, history; returns the weights."""
        from partwise.estimators.weights import part_shares, stored_weights
        from partwise.io.writing import write_table

        model, table = self.model, self.table
        weights = stored_weights(model, self.source, check=False)
        model.part_shares_ = part_shares(model.components_, weights)
        self.write_model()
        parts = part_names(len(model.components_))
        features = table.feature_names or [f"feature_{j}" for j in range(model.n_features_in_)]
        components = partial(write_table, rows=model.components_, columns=features, names=parts, corner="part")
        self.folder.write(COMPONENTS, components)
        rows = partial(write_table, rows=weights, columns=parts, names=table.sample_names)
        self.folder.write(WEIGHTS[self._format(weights.shape)], rows)
        if hasattr(model, "history_"):
            self.folder.write(HISTORY, partial(write_history, history=model.history_))
        return weights

    def write_report(self, weights: Any, warnings: Sequence[str], about: dict[str, str]) -> None:
        """The page; weights on disk are made again block by block, as it wants an array."""
        import numpy as np

        from partwise.report import write_report

        name = Path(self.job.data).name
        self.folder.write(
            REPORT,
            partial(
                write_report,
                model=self.model,
                data=self.source,
                weights=weights if isinstance(weights, np.ndarray) else None,
                feature_names=self.table.feature_names,
                sample_names=self.table.sample_names,
                image_shape=self.job.image_shape or self.table.image_shape,
                title=f"{len(self.model.components_)} parts of {name}",
                about=about,
                command=self.job.command(self.folder.path),
                warnings=tuple(warnings),
            ),
        )

    def _format(self, shape: tuple[int, int]) -> str:
        if self.job.weights_format != "auto":
            return self.job.weights_format
        return "parquet" if shape[0] * shape[1] > MANY else "csv"


def part_names(count: int) -> list[str]:
    """Names of the rows of ``components_``, counted from 0; the report's "Part 1" is the one with the largest share."""
    return [f"component_{j}" for j in range(count)]


def write_history(path: Path, history: Any) -> None:
    """One row an iteration."""
    from partwise.io.atomic import write_atomically

    names = list(history)
    lines = [",".join(names)]
    lines += [",".join(map(str, row)) for row in zip(*(history[name].tolist() for name in names), strict=True)]
    write_atomically(path, lambda file: file.write(("\n".join(lines) + "\n").encode()))
