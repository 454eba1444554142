"""Where randomness stands, as arrays and numbers: part of the state that a fit is continued from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.loop import as_bytes, of_bytes
from partwise.sources import RowSource
from partwise.sources.memory import RowsSource
from partwise.sources.protocol import Block


def packed(rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """The state of a generator of any kind, as the bytes of its JSON.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> before = packed(rng)
    >>> first = rng.random()
    >>> unpack(before, rng)
    >>> rng.random() == first
    True
    """
    return as_bytes(rng.bit_generator.state)


def unpack(state: npt.NDArray[np.uint8], rng: np.random.Generator) -> None:
    """Put a generator where another one of its kind stood."""
    rng.bit_generator.state = of_bytes(state)


def paired_batches(
    source: RowSource, size: int, rng: np.random.Generator | None, beside: npt.NDArray[Any] | None
) -> Iterator[tuple[Block, npt.NDArray[Any] | None]]:
    """Batches, each with the numbers of its samples: these are cut, and shuffled by the same draws, as the rows are."""
    if beside is None:
        return ((batch, None) for batch in source.batches(size, rng))
    numbers = RowsSource(beside[:, None], source.bounds).batches(size, deepcopy(rng))
    return ((batch, column[:, 0]) for batch, column in zip(source.batches(size, rng), numbers, strict=True))


class Shuffled:
    """Batches of one shuffled pass after the other without end, and where they stand.

    Parameters
    ----------
    source : RowSource
        The data.
    size : int
        Samples of a batch.
    rng : numpy.random.Generator
        Shuffles.
    state : mapping, optional
        Where an earlier one stood: the next batch is the one behind. The batches before it in its pass are drawn again.
    beside : ndarray of shape (n_samples,), optional
        A number for each sample, given with its batch.
    """

    def __init__(
        self,
        source: RowSource,
        size: int,
        rng: np.random.Generator,
        state: Mapping[str, Any] | None = None,
        *,
        beside: npt.NDArray[Any] | None = None,
    ) -> None:
        self.source, self.size, self.rng, self.beside = source, size, rng, beside
        if state is not None:
            unpack(state["pass"], rng)
        self.begun, self.taken = packed(rng), 0 if state is None else int(state["taken"])

    def __iter__(self) -> Iterator[tuple[Block, npt.NDArray[Any] | None]]:
        while True:
            for batch in islice(paired_batches(self.source, self.size, self.rng, self.beside), self.taken, None):
                self.taken += 1
                yield batch
            self.begun, self.taken = packed(self.rng), 0

    def state(self) -> dict[str, Any]:
        """The generator as it was before this pass, and the batches taken from it."""
        return {"pass": self.begun, "taken": self.taken}
