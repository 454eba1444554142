"""Options of the commands in groups: a group is a dataclass whose fields say how each is given on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from partwise.cli.console import Voice

RUN = "Run"


@dataclass(frozen=True)
class Saying:
    """What is said, and to whom."""

    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.", rich_help_panel=RUN)
    ] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.", rich_help_panel=RUN)] = False

    @property
    def voice(self) -> Voice:
        """Who says it."""
        return Voice(as_json=self.as_json, quiet=self.quiet)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are dataclasses are given field by field, as options of their own."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        kinds = get_type_hints(group, include_extras=True)
        parameters += [
            inspect.Parameter(field.name, parameter.KEYWORD_ONLY, default=field.default, annotation=kinds[field.name])
            for field in fields(group)
        ]

    @wraps(command)
    def call(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **made)

    kind = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature([parameter.replace(kind=kind) for parameter in parameters])
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def given(context: typer.Context, *names: str) -> bool:
    """Whether one of these options was on the command line."""
    sources = [context.get_parameter_source(name) for name in names]
    return any(source is not None and source.name == "COMMANDLINE" for source in sources)
