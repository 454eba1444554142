"""The thresholds of AND's stages: falling, listed, following the decoding error, or by Theorem 4's rule.

Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong Correlations",
ICML 2017, Sections 6.1 and 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from partwise.algorithms.schedule import Adaptive, look
from partwise.metrics.conditions.correlation import correlation_conditions
from partwise.metrics.conditions.decay import decay_order
from partwise.metrics.conditions.descent import BINARY_THRESHOLD, decoding_threshold
from partwise.metrics.conditions.start import RecoveryMeasures
from partwise.sources import RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

BITS = 12  # of the weights from which the order of decay is read: with so many it is lower by little
FIRST, DECAY = 0.1, 1.1  # of the paper's experiments: thresholds 0.1 / 1.1^j
# adaptive thresholds: gradient steps shrink an error slowly, so thresholds wait for them, well above the decoding error
FASTEST, SHARE = 2.0, 8.0


def adaptive(decay: float = DECAY) -> Adaptive:
    """Thresholds that follow the decoding error, and fall by ``decay`` at least."""
    return Adaptive(slowest=decay, fastest=FASTEST, share=SHARE)


@dataclass(frozen=True)
class Falling:
    """Thresholds ``first / decay^j`` for stages j = 0, 1, ...; those of the paper by default.

    Attributes
    ----------
    first : float
        The threshold of the first stage.
    decay : float
        Factor by which thresholds fall; 1 keeps them as they are.
    """

    first: float = FIRST
    decay: float = DECAY

    def at(self, stage: int) -> float | None:
        """The threshold of a stage."""
        try:
            return self.first / float(self.decay) ** stage
        except OverflowError:
            return 0.0

    @property
    def fall(self) -> bool:
        """Whether they do, and may so come down to the noise."""
        return self.decay > 1.0


@dataclass(frozen=True)
class Listed:
    """Given thresholds, one for every stage.

    Attributes
    ----------
    levels : tuple of float
        The thresholds.
    """

    levels: tuple[float, ...]
    fall: ClassVar[bool] = True

    def at(self, stage: int) -> float | None:
        """The threshold of a stage; None if they have ended."""
        return self.levels[stage] if stage < len(self.levels) else None


Thresholds = Falling | Listed


@dataclass(frozen=True)
class ByTheorem:
    """The rule after Theorem 4: ``alpha = (lambda |E0|_2 / r)^(2 / (q + 1))``, E0 the error when a stage begins.

    Attributes
    ----------
    r, lam, q : float
        Of the weights: largest l1 norm, condition 4 of Definition 1, order of decay.
    truth : RecoveryMeasures, optional
        Says what E0 is. Without it E0 is what regression of all decoded weights on those above the last threshold
        leaves beside the diagonal: with weights x these are ``(Sigma + E) x`` and nearly ``Sigma x``.
    """

    r: float
    lam: float
    q: float
    truth: RecoveryMeasures | None = None

    def next(self, last: Array | float | None, rows: RowSource, P: Array, H: Array) -> float:
        """The threshold of the stage that begins with the components ``H``, decoded by ``P``."""
        if self.truth is not None:
            error = self.truth(H)["E_2"]
        else:
            alpha = BINARY_THRESHOLD if last is None else last
            G, B = rows.reduce(partial(_regression_block, P=np.ascontiguousarray(P, rows.dtype), alpha=alpha))
            found = np.linalg.pinv(G.astype(np.float64), hermitian=True) @ B
            np.fill_diagonal(found, 0.0)
            error = float(np.linalg.norm(found, 2))
        return decoding_threshold(error, r=self.r, lam=self.lam, q=self.q)


def start_quantities(source: RowSource, H0: Array) -> dict[str, float]:
    """r, lambda and q of Theorem 4's rule, from the weights that a start decodes above a quarter of their largest."""
    P = np.linalg.pinv(H0)
    return weight_quantities(source, P, BINARY_THRESHOLD * look(source, np.ones(source.shape[0]), P).unit)


def weight_quantities(source: RowSource, P: Array, least: Array | float) -> dict[str, float]:
    """r, lambda and q of decoded weights that are at least so large, each component relative to its largest."""
    decode = partial(_decode_block, P=np.ascontiguousarray(P, source.dtype), least=least)
    W = source.derive(decode, n_features=P.shape[1])
    found = correlation_conditions(W, scale="components")
    return {"r": found.r, "lam": found.lam, "q": decay_order(W, bits=BITS).q_upper}


def _decode_block(block: Block, *, P: Array, least: Array | float) -> Array:
    """Decoded weights; those below the least are none."""
    V = blocks.dot(block, P)
    return np.where(least > V, 0.0, V)


def _regression_block(block: Block, *, P: Array, alpha: Array | float) -> tuple[Array, Array]:
    """Gram matrix of the weights above the threshold, and their products with all weights."""
    V = blocks.dot(block, P)
    W = np.where(alpha > V, 0.0, V)
    return W.T @ W, W.T @ V
