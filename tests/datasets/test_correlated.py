"""Weights of AND's theorems: exact moments of the distribution, by enumeration, against a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.datasets import make_correlated_mixtures
from partwise.exceptions import InputError
from partwise.metrics import correlation_conditions, decay_order

N = 40_000


def ratios(W: np.ndarray) -> np.ndarray:
    """E[x_i x_j] / min(E[x_i], E[x_j])."""
    first = W.mean(axis=0)
    return np.asarray(W.T @ W / len(W) / np.minimum.outer(first, first))


@pytest.mark.parametrize(("ratio", "size"), [(0.0, 2), (0.3, 2), (0.79, 2), (1.0, 2), (0.6, 3)])
def test_correlation_inside_groups(ratio: float, size: int) -> None:
    data = make_correlated_mixtures(
        n_samples=N, n_components=12, n_active=2, ratio=ratio, group_size=size, random_state=0
    )
    W = data.weights
    assert set(np.unique(W)) == {0.0, 1.0}
    group = np.arange(12) // size
    inside = (group[:, None] == group) & ~np.eye(12, dtype=bool)
    c, groups = ratio / (size - (size - 1) * ratio), 12 // size
    # Pr[there] = s/groups (c + (1 - c)/size): five standard deviations of a mean of N
    p = 2 / groups * (c + (1 - c) / size)
    np.testing.assert_allclose(W.mean(axis=0), p, atol=5 * np.sqrt(p / N))
    np.testing.assert_allclose(ratios(W)[inside], ratio, atol=5 / np.sqrt(p * N) if ratio < 1 else 1e-12)
    between = (c + (1 - c) / size) * (2 - 1) / (groups - 1)
    np.testing.assert_allclose(ratios(W)[group[:, None] != group], between, atol=5 / np.sqrt(p * N))
    np.testing.assert_array_equal(W.reshape(N, -1, size).any(axis=2).sum(axis=1), 2)
    np.testing.assert_allclose(data.X, W @ data.components)


@pytest.mark.parametrize("s", [1, 3])
def test_groups_of_one_are_the_sparse_vectors_of_proposition_1(s: int) -> None:
    D = 10
    found = correlation_conditions(
        make_correlated_mixtures(n_samples=N, n_components=D, n_active=s, random_state=1).weights
    )
    assert (found.r, found.binary) == (s, True)
    assert found.m == pytest.approx(D * s * (s - 1) / (D - 1), rel=0.1)
    assert found.lam == pytest.approx(2 * (D - s) / (D - 1), rel=0.1)
    assert found.k <= 1.1 * s / 2


@pytest.mark.parametrize("q", [1.0, 4.0])
def test_order_of_decay(q: float) -> None:
    W = make_correlated_mixtures(n_samples=N, n_components=4, q=q, random_state=2).weights
    v = np.sort(W[W > 0.0])
    # Definition 3 with equality: the distribution function is a^q, within Kolmogorov's 1.63 / sqrt(n) (1%)
    assert np.abs(np.arange(1, len(v) + 1) / len(v) - v**q).max() < 1.63 / np.sqrt(len(v))
    assert decay_order(W, scale=1.0).q_upper >= q


def test_the_counterexample() -> None:
    D, s = 20, 2
    W = make_correlated_mixtures(n_components=D, n_active=s, absent=1 / D, random_state=3).weights
    assert set(np.unique(W)) == {1 / D, 1.0}
    np.testing.assert_array_equal((W == 1.0).sum(axis=1), s)
    found = correlation_conditions(W)
    assert found.r == pytest.approx(s + (D - s) / D)  # below s + 1
    assert found.in_unit_interval
    assert not found.binary


def test_components_and_signs() -> None:
    H = np.eye(4, 6)
    data = make_correlated_mixtures(n_samples=5, n_features=6, n_components=4, components=H, random_state=0)
    np.testing.assert_array_equal(data.components, H)
    signed = make_correlated_mixtures(n_samples=5, signed=True, random_state=0).components
    np.testing.assert_allclose(np.abs(signed).sum(axis=1), 1.0)
    assert np.mean(signed < 0) == pytest.approx(0.5, abs=0.05)


def test_given_components_have_their_own_number_of_features() -> None:
    H = np.eye(300, 310)
    assert make_correlated_mixtures(n_samples=2, n_components=300, components=H).X.shape == (2, 310)


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        ({"ratio": 1.2, "group_size": 2}, "ratio"),
        ({"ratio": 0.5}, "ratio"),
        ({"group_size": 7}, "group_size"),
        ({"n_active": 31}, "n_active"),
        ({"q": 0.0}, "q"),
        ({"absent": 2.0}, "absent"),
        ({"n_features": 20}, "n_features"),
        ({"components": np.ones((3, 4))}, "components"),
        ({"components": np.ones((30, 4))}, "components"),
    ],
)
def test_refused(wrong: dict[str, Any], parameter: str) -> None:
    with pytest.raises(InputError) as caught:
        make_correlated_mixtures(**wrong)
    assert caught.value.parameter == parameter
