"""The samples of ``partwise nmf``: of a file, again and again, or of a stream as they arrive."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.console import Failure

if TYPE_CHECKING:
    from partwise.sources import RowSource

PLAIN = ("", ".txt", ".dat", ".data", ".text")
STREAM = "-"


class Samples:
    """The samples from any position on, in chunks small enough for Ctrl-C."""

    def __init__(self, data: str, *, follow: bool, single: bool, skip_missing: bool) -> None:
        import numpy as np

        from partwise.sources.stream import TextStream

        self.data, self.skip_missing = data, skip_missing
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.endless = data == STREAM or follow
        if self.endless:
            if data == STREAM and sys.stdin is None:
                raise Failure("- : standard input is closed")
            file: Any = sys.stdin.buffer if data == STREAM else data
            self._stream = TextStream(file, dtype=self.dtype, follow=follow, finite=not skip_missing)
            self._first = list(islice(self._stream, 1))
            if not self._first:
                raise Failure(f"{self._stream.name}: there is no sample in it")
            self.n_features = int(self._first[0].shape[1])
        else:
            self._source = self._open()
            self.n_samples, self.n_features = self._source.shape

    def blocks(self, position: int, goal: int | None) -> Iterator[Any]:
        """Chunks of the samples ``position`` to ``goal``; standard input goes on with what comes."""
        skip = 0 if self.data == STREAM else position
        done = position
        for block in self._arriving() if self.endless else self._repeated(skip):
            rows = block
            if self.endless and skip:
                rows, skip = block[skip:], max(0, skip - block.shape[0])
            if goal is not None:
                rows = rows[: goal - done]
            if rows.shape[0]:
                yield rows
            done += rows.shape[0]
            if goal is not None and done >= goal:
                return

    def _open(self) -> RowSource:
        from partwise.io.opening import open_source
        from partwise.sources.stream import open_text

        path = Path(self.data)
        # the document's own format, one sample a line, has no name of its own; every other file is known by its name
        if path.is_file() and path.suffix.lower() in PLAIN:
            return open_text(path, dtype=self.dtype, finite=not self.skip_missing)
        return open_source(path)

    def _arriving(self) -> Iterator[Any]:
        from partwise.algorithms.conservative import CHUNK

        number = 0
        for block in chain(self._first, self._stream):
            self._check(block, number)
            number += len(block)
            for start in range(0, len(block), CHUNK):
                yield block[start : start + CHUNK]

    def _repeated(self, position: int) -> Iterator[Any]:
        from partwise.algorithms.conservative import CHUNK

        skip = position % self.n_samples
        checked = position >= self.n_samples
        while True:
            number = 0
            for block in self._source.batches(CHUNK):
                if not checked:
                    self._check(block, number)
                number += block.shape[0]
                if number > skip:
                    yield block[max(0, block.shape[0] - (number - skip)) :]
            skip, checked = 0, True

    def _check(self, block: Any, number: int) -> None:
        """Refuse what no non-negative mixture has, by the number of its sample."""
        from partwise.sources import blocks

        bad, negative, *_ = blocks.scan(block)
        for place, what in ((-1 if self.skip_missing else bad, "not finite"), (negative, "negative")):
            if place >= 0:
                row, column = divmod(place, self.n_features)
                raise Failure(f"{self.data}: sample {number + row + 1} is {what} in column {column + 1}")
