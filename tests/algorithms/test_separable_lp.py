"""The linear program of Gillis & Luce against its own conditions, and what is read from its diagonal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms import separable_lp as module
from partwise.algorithms.separable_lp import separable_lp
from partwise.algorithms.spa import spa
from partwise.exceptions import InputError
from partwise.linalg import lp
from partwise.sources import source_of

AXES = pytest.mark.parametrize("axis", ["samples", "features"])


def separable(axis: str, seed: int, n: int = 30, m: int = 15, k: int = 5) -> Any:
    shape = (n, m) if axis == "samples" else (m, n)
    return pw.datasets.make_separable(
        n_samples=shape[0], n_features=shape[1], n_components=k, axis=axis, random_state=seed
    )


@AXES
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("seed", range(3))
def test_anchors_of_separable_data(axis: Any, form: Any, seed: int) -> None:
    data = separable(axis, seed)
    found = separable_lp(source_of(form(data.X), block_rows=9), 5, axis=axis)
    assert sorted(found.anchors) == sorted(data.anchors)
    np.testing.assert_allclose(found.diagonal[data.anchors], 1.0, atol=1e-6)
    np.testing.assert_allclose(np.delete(found.diagonal, data.anchors), 0.0, atol=1e-6)
    assert (found.margins > 1e6).all()
    assert found.noise < 1e-10
    certificate = found.certificate
    assert certificate is not None
    assert max(certificate.primal, certificate.dual, certificate.gap) < 1e-7


@AXES
def test_points_of_all_sizes(axis: Any) -> None:
    """The l1 scaling: a point may be a large multiple of another."""
    data = separable(axis, 1)
    scale = 10.0 ** np.random.default_rng(0).uniform(-2, 2, 30)
    X = data.X * (scale[:, None] if axis == "samples" else scale)
    assert sorted(separable_lp(source_of(X), 5, axis=axis).anchors) == sorted(data.anchors)


@pytest.mark.parametrize("rho", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(2))
def test_the_solution_satisfies_the_model(rho: float, seed: int) -> None:
    """Feasible in the paper's own terms, and no worse than a feasible point that we know: the true factors."""
    data = pw.datasets.add_gaussian_noise(separable("samples", seed, n=20, m=12, k=3), 0.1, random_state=0)
    P, norms = data.X, np.abs(data.X).sum(axis=1)
    epsilon = float(np.abs(data.noise).sum(axis=1).max())
    Z, certificate = module._solve(P, norms, rho * epsilon, None)
    off = Z * norms[:, None] - np.diag(Z)[:, None] * norms
    assert Z.min() >= 0.0
    assert np.diag(Z).max() <= 1.0
    assert off.max() <= 1e-7 * norms.max()
    assert np.abs(P - Z.T @ P).sum(axis=1).max() <= rho * epsilon * (1.0 + 1e-7)
    assert max(certificate.primal, certificate.dual, certificate.gap) < 1e-6
    if rho == 2.0:  # of two noisy points the errors add up
        assert np.trace(Z) <= 3.0 * (1.0 + module.SPREAD)


@AXES
def test_noise_is_by_default_what_spa_leaves(axis: Any) -> None:
    data = pw.datasets.add_gaussian_noise(separable(axis, 2), 0.1, random_state=0)
    points = data.X if axis == "samples" else data.X.T
    true = np.abs(data.noise if axis == "samples" else data.noise.T).sum(axis=1).max()
    found = separable_lp(source_of(data.X), 5, axis=axis)
    assert 0.5 * true < found.noise < 2.0 * true
    A = points[spa(source_of(data.X), 5, axis=axis).anchors]
    assert found.noise <= np.abs(points - pw.nnls(A, points) @ A).sum(axis=1).max() * (1.0 + 1e-9)
    given = separable_lp(source_of(data.X), 5, axis=axis, noise=found.noise)
    np.testing.assert_array_equal(given.anchors, found.anchors)


