"""``partwise demo``: mixtures of digits in, the digits out, beside scikit-learn's NMF on the same data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from partwise.cli.console import Failure, output
from partwise.cli.files import make_folder, write_atomically

if TYPE_CHECKING:
    from rich.progress import Progress

    from partwise.datasets import Mixture
    from partwise.metrics import Match

RECOVERED = 0.99  # cosine above which a digit counts as found
SKLEARN_ITERATIONS = 500  # scikit-learn's default is 200
PICTURE = "digits.png"
REPORT = "report.html"


def demo(
    output_folder: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for picture and report; made if needed.")
    ] = Path("partwise-demo"),
    samples: Annotated[int, typer.Option(min=2, help="Number of mixtures.")] = 5000,
    parts: Annotated[int, typer.Option(min=2, help="Number of digit images that are mixed.")] = 30,
    per_sample: Annotated[int, typer.Option(min=1, help="Digits in each mixture.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the digits and the mixtures.")] = 0,
) -> None:
    """Recover digits from mixtures of them, beside scikit-learn's NMF.

    Images of handwritten digits, which scikit-learn brings along, are mixed with random weights. From the
    mixtures alone both libraries look for the digits; what they find is held against the true ones. A picture
    shows both, and a report (HTML) all that partwise found.
    """
    from partwise.runs.progress import bar

    console = output()
    _check(samples, parts, per_sample)
    mixture = _mixtures(samples, parts, per_sample, seed)
    folder = make_folder(output_folder)
    console.print(
        f"[bold]{parts} digits[/], {per_sample} in each of [bold]{samples:,} mixtures[/] "
        f"(seed {seed}). The digits themselves are not shown to either library.\n"
    )
    with bar(console) as progress:
        _compile(mixture, progress)
        outcomes = [_fit_partwise(mixture, seed, progress), _fit_sklearn(mixture, seed, progress)]
    console.print()
    console.print(_table(outcomes))
    path = folder / PICTURE
    figure = _figure(mixture, outcomes, f"{parts} digits, {per_sample} in each of {samples:,} mixtures")
    write_atomically(path, lambda file: figure.savefig(file, format="png", dpi=150, metadata={"Software": None}))
    command = f"partwise demo --samples {samples} --parts {parts} --per-sample {per_sample} --seed {seed}"
    report = _report(folder / REPORT, mixture, outcomes, per_sample, command)
    console.print()
    for name, file in (("Picture: ", path), ("Report:  ", report)):
        console.print(name, end="")
        console.print(str(file), style="bold", markup=False, soft_wrap=True)


@dataclass(frozen=True)
class Outcome:
    """What one library found, how good it is, and what it took."""

    name: str
    model: Any
    match: Match
    correlation_error: float
    relative_error: float
    n_iter: int
    converged: bool
    seconds: float

    @property
    def recovered(self) -> int:
        """Number of digits found."""
        return int((self.match.cosines > RECOVERED).sum())

    @classmethod
    def of(cls, name: str, mixture: Mixture, model: Any, seconds: float, *, converged: bool) -> Outcome:
        """Measure a fitted model; the error of the fit is that of the exact weights, for both alike."""
        import numpy as np

        from partwise import linalg, metrics

        H = model.components_
        return cls(
            name,
            model,
            metrics.match_components(H, mixture.components),
            metrics.total_correlation_error(H, mixture.components),
            float(metrics.relative_error(mixture.X, np.asarray(linalg.nnls(H, mixture.X)), H)),
            int(model.n_iter_),
            converged,
            seconds,
        )


def _check(samples: int, parts: int, per_sample: int) -> None:
    if per_sample > parts:
        raise Failure(f"--per-sample {per_sample} is more than there are digits (--parts {parts})", 2)
    if samples < parts:
        raise Failure(f"--samples {samples} is too few for --parts {parts}: give at least as many samples", 2)


def _mixtures(samples: int, parts: int, per_sample: int, seed: int) -> Mixture:
    from partwise.datasets import make_digit_mixtures
    from partwise.exceptions import InputError

    try:
        return make_digit_mixtures(n_samples=samples, n_components=parts, per_sample=per_sample, random_state=seed)
    except InputError as error:
        raise Failure(f"--parts {parts}: {error}", 2) from error


def _compile(mixture: Mixture, progress: Progress) -> None:
    """Two iterations on a few rows: numba compiles now and keeps the result; times below are of the work."""
    import partwise as pw
    from partwise.runs.progress import step

    rows = mixture.X[: max(200, len(mixture.components))]
    with step(progress, "Getting ready", "compiling, once on a machine"):
        _quietly(pw.HALS(len(mixture.components), max_iter=2).fit, rows)


def _fit_partwise(mixture: Mixture, seed: int, progress: Progress) -> Outcome:
    import numpy as np

    import partwise as pw
    from partwise.runs.progress import Watch

    name = "partwise HALS"
    model = pw.HALS(len(mixture.components), init="pure", random_state=seed)
    task, norm = progress.add_task(name, total=1.0, note=""), float(np.linalg.norm(mixture.X))
    watch = Watch(progress, task, model, measure="squares", norm=norm, n_samples=len(mixture.X))
    model.set_params(callbacks=[watch])
    seconds = _quietly(model.fit, mixture.X)
    if model.stop_.kind == "interrupted":
        raise KeyboardInterrupt  # a fit keeps what it has; the demo ends
    progress.update(task, completed=1.0, note=f"{model.n_iter_} iterations")
    return Outcome.of(name, mixture, model, seconds, converged=model.converged_)


def _fit_sklearn(mixture: Mixture, seed: int, progress: Progress) -> Outcome:
    from sklearn.decomposition import NMF

    name = "scikit-learn NMF"
    task = progress.add_task(name, total=None, note=f"at most {SKLEARN_ITERATIONS} iterations")
    model = NMF(len(mixture.components), max_iter=SKLEARN_ITERATIONS, random_state=seed)
    seconds = _quietly(model.fit, mixture.X)
    progress.update(task, total=1, completed=1, note=f"{model.n_iter_} iterations")
    return Outcome.of(name, mixture, model, seconds, converged=model.n_iter_ < SKLEARN_ITERATIONS)


def _quietly(fit: Callable[[Any], Any], X: Any) -> float:
    """Seconds of a fit; that an iteration limit was reached is told in the table, not by a warning."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(X)
    return time.perf_counter() - begin


