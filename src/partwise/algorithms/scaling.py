"""What Purification chooses before it begins: the scale of the components, the factor r, the left inverse."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.decoding import Decoder
from partwise.sources import RowSource
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

CLEARLY = 0.7  # of the error under the other inverse: half of its square, what the start itself errs being in both
ROUNDING = 1e-6  # of the largest weight: an error that would not matter in single precision either
SAMPLED = 10_000  # samples that tell the two apart: their median is known to a percent


def unit_weights(source: RowSource, H0: Array, *, inverse: str = "least-inf") -> tuple[Array, Array]:
    """The components scaled so that their typical large weights are one, and the factors.

    This is the one place where the scale of components is chosen.  The size of the weights v = x P of a component is
    ``sum max(v, 0)**4 / sum max(v, 0)**3``: the value itself for weights that are zero or some value, 4/5 of the
    largest for uniform ones, and hardly moved by many small errors of decoding.
    """
    H = np.array(H0, np.float64)
    decoder = Decoder.of(H, 0.0, inverse)
    largest = source.reduce(partial(_largest_block, decoder=decoder.cast(source.dtype)), combine=np.maximum)
    units = np.where(largest > 0.0, largest, 1.0)
    decoder = Decoder.of(H * units[:, None], 0.0, inverse)
    cubes, fourths = source.reduce(partial(_powers_block, decoder=decoder.cast(source.dtype), powers=(3, 4)))
    factors = units * np.divide(fourths, cubes, out=np.ones_like(cubes), where=cubes > 0.0)
    return H * factors[:, None], factors


def balanced(
    source: RowSource, H0: Array, *, threshold: float = 0.3, inverse: str = "least-inf"
) -> tuple[Array, Array]:
    """The components scaled so that the weights have equal second moments, and the factors (Section 6).

    Solving ``X = [W D^-1] [D H]`` for a diagonal D instead of ``X = W H`` leaves the directions of the components alone
    and makes ``E[w_i**2]`` alike, of which Theorem 6 asks that they differ by a factor of 2 at most.  They are
    measured on weights above the threshold.  The largest factor is 1, so that no weights fall below the threshold.
    """
    H = np.array(H0, np.float64)
    decoder = Decoder.of(H, threshold, inverse, "hard")
    sizes = np.sqrt(source.reduce(partial(_powers_block, decoder=decoder.cast(source.dtype), powers=(2,)))[0])
    factors = np.where(sizes > 0.0, sizes / (sizes.max() or 1.0), 1.0)
    return H * factors[:, None], factors


def suggested_scale(variances: Array, threshold: float) -> float | None:
    """``r = (1 - alpha) / (2 median Var(w_i))``, for which binary weights have their components as a fixed point.

    Weights w* in {0, 1} are decoded as ``(1 - alpha) w*``, so the update is ``2 r (1 - alpha) Var(w*)`` times the
    component.  None if no weight varies.
    """
    typical = float(np.median(variances)) or float(variances.max())
    return (1.0 - threshold) / (2.0 * typical) if typical > 0.0 else None


def chosen_inverse(source: RowSource, H: Array) -> str:
    """``"pinv"`` where it makes clearly less of the noise than the inverse of least infinity norm, which is the other.

    Most weights are zero by assumption, so the median magnitude of decoded ones is a decoding error.  All left inverses
    decode what is in the span of the components alike; what they differ by is noise.  Noise that is independent from
    entry to entry is averaged by the pseudoinverse and not by the other, which has as many entries in a column as there
    are components; an adversary moves weights further under the pseudoinverse.
    """
    n = source.shape[0]
    chosen = np.zeros(n, bool)
    chosen[np.linspace(0, n - 1, min(n, SAMPLED)).astype(np.int64)] = True
    rows = source if chosen.all() else source.choose(chosen)  # in blocks: so many may be more than memory holds
    decoders = [Decoder.of(H, 0.0, name, "identity").cast(source.dtype) for name in ("pinv", "least-inf")]
    sizes = np.abs([np.asarray(rows.map_rows(decoder, width=len(H))) for decoder in decoders])
    sizes = sizes[:, sizes.any(axis=0)]  # samples of zeros have no noise to tell of
    if not sizes.size:
        return "least-inf"
    averaged, least = np.median(sizes, axis=1)
    return "pinv" if averaged < CLEARLY * least and least > ROUNDING * sizes[1].max() else "least-inf"


def _largest_block(block: Block, decoder: Decoder) -> Array:
    return np.asarray(decoder(block).max(axis=0, initial=0.0), np.float64)


def _powers_block(block: Block, decoder: Decoder, powers: tuple[int, ...]) -> tuple[Array, ...]:
    W = decoder(block).astype(np.float64)
    return tuple((W**power).sum(axis=0) for power in powers)
