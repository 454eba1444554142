"""The simplex method against all bases there are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from partwise.kernels.inverse import descend


def shortest(Q: np.ndarray, c: np.ndarray) -> float:
    """The least norm of a basic solution, by trying all."""
    bases = (Q[list(rows)].T for rows in combinations(range(len(Q)), Q.shape[1]))
    return min(np.abs(np.linalg.solve(B, c)).sum() for B in bases if abs(np.linalg.det(B)) > 1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (6, 1), (7, 2), (9, 3), (8, 4), (5, 5)], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_best_of_all_bases(seed: int, shape: tuple[int, int]):
    rng = np.random.default_rng(seed)
    Q, c = rng.standard_normal(shape), rng.standard_normal(shape[1])
    basis = np.arange(shape[1])
    inverse = np.linalg.inv(Q[basis].T)
    signs = descend(Q, c, basis, inverse, 1000)
    np.testing.assert_allclose(inverse @ Q[basis].T, np.eye(shape[1]), atol=1e-10)
    x = inverse @ c
    np.testing.assert_array_equal(signs, np.sign(x))
    assert np.abs(x).sum() == pytest.approx(shortest(Q, c), rel=1e-10)
    assert np.abs(Q @ (signs @ inverse)).max() <= 1.0 + 1e-10


def test_limit_ends_it():
    rng = np.random.default_rng(0)
    Q, c = rng.standard_normal((200, 10)), rng.standard_normal(10)
    basis, before = np.arange(10), np.linalg.inv(Q[:10].T)
    norms = []
    for limit in (0, 2, 5, 10, 1000):
        inverse, here = before.copy(), basis.copy()
        signs = descend(Q, c, here, inverse, limit)
        np.testing.assert_allclose(inverse @ Q[here].T, np.eye(10), atol=1e-8)
        norms.append(signs @ inverse @ c)
    assert (np.diff(norms) < 0.0).all()
