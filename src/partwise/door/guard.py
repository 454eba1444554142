"""What a file may ask for, and how a reader refuses it: one kind of error, and sizes checked before memory is taken."""

from __future__ import annotations

import gzip
import math
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, cast

from partwise.exceptions import InputError, MissingDependencyError, Place, ReaderError

LARGEST_RATIO = 1032  # deflate cannot shrink more than this
MOST_EMPTY = 10_000_000  # rows or columns that a small file may declare: most of them are then empty
BLAS_ROOM = 64 << 20  # OpenBLAS maps 32 MB for each thread that first uses it, and numpy and the block want theirs
GZIP = b"\x1f\x8b"
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


class _Watched:
    """A file that tells how far it has been read."""

    def __init__(self, file: BinaryIO, path: Path, seen: Callable[[Path, int], None]) -> None:
        self._file, self._path, self._seen = file, path, seen

    def read(self, size: int = -1) -> bytes:
        """As of any file."""
        data = self._file.read(size)
        self._seen(self._path, self._file.tell())
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The content, decompressed if it is gzip (by its first bytes, whatever its name)."""
    with open_file(path) as opened:
        seen = _SEEN.get()
        file = opened if seen is None else cast(BinaryIO, _Watched(opened, path, seen))
        if not is_gzip(path):
            yield file
            return
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield cast(BinaryIO, unpacked)


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
