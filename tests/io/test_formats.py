"""A format is one line of the registry, and everything that lists formats has it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import partwise.io
from partwise.cli.reading import KINDS
from partwise.io.formats import FORMATS, Format
from partwise.io.reading import read

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
GENERAL = {"path", "in_memory", "transpose", "duplicates", "drop"}  # said once for all formats
every_format = pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)


def readers() -> set[str]:
    """Functions ``read_...`` of the package that make a table."""
    names = [found.name for found in pkgutil.iter_modules(partwise.io.__path__)]
    modules = [importlib.import_module(f"partwise.io.{name}") for name in names]
    return {
        name
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if name.startswith("read_") and inspect.signature(function).return_annotation == "Table"
    }


def rows_of_the_page() -> list[tuple[str, str]]:
    """First and last cell of every row of the table of formats, without marks of code."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    rows = [line.replace("`", "").split("|")[1:-1] for line in lines]
    return [(cells[0].strip(), cells[-1]) for cells in rows if len(cells) == 3]


def test_every_reader_is_registered() -> None:
    assert {format.read.__name__ for format in FORMATS.values()} == readers()


@every_format
def test_a_format_is_known_in_one_way(format: Format) -> None:
    ways = [way for way in (format.begins, format.called, format.ends, format.holds) if way is not None]
    assert len(ways) == (format.name != "delimited")  # which is what is left


@every_format
def test_the_documentation_has_every_format_and_its_options(format: Format) -> None:
    options = set(inspect.signature(format.read).parameters) - GENERAL
    listed = [
        set(re.findall(r"\w+", cell))
        for title, cell in rows_of_the_page()
        if format.title in title and title.startswith("a folder") == (format.holds is not None)
    ]
    assert len(listed) == 1
    assert options <= listed[0]


@every_format
def test_the_docstring_of_read_has_every_format(format: Format) -> None:
    text = " ".join((read.__doc__ or "").replace("``", "").split())
    assert f'"{format.name}"' in text
    assert format.title in text


def test_the_program_lists_the_formats() -> None:
    assert sorted(FORMATS) == KINDS.split(", ")
