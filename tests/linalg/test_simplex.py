"""Weights on the simplex: the nearest mixture and the likeliest one, whatever holds the rows."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from partwise.exceptions import InputError
from partwise.linalg import MixtureCertificate, mixture_weights
from partwise.sources import source_of

LOSSES = ["l2", "kl"]


def mixtures(k: int = 6, m: int = 15, n: int = 40, noise: float = 0.02) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(k)
    H = rng.dirichlet(np.full(m, 0.5), size=k)
    W = rng.dirichlet(np.full(k, 0.3), size=n)
    return H, W @ H + noise * rng.random((n, m)), W


def certified(H: Any, X: Any, loss: str) -> tuple[np.ndarray, MixtureCertificate]:
    W, certificate = mixture_weights(H, X, loss=loss, return_certificate=True)
    return W, certificate


def by_penalty(H: np.ndarray, x: np.ndarray, weight: float = 1e5) -> np.ndarray:
    return scipy.optimize.nnls(np.vstack([H.T, np.full(len(H), weight)]), np.append(x, weight))[0]


@pytest.mark.parametrize(("k", "m"), [(1, 3), (2, 3), (6, 15), (20, 8), (40, 100)])
def test_nearest_against_scipy_with_a_penalty(k: int, m: int) -> None:
    H, X, _ = mixtures(k, m)
    X = X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)
    W, certificate = certified(H, X, "l2")
    peers = np.array([by_penalty(H, x) for x in X])
    peers /= peers.sum(axis=1, keepdims=True)
    assert certificate.largest < 1e-13
    assert (np.linalg.norm(X - W @ H, axis=1) <= np.linalg.norm(X - peers @ H, axis=1) + 1e-12).all()
    np.testing.assert_allclose(W @ H, peers @ H, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_exact_mixtures_come_back(loss: str) -> None:
    H, _, W = mixtures()
    found, certificate = certified(H, W @ H, loss)
    assert certificate.largest < 1e-10
    np.testing.assert_allclose(found, W, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


def test_no_other_weights_are_nearer() -> None:
    H, X, _ = mixtures()
    best, certificate = certified(H, X, "l2")
    assert certificate.gap.shape == (40,)
    others = np.random.default_rng(0).dirichlet(np.ones(6), size=40)
    assert (np.linalg.norm(X - best @ H, axis=1) <= np.linalg.norm(X - others @ H, axis=1) + 1e-14).all()


@pytest.mark.parametrize("offset", [1.0, 1e4])
def test_what_components_have_in_common_does_not_matter(offset: float) -> None:
    H, X, _ = mixtures()
    np.testing.assert_allclose(mixture_weights(H + offset, X + offset), mixture_weights(H, X), atol=1e-10 * offset)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", ["csr", "csc", "chunked", "dask", "float32"])
def test_where_rows_live_does_not_matter(loss: str, form: str) -> None:
    H, X, _ = mixtures()
    X = X * (X > 0.03)
    forms = {
        "csr": sp.csr_array,
        "csc": sp.csc_array,
        "chunked": lambda X: source_of(X, block_rows=7),
        "dask": lambda X: da.from_array(X, chunks=(9, 4)),
        "float32": lambda X: X.astype(np.float32),
    }
    W = mixture_weights(H, X, loss=loss)
    other = mixture_weights(H, forms[form](X), loss=loss)
    assert other.dtype == (np.float32 if form == "float32" else np.float64)
    np.testing.assert_allclose(other, W, atol=1e-4 if form == "float32" else 1e-11)


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e200])
def test_likeliest_weights_of_any_scale(scale: float) -> None:
    H, X, _ = mixtures()
    np.testing.assert_allclose(mixture_weights(H, scale * X, loss="kl"), mixture_weights(H, X, loss="kl"), atol=1e-9)


def test_features_that_no_component_has_say_nothing() -> None:
    H, X, _ = mixtures()
    H = np.hstack([H, np.zeros((6, 2))])
    wide = np.hstack([X, np.ones((40, 2))])
    np.testing.assert_allclose(mixture_weights(H, wide, loss="kl"), mixture_weights(H[:, :15], X, loss="kl"), atol=1e-9)
    unknown = np.zeros((1, 17))
    unknown[0, -1] = 3.0
    np.testing.assert_allclose(mixture_weights(H, unknown, loss="kl"), 1 / 6)


def test_a_matrix_with_stored_zeros_is_not_modified() -> None:
    H, X, _ = mixtures()
    H = np.hstack([H, np.zeros((6, 1))])
    given = sp.csr_array(np.hstack([X, np.ones((40, 1))]))
    given.data[::5] = 0.0
    before = given.copy()
    W = mixture_weights(H, given, loss="kl")
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(given, part), getattr(before, part))
    np.testing.assert_array_equal(W, mixture_weights(H, given.toarray(), loss="kl"))


@pytest.mark.parametrize("loss", LOSSES)
def test_one_component_takes_all(loss: str) -> None:
    H, X, _ = mixtures(1)
    W, certificate = certified(H, X, loss)
    np.testing.assert_allclose(W, 1.0, rtol=1e-15)
    assert certificate.largest < 1e-12


@pytest.mark.parametrize(
    ("H", "X", "loss", "message"),
    [
        (np.ones((2, 3)), np.ones((4, 3)), "l1", "loss='l1' is unknown"),
        (np.ones((2, 4)), np.ones((4, 3)), "l2", "H has 4 features"),
        (-np.ones((2, 3)), np.ones((4, 3)), "kl", "H has negative entries"),
        (np.ones((2, 3)), -np.ones((4, 3)), "kl", "Negative values in data passed to X"),
        (np.ones((2, 3)), np.full((4, 3), np.nan), "l2", "NaN or infinity"),
    ],
    ids=["loss", "features", "negative-H", "negative-X", "nan"],
)
def test_what_cannot_be_used_is_refused(H: Any, X: Any, loss: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mixture_weights(H, X, loss=loss)
