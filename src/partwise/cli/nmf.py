"""``partwise nmf``: conservative online learning of a file or a stream; what was killed goes on, bit by bit."""

from __future__ import annotations

import errno
import os
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from partwise.cli.console import INTERRUPTED, Failure, errors, output, told
from partwise.cli.files import make_folder, write_atomically, writing
from partwise.cli.job import parse_shape
from partwise.cli.samples import Samples

if TYPE_CHECKING:
    import numpy as np

    from partwise.algorithms.conservative import Learner


def nmf(
    data: Annotated[
        str,
        typer.Argument(
            help="Text, one sample a line; or .npy, or a folder of parts; - reads standard input.", metavar="DATA"
        ),
    ],
    features: Annotated[int, typer.Option("-f", "--features", min=1, help="Number of features.")],
    name: Annotated[
        str, typer.Option("--output", "-o", help="Writes NAME.log, NAME.model and NAME.state.", metavar="NAME")
    ],
    w: Annotated[str, typer.Option("-w", help="Freedom of the decoder; FIRST:AFTER[:POWER] lets it fall.")] = "1",
    samples: Annotated[
        int | None,
        typer.Option("-n", "--samples", min=1, help="Samples to process; by default one pass, or the stream."),
    ] = None,
    batch: Annotated[int, typer.Option("-b", "--batch", min=1, help="Samples between two lines of the log.")] = 10000,
    relaxation: Annotated[
        str, typer.Option(help="Share of each change, such as 1:5000; 1 is the published rule.")
    ] = "1",
    cg_steps: Annotated[int, typer.Option(min=1, help="Conjugate gradient iterations; 1 is the published rule.")] = 1,
    signed: Annotated[bool, typer.Option("--signed", help="Leave out step 11: features may be negative.")] = False,
    printed_order: Annotated[
        bool, typer.Option("--printed-order", help="Step 9 after step 8, with the new decoder, as printed.")
    ] = False,
    single: Annotated[bool, typer.Option("--single", help="Compute in single precision.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the encoder to begin with.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a run of this NAME ended or was killed.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin anew over the files of an earlier run.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more at the end of a text file.")] = False,
    skip_missing: Annotated[bool, typer.Option("--skip-missing", help="Pass over samples with NaN.")] = False,
    checkpoint: Annotated[float, typer.Option(min=0.0, help="Seconds between two checkpoints.")] = 10.0,
    pictures: Annotated[
        str | None,
        typer.Option(help="Height x width of a sample: draw error, features and detectors.", metavar="28x28"),
    ] = None,
) -> None:
    """Factorize data one sample at a time, by V. Elser's conservative learning.

    Passes over DATA in its order until -n samples are processed. After each batch NAME.log gets a line, the number of
    samples and their average error; when that is the best so far, NAME.model gets a line for each detector and then
    for each feature.
    """
    from partwise.runs import AtOnce, Interrupt
    from partwise.runs.progress import Counted, bar

    settings = Settings(features, w, relaxation, cg_steps, not signed, printed_order, single, seed, batch)
    rule, shape = settings.rule(), parse_shape(pictures, "--pictures")
    with told():
        stream = Samples(data, follow=follow, single=single, skip_missing=skip_missing)
        run = Run(Path(name), settings, rule, stream.n_features, resume=resume, overwrite=overwrite)
    goal = samples if samples is not None or stream.endless else stream.n_samples
    with told(), Interrupt() as interrupt, run, bar(errors()) as progress:
        show, interrupted = Counted(progress, "Samples"), False
        try:
            try:
                for rows in stream.blocks(run.learner.seen, goal):
                    with interrupt.held():
                        run.learn(rows)
                        if time.monotonic() - run.saved >= checkpoint:
                            run.save()
                    show(run.learner.seen, goal, run.told)
            except KeyboardInterrupt:
                interrupted = True
            with interrupt.held():
                run.finish()
        except (KeyboardInterrupt, AtOnce):  # once more, and the checkpoint on disk is what there is
            interrupted = True
    if interrupted:
        seen = run.learner.seen
        raise Failure(f"interrupted after {seen:,} samples; the same command with --resume goes on", INTERRUPTED)
    _tell(run)
    if shape:
        with told():
            _draw(run, shape)


