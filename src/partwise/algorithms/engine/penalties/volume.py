"""Volume: ``volume/2 log det(H H' + delta)``, which pulls the parts together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from partwise.algorithms.engine.needs import ADDITIVE, WHOLE, Needs
from partwise.algorithms.engine.penalties.base import Array, Penalty


@dataclass(frozen=True)
class Volume(Penalty):
    """A small simplex of the parts (Leplat, Ang & Gillis 2019); ``log det`` is concave, so its tangent bounds it.

    It is for parts whose weights have a size, and cannot grow instead.  Where weights are uniform in their simplex the
    density of the samples is one over its volume, so ``volume`` is the variance of the noise in an entry, once a
    sample.  What ``delta`` adds keeps the determinant of dependent parts above zero; from an estimator it is that
    variance too, below which parts are not told from noise: ``log det(H H' + v)`` is, but for a constant, the
    ``log det`` of the covariance of samples ``w H`` with noise of variance v.
    """

    needs: ClassVar[Needs] = frozenset({WHOLE, ADDITIVE})
    volume: float = 0.0
    delta: float = 0.0

    @classmethod
    def of(cls, size: float, **parameters: float) -> Self:
        """See :class:`Penalty`: ``delta`` is said of one sample."""
        return cls(parameters["volume"] * size, parameters["volume"])

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """See :class:`Penalty`."""
        return ("volume",)

    def value(self, F: Array, rows: Array | None = None) -> float:
        """See :class:`Penalty`."""
        return float(0.5 * self.volume * np.linalg.slogdet(self._gram(F))[1])

    def curvature(self, F: Array) -> Array:
        """See :class:`Penalty`."""
        return np.asarray(self.volume * np.linalg.inv(self._gram(F)))

    def _gram(self, F: Array) -> Array:
        F = F.astype(np.float64, copy=False)
        G = F.T @ F
        rounding = 4.0 * np.finfo(np.float64).eps * np.trace(G)  # less would leave dependent parts no inverse
        return np.asarray(G + max(self.delta, float(rounding)) * np.eye(len(G)))
