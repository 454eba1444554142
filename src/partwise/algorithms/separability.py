"""How separable data is, seen from the anchors that were found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.points import Index, Points
from partwise.linalg.nnls import Gram, decode_block
from partwise.sources import blocks

Array = npt.NDArray[Any]

# relative to the longest point: a largest squared distance that is known to four digits as a difference of squares, and
# need not be measured on the residuals themselves, which are as many as the entries of dense data
CANCELLED = 1e-6
CANCELLED_EPS = 1e4


@dataclass(frozen=True)
class Separability:
    """What speaks for the anchors: a row for each of them, and figures for them all.

    Attributes
    ----------
    anchors : ndarray of int
        Numbers of the samples or features, in the order of picking.
    residuals : ndarray
        Distance of each from the span of those before it, relative to the longest point: SPA's residual norm.
    margins : ndarray
        Ratio of what the method went by, for the anchor and for the runner-up: near 1 it was a close call.
    reconstruction : ndarray
        Distance of each from the cone of all other anchors, relative to its own length: near 0 it is not needed.
    noise : float
        Largest distance of a point from the cone of the anchors: what they do not explain, in the unit of the data.
    condition : float
        Condition number of the anchors, the ratio of their extreme singular values.
    smallest : float
        Their smallest singular value.
    longest : float
        Length of the longest anchor.
    """

    anchors: Index
    residuals: Array
    margins: Array
    reconstruction: Array
    noise: float
    condition: float
    smallest: float
    longest: float

    @property
    def noise_limit(self) -> float:
        """Noise below which the theorem on SPA speaks, with the anchors found for the true ones."""
        if not len(self.anchors):
            return 0.0
        corners = 0.5 / np.sqrt(max(len(self.anchors) - 1, 1))
        return float(self.smallest * min(corners, 0.25) / self._amplification)

    @property
    def bound(self) -> float:
        """Bound of the distance of an anchor from the true one at the noise seen; see :meth:`bound_at`."""
        return self.bound_at(self.noise)

    def bound_at(self, noise: float) -> float:
        """Bound of the distance of an anchor from the true one, by Theorem 3 of Gillis and Vavasis.

        If points are convex combinations of anchors A with noise of length at most ``noise``, and that is below
        ``s min(1/(2 sqrt(k - 1)), 1/4) / (1 + 80 l^2/s^2)`` with the smallest singular value s and the largest
        length l of A, then SPA picks points within ``noise (1 + 80 l^2/s^2)`` of them. The true A is not known:
        s and l are those of the anchors found.

        Parameters
        ----------
        noise : float
            Largest length of the noise of a point, where it is known; what the anchors leave unexplained may be less.

        Returns
        -------
        float
            The bound; NaN if the noise is too large for the theorem.
        """
        return float(noise * self._amplification) if noise < self.noise_limit else float("nan")

    @property
    def _amplification(self) -> float:
        with np.errstate(divide="ignore"):
            return float(1.0 + 80.0 * np.divide(self.longest, self.smallest) ** 2)

    def to_native(self, backend: Any = "polars") -> Any:
        """A row for each anchor, as a data frame of the given library (``"polars"``, ``"pandas"``, ``"pyarrow"``)."""
        import narwhals

        columns = {
            "anchor": self.anchors,
            "residual": self.residuals,
            "margin": self.margins,
            "reconstruction": self.reconstruction,
        }
        return narwhals.from_dict(columns, backend=backend).to_native()


def separability(points: Points, anchors: Index, margins: Array) -> Separability:
    """Look at the anchors, and at all points from them: two passes (three over columns).

    Parameters
    ----------
    anchors : ndarray of int
        Numbers of the anchors.
    margins : ndarray
        How clear each pick was.
    """
    if not len(anchors):
        nothing = np.empty(0)
        return Separability(anchors, nothing, nothing, nothing, 0.0, np.nan, 0.0, 0.0)
    A = points.take(anchors)
    has = np.asarray(A.any(axis=0))  # of sparse data a tenth, and where no anchor has anything their span has nothing
    has[: len(A)] = True
    Q = np.zeros(A.T.shape)
    Q[has], R = np.linalg.qr(A[:, has].T)
    C = np.ascontiguousarray(R.T)  # the anchors in coordinates along the columns of Q
    values = np.linalg.svd(R, compute_uv=False)
    lengths = blocks.norms(A)
    within, _ = points.along(Q.T, partial(_within, gram=Gram.of(C, np.float64)), combine=max, width=2)
    _, (noise, longest) = points.lengths(np.empty((0, points.shape[1])), _outside, within, combine=_larger)
    if noise <= max(CANCELLED, CANCELLED_EPS * float(np.finfo(points.dtype).eps)) * longest:
        _, (noise, longest) = points.lengths(Q.T, _whole, within, combine=_larger)
    return Separability(
        anchors,
        np.abs(np.diag(R)) / np.sqrt(longest),
        margins,
        np.array([_apart(C, i) for i in range(len(C))]) / lengths,
        float(np.sqrt(noise)),
        float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf,
        float(values[-1]),
        float(lengths.max()),
    )


def _apart(C: Array, i: int) -> float:
    """Distance of an anchor from the cone of the others."""
    if len(C) == 1:
        return float(np.linalg.norm(C[0]))
    others = np.delete(C, i, axis=0)
    return float(np.linalg.norm(C[i] - decode_block(C[i : i + 1], Gram.of(others, np.float64)) @ others))


def _within(along: Array, numbers: Index, *, gram: Gram) -> tuple[Array, float]:
    """Squared misfit inside the span of the anchors, and squared length there."""
    along = along.astype(np.float64)
    misfit = along - decode_block(along, gram) @ (gram.exact * gram.scale).T
    return np.column_stack([blocks.squared_norms(misfit), blocks.squared_norms(along)]), 0.0


def _outside(squares: Array, numbers: Index, within: Array) -> tuple[Array, tuple[float, float]]:
    """As :func:`_whole`, from the squared lengths of the points."""
    misfit = np.maximum(squares - within[:, 1], 0.0) + within[:, 0]
    return squares, (float(misfit.max(initial=0.0)), float(squares.max(initial=0.0)))


def _whole(squares: Array, numbers: Index, within: Array) -> tuple[Array, tuple[float, float]]:
    both = squares[:, None] + within
    return squares, (float(both[:, 0].max(initial=0.0)), float(both[:, 1].max(initial=0.0)))


def _larger(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return max(a[0], b[0]), max(a[1], b[1])
