"""Files that are either complete or not there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from partwise.cli.console import Failure


def make_folder(folder: Path) -> Path:
    """Make the folder, and find out now, not after the work, whether files can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Failure(f"cannot write into {folder}: {error.strerror or error}") from error
    return folder


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """As :func:`partwise.io.write_atomically`, with a failure that the program tells."""
    from partwise.io.atomic import write_atomically as replace_file

    try:
        replace_file(path, write)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror or error}") from error
