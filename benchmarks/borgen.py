"""The exact region of each of three parts, point by point: the oracle of feasible bands.

Three parts of sum one are a triangle in a plane, around the samples (the inner polygon) and within what is non-negative
(the outer one). A point can be a corner if and only if the triangle made of the two tangents from it to the inner
polygon, drawn as far as the outer one, and of their ends, holds the inner polygon (O. S. Borgen, B. R. Kowalski, "An
extension of the multivariate component-resolution method to three components", Analytica Chimica Acta 174, 1985).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import label
from scipy.spatial import ConvexHull

Array = npt.NDArray[Any]

ROUNDING = 1e-9


class Regions:
    """The regions of the three parts ``H`` (of sum one) of the exact data ``W H``, on a grid."""

    def __init__(self, W: Array, H: Array, points: int = 300) -> None:
        self.H = H
        inner = (W / W.sum(axis=1, keepdims=True))[:, :2]
        self.inner = inner[ConvexHull(inner).vertices]
        outer = self._outer()
        low, high = outer.min(axis=0), outer.max(axis=0)
        self.step = (high - low) / (points - 1)
        self.axes = [np.linspace(a, b, points) for a, b in zip(low, high, strict=True)]
        self.grid = np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1)
        self.labels, _ = label(self.feasible(self.grid.reshape(-1, 2)).reshape(points, points), np.ones((3, 3)))

    def values(self, p: Array) -> Array:
        """The part at a point of the plane."""
        return p[..., :1] * self.H[0] + p[..., 1:] * self.H[1] + (1.0 - p.sum(axis=-1, keepdims=True)) * self.H[2]

    def feasible(self, p: Array) -> npt.NDArray[np.bool_]:
        """Whether each point can be a part."""
        inside = (self.values(p) >= -ROUNDING).all(axis=1)
        rays = self.inner - p[:, None]  # (points, corners, 2)
        middle = self.inner.mean(axis=0) - p
        side = np.arctan2(_cross(middle[:, None], rays), (middle[:, None] * rays).sum(axis=2))
        apart = side.max(axis=1) - side.min(axis=1) < np.pi  # not within the inner polygon
        n = np.arange(len(p))
        ends = [self._end(p, rays[n, side.argmin(axis=1)]), self._end(p, rays[n, side.argmax(axis=1)])]
        beyond = _cross((ends[1] - ends[0])[:, None], self.inner - ends[0][:, None])
        here = _cross(ends[1] - ends[0], p - ends[0])
        size = np.abs(here).max(initial=1.0)
        return inside & apart & (beyond * np.sign(here)[:, None] >= -ROUNDING * size).all(axis=1)

    def extremes(self, start: Array) -> tuple[Array, Array, bool]:
        """Lowest and highest values over the region that holds a part, refined; and whether it is that part's alone."""
        cells = np.rint((start[:, :2] - self.grid[0, 0]) / self.step).astype(int)
        own = [self._label_near(cell) for cell in cells]
        bounds = np.array(
            [[self._extreme(name, f, sign) for f in range(self.H.shape[1])] for name in own for sign in (-1, 1)]
        )
        return bounds[::2], bounds[1::2], len(set(own)) == 3 and 0 not in own

    def _label_near(self, cell: Array) -> int:
        around = self.labels[max(0, cell[0] - 2) : cell[0] + 3, max(0, cell[1] - 2) : cell[1] + 3]
        return int(np.bincount(around[around > 0]).argmax()) if (around > 0).any() else 0

    def _extreme(self, name: int, f: int, sign: int) -> float:
        points = self.grid[self.labels == name]
        if not len(points):
            return np.nan
        step = self.step
        for _ in range(3):  # finer grids around the best points
            best = points[np.argsort(-sign * self.values(points)[:, f])[:10]]
            offsets = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 21)] * 2), axis=-1).reshape(-1, 2) * step
            near = (best[:, None] + offsets).reshape(-1, 2)
            points = np.concatenate([best, near[self.feasible(near)]])
            step = step / 10.0
        return float((sign * self.values(points)[:, f]).max() * sign)

    def _outer(self) -> Array:
        """Corners of the outer polygon: where two features are zero and no other one is negative."""
        A, b = (self.H[:2] - self.H[2]).T, -self.H[2]
        corners = []
        for i in range(len(A)):
            for j in range(i):
                if abs(_cross(A[i], A[j])) > 1e-12:
                    p = np.linalg.solve(A[[i, j]], b[[i, j]])
                    if (A @ p - b >= -1e-9).all():
                        corners.append(p)
        return np.array(corners)

    def _end(self, p: Array, d: Array) -> Array:
        """Where the ray from p in direction d leaves the outer polygon."""
        values, slopes = self.values(p), d @ (self.H[:2] - self.H[2])
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = np.where(slopes < 0.0, -np.maximum(values, 0.0) / slopes, np.inf)
        return p + lengths.min(axis=1)[:, None] * d


def _cross(a: Array, b: Array) -> Array:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
