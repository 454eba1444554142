"""The library's messages in the program's words: flags instead of parameters, names beside numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from partwise.cli.console import Failure, told

if TYPE_CHECKING:
    from partwise.io import Table

OPTION = re.compile(r"\b(variable|delimiter|header|row_names|encoding|vocabulary|duplicates|min_count|format)=")
PLACE = re.compile(r"row (\d+), column (\d+)")


def sentence(text: str) -> str:
    """A warning as a sentence."""
    text = " ".join(_renamed(text).split())
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def flagged(text: str) -> str:
    """A reader's error with flags where it names parameters."""
    return OPTION.sub(lambda name: f"--{name[1].replace('_', '-')} ", text).replace(" ,", ",")


@contextmanager
def told_of(data: str, table: Table) -> Iterator[None]:
    """The library's errors as failures, those about the data with its file and names."""
    from partwise.exceptions import InputError

    try:
        with told(2):
            yield
    except Failure as failure:
        if isinstance(failure.__cause__, InputError):
            raise Failure(_explained(failure.message, data, table), 2) from failure.__cause__
        raise


def _explained(text: str, data: str, table: Table) -> str:
    """An error in the data, with names of rows and columns where it has them."""

    def named(place: re.Match[str]) -> str:
        row, column = int(place[1]), int(place[2])
        names = [
            f"row {row}" + (f" ({table.sample_names[row]!r})" if table.sample_names else ""),
            f"column {column}" + (f" ({table.feature_names[column]!r})" if table.feature_names else ""),
        ]
        return f"{', '.join(names)} (counted from 0)"

    return f"{data}: {PLACE.sub(named, _renamed(text))}"


def _renamed(text: str) -> str:
    text = re.sub(r"\bdata passed to X\b", "the data", text)
    text = re.sub(r"\bX\b(?!\s*[@>=|)])", "the data", text)
    text = text.replace("X >= 0", "data >= 0").replace("X > 0", "data > 0")
    return re.sub(r"\bn_components=(\d+)", r"-k \1", text)
