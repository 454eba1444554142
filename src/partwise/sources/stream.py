"""Samples as lines of text, whitespace between the numbers: from a pipe, a file, or a file that grows.

Lines are read when they are asked for and not before: memory is constant, and a writer that is faster than the learner
waits (its pipe is full).
"""

from __future__ import annotations

import io
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError, Place, warn_user
from partwise.sources.chunked import MemmapSource

Array = npt.NDArray[Any]

CHUNK_BYTES = 1 << 20
WAIT_SECONDS = 0.1  # between two looks at a file that grows


class TextStream:
    """Blocks of samples from lines of text, as they arrive; an iterator, so that ``partial_fit`` takes it.

    Parameters
    ----------
    file : path or binary file object
        Where the lines come from, such as ``sys.stdin.buffer``. A gzip or other stream needs only ``read``.
    n_features : int, optional
        Numbers in a line; by default as many as in the first.
    dtype : dtype, default=float64
        Type of the samples.
    follow : bool, default=False
        At the end of the file wait for more, for ever. A file that is cut, or another one that takes its name, is read
        from its first line, with a warning; one that ends within a line then is an error.
    finite : bool, default=True
        Refuse NaN and infinity, by line; else they are handed on.

    Examples
    --------
    >>> import io
    >>> from partwise.sources.stream import TextStream
    >>> for block in TextStream(io.BytesIO(b"1 0 2.5\\n\\n0 3e-1 0\\n")):
    ...     print(block.tolist())
    [[1.0, 0.0, 2.5], [0.0, 0.3, 0.0]]
    """

    def __init__(
        self,
        file: str | Path | BinaryIO,
        *,
        n_features: int | None = None,
        dtype: npt.DTypeLike = np.float64,
        follow: bool = False,
        finite: bool = True,
    ) -> None:
        self.n_features, self.dtype = n_features, np.dtype(dtype)
        self.follow, self.finite = follow, finite
        self.line = 0  # lines read so far
        if isinstance(file, (str, Path)):
            self.name = str(file)
            try:
                self._file: BinaryIO = Path(file).open("rb")  # noqa: SIM115 - closed with the stream
            except OSError as error:
                raise InputError(
                    f"cannot read {{place}}: {error.strerror or error}",
                    kind="missing-file",
                    place=Place(file=self.name),
                ) from error
        else:
            self.name, self._file = str(getattr(file, "name", "the stream")), file
        named = follow and isinstance(file, (str, Path)) and Path(file).is_file()
        self._watch = _Watch(Path(self.name)) if named else None
        self._blocks = self._parsed()

    def __iter__(self) -> Iterator[Array]:
        return self

    def __next__(self) -> Array:
        return next(self._blocks)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _begin_anew(self) -> None:
        told = f"{self.name} was cut or replaced; it is read from its first line again"
        warn_user(told, RuntimeWarning)
        self._file.close()
        self._file = Path(self.name).open("rb")  # noqa: SIM115
        self._watch = _Watch(Path(self.name))
        self.line = 0

    def _parsed(self) -> Iterator[Array]:
        for text in self._chunks():
            block = self._parse(text)
            if len(block):
                yield block

    def _chunks(self) -> Iterator[bytes]:
        """Whole lines, as many as there are at the moment; what follows the last line break waits for its end."""
        # what a pipe holds is enough: waiting for a full buffer would delay samples that are there
        rest: list[bytes] = []
        while True:
            if self._watch is not None and self._watch.renewed(self._file):
                if rest:
                    raise InputError(
                        "{place}: was cut or replaced within a line",
                        kind="changed",
                        place=Place(file=self.name, line=self.line + 1),
                    )
                self._begin_anew()
            got = getattr(self._file, "read1", self._file.read)(CHUNK_BYTES)
            if self._watch is not None:
                self._watch.saw(got)
            if not got:
                if self.follow:
                    time.sleep(WAIT_SECONDS)
                    continue
                if rest:
                    yield b"".join(rest)
                return
            head, line_break, tail = got.rpartition(b"\n")
            if line_break:
                yield b"".join([*rest, head])
                rest = []
            if tail:
                rest.append(tail)

    def _parse(self, text: bytes) -> Array:
        lines = text.split(b"\n")
        filled = [line for line in lines if line.strip()]
        try:
            block = np.loadtxt(io.BytesIO(b"\n".join(filled)), self.dtype, comments=None, ndmin=2) if filled else None
        except ValueError:
            block = None
        if block is not None:
            width = self.n_features or block.shape[1]
            if block.shape[1] == width and not (self.finite and not np.isfinite(block).all()):
                self.n_features, self.line = width, self.line + len(lines)
                return block
        self._blame(lines)
        self.line += len(lines)
        return np.empty((0, self.n_features or 0), self.dtype)

    def _blame(self, lines: list[bytes]) -> None:
        """Name the first line that is not a sample."""
        for number, line in enumerate(lines, start=self.line + 1):
            words = line.split()
            if not words:
                continue
            where = Place(file=self.name, line=number)
            for word in words:
                value = _number(word)
                if value is None:
                    raise InputError(
                        f"{{place}}: {word.decode(errors='replace')[:40]!r} is not a number",
                        kind="not-real",
                        place=where,
                    )
                if self.finite and not np.isfinite(np.asarray(value, self.dtype)):
                    raise InputError(
                        f"{{place}}: {word.decode()} is not finite; leave the sample out",
                        kind="not-finite",
                        place=where,
                    )
            self.n_features = self.n_features or len(words)
            if len(words) != self.n_features:
                raise InputError(
                    f"{{place}}: {len(words)} numbers, but {self.n_features} in the lines before",
                    kind="shape",
                    place=where,
                )


