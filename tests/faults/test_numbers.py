"""No certificate for what another solver beats; numbers out of range are refused, not fitted."""

from __future__ import annotations

import inspect

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


@pytest.mark.parametrize("spread", [2, 8])
@pytest.mark.parametrize("k", [3, 10])
def test_no_certificate_passes_what_a_qr_solve_beats(k: int, spread: int):
    rng = np.random.default_rng([spread, k])
    worse = []
    for _ in range(30):
        m = int(rng.integers(k, 4 * k))
        scales = 10.0 ** rng.uniform(-spread, spread, m)
        H, X = rng.gamma(0.5, size=(k, m)) * scales, rng.gamma(0.5, size=(10, m)) * scales
        W, certificate = pw.nnls(H, X, return_certificate=True)
        for x, w, kkt in zip(X, W, certificate.kkt, strict=True):
            order = np.argsort(-np.abs(H).max(axis=0))
            lengths = np.linalg.norm(H, axis=1)
            other = by_scipy((H / lengths[:, None]).T[order], x[order])[0] / lengths
            excess = (misfit(x, w, H) - misfit(x, other, H)) / np.linalg.norm(x)
            if excess > 1e-6 and kkt < 1e-8:
                worse.append((excess, kkt))
    assert worse == []


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
