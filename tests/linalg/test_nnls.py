"""Exact NNLS against scipy, with the certificate checked from the residual itself."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.exceptions import InputError
from partwise.linalg.nnls import Gram, NNLSCertificate, certified_block, nnls
from partwise.sources import MemorySource, source_of

reproducible = settings(derandomize=True, deadline=None, database=None, max_examples=150)


def name(make: Any) -> str:
    return str(make.__name__)


def certified(H: Any, X: Any) -> tuple[np.ndarray, NNLSCertificate]:
    W, certificate = nnls(H, X, return_certificate=True)
    return W, certificate


def true_kkt(H: np.ndarray, X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Largest violation of a sample relative to |x| |h_j|, from the residual (in long double) and not from H H'."""
    H, X, W = (np.asarray(array, np.longdouble) for array in (H, X, W))
    largest = np.abs(H).max(axis=1, initial=0.0)
    largest[largest == 0.0] = 1.0
    H, W = H / largest[:, None], W * largest
    size = np.abs(X).max(axis=1, initial=0.0)
    size[size == 0.0] = 1.0
    X, W = X / size[:, None], W / size[:, None]
    norms = np.sqrt(np.square(H).sum(axis=1)) * np.sqrt(np.square(X).sum(axis=1))[:, None]
    g = (W @ H - X) @ H.T / np.where(norms > 0.0, norms, 1.0)
    return np.where(W > 0.0, np.abs(g), np.maximum(-g, 0.0)).max(axis=1, initial=0.0)


def misfit(H: np.ndarray, X: np.ndarray, W: np.ndarray) -> np.ndarray:
    residual = np.asarray(X, np.longdouble) - np.asarray(W, np.longdouble) @ np.asarray(H, np.longdouble)
    return np.sqrt(np.square(residual).sum(axis=1))


def scipy_loop(H: np.ndarray, X: np.ndarray) -> np.ndarray:
    W = np.zeros((len(X), len(H)))
    for w, x in zip(W, X, strict=True):
        with suppress(RuntimeError):  # too many iterations
            w[:] = scipy.optimize.nnls(H.T, x)[0]
    return W


