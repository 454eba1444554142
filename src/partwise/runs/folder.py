"""The folder of a run: one program at a time, and files that are complete or not there.

The manifest names an output with its hash only after it is there; so whatever a kill leaves can be read, and what the
manifest does not name is made again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from partwise.runs.checkpoints import CHECKPOINT
from partwise.runs.manifest import MANIFEST, Manifest

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SCHEMA = 1
RUNNING, COMPLETE, INTERRUPTED = "running", "complete", "interrupted"


class RunFolder:
    """A folder that one run writes into.

    Parameters
    ----------
    path : pathlib.Path
        Where; made by :meth:`open`.
    outputs : sequence of str
        Names of the files that runs of this kind write, beside manifest and checkpoint.
    """

    manifest: Manifest

    def __init__(self, path: Path, outputs: Iterable[str] = ()) -> None:
        self.path = path
        self.names = (MANIFEST, CHECKPOINT, *outputs)
        self._made = [place for place in (path, *path.parents) if not place.exists()]  # the innermost first
        self._locked: int | None = None

    @property
    def checkpoint(self) -> Path:
        """The file from which a killed run goes on."""
        return self.path / CHECKPOINT

    def open(self) -> None:
        """Make it if needed, find out now whether files can be written into it, and keep others out."""
        make_folder(self.path)
        self._locked = lock(self.path)

    def close(self) -> None:
        """Let others write into it."""
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    def __enter__(self) -> RunFolder:
        self.open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def found(self) -> list[str]:
        """Files in it that an earlier run has written."""
        return [name for name in self.names if (self.path / name).exists()]

    def begin(self, entries: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> None:
        """Write the manifest of a new run, or of one that is gone on with; what is there of any other goes."""
        if before is None:  # first, so that nothing of an earlier run can be taken for this one's
            self.checkpoint.unlink(missing_ok=True)
        outputs = {} if before is None else dict(before["outputs"])
        fixed = {"schema": SCHEMA, "status": "", **entries, "outputs": outputs} | {"status": RUNNING}
        self.manifest = Manifest(self.path, fixed, before or {})
        for name in set(self.found()) - {MANIFEST, CHECKPOINT, *outputs}:
            (self.path / name).unlink(missing_ok=True)
        sweep(self.path, self.names)

    def write(self, name: str, write: Callable[[Path], object]) -> None:
        """Write an output, then name it in the manifest."""
        path = self.path / name
        write(path)
        self.manifest["outputs"][name] = {"sha256": file_hash(path), "bytes": path.stat().st_size}
        self.manifest.update()

    def finish(self, status: str, *, keep: bool = False) -> None:
        """All is written; a run that is complete needs no checkpoint, unless it may be gone on with.

        It goes first: whoever kills the run right here leaves none behind.
        """
        if status == COMPLETE and not keep:
            self.checkpoint.unlink(missing_ok=True)
        self.manifest.update(status=status)

    def discard(self) -> None:
        """Leave no trace of a run that came to nothing."""
        for name in (MANIFEST, CHECKPOINT):
            (self.path / name).unlink(missing_ok=True)
        sweep(self.path, self.names)
        self.abandon()

    def abandon(self) -> None:
        """Remove the folder, and those around it, if they were made for nothing."""
        for place in self._made:
            if not place.is_dir() or any(place.iterdir()):
                break
            place.rmdir()

    def has(self, name: str) -> bool:
        """Whether an output is there as the manifest says."""
        noted, path = self.manifest["outputs"].get(name), self.path / name
        return isinstance(noted, dict) and path.is_file() and file_hash(path) == noted.get("sha256")

    def is_whole(self, names: Iterable[str]) -> bool:
        """Whether these outputs are all there."""
        return all((self.path / name).exists() for name in self.names if name in names)


def make_folder(folder: Path) -> Path:
    """Make the folder, and find out now, not after the work, whether files can be written into it."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass
    return folder


def lock(path: Path) -> int | None:
    """Keep a folder or file for this program: a descriptor that is to be kept open; None where there are no locks.

    The system ends the lock with the program, however that ends.
    """
    if fcntl is None:
        return None
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise BlockingIOError(errno.EWOULDBLOCK, "another partwise is writing into it", str(path)) from error
        return None  # a file system without locks
    return descriptor


def sweep(folder: Path, names: Iterable[str]) -> None:
    """Remove what atomic writes of these files have left when they were killed."""
    for name in names:
        for part in folder.glob(f".{name}.*"):
            part.unlink(missing_ok=True)


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
