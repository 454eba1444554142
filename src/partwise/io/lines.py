"""Text in chunks of whole lines, with their numbers: a file of any length in constant memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from partwise.door.guard import fail

CHUNK_BYTES = 1 << 22
LONGEST_LINE = 1 << 28
BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True)
class Chunk:
    """Some lines without their ends, and the number of the first."""

    lines: list[str]
    first: int


def chunks(path: Path, file: BinaryIO, encoding: str = "utf-8") -> Iterator[Chunk]:
    """The lines of a file; ends of lines are those of any system."""
    number = 1
    for data in _whole_lines(path, file):
        if number == 1:
            _check_beginning(path, data)
            data = data.removeprefix(b"\xef\xbb\xbf")
        try:
            lines = data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        except UnicodeDecodeError as error:
            line = number + data.count(b"\n", 0, error.start)
            raise fail(
                path,
                f"byte {data[error.start]:#04x} is not {encoding}; give its {{parameter}}",
                line,
                kind="format",
                parameter="encoding",
            ) from error
        except LookupError as error:
            raise fail(path, f"there is no {{parameter}} {encoding!r}", kind="unknown", parameter="encoding") from error
        zero = next((i for i, line in enumerate(lines) if "\0" in line), None)
        if zero is not None:
            raise fail(path, "there is a zero byte: this is no text", number + zero)
        yield Chunk(lines, number)
        number += len(lines)


def _check_beginning(path: Path, data: bytes) -> None:
    for mark, name in BOMS.items():
        if data.startswith(mark):
            raise fail(path, f"the text is {name}; save it as UTF-8", 1, kind="format")


def _whole_lines(path: Path, file: BinaryIO) -> Iterator[bytes]:
    rest: list[bytes] = []
    held = 0
    while got := file.read(CHUNK_BYTES):
        head, line_break, tail = got.rpartition(b"\n")
        if line_break:
            yield b"".join([*rest, head])
            rest, held = [], 0
        rest.append(tail)
        held += len(tail)
        if held > LONGEST_LINE:
            raise fail(path, f"there is a line of more than {LONGEST_LINE >> 20} MiB: this is no table")
    if held:
        yield b"".join(rest)
