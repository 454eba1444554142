"""What a reader returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise.exceptions import InputError
from partwise.io.spool import turned
from partwise.sources import RowSource
from partwise.sources.blocks import is_sparse
from partwise.sources.chunked import MemmapSource
from partwise.sources.opening import source_of

LARGE = 1 << 28  # bytes of numbers held in memory; more of them stay on disk


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """What a file holds; what it does not say is None.

    Parameters
    ----------
    X : ndarray, scipy.sparse.csr_array or source of shape (n_samples, n_features)
        The numbers, one sample a row; a source where they are many and stay on disk.
    feature_names, sample_names : list of str or None
        Names of the columns and of the rows.
    image_shape : tuple of int or None
        Where samples are images, ``x.reshape(image_shape)`` shows one.
    origin : str
        The file or folder.
    format : str
        What it was read as.
    notes : tuple of str
        What the reader decided by itself: that the first line is a header, which delimiter.
    map_shape : tuple of int or None
        Where samples are the pixels of a map, ``weights[:, j].reshape(map_shape)`` shows where part j is.
    back : callable, optional
        Makes an object of the kind that the numbers came in from weights and the names of parts; or from whatever else
        each sample has, its names and what is counted by them ("feature").
    extra : mapping of str to sequence
        What else is known of every sample: its "date".
    left_out : tuple of str
        Names of columns of the file that were not wanted, and not read.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.io import Table
    >>> Table(np.ones((2, 3)), format="npy")
    Table(npy, n_samples=2, n_features=3)
    """

    X: Any
    feature_names: list[str] | None = None
    sample_names: list[str] | None = None
    image_shape: tuple[int, int] | None = None
    origin: str = ""
    format: str = ""
    notes: tuple[str, ...] = ()
    map_shape: tuple[int, ...] | None = None
    back: Callable[..., Any] | None = None
    extra: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n, m = self.X.shape
        return f"Table({self.format}, n_samples={n}, n_features={m})"

    @property
    def on_disk(self) -> bool:
        """Whether the numbers stay on disk and are read in blocks."""
        return isinstance(self.X, RowSource)

    def source(self, *, block_rows: int | None = None) -> RowSource:
        """The rows for any estimator, with their names.

        Parameters
        ----------
        block_rows : int, optional
            Rows in a block, where the numbers are in memory.

        Returns
        -------
        RowSource
            The data.
        """
        source: RowSource = self.X if self.on_disk else source_of(self.X, block_rows=block_rows)
        return source.named(feature_names=self.feature_names, sample_names=self.sample_names)

    def transposed(self) -> Table:
        """Rows as columns and columns as rows.

        Returns
        -------
        Table
            Names change places too.
        """
        X = self.X
        if isinstance(X, MemmapSource):
            X = turned(X)
        elif self.on_disk:
            raise InputError(f"{self.origin}: a folder of parts cannot be transposed; write its parts the other way")
        else:
            X = sp.csr_array(X.T) if is_sparse(X) else np.ascontiguousarray(X.T)
        return replace(
            self,
            X=X,
            feature_names=self.sample_names,
            sample_names=self.feature_names,
            image_shape=None,
            map_shape=None,
            back=None,
            extra={},
        )
