"""What is known of the data, and how much it counts: holes, and weights of samples, features and entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.sources import blocks
from partwise.sources.beside import SourceRows
from partwise.sources.protocol import Rows, RowSource

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Observed:
    """What is known of the data, and how much it counts.

    A sample of weight two is one that is there twice, and so is a feature: their weights multiply the loss and the
    penalties of their own row of a factor, so that row's problem does not see them.

    Parameters
    ----------
    holes : bool
        Whether entries of the data are unknown: NaN in dense blocks, what is not stored in sparse ones.
    unknown : float
        The share of unknown entries.
    samples : ndarray of shape (n_samples,), optional
        A weight for each sample.
    features : ndarray of shape (n_features,), optional
        A weight for each feature.
    entries : array, sparse matrix or source, optional
        A weight for each entry; what has weight zero, or is not stored, is missing.
    """

    holes: bool = False
    unknown: float = 0.0
    samples: Array | None = None
    features: Array | None = None
    entries: Any = None

    @classmethod
    def of(cls, weights: Any) -> Observed:
        """Weights of samples, if they are a vector, or of entries."""
        if weights is None or isinstance(weights, Observed):
            return weights or COMPLETE
        if isinstance(weights, RowSource) or len(np.shape(weights)) == 2 or hasattr(weights, "tocsr"):
            return cls(entries=weights)
        return cls(samples=np.asarray(weights))

    @property
    def plain(self) -> bool:
        """Whether every entry is known and counts the same."""
        return not self.holes and self.samples is None and self.features is None and self.entries is None

    def known(self, shape: tuple[int, int]) -> int:
        """How many entries are known."""
        return round((1.0 - self.unknown) * shape[0] * shape[1])

    def counted(self, n_samples: int) -> int:
        """How many samples there are: weights that are whole numbers count them, others those that are not zero."""
        s = self.samples
        if s is None:
            return n_samples
        return int(s.sum() if (s == np.round(s)).all() else np.count_nonzero(s))

    def lengths(self, shape: tuple[int, int]) -> tuple[float, float]:
        """How many samples and features there are, with their weights."""
        n, m = float(shape[0]), float(shape[1])
        return (
            n if self.samples is None else float(self.samples.sum(dtype=np.float64)),
            m if self.features is None else float(self.features.sum(dtype=np.float64)),
        )

    def beside(self, source: RowSource) -> tuple[Rows, ...]:
        """What lies beside the rows: weights of samples, then of entries."""
        given = () if self.samples is None else (_rows(source, self.samples),)
        return given if self.entries is None else (*given, _rows(source, self.entries))

    def split(self, beside: tuple[Any, ...]) -> tuple[Any, Any]:
        """Weights of samples and of entries in a block function, or None."""
        samples = beside[0] if self.samples is not None else None
        return samples, beside[-1] if self.entries is not None else None


COMPLETE = Observed()


def _rows(source: RowSource, weights: Any) -> Rows:
    """Weights in the type of the data, as rows that a pass can take beside its own."""
    if isinstance(weights, RowSource):
        rows: Any = SourceRows(weights, source.dtype)
    else:
        rows = blocks.concrete(weights, source.dtype)
        entries = blocks.values(rows)
        if not (entries.min(initial=0.0) >= 0.0 and np.isfinite(entries).all()):
            raise InputError("{parameter} must be finite and not negative", parameter="weights")
    if tuple(rows.shape) not in (source.shape, source.shape[:1]):
        message = f"{{parameter}} have shape {tuple(rows.shape)}, X has shape {source.shape}"
        raise InputError(message, parameter="weights", kind="shape")
    return source.place(rows) if isinstance(rows, np.ndarray) else rows
