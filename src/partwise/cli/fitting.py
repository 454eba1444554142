"""A fit that can be watched, broken off and gone on with."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.console import Failure, told
from partwise.cli.models import open_model
from partwise.cli.run_folder import CHECKPOINT, MODEL, RunFolder
from partwise.cli.watch import Watch
from partwise.cli.wording import sentence

if TYPE_CHECKING:
    from rich.progress import Progress

    from partwise.cli.job import Job
    from partwise.outcomes import Stop
    from partwise.sources import RowSource


@dataclass
class Fitted:
    """What a fit has come to."""

    model: Any
    seconds: float
    warnings: list[str] = field(default_factory=list)
    done_before: int = 0  # iterations of the fit that this one went on with

    @property
    def stop(self) -> Stop | None:
        """Why it ended; None for a method that does not iterate."""
        return getattr(self.model, "stop_", None)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.stop is not None and self.stop.kind == "interrupted"

    def facts(self) -> dict[str, Any]:
        """For the manifest and for programs; None where the method does not say."""
        model = self.model
        names = {"error": "reconstruction_error_", "n_iter": "n_iter_", "converged": "converged_"}
        names |= {"stop_reason": "stop_reason_", "residual": "residual_", "n_components": "n_components_"}
        facts = {name: getattr(model, attribute, None) for name, attribute in names.items()}
        return facts | {"stop": None if self.stop is None else self.stop.as_dict()}


def build_model(job: Job) -> tuple[Any, list[str] | None]:
    """The estimator, every option of it checked; and the names of the features of its start, where that has some."""
    from partwise.estimators.catalog import find_method
    from partwise.estimators.options import build

    with told(2):
        options, k = dict(job.options), job.k
        names = None
        if job.start is not None:
            options["init"], names = _components(start_file(job.start))
            k = len(options["init"]) if k is None else k
        method = find_method(job.method)
        model = build(method, k, options, job.seed).set_preparation(job.preprocess)
    if k is None:
        raise Failure("give -k, the number of parts", 2)
    return model, names


def fit(model: Any, source: RowSource, job: Job, folder: RunFolder, progress: Progress, every: float) -> Fitted:
    """Fit from the beginning, or from the checkpoint that is in the folder.

    Parameters
    ----------
    model : estimator
        Not fitted.
    source : RowSource
        The data as it was read; the model prepares it.
    job : Job
        What was asked for.
    folder : RunFolder
        Where checkpoints go.
    progress : rich.progress.Progress
        Shows the way.
    every : float
        Seconds between two checkpoints.

    Returns
    -------
    Fitted
        The model and what was told; after Ctrl-C as far as it has come.
    """
    from partwise.estimators.catalog import find_method
    from partwise.estimators.resuming import can_resume, go_on
    from partwise.exceptions import InputError
    from partwise.io import prepare

    method, iterates = find_method(job.method), "callbacks" in model.get_params(deep=False)
    task = progress.add_task(f"{method.name}, k = {job.k or len(model.init)}", total=1.0 if iterates else None, note="")
    size = 1.0
    if iterates and not progress.disable:
        size = float(prepare(source, model.preparation).apply(source).reduce(_squares)) ** 0.5

    def attempt(before: Any) -> int:
        done = 0 if before is None else int(before.n_iter_)
        if iterates:
            watch = Watch(progress, task, method, model, size, source.shape[0], done)
            keep = Checkpoints(model, folder, every if can_resume(model) else float("inf"), before)
            model.set_params(callbacks=[watch, keep])
        if before is None:
            model.fit(source)
        else:
            go_on(model, before, lambda rest: rest.fit(source))
        return done

    before = _checkpoint(folder) if can_resume(model) else None
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            done = attempt(before)
        except InputError as error:
            if before is None:
                raise
            # such as a component of zeros, which this method cannot start from
            warnings.warn(f"the fit began anew, its checkpoint being no start for it ({error})", stacklevel=2)
            done = attempt(None)
    if iterates:
        model.set_params(callbacks=())
    progress.update(task, total=1.0, completed=1.0)
    return Fitted(model, time.perf_counter() - begin, _sentences(seen), done)


class Checkpoints:
    """A callback that writes the model in the middle of its fit, every few seconds."""

    def __init__(self, model: Any, folder: RunFolder, every: float, before: Any) -> None:
        from partwise.estimators.resuming import Recorder

        self.model, self.folder, self.every = model, folder, every
        self.recorder = Recorder(None if before is None else before.history_)
        self.last = time.monotonic()

    def __call__(self, state: Any) -> None:
        """Look at the clock."""
        self.recorder(state)
        # that of the last iteration would leave nothing to go on with
        last = state.n_iter >= self.model.get_params(deep=False).get("max_iter", float("inf"))
        if state.n_iter and not last and time.monotonic() - self.last >= self.every:
            self.write(state)

    def write(self, state: Any) -> None:
        """Write it now; a fit does not end for want of a checkpoint."""
        from partwise.estimators.resuming import snapshot
        from partwise.estimators.saving import save

        path = self.folder.path / CHECKPOINT
        try:
            save(snapshot(self.model, state.components, self.recorder.history()), path)
        except OSError as error:
            warnings.warn(f"there is no checkpoint: {path} cannot be written ({error.strerror or error})", stacklevel=2)
            self.every = float("inf")
        self.last = time.monotonic()


def _checkpoint(folder: RunFolder) -> Any:
    """What an earlier fit has left to go on with: what Ctrl-C kept, or the last checkpoint, whichever came farther."""
    from partwise.estimators.saving import load

    there = {MODEL: folder.has(MODEL), CHECKPOINT: (folder.path / CHECKPOINT).exists()}
    try:
        with told():
            found = [load(folder.path / name) for name, exists in there.items() if exists]
    except Failure as failure:
        raise Failure(f"{failure.message}; --overwrite begins anew") from failure
    return max(found, key=lambda model: int(model.n_iter_), default=None)


def start_file(path: Path) -> Path:
    """Where components to start from are: for the folder of a fit, its model."""
    return path / MODEL if (path / MODEL).is_file() else path


def _components(path: Path) -> tuple[Any, list[str] | None]:
    """Components to start from, those of a model or the rows of a table, and the names of their features."""
    from partwise.io import read
    from partwise.sources import blocks

    if path.suffix == Path(MODEL).suffix:
        model = open_model(path)
        names = getattr(model, "feature_names_in_", None)
        return model.components_, None if names is None else list(names)
    table = read(path)
    return blocks.to_dense(table.source().take(range(table.X.shape[0]))), table.feature_names


def align_start(model: Any, job: Job, known: list[str] | None, names: list[str] | None) -> None:
    """Put the features of the start, which are `known`, into the order of the data's, where both have names."""
    if known is None or names is None or known == names:
        return
    places = {name: j for j, name in enumerate(known)}
    missing = [name for name in names if name not in places]
    if missing or len(known) != len(names):
        which = f"{missing[0]!r} is not among them" if missing else f"it has {len(known)}, the data {len(names)}"
        raise Failure(f"--init {job.start}: its features are not those of the data: {which}", 2)
    model.init = model.init[:, [places[name] for name in names]]


def _sentences(seen: list[warnings.WarningMessage]) -> list[str]:
    ours = [one for one in seen if not issubclass(one.category, (DeprecationWarning, FutureWarning))]
    return list(dict.fromkeys(sentence(str(one.message)) for one in ours))


def _squares(block: Any) -> float:
    from partwise.sources import blocks

    return float(blocks.squared_norms(block).sum())
