"""What is asked of both factors together, and what a penalty of one factor alone means.

A penalty of ``W`` alone has no minimiser: ``H`` can take all of the size, and the penalty vanishes.  The papers
therefore give the other factor a size (Hoyer 2002, "Non-negative sparse coding"; Eggert & Körner 2004, "Sparse coding
and NMF").  Here the penalty of a component is that of its weights times the root mean square ``t`` of its entries,

    ``sum_j l1 |W_j|_1 t_j + l2/2 |W_j|^2 t_j^2``,

which is the penalty of ``W`` among all pairs with ``t = 1`` and does not change when a component is scaled up and its
weights down.  In ``H`` it is a norm and its square: the norm is bounded by the quadratic function that has its value
and its gradient at the components at hand, so both factors still see a quadratic problem with one Gram matrix, and no
round raises the objective.  For ``H`` alone the same holds with the factors exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine.factor import Factor
from partwise.algorithms.engine.penalties import ElasticNet
from partwise.algorithms.engine.penalties.base import Penalty

Array = npt.NDArray[Any]

NEVER = 1e100  # curvature of a component that has vanished with its weights: it stays so


@dataclass(frozen=True, eq=False)
class ComponentNet(Penalty):
    """An elastic net with numbers for each component."""

    l1: Array
    l2: Array

    def value(self, F: Array, rows: Array | None = None) -> float:
        """See :class:`Penalty`."""
        sums, squares = column_totals(F, rows)
        return float(self.l1 @ sums + 0.5 * self.l2 @ squares)

    def slope(self, F: Array) -> Array | None:
        """See :class:`Penalty`."""
        return np.broadcast_to(self.l1.astype(F.dtype), F.shape) if self.l1.any() else None

    def curvature(self, F: Array) -> Array | None:
        """See :class:`Penalty`."""
        most = 1e-8 * float(np.finfo(F.dtype).max)  # `NEVER` is more than single precision has
        return np.diag(np.minimum(self.l2, most)).astype(F.dtype) if self.l2.any() else None


@dataclass(frozen=True)
class Pair:
    """Penalties and constraints of both factors.

    Parameters
    ----------
    on_W, on_H : Factor
        What is asked of each.
    n_W, n_H : float
        How many samples and features there are, with their weights.
    v : ndarray of shape (n_features,), optional
        Weights of the features.
    """

    on_W: Factor
    on_H: Factor
    n_W: float
    n_H: float
    v: Array | None = None

    @property
    def alone(self) -> str:
        """The factor that is penalised while the other one may be of any size; empty if there is none."""
        for name, on, other in (("W", self.on_W, self.on_H), ("H", self.on_H, self.on_W)):
            if any(on.elastic.values()) and not (other.asked or other.constraint.bounded):
                return name
        return ""

    def started(self, H: Array) -> Array:
        """Components of the size for which the penalty of weights alone is that of any pair; a feature a row."""
        if self.alone != "W":
            return H
        size = np.sqrt(column_totals(H, self.v)[1] / self.n_H)
        return np.asarray(H / np.where(size > 0.0, size, 1.0), H.dtype)

    def totals(self, W: Array, rows: Array | None = None) -> Any:
        """What of the weights of a block decides their penalties: their value, or sums and squares by components."""
        return self.on_W.value(W, rows) if not self.alone else np.concatenate(column_totals(W, rows))

    def value(self, H: Array, totals: Any) -> float:
        """All penalties."""
        if not self.alone:
            return float(totals + self.on_H.value(H, self.v))
        ours, others, size = self._sides(H, totals)
        t = np.sqrt(others[1] / size)
        net = (self.on_W if self.alone == "W" else self.on_H).elastic
        rest = 0.0 if self.alone == "W" else self._others.value(H, self.v)
        return float(net["l1"] * ours[0] @ t + 0.5 * net["l2"] * ours[1] @ t**2) + rest

    def weights(self, H: Array, totals: Any) -> Factor:
        """What is asked of the weights, at these components and totals of the weights at hand."""
        return self.on_W if not self.alone else self._side("W", H, totals)

    def components(self, H: Array, totals: Any) -> Factor:
        """What is asked of the components, at these and with the totals of the weights."""
        return self.on_H if not self.alone else self._side("H", H, totals)

    @property
    def _others(self) -> Factor:
        kept = tuple(one for one in self.on_H.penalties if not isinstance(one, ElasticNet))
        return replace(self.on_H, penalties=kept)

    def _sides(self, H: Array, totals: Array) -> tuple[Any, Any, float]:
        """Sums and squares of the penalised factor and of the other one, and the length of the other one."""
        W_sides, H_sides = np.split(np.asarray(totals), 2), column_totals(H, self.v)
        return (W_sides, H_sides, self.n_H) if self.alone == "W" else (H_sides, W_sides, self.n_W)

    def _side(self, factor: str, H: Array, totals: Array) -> Factor:
        net = (self.on_W if self.alone == "W" else self.on_H).elastic
        (sums, squares), (_, other), size = self._sides(H, totals)
        if factor == self.alone:
            t = np.sqrt(other / size)
            asked = ComponentNet(net["l1"] * t, net["l2"] * t**2)
        else:  # |h| <= |h|^2 / (2 |h0|) + |h0| / 2
            lengths = np.sqrt(other * size)
            bend = np.divide(net["l1"] * sums, lengths, out=np.full_like(sums, NEVER), where=lengths > 0.0)
            asked = ComponentNet(np.zeros_like(sums), bend + net["l2"] * squares / size)
        on = self.on_W if factor == "W" else self._others
        kept = () if factor == "W" and self.alone == "W" else on.penalties
        return replace(on, penalties=(*kept, asked))


def column_totals(F: Array, rows: Array | None = None) -> tuple[Array, Array]:
    """Sums and squares of every column, in double precision, with weights of the rows."""
    if rows is None:
        return F.sum(axis=0, dtype=np.float64), np.einsum("ij,ij->j", F, F, dtype=np.float64)
    w = np.asarray(rows, np.float64)
    return w @ F, np.einsum("i,ij,ij->j", w, F, F, dtype=np.float64)
