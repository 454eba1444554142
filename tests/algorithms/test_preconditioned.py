"""SPA on points made round: exact without noise, the same on every source, and right where SPA is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms.preconditioned import er_spa, mve_spa, pw_spa
from partwise.algorithms.spa import SPAResult, spa
from partwise.exceptions import InputError
from partwise.linalg import enclosing_ellipsoid
from partwise.sources import source_of

METHODS = pytest.mark.parametrize("method", [pw_spa, mve_spa, er_spa], ids=lambda method: method.__name__)
AXES = pytest.mark.parametrize("axis", ["samples", "features"])


def pick(method: Any, X: Any, k: int, axis: Any, **options: Any) -> SPAResult:
    return method(source_of(X, **options), k, axis=axis, rng=np.random.default_rng(0))


def separable(axis: str, seed: int, k: int = 6) -> pw.datasets.mixture.Mixture:
    return pw.datasets.make_separable(n_samples=90, n_features=50, n_components=k, axis=axis, random_state=seed)


@METHODS
@AXES
@pytest.mark.parametrize("seed", range(12))
def test_anchors_of_separable_data(method: Any, axis: Any, seed: int) -> None:
    data = separable(axis, seed)
    found = pick(method, data.X, 6, axis)
    assert sorted(found.anchors) == sorted(data.anchors)
    assert found.residuals[0] == pytest.approx(1.0)
    assert (np.diff(found.residuals) <= 1e-12).all()
    assert (found.margins >= 1.0).all()


@METHODS
@AXES
def test_every_source_gives_the_same(method: Any, axis: Any, tmp_path: Path) -> None:
    data = pw.datasets.add_gaussian_noise(separable(axis, 3), 0.2, clip=True, random_state=0)
    np.save(tmp_path / "X.npy", data.X)
    expected = pick(method, data.X, 6, axis)
    for X, options in (
        (data.X, {"block_rows": 7}),
        (sp.csr_array(data.X), {"block_rows": 40}),
        (tmp_path / "X.npy", {"block_rows": 16}),
        (da.from_array(data.X, chunks=(25, 20)), {"scheduler": "synchronous"}),
    ):
        found = pick(method, X, 6, axis, **options)
        np.testing.assert_array_equal(found.anchors, expected.anchors)
        np.testing.assert_allclose(found.residuals, expected.residuals, rtol=1e-6)
        np.testing.assert_allclose(found.margins, expected.margins, rtol=1e-6)


@METHODS
@AXES
def test_columns_are_rows_of_the_transpose(method: Any, axis: Any) -> None:
    data = pw.datasets.add_gaussian_noise(separable(axis, 5), 0.3, random_state=1)
    other = {"samples": "features", "features": "samples"}[axis]
    expected, found = pick(method, data.X, 6, axis), pick(method, data.X.T, 6, other)
    np.testing.assert_array_equal(found.anchors, expected.anchors)
    np.testing.assert_allclose(found.residuals, expected.residuals, rtol=1e-5)


@AXES
def test_against_the_papers_literally(axis: Any) -> None:
    X = pw.datasets.add_gaussian_noise(separable(axis, 7), 0.4, random_state=2).X
    points = X if axis == "samples" else X.T
    U, s, _ = np.linalg.svd(points, full_matrices=False)
    U, s = U[:, :6], s[:6]
    assert pick(pw_spa, X, 6, axis).anchors.tolist() == spa(source_of(U), 6).anchors.tolist()
    ellipsoid = enclosing_ellipsoid(U * s)
    rounded = (U * s) @ np.linalg.cholesky(ellipsoid.L)
    lengths = np.linalg.norm(U * s, axis=1)  # decides among points on the boundary, where all norms are one
    expected = spa(source_of(rounded), 6, row_scale=1.0 + 1e-6 * lengths / lengths.max())
    found = pick(mve_spa, X, 6, axis)
    assert found.anchors.tolist() == expected.anchors.tolist()
    assert found.anchors[0] in ellipsoid.active
    among = ellipsoid.active
    touching = among[spa(source_of((U * s)[among]), 6).anchors]
    assert pick(er_spa, X, 6, axis).anchors.tolist() == touching.tolist()


@METHODS
@AXES
def test_middle_points_moved_out(method: Any, axis: Any) -> None:
    """The experiment of Gillis & Vavasis: ill-conditioned anchors, the middles of pairs moved away from the mean."""
    k, right, plain = 8, 0, 0
    pairs = np.array([(i, j) for i in range(k) for j in range(i)])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        U, V = np.linalg.qr(rng.random((40, k)))[0], np.linalg.qr(rng.standard_normal((k, k)))[0]
        H = V @ (np.geomspace(1.0, 0.01, k)[:, None] * U.T)
        middle = (H[pairs[:, 0]] + H[pairs[:, 1]]) / 2.0
        X = np.vstack([H, middle + 0.3 * (middle - H.mean(axis=0))])
        X = X if axis == "samples" else X.T
        right += len(set(pick(method, X, k, axis).anchors) & set(range(k)))
        plain += len(set(spa(source_of(X), k, axis=axis).anchors) & set(range(k)))
    assert right == 5 * k
    assert plain < 3 * k


@METHODS
@AXES
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_fewer_anchors_where_the_rank_is_lower(method: Any, axis: Any, dtype: Any) -> None:
    data = separable(axis, 1, k=3)
    found = pick(method, data.X.astype(dtype), 10, axis)
    assert sorted(found.anchors) == sorted(data.anchors)


@METHODS
@AXES
def test_nothing_to_pick(method: Any, axis: Any) -> None:
    assert len(pick(method, np.zeros((5, 4)), 2, axis).anchors) == 0


@METHODS
def test_axis_must_be_known(method: Any) -> None:
    with pytest.raises(InputError, match="axis must be 'samples' or 'features', got 'rows'"):
        pick(method, np.eye(3), 2, "rows")


@pytest.mark.parametrize("constants", [{}, {"eta": 0.99, "theta": 5.0}, {"eta": 0.5, "theta": 1.0}], ids=str)
@AXES
def test_the_published_constants_decide_how_soon_and_not_what(axis: Any, constants: dict[str, float]) -> None:
    data = pw.datasets.add_gaussian_noise(separable(axis, 3), 0.5, random_state=3)
    # literally: SPA, on the rank-k approximation, among the points that touch the smallest ellipsoid
    U, s, Vt = np.linalg.svd(data.X, full_matrices=False)
    points = (U if axis == "samples" else Vt.T)[:, :6]
    touching = enclosing_ellipsoid(points).active
    expected = touching[spa(source_of(points[touching] * s[:6]), 6).anchors]
    model = pw.EllipsoidalSPA(6, axis=axis, random_state=0, **constants).fit(data.X)
    assert model.anchors_.tolist() == expected.tolist()
    assert (pw.EllipsoidalSPA().eta, pw.EllipsoidalSPA().theta) == (0.99, 5.0)
