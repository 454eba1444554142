"""Where the program prints, and how it fails."""

from __future__ import annotations

from rich.console import Console


class Failure(Exception):
    """What a user can understand and mend: a message, and the exit code (2: wrong usage, 1: the rest)."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.message, self.code = message, code


def output() -> Console:
    """Results; made when asked for, because tests and pipes change where standard output goes."""
    return Console(highlight=False)


def errors() -> Console:
    """Everything that is not a result."""
    return Console(stderr=True, highlight=False)
