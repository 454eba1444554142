"""What is finished, one entry a line, so that an interrupted run goes on behind it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


class Journal:
    """Finished entries by their keys. A line that an interruption cut short does not count, and is overwritten.

    Parameters
    ----------
    path : pathlib.Path
        The file, made with the first entry.
    key : callable
        Key of an entry; raises KeyError or TypeError for what is none.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = pathlib.Path(folder) / "cells.jsonl"
    ...     Journal(place, lambda entry: entry["rank"]).add({"rank": 3, "error": 0.5})
    ...     _ = place.write_bytes(place.read_bytes() + b'{"rank": 4, "er')
    ...     Journal(place, lambda entry: entry["rank"]).done
    {3: {'rank': 3, 'error': 0.5}}
    """

    def __init__(self, path: Path, key: Callable[[Mapping[str, Any]], Any]) -> None:
        self.path, self.key = path, key
        self.done: dict[Any, dict[str, Any]] = {}
        self._whole = 0
        for line in path.read_bytes().splitlines(keepends=True) if path.exists() else []:
            if not line.endswith(b"\n") or not self._take(line):
                break

    def add(self, entry: Mapping[str, Any]) -> None:
        """Write an entry; it is on disk when this returns."""
        line = json.dumps(entry, default=float).encode() + b"\n"
        with self.path.open("r+b" if self.path.exists() else "w+b") as file:
            file.truncate(self._whole)
            file.seek(self._whole)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._take(line)

    def _take(self, line: bytes) -> bool:
        try:
            entry = json.loads(line)
            self.done[self.key(entry)] = entry
        except (ValueError, KeyError, TypeError):
            return False
        self._whole += len(line)
        return True
