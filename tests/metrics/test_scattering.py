"""Whether weights are scattered enough: against the law of uniform weights, corners by brute force, and refusals."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from partwise.exceptions import InputError
from partwise.metrics import scattering


def weights(k: int, purity: float, n: int = 1000, seed: int = 0) -> np.ndarray:
    """The corners of the simplex without the tips where a weight is above the purity, and some weights inside."""
    whole = int(1.0 / purity)
    corner = [purity] * whole + [1.0 - whole * purity] + [0.0] * (k - whole - 1)
    inside = np.random.default_rng(seed).dirichlet([0.5] * k, size=20 * n)
    return np.vstack([sorted(set(permutations(corner[:k]))), inside[inside.max(axis=1) <= purity][:n]])


@pytest.mark.parametrize("k", [3, 4, 5, 6])
@pytest.mark.parametrize("side", [-0.02, 0.02])
def test_the_least_purity_is_two_over_the_number_of_parts(k: int, side: float) -> None:
    """The ball that the condition asks for touches all facets, and reaches up to a weight of 2 / k."""
    found = scattering(weights(k, 2.0 / k + side))
    assert found.verdict == ("scattered" if side > 0.0 else "not scattered")


@pytest.mark.parametrize("k", [3, 4])
def test_the_reach_is_that_of_all_corners(k: int) -> None:
    rng = np.random.default_rng(1)
    W = rng.dirichlet([1.0] * k, size=25)
    corners = []
    for rows in combinations(range(len(W)), k - 1):
        A = np.vstack([W[list(rows)], np.ones(k)])
        if abs(np.linalg.det(A)) > 1e-9:
            z = np.linalg.solve(A, np.append(np.zeros(k - 1), 1.0))
            if (W @ z >= -1e-9).all():
                corners.append(np.linalg.norm(z))
    found = scattering(W)
    assert found.reach == pytest.approx(max(corners), rel=1e-6)
    assert found.verdict == "not scattered"
    assert (W @ found.witness >= -1e-9).all()
    assert np.linalg.norm(found.witness) > 1.01 * found.witness.sum()


def test_pure_samples_are_scattered_for_any_number_of_parts() -> None:
    for k in (1, 2, 3, 12):
        W = np.vstack([np.eye(k), np.random.default_rng(0).dirichlet([0.5] * k, size=50)])
        assert scattering(W).verdict == "scattered"


def test_two_parts_need_pure_samples_of_both() -> None:
    W = np.random.default_rng(0).uniform(0.1, 1.0, 100)
    found = scattering(np.c_[W, 1.0 - W])
    assert found.verdict == "not scattered"
    assert (np.c_[W, 1.0 - W] @ found.witness >= -1e-12).all()


def test_many_parts_without_pure_samples_are_not_decided_or_refuted() -> None:
    assert scattering(weights(9, 0.9, n=300)).verdict == "not decided"
    assert scattering(np.random.default_rng(0).dirichlet([5.0] * 9, size=300)).verdict == "not scattered"


def test_samples_on_one_side_are_not_scattered() -> None:
    W = np.random.default_rng(0).dirichlet([0.5] * 4, size=300)
    W[:, 0] = 0.0
    assert scattering(W).verdict == "not scattered"


@pytest.mark.parametrize("W", [np.zeros((0, 3)), [[1.0, -0.1]], [[np.nan, 1.0]], [1.0, 2.0]])
def test_what_are_no_weights_is_refused(W: object) -> None:
    with pytest.raises(InputError, match="W must be a matrix of finite weights"):
        scattering(W)
