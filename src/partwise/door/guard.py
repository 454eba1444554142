"""What a file may ask for, and how a reader refuses it: one kind of error, and sizes checked before memory is taken."""

from __future__ import annotations

import codecs
import gzip
import math
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, cast

from partwise.exceptions import InputError, MissingDependencyError, Place, ReaderError

LARGEST_RATIO = 1032  # deflate cannot shrink more than this
MOST_EMPTY = 10_000_000  # rows or columns that a small file may declare: most of them are then empty
BLAS_ROOM = 64 << 20  # OpenBLAS maps 32 MB for each thread that first uses it, and numpy and the block want theirs
GZIP = b"\x1f\x8b"
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
TELLING = 512  # bytes that are UTF-16 by chance in one file of binary numbers of thousands
_SEEN: ContextVar[Callable[[Path, int], None] | None] = ContextVar("seen", default=None)


def fail(
    path: Path | str, text: str, line: int | None = None, *, kind: str = "damaged", parameter: str | None = None
) -> ReaderError:
    """The error, for the caller to raise: file, line where there is one, what is wrong and which argument mends it."""
    place = Place(line=line, file=str(path))
    return ReaderError(f"{{place}}: {text}", parameter=parameter, kind=kind, place=place)


def of_file(path: Path, error: InputError) -> ReaderError:
    """The error of a function that was given a file's content, or a folder; with the file, if it does not have it."""
    if error.place.file is None:
        return fail(path, error.worded("{parameter}", str(error.place)), kind=error.kind, parameter=error.parameter)
    return ReaderError(
        error.worded("{parameter}", "{place}"), parameter=error.parameter, kind=error.kind, place=error.place
    )


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a library trips over into a :class:`ReaderError`."""
    try:
        yield
    except (ReaderError, MissingDependencyError):
        raise
    except Exception as error:  # parsers of garbage raise anything
        text = str(error).strip().splitlines()
        reason = text[0][:200] if text else type(error).__name__
        raise fail(path, f"not a readable {what} ({reason})") from error


def open_file(path: Path) -> BinaryIO:
    """A file that can be opened again: what comes out of a pipe is gone after the first look at it."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a folder fails below, as always
        raise fail(path, "is a pipe or a device, which can be read only once; write it to a file first", kind="format")
    return path.open("rb")


@contextmanager
def watching(seen: Callable[[Path, int], None]) -> Iterator[None]:
    """Have it told, while this lasts, how many bytes of which file have been read."""
    token = _SEEN.set(seen)
    try:
        yield
    finally:
        _SEEN.reset(token)


def read_up_to(path: Path, place: int) -> None:
    """Tell whoever is watching that so many bytes of a file have been read."""
    seen = _SEEN.get()
    if seen is not None:
        seen(path, place)


