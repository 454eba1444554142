"""Progress bars: how far a fit has come, its error, the time that is left."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from partwise.estimators.catalog import Method


def bar(console: Console, *, hidden: bool = False) -> Progress:
    """A bar with the time that has passed and that is left; nothing where no one looks."""
    return Progress(
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn("{task.description:<14}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
        TextColumn("{task.fields[note]}", style="dim"),
        console=console,
        disable=hidden or not console.is_terminal,
    )


@contextmanager
def step(progress: Progress, name: str) -> Iterator[None]:
    """A step of which only the beginning and the end are seen."""
    task = progress.add_task(name, total=None, note="")
    yield
    progress.update(task, total=1, completed=1)


class Watch:
    """A callback that moves a bar: by iterations, or faster if the residual comes down to the tolerance before.

    Parameters
    ----------
    progress : rich.progress.Progress
        Where the bar is.
    task : rich.progress.TaskID
        The bar, whose total is 1.
    method : Method
        The method that runs.
    model : estimator
        With its limits.
    size : float
        Norm of the data; the error is relative to it.
    n_samples : int
        Samples of a pass, for methods that learn one by one.
    done : int, default=0
        Iterations before this fit.
    """

    def __init__(
        self, progress: Progress, task: TaskID, method: Method, model: Any, size: float, n_samples: int, done: int = 0
    ) -> None:
        self.progress, self.task, self.done = progress, task, done
        given = model.get_params(deep=False)
        penalised = any(given.get(name) for name in ("l1_W", "l2_W", "l1_H", "l2_H"))
        self.measure = "objective" if method.measure == "squares" and penalised else method.measure
        self.size, self.tol = size, float(given.get("tol", 0.0))
        self.most = given.get("max_iter") or 1
        self.samples = given.get("max_passes", 0) * n_samples
        self._first = self._share = 0.0

    def __call__(self, state: Any) -> None:
        """Move on."""
        number = state.n_iter + self.done
        by_number = state.details.get("samples", 0.0) / self.samples if self.samples else number / self.most
        self._share = max(self._share, by_number, self._by_residual(state.residual))
        note = f"iteration {number}, {self._error(state.objective)}"
        self.progress.update(self.task, completed=min(self._share, 1.0), note=note)

    def _by_residual(self, residual: float) -> float:
        if not residual > self.tol > 0.0 or math.isinf(residual):  # the start (NaN), or there already
            return 0.0
        self._first = self._first or residual
        whole = math.log(self._first / self.tol)
        return math.log(self._first / residual) / whole if whole > 0.0 else 0.0

    def _error(self, objective: float) -> str:
        if self.measure == "squares":
            return f"error {(2.0 * max(objective, 0.0)) ** 0.5 / self.size:.4g}" if self.size else "error 0"
        return f"{self.measure} {objective:.4g}"
