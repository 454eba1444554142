"""Weights of samples and entries, and missing entries: against references of three lines, on every kind of source."""

from __future__ import annotations

from functools import partial
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms.anls import anls
from partwise.algorithms.engine import ElasticNet, Factor, Free, Simplex
from partwise.algorithms.hals import hals
from partwise.exceptions import InputError
from partwise.sources import source_of

RNG = np.random.default_rng(2)
N, M, K = 31, 9, 3
X = (RNG.gamma(0.5, size=(N, K)) @ RNG.gamma(0.5, size=(K, M)) + 0.1 * RNG.random((N, M))) * (RNG.random((N, M)) < 0.8)
H0 = RNG.random((K, M)) + 0.05
WEIGHTS = {
    "entries": RNG.random((N, M)) * (RNG.random((N, M)) < 0.8),
    "mask": RNG.random((N, M)) < 0.7,
    "samples": RNG.random(N) + 0.1,
}
EVERY_WEIGHT = pytest.mark.parametrize("kind", WEIGHTS)
PENALTIES = {"plain": ElasticNet(), "penalised": ElasticNet(0.02, 0.05)}
EVERY_PENALTY = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)


def full(weights: np.ndarray) -> np.ndarray:
    """A weight for every entry."""
    return np.broadcast_to(weights[:, None] if weights.ndim == 1 else weights, X.shape).astype(float)


# --- the references: rows of F for 1/2 sum_j m_j (x_j - f h_j)^2 + l1 sum f + l2/2 |f|^2 --------------------


def best_support(R: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Non-negative least squares by trying every support: SciPy 1.15.0's nnls ends above the optimum here."""
    k, best, least = R.shape[1], np.zeros(R.shape[1]), float(b @ b)
    for size in range(1, k + 1):
        for support in map(list, combinations(range(k), size)):
            w = np.zeros(k)
            w[support] = np.linalg.lstsq(R[:, support], b, rcond=None)[0]
            value = float(((R @ w - b) ** 2).sum())
            if w.min() >= 0.0 and value < least:
                best, least = w, value
    return best


def exact(X: np.ndarray, M: np.ndarray, H: np.ndarray, F: np.ndarray, penalty: ElasticNet) -> np.ndarray:
    rows = []
    for x, m in zip(X, M, strict=True):
        R = np.linalg.cholesky((H * m) @ H.T + (penalty.l2 + 1e-15) * np.eye(len(H))).T
        rows.append(best_support(R, np.linalg.solve(R.T, H @ (m * x) - penalty.l1)))
    return np.array(rows)


def sweep(X: np.ndarray, M: np.ndarray, H: np.ndarray, F: np.ndarray, penalty: ElasticNet) -> np.ndarray:
    F = F.copy()
    for j in range(len(H)):
        gradient = (M * (F @ H - X)) @ H[j] + penalty.l1 + penalty.l2 * F[:, j]
        curvature = (M * H[j] ** 2).sum(axis=1) + penalty.l2
        F[:, j] = np.maximum(0.0, F[:, j] - gradient / np.where(curvature > 0.0, curvature, np.inf))
    return F


def objective(X: np.ndarray, M: np.ndarray, W: np.ndarray, H: np.ndarray, penalty: ElasticNet, s: Any = 1.0) -> float:
    rows = penalty.l1 * W.sum(axis=1) + 0.5 * penalty.l2 * (W**2).sum(axis=1)
    factors = (s * rows).sum() + penalty.l1 * H.sum() + 0.5 * penalty.l2 * (H**2).sum()
    return float(0.5 * (M * (X - W @ H) ** 2).sum() + factors)


ALGORITHMS = {
    "hals": (lambda *a, **kw: hals(*a, sweeps=1, extrapolate=False, squared_norm=np.nan, **kw), sweep),
    "anls": (lambda *a, **kw: anls(*a, squared_norm=np.nan, **kw), exact),
}


@pytest.mark.parametrize("name", ALGORITHMS)
@EVERY_WEIGHT
@EVERY_PENALTY
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("weights_form", [np.asarray, sp.csr_array], ids=["dense-weights", "csr-weights"])
def test_iterations_are_the_reference(name: str, kind: str, penalty: Any, form: Any, weights_form: Any) -> None:
    algorithm, update = ALGORITHMS[name]
    weights, M = WEIGHTS[kind], full(WEIGHTS[kind])
    given = weights if weights.ndim == 1 else weights_form(weights)
    asked = Factor((penalty,))
    found = algorithm(source_of(form(X), block_rows=7), H0, weights=given, on_W=asked, on_H=asked)
    # a sample of weight two is one that is there twice: the problem of its weights does not know
    own, s = (np.ones_like(M), weights) if weights.ndim == 1 else (M, 1.0)
    W, H = exact(X, own, H0, np.zeros((N, K)), penalty), H0
    for progress in islice(found, 4):
        np.testing.assert_allclose(progress.components, H, rtol=1e-7, atol=1e-9)
        assert progress.objective == pytest.approx(objective(X, M, W, H, penalty, s), rel=1e-8)
        W = update(X, own, H, W, penalty)
        H = update(X.T, M.T, W.T, H.T, penalty).T


@pytest.mark.parametrize("algorithm", [partial(hals, tol=1e-6), anls], ids=["hals", "anls"])
@EVERY_WEIGHT
def test_the_end_is_a_stationary_point(algorithm: Any, kind: str) -> None:
    M = full(WEIGHTS[kind])
    iterations = algorithm(source_of(X), H0, squared_norm=np.nan, weights=WEIGHTS[kind])
    end = next(now for now in islice(iterations, 20000) if now.certified and now.residual <= 1e-6)
    # its own weights: of a sample with few entries the exact ones may be anywhere along a valley
    H, W = end.components, end.state["W"]
    sizes = np.sqrt(W.T**2 @ M) + 1e-300  # of the columns of W, over the entries that are there
    parts = np.minimum(H * sizes, (W.T @ (M * (W @ H - X))) / sizes)
    assert np.linalg.norm(parts) <= 1e-4 * np.linalg.norm(X)


def test_missing_entries_need_no_value() -> None:
    mask = WEIGHTS["mask"]
    holes = np.where(mask, X, np.nan)
    expected, found = (islice(hals(source_of(x), H0, squared_norm=1.0, weights=mask), 5) for x in (X, holes))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a.components, b.components)
        assert a.objective == b.objective


