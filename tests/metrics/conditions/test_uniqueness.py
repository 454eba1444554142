"""Theorem 2 for two factorizations: delta by loops, the nearest scale by a search, the bound against the distance."""

from __future__ import annotations

import numpy as np
import pytest

import partwise as pw
from partwise.datasets import make_strictly_dominant
from partwise.exceptions import InputError
from partwise.metrics import normalize_factors, pure_records, uniqueness
from partwise.metrics.conditions.uniqueness import _best_scale


def literal_delta(B: np.ndarray, C: np.ndarray, B2: np.ndarray, C2: np.ndarray, sets: list) -> float:
    """Equation 4, record by record; rows are records."""
    worst = 0.0
    for rows in sets:
        difference = sum(C[j] @ B - C2[j] @ B2 for j in rows)
        worst = max(worst, np.abs(difference).sum() / sum(C[j].sum() for j in rows))
    return worst


def test_delta_is_that_of_equation_4() -> None:
    rng = np.random.default_rng(0)
    data = make_strictly_dominant(n_samples=40, n_components=3, random_state=0)
    H, W = 3.0 * data.components, rng.uniform(0.5, 2.0, (40, 1)) * data.weights
    H2, W2 = rng.random(H.shape), rng.random(W.shape)
    found = uniqueness(H, H2, W=W, other_W=W2, eps4=0.01)
    B, C, scales = normalize_factors(H, W)
    sets = pure_records(C, eps4=0.01).records
    assert all(len(rows) for rows in sets)
    assert found.delta == pytest.approx(literal_delta(B, C, H2, W2 / scales[:, None], sets))
    assert found.identifiability.delta == found.delta
    assert not found.certified
    assert found.bound == np.inf


@pytest.mark.parametrize("seed", range(5))
def test_nearest_scale(seed: int) -> None:
    rng = np.random.default_rng(seed)
    b, c = rng.random(9), rng.random(9) * (rng.random(9) < 0.7)
    grid = np.r_[np.linspace(0.0, 5.0, 20001), b[c > 0] / c[c > 0]]
    best = min(np.abs(b - s * c).sum() for s in grid)
    assert np.abs(b - _best_scale(b, c) * c).sum() == pytest.approx(best, abs=1e-12)
    assert _best_scale(b, 0.0 * c) == 0.0


def test_order_and_scale_do_not_matter() -> None:
    data = make_strictly_dominant(n_components=3, random_state=1)
    order = np.array([2, 0, 1])
    found = uniqueness(
        data.components, 5.0 * data.components[order], W=data.weights, other_W=data.weights[:, order] / 5.0, eps4=0.001
    )
    assert found.permutation.tolist() == np.argsort(order).tolist()
    np.testing.assert_allclose(found.scales, 0.2)
    np.testing.assert_allclose([found.delta, found.distances.max()], 0.0, atol=1e-12)
    assert found.certified
    assert found.holds


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_kept(seed: int) -> None:
    """Other factorizations of nearly the same data: wherever the conditions hold the distance is within the bound."""
    rng = np.random.default_rng(seed)
    data = make_strictly_dominant(n_samples=200, n_dominant=3, dominant_weight=0.95, random_state=seed)
    certified = 0
    for size in (1e-4, 1e-3, 3e-3):
        mix = np.eye(2) + size * rng.random((2, 2))
        H = mix @ data.components + size * rng.random(data.components.shape)
        W = np.asarray(pw.nnls(H, data.X))
        found = uniqueness(data.components, H, W=data.weights, other_W=W, eps4=0.001)
        certified += found.certified
        assert found.distances.max() <= found.bound
    assert certified >= 2


def test_two_fits_of_one_data_set() -> None:
    data = make_strictly_dominant(random_state=3)
    one, two = pw.TSVDNMF(2, random_state=0).fit(data.X), pw.ANLS(2, random_state=1).fit(data.X)
    found = uniqueness(one, two, X=data.X, eps4=0.001)
    assert found.certified
    assert found.distances.max() <= found.bound < 2.0
    # and where nothing is pure nothing is certified
    other = uniqueness(one, two, W=np.full((500, 2), 0.5), other_W=two.transform(data.X), eps4=0.001)
    assert not other.certified
    assert other.delta == np.inf


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="W is missing"):
        uniqueness(np.eye(2), np.eye(2))
    with pytest.raises(InputError, match="must be the same"):
        uniqueness(np.eye(2), np.eye(3), W=np.ones((4, 2)), other_W=np.ones((4, 3)))
    with pytest.raises(InputError, match="must be the same"):
        uniqueness(np.eye(2), np.eye(2), W=np.ones((4, 2)), other_W=np.ones((3, 2)))
    with pytest.raises(InputError) as missing:
        uniqueness(np.eye(2), np.eye(2), W=np.ones((4, 2)))
    assert missing.value.parameter == "other_W"
