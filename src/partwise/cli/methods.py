"""``partwise methods``: what there is, what each assumes, guarantees and costs, and all options of one."""

from __future__ import annotations

import inspect
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from partwise.cli.console import Voice, output, plain, told

if TYPE_CHECKING:
    from partwise.estimators.catalog import Method

LINES = ("assumes", "guarantees", "costs")


def methods(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A method, to see all its options.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """List the methods: what each assumes, guarantees and costs.

    With a NAME, all options of that method, as partwise fit takes them.
    """
    from partwise.estimators.catalog import METHODS, find_method

    voice = Voice(as_json=as_json, quiet=False)
    with voice.failing(), told(2):
        if name is None:
            if as_json:
                voice.result({method.name: _described(method) for method in METHODS.values()})
            else:
                _list(list(METHODS.values()))
            return
        method = find_method(name)
        if as_json:
            voice.result(_described(method) | {"options": plain(_options(method))})
        else:
            _show(method)


def _list(found: list[Method]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for method in found:
        table.add_row(f"[bold]{method.name}[/]", method.estimator, escape(method.summary))
        for line in LINES:
            table.add_row("", line, escape(getattr(method, line)))
        table.add_row("", "", "")
    output().print(table)
    output().print("partwise methods NAME lists the options of one of them.", style="dim")


def _show(method: Method) -> None:
    console = output()
    console.print(f"[bold]{method.name}[/] ({method.estimator}): {escape(method.summary)}\n")
    for line in LINES:
        console.print(f"{line:<12}{escape(getattr(method, line))}", soft_wrap=True)
    if method.aliases:
        console.print(f"{'also':<12}{', '.join(method.aliases)}")
    console.print("\n[bold]Options[/], as --set NAME=VALUE; init, max_iter and tol have flags of their own too\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("name", "default", "what it does"):
        table.add_column(title, no_wrap=title != "what it does", overflow="fold")
    # options that are documented together are shown together
    for (allowed, text), group in groupby(_options(method).values(), key=lambda one: (one["allowed"], one["text"])):
        same = list(group)
        names = "\n".join(one["name"] for one in same)
        defaults = "\n".join(_default(one["default"]) for one in same)
        table.add_row(names, escape(defaults), f"[dim]{escape(allowed)}[/]\n{escape(text)}\n")
    console.print(table)
    if "random_state" in inspect.signature(method.kind.__init__).parameters:
        console.print("It draws random numbers: see --seed.")


def _described(method: Method) -> dict[str, Any]:
    return {
        "name": method.name,
        "estimator": method.estimator,
        "aliases": list(method.aliases),
        "summary": method.summary,
        **{line: getattr(method, line) for line in LINES},
    }


def _options(method: Method) -> dict[str, dict[str, Any]]:
    from partwise.estimators.options import options

    return {name: vars(one) for name, one in options(method).items()}


def _default(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
