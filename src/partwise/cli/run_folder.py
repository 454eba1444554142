"""The folder of a fit: its manifest, its outputs, and what is left there when the program is killed.

Every file is complete or not there, and the manifest names an output with its hash only after it is there; so whatever
a kill leaves can be read, and what the manifest does not name is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from partwise.cli.console import Failure, plain
from partwise.cli.files import make_folder, write_atomically

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MANIFEST, MODEL, CHECKPOINT = "manifest.json", "model.safetensors", "checkpoint.safetensors"
COMPONENTS, HISTORY, REPORT = "components.csv", "history.csv", "report.html"
WEIGHTS = {"csv": "weights.csv", "parquet": "weights.parquet", "npy": "weights.npy"}
OURS = (MANIFEST, MODEL, CHECKPOINT, COMPONENTS, HISTORY, REPORT, *WEIGHTS.values())
SCHEMA = 1
MANY_SECONDS = 1e12
RUNNING, COMPLETE, INTERRUPTED_RUN = "running", "complete", "interrupted"


class RunFolder:
    """A folder that one fit writes into."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest: dict[str, Any] = {}
        self._made = not path.exists()
        self._locked: int | None = None

    def open(self) -> None:
        """Make it if needed, and find out now whether files can be written into it."""
        if self.path.exists() and not self.path.is_dir():
            raise Failure(f"-o {self.path} is a file; give a folder", 2)
        make_folder(self.path)
        self._lock()

    def close(self) -> None:
        """Let other programs write into it."""
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    def _lock(self) -> None:
        """One program at a time; the system ends the lock with the program, however that ends."""
        if fcntl is None:
            return
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise Failure(f"another partwise fit is writing into {self.path}") from error
        except OSError:  # a file system without locks
            os.close(descriptor)
        else:
            self._locked = descriptor

    def found(self) -> list[str]:
        """Files in it that an earlier fit has written."""
        return [name for name in OURS if (self.path / name).exists()]

    def begin(self, manifest: dict[str, Any]) -> None:
        """A new fit: its manifest replaces what was there."""
        # first, so that nothing of an earlier fit can be taken for this one's
        (self.path / CHECKPOINT).unlink(missing_ok=True)
        self.manifest = {"schema": SCHEMA, "status": RUNNING, **manifest, "outputs": {}}
        self._write()
        for name in set(self.found()) - {MANIFEST}:
            (self.path / name).unlink(missing_ok=True)
        self.sweep()

    def go_on(self, manifest: dict[str, Any]) -> None:
        """A fit that was broken off."""
        self.manifest = {**manifest, "status": RUNNING}
        self._write()
        # what the manifest does not name may be of an even earlier run
        for name in set(self.found()) - {MANIFEST, CHECKPOINT, *self.manifest["outputs"]}:
            (self.path / name).unlink(missing_ok=True)
        self.sweep()

    def discard(self) -> None:
        """Leave no trace of a fit that came to nothing."""
        for name in (MANIFEST, CHECKPOINT):
            (self.path / name).unlink(missing_ok=True)
        self.sweep()
        self.abandon()

    def abandon(self) -> None:
        """Remove the folder if it was made for nothing."""
        if self._made and self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()

    def sweep(self) -> None:
        """Remove what writes that were killed have left."""
        for name in OURS:
            for part in self.path.glob(f".{name}.*"):
                part.unlink(missing_ok=True)

    def update(self, **values: Any) -> None:
        """Change the manifest."""
        self.manifest.update(values)
        self._write()

    def write(self, name: str, write: Callable[[Path], object]) -> None:
        """Write an output, then name it in the manifest."""
        path = self.path / name
        try:
            write(path)
        except OSError as error:
            raise Failure(
                f"cannot write {path}: {error.strerror or error}; with --resume it can be finished"
            ) from error
        self.manifest["outputs"][name] = {"sha256": file_hash(path), "bytes": path.stat().st_size}
        self._write()

    def finish(self, status: str) -> None:
        """All is written, the model too, so that nobody needs a checkpoint."""
        self.update(status=status)
        (self.path / CHECKPOINT).unlink(missing_ok=True)

    def is_whole(self, names: Iterable[str]) -> bool:
        """Whether these outputs are all there."""
        return all((self.path / name).exists() for name in OURS if name in names)

    def has(self, name: str) -> bool:
        """Whether an output is there as the manifest says."""
        noted, path = self.manifest.get("outputs", {}).get(name), self.path / name
        return isinstance(noted, dict) and path.is_file() and file_hash(path) == noted.get("sha256")

    def outputs(self) -> dict[str, str]:
        """What was written, by kind."""
        names = [MANIFEST, *self.manifest["outputs"]]
        return {name.partition(".")[0]: str(self.path / name) for name in names}

    def _write(self) -> None:
        text = json.dumps(plain(self.manifest), indent=2, allow_nan=False)
        write_atomically(self.path / MANIFEST, lambda file: file.write(f"{text}\n".encode()))


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a run, by its own path or that of its folder."""
    place = path / MANIFEST if path.is_dir() else path
    try:
        manifest = json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(f"{place}: {error.strerror or error}", 2) from error
    except (ValueError, RecursionError) as error:
        raise Failure(f"{place} is not a manifest ({error})", 2) from error
    if not isinstance(manifest, dict) or not _is_whole(manifest):
        raise Failure(f"{place} is not a manifest of partwise fit", 2)
    if manifest["schema"] > SCHEMA:
        raise Failure(f"{place} has schema {manifest['schema']}, and this version reads up to {SCHEMA}", 2)
    return manifest


def _is_whole(manifest: dict[str, Any]) -> bool:
    kinds = {"schema": int, "status": str, "job": dict, "data": dict, "outputs": dict, "inputs": dict, "fit": dict}
    kinds |= {"warnings": list, "timings": dict, "resumed": list, "versions": dict, "started": str}
    return (
        all(isinstance(manifest.get(key), kind) for key, kind in kinds.items())
        and all(isinstance(text, str) for text in manifest["warnings"])
        and all(isinstance(time, (int, float)) and 0 <= time < MANY_SECONDS for time in manifest["timings"].values())
    )


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
