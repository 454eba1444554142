"""``partwise fit``: from a file to its parts, with a model, tables and a report."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from partwise.cli import reading as how
from partwise.cli.console import INTERRUPTED, Failure, Voice
from partwise.cli.job import Job, parse_settings, parse_shape
from partwise.cli.run_folder import COMPLETE, WEIGHTS, RunFolder, read_manifest
from partwise.cli.session import Session, told_result

PREPROCESS = ("none", "tfidf", "log1p", "unit")
FORMATS = ("auto", *WEIGHTS)
OUT = Path("partwise-fit")
METHOD, RUN = "Method", "Run"


def fit(
    context: typer.Context,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA", help="File or folder: CSV, TSV, Parquet, .npy, .npz, .mtx, .mat, idx, images ..."
        ),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", "--components", min=1, help="Number of parts.", rich_help_panel=METHOD)
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help="Short name; partwise methods lists them.", rich_help_panel=METHOD)
    ] = "hals",
    out: Annotated[
        Path | None, typer.Option("-o", "--output", help=f"Folder for the results; {OUT} by default.")
    ] = None,
    preprocess: Annotated[
        str,
        typer.Option(help="none, tfidf (counts of words), log1p or unit (rows of length 1).", rich_help_panel=METHOD),
    ] = "none",
    max_iter: Annotated[
        int | None, typer.Option(min=1, help="Most iterations of the method.", rich_help_panel=METHOD)
    ] = None,
    tol: Annotated[
        float | None, typer.Option(min=0.0, help="Residual at which it stops.", rich_help_panel=METHOD)
    ] = None,
    init: Annotated[
        str | None,
        typer.Option(help="pure, nndsvd, nndsvda, random, or a file of components.", rich_help_panel=METHOD),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of everything that is drawn.", rich_help_panel=METHOD)] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other option of the method, again and again; partwise methods NAME lists them.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    image_shape: Annotated[
        str | None, typer.Option(metavar="HxW", help="Samples are images of this shape, for the report.")
    ] = None,
    weights_format: Annotated[
        str, typer.Option(help="csv, parquet or npy; auto: csv up to 2 million numbers, then parquet.")
    ] = "auto",
    format: how.Format = None,
    transpose: how.Transpose = False,
    delimiter: how.Delimiter = None,
    header: how.Header = None,
    row_names: how.RowNames = None,
    encoding: how.Encoding = None,
    variable: how.Variable = None,
    vocabulary: how.Vocabulary = None,
    min_count: how.MinCount = None,
    duplicates: how.Duplicates = None,
    feature_names: how.FeatureNames = None,
    sample_names: how.SampleNames = None,
    in_memory: how.InMemory = None,
    again: Annotated[
        Path | None,
        typer.Option("--from", metavar="MANIFEST", help="Repeat the run of a manifest exactly.", rich_help_panel=RUN),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was killed.", rich_help_panel=RUN)
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run that is in the folder.", rich_help_panel=RUN)
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="With --from or --resume: though the data has changed.", rich_help_panel=RUN),
    ] = False,
    checkpoint_every: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="Between two checkpoints.", rich_help_panel=RUN)
    ] = 10.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 if the method did not converge.", rich_help_panel=RUN)
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.", rich_help_panel=RUN)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.", rich_help_panel=RUN)] = False,
) -> None:
    """Find the parts of the data in a file.

    Writes into the folder: model.safetensors, components.csv, weights.csv
    (or .parquet), history.csv, report.html, and manifest.json, with which
    --from repeats the run bit by bit.

    Ctrl-C keeps the best parts so far and writes everything. With --resume
    the same command goes on from there, or from the last checkpoint of a run
    that was killed; -o alone will do.

    Exit codes: 0 done (also if not converged, which is told; see --strict),
    1 failed, 2 wrong usage or data that cannot be used, 3 not converged and
    --strict, 130 interrupted.
    """
    voice = Voice(as_json=as_json, quiet=quiet)
    with voice.failing():
        options = parse_settings(settings or [])
        for name, value in {"max_iter": max_iter, "tol": tol, "init": init}.items():
            if value is not None and name in options:
                raise Failure(f"{name} is given twice, by --{name.replace('_', '-')} and by --set", 2)
            options |= {} if value is None else {name: value}
        reader = how.Reading(**{name: context.params[name] for name in how.NAMES})
        shape = parse_shape(image_shape, "--image-shape")
        given: dict[str, Any] = {"method": method, "k": k, "seed": seed, "options": options, "preprocess": preprocess}
        given |= {"image_shape": shape, "weights_format": weights_format, "reading": reader}
        given = {name: value for name, value in given.items() if _is_given(context, name)}
        manifest = _earlier(again, resume, out)
        job = _job(data, given, manifest)
        folder = RunFolder(out or _place(again))
        if manifest and resume and manifest["status"] == COMPLETE and folder.is_whole(manifest["outputs"]):
            _tell_finished(folder, manifest, voice)
            raise typer.Exit(_code(0, manifest["fit"], strict))
        found = folder.found() if folder.path.is_dir() else []
        if found and not overwrite and not (resume and manifest):
            raise Failure(
                f"{folder.path} holds {found[0]} of an earlier run: give --resume to go on with it, --overwrite to "
                "replace it, or another folder with -o",
                2,
            )
        session = Session(job, folder, voice, manifest, resume=resume and manifest is not None, force=force)
        code = session.run(checkpoint_every)
    if code == INTERRUPTED:
        raise Failure(f"interrupted; partwise fit --resume -o {folder.path} goes on", code)
    raise typer.Exit(_code(code, session.fitted.facts(), strict))


def _code(code: int, facts: dict[str, Any], strict: bool) -> int:
    """The exit code of a run with these facts."""
    return 3 if code == 0 and strict and facts.get("converged") is False else code


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether an option of the job was on the command line, by itself or by one of its flags."""
    flags = {"options": ("settings", "max_iter", "tol", "init"), "reading": how.NAMES}.get(name, (name,))
    sources = [context.get_parameter_source(flag) for flag in flags]
    return any(source is not None and source.name == "COMMANDLINE" for source in sources)


