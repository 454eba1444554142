"""Ctrl-C that lets what has begun come to its end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class AtOnce(BaseException):
    """A second Ctrl-C: a fit keeps what it has at a KeyboardInterrupt, and ends at this one as if it were killed."""


class Interrupt:
    """Ctrl-C as an exception, but not while something is held: the first one then waits, and only a second does not.

    Parameters
    ----------
    told : callable, optional
        Called when a Ctrl-C begins to wait. It must not print: it runs between any two steps of the program.

    Attributes
    ----------
    pending : bool
        Whether one waits.
    """

    def __init__(self, told: Callable[[], object] | None = None) -> None:
        self.pending = False
        self.told = told
        self._held = False
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():  # others get no signals
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it back; a KeyboardInterrupt comes at the end if one waits and nobody has taken it."""
        self._held, self.pending = True, False
        try:
            yield
        finally:
            self._held = False
        if self.take():
            raise KeyboardInterrupt

    def take(self) -> bool:
        """Whether one waits; whoever asks sees to it."""
        pending, self.pending = self.pending, False
        return pending

    def _handle(self, *_: object) -> None:
        if not self._held:
            raise KeyboardInterrupt
        if self.pending:
            raise AtOnce
        self.pending = True
        if self.told is not None:
            self.told()
