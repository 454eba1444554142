"""Pages that are made of what is elsewhere in the repository, so that nothing is written twice.

Links to files outside `docs/` are right where the repository is read, and are turned here to the pages of the site.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLACES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples": "gallery/index.rst",
}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]+)?\)")
INCLUDE = re.compile(r"^<!-- include (\S+) -->$", re.MULTILINE)


class RecipesFirst:
    """The order of the gallery."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[bool, str]:
        return not name.startswith("recipe"), name

    def __repr__(self) -> str:
        return "<RecipesFirst>"


def read(app: Any, name: str, text: list[str]) -> None:
    """A page of Markdown as it is read by Sphinx."""
    if app.env.doc2path(name).suffix != ".md":
        return
    here = posixpath.dirname(name)
    home = posixpath.join("docs", here)
    page = INCLUDE.sub(lambda found: included(found[1], home, here), text[0])
    if "<!-- commands -->" in page:
        page = page.replace("<!-- commands -->", "\n".join(commands()))
    text[0] = turned(page, home, here)


def included(path: str, home: str, here: str) -> str:
    """Another file without its title, its links turned already."""
    source = posixpath.normpath(posixpath.join(home, path))
    text = (ROOT / source).read_text(encoding="utf-8").partition("\n")[2]
    return turned(text, posixpath.dirname(source), here)


def turned(markdown: str, home: str, here: str) -> str:
    """Links between files of the repository (seen from `home`) as links between pages (seen from `here`)."""

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        path = posixpath.normpath(posixpath.join(home, target))
        if path.startswith("docs/"):
            page = path.removeprefix("docs/")
            anchor = "" if page.endswith(".csv") else anchor  # a row of a table, which is no place of the site
        elif path.startswith("examples/"):
            page = f"gallery/{Path(path).stem}.rst"
        elif path in PLACES:
            page = PLACES[path]
        else:  # not part of the site
            return text if (ROOT / path).exists() else found[0]
        return f"[{text}]({posixpath.relpath(page, here or '.')}{anchor})"

    return LINK.sub(link, markdown)


def commands() -> Iterator[str]:
    """The program's commands, as its help has them."""
    import typer

    from partwise.cli.app import app

    program = typer.main.get_command(app)
    yield from command_pages(program, "partwise")


def command_pages(command: Any, path: str) -> Iterator[str]:
    for name, child in sorted(getattr(command, "commands", {}).items()):
        full = f"{path} {name}"
        if getattr(child, "commands", None):
            yield from command_pages(child, full)
            continue
        arguments = [one for one in child.params if one.param_type_name == "argument"]
        options = [one for one in child.params if one.param_type_name == "option" and not one.hidden]
        usage = [full, *map(argument, arguments), *(["[OPTIONS]"] if options else [])]
        yield f"## {full}\n\n```text\n{' '.join(usage)}\n```\n"
        yield "\n".join(line.strip() for line in (child.help or "").splitlines()) + "\n"
        if arguments or options:
            yield "| | default | |\n|---|---|---|"
        yield from (f"| `{argument(one)}` | {default(one)} | {cell(one.help)} |" for one in arguments)
        yield from (f"| {flags(one)} | {default(one)} | {cell(one.help)} |" for one in options)
        yield ""


def argument(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name).strip("{}[].").upper() + ("..." if parameter.nargs < 0 else "")


def flags(parameter: Any) -> str:
    return ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])


def default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value is False or value == () or value == [] or callable(value):
        return ""
    return f"`{parameter.opts[0] if value is True else value}`"


def cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;")


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
