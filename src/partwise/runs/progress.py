"""The progress bar: how far a run has come, and the time that is left."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from partwise.door.guard import watching
from partwise.estimators.watching import share_done

MANY = 10_000  # files of a folder, which nobody waits to have counted: it may be a disk, given by mistake
ALMOST = 0.99  # what was read is looked at once more


class _Left(TimeRemainingColumn):
    """The time that is left, where somebody knows it."""

    def render(self, task: Task) -> Text:
        """See rich."""
        if task.total is None or task.finished or task.time_remaining is None:
            return Text("")
        return Text.assemble(super().render(task), " left")


def bar(console: Console, *, hidden: bool = False, transient: bool = False) -> Progress:
    """A bar with the time that has passed and that is left; nothing where no one looks."""
    return Progress(
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn("{task.description:<14}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        _Left(),
        TextColumn("{task.fields[note]}", style="dim"),
        console=console,
        disable=hidden or not console.is_terminal,
        transient=transient,
    )


@contextmanager
def step(progress: Progress, name: str, note: str = "") -> Iterator[None]:
    """A step of which only the beginning and the end are seen."""
    task = progress.add_task(name, total=None, note=note)
    yield
    progress.update(task, total=1, completed=1, note="")


@contextmanager
def reading_step(progress: Progress, data: str) -> Iterator[None]:
    """The step that reads DATA, with the share of its bytes that have been read, and so the time that is left."""
    task = progress.add_task("Reading", total=None, note="")
    root, places, read = Path(data), dict[Path, int](), 0
    total = 0 if progress.disable else _size(root)

    def seen(path: Path, place: int) -> None:
        nonlocal read
        if total and (path == root or root in path.parents) and place > places.get(path, 0):
            read += place - places.get(path, 0)
            places[path] = place
            progress.update(task, total=1.0, completed=min(read / total, ALMOST))

    with watching(seen):
        yield
    progress.update(task, total=1.0, completed=1.0)


def _size(root: Path) -> int:
    """Bytes of a file, or of those in a folder; 0 where that cannot be told at once."""
    with suppress(OSError):
        files = list(islice(chain((root,), root.rglob("*")), MANY))
        return sum(file.stat().st_size for file in files if file.is_file()) if len(files) < MANY else 0
    return 0


class Counted:
    """A bar that counts.

    Parameters
    ----------
    progress : rich.progress.Progress
        Where the bar is.
    name : str
        What is counted.
    """

    def __init__(self, progress: Progress, name: str) -> None:
        self.progress, self.task = progress, progress.add_task(name, total=None, note="")

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        """So many are done, of so many; what is next, or how it goes."""
        count = f"{done:,}" if total is None else f"{done:,} of {total:,}"
        self.progress.update(self.task, completed=done, total=total, note=f"{count}, {note}" if note else count)


class Watch:
    """A callback that moves a bar: by iterations, or faster if the residual comes down to the tolerance before.

    Parameters
    ----------
    progress : rich.progress.Progress
        Where the bar is.
    task : rich.progress.TaskID
        The bar, whose total is 1.
    model : estimator
        With its limits.
    measure : str
        What its objective is: "squares", of which the error relative to the data is told, or a word.
    norm : float
        Norm of the data; None where it is not known, and then the objective is told.
    n_samples : int
        Samples of a pass, for methods that learn one by one.
    """

    def __init__(
        self, progress: Progress, task: TaskID, model: Any, *, measure: str, norm: float | None, n_samples: int
    ) -> None:
        self.progress, self.task, self.norm = progress, task, norm
        given = model.get_params(deep=False)
        penalised = any(given.get(name) for name in ("l1_W", "l2_W", "l1_H", "l2_H"))
        self.measure = "objective" if measure == "squares" and (penalised or norm is None) else measure
        self.tol = float(given.get("tol", 0.0))
        self.most = given.get("max_iter") or 1
        self.samples = given.get("max_passes", 0) * n_samples
        self._first = self._share = 0.0

    def __call__(self, state: Any) -> None:
        """Move on."""
        by_number = state.details.get("samples", 0.0) / self.samples if self.samples else state.n_iter / self.most
        self._share = max(self._share, by_number, self._by_residual(state.residual))
        note = f"iteration {state.n_iter}, {self._error(state.objective)}"
        self.progress.update(self.task, completed=min(self._share, 1.0), note=note)

    def _by_residual(self, residual: float) -> float:
        self._first = self._first or (residual if math.isfinite(residual) else 0.0)
        return share_done(self._first, residual, self.tol) if self._first else 0.0

    def _error(self, objective: float) -> str:
        if self.measure == "squares" and self.norm is not None:
            return f"error {(2.0 * max(objective, 0.0)) ** 0.5 / self.norm:.4g}" if self.norm else "error 0"
        return f"{self.measure} {objective:.4g}"