@dataclass(frozen=True)
class Settings:
    """What decides every bit of a run, apart from its data."""

    features: int
    w: str
    relaxation: str
    cg_steps: int
    nonnegative: bool
    printed_order: bool
    single: bool
    seed: int
    batch: int

    def rule(self) -> Any:
        """The rule of learning."""
        from partwise.algorithms.conservative import Decay, Rule
        from partwise.exceptions import InputError

        try:
            w, share = Decay.of(self.w.split(":"), "-w"), Decay.of(self.relaxation.split(":"), "--relaxation", 1.0)
        except InputError as error:
            raise Failure(str(error), 2) from error
        return Rule(w, share, self.cg_steps, self.nonnegative, self.printed_order)


class Run:
    """The learner and its three files; NAME.state holds all that a killed run needs to go on."""

    def __init__(
        self, name: Path, settings: Settings, rule: Any, n_features: int, *, resume: bool, overwrite: bool
    ) -> None:
        import numpy as np

        from partwise.algorithms.conservative import Learner
        from partwise.runs import sweep

        make_folder(name.parent)
        self.log, self.model, self.state = (name.parent / f"{name.name}.{kind}" for kind in ("log", "model", "state"))
        self.settings, self.best, self.saved = settings, np.inf, 0.0
        dtype, rng = np.dtype(np.float32 if settings.single else np.float64), np.random.default_rng(settings.seed)
        self.learner: Learner = Learner.random(
            settings.features, n_features, dtype, rng, rule, batch_size=settings.batch
        )
        before = [path for path in (self.state, self.model, self.log) if path.exists()]
        if before == [self.log] and not self.log.stat().st_size:  # of a run that ended before its first checkpoint
            before = []
        goes_on = resume and self.state in before
        if before and not goes_on and not overwrite:
            raise Failure(
                f"{before[0]} is there already: give --resume to go on, --overwrite to begin anew, or another NAME", 2
            )
        self._open_log()  # and lock it, before anything of a run that may be going on is touched
        try:
            if goes_on:
                self._go_on()
            else:
                self._write_state(0)  # first, so that there never is a log without a checkpoint
                self.model.unlink(missing_ok=True)
                self._lines.truncate(0)
        except BaseException:
            self.__exit__()
            raise
        sweep(name.parent, [path.name for path in (self.log, self.model, self.state)])

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *exception: object) -> None:
        self._lines.close()
        if self._locked is not None:
            os.close(self._locked)

    @property
    def told(self) -> str:
        """How it goes: the error of the unfinished batch, and nothing where that begins."""
        return f"error {self.learner.error:.4g}" if self.learner.error == self.learner.error else ""

    def learn(self, rows: Any) -> None:
        """Learn some samples, and report if a batch is complete."""
        for error in self.learner.feed(rows):
            self._write_line(f"{self.learner.seen} {error!r}\n".encode())
            if error < self.best:
                self.best = error
                write_model(self.model, self.learner.detectors, self.learner.features)

    def _write_line(self, line: bytes) -> None:
        """Add a line to the log, or leave that as it was: a disk may take a part of it only."""
        before = os.fstat(self._lines.fileno()).st_size
        with writing(str(self.log)):
            try:
                done = 0
                while done < len(line):
                    done += self._lines.write(line[done:]) or 0
            except BaseException:
                self._lines.truncate(before)
                raise

    def save(self) -> None:
        """Write the checkpoint; what it says of the log is on disk before it."""
        if not self.log.exists() or not os.path.samestat(self.log.stat(), os.fstat(self._lines.fileno())):
            raise Failure(f"{self.log} was removed or replaced by another program; {self.state} is left as it is")
        os.fsync(self._lines.fileno())
        self._write_state(os.fstat(self._lines.fileno()).st_size)

    def _write_state(self, log_bytes: int) -> None:
        from partwise.runs import write_state

        state = {**self.learner.state(), "best": self.best, "log_bytes": log_bytes}
        with writing(str(self.state)):
            write_state(self.state, state, {"settings": asdict(self.settings)})
        self.saved = time.monotonic()

    def finish(self) -> None:
        """Write what there is; a short last batch is in the checkpoint, and in the model only if there is no other."""
        self.save()
        if self.learner.seen and not self.model.exists():
            write_model(self.model, self.learner.detectors, self.learner.features)

    def _go_on(self) -> None:
        kept = self._restore()
        with self.log.open("rb") as lines:
            whole = kept == 0 or lines.read(kept)[-1:] == b"\n"
        if self.log.stat().st_size < kept or not whole:
            raise Failure(f"{self.log} is not what it was when {self.state} was written; it cannot go on")
        self._lines.truncate(kept)  # batches after the checkpoint come again

    def _restore(self) -> int:
        from partwise.exceptions import ReaderError
        from partwise.runs import read_state

        try:
            state, note = read_state(self.state)
            before, known = state["H"].shape[1], {"printed_order": False, **note["settings"]}  # which is newer
            best, log_bytes = float(state["best"]), int(state["log_bytes"])
            if not (best >= 0.0 and log_bytes >= 0):
                raise ValueError(f"best is {best}, log_bytes {log_bytes}")
        except (ReaderError, LookupError, ValueError, TypeError, AttributeError) as error:
            raise Failure(f"{self.state} is not a checkpoint of this program ({error})") from error
        for key, value in asdict(self.settings).items():
            if known.get(key) != value:
                raise Failure(f"--resume: {key} was {known.get(key)} in that run and is {value} now", 2)
        now = self.learner.H.shape[1]
        if before != now:
            raise Failure(f"--resume: samples had {before} numbers and now have {now}", 2)
        try:
            self.learner.restore(state)
        except ValueError as error:
            raise Failure(f"{self.state} is not a checkpoint of this program ({error})") from error
        self.best = best
        return log_bytes

    def _open_log(self) -> None:
        from partwise.runs import lock

        for path in (self.log, self.model, self.state):
            if path.is_symlink():
                raise Failure(f"{path} is a link; give another NAME, or the place that it points to", 2)
        with writing(str(self.log)):
            self.log.touch()
            self._locked = lock(self.log)
            try:
                self._lines: BinaryIO = self.log.open("ab", buffering=0)
                if self._locked is not None and not os.path.sameopenfile(self._locked, self._lines.fileno()):
                    raise BlockingIOError(errno.EWOULDBLOCK, "another program replaced it just now", str(self.log))
            except BaseException:
                if self._locked is not None:
                    os.close(self._locked)
                raise


