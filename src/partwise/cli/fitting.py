"""A fit that can be watched, broken off and gone on with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.console import Failure, told
from partwise.cli.models import open_model
from partwise.cli.results import MODEL
from partwise.cli.wording import sentence

ANEW = "the whole command with --overwrite instead of --resume begins anew"

if TYPE_CHECKING:
    from rich.progress import Progress

    from partwise.cli.job import Job
    from partwise.outcomes import Stop
    from partwise.runs import Interrupt, RunFolder
    from partwise.sources import RowSource


@dataclass
class Fitted:
    """What a fit has come to."""

    model: Any
    weights: Any
    warnings: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)  # of the warnings
    done_before: int = 0  # iterations of the fit that this one went on with
    verdicts: Any = None  # which parts to believe; None if that was not asked, or cannot be told

    @property
    def stop(self) -> Stop | None:
        """Why it ended; None for a method that does not iterate."""
        return getattr(self.model, "stop_", None)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.stop is not None and self.stop.kind == "interrupted"

    @property
    def limited(self) -> bool:
        """Whether the number of iterations ended it: with more of them it could go on."""
        return self.stop is not None and self.stop.kind == "max_iter"

    def facts(self) -> dict[str, Any]:
        """For the manifest and for programs; None where the method does not say."""
        model = self.model
        names = {"error": "reconstruction_error_", "n_iter": "n_iter_", "converged": "converged_"}
        names |= {"stop_reason": "stop_reason_", "residual": "residual_", "n_components": "n_components_"}
        facts = {name: getattr(model, attribute, None) for name, attribute in names.items()}
        return facts | {"stop": None if self.stop is None else self.stop.as_dict()}


def build_model(job: Job) -> tuple[Any, list[str] | None]:
    """The estimator, every option of it checked; and the names of the features of its start, where that has some.

    Without -k and a start it has no number of parts yet.
    """
    from partwise.estimators.catalog import find_method
    from partwise.estimators.options import build

    with told(2):
        options, k = dict(job.options), job.k
        names = None
        if job.start is not None:
            options["init"], names = _components(start_file(job.start))
            k = len(options["init"]) if k is None else k
        method = find_method(job.method)
        if method.estimator == "Parts":
            options = {"judge": job.judge, **options}
        model = build(method, k, options, job.seed).set_preparation(job.preprocess)
        if job.weigh is not None:
            model.set_weighing(None if job.weigh == "none" else job.weigh)
    if k is not None:
        check_names(job, k)
    return model, names


def check_names(job: Job, k: int) -> None:
    """There is a name for every part, where the user names them."""
    if job.names is not None and len(job.names) != k:
        raise Failure(f"--names has {len(job.names)} names for {k} parts", 2)


def fit(
    model: Any,
    source: RowSource,
    job: Job,
    folder: RunFolder,
    progress: Progress,
    interrupt: Interrupt,
    every: float,
) -> Fitted:
    """Fit from the beginning, or from the checkpoint that is in the folder.

    Parameters
    ----------
    model : estimator
        Not fitted.
    source : RowSource
        The data as it was read; the model prepares it.
    folder : RunFolder
        Where checkpoints go.
    progress : rich.progress.Progress
        Shows the way.
    interrupt : Interrupt
        Ends it between two iterations.
    every : float
        Seconds between two checkpoints.

    Returns
    -------
    Fitted
        The model and what was told; after Ctrl-C as far as it has come.
    """
    from partwise.estimators.catalog import find_method
    from partwise.estimators.weights import fit_weights
    from partwise.exceptions import InputError
    from partwise.runs import Checkpoints
    from partwise.runs.progress import Watch
    from partwise.sources import inspect

    method, iterates = find_method(job.method), "callbacks" in model.get_params(deep=False)
    task = progress.add_task(f"{method.name}, k = {model.n_components}", total=1.0 if iterates else None, note="")
    state, done = _state(folder) if iterates else (None, 0)
    if iterates:
        norm = inspect(source).norm if job.preprocess == "none" and not progress.disable else None
        watch = Watch(progress, task, model, measure=method.measure, norm=norm, n_samples=source.shape[0])
        last = getattr(model, "max_iter", None)
        model.set_params(callbacks=[watch, Checkpoints(folder.checkpoint, every, interrupt, last=last)])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            weights = fit_weights(model, source, state)
        except InputError as error:
            if error.parameter != "state":
                raise
            raise Failure(f"{folder.checkpoint}: {error.worded('it', '')}; {ANEW}") from None
    if iterates:
        model.set_params(callbacks=())
    progress.update(task, total=1.0, completed=1.0)
    told = _sentences(seen)
    return Fitted(model, weights, list(told), list(told.values()), done)


def judged(fitted: Fitted, source: RowSource) -> Any:
    """Which parts to believe, as the model has found out itself or is asked now."""
    from partwise.belief import judge
    from partwise.exceptions import InputError

    if hasattr(fitted.model, "verdicts_"):
        return fitted.model.verdicts_
    try:
        return judge(fitted.model, source)
    except InputError as error:
        why = error.worded("the data", "")
        fitted.warnings.append(sentence(UserWarning(f"the parts were not judged: {why}")))
        fitted.kinds.append("not-judged")
        return None


def _state(folder: RunFolder) -> tuple[Any, int]:
    """What an earlier fit has left to go on with, and how many iterations it had done."""
    from partwise.exceptions import ReaderError
    from partwise.runs import read_state

    if not folder.checkpoint.exists():
        return None, 0
    try:
        state, note = read_state(folder.checkpoint)
    except ReaderError as error:
        raise Failure(f"{error}; {ANEW}") from None  # its cause is not the data
    return state, int(note.get("n_iter", 0))


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


def _sentences(seen: list[warnings.WarningMessage]) -> dict[str, str]:
    """What was told, each once, and of what kind it is."""
    from partwise.report.findings import kind_of

    ours = [_warning(one) for one in seen if not issubclass(one.category, (DeprecationWarning, FutureWarning))]
    return {sentence(one): kind_of(one) for one in ours}


def _warning(told: warnings.WarningMessage) -> Warning:
    return told.message if isinstance(told.message, Warning) else told.category(told.message)