def test_copies_of_an_anchor_count_once() -> None:
    """Near copies share the diagonal entry of their anchor: the largest entries alone would miss another one."""
    rng = np.random.default_rng(0)
    corners = np.eye(4) + 0.05
    P = np.vstack([np.repeat(corners, [6, 1, 1, 1], axis=0), rng.dirichlet(np.ones(4), 12) @ corners])
    P = np.maximum(P + 0.01 * rng.standard_normal(P.shape), 0.0)
    found = separable_lp(source_of(P), 4)
    assert sorted(np.minimum(found.anchors, 8) // 6 * found.anchors) == [0, 6, 7, 8]


def test_clusters() -> None:
    P = np.array([[1.0, 0.0], [0.99, 0.01], [0.98, 0.02], [0.0, 1.0], [0.5, 0.5]])
    weights = np.array([0.4, 0.3, 0.3, 0.35, 0.0])
    assert sorted(module._clusters(P, weights, 2, 0.03)) == [0, 3]
    # the radius is halved until there are enough
    assert len(module._clusters(P, weights, 3, 0.03)) == 3
    assert sorted(module._clusters(P, weights, 4, 0.03)) == [0, 1, 2, 3]


def test_too_much_noise_is_filled_up() -> None:
    """Noise as large as the points needs no anchor at all; the farthest points are taken then."""
    data = separable("samples", 0)
    found = separable_lp(source_of(data.X), 5, noise=1e3)
    assert not found.diagonal.any()
    assert len(set(found.anchors)) == 5


@AXES
def test_fewer_than_asked_for(axis: Any) -> None:
    data = separable(axis, 3)
    assert sorted(separable_lp(source_of(data.X), 9, axis=axis).anchors) == sorted(data.anchors)


def test_nothing_to_pick() -> None:
    found = separable_lp(source_of(np.zeros((4, 3))), 2)
    assert len(found.anchors) == 0
    assert found.diagonal.tolist() == [0.0] * 4
    assert found.certificate is None


def test_zero_points_are_left_out() -> None:
    data = separable("samples", 0)
    X = np.insert(data.X, [0, 7], 0.0, axis=0)
    found = separable_lp(source_of(X), 5)
    assert len(found.diagonal) == len(X)
    np.testing.assert_array_equal(np.sort(X[found.anchors], axis=0), np.sort(data.X[data.anchors], axis=0))


def test_out_of_time_the_anchors_are_those_of_spa() -> None:
    data = separable("samples", 0)
    found = separable_lp(source_of(data.X), 5, time_limit=1e-9)
    assert sorted(found.anchors) == sorted(data.anchors)
    assert np.isnan(found.diagonal).all()
    assert np.isnan(found.margins).all()
    assert found.certificate is None
    assert "ime limit" in found.message


@AXES
def test_every_source_gives_the_same(axis: Any, tmp_path: Path) -> None:
    X = pw.datasets.add_gaussian_noise(separable(axis, 1, n=16, m=10), 0.1, random_state=0).X
    np.save(tmp_path / "X.npy", X)
    expected = separable_lp(source_of(X), 5, axis=axis)
    for source in (
        source_of(sp.csr_array(X), block_rows=7),
        source_of(tmp_path / "X.npy", block_rows=5),
        source_of(da.from_array(X, chunks=(5, 5)), scheduler="synchronous"),
    ):
        found = separable_lp(source, 5, axis=axis)
        np.testing.assert_array_equal(found.anchors, expected.anchors)
        np.testing.assert_allclose(found.diagonal, expected.diagonal, atol=1e-7)


def test_too_large_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lp, "_machine_memory", lambda: 1e8)
    with pytest.raises(InputError, match=r"SeparableLP for 500 points of dimension 60 makes a linear .*use SPA"):
        separable_lp(source_of(np.ones((500, 60))), 3)
    with pytest.raises(InputError, match=r"SeparableLP for 60 points of dimension 500"):
        separable_lp(source_of(np.ones((500, 60))), 3, axis="features")
