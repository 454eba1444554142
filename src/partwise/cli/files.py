"""Files that are either complete or not there, and failures that the program tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from partwise.cli.console import Failure


@contextmanager
def writing(what: str, hint: str = "") -> Iterator[None]:
    """What the system refuses, as a failure."""
    try:
        yield
    except OSError as error:
        raise Failure(f"cannot write {what}: {error.strerror or error}{hint}") from error


def make_folder(folder: Path) -> Path:
    """Make the folder, and find out now, not after the work, whether files can be written into it."""
    from partwise.runs import make_folder as make

    with writing(f"into {folder}"):
        return make(folder)


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """As :func:`partwise.io.write_atomically`, with a failure that the program tells."""
    from partwise.io.atomic import write_atomically as replace_file

    with writing(str(path)):
        replace_file(path, write)
