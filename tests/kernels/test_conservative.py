"""The compiled rule against the eleven steps, taken literally."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.kernels.conservative import COUNT, ERROR, LEARNT, SEEN, workspace
from partwise.kernels.conservative import learn as kernel

CONSTANT = np.array([1.0, np.inf, 1.0])


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return np.dtype(request.param)


def literal(
    x: np.ndarray,
    E: np.ndarray,
    D: np.ndarray,
    w: float,
    nonnegative: bool = True,
    share: float = 1.0,
    printed: bool = False,
) -> tuple[np.ndarray, np.ndarray, float]:
    """The steps by their numbers, E (k x m) and D (m x k) as in the document."""
    x = x / np.linalg.norm(x)  # 1
    y0 = E @ x  # 2
    y1 = np.maximum(0.0, y0)  # 3
    dE1 = np.outer(y1 - y0, x)  # 4
    x1 = D @ y1  # 5
    delta = x - x1  # 6
    square = delta @ delta
    curvature = (D.T @ delta) @ (D.T @ delta) / square + w * (y1 @ y1)
    eta = delta / curvature if curvature > 0.0 else 0.0 * delta  # 7; no code and no decoder yet: nothing to go by
    dD = w * np.outer(eta, y1)  # 8
    before = D  # equation (6)
    D = D + share * dD
    xi = (D if printed else before).T @ eta  # 9
    dE2 = np.outer(xi, x)  # 10
    return E + share * (dE1 + dE2), np.maximum(0.0, D) if nonnegative else D, float(np.sqrt(square))  # 11


def exact_eta(D: np.ndarray, delta: np.ndarray, ridge: float) -> np.ndarray:
    return np.linalg.solve(D @ D.T + ridge * np.eye(len(D)), delta)


def problem(n: int = 30, m: int = 11, k: int = 4, dtype: Any = np.float64) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n + m + k)
    X = rng.random((n, k)) @ rng.random((k, m)) * (rng.random((n, m)) < 0.7)
    return tuple(np.ascontiguousarray(a, dtype) for a in (X, rng.uniform(-1, 1, (k, m)), rng.random((m, k))))


def learn(
    X: Any,
    E: np.ndarray,
    D: np.ndarray,
    *,
    w: Any = CONSTANT,
    share: Any = CONSTANT,
    steps: int = 1,
    nonnegative: bool = True,
    printed: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    Et, H = np.array(E.T, order="C"), np.array(D.T, order="C")
    totals = np.zeros(4)
    work = (workspace(*D.shape, D.dtype), np.zeros(len(D), np.int64), np.zeros(len(E), np.int64))
    how = (H, Et, np.asarray(w), np.asarray(share), steps, nonnegative, printed, *work, totals)
    none = np.empty(0, np.int64)
    if sp.issparse(X):
        kernel(np.empty((0, 0), X.dtype), X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data, *how)
    else:
        kernel(X, none, none, np.empty(0, X.dtype), *how)
    return Et.T, H.T, totals


@pytest.mark.parametrize("printed", [False, True], ids=["equation6", "printed"])
@pytest.mark.parametrize("nonnegative", [True, False], ids=["step11", "no-step11"])
@pytest.mark.parametrize("w", [1e-5, 1.0, 3.0])
@pytest.mark.parametrize("size", [(1, 1, 1), (5, 3, 2), (30, 11, 4), (20, 6, 9), (15, 64, 17)], ids=str)
def test_the_eleven_steps(size: tuple[int, int, int], w: float, nonnegative: bool, printed: bool, dtype: Any) -> None:
    X, E0, D0 = problem(*size, dtype)
    E, D, errors = E0.astype(float), 0.0 * D0.astype(float), []
    for x in X.astype(float):
        if x.any():
            E, D, error = literal(x, E, D, w, nonnegative, printed=printed)
            errors.append(error)
    found_E, found_D, totals = learn(X, E0, 0.0 * D0, w=[w, np.inf, 1.0], nonnegative=nonnegative, printed=printed)
    assert found_E.dtype == found_D.dtype == dtype
    tolerance = 2e-2 if dtype == np.float32 else 1e-9  # the rule is chaotic far from a solution
    np.testing.assert_allclose(found_E, E, rtol=0, atol=tolerance * np.abs(E).max())
    np.testing.assert_allclose(found_D, D, rtol=0, atol=tolerance * np.abs(D).max())
    assert totals[ERROR] == pytest.approx(np.sum(errors), rel=tolerance)
    assert totals[[SEEN, LEARNT, COUNT]].tolist() == [len(X), len(errors), len(errors)]
    if nonnegative:
        assert (found_D >= 0).all()


def test_dense_and_csr_give_the_same_bits(dtype: Any) -> None:
    X, E, D = problem(dtype=dtype)
    stored_zero = sp.csr_array(X)
    stored_zero.data[3] = 0.0
    for sparse in (sp.csr_array(X), stored_zero):
        for a, b in zip(learn(sparse, E, D), learn(sparse.toarray(), E, D), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf, -np.inf, 1e200], ids=str)
def test_what_cannot_be_normalised_changes_nothing(bad: float) -> None:
    X, E, D = problem()
    x = np.full((1, X.shape[1]), bad)
    for form in (np.asarray, sp.csr_array):
        same_E, same_D, totals = learn(form(x), E, D)
        np.testing.assert_array_equal(same_E, E)
        np.testing.assert_array_equal(same_D, D)
        assert totals.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_orthogonal_to_every_feature_is_left_alone() -> None:
    E, D = np.array([[1.0, -1.0]]), np.array([[1.0], [0.0]])
    found_E, found_D, totals = learn(np.array([[0.0, 2.0]]), E, D)
    np.testing.assert_array_equal(found_D, D)
    np.testing.assert_array_equal(found_E, [[1.0, 0.0]])  # step 4 makes the code zero, and there is no more to do
    assert totals[ERROR] == 1.0


def test_many_cg_iterations_solve_equation_7() -> None:
    X, E, D = problem(1, 11, 4)
    x = X[0] / np.linalg.norm(X[0])
    y0 = E @ x
    y1 = np.maximum(0.0, y0)
    eta = exact_eta(D, x - D @ y1, 0.7 * (y1 @ y1))
    found_E, found_D, _ = learn(X, E, D, w=[0.7, np.inf, 1.0], steps=8, nonnegative=False)
    np.testing.assert_allclose(found_D, D + 0.7 * np.outer(eta, y1), rtol=1e-10)
    np.testing.assert_allclose(found_E, E + np.outer(y1 - y0 + D.T @ eta, x), rtol=1e-10)
    # iterations after the solution do no harm
    np.testing.assert_allclose(learn(X, E, D, w=[0.7, np.inf, 1.0], steps=50, nonnegative=False)[1], found_D)


def test_schedules_follow_the_number_of_samples() -> None:
    X, E0, D0 = problem()
    E, D = E0, D0
    for t, x in enumerate(X):
        E, D, _ = literal(x, E, D, 2.0 / (1 + t / 7.0) ** 0.5, share=0.8 / (1 + t / 5.0))
    found_E, found_D, _ = learn(X, E0, D0, w=[2.0, 7.0, 0.5], share=[0.8, 5.0, 1.0])
    np.testing.assert_allclose(found_E, E, rtol=1e-7)
    np.testing.assert_allclose(found_D, D, rtol=1e-7, atol=1e-9)


def test_a_process_that_compiles_has_the_bits_of_one_that_loads(tmp_path: Path) -> None:
    """What is killed while the cache is cold goes on when it is warm."""
    code = """if True:
        import hashlib, numpy as np
        from partwise.algorithms.conservative import Learner, Rule
        rng = np.random.default_rng(0)
        learner = Learner.random(7, 40, np.float64, rng, Rule(steps=2))
        list(learner.feed(rng.random((300, 40))))
        print(hashlib.sha256(learner.H.tobytes() + learner.Et.tobytes()).hexdigest())
    """
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    first, second = (subprocess.run(command, check=True, capture_output=True, env=env, timeout=120) for _ in range(2))
    assert len(first.stdout) > 60
    assert first.stdout == second.stdout


def test_nothing_is_no_sample() -> None:
    X, E, D = problem()
    for empty in (X[:0], sp.csr_array(X[:0])):
        assert not learn(empty, E, D)[2].any()