def test_weights_of_one_are_no_weights() -> None:
    norm = float(np.vdot(X, X))
    plain = next(islice(hals(source_of(X), H0, squared_norm=norm), 20, None))
    for weights in (np.ones(N), np.ones((N, M))):
        found = next(islice(hals(source_of(X), H0, squared_norm=norm, weights=weights), 20, None))
        np.testing.assert_allclose(found.components, plain.components, rtol=1e-6, atol=1e-8)


def test_a_sample_of_weight_two_is_there_twice() -> None:
    counts = RNG.integers(0, 3, N)
    repeated = np.repeat(X, counts, axis=0)
    norm = float(np.vdot(repeated, repeated))
    expected = next(islice(anls(source_of(repeated), H0, squared_norm=norm), 5, None))
    found = next(islice(anls(source_of(X), H0, squared_norm=1.0, weights=counts), 5, None))
    np.testing.assert_allclose(found.components, expected.components, rtol=1e-9, atol=1e-11)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)


def folder(X: np.ndarray, tmp: Path) -> Path:
    tmp.mkdir()
    for number, a in enumerate(range(0, len(X), 7)):
        np.save(tmp / f"part-{number}.npy", X[a : a + 7])
    return tmp


@pytest.mark.parametrize("kind", ["entries", "samples"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda dtype: dtype.__name__)
def test_every_source_gives_the_same_bits(kind: str, dtype: Any, tmp_path: Path) -> None:
    data, weights = X.astype(dtype), WEIGHTS[kind]
    beside = [weights]
    if kind == "entries":
        # other partitions, and other formats
        beside += [source_of(weights, block_rows=5), pw.open_source(folder(weights, tmp_path / "weights"))]
    sources = [
        source_of(data, block_rows=7),
        pw.open_source(folder(data, tmp_path / "data")),
        pw.open_source(da.from_array(data, chunks=(7, -1))),
    ]
    found = [
        next(islice(hals(source, H0, squared_norm=1.0, weights=given), 6, None))
        for source in sources
        for given in beside
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other.components, found[0].components)
        assert other.objective == found[0].objective
    sparse = [
        next(islice(hals(source, H0, squared_norm=1.0, weights=sp.csr_array(full(weights))), 6, None)).components
        for source in sources
    ]
    np.testing.assert_array_equal(sparse[2], sparse[0])
    np.testing.assert_allclose(sparse[0], found[0].components, rtol=1e-9 if dtype == np.float64 else 1e-3, atol=1e-6)


@pytest.mark.parametrize("constraint", [Free(), Simplex()], ids=lambda constraint: constraint.name)
def test_constraints_with_a_gram_matrix_for_each_row(constraint: Any) -> None:
    """The same problems one by one."""
    G = np.array([(H0 * m) @ H0.T for m in full(WEIGHTS["entries"])]) + 0.1 * np.eye(K)
    B = X @ H0.T
    start = np.full((N, K), 1.0 / K)
    together = start.copy()
    residual = constraint.apply(None, G, B, together)
    rows = start.copy()
    alone = [constraint.apply(None, G[i], B[i : i + 1], rows[i : i + 1]) for i in range(N)]
    np.testing.assert_allclose(together, rows, rtol=1e-10, atol=1e-12)
    assert residual == pytest.approx(sum(alone), rel=1e-10)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (-np.ones(N), "not negative"),
        (np.full((N, M), np.nan), "finite"),
        (np.ones(N - 1), r"shape \(30,\)"),
        (np.ones((N, M + 1)), r"shape \(31, 10\)"),
    ],
    ids=["negative", "nan", "samples", "features"],
)
def test_bad_weights_are_refused(weights: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        hals(source_of(X), H0, squared_norm=1.0, weights=weights)