def _earlier(again: Path | None, resume: bool, out: Path | None) -> dict[str, Any] | None:
    """The manifest to go by, if there is one."""
    if again and resume:
        raise Failure("--from repeats a run, --resume goes on with one: give one of them", 2)
    if again:
        return read_manifest(again)
    folder = out or OUT
    return read_manifest(folder) if resume and (folder / "manifest.json").exists() else None


def _job(data: str | None, given: dict[str, Any], manifest: dict[str, Any] | None) -> Job:
    """What is to be done; a manifest says it all, and options may only repeat it."""
    if manifest is None:
        if data is None:
            raise Failure("give DATA, the file to read (partwise fit --help says more)", 2)
        _check(given)
        return Job(data, **given)
    before = Job.of_json(manifest["job"], str(manifest["data"].get("path")))
    _check({"preprocess": before.preprocess, "weights_format": before.weights_format})
    if "options" in given:
        given["options"] = before.options | given["options"]
    now = replace(before, **given) if data is None else replace(before, data=data, **given)
    difference = before.differing(now)
    if difference:
        raise Failure(f"{difference}: leave it out, or start another run", 2)
    return now


def _check(given: dict[str, Any]) -> None:
    for name, allowed in (("preprocess", PREPROCESS), ("weights_format", FORMATS)):
        if given.get(name, allowed[0]) not in allowed:
            raise Failure(f"--{name.replace('_', '-')} must be one of {', '.join(allowed)}, got {given[name]!r}", 2)


def _place(again: Path | None) -> Path:
    """The folder if none is given; that of a repeated run gets a name of its own."""
    if again is None:
        return OUT
    home = Path(os.path.abspath(again if again.is_dir() else again.parent))  # "." has no name
    return home.parent / f"{home.name}-again"


def _tell_finished(folder: RunFolder, manifest: dict[str, Any], voice: Voice) -> None:
    folder.manifest = manifest
    voice.say(f"{folder.path} is finished: there is nothing to go on with.")
    facts = {name: value for name, value in manifest["fit"].items() if name != "finished"}
    voice.result(told_result(folder, str(manifest["job"]["method"]), facts))
