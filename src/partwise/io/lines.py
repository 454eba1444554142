"""Text in chunks of whole lines, with their numbers: a file of any length in constant memory."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from partwise.door.guard import decoded, fail

CHUNK_BYTES = 1 << 22
LONGEST_LINE = 1 << 28


@dataclass(frozen=True)
class Chunk:
    """Some lines without their ends, and the number of the first."""

    lines: list[str]
    first: int


def chunks(path: Path, file: BinaryIO, encoding: str = "utf-8") -> Iterator[Chunk]:
    """The lines of a file; ends of lines are those of any system."""
    number = 1
    for data in _whole_lines(path, file):
        text = decoded(path, data, encoding, number)
        if number == 1 and data.startswith(BOM_UTF8):
            encoding = "utf-8"
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        zero = next((i for i, line in enumerate(lines) if "\0" in line), None)
        if zero is not None:
            raise fail(path, "there is a zero byte: this is no text", number + zero)
        yield Chunk(lines, number)
        number += len(lines)


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
