"""The program's commands, and how it ends: a message and an exit code, no traceback for a user's slip."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer
from rich.markup import escape

import partwise
from partwise.cli.console import INTERRUPTED, Failure, Voice, errors, printable, told
from partwise.cli.demo import demo
from partwise.cli.fit import fit
from partwise.cli.inspecting import inspect
from partwise.cli.lab import lab
from partwise.cli.methods import methods
from partwise.cli.nmf import nmf
from partwise.cli.rank import rank
from partwise.cli.transform import transform

TRACEBACK = "PARTWISE_TRACEBACK"

app = typer.Typer(
    name="partwise",
    help="The true parts of non-negative mixtures.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(fit)
app.command()(rank)
app.command()(transform)
app.command()(inspect)
app.command()(demo)
app.command()(methods)
app.command()(nmf)
app.add_typer(lab, name="lab")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"partwise {partwise.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """The true parts of non-negative mixtures."""


def _unexpected(error: Exception, *, as_json: bool) -> int:
    """A fault of the program itself, told as such."""
    text = f"{type(error).__name__}: {error}"
    message = f"a fault of partwise itself ({text}); {TRACEBACK}=1 shows where, which a report of it should have"
    errors().print(f"[bold]partwise:[/] {escape(printable(message))}", soft_wrap=True)
    Voice(as_json=as_json, quiet=True).failed(message, 1)
    return 1


def run(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit code: 0 done, 1 failed, 2 wrong usage or data, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that a terminal cannot show is no reason to lose a fit
            stream.reconfigure(errors="backslashreplace")
    try:
        with told():  # a disk that fails, a folder that is gone: no fault of the program, wherever it is met
            code = app(arguments, prog_name="partwise", standalone_mode=True)
    except SystemExit as end:
        code = end.code
        usage = getattr(end.__context__, "format_message", None)  # Typer has told it, but not a program
        if usage and "--json" in (sys.argv[1:] if arguments is None else arguments):
            Voice(as_json=True, quiet=True).failed(usage(), 2)
    except Failure as failure:
        errors().print(f"[bold]partwise:[/] {escape(printable(failure.message))}", soft_wrap=True)
        return failure.code
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        return _unexpected(error, as_json="--json" in (sys.argv[1:] if arguments is None else arguments))
    if code == INTERRUPTED:
        errors().print("[bold]partwise:[/] interrupted")
    return code if isinstance(code, int) else 0