def assert_optimal(H: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Feasible, certified truly, and no worse than scipy's."""
    W, certificate = certified(H, X)
    assert W.shape == (len(X), len(H))
    assert (W >= 0.0).all()
    assert certificate.kkt.shape == (len(X),)
    assert certificate.largest < 1e-10
    assert true_kkt(H, X, W).max(initial=0.0) < 1e-10
    theirs = scipy_loop(H, X)
    excess = misfit(H, X, W) - misfit(H, X, theirs)
    # with dependent components scipy now and then takes rounding for a direction, with weights of 1e14
    astray = true_kkt(H, X, theirs) > 1e-8
    assert ((excess <= 1e-9 * np.linalg.norm(X, axis=1)) | astray).all()
    return W


# --- random problems ----------------------------------------------------------------------------------------


def plain(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    return rng.standard_normal((k, m))


def positive(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    return rng.random((k, m))


def integers(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    return rng.integers(-2, 3, (k, m)).astype(float)


def binary(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    return rng.integers(0, 2, (k, m)).astype(float)


def duplicated(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    return rng.standard_normal((k, m))[rng.integers(0, k, k)] * rng.choice([0.5, 1.0, 3.0], (k, 1))


def with_zeros(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    return rng.standard_normal((k, m)) * (rng.random((k, 1)) < 0.7)


def opposite(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    return rng.standard_normal((k, m))[rng.integers(0, k, k)] * rng.choice([-1.0, 1.0], (k, 1))


def low_rank(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    rank = int(rng.integers(1, min(k, m) + 1))
    return rng.standard_normal((k, rank)) @ rng.standard_normal((rank, m))


def low_rank_positive(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    rank = int(rng.integers(1, min(k, m) + 1))
    return rng.random((k, rank)) @ rng.random((rank, m))


def nearly_duplicated(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    return rng.random((k, m))[rng.integers(0, k, k)] + 10.0 ** -rng.integers(2, 13) * rng.random((k, m))


def ill_conditioned(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    """Condition number 1e8 of H H'."""
    U, _, Vt = np.linalg.svd(rng.standard_normal((min(k, m), m)), full_matrices=False)
    return (U * np.logspace(0, -4, len(Vt))) @ Vt


def of_many_scales(rng: np.random.Generator, k: int, m: int) -> np.ndarray:
    return rng.standard_normal((k, m)) * 10.0 ** rng.integers(-8, 9, (k, 1))


COMPONENTS = [
    plain,
    positive,
    integers,
    binary,
    duplicated,
    with_zeros,
    opposite,
    low_rank,
    low_rank_positive,
    nearly_duplicated,
    ill_conditioned,
    of_many_scales,
]


def samples(kind: str, rng: np.random.Generator, H: np.ndarray, n: int) -> np.ndarray:
    if kind == "mixtures":
        return rng.random((n, len(H))) * (rng.random((n, len(H))) < 0.5) @ H
    X = plain(rng, n, H.shape[1])
    return {"any sign": X, "positive": np.abs(X), "negative": -np.abs(X), "integers": X.round()}[kind]


@pytest.mark.parametrize("make", COMPONENTS, ids=name)
@settings(reproducible, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(1, 20),
    m=st.integers(1, 25),
    kind=st.sampled_from(["any sign", "positive", "negative", "integers", "mixtures"]),
)
def test_random_problems(make: Callable[..., np.ndarray], seed: int, k: int, m: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    H = make(rng, k, m)
    assert_optimal(H, samples(kind, rng, H, 6))


@reproducible
@given(data=st.data())
def test_small_integer_problems(data: st.DataObject) -> None:
    """Ties, exact zeros and dependent components are the rule here, not the exception."""
    k, m = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    entries = st.integers(-2, 2)
    H = np.array(data.draw(st.lists(entries, min_size=k * m, max_size=k * m)), float).reshape(k, m)
    X = np.array(data.draw(st.lists(entries, min_size=2 * m, max_size=2 * m)), float).reshape(2, m)
    assert_optimal(H, X)


@pytest.mark.parametrize("k", [5, 50])
def test_many_samples(k: int) -> None:
    rng = np.random.default_rng(k)
    H, X = rng.random((k, 60)), rng.random((400, 60))
    W, certificate = certified(H, X)
    assert certificate.largest < 1e-13
    assert true_kkt(H, X, W).max() < 1e-13
    np.testing.assert_allclose(W[::20], scipy_loop(H, X[::20]), atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_condition_number_1e8(seed: int) -> None:
    rng = np.random.default_rng(seed)
    H = ill_conditioned(rng, 15, 40)
    assert np.linalg.cond(H @ H.T) == pytest.approx(1e8, rel=1e-3)
    assert_optimal(H, rng.standard_normal((50, 40)))
    smooth = np.exp(-0.5 * ((np.arange(40) - np.linspace(0, 39, 15)[:, None]) / 5.5) ** 2)
    assert np.linalg.cond(smooth) ** 2 > 1e8
    assert_optimal(smooth, rng.random((50, 40)))


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_components_that_nearly_cancel(gap: float) -> None:
    """Weights of 1/gap |x|: as near to optimality as rounding of the data lets anyone come, and no worse than scipy's.

    A backward stable solver is exact for components off by |dh_j| <= c u |h_j|, u = 2^-53 (Higham 2002, theorem 20.3).
    With size = sum_j w_j |h_j| + |x|, its weights then leave a gradient of at most c u size |h_j| and a misfit of at
    most c u size over the least. The worst case of c is m k; roundings that do not conspire make it the square root
    (Higham & Mary 2019), 12 here, where 2 to 3.2 is seen. The certificate is computed in doubles: w H - x and its
    product with h_j are sums of k and m terms, which adds sqrt(k) + sqrt(m).
    """
    rng = np.random.default_rng(0)
    H = rng.standard_normal((6, 12))
    H = np.vstack([H, -H + gap * rng.standard_normal((6, 12))])
    X = rng.standard_normal((40, 12))
    W, certificate = certified(H, X)
    best = scipy_loop(H, X)
    u, (k, m) = 2.0**-53, H.shape
    norms = np.linalg.norm(X, axis=1)
    size = best @ np.linalg.norm(H, axis=1) + norms
    assert (misfit(H, X, W) <= misfit(H, X, best) + np.sqrt(m * k) * u * size).all()
    assert (true_kkt(H, X, W) <= np.sqrt(m * k) * u * size / norms).all()
    assert (certificate.kkt <= (np.sqrt(m * k) + np.sqrt(k) + np.sqrt(m)) * u * size / norms).all()


def test_a_failure_of_the_last_resort_shows_in_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(A: np.ndarray, b: np.ndarray) -> None:
        raise RuntimeError("Maximum number of iterations reached.")

    rng = np.random.default_rng(0)
    H = rng.standard_normal((6, 12))
    H = np.vstack([H, -H + 1e-8 * rng.standard_normal((6, 12))])
    X = rng.standard_normal((40, 12))
    monkeypatch.setattr(scipy.optimize, "nnls", give_up)
    W, certificate = certified(H, X)
    assert np.isfinite(W).all()
    assert certificate.largest > 1e-8
    # weights are 1e8 |x|, so the residual itself is known to 1e-8 |x|
    assert (certificate.kkt >= 0.99 * true_kkt(H, X, W) - 1e-7).all()


# --- shapes and scales --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k", "m"), [(0, 3, 4), (5, 1, 4), (1, 1, 1), (5, 9, 4), (5, 30, 1), (40, 4, 1)])
@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "csr"])
def test_shapes(form: Any, n: int, k: int, m: int) -> None:
    rng = np.random.default_rng(n + k + m)
    H, X = rng.standard_normal((k, m)), rng.standard_normal((n, m))
    assert_optimal(H, X)
    W, certificate = certified(H, form(X))
    assert W.shape == (n, k)
    assert certificate.kkt.shape == (n,)
    assert certificate.largest < 1e-13
    assert nnls(H, form(X)).shape == (n, k)


@pytest.mark.parametrize(
    ("H_scale", "X_scale"),
    [
        *itertools.product([1e-150, 1.0, 1e150], repeat=2),
        (1.0, 1e-200),
        (1.0, 1e200),
        (1e-200, 1.0),
        (1e200, 1.0),
    ],
)
@pytest.mark.parametrize("make", [positive, low_rank, duplicated, ill_conditioned], ids=name)
def test_scales(make: Callable[..., np.ndarray], H_scale: float, X_scale: float) -> None:
    rng = np.random.default_rng(2)
    H, X = make(rng, 8, 12), rng.random((10, 12))
    W, certificate = certified(H * H_scale, X * X_scale)
    assert np.isfinite(W).all()
    assert certificate.largest < 1e-10
    assert true_kkt(H * H_scale, X * X_scale, W).max() < 1e-10
    reconstruction = (W / X_scale * H_scale) @ H
    np.testing.assert_allclose(reconstruction, nnls(H, X) @ H, rtol=1e-9, atol=1e-10)


def test_the_certificate_is_relative_at_any_scale() -> None:
    """A wrong answer must not look optimal because a norm over- or underflowed."""
    rng = np.random.default_rng(2)
    H, X = rng.random((3, 12)), rng.random((5, 12))
    gram = Gram.of(H, np.float64)
    wrong = replace(gram, G=gram.G + 0.1 * np.eye(3))  # solves another problem, so the residual is that of refining
    expected = _refined_residual(wrong, X)
    assert expected.max() > 1e-3
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(_refined_residual(wrong, X * scale), expected, rtol=1e-9)


def _refined_residual(gram: Gram, X: np.ndarray) -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[Gram.__module__], "REFINEMENTS", 0)
        patch.setattr(sys.modules[Gram.__module__], "_solve_by_qr", lambda *args: None)
        return certified_block(X, replace(gram, smallest=0.0))[1]


def test_components_of_different_scales() -> None:
    rng = np.random.default_rng(3)
    H, X = rng.random((4, 9)), rng.random((7, 9))
    scales = np.array([1e-150, 1.0, 1e150, 1e-200])
    W, certificate = certified(H * scales[:, None], X)
    assert certificate.largest < 1e-13
    np.testing.assert_allclose(W * scales, nnls(H, X), rtol=1e-10, atol=1e-13)


def test_right_hand_sides_that_ask_for_nothing() -> None:
    rng = np.random.default_rng(4)
    H = rng.random((5, 8))
    W, certificate = certified(H, np.vstack([-rng.random((3, 8)), np.zeros((2, 8))]))
    np.testing.assert_array_equal(W, 0.0)
    assert certificate.largest == 0.0


def test_zero_components_get_weight_zero() -> None:
    rng = np.random.default_rng(5)
    H = np.vstack([np.zeros(6), rng.random((2, 6)), np.zeros(6)])
    X = rng.random((5, 6))
    W = assert_optimal(H, X)
    np.testing.assert_array_equal(W[:, [0, 3]], 0.0)
    np.testing.assert_allclose(W[:, 1:3], nnls(H[1:3], X), rtol=1e-12)
    np.testing.assert_array_equal(nnls(np.zeros((3, 6)), X), 0.0)


def test_exact_mixtures_are_recovered() -> None:
    rng = np.random.default_rng(6)
    H, truth = rng.random((6, 30)), rng.random((20, 6)) * (rng.random((20, 6)) < 0.5)
    np.testing.assert_allclose(nnls(H, truth @ H), truth, atol=1e-12)


# --- kinds of data ------------------------------------------------------------------------------------------

RNG = np.random.default_rng(7)
H = RNG.random((5, 11))
X = np.maximum(RNG.standard_normal((23, 11)), 0.0).round(3)


def test_float32_in_is_float32_out() -> None:
    W, certificate = certified(H, X.astype(np.float32))
    assert W.dtype == np.float32
    assert certificate.largest < 1e-6
    np.testing.assert_allclose(W, nnls(H, X), rtol=1e-4, atol=1e-5)
    sparse = nnls(H.astype(np.float32), sp.csr_array(X.astype(np.float32)))
    assert sparse.dtype == np.float32
    np.testing.assert_allclose(sparse, W, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", [low_rank, duplicated, nearly_duplicated, ill_conditioned, opposite], ids=name)
def test_float32_data_with_dependent_components_need_no_last_resort(
    make: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    def last_resort(*args: Any) -> None:
        raise AssertionError("a slow loop over rows")

    monkeypatch.setattr(sys.modules[Gram.__module__], "_solve_by_qr", last_resort)
    rng = np.random.default_rng(1)
    H, X = make(rng, 8, 11), rng.random((50, 11)).astype(np.float32)
    W, certificate = certified(H, X)
    assert certificate.largest < 1e-6
    # of the weights as they are, rounded to single precision
    assert (certificate.kkt >= 0.99 * true_kkt(H, X.astype(float), W.astype(float))).all()
    np.testing.assert_allclose(misfit(H, X, W), misfit(H, X, scipy_loop(H, X.astype(float))), rtol=1e-3)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_integers_equal_float64(dtype: str) -> None:
    values, components = (3 * X).astype(dtype), (9 * H).astype(dtype)
    W = nnls(components, values)
    assert W.dtype == np.float64
    np.testing.assert_array_equal(W, nnls(components.astype(float), values.astype(float)))


@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, sp.csc_array], ids=["csr", "csr-matrix", "csc"])
def test_sparse_equals_dense_to_rounding(form: Any) -> None:
    W, certificate = certified(H, form(X))
    np.testing.assert_allclose(W, nnls(H, X), rtol=1e-12, atol=1e-13)
    assert certificate.largest < 1e-14


@pytest.mark.parametrize("make", [positive, low_rank, ill_conditioned], ids=name)
@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("block_rows", [1, 4, 100])
def test_partition_does_not_matter(make: Callable[..., np.ndarray], form: Any, block_rows: int) -> None:
    H = make(np.random.default_rng(8), 6, 11)
    W = nnls(H, MemorySource(form(X), block_rows=block_rows))
    # rounding of the gradient divided by the smallest singular value of H
    tolerance = 1e-12 if make is not ill_conditioned else 1e-15 * np.linalg.cond(H)
    np.testing.assert_allclose(W @ H, nnls(H, X) @ H, rtol=0, atol=np.abs(X).max() * tolerance)
    if make is positive:
        np.testing.assert_allclose(W, nnls(H, X), rtol=1e-12, atol=1e-13)


def test_order_of_rows_does_not_matter() -> None:
    order = np.random.default_rng(9).permutation(len(X))
    np.testing.assert_allclose(nnls(H, X[order]), nnls(H, X)[order], rtol=1e-12, atol=1e-13)


def test_paths_and_sources(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    np.testing.assert_array_equal(nnls(H, tmp_path / "X.npy"), nnls(H, X))
    np.testing.assert_array_equal(nnls(H.tolist(), source_of(os.fspath(tmp_path))), nnls(H, X))


@pytest.mark.parametrize("make", [positive, ill_conditioned], ids=name)
def test_inputs_are_not_modified(make: Callable[..., np.ndarray]) -> None:
    H = make(np.random.default_rng(8), 6, 11)
    A, before_H, before_X = sp.csr_array(X), H.copy(), X.copy()
    certified(H, X)
    certified(H, A)
    np.testing.assert_array_equal(H, before_H)
    np.testing.assert_array_equal(X, before_X)
    np.testing.assert_array_equal(A.toarray(), before_X)


# --- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("certificate", [False, True], ids=["weights", "certificate"])
@pytest.mark.parametrize("make", [positive, duplicated, ill_conditioned], ids=name)
def test_rows_that_are_not_finite_are_named(make: Any, value: float, form: Any, certificate: bool) -> None:
    H = make(np.random.default_rng(8), 6, 11)
    bad = X.copy()
    bad[[5, 17], 3] = value
    with pytest.raises(InputError, match=r"X contains NaN or infinity in row 5.*2 row\(s\) in all"):
        nnls(H, MemorySource(form(bad), block_rows=4), return_certificate=certificate)


def with_entry(value: float) -> np.ndarray:
    bad = H.copy()
    bad[2, 3] = value
    return bad


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (H[:, :4], "H has 4 features .* but the data has 11"),
        (H.T, "H has 5 features .* but the data has 11"),
        (H[0], r"H must have shape .* got \(11,\)"),
        (np.empty((0, 11)), r"H must have shape .* at least one row; got \(0, 11\)"),
        (with_entry(np.nan), "H contains 1 NaN or infinity .* row 2, column 3"),
        (with_entry(-np.inf), "H contains 1 NaN or infinity .* row 2, column 3"),
        ([["a"] * 11], "H must be a matrix of real numbers"),
        (H + 1j, "H must be a matrix of real numbers"),
        ([[1.0, 2.0], [3.0]], "H must be a matrix of real numbers"),
        (None, "H must"),
    ],
    ids=["columns", "transposed", "vector", "no-rows", "nan", "inf", "strings", "complex", "ragged", "none"],
)
def test_components_that_cannot_be_used(bad: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        nnls(bad, X)


def test_data_that_cannot_be_used() -> None:
    with pytest.raises(InputError, match="X must have two dimensions"):
        nnls(H, X[0])
    with pytest.raises(InputError, match="X must hold real numbers"):
        nnls(H, X + 1j)


# --- penalties ----------------------------------------------------------------------------------------------


def penalised(H: np.ndarray, X: np.ndarray, l1: float = 0.0, l2: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    return certified_block(X, Gram.of(H, X.dtype, l1=l1, l2=l2))


MAKERS = [plain, positive, duplicated, with_zeros, low_rank, ill_conditioned]


@pytest.mark.parametrize("make", MAKERS, ids=name)
@pytest.mark.parametrize("l2", [1e-6, 0.1, 10.0])
def test_l2_is_least_squares_with_more_features(make: Callable[..., np.ndarray], l2: float) -> None:
    rng = np.random.default_rng(10)
    H = make(rng, 7, 12)
    X = rng.standard_normal((15, 12))
    W, kkt = penalised(H, X, l2=l2)
    more_H, more_X = np.hstack([H, np.sqrt(l2) * np.eye(7)]), np.hstack([X, np.zeros((15, 7))])
    expected = scipy_loop(more_H, more_X)
    np.testing.assert_allclose(W, expected, rtol=1e-6, atol=1e-9)
    assert kkt.max() < 1e-10
    assert true_kkt(more_H, more_X, W).max() < 1e-10


@pytest.mark.parametrize("make", MAKERS, ids=name)
@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("l1", [1e-3, 0.5, 100.0])
def test_l1_shifts_the_gradient(make: Callable[..., np.ndarray], l1: float, l2: float) -> None:
    rng = np.random.default_rng(11)
    H = make(rng, 7, 12)
    X = rng.standard_normal((15, 12))
    W, kkt = penalised(H, X, l1=l1, l2=l2)
    g = (W @ H - X) @ H.T + l1 + l2 * W
    g /= np.linalg.norm(X, axis=1)[:, None] * np.maximum(np.linalg.norm(H, axis=1), 1e-3)
    assert (W >= 0.0).all()
    assert np.where(W > 0.0, np.abs(g), np.maximum(-g, 0.0)).max() < 1e-9
    assert kkt.max() < 1e-9
    if l1 == 100.0:
        np.testing.assert_array_equal(W, 0.0)


@pytest.mark.parametrize("scale", [1e-200, 1e150])
def test_no_penalty_at_any_scale(scale: float) -> None:
    gram = Gram.of(H * scale, np.float64)
    assert np.isfinite(gram.G).all()
    assert not gram.shift.any()
    assert not gram.ridge.any()


@pytest.mark.parametrize(("h", "x"), [(1e-200, 1e150), (1e-310, 1.0), (1e200, 1e-150)])
def test_weights_outside_the_range_of_the_type_are_refused(h: float, x: float) -> None:
    with pytest.raises(InputError, match="row 0, or its weights leave the range of float64"):
        nnls(np.eye(3) * h, np.full((2, 3), x))


def test_sparse_components() -> None:
    np.testing.assert_array_equal(nnls(sp.csr_array(H), X), nnls(H, X))
