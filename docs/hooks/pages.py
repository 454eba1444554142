"""Pages that are made of what is elsewhere in the repository, so that nothing is written twice.

Links to files outside `docs/` are right where the repository is read, and are turned here to the pages of the site.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
MADE = {"contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md"}
PLACES = {source: page for page, source in MADE.items()} | {
    "README.md": "index.md",
    "benchmarks/README.md": "benchmarks.md",
}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]+)?\)")
INCLUDE = re.compile(r"^<!-- include (\S+) -->$", re.MULTILINE)


def on_files(files: Files, *, config: Any) -> Files:
    for page, source in MADE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    name = page.file.src_uri
    home = posixpath.dirname(MADE.get(name, f"docs/{name}"))
    here = posixpath.dirname(name)
    markdown = INCLUDE.sub(lambda found: included(found[1], home, here), markdown)
    markdown = markdown.replace("<!-- examples -->", "\n".join(examples()))
    markdown = markdown.replace("<!-- commands -->", "\n".join(commands()))
    return turned(markdown, home, here)


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
        elif path.startswith("examples/"):
            page, anchor = "examples.md", f"#{Path(path).stem.replace('_', '-')}"
        elif path in PLACES:
            page = PLACES[path]
        else:  # not part of the site
            return text if (ROOT / path).exists() else found[0]
        return f"[{text}]({posixpath.relpath(page, here or '.')}{anchor})"

    return LINK.sub(link, markdown)


def examples() -> Iterator[str]:
    """Every script: what it says of itself, and its code."""
    for script in sorted((ROOT / "examples").glob("*.py")):
        code = script.read_text(encoding="utf-8")
        about = ast.get_docstring(ast.parse(code)) or ""
        body = code.split('"""', 2)[2].strip()
        yield f"## {about.partition(chr(10))[0].rstrip('.')} {{ #{script.stem.replace('_', '-')} }}"
        yield f"\n{about.partition(chr(10))[2].strip()}\n"
        yield f'```python title="examples/{script.name}"\n{body}\n```\n'


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
