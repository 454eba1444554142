"""What is done to data before a fit, and again to every data that is given to the model afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from partwise.datasets.loaders.text import document_frequencies, inverse_frequencies, tfidf_block
from partwise.exceptions import InputError
from partwise.sources import GeneratedSource, RowSource, blocks, inspect
from partwise.sources.protocol import Block

KINDS = {
    "none": "the data as it is",
    "tfidf": "counts as (1 + log count) (1 + log((1 + n) / (1 + document frequency))), rows of unit length",
    "log1p": "log(1 + x)",
    "unit": "rows divided by their length (2-norm)",
}
OF_COUNTS = ("tfidf", "log1p")  # logarithms: negative entries have none


@dataclass(frozen=True, eq=False)
class Preparation:
    """A preparation and what was learnt for it; of a fitted model it is ``preparation_``.

    Parameters
    ----------
    kind : {"none", "tfidf", "log1p", "unit"}
        What is done.
    weights : ndarray of shape (n_features,), optional
        The factor of each feature, for "tfidf".

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> source = pw.open_source(np.array([[0.0, 4.0], [0.0, 2.0]]))
    >>> prepared = pw.io.prepare(source, "unit").apply(source)
    >>> prepared.take([0, 1]).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """

    kind: str = "none"
    weights: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"a preparation is one of {', '.join(KINDS)}, got {str(self.kind)[:60]!r}")
        if (self.kind == "tfidf") != (self.weights is not None):
            raise InputError(f"the preparation {self.kind!r} has the wrong weights")
        if self.weights is not None and not (
            isinstance(self.weights, np.ndarray) and self.weights.ndim == 1 and np.isfinite(self.weights).all()
        ):
            raise InputError("the weights of a preparation must be a vector of finite numbers")

    def apply(self, source: RowSource, *, check: bool = True) -> RowSource:
        """The prepared rows: kept where rows are in memory, made anew in every pass where they are on disk.

        Parameters
        ----------
        source : RowSource
            Rows with the features that the preparation was made for.
        check : bool, default=True
            Whether to look first if the data has logarithms; not needed for data that was prepared before.

        Returns
        -------
        RowSource
            With the same partition and names.
        """
        if self.kind == "none":
            return source
        if self.weights is not None and len(self.weights) != source.shape[1]:
            raise InputError(
                f"the data has {source.shape[1]} features, and tfidf was learnt for {len(self.weights)} of them"
            )
        if isinstance(source, GeneratedSource):
            raise InputError("a GeneratedSource makes samples as they are wanted: let its draw prepare them")
        if check:
            _check(source, self.kind)
        return source.derive(self._block_function())

    def _block_function(self) -> Callable[[Block], Block]:
        if self.weights is not None:
            return partial(_tfidf_rows, factors=self.weights)
        return _log1p_rows if self.kind == "log1p" else _unit_rows


def prepare(source: RowSource, kind: str) -> Preparation:
    """Learn what a preparation needs to know about the data, in one pass; `Preparation.apply` looks if it is possible.

    Parameters
    ----------
    source : RowSource
        The data of the fit.
    kind : {"none", "tfidf", "log1p", "unit"}
        What is to be done.

    Returns
    -------
    Preparation
        For this data and for later ones.
    """
    if kind != "tfidf":
        return Preparation(kind)
    return Preparation(kind, inverse_frequencies(source.shape[0], source.reduce(document_frequencies)))


def _check(source: RowSource, kind: str) -> None:
    # here and not afterwards: one NaN makes a whole row of them
    inspect(source).check(allow_negative=kind not in OF_COUNTS, squares=False)
    if kind == "tfidf":
        smallest = source.reduce(_smallest, combine=min)
        if smallest < 1.0:
            raise InputError(
                f"{{parameter}}: tfidf is for counts, and the data has entries between 0 and 1, such as "
                f"{smallest:.3g}; take log1p or unit",
                parameter="preparation",
            )


def _smallest(block: Block) -> float:
    values = blocks.values(block)
    return float(values.min(initial=np.inf, where=values > 0.0))


def _tfidf_rows(block: Block, factors: npt.NDArray[np.float64]) -> Block:
    return _unit_rows(tfidf_block(block, factors))


def _log1p_rows(block: Block) -> Block:
    return blocks.with_values(block, np.log1p(blocks.values(block)))


def _unit_rows(block: Block) -> Block:
    lengths = blocks.norms(block)
    return blocks.scale_rows(block, np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0))