def write_model(path: Path, detectors: np.ndarray, features: np.ndarray) -> None:
    """The document's layout: a line for each detector, an empty line, a line for each feature; every bit is kept."""

    def lines(rows: np.ndarray) -> str:
        # the shortest decimals that read back as the same number
        return "\n".join(" ".join(map(str, row)) for row in (rows if rows.itemsize < 8 else rows.tolist()))

    write_atomically(path, lambda file: file.write(f"{lines(detectors)}\n\n{lines(features)}\n".encode()))


def read_model(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Detectors and features, one a row."""
    import numpy as np

    rows = np.loadtxt(path, ndmin=2)
    return rows[: len(rows) // 2], rows[len(rows) // 2 :]


def _tell(run: Run) -> None:
    learner, console = run.learner, output()
    skipped = f", {learner.skipped:,} of them passed over" if learner.skipped else ""
    best = f"best average error {run.best:.6g}" if run.best < float("inf") else "no batch is complete"
    console.print(f"{learner.seen:,} samples{skipped}; {best}", soft_wrap=True)
    console.print(f"Model: {run.model}", markup=False, soft_wrap=True)


def _draw(run: Run, shape: tuple[int, int]) -> None:
    import numpy as np

    from partwise import plots

    detectors, features = read_model(run.model)
    lines = [tuple(map(float, line.split())) for line in run.log.read_text().splitlines()]
    figures = {
        "features": plots.feature_grid(features, shape),
        "detectors": plots.detector_grid(detectors, shape),
        "error": plots.learning_curve({f"w = {run.settings.w}": np.array(lines).reshape(-1, 2).T}),
    }
    for kind, figure in figures.items():
        path = run.model.with_name(f"{run.model.stem}.{kind}.png")
        write_atomically(path, partial(figure.savefig, format="png", dpi=150))
        output().print(f"Picture: {path}", markup=False, soft_wrap=True)
