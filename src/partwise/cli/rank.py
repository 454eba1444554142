"""``partwise rank``: how many parts a file of data has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partwise.cli.console import INTERRUPTED, Failure, Voice, errors, plain, told
from partwise.cli.files import write_atomically, writing
from partwise.cli.options import RUN, Saying, grouped
from partwise.cli.reading import Reading
from partwise.cli.wording import told_of

if TYPE_CHECKING:
    from partwise.belief import Halving, RankChoice
    from partwise.runs import Journal, RunFolder
    from partwise.sources import RowSource

TABLE, FIGURE, CELLS = "table.csv", "rank.svg", "cells.jsonl"
OUTPUTS = (TABLE, FIGURE, CELLS)
KINDS = {"status": str, "rank": dict, "data": dict, "outputs": dict, "sessions": list, "timings": dict}
COLUMNS = ("k", "explained", "held_out", "least", "median", "again", "strength", "seconds")


@dataclass(frozen=True)
class Keeping:
    """Where the table goes, and what becomes of an earlier one."""

    out: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for table, figure and finished fits.")] = (
        None
    )
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is in the folder.", rich_help_panel=RUN)] = (
        False
    )
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is in the folder.", rich_help_panel=RUN)
    ] = False


@grouped
def rank(
    reading: Reading,
    keeping: Keeping,
    saying: Saying,
    data: Annotated[str, typer.Argument(metavar="DATA", help="What partwise fit takes.")],
    most: Annotated[
        int | None, typer.Option(min=1, help="Largest number of parts that is fitted; 30 by default.")
    ] = None,
    halves: Annotated[
        bool | None, typer.Option("--halves/--no-halves", help="Whether parts are sought in halves of the samples.")
    ] = None,
    preprocess: Annotated[
        str, typer.Option(help="none, tfidf (counts of words), log1p or unit (rows of length 1).")
    ] = "none",
    missing: Annotated[
        str | None, typer.Option(help="What stands for an unknown entry: nan (empty cells, NA) or zeros.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of everything that is drawn.")] = 0,
) -> None:
    """Say how many parts there are, how sure that is, and what each further one adds.

    The table has a row for each number of parts: the share that it explains
    at most, the error of entries that were left out, and the agreement of the
    parts of two halves of the samples (the worst part, the median one, and
    how many are found again). An answer without a number is an answer: then
    it is told how many there are at least. Of data with --missing entries
    only known ones that were left out decide.

    With -o the folder holds table.csv, rank.svg, manifest.json and every
    finished fit, so that --resume goes on behind the last one.

    Exit codes: 0 done, whatever was found, 1 failed, 2 wrong usage or data
    that cannot be used, 130 interrupted.
    """
    voice = saying.voice
    with voice.failing():
        if missing is not None and preprocess != "none":
            raise Failure("--missing is of the data as it is: leave --preprocess out", 2)
        if halves and missing is not None:
            raise Failure("--halves are not asked about where entries are unknown: leave it out", 2)
        halves = missing is None if halves is None else halves
        asked = {"most": most, "halves": halves, "preprocess": preprocess, "seed": seed, "reading": reading.given()}
        asked |= {} if missing is None else {"missing": missing}
        if keeping.out is None:
            if keeping.resume or keeping.overwrite:
                raise Failure("--resume and --overwrite are about a folder: give it with -o", 2)
            source = _source(data, reading, preprocess)[0]
            tell(_chosen(data, source, asked, voice, None), voice, samples=source.sample_names)
            return
        _kept(data, reading, keeping, asked, voice)


def _kept(data: str, reading: Reading, keeping: Keeping, asked: dict[str, Any], voice: Voice) -> None:
    """The same in a folder."""
    from partwise.runs import COMPLETE, RunFolder, Timings

    assert keeping.out is not None
    folder = RunFolder(keeping.out, OUTPUTS)
    found = folder.found() if folder.path.is_dir() else []
    if found and not (keeping.overwrite or keeping.resume):
        raise Failure(
            f"{folder.path} holds {found[0]} of an earlier run: give --resume to go on with it, --overwrite to replace "
            "it, or another folder with -o",
            2,
        )
    with writing(f"into {folder.path}"), folder:
        source, known = _source(data, reading, asked["preprocess"])
        before = _before(folder, asked, known) if keeping.resume and found else None
        if before is not None:  # finished fits are an output of the run from its first cell on
            before["outputs"].setdefault(CELLS, {})
        timings = Timings({} if before is None else before["timings"])
        path = {"path": str(Path(data).absolute())}
        folder.begin({"data": plain(known | path), "rank": plain(asked), "timings": timings}, before)
        try:
            with timings.of("rank"):
                choice = _chosen(data, source, asked, voice, folder)
        except KeyboardInterrupt:
            folder.finish("interrupted")
            raise Failure(f"interrupted; --resume -o {folder.path} goes on", INTERRUPTED) from None
        folder.write(TABLE, partial(_write_table, choice=choice))
        folder.write(FIGURE, partial(_write_figure, choice=choice))
        folder.manifest.entries["choice"] = plain(choice.facts() | {"sentence": str(choice)})
        folder.finish(COMPLETE)
    tell(choice, voice, folder.path, source.sample_names)


def _source(data: str, reading: Reading, preprocess: str) -> tuple[RowSource, dict[str, Any]]:
    """The rows, prepared, and the fingerprint of what was read."""
    from partwise.estimators.saving import fingerprint
    from partwise.io.preparation import KINDS as KNOWN
    from partwise.io.preparation import prepare

    if preprocess not in KNOWN:
        raise Failure(f"--preprocess must be one of {', '.join(KNOWN)}, got {preprocess!r}", 2)
    with told(2):
        table = reading.read(data)
        if 0 in table.X.shape:
            raise Failure(f"{data}: there is no number in it (shape {table.X.shape})", 2)
        raw = table.source()
        with told_of(data, table):
            return prepare(raw, preprocess).apply(raw), fingerprint(raw)


def _before(folder: RunFolder, asked: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The manifest that is gone on with; it must be of the same data and the same question."""
    from partwise.runs import read_manifest

    with told(2):
        before = read_manifest(folder.path, KINDS, of="partwise rank")
    for name, value in plain(asked).items():
        if before["rank"].get(name) != value:
            raise Failure(f"{name} was {before['rank'].get(name)} in that run and is {value} now", 2)
    if before["data"].get("sha256") != known["sha256"]:
        raise Failure("the data has changed since that run: --overwrite begins anew", 2)
    return before


