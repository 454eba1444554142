"""Losses that look at every entry: counts with over-dispersion, and residuals of which large ones count less.

Each is bounded, at the product ``y0`` at hand, by a loss that the multiplicative updates know: its gradient is
``high - low`` with ``low`` and ``high`` that are never negative, so no update raises it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from partwise.algorithms.engine.divergence import Array, Divergence
from partwise.linalg.reweighed import Loss, huber_squares
from partwise.sources.observed import Observed


@dataclass(frozen=True)
class NegativeBinomial(Divergence):
    """Half the deviance of counts of mean y and variance ``y + dispersion y^2``.

    ``x log(x / y) - (x + a) log((x + a) / (y + a))`` with ``a = 1 / dispersion``, which is
    ``x log(1 + a / y) + a log(y + a)`` but for a constant: concave in ``1 / y`` and in ``y``, so tangents in these
    bound it, and updates are those of the Itakura-Saito divergence.  Tangents that leave a Poisson likelihood
    (Gouvert, Oberlin & Févotte 2020, "Negative binomial matrix factorization") are as many times too steep as counts
    are larger than ``a``: nothing moves there.
    """

    beta: float = 0.0  # of the bound
    dispersion: float = 1.0
    every: ClassVar[bool] = True

    def each(self, x: Array, y: Array) -> Array:
        """See :class:`Divergence`."""
        a = 1.0 / self.dispersion
        # in terms of the size of a: those of the size of counts cancel
        over, less = np.divide(x - y, y, out=np.zeros_like(y), where=x > 0.0), (x - y) / (y + a)
        log = np.where(less > -0.5, np.log1p(np.maximum(less, -0.5)), np.log((x + a) / (y + a)))
        return np.asarray(x * np.log1p(a / (x + a) * over) - a * log)

    def parts(self, x: Array, y: Array) -> tuple[Array, Array]:
        """See :class:`Divergence`."""
        high = 1.0 / (1.0 + self.dispersion * y)
        return high * (x / y), high


@dataclass(frozen=True)
class Huber(Divergence):
    """Half the square of a residual up to ``delta``, and a line beyond: ``delta |r| - delta^2 / 2``.

    Bounded by a square of weight ``min(1, delta / |r0|)`` (Huber 1981, section 7.8).
    """

    beta: float = 2.0
    delta: float = 1.0
    every: ClassVar[bool] = True

    def each(self, x: Array, y: Array) -> Array:
        """See :class:`Divergence`."""
        r = np.abs(x - y)
        return np.asarray(np.where(r <= self.delta, 0.5 * r**2, self.delta * (r - 0.5 * self.delta)))

    def parts(self, x: Array, y: Array) -> tuple[Array, Array]:
        """See :class:`Divergence`."""
        c = huber_squares(x, y, self.delta)
        return c * x, c * y


def loss_of(named: Loss, observed: Observed) -> Divergence:
    """The loss of a name and a number."""
    name, number = named
    if name == "huber":
        return Huber(observed=observed, delta=number)
    return NegativeBinomial(observed=observed, dispersion=number)
