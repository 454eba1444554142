"""SPA on points made round first: prewhitening, the smallest ellipsoid, and ellipsoidal rounding.

SPA is robust to noise as far as the anchors are well conditioned.  Their own inverse would be the ideal
preconditioner; its stand-ins are found in the span of the k leading singular vectors, where a point is k numbers:

- PW-SPA, Gillis & Ma (2015), "Enhancing pure-pixel identification performance via preconditioning": the singular
  values are set to one;
- preconditioned SPA, Gillis & Vavasis (2015), "Semidefinite programming based preconditioning for more robust
  near-separable nonnegative matrix factorization": the smallest origin-centred ellipsoid around the points is made
  a ball;
- ER-SPA, Mizutani (2014), "Ellipsoidal rounding for nonnegative matrix factorization under noisy separability": SPA
  as it is, among the points that touch this ellipsoid.

All three know the data through one truncated SVD and a pass or two.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.points import Axis, check_axis
from partwise.algorithms.spa import SPAResult, spa
from partwise.linalg.ellipsoid import enclosing_ellipsoid
from partwise.linalg.svd import truncated_svd
from partwise.sources import MemorySource, RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

RANK_EPS = 32.0  # singular values below this many rounding units of the largest, times sqrt(k), are zero
ETA, THETA = 0.99, 5.0  # of ER-SPA, "as suggested by their authors" (Bhattacharyya et al. 2016, footnote 8)
TIE = 1e-6  # relative difference of norms that decides nothing


def pw_spa(source: RowSource, n_anchors: int, *, axis: Axis = "samples", rng: np.random.Generator) -> SPAResult:
    """SPA on whitened points (Gillis & Ma): the left singular vectors of the samples, the right ones of the features.

    As many singular vectors are searched for as there are anchors; residuals and margins are those of the whitened
    points.
    """
    return spa(_whitened(source, n_anchors, axis, rng)[0], n_anchors)


def mve_spa(source: RowSource, n_anchors: int, *, axis: Axis = "samples", rng: np.random.Generator) -> SPAResult:
    """SPA on points whose smallest origin-centred ellipsoid has been made a ball (Gillis & Vavasis).

    As many singular vectors are searched for as there are anchors; residuals and margins are those of the transformed
    points.
    """
    points, values = _whitened(source, n_anchors, axis, rng)
    if not points.shape[1]:
        return spa(points, n_anchors)
    # L = C C', so |y C|^2 = y' L y
    ball = points.project(np.linalg.cholesky(enclosing_ellipsoid(points).L))
    # all touching points are equally long now, to rounding: of those the longest as it was
    norms = np.asarray(points.map_rows(partial(_norms, values=values), width=None, dtype=np.float64))
    return spa(ball, n_anchors, row_scale=1.0 + TIE * norms / norms.max())


def er_spa(
    source: RowSource,
    n_anchors: int,
    *,
    axis: Axis = "samples",
    eta: float = ETA,
    theta: float = THETA,
    rng: np.random.Generator,
) -> SPAResult:
    """SPA among the points that touch their smallest origin-centred ellipsoid (Mizutani).

    Parameters
    ----------
    n_anchors : int
        Number of points to pick, and of singular vectors.
    eta, theta : float, default=0.99, 5
        Of the cutting planes by which the ellipsoid is found: points with ``y' L y`` below eta leave, and theta times
        the rank of those outside join in a round. They decide how soon and not what is found.
    rng : numpy.random.Generator
        Randomness of the search for the singular vectors.

    Returns
    -------
    SPAResult
        The anchors; residuals and margins are those among the touching points.
    """
    points, values = _whitened(source, n_anchors, axis, rng)
    if not points.shape[1]:
        return spa(points, n_anchors)
    # the same points touch whatever the linear map, and whitened points make the better problem
    active = enclosing_ellipsoid(points, inside=eta, added=theta).active
    found = spa(MemorySource(points.take(active) * values), n_anchors)
    return replace(found, anchors=active[found.anchors])


def _whitened(source: RowSource, k: int, axis: Axis, rng: np.random.Generator) -> tuple[RowSource, Array]:
    """The points in singular vectors as ``rank <= k`` numbers each, and the singular values that were set to one."""
    check_axis(axis)
    _, V = truncated_svd(source, min(k, *source.shape), rng=rng)
    # |X v| and not what the search found: that comes from squares and is lost below 1e-8 of the largest
    values = np.sqrt(source.reduce(partial(_squared_columns, M=np.ascontiguousarray(V.T, source.dtype))))
    limit = RANK_EPS * np.sqrt(k) * np.finfo(source.dtype).eps * values.max(initial=0.0)
    V, values = V[values > limit], values[values > limit]
    if axis == "features":
        return MemorySource(V.T), values
    return source.project((V / values[:, None]).T), values


def _squared_columns(block: Block, *, M: Array) -> Array:
    return blocks.squared_norms(blocks.dot(block, M).T)


def _norms(block: Block, *, values: Array) -> Array:
    return blocks.norms(block * values)