class _Watched:
    """A file that tells how far it has been read."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path

    def read(self, size: int = -1) -> bytes:
        """As of any file."""
        data = self._file.read(size)
        read_up_to(self._path, self._file.tell())
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Narrowed:
    """A text in UTF-16, as UTF-8 with the mark of that."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._decoder = file, codecs.getincrementaldecoder("utf-16")()
        self._ready = codecs.BOM_UTF8

    def read(self, size: int = -1) -> bytes:
        """As of any file."""
        while size < 0 or len(self._ready) < size:
            data = self._file.read(size)
            self._ready += self._decoder.decode(data, final=not data).encode()
            if not data:
                break
        end = len(self._ready) if size < 0 else size
        given, self._ready = self._ready[:end], self._ready[end:]
        return given


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The content, decompressed if it is gzip (by its first bytes, whatever its name), and UTF-16 as UTF-8."""
    with open_file(path) as opened:
        file = opened if _SEEN.get() is None else cast(BinaryIO, _Watched(opened, path))
        unpacked: Any = gzip.GzipFile(fileobj=file) if is_gzip(path) else nullcontext(file)
        with unpacked as content:
            wide = _is_wide(content.read(TELLING))
            content.seek(0)
            yield cast(BinaryIO, _Narrowed(content) if wide else content)


def _is_wide(first: bytes) -> bool:
    """Whether a content that begins so is text in UTF-16, by its mark and by what is behind it."""
    if not first.startswith(UTF16):
        return False
    try:
        text = codecs.getincrementaldecoder("utf-16")().decode(first)
    except UnicodeDecodeError:
        return False
    return all(letter.isprintable() or letter.isspace() for letter in text)


def decoded(path: Path, data: bytes, encoding: str, line: int = 1) -> str:
    """The text of bytes of a file that begin in this line; a mark of UTF-8 in front of them says what they are."""
    if data.startswith(codecs.BOM_UTF8):
        data, encoding = data.removeprefix(codecs.BOM_UTF8), "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        text = f"byte {data[error.start]:#04x} is not {encoding}; give its {{parameter}} (cp1252 is that of Windows)"
        line += data.count(b"\n", 0, error.start)
        raise fail(path, text, line, kind="format", parameter="encoding") from error
    except LookupError as error:
        raise fail(path, f"there is no {{parameter}} {encoding!r}", kind="unknown", parameter="encoding") from error


def first_bytes(path: Path, count: int) -> bytes:
    """The first bytes of the content, decompressed."""
    with reading(path, "file"), open_bytes(path) as file:
        return file.read(count)


def is_gzip(path: Path) -> bool:
    """Whether the file begins as gzip does."""
    with open_file(path) as file:
        return file.read(2) == GZIP


def content_bytes(path: Path) -> int:
    """Size of the content; of a compressed one, what it could be at most."""
    return path.stat().st_size * (LARGEST_RATIO if is_gzip(path) else 1)


def check_shape(path: Path, shape: tuple[int, ...], content: int, line: int | None = None) -> None:
    """Refuse numbers of rows and columns that so little content cannot mean."""
    if min(shape, default=0) < 0 or max(shape, default=0) > max(MOST_EMPTY, content):
        raise fail(path, f"declares {' x '.join(map(str, shape))}, which its {size_text(content)} cannot hold", line)


def check_memory(path: Path, need: float) -> None:
    """Refuse what does not fit into the memory of this machine, or below the limit of this process."""
    there, left = physical_memory(), room_left()
    if need > min(there, left):
        has = (
            f"this machine has {size_text(there)}" if there <= left else f"this process may take {size_text(left)} more"
        )
        raise fail(path, f"needs {size_text(need)} of memory, and {has}", kind="memory")


def check_room(need: float = 0.0) -> None:
    """Refuse to begin work that needs so many bytes at least, where they are not there.

    Something is always needed: libraries of algebra end the process where it has no room for them.
    """
    left, there = room_left(), physical_memory()
    if left < need + BLAS_ROOM:
        raise InputError(
            f"there is not enough memory: {size_text(left)} are left of the limit of this process, and this takes "
            f"{size_text(need + BLAS_ROOM)} at least; raise the limit (ulimit -v), or free memory",
            kind="memory",
        )
    if need > there:
        raise InputError(
            f"there is not enough memory: this takes {size_text(need)} at least, and this machine has "
            f"{size_text(there)}; give a path or a memory map, of which rows stay on disk, or ask for fewer components",
            kind="memory",
        )


def room_left() -> float:
    """Bytes of address space below the limit of this process; infinite where there is none, or nobody tells."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit < 0 or limit == resource.RLIM_INFINITY:
            return math.inf
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return max(0.0, float(limit) - pages * resource.getpagesize())
    except (ImportError, OSError, ValueError):
        return math.inf


def physical_memory() -> float:
    """Bytes of memory of this machine; infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def size_text(size: float) -> str:
    """Bytes for people.

    Examples
    --------
    >>> size_text(999), size_text(2_340_000)
    ('999 bytes', '2.34 MB')
    """
    if size < 1000:
        return f"{size:.0f} bytes"
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1000
        if size < 1000 or unit == "TB":
            break
    return f"{size:.3g} {unit}"
