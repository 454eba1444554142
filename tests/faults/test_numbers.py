"""No certificate for what another solver beats; numbers out of range are refused, not fitted."""

from __future__ import annotations

import inspect
from contextlib import suppress

import dask.array as da
import numpy as np
import pytest
from scipy.optimize import nnls as by_scipy

import partwise as pw
from partwise.algorithms.engine.divergence import Divergence
from partwise.exceptions import InputError


def misfit(x: np.ndarray, w: np.ndarray, H: np.ndarray) -> float:
    """In long double: what the weights leave of the sample."""
    rest = x.astype(np.longdouble) - w.astype(np.longdouble) @ H.astype(np.longdouble)
    return float(np.sqrt(np.sum(rest**2)))


def rivals(x: np.ndarray, H: np.ndarray) -> list[np.ndarray]:
    """Weights by SciPy's solver: of the problem as it is, of unit components, and with features in falling order."""
    lengths, order = np.linalg.norm(H, axis=1), np.argsort(-np.abs(H).max(axis=0))
    unit = (H / lengths[:, None]).T
    found = []
    for A, b, scale in ((H.T, x, np.ones(len(H))), (unit, x, lengths), (unit[order], x[order], lengths)):
        with suppress(RuntimeError):  # too many exchanges: no rival
            found.append(by_scipy(A, b)[0] / scale)
    return found


@pytest.mark.parametrize("problem", [12, 133, 216, 247, 267, 277, 310])
def test_no_certificate_passes_what_a_qr_solve_beats(problem: int):
    """Features of scales 1e-8 to 1e8, samples of scale 1: components nearly cancel in all but small features."""
    rng = np.random.default_rng([7, problem])
    k = int(rng.integers(20, 40))
    m = int(rng.integers(k // 2, k + 5))
    scales = 10.0 ** rng.uniform(-8, 8, m)
    H, X = rng.normal(size=(k, m)) * scales, rng.random((10, m))
    W, certificate = pw.nnls(H, X, return_certificate=True)
    for x, w, kkt in zip(X, W, certificate.kkt, strict=True):
        best = min((misfit(x, other, H) for other in rivals(x, H)), default=np.inf)
        assert (misfit(x, w, H) - best) / np.linalg.norm(x) <= 1e-6 or kkt >= 1e-8


@pytest.mark.parametrize("problem", [182, 238, 497])
def test_no_certificate_passes_what_the_last_digits_of_dependent_components_fit(problem: int):
    """Components in fewer dimensions than there are of them: weights of 1e12 reach out of these by their rounding."""
    rng = np.random.default_rng([0, 5, problem])
    k = int(rng.integers(2, 24))
    m = int(rng.integers(max(2, k // 2), 2 * k + 4))
    rank = int(rng.integers(1, max(2, min(k, m))))
    H = rng.normal(size=(k, rank)) @ rng.normal(size=(rank, m))
    X = rng.normal(size=(100, m))
    W, certificate = pw.nnls(H, X, return_certificate=True)
    np.testing.assert_array_equal(W, pw.nnls(H, X))
    away = pw.nnls(H, da.from_array(X, chunks=(30, m)), return_certificate=True)[1]
    np.testing.assert_allclose(away.undetermined, certificate.undetermined, rtol=1e-6)
    beaten = 0
    for x, w, kkt, open_ in zip(X, W, certificate.kkt, certificate.undetermined, strict=True):
        best = min((misfit(x, other, H) for other in rivals(x, H)), default=np.inf)
        worse = (misfit(x, w, H) - best) / np.linalg.norm(x) > 1e-6
        assert not worse or max(kkt, open_) >= 1e-8
        beaten += worse
    assert beaten > 0
    # parts that are not negative depend on each other too, and never cancel
    assert not pw.nnls(np.abs(H[[0, 1, 0]]), X, return_certificate=True)[1].undetermined.any()


@pytest.mark.parametrize(("beta", "smallest"), [(1.0, 1e-323), (0.0, 1e-300)])
def test_an_entry_next_to_nothing_leaves_the_objective_finite(beta: float, smallest: float):
    x, y = np.array([smallest, 1.0, 2.0]), np.array([1e10, 1.0, 2.0])
    assert np.isfinite(Divergence(beta).value(x, y))


@pytest.mark.parametrize(
    ("beta", "scale", "dtype"),
    [(3.0, 1e140, float), (3.0, 1e-140, float), (-1.0, 1e-140, float), (-1.0, 1e-12, np.float32)],
)
def test_powers_out_of_range_are_refused(beta: float, scale: float, dtype: type):
    X = (np.random.default_rng(0).uniform(1.0, 2.0, (20, 5)) * scale).astype(dtype)
    with pytest.raises(InputError, match="leave the range of") as caught:
        pw.MU(2, beta_loss=beta, max_iter=5).fit(X)
    assert caught.value.kind == "out-of-range"
    model = pw.MU(2, beta_loss=beta, max_iter=50, tol=1.0).fit(X / X.max())
    assert model.reconstruction_error_ < 1.0


def test_weights_without_a_certificate_are_not_called_exact():
    assert "approximate" in inspect.getdoc(pw.MU.transform)
    assert "exact" in inspect.getdoc(pw.HALS.transform)
