"""Weighing: parts are sought where the noise of all entries has one size, and given back in the data's own units.

With row scales r and column scales c the parts of ``X_ij / (r_i c_j)`` are those of X, divided by c, and the weights of
its rows those of X, divided by r.  The r cancel in the least-squares weights of a row, so only c is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.oddness import odd_entries, odd_samples
from partwise.exceptions import InputError
from partwise.linalg.svd import truncated_svd
from partwise.noise import Noise, measure_noise
from partwise.noise.model import COUNTS
from partwise.sources import GeneratedSource, RowSource, blocks, inspect
from partwise.sources.protocol import Block, copied

Array = npt.NDArray[Any]

HOW = ("auto", "noise")
SIZES = ("rows", "columns", "rows and columns")
# Beside noise of variance one, what lies outside the parts may have another one of structure (parts that vary from
# sample to sample): with more of it noise does not decide, and dividing by it makes faint features loud.
STRUCTURE = 1.0


@dataclass(frozen=True, eq=False)
class Weighing:
    """How a model weighs; of a fitted one it is ``weighing_``.

    Attributes
    ----------
    kind : str
        Kind of the noise that was measured (see :class:`partwise.Noise`); empty if none was.
    column_scale : ndarray of shape (n_features,) or None
        What each feature is divided by; None if data is taken as it is.
    phi : float
        Extra dispersion of counts.
    """

    kind: str = ""
    column_scale: Array | None = None
    phi: float = 0.0

    def __post_init__(self) -> None:
        scale = self.column_scale
        if not isinstance(self.kind, str) or not isinstance(self.phi, float):
            raise InputError("a weighing has a kind and a number")
        if scale is not None and not (
            isinstance(scale, np.ndarray) and scale.ndim == 1 and np.isfinite(scale).all() and (scale > 0.0).all()
        ):
            raise InputError("the scales of a weighing must be positive numbers")

    def weighed(self, H: Array) -> Array:
        """Components, in the data's units, where they were found."""
        return H if self.column_scale is None else np.asarray(H / self.column_scale, H.dtype)

    def unweighed(self, H: Array) -> Array:
        """Components where they were found, in the data's units."""
        return H if self.column_scale is None else np.asarray(H * self.column_scale, H.dtype)

    def decoding(self, decode: Callable[[Block], Array]) -> Callable[[Block], Array]:
        """A block function of weighed rows, for rows in the data's units."""
        if self.column_scale is None:
            return decode
        return partial(_decode_block, decode=decode, factors=1.0 / self.column_scale)


def check_weighing(how: Any) -> Any:
    """Refuse what is no weighing."""
    if how is None or isinstance(how, Noise) or (isinstance(how, str) and how in HOW):
        return how
    raise InputError(
        f"{{parameter}} must be None, 'auto', 'noise' or what measure_noise returns, got {str(how)[:60]!r}",
        parameter="how",
        kind="unknown",
    )


def ready(
    source: RowSource, how: Any, k: int, *, aside: bool, times: npt.NDArray[np.int64] | None = None
) -> tuple[Weighing, RowSource, npt.NDArray[np.bool_]]:
    """The rows among which parts are sought: without odd ones, if these are to be set aside, and weighed.

    Parameters
    ----------
    how : {"auto", "noise", None} or Noise
        See ``set_weighing`` of the estimators.
    aside : bool
        Whether samples that are unlike all others are set aside.
    times : ndarray of int64, optional
        How often each sample is there.

    Returns
    -------
    weighing : Weighing
        What is kept of it.
    rows : RowSource
        The rows, or `source` itself.
    kept : ndarray of bool
        Which samples these are.
    """
    kept = np.ones(source.shape[0], bool)
    if not aside or isinstance(source, GeneratedSource):
        return *weigh(source, how, k, kept), kept
    if times is not None:
        alike = ready(source.choose(times), how, k, aside=True)[2]
        kept[copied(times)[~alike]] = False
        return *weigh(source, how, k, kept), kept
    odd = odd_entries(source, k)
    if len(odd) < len(kept):  # else there is nothing in any
        kept[odd] = False
    weighing, rows = weigh(source, how, k, kept)
    # what the parts leave of odd samples is large, and dividing by it would hide them
    seen = weigh(source, "auto", k, kept)[1] if how == "noise" else rows
    odd = odd_samples(seen, k)
    if len(odd):
        kept[np.flatnonzero(kept)[odd]] = False
        weighing, rows = weigh(source, how, k, kept)  # the noise of the others
    return weighing, rows, kept


def weigh(source: RowSource, how: Any, k: int, kept: npt.NDArray[np.bool_]) -> tuple[Weighing, RowSource]:
    """Rows and columns divided by the size of their noise, if so asked.

    Parameters
    ----------
    how : {"auto", "noise", None} or Noise
        See ``set_weighing`` of the estimators.
    kept : ndarray of bool
        The rows that are looked at.

    Returns
    -------
    weighing : Weighing
        What is kept of it.
    weighed : RowSource
        The weighed rows, or those of `source` itself.
    """
    if isinstance(how, Noise):
        how = _of_rows(how, source.shape, kept)
    source = _chosen(source, kept)
    if how is None:
        return Weighing(), source
    if isinstance(source, GeneratedSource):
        if how == "auto":
            return Weighing(), source
        raise InputError("a GeneratedSource makes samples as they are wanted: let its draw weigh them")
    outside = min(k, min(source.shape) - 1) if how == "noise" else None  # whatever it is that the parts leave
    noise = measure_noise(source, outside) if isinstance(how, str) else how
    weighed = noise.scale(source)
    if how == "auto" and not _pays(noise, weighed, k):
        return Weighing(noise.kind), source
    return Weighing(noise.kind, np.asarray(noise.column_scale, np.float64), float(noise.phi)), weighed


def paying(noise: Noise, source: RowSource, k: int) -> Noise | None:
    """The noise, if dividing by it pays as "auto" has it; else None, the data as it is."""
    if noise.kind not in (*COUNTS, *SIZES):
        return None
    return noise if _pays(noise, noise.scale(source), k) else None


def _chosen(source: RowSource, kept: npt.NDArray[np.bool_]) -> RowSource:
    return source if kept.all() else source.choose(kept)


def _of_rows(noise: Noise, shape: tuple[int, int], kept: npt.NDArray[np.bool_]) -> Noise:
    sizes = (len(noise.row_scale), len(noise.column_scale))
    if sizes != shape:
        raise InputError(
            f"the weighing was measured on data of shape {sizes}, and this has shape {shape}",
            parameter="weighing",
            kind="shape",
        )
    return replace(noise, row_scale=noise.row_scale[kept])


def _pays(noise: Noise, weighed: RowSource, k: int) -> bool:
    """Whether the noise is of a kind that weighing makes one, and most of what lies outside the parts."""
    if noise.kind in COUNTS:
        return True
    if noise.kind not in SIZES:
        return False
    values, _ = truncated_svd(weighed, k, rng=np.random.default_rng(0))
    outside = inspect(weighed).squared_norm - float(values @ values)
    return outside <= (1.0 + STRUCTURE) * weighed.shape[0] * weighed.shape[1]


def _decode_block(block: Block, decode: Callable[[Block], Array], factors: Array) -> Array:
    return decode(blocks.scale_columns(block, factors))