def _table(outcomes: list[Outcome]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("")
    for outcome in outcomes:
        table.add_column(outcome.name, justify="right", no_wrap=True)
    rows: dict[str, Callable[[Outcome], str]] = {
        f"digits recovered (cosine > {RECOVERED})": lambda o: f"{o.recovered} of {len(o.match.cosines)}",
        "mean cosine with the true digit": lambda o: f"{o.match.cosines.mean():.4f}",
        "total correlation error": lambda o: f"{o.correlation_error:.3g}",
        "relative error of the fit": lambda o: f"{o.relative_error:.1e}",
        "iterations": lambda o: f"{o.n_iter}" if o.converged else f"{o.n_iter} (limit)",
        "time": lambda o: f"{o.seconds:.1f} s",
    }
    for name, cell in rows.items():
        table.add_row(name, *(cell(outcome) for outcome in outcomes))
    return table


def _figure(mixture: Mixture, outcomes: list[Outcome], title: str) -> Any:
    from partwise.plots import Recovery, recovery_grid

    found = [Recovery(o.name, o.match.aligned(o.model.components_), o.match.cosines) for o in outcomes]
    shape = mixture.image_shape
    assert shape is not None
    return recovery_grid(mixture.components, found, shape, threshold=RECOVERED, title=title, unit="digits")


def _report(path: Path, mixture: Mixture, outcomes: list[Outcome], per_sample: int, command: str) -> Path:
    from partwise.report import write_report

    n, parts = mixture.weights.shape
    ours = outcomes[0]
    found = [f"{o.recovered} of {parts} by {o.name}, mean cosine {o.match.cosines.mean():.4f}" for o in outcomes]
    about = {
        "Data": f"{n:,} mixtures of {parts} images of digits, {per_sample} in each",
        "Truth": "The digits are known; recovered (cosine above {}) are\n{}".format(RECOVERED, "\n".join(found)),
    }
    try:
        return write_report(
            path,
            ours.model,
            mixture.X,
            image_shape=mixture.image_shape,
            title=f"{parts} digits, looked for in mixtures of them",
            about=about,
            command=command,
        )
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror or error}") from error