class _Watch:
    """Whether a file that is followed is still the one that was begun: by inode and size, and by what was read last."""

    KEPT = 1 << 12

    def __init__(self, path: Path) -> None:
        self.path, self._position, self._last = path, 0, b""
        self._time = 0

    def saw(self, got: bytes) -> None:
        """Remember what was read."""
        self._position += len(got)
        self._last = (self._last + got)[-self.KEPT :]

    def renewed(self, file: BinaryIO) -> bool:
        """Whether it was cut and written anew, or has another file in its place that is there to be read."""
        mine = os.fstat(file.fileno())
        try:
            now = self.path.stat()
        except OSError:  # between a rename and the new file
            return False
        if not os.path.samestat(mine, now):
            return mine.st_size <= self._position  # the rest of the old one comes first
        if now.st_size < self._position:
            return True
        if now.st_mtime_ns == self._time or not self._last:
            return False
        self._time = now.st_mtime_ns
        with self.path.open("rb") as again:
            again.seek(self._position - len(self._last))
            return again.read(len(self._last)) != self._last


def open_text(path: str | Path, *, dtype: npt.DTypeLike = np.float64, finite: bool = True) -> MemmapSource:
    """A text file as a source for many passes: its numbers are written once into a temporary file, which goes with it.

    Parameters
    ----------
    path : path
        One sample a line, whitespace between the numbers; empty lines do not count.
    dtype : dtype, default=float64
        Type of the samples.
    finite : bool, default=True
        Refuse NaN and infinity, by line.

    Returns
    -------
    MemmapSource
        Rows in the order of the file.
    """
    with tempfile.TemporaryFile(prefix="partwise-") as kept:  # a map of it lives on when the file is closed
        stream = TextStream(path, dtype=dtype, finite=finite)
        try:
            for block in stream:
                kept.write(block.tobytes())
            kept.flush()
        except OSError as error:
            need = f"{path}: no room for its numbers in {tempfile.gettempdir()} ({error}); set TMPDIR"
            raise OSError(need) from error
        finally:
            stream.close()
        if not kept.tell():
            raise InputError("{place}: there is no sample in it", kind="empty", place=Place(file=str(path)))
        m = int(stream.n_features or 0)
        shape = (kept.tell() // (m * stream.dtype.itemsize), m)
        return MemmapSource(np.memmap(kept, stream.dtype, "r", shape=shape))


def _number(word: bytes) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
