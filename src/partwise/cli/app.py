"""The program's commands, and how it ends: a message and an exit code, never a traceback for what a user did."""

from __future__ import annotations

from typing import Annotated

import typer

import partwise
from partwise.cli.console import Failure, errors
from partwise.cli.demo import demo
from partwise.cli.methods import methods

INTERRUPTED = 130  # as shells report Ctrl-C

app = typer.Typer(
    name="partwise",
    help="The true parts of non-negative mixtures.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(methods)


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


def run(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    try:
        code = app(arguments, standalone_mode=True)
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        errors().print("\nInterrupted; nothing was written.")
        return INTERRUPTED
    except Failure as failure:
        errors().print(f"[bold]partwise:[/] {failure.message}", highlight=False)
        return failure.code
    return code if isinstance(code, int) else 0
