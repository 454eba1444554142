"""Files that fail: every call that touches a file below one folder is counted, and the n-th of them goes wrong.

The layer lies between the program and ``open``, ``os.open``, ``os.replace`` and their kin, in this process: a case
costs what the command costs. A kill is an exception that nothing catches, after which no call reaches the disk any
more, whatever ``finally`` clauses try: what lies in buffers is lost, as when the process had ended there.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

FAULTS = ("full", "broken", "again", "short", "signal", "kill")
CODES = {"broken": errno.EIO, "again": errno.EINTR}
NEEDS_ROOM = {"create", "write", "mkdir", "truncate"}


class Killed(BaseException):
    """The process ends here."""


class FaultyFiles:
    """The calls below a folder, one of which fails.

    Parameters
    ----------
    folder : path
        Calls elsewhere are let through, and do not count.
    fault : str
        "full": no room from this call on. "broken": the call fails with EIO; "again": with EINTR. "short": a write
        takes half of its bytes, and there is no room after them. "signal": Ctrl-C arrives with the call. "kill": the
        process ends before it.
    at : int, optional
        The number of the call, from 1; by default none fails.
    """

    def __init__(self, folder: Path, fault: str = "broken", at: int | None = None) -> None:
        self.folder, self.fault, self.at = os.path.realpath(folder), fault, at
        self.calls: list[tuple[str, str]] = []  # what was done to which file
        self.full = self.dead = False
        self._names: dict[int, str] = {}  # of descriptors

    def name(self, file: Any) -> str | None:
        """The file below the folder that a path or descriptor means; None for any other."""
        if isinstance(file, int):
            return self._names.get(file)
        try:
            path = os.path.abspath(os.fsdecode(file))
        except TypeError:
            return None
        inside = os.path.realpath(os.path.dirname(path)) + os.sep
        return path if inside.startswith(self.folder + os.sep) else None

    def call(self, what: str, name: str) -> bool:
        """Count a call, and let it fail if it is its turn; returns whether it may be done by half only."""
        if self.dead:
            raise Killed
        self.calls.append((what, name))
        if len(self.calls) == self.at:
            if self.fault == "kill":
                self.dead = True
                raise Killed
            if self.fault == "signal":
                signal.raise_signal(signal.SIGINT)
            if self.fault in CODES:
                raise OSError(CODES[self.fault], os.strerror(CODES[self.fault]), name)
            self.full = self.full or self.fault in ("full", "short")
            if self.fault == "short" and what == "write":
                return True
        if self.full and what in NEEDS_ROOM:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        return False

    @contextmanager
    def installed(self) -> Iterator[FaultyFiles]:
        """The layer, for as long as this lasts."""
        real = {name: getattr(os, name) for name in ("open", "fsync", "close", *_BY_NAME)}
        real_open = io.open

        def opened(file: Any, mode: str = "r", *args: Any, **how: Any) -> Any:
            name = self.name(file)
            if name is None:
                return real_open(file, mode, *args, **how)
            if not isinstance(file, int):
                self.call("create" if set(mode) & set("wax") else "open", name)
            return _stacked(_Raw(self, name, file, mode, **_raw_options(how)), mode, *args, **how)

        def os_open(path: Any, flags: int, *args: Any, **how: Any) -> int:
            name = self.name(path)
            if name is not None:
                self.call("create" if flags & os.O_CREAT else "open", name)
            descriptor: int = real["open"](path, flags, *args, **how)
            if name is not None:
                self._names[descriptor] = name
            return descriptor

        def close(descriptor: int) -> None:
            self._names.pop(descriptor, None)
            real["close"](descriptor)

        def fsync(file: Any) -> None:
            descriptor = file if isinstance(file, int) else file.fileno()
            if self.name(descriptor) is not None:
                self.call("fsync", self._names[descriptor])
            real["fsync"](descriptor)

        changed: dict[str, Callable[..., Any]] = {"open": os_open, "close": close, "fsync": fsync}
        changed |= {name: self._counted(what, real[name]) for name, what in _BY_NAME.items()}
        patched = mock.patch.multiple(os, **changed), mock.patch.object(io, "open", opened)
        with patched[0], patched[1], mock.patch.object(builtins, "open", opened):
            yield self

    def _counted(self, what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(path: Any, *args: Any, **how: Any) -> Any:
            name = self.name(path)
            if name is not None and how.get("dir_fd") is None:
                self.call(what, name)
            return function(path, *args, **how)

        return counted


_BY_NAME = {
    "replace": "replace",
    "rename": "replace",
    "unlink": "unlink",
    "remove": "unlink",
    "mkdir": "mkdir",
    "rmdir": "rmdir",
    "truncate": "truncate",
}


class _Raw(io.FileIO):
    """A file whose reads and writes are counted, below any buffer."""

    def __init__(self, layer: FaultyFiles, name: str, file: Any, mode: str, **how: Any) -> None:
        super().__init__(file, mode.replace("b", "").replace("t", ""), **how)
        self._layer, self._name = layer, name
        layer._names[self.fileno()] = name

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        half = self._layer.call("write", self._name)
        return super().write(view[: len(view) // 2] if half else view) or 0

    def readinto(self, buffer: Any) -> int | None:
        self._layer.call("read", self._name)
        return super().readinto(buffer)

    def readall(self) -> bytes:
        self._layer.call("read", self._name)
        return super().readall()

    def truncate(self, size: int | None = None) -> int:
        self._layer.call("cut", self._name)  # what becomes shorter needs no room
        return super().truncate(size)

    def close(self) -> None:
        if not self.closed:
            self._layer._names.pop(self.fileno(), None)
        super().close()


def _raw_options(how: dict[str, Any]) -> dict[str, Any]:
    return {name: how[name] for name in ("closefd", "opener") if name in how}


def _stacked(
    raw: _Raw,
    mode: str,
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    **_: Any,
) -> Any:
    """Buffers and text above a raw file, as ``open`` stacks them."""
    if buffering == 0:
        return raw
    size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
    kind: Any = io.BufferedRandom if "+" in mode else io.BufferedWriter if set(mode) & set("wax") else io.BufferedReader
    buffered = kind(raw, size)
    return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)


def unsynced(calls: list[tuple[str, str]]) -> list[str]:
    """Files that took the name of another before their bytes were on disk: after a power cut they may be empty."""
    last: dict[str, str] = {}
    found = []
    for what, name in calls:
        if what == "replace" and last.get(name) not in (None, "fsync"):
            found.append(name)
        if what in ("write", "fsync", "create"):
            last[name] = what
    return found
