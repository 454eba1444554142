"""Files within files: zip archives of one file, bzip2, xz, and what comes through a pipe; unpacked into a folder."""

from __future__ import annotations

import bz2
import lzma
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from partwise.door.guard import fail, open_file, reading, size_text

BZIP2, XZ, ZIP = b"BZh", b"\xfd7zXZ\x00", b"PK\x03\x04"
STEP = 1 << 20
LEFT = 2  # at most one part in so many of the room that the disk has left


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The file within this one, or the file itself if it is none that holds another."""
    kind = packed_as(path)
    if kind is None:
        yield path
        return
    with spooled(path, kind) as inside:
        yield inside


@contextmanager
def spooled(path: Path, kind: str, stream: IO[bytes] | None = None) -> Iterator[Path]:
    """What a file holds or a stream gives, as a file that goes afterwards."""
    folder = tempfile.TemporaryDirectory(prefix="partwise-", ignore_cleanup_errors=True)
    try:
        inside = Path(folder.name) / (Path(path.name).stem if kind in ("bzip2", "xz") else path.name)
        with reading(path, f"{kind} file"):
            if kind == "zip":
                with zipfile.ZipFile(path) as archive:
                    member = _only_member(path, archive)
                    inside = Path(folder.name) / Path(member.filename).name
                    with archive.open(member) as source:
                        _copy(path, source, inside)
            elif stream is not None:
                _copy(path, stream, inside)
            else:
                with (bz2.open if kind == "bzip2" else lzma.open)(path, "rb") as source:
                    _copy(path, source, inside)
        yield inside
    finally:
        folder.cleanup()


def packed_as(path: Path) -> str | None:
    """What a file is packed by, if it holds another one."""
    if path.is_dir():
        return None
    with open_file(path) as file:
        first = file.read(8)
    if first.startswith(BZIP2) and first[3:4].isdigit():
        return "bzip2"
    if first.startswith(XZ):
        return "xz"
    return "zip" if first.startswith(ZIP) and not _is_format(path) else None


def _is_format(path: Path) -> bool:
    """Whether an archive is a format of its own: arrays of NumPy, a workbook."""
    with reading(path, "zip file"), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    return all(name.endswith(".npy") for name in names) or "[Content_Types].xml" in names


def _only_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    if len(members) != 1:
        listed = ", ".join(one.filename for one in members[:5])
        raise fail(path, f"is an archive of {len(members)} files ({listed}); unpack it and give one", kind="format")
    return members[0]


def _copy(path: Path, source: IO[Any], target: Path) -> None:
    room = shutil.disk_usage(target.parent).free // LEFT
    done = 0
    with target.open("wb") as file:
        while chunk := source.read(STEP):
            done += len(chunk)
            if done > room:
                raise fail(path, f"holds more than {size_text(room)}, for which the disk has no room", kind="memory")
            file.write(chunk)
