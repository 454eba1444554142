"""Minimum volume: the parts where no sample is pure, stationary points with a certificate, weights by the noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms.engine import Volume
from partwise.algorithms.minvol import points_of
from partwise.algorithms.signal import find_signal
from partwise.exceptions import DegenerateDataWarning
from partwise.sources import source_of

M = 60


def mixture(k: int, purity: float, *, n: int = 600, noise: float = 0.01, seed: int = 0) -> tuple[Any, Any, Any]:
    """Weights of a Dirichlet law none of which is above the purity; samples of sizes of their own."""
    rng = np.random.default_rng(seed)
    parts = 0.3 + rng.gamma(1.0, size=(k, M))
    W = rng.dirichlet([0.6] * k, size=20 * n)
    W = W[W.max(axis=1) <= purity][:n]
    assert len(W) == n
    sizes = rng.uniform(0.5, 2.0, (n, 1))
    return np.maximum(sizes * (W @ parts) + noise * rng.standard_normal((n, M)), 0.0), parts, W


def angle(model: Any, parts: np.ndarray) -> float:
    return float(pw.metrics.spectral_angles(model.components_, parts).mean())


# weights up to 2 / k, 0.67 for three parts, are not scattered enough (see test_scattering.py)
@pytest.mark.parametrize(("k", "purity"), [(3, 0.8), (4, 0.6), (4, 0.9), (5, 0.7)])
def test_parts_without_pure_samples(k: int, purity: float) -> None:
    X, parts, _ = mixture(k, purity)
    model = pw.MinVol(k, random_state=0).fit(X)
    picked = min(angle(one.fit(X), parts) for one in (pw.SPA(k), pw.PreconditionedSPA(k), pw.XRAY(k)))
    assert model.converged_
    assert angle(model, parts) < picked / 3.0
    assert model.scattering_ == "scattered"
    assert angle(model, parts) < 1.0


def test_the_objective_never_rises_while_the_weight_stays() -> None:
    X, _, _ = mixture(4, 0.8, noise=1e-3)
    history = pw.MinVol(4, random_state=0).fit(X).history_
    weights = history["weight"]
    assert len(np.unique(weights)) > 2
    assert (np.diff(weights) <= 0.0).all()
    same = np.diff(weights) == 0.0
    rounding = 65 * np.finfo(float).eps * np.square(X).sum(axis=1).mean()  # as the engine has it
    assert (np.diff(history["objective"])[same] <= rounding).all()


def test_the_certificate_is_of_the_problem_it_solves() -> None:
    """Gradients of the objective itself, by its three lines, at the parts found and their exact weights."""
    X, _, _ = mixture(3, 0.8)
    model = pw.MinVol(3, tol=0.01, random_state=0).fit(X)
    signal = find_signal(source_of(X), 3, squared_norm=float((X**2).sum()), rng=np.random.default_rng(0))
    D = np.asarray(points_of(signal).rows.take(np.arange(len(X))))
    T = model.components_ @ signal.basis.T

    def value(T: np.ndarray) -> float:
        heavy = 1e4  # what weights sum to
        W = pw.nnls(np.c_[T, np.full(len(T), heavy)], np.c_[D, np.full(len(D), heavy)])
        fit = 0.5 * ((D - W @ T) ** 2).sum() / len(D)
        return float(fit + 0.5 * model.weight_ * np.linalg.slogdet(T @ T.T)[1])

    pull = model.weight_ * np.linalg.inv(T).T  # of the volume alone
    gradient, h = np.empty_like(T), 1e-5
    for place in np.ndindex(T.shape):
        E = np.zeros_like(T)
        E[place] = h
        gradient[place] = (value(T + E) - value(T - E)) / (2.0 * h)
    assert np.linalg.norm(gradient) < 0.1 * np.linalg.norm(pull)
    assert value(T) == pytest.approx(model.history_["objective"][-1], rel=1e-6)


def test_the_weight_is_the_variance_of_the_noise() -> None:
    X, _, _ = mixture(4, 0.8, noise=0.02)
    model = pw.MinVol(4, random_state=0, max_iter=1, tol=0.0).fit(X)
    sizes = X.sum(axis=1)
    assert model.weight_ == pytest.approx((0.02 * np.median(sizes.mean() / sizes)) ** 2, rel=0.1)
    assert pw.MinVol(4, weight=0.3, random_state=0, max_iter=1, tol=0.0).fit(X).weight_ == 0.3


@pytest.mark.filterwarnings("ignore::partwise.exceptions.DegenerateDataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_too_large_a_weight_cuts_corners_and_too_small_a_one_follows_the_noise() -> None:
    X, parts, _ = mixture(3, 0.8, noise=0.03)
    right = pw.MinVol(3, random_state=0).fit(X)
    for factor in (0.02, 50.0):
        other = pw.MinVol(3, weight=factor * right.weight_, max_iter=300, random_state=0).fit(X)
        assert angle(right, parts) < angle(other, parts)


KINDS = {
    "csr": lambda X, tmp: sp.csr_array(X),
    "memmap": lambda X, tmp: (np.save(tmp / "X.npy", X), np.load(tmp / "X.npy", mmap_mode="r"))[1],
    "dask": lambda X, tmp: da.from_array(X, chunks=(200, -1)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_source(kind: str, tmp_path: Path) -> None:
    X, _, _ = mixture(3, 0.8)
    here = pw.MinVol(3, random_state=0, max_iter=15, tol=0.0).fit(X)
    there = pw.MinVol(3, random_state=0, max_iter=15, tol=0.0).fit(KINDS[kind](X, tmp_path))
    np.testing.assert_allclose(there.components_, here.components_, rtol=1e-7, atol=1e-9)


def test_noisy_samples_are_drawn_to_the_middle_and_empty_ones_too() -> None:
    X, parts, _ = mixture(3, 0.8)
    rng = np.random.default_rng(1)
    X[:30] = np.maximum(X[:30] + 0.5 * rng.standard_normal((30, M)), 0.0)
    X[30:40] = 0.0
    with pytest.warns(DegenerateDataWarning, match="zero"):
        model = pw.MinVol(3, random_state=0).fit(X)
    assert angle(model, parts) < 1.0


def test_volume_needs_weights_that_cannot_grow() -> None:
    F = np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    assert Volume(2.0, 0.0).value(F) == pytest.approx(np.log(4.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_precision(dtype: Any) -> None:
    X, parts, _ = mixture(3, 0.8)
    model = pw.MinVol(3, random_state=0).fit(X.astype(dtype))
    assert model.components_.dtype == dtype
    assert model.converged_
    assert angle(model, parts) < 1.0
