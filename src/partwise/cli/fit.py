"""``partwise fit``: from a file to its parts, with a model, tables and a report."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partwise.cli.console import INTERRUPTED, Failure, Voice
from partwise.cli.fields import of_field
from partwise.cli.job import FLAGS, Job, parse_names, parse_settings, parse_shape
from partwise.cli.loading import loading
from partwise.cli.options import RUN, Saying, given, grouped
from partwise.cli.outcome import outputs_of, read_run, told_result
from partwise.cli.reading import Reading
from partwise.cli.results import FORMATS, OUTPUTS
from partwise.cli.session import Session

if TYPE_CHECKING:
    from partwise.runs import RunFolder

OUT = Path("partwise-fit")
METHOD = "Method"
LIMITS = ("max_iter", "tol")  # that a run which they have ended may go on with others


@dataclass(frozen=True)
class Asked:
    """What is to be found, and how."""

    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            "--components",
            min=1,
            help="Number of parts; by default as partwise rank says.",
            rich_help_panel=METHOD,
        ),
    ] = None
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help="Short name; partwise methods lists them. By default the data decides.",
            rich_help_panel=METHOD,
        ),
    ] = "parts"
    judge: Annotated[
        bool,
        typer.Option(
            "--judge/--no-judge",
            help="Say which parts to believe: four fits of halves of the samples.",
            rich_help_panel=METHOD,
        ),
    ] = True
    preprocess: Annotated[
        str,
        typer.Option(help="none, tfidf (counts of words), log1p or unit (rows of length 1).", rich_help_panel=METHOD),
    ] = "none"
    weigh: Annotated[
        str | None,
        typer.Option(
            help="auto, noise or none: find parts where noise has one size; by default as the method does.",
            rich_help_panel=METHOD,
        ),
    ] = None
    max_iter: Annotated[
        int | None, typer.Option(min=1, help="Most iterations of the method.", rich_help_panel=METHOD)
    ] = None
    tol: Annotated[float | None, typer.Option(min=0.0, help="Residual at which it stops.", rich_help_panel=METHOD)] = (
        None
    )
    init: Annotated[
        str | None,
        typer.Option(help="pure, nndsvd, nndsvda, nndsvdar, random, or a file of components.", rich_help_panel=METHOD),
    ] = None
    missing: Annotated[
        str | None,
        typer.Option(
            help="What stands for an unknown entry: nan (empty cells, NA) or zeros; with hals, or --method.",
            rich_help_panel=METHOD,
        ),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Of everything that is drawn.", rich_help_panel=METHOD)] = 0
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other option of the method, again and again; partwise methods NAME lists them.",
            rich_help_panel=METHOD,
        ),
    ] = None
    image_shape: Annotated[
        str | None, typer.Option(metavar="HxW", help="Samples are images of this shape, for the report.")
    ] = None
    weights_format: Annotated[
        str, typer.Option(help=f"{', '.join(FORMATS)}; auto: csv up to 2 million numbers, then parquet.")
    ] = "auto"

    field: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="FIELD",
            help="spectra, cells, signatures or texts: preparation, method, words, tables and pictures of the field; "
            "none: plain parts. By default the data tells, and the method stays.",
        ),
    ] = None
    reference: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Known parts to name the found ones by: a library of spectra, or COSMIC."),
    ] = None
    fixed: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Parts of --reference that are there and stay as they are, with commas between, or all; -k "
            "counts them too.",
        ),
    ] = None
    starts: Annotated[
        int | None,
        typer.Option(
            min=3,
            help="Begin at what so many random starts agree on, and say how stable each part is.",
            rich_help_panel=METHOD,
        ),
    ] = None
    map_shape: Annotated[
        str | None, typer.Option(metavar="HxW", help="Samples are the pixels of a map of this shape.")
    ] = None
    names: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Names of the parts, with commas between; or a file, a name a line."),
    ] = None

    def options(self) -> dict[str, Any]:
        """The options of the method, by flags of their own and by --set."""
        options = parse_settings(self.settings or [])
        for name, flag in FLAGS.items():
            value = getattr(self, name)
            if value is not None and name in options:
                raise Failure(f"{name} is given twice, by {flag} and by --set", 2)
            options |= {} if value is None else {name: value}
        return options

    def given(self, context: typer.Context) -> dict[str, Any]:
        """What the command line says of the job."""
        values: dict[str, Any] = {"options": self.options(), "image_shape": parse_shape(self.image_shape)}
        values |= {"names": parse_names(self.names), "map_shape": parse_shape(self.map_shape, "--map-shape")}
        flags = {"options": ("settings", *FLAGS), "image_shape": ("image_shape",), "names": ("names",)}
        flags["map_shape"] = ("map_shape",)
        for field in fields(self):
            if field.name not in flags["options"] and field.name not in values:
                values[field.name], flags[field.name] = getattr(self, field.name), (field.name,)
        return {name: value for name, value in values.items() if given(context, *flags[name])}


@dataclass(frozen=True)
class Running:
    """Where the results go, and what becomes of earlier ones."""

    out: Annotated[Path | None, typer.Option("--output", "-o", help=f"Folder for the results; {OUT} by default.")] = (
        None
    )
    again: Annotated[
        Path | None,
        typer.Option("--from", metavar="MANIFEST", help="Repeat the run of a manifest exactly.", rich_help_panel=RUN),
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was killed or interrupted.", rich_help_panel=RUN)
    ] = False
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run that is in the folder.", rich_help_panel=RUN)
    ] = False
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="With --from or --resume: take data that has changed, from the start.", rich_help_panel=RUN
        ),
    ] = False
    checkpoint_every: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="Between two checkpoints.", rich_help_panel=RUN)
    ] = 10.0
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 if the method did not converge.", rich_help_panel=RUN)
    ] = False

    def earlier(self) -> dict[str, Any] | None:
        """The manifest to go by, if there is one."""
        from partwise.runs import MANIFEST

        if self.again and self.resume:
            raise Failure("--from repeats a run, --resume goes on with one: give one of them", 2)
        if self.overwrite and self.resume:
            raise Failure("--overwrite replaces a run, --resume goes on with it: give one of them", 2)
        if self.again:
            return read_run(self.again)
        folder = self.out or OUT
        return read_run(folder) if self.resume and (folder / MANIFEST).exists() else None

    @property
    def place(self) -> Path:
        """The folder; that of a repeated run gets a name of its own."""
        if self.out is not None or self.again is None:
            return self.out or OUT
        home = Path(os.path.abspath(self.again if self.again.is_dir() else self.again.parent))  # "." has no name
        return home.parent / f"{home.name}-again"

    def code(self, code: int, facts: dict[str, Any]) -> int:
        """The exit code of a run with these facts."""
        return 3 if code == 0 and self.strict and facts.get("converged") is False else code


@grouped
def fit(
    context: typer.Context,
    asked: Asked,
    running: Running,
    reading: Reading,
    saying: Saying,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA", help="File or folder: CSV, TSV, Parquet, .npy, .npz, .mtx, .mat, idx, images ..."
        ),
    ] = None,
) -> None:
    """Find the parts of the data in a file, and say which to believe.

    Without options the data decides how many parts there are and which
    method finds them; the report says what was decided, and why.

    Writes into the folder: model.safetensors, components.csv, features.csv,
    weights.csv (or .parquet), history.csv, report.html, and manifest.json,
    with which --from repeats the run bit by bit.

    Ctrl-C lets the iteration end, keeps the parts so far and writes
    everything; a second one stops at once. With --resume the same command
    goes on from there, or from the last checkpoint of a run that was killed,
    to the same bits as without a break; -o alone will do.

    Exit codes: 0 done (also if not converged, which is told; see --strict),
    1 failed, 2 wrong usage or data that cannot be used, 3 not converged and
    --strict, 130 interrupted.
    """
    with loading():
        import partwise.estimators.options  # noqa: F401
        from partwise.runs import COMPLETE, RunFolder

    voice = saying.voice
    with voice.failing():
        words = asked.given(context) | ({"reading": reading} if reading.given() else {})
        manifest = running.earlier()
        job = _job(data, words, manifest, running)
        folder, resume = RunFolder(running.place, OUTPUTS), running.resume and manifest is not None
        whole = manifest and resume and manifest["status"] == COMPLETE and folder.is_whole(manifest["outputs"])
        if manifest and whole and (not folder.checkpoint.exists() or not _is_longer(job, manifest)):
            _tell_finished(folder, manifest, voice)
            raise typer.Exit(running.code(0, manifest["fit"]))
        found = folder.found() if folder.path.is_dir() else []
        if found and not running.overwrite and not resume:
            raise Failure(
                f"{folder.path} holds {found[0]} of an earlier run: give --resume to go on with it, --overwrite to "
                "replace it, or another folder with -o",
                2,
            )
        session = Session(job, folder, voice, manifest, resume=resume, force=running.force)
        code = session.run(running.checkpoint_every)
    if code == INTERRUPTED:
        raise Failure(f"interrupted; partwise fit --resume -o {folder.path} {session.prospect}", code)
    raise typer.Exit(running.code(code, session.fitted.facts()))


def _is_longer(job: Job, manifest: dict[str, Any]) -> bool:
    """Whether a run that its limits have ended is to go on."""
    stop = manifest["fit"].get("stop") or {}
    return stop.get("kind") == "max_iter" and bool(manifest["job"]["options"] != job.as_json()["options"])


def _job(data: str | None, given: dict[str, Any], manifest: dict[str, Any] | None, running: Running) -> Job:
    """What is to be done; a manifest says it all, and options may only repeat it, but for limits to go on with."""
    if manifest is None:
        if data is None:
            rest = f"{running.place} holds no run to go on with: " if running.resume else ""
            raise Failure(f"{rest}give DATA, the file to read (partwise fit --help says more)", 2)
        asked = of_field(data, given)
        return _checked(Job(data, **asked))
    before = _checked(Job.of_json(manifest["job"], str(manifest["data"].get("path"))))
    if "options" in given:
        given["options"] = before.options | given["options"]
    now = replace(before, **given) if data is None else replace(before, data=data, **given)
    limits = {name: now.options[name] for name in LIMITS if name in now.options} if running.resume else {}
    difference = replace(before, options=before.options | limits).differing(now)
    if difference:
        raise Failure(f"{difference}: leave it out, or start another run", 2)
    return now


def _checked(job: Job) -> Job:
    from partwise.estimators.weighing import HOW
    from partwise.io.preparation import KINDS

    choices = {"preprocess": tuple(KINDS), "weigh": (*HOW, "none"), "weights_format": ("auto", *FORMATS)}
    for name, allowed in choices.items():
        value = getattr(job, name)
        if value not in allowed and not (name == "weigh" and value is None):
            raise Failure(f"--{name.replace('_', '-')} must be one of {', '.join(allowed)}, got {value!r}", 2)
    return job


def _tell_finished(folder: RunFolder, manifest: dict[str, Any], voice: Voice) -> None:
    voice.say(f"{folder.path} is finished: there is nothing to go on with.")
    facts = {name: value for name, value in manifest["fit"].items() if name != "finished"}
    method, outputs = str(manifest["job"]["method"]), outputs_of(folder.path, manifest)
    voice.result(told_result(folder.path, manifest, outputs, method, facts))