def _chosen(data: str, source: RowSource, asked: dict[str, Any], voice: Voice, folder: RunFolder | None) -> RankChoice:
    """The choice, with a bar; finished fits are kept in the folder."""
    from partwise.runs.progress import bar

    journal = None if folder is None else open_journal(folder.path / CELLS)
    with bar(errors(), hidden=voice.quiet) as progress, told_of(data, source):
        given = {name: asked[name] for name in ("most", "halves", "missing") if name in asked}
        return choose(source, progress, journal, random_state=asked["seed"], **given)


def choose(source: RowSource, progress: Any, journal: Journal | None = None, **asked: Any) -> RankChoice:
    """Choose the number of parts: with a bar, and finished fits in a journal."""
    from partwise.belief import Halving, choose_k
    from partwise.runs.progress import Counted

    counted = Counted(progress, "Parts")
    finished = {} if journal is None else journal.done
    known = {key: Halving(key[0], key[1], tuple(one["cosines"]), one["seconds"]) for key, one in finished.items()}

    def done(one: Halving, number: int, planned: int) -> None:
        if journal is not None:
            journal.add(vars(one))
        counted(number, planned, f"halves with {one.k} parts")

    counted(0, None, "noise")
    choice = choose_k(source, known=known, callback=done, **asked)
    progress.update(counted.task, total=1, completed=1, note="")
    return choice


def open_journal(path: Path) -> Journal:
    """Finished fits of halves, by number of parts and split."""
    from partwise.runs import Journal

    return Journal(path, lambda entry: (int(entry["k"]), int(entry["split"])))


def tell(choice: RankChoice, voice: Voice, folder: Path | None = None, samples: Sequence[Any] | None = None) -> None:
    """The answer, the noise, what was left out, and the table."""
    from partwise.belief.rank_telling import sentence
    from partwise.report.wording import listed

    named = {} if samples is None else {"called": lambda odd: listed([str(samples[i]) for i in odd], 10)}
    told = sentence(choice, **named)
    voice.say(f"{told[:1].upper()}{told[1:]}.", style="bold")
    if choice.noise is None:
        voice.say("What the noise looks like was not measured: entries are unknown.")
    else:
        voice.say(f"{str(choice.noise)[:1].upper()}{str(choice.noise)[1:]}.")
    if choice.duplicates:
        voice.say(f"{choice.duplicates:,} samples are copies of others, and were left out.")
    voice.say()
    voice.say("                        error of    halves of the samples:          ")
    voice.say("  parts   explained     left out    worst  median  found again  seconds")
    for row in choice.table:
        mark = ">" if row.k == choice.k else " "
        cosines = "     -       -            -" if row.least != row.least else _cosines(row)
        out = "       -" if row.held_out != row.held_out else f"{row.held_out:8.4f}"
        share = "        -" if row.explained != row.explained else f"{row.explained:9.4f}"
        voice.say(f"{mark} {row.k:5d}   {share}     {out}    {cosines}  {row.seconds:7.1f}")
    if folder is not None:
        voice.say()
        voice.say(f"{folder / TABLE}, {folder / FIGURE}")
    voice.result(
        plain(choice.facts() | {"sentence": str(choice)} | ({} if folder is None else {"folder": str(folder)}))
    )


def _cosines(row: Any) -> str:
    return f"{row.least:6.3f}  {row.median:6.3f}  {row.again:6.1f} of {row.k:2d}"


def _write_table(path: Path, choice: RankChoice) -> None:
    lines = [",".join(COLUMNS)]
    lines += [",".join("" if value != value else f"{value:.6g}" for value in _values(row)) for row in choice.table]
    write_atomically(path, lambda file: file.write(("\n".join(lines) + "\n").encode()))


def _values(row: Any) -> list[float]:
    return [getattr(row, name) for name in COLUMNS]


def _write_figure(path: Path, choice: RankChoice) -> None:
    figure = choice.plot()
    write_atomically(path, lambda file: figure.savefig(file, format="svg"))
