"""What is known of a run: by which versions, on which machine, in which sessions it was made, and how long it took."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from partwise.exceptions import InputError, Place
from partwise.io.atomic import write_atomically
from partwise.io.versions import library_versions

MANIFEST = "manifest.json"
THREAD_SETTINGS = ("PARTWISE_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MANY_SECONDS = 1e12  # more than any run takes


class Manifest:
    """The entries of ``manifest.json``, which is replaced whenever they change.

    Parameters
    ----------
    folder : pathlib.Path
        Where it lies.
    entries : mapping
        What is particular to this kind of run, as JSON has it.
    before : mapping
        The manifest of the run that is gone on with: its sessions stay.
    libraries : tuple of str
        Further libraries whose versions matter.
    """

    def __init__(
        self, folder: Path, entries: Mapping[str, Any], before: Mapping[str, Any], libraries: tuple[str, ...] = ()
    ) -> None:
        self.path = folder / MANIFEST
        self.entries: dict[str, Any] = {
            **entries,
            "versions": library_versions(*libraries),
            "machine": machine(),
            "threads": threads(),
            "sessions": [*before.get("sessions", [])],
        }
        self._begin = time.perf_counter()
        self.entries["sessions"].append({"begun": _now(), "seconds": 0.0, "partwise": self["versions"]["partwise"]})
        self.update()

    def __getitem__(self, name: str) -> Any:
        return self.entries[name]

    def update(self, **values: Any) -> None:
        """Change entries, and write them all."""
        self.entries.update(values)
        self["sessions"][-1]["seconds"] = round(time.perf_counter() - self._begin, 3)
        self.entries["seconds"] = round(sum(session["seconds"] for session in self["sessions"]), 3)
        text = json.dumps(self.entries, indent=2, allow_nan=False)
        write_atomically(self.path, lambda file: file.write(f"{text}\n".encode()))


class Timings(dict[str, float]):
    """Seconds by what they went into; JSON as it is.

    Examples
    --------
    >>> timings = Timings({"fit": 1.5})
    >>> with timings.of("fit"):
    ...     pass
    >>> timings["fit"] >= 1.5
    True
    """

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        """Add what this takes."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self[what] = round(self.get(what, 0.0) + time.perf_counter() - begin, 3)


def read_manifest(path: Path, kinds: Mapping[str, Any], *, of: str) -> dict[str, Any]:
    """The entries of a manifest, by its own path or that of its folder.

    Parameters
    ----------
    kinds : mapping of str to type
        What it must have.
    of : str
        Whose manifest it must be, for the message.

    Raises
    ------
    InputError
        If there is none, or another.
    """
    place = path / MANIFEST if path.is_dir() else path
    where = Place(file=str(place))
    try:
        entries = json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{place}: {error.strerror or error}", kind="missing-file", place=where) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not a manifest ({error})", kind="damaged", place=where) from error
    if not isinstance(entries, dict):
        raise InputError(f"{place} is not a manifest of {of}", kind="format", place=where)
    for name, kind in kinds.items():
        if not isinstance(entries.get(name), kind):
            raise InputError(f"{place} is not a manifest of {of}: {name} is missing or of another type")
    sessions, timings = entries.get("sessions", []), entries.get("timings", {})
    seconds = [*timings.values(), *(one.get("seconds") if isinstance(one, dict) else None for one in sessions)]
    if not all(isinstance(value, (int, float)) and 0 <= value < MANY_SECONDS for value in seconds):
        raise InputError(f"{place} is not a manifest of {of}: its times are none")
    return entries


def machine() -> dict[str, Any]:
    """Where it runs."""
    processor = platform.processor() or platform.machine()
    if sys.platform == "linux":
        lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
        processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), processor)
    return {
        "system": platform.platform(),
        "processor": processor,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def threads() -> dict[str, Any]:
    """How many threads passes and libraries take, and what the environment asks for."""
    from threadpoolctl import threadpool_info

    from partwise.sources.passes import n_threads

    pools = {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()}
    asked = {name: os.environ[name] for name in THREAD_SETTINGS if name in os.environ}
    return {"partwise": n_threads(), "libraries": pools, "environment": asked}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
