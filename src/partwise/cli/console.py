"""Where the program prints, and how it fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.markup import escape

from partwise.cli.wording import facts, worded

INTERRUPTED = 130  # what Typer makes of Ctrl-C, as shells do
# what would move the cursor or change colours, if a name held it
CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "?")


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


@contextmanager
def told(code: int = 1) -> Iterator[None]:
    """The library's errors as failures, with this exit code where arguments or data are to blame."""
    from partwise.exceptions import InputError, MissingDependencyError

    try:
        yield
    except InputError as error:
        raise Failure(worded(error), code) from error
    except MissingDependencyError as error:
        raise Failure(str(error)) from error
    except OSError as error:
        place = f"{error.filename}: " if error.filename and error.strerror else ""
        raise Failure(f"{place}{error.strerror or error}") from error
    except MemoryError as error:
        raise Failure(f"there is not enough memory: {error}") from error


class Voice:
    """What people are told: on standard output, beside it if that is for a program (``--json``), or not at all."""

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self.as_json, self.quiet = as_json, quiet

    def say(self, text: str = "", *, style: str = "") -> None:
        """A line, as it is: brackets in names are no markup."""
        if not self.quiet:
            self._print(errors() if self.as_json else output(), printable(text), style=style, markup=False)

    def warn(self, sentences: list[str]) -> None:
        """What was odd, on standard error."""
        for sentence in [] if self.quiet else sentences:
            self._print(errors(), f"[bold yellow]Note:[/] {escape(printable(sentence))}")

    def result(self, values: dict[str, Any]) -> None:
        """The one JSON object."""
        if self.as_json:
            with _writing():
                print(json.dumps(values, indent=2, allow_nan=False), flush=True)

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Failures as a JSON object too, for a program that reads one."""
        try:
            with told(2):
                yield
        except Failure as failure:
            self.failed(failure.message, failure.code, **facts(failure.__cause__))
            raise
        except KeyboardInterrupt:
            self.failed("interrupted", INTERRUPTED)
            raise

    def failed(self, message: str, code: int, **about: Any) -> None:
        """The JSON object of a failure."""
        status = "interrupted" if code == INTERRUPTED else "failed"
        self.result({"status": status, "message": message, "exit_code": code, **about})

    @staticmethod
    def _print(console: Console, text: str, **how: Any) -> None:
        # Rich would end the program where nobody reads any more (head, less), which is no reason to end a fit
        with suppress(SystemExit), _writing():
            console.print(text, soft_wrap=True, **how)


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Failure(f"cannot write to standard output: {error.strerror or error}") from error


def as_text(name: str) -> str:
    """Names of files may hold bytes that are no text; question marks stand for them."""
    return name.encode("utf-8", "replace").decode()


def printable(text: str) -> str:
    """Text that leaves a terminal as it is."""
    return as_text(text).translate(CONTROLS)


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays as lists, numbers that are not finite as null."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
