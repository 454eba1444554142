"""The documentation: examples run, commands exist, links lead somewhere, and every public name has a place."""

from __future__ import annotations

import inspect
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot
import pytest

import partwise

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", *DOCS]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w])")
TREE = re.DOTALL | re.MULTILINE
BRACKETS = str.maketrans("[]()", "    ")
NOT_RUN = re.compile(r"<!-- not run: (\S.*) -->\n\Z")  # before a block that is only shown, with the reason


class Block(NamedTuple):
    language: str
    code: str
    line: int
    shown_only: bool
    output: str | None  # as a block of text right after it has it


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()]
        found.append(Block(match[1], match[2], before.count("\n") + 1, bool(NOT_RUN.search(before)), match[3]))
    return [block for block in found if block.language == language]


def run(page: Path) -> Iterator[tuple[Block, dict[str, Any]]]:
    """Run a page's blocks one after the other in one namespace."""
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page, "python"):
        if not block.shown_only:
            # lines as they are in the page, for tracebacks
            exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
            yield block, names


def check_output(shown: str, printed: str) -> None:
    """The same words, and numbers that are near: other machines round in another way."""
    printed = re.sub(r"/\S*/", "", printed)  # folders
    words = [" ".join(NUMBER.sub(" # ", text).translate(BRACKETS).split()) for text in (shown, printed)]
    assert words[0] == words[1]
    numbers = [[float(one) for one in NUMBER.findall(text)] for text in (shown, printed)]
    assert numbers[1] == pytest.approx(numbers[0], rel=0.05, abs=0.002)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What examples write goes to a folder that nobody misses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
def test_examples_of_page_run(page: Path, capsys: pytest.CaptureFixture[str]):
    for block, _ in run(page):
        printed = capsys.readouterr().out
        assert printed.strip(), "an example shows something"
        if block.output is not None:
            check_output(block.output, printed)


def scripts() -> Iterator[Any]:
    """Those with real data take long and are run for the gallery; tests/cli/test_fields.py has their steps in small."""
    for script in SCRIPTS:
        large = "PARTWISE_DATA" in script.read_text(encoding="utf-8")
        yield pytest.param(script, id=name_of(script), marks=[pytest.mark.slow] if large else [])


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("script", list(scripts()))
def test_script_runs(script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setenv("MPLBACKEND", "agg")
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        if not str(end.code).startswith("skipped: "):
            raise
        pytest.skip(str(end.code))
    finally:
        matplotlib.pyplot.close("all")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("script", [one for one in SCRIPTS if "PARTWISE_DATA" in one.read_text()], ids=name_of)
def test_a_script_says_which_sets_it_needs(script: Path):
    """The gallery shows it without running it where one is not there."""
    assert re.search(r"PARTWISE_DATA\s+names \(\w+(, \w+)*\)", script.read_text())


def test_readme_example_recovers():
    *_, (_, names) = run(ROOT / "README.md")
    assert names["model"].converged_
    assert names["match"].cosines.min() > 0.9999
    assert names["certificate"].largest < 1e-10


SHELL = re.compile(r"^\.\. code-block:: sh\n\n((?: {4}.*\n)+)", re.MULTILINE)  # in the head of a script


def commands(page: Path) -> Iterator[str]:
    """The program's command lines in a page's shell blocks."""
    shown = [block.code for block in blocks(page, "sh")]
    if page.suffix == ".py":
        shown = SHELL.findall(page.read_text(encoding="utf-8"))
    for code in shown:
        for line in code.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            for part in split(words):
                if part and part[0] == "partwise":
                    yield shlex.join(part[1:])


def split(words: list[str]) -> Iterator[list[str]]:
    """The commands of a line of the shell."""
    part: list[str] = []
    for word in words:
        if word in ("&&", "||", "|", ";"):
            yield part
            part = []
        elif word in (">", "<"):  # what follows is a file
            break
        else:
            part.append(word)
    yield part


COMMANDS = [
    pytest.param(line, id=f"{name_of(page)}: {line}")
    for page in [*PAGES, *SCRIPTS, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
    for line in dict.fromkeys(commands(page))
]


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("line", COMMANDS)
def test_command_exists(line: str):
    """The program takes the command with its options and values; what it would do is not done."""
    import typer

    from partwise.cli.app import app

    words = shlex.split(line)
    program: Any = typer.main.get_command(app)
    command = program
    for word in words:
        if not getattr(command, "commands", None):
            break
        assert word in command.commands, f"no command {word!r}"
        command = command.commands[word]
    calls: list[dict[str, Any]] = []
    command.callback = lambda **given: calls.append(given)
    for word in words:
        if Path(word).suffix:  # some commands look first whether a file is there
            Path(word).parent.mkdir(parents=True, exist_ok=True)
            Path(word).touch()
    program.main(args=words, prog_name="partwise", standalone_mode=False)  # raises what the user would be told
    (given,) = calls
    if "settings" in given:  # partwise fit: the method has these options
        from partwise.cli.job import parse_settings
        from partwise.estimators.catalog import find_method
        from partwise.estimators.options import build

        assert build(find_method(given["method"]), given["k"], parse_settings(given["settings"] or []))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_links_lead_somewhere(page: Path):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_every_page_has_a_place():
    """Sphinx says so too, where it is installed."""
    listed = {
        (page.parent / name).relative_to(ROOT / "docs").as_posix()
        for page in DOCS
        for tree in re.findall(r"^```\{toctree\}\n:hidden:\n\n(.*?)^```$", page.read_text(encoding="utf-8"), TREE)
        for name in tree.split()
    }
    made = {"gallery/index"}  # of examples/
    pages = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in DOCS}
    assert listed - made == pages - {"index"}


def test_every_name_has_a_place():
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCS)
    shown = set(re.findall(r"^\.\. auto\w+:: (\S+)$", text, re.MULTILINE))
    # the page of a module shows all of its names
    modules = [name for name in partwise.__all__ if inspect.ismodule(getattr(partwise, name))]
    listed = {name for module in modules for name in _names(module) if f"partwise.{module}" in shown}
    listed |= {path.rpartition(".")[2] for path in shown}
    inside = {"__version__", "algorithms", "estimators", "parts"}  # the estimators have pages of their own
    assert set(partwise.__all__) - listed - inside == set()


def _names(module: str) -> list[str]:
    return getattr(getattr(partwise, module), "__all__", [])


def test_the_page_of_speed_is_made_of_its_files() -> None:
    from benchmarks.page import KEPT, page

    assert (ROOT / "docs" / "speed.md").read_text() == page(KEPT)
