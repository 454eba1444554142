"""Files that are either complete or not there."""

from __future__ import annotations

import os
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
    """Write beside the target, then rename: a reader sees the old file or the new one, never a part of it."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp's files are private
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise Failure(f"cannot write {path}: {error.strerror or error}") from error
        raise
