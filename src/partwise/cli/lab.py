"""``partwise lab``: the published experiments, run here, beside the published numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from partwise.cli.console import Failure, output
from partwise.cli.files import make_folder

if TYPE_CHECKING:
    from partwise.lab import Experiment, Reproduction
    from partwise.lab.experiment import Size

ALL = "all"
SIGNS = {"reproduced": "✓", "exceeded": "✓✓", "not reproduced": "✗", "not measured": "·"}
MARKS = {"reproduced": "green", "exceeded": "bold green", "not reproduced": "bold red", "not measured": "dim"}

lab = typer.Typer(help="Published experiments beside the published numbers.", no_args_is_help=True)


@lab.command("list")
def list_() -> None:
    """List the experiments."""
    from partwise.lab import experiments

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for name in ("experiment", "what it shows", "claims"):
        table.add_column(name, no_wrap=name == "experiment", justify="right" if name == "claims" else "left")
    document = ""
    for experiment in experiments().values():
        if experiment.document.partition(", appendix")[0] != document:
            document = experiment.document
            table.add_row("", f"[dim]{escape(document)}[/]", "")
        table.add_row(f"[bold]{experiment.name}[/]", escape(experiment.title), str(len(experiment.claims)))
    output().print(table)


@lab.command()
def run(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Experiments, or all.")],
    quick: Annotated[bool, typer.Option("--quick/--full", help="Under a minute each, or the published size.")] = True,
    seeds: Annotated[int | None, typer.Option(min=1, help="Repetitions; by default the experiment's own.")] = None,
    methods: Annotated[
        list[str] | None, typer.Option("--methods", "-m", help="Methods, by commas or by repeating the option.")
    ] = None,
    literal: Annotated[
        bool, typer.Option("--literal", help="Only methods as published: constants, starts, weights, preparation.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Experiments at once; by default as many as cores.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results, with one folder in it for each experiment.")
    ] = Path("partwise-lab"),
) -> None:
    """Run experiments and write tables, a manifest and a page.

    A run that was interrupted goes on where it stopped when it is started again with the same folder.
    """
    from partwise.exceptions import InputError, MissingDependencyError
    from partwise.sources.passes import n_threads

    size: Size = "quick" if quick else "full"
    chosen = [name for part in methods or [] for name in part.split(",") if name]
    try:
        wanted = _wanted(names, literal)
        make_folder(out)
        done = {}
        how = {"size": size, "seeds": seeds, "methods": chosen, "literal": literal}
        for result in _run_each(wanted, out, jobs or n_threads(), how):
            done[result.experiment.name] = result
            if len(wanted) == 1:
                _print(result)
            _tell(result)
        _summarize([done[experiment.name] for experiment in wanted], out)
    except InputError as error:
        raise Failure(str(error), 2) from error
    except MissingDependencyError as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(f"cannot write into {out}: {error.strerror or error}") from error


@lab.command()
def show(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that a run has written.")]) -> None:
    """Print the claims and verdicts of results, and write their pages anew; of several, a summary too."""
    from partwise.exceptions import InputError
    from partwise.lab import find_experiment, finish, read_manifest

    found = sorted(path.parent for path in folder.rglob("manifest.json"))
    if not found:
        raise Failure(f"{folder} holds no results of the lab", 2)
    try:
        results = [finish(find_experiment(str(read_manifest(place)["experiment"])), place) for place in found]
        for result in results:
            _print(result)
            _tell(result)
        _summarize(results, folder)
    except InputError as error:
        raise Failure(str(error), 2) from error


@lab.command()
def document(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A folder that runs have written; without one, from what is kept."),
    ] = None,
    docs: Annotated[Path, typer.Option(help="The folder of the documentation.")] = Path("docs"),
) -> None:
    """Keep small tables of runs with the documentation, and make its page and figures of what is kept.

    Of several runs of an experiment the full one is kept, or else the one with most cells; a run that is not complete
    is left out, and so is a quick one where a full one is kept.
    """
    from partwise.exceptions import InputError
    from partwise.lab import find_experiment, load_result
    from partwise.lab.document import write_document
    from partwise.lab.kept import choose, keep

    try:
        chosen, left = choose(folder, docs) if folder else ({}, {})
        if folder and not chosen and not left:
            raise Failure(f"{folder} holds no results of the lab", 2)
        for name, place in chosen.items():
            keep(load_result(find_experiment(name), place), docs)
            _say(f"Kept {name}: ", place)
        for place, why in left.items():
            _say(f"Left out, {why}: ", place)
        _say("Page: ", write_document(docs))
    except InputError as error:
        raise Failure(str(error), 2) from error


def _run_each(wanted: list[Experiment], out: Path, jobs: int, how: dict[str, Any]) -> Iterator[Reproduction]:
    """One after the other with a bar each, or several at once with a bar for them all."""
    from partwise.lab import run_experiment
    from partwise.lab.together import run_together
    from partwise.runs.progress import Counted, bar

    folders = [out / experiment.name / how["size"] for experiment in wanted]
    if min(jobs, len(wanted)) > 1:
        with bar(output(), transient=True) as progress:
            watch = Counted(progress, "experiments")
            watch(0, len(wanted))
            for number, result in enumerate(run_together(wanted, folders, jobs, **how), 1):
                watch(number, len(wanted), result.experiment.name)
                yield result
        return
    for experiment, folder in zip(wanted, folders, strict=True):
        with bar(output(), transient=True) as progress:
            result = run_experiment(experiment, folder, watch=Counted(progress, experiment.name), **how)
        yield result


def _wanted(names: list[str], literal: bool) -> list[Experiment]:
    from partwise.lab import experiments, find_experiment

    if ALL in names:
        # of all, those in which something is published
        return [one for one in experiments().values() if not literal or any(claim.literal for claim in one.claims)]
    return [find_experiment(name) for name in dict.fromkeys(names)]


def _summarize(done: list[Reproduction], out: Path) -> None:
    """One page with every claim, and one table, if there was more than one experiment."""
    from partwise.lab.measurements import Measurements
    from partwise.lab.page import PAGE, write_summary

    if len(done) < 2:
        return
    folders = [result.folder for result in done if result.folder is not None]
    pages = [(folder.relative_to(out) / PAGE).as_posix() for folder in folders]
    path = write_summary(list(zip(pages, done, strict=True)), out)
    rows = [judgement.row(result.experiment.name) for result in done for judgement in result.verdicts()]
    Measurements(rows).write(out / "summary")
    _say(f"{_counted(done)}. Summary: ", path)


def _counted(done: list[Reproduction]) -> str:
    """How many claims hold, literally and with ours."""
    from partwise.lab.claim import GOOD
    from partwise.lab.page import counts

    found = counts([judgement for result in done for judgement in result.verdicts()])
    words = [f"{side} {sum(of.get(name, 0) for name in GOOD)} of {sum(of.values())}" for side, of in found.items()]
    return f"Claims reproduced: {', '.join(words)}"


def _print(result: Reproduction) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("claim", ratio=1)
    table.add_column("asked", max_width=18)
    for name in ("as published", "ours"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in result.verdicts():
        notes = [f"changed after a run, {change}" for change in one.claim.changed]
        if one.empty:
            notes.append(f"says nothing here: {', '.join(one.met_by)} meets it too")
        dim = "".join(f"\n[dim]{escape(note)}[/]" for note in [*notes, *one.explanations])
        sides = [
            f"{verdict.shown} [{MARKS[verdict.name]}]{SIGNS[verdict.name]}[/]" if verdict else ""
            for verdict in (one.literal, one.ours)
        ]
        table.add_row(escape(one.claim.text) + dim, escape(one.claim.stated), *sides)
    output().print(table)
    for change in result.experiment.changes:
        output().print(f"[dim]changed after a run, {escape(str(change))}[/]")


def _told(result: Reproduction) -> str:
    """The verdicts counted, those of the literal methods and of ours apart."""
    from partwise.lab.page import counts

    words = [
        f"{side}: " + ", ".join(f"{SIGNS[name]} {number} {name}" for name, number in numbers.items())
        for side, numbers in counts(result.verdicts()).items()
        if numbers
    ]
    return "; ".join(words) or "no claims"


def _tell(result: Reproduction) -> None:
    size = result.manifest["size"]
    smaller = "" if size == "full" else " (smaller than published)"
    console = output()
    console.print(f"[bold]{result.experiment.name}[/] --{size}{smaller}: {_told(result)}")
    for case, reason in result.manifest["skipped"].items():
        console.print(f"  left out: {case}: {reason}", markup=False)
    failures = sum(bool(row.get("failure")) for row in result.table)
    if failures:
        console.print(f"  {failures} of {len(result.table)} cells failed: see the page")
    assert result.folder is not None
    _say("  Page: ", result.folder / "index.html")


def _say(what: str, path: Path) -> None:
    console = output()
    console.print(what, end="", highlight=False)
    console.print(str(path), style="bold", markup=False, soft_wrap=True)
