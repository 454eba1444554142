"""Rows made by a function: a sample to look at, and as many new ones as an algorithm asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.sources.memory import MemorySource


class GeneratedSource(MemorySource):
    """Samples from a generative model: as a source it is one draw, and :meth:`fresh` makes further ones.

    Parameters
    ----------
    draw : callable
        ``draw(n, rng)`` returns ``n`` new samples as an array or sparse matrix of shape (n, n_features).
    n_samples : int
        Number of samples in a draw.
    random_state : int or numpy.random.Generator, optional
        Seed of the first draw, which is kept and is what the verbs read.
    block_rows : int, optional
        Rows in a block; see :class:`MemorySource`.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.sources import GeneratedSource
    >>> source = GeneratedSource(lambda n, rng: rng.random((n, 4)), 10, random_state=0)
    >>> source.shape, source.fresh(np.random.default_rng(1)).shape
    ((10, 4), (10, 4))
    """

    def __init__(
        self,
        draw: Callable[[int, np.random.Generator], Any],
        n_samples: int,
        *,
        random_state: Any = None,
        block_rows: int | None = None,
    ) -> None:
        if n_samples < 1:
            raise InputError(f"n_samples must be at least 1, got {n_samples}", parameter="n_samples")
        super().__init__(draw(n_samples, np.random.default_rng(random_state)), block_rows=block_rows)
        if self.shape[0] != n_samples:
            raise InputError(f"draw was asked for {n_samples} samples and returned {self.shape[0]}")
        self.draw, self.block_rows = draw, block_rows

    def fresh(self, rng: np.random.Generator) -> MemorySource:
        """Another draw of the same size."""
        drawn = MemorySource(self.draw(self.shape[0], rng), block_rows=self.block_rows)
        if drawn.shape != self.shape:
            raise InputError(f"draw first returned shape {self.shape}, now {drawn.shape}")
        return drawn.named(feature_names=self.feature_names)
