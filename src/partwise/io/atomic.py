"""Files that are either complete or not there."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write beside the target, then rename: a reader sees the old file or the new one, never a part of it.

    Parameters
    ----------
    path : pathlib.Path
        The target.
    write : callable
        Is given the file to write to.
    """
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}"
    # not tempfile's, whose files are private: the system gives this one the mode that any new file has
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):  # of a broken disk the first error counts
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = error.filename and str(path), None  # what was to be written
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """The new name is on disk too, where a system can do that for a folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
