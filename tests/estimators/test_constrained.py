"""What is known of parts and weights beforehand: held, optimal by other solvers, and refused where it cannot be."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import partwise as pw
from partwise.algorithms.engine import AtMostOne, Bounds, Sparse, Unimodal
from partwise.exceptions import InputError

RNG = np.random.default_rng(3)
N, M, K = 60, 24, 3
TRUE = np.array([np.exp(-0.5 * ((np.arange(M) - c) / 3.0) ** 2) for c in (5, 12, 18)])
X = RNG.dirichlet([0.5] * K, N) @ TRUE + 0.01 * RNG.random((N, M))
every = pytest.mark.parametrize("make", [pw.HALS, pw.ANLS], ids=["hals", "anls"])


def stationary(model: Any, W: np.ndarray, H: np.ndarray, free: np.ndarray) -> None:
    """The gradient of the squared error in H vanishes at free entries that are not zero, and is positive at zeros."""
    g = W.T @ (W @ H - X)
    size = np.linalg.norm(X) * np.linalg.norm(W, axis=0)[:, None]
    assert np.abs(np.where(free & (H > 1e-9), g, 0.0) / size).max() < 1e-4
    assert np.where(free, g / size, 0.0).min() > -1e-4


@every
def test_fixed_parts_are_kept_and_the_others_are_optimal(make: Any) -> None:
    model = make(K, fixed=TRUE[1:2], tol=1e-6, max_iter=5000)
    W = model.fit_transform(X)
    assert model.converged_
    np.testing.assert_array_equal(model.components_[0], TRUE[1])
    free = np.ones((K, M), bool)
    free[0] = False
    stationary(model, W, model.components_, free)
    assert pw.metrics.match_components(model.components_, TRUE).errors.max() < 0.05
    again = make(K, fixed=TRUE[1:2], init=model.components_[1:], tol=1e-5).fit(X)
    assert again.n_iter_ <= 20
    alone = make(1, fixed=TRUE[:1], max_iter=3).fit(X)
    np.testing.assert_array_equal(alone.components_, TRUE[:1])


@every
def test_bounds_and_zero_patterns(make: Any) -> None:
    upper = np.full((K, M), np.inf)
    upper[0, 12:], upper[1, 3] = 0.0, 0.2
    model = make(K, bounds=(0.0, upper), tol=1e-6, max_iter=5000)
    W = model.fit_transform(X)
    assert model.converged_
    assert not model.components_[0, 12:].any()
    assert model.components_[1, 3] <= 0.2
    stationary(model, W, model.components_, model.components_ < upper)


@every
@pytest.mark.parametrize("closure", ["one", "at-most-one"])
@pytest.mark.parametrize("missing", [None, "nan"])
def test_weights_with_a_sum(make: Any, closure: str, missing: Any) -> None:
    data = X if missing is None else np.where(RNG.random(X.shape) < 0.8, X, np.nan)
    model = make(K, closure=closure, missing=missing, tol=1e-5, max_iter=5000)
    W = model.fit_transform(data)
    assert model.converged_
    assert W.min() >= 0.0
    sums = W.sum(axis=1)
    assert (np.abs(sums - 1.0) < 1e-8).all() if closure == "one" else (sums < 1.0 + 1e-8).all()
    # no other weights of this sum are better: SLSQP on some rows
    known, H = ~np.isnan(data), model.components_
    kind = "eq" if closure == "one" else "ineq"
    for i in range(0, N, 20):
        h, x = H[:, known[i]], data[i, known[i]]
        best = minimize(
            lambda w, h=h, x=x: ((x - w @ h) ** 2).sum(),
            np.full(K, 0.3),
            bounds=[(0.0, None)] * K,
            constraints={"type": kind, "fun": lambda w: 1.0 - w.sum()},
        ).fun
        assert ((x - W[i] @ h) ** 2).sum() <= best + 1e-7


@every
def test_smooth_parts(make: Any) -> None:
    steps = []
    for smooth in (0.0, 0.01, 0.1):
        model = make(K, closure="one", smooth_H=smooth, tol=1e-6, max_iter=5000)
        W = model.fit_transform(X)
        assert model.converged_
        H, D = model.components_, np.diff(np.eye(M), axis=0)
        g = W.T @ (W @ H - X) + N * smooth * H @ D.T @ D
        size = np.linalg.norm(X) * np.linalg.norm(W, axis=0)[:, None]
        assert np.abs(np.where(H > 1e-9, g, np.minimum(g, 0.0)) / size).max() < 1e-4
        steps.append((np.diff(H) ** 2).sum())
    assert steps[2] < steps[1] < steps[0]


def volume_cost(H: np.ndarray, volume: float) -> tuple[float, np.ndarray]:
    """``volume/2 log det(H H' + volume)`` of a sample and its gradient, by eigenvalues."""
    values, vectors = np.linalg.eigh(H @ H.T + volume * np.eye(len(H)))
    return 0.5 * volume * np.log(values).sum(), volume * (vectors / values) @ vectors.T @ H


@every
def test_parts_of_a_small_volume(make: Any) -> None:
    """Stationary, by a gradient of another formula, and the smaller the more it costs."""
    volumes = []
    for volume in (0.0, 1e-3, 1e-2):
        model = make(K, closure="one", volume_H=volume, tol=1e-6, max_iter=5000)
        W = model.fit_transform(X)
        assert model.converged_
        H = model.components_
        g = W.T @ (W @ H - X) + N * (volume_cost(H, volume)[1] if volume else 0.0)
        size = np.linalg.norm(X) * np.linalg.norm(W, axis=0)[:, None]
        assert np.abs(np.where(H > 1e-9, g, np.minimum(g, 0.0)) / size).max() < 1e-4
        volumes.append(np.linalg.det(H @ H.T))
    assert volumes[2] < volumes[1] < volumes[0]


@given(st.integers(0, 10**6), st.sampled_from([1e-2, 0.1]), st.booleans())
@settings(max_examples=10, derandomize=True, deadline=None)
def test_volume_against_a_general_solver(seed: int, volume: float, holes: bool) -> None:
    """L-BFGS-B on both factors finds nothing lower from where the fit ended."""
    rng = np.random.default_rng(seed)
    n, m, l2 = 12, 7, 0.01
    data = rng.gamma(0.5, size=(n, 2)) @ rng.gamma(0.5, size=(2, m)) + 0.05 * rng.random((n, m))
    M = rng.random((n, m)) < 0.8 if holes else np.ones((n, m), bool)
    M[0], M[:, 0] = True, True

    def cost(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W, H = flat[: 2 * n].reshape(n, 2), flat[2 * n :].reshape(2, m)
        R, (pull, g) = np.where(M, W @ H - data, 0.0), volume_cost(H, volume)
        value = 0.5 * (R**2).sum() + 0.5 * m * l2 * (W**2).sum() + n * pull
        return value, np.r_[(R @ H.T + m * l2 * W).ravel(), (W.T @ R + n * g).ravel()]

    model = pw.HALS(2, l2_W=l2, volume_H=volume, missing="nan" if holes else None, tol=1e-6, max_iter=20_000)
    W = model.fit_transform(np.where(M, data, np.nan))
    assert model.converged_
    start = np.r_[W.ravel(), model.components_.ravel()]
    solved = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start))
    assert cost(start)[0] <= solved.fun + 1e-6 * (data**2).sum()
    assert model.history_["objective"][-1] == pytest.approx(cost(start)[0], rel=1e-6)


def test_the_volume_finds_corners_that_no_sample_has() -> None:
    """As `MinVol` does: from purities of at most .8, with the variance of the noise."""
    rng = np.random.default_rng(0)
    parts, weights = rng.gamma(0.5, size=(3, 30)), rng.dirichlet([0.6] * 3, size=1000)
    weights = weights[weights.max(axis=1) < 0.8]
    data = np.maximum(weights @ parts + 0.03 * rng.standard_normal((len(weights), 30)), 0.0)
    found = [
        model.fit(data).components_
        for model in (
            pw.HALS(3, closure="one"),
            pw.HALS(3, closure="one", volume_H=0.03**2, tol=1e-7, max_iter=20_000),
            pw.MinVol(3, random_state=0),
        )
    ]
    plain, ours, minvol = (pw.metrics.spectral_angles(H, parts).max() for H in found)
    assert max(ours, minvol) < 0.75 * plain  # .46 and .56 degrees, and .87


@every
def test_parts_with_one_peak(make: Any) -> None:
    model = make(K, unimodal_H=True, tol=1e-5, max_iter=3000).fit(X)
    assert model.converged_
    for h in model.components_:
        signs = np.sign(np.diff(h))
        assert (np.diff(signs[signs != 0]) <= 0).all()


@every
def test_sparse_parts(make: Any) -> None:
    model = make(K, sparseness_H=0.7, tol=1e-5, max_iter=3000).fit(X)
    assert model.converged_
    H, root = model.components_, np.sqrt(M)
    sparseness = (root - H.sum(axis=1) / np.linalg.norm(H, axis=1)) / (root - 1.0)
    assert (sparseness >= 0.7 - 1e-9).all()


vectors = st.lists(st.integers(-200, 200).map(lambda x: x / 100.0), min_size=2, max_size=6)


@given(vectors)
@settings(max_examples=30, derandomize=True, deadline=None)
def test_the_nearest_vector_with_one_peak(values: list[float]) -> None:
    """Against the best of all peaks, each a quadratic program of its own."""
    c = np.array(values)
    found = Unimodal().nearest(c)
    m, best = len(c), np.inf
    for peak in range(m):
        rules = [(i, i + 1) if i < peak else (i + 1, i) for i in range(m - 1)]
        solved = minimize(
            lambda h: ((h - c) ** 2).sum(),
            np.maximum(c, 0.0).mean() * np.ones(m),
            jac=lambda h: 2 * (h - c),
            bounds=[(0.0, None)] * m,
            constraints=[{"type": "ineq", "fun": lambda h, a=a, b=b: h[b] - h[a]} for a, b in rules],
            method="SLSQP",
        )
        best = min(best, solved.fun)
    assert ((found - c) ** 2).sum() <= best + 1e-6
    assert found.min() >= 0.0
    assert all(b >= a for a, b in pairwise(found[: found.argmax() + 1]))
    assert all(b <= a for a, b in pairwise(found[found.argmax() :]))


@given(vectors, st.floats(0.0, 1.0))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_the_nearest_sparse_vector(values: list[float], sparseness: float) -> None:
    """Sparse enough, and no random vector that is so is nearer."""
    c, root = np.array(values), np.sqrt(len(values))
    found = Sparse(sparseness).nearest(c)
    most = root - sparseness * (root - 1.0)
    assert found.sum() <= most * np.linalg.norm(found) * (1.0 + 1e-7)
    others = np.maximum(np.random.default_rng(0).standard_normal((2000, len(c))), 0.0) ** 3
    lengths = np.linalg.norm(others, axis=1)
    others = others[(others.sum(axis=1) <= most * lengths) & (lengths > 0.0)]
    d = others / np.linalg.norm(others, axis=1)[:, None]
    nearest = (np.maximum(c @ d.T, 0.0)[:, None] * d - c) ** 2
    assert ((found - c) ** 2).sum() <= nearest.sum(axis=1).min(initial=(c**2).sum()) + 1e-6


@given(st.integers(0, 10**6))
@settings(max_examples=10, derandomize=True, deadline=None)
def test_rows_of_the_constraints_against_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((6, 3)), rng.standard_normal(3)
    G, low, high = A.T @ A + 0.1 * np.eye(3), rng.random((1, 3)), 1.0 + rng.random((1, 3))
    cases = [(Bounds(low, high), list(zip(low[0], high[0], strict=True)), ())]
    cases.append((AtMostOne(), [(0.0, None)] * 3, ({"type": "ineq", "fun": lambda w: 1.0 - w.sum()},)))
    for constraint, bounds, rules in cases:
        F = np.full((1, 3), 0.2)
        constraint.apply(None, G, b[None], F)
        best = minimize(
            lambda w: 0.5 * w @ G @ w - b @ w, np.full(3, 0.2), bounds=bounds, constraints=rules, method="SLSQP"
        )
        assert 0.5 * F[0] @ G @ F[0] - b @ F[0] <= best.fun + 1e-6
        assert constraint.apply(None, G, b[None], F) < 1e-12  # the residual of a solution


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"fixed": TRUE[:, :5]}, "features"),
        ({"fixed": -TRUE}, "negative"),
        ({"fixed": TRUE, "n_components": 2}, "counts all of them"),
        ({"bounds": (1.0, 0.5)}, "lower <= upper"),
        ({"bounds": (0.0, np.ones(5))}, "arrays of shape"),
        ({"smooth_H": 1.0}, "smooth_H needs weights of some size"),
        ({"volume_H": 1.0}, "volume_H needs weights of some size"),
        ({"fixed": TRUE[:1], "l1_W": 0.1}, "needs a penalty of H too"),
        ({"unimodal_H": True, "sparseness_H": 0.5}, "cannot be asked for beside"),
    ],
    ids=str,
)
def test_what_is_refused(asked: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        pw.HALS(**{"n_components": K, **asked}).fit(X)


def test_parts_of_zeros_have_no_volume() -> None:
    """The residual is relative to the data, so that of zeros was zero at any parts."""
    with pytest.raises(InputError, match="volume_H: parts of zeros have no volume"):
        pw.HALS(2, volume_H=0.1, closure="one").fit(np.zeros((6, 4)))


@pytest.mark.parametrize(
    "asked",
    [
        {"smooth_H": 0.1, "closure": "one"},
        {"volume_H": 0.1, "closure": "one"},
        {"unimodal_H": True},
        {"sparseness_H": 0.5},
    ],
    ids=str,
)
def test_what_ties_features_together_is_not_for_weights_of_features(asked: dict[str, Any]) -> None:
    """Both would be minimised, but not of their sum: the fit ended, converged, where its objective still fell."""
    data = np.random.default_rng(0).random((12, 8))
    with pytest.raises(InputError, match=f"{next(iter(asked))} cannot be asked for beside feature_weight"):
        pw.HALS(2, **asked).fit(data, feature_weight=np.arange(1.0, 9.0))


def test_likelihood_keeps_known_parts_and_the_others_are_optimal() -> None:
    known = np.random.default_rng(5).dirichlet([0.3] * M, 4)
    counts = np.random.default_rng(6).poisson(np.random.default_rng(7).gamma(1.0, 300.0, (N, 4)) @ known)
    model = pw.Likelihood(4, fixed=known[:2], tol=1e-6, max_iter=20_000, random_state=0)
    W = model.fit_transform(counts)
    H = model.components_
    assert model.converged_
    np.testing.assert_array_equal(H[:2], known[:2])
    # Karush, Kuhn and Tucker for the free rows: the gradient of the divergence, in units of the weights' sums
    g = 1.0 - (W.T @ (counts / (W @ H))) / W.sum(axis=0)[:, None]
    assert np.abs(np.where(H[2:] > 1e-6 * H.max(), g[2:], 0.0)).max() < 1e-2
    assert g[2:].min() > -1e-2
    assert pw.metrics.match_components(H, known).cosines.min() > 0.99
    alone = pw.Likelihood(2, fixed=known[:2]).fit(counts)
    np.testing.assert_array_equal(alone.components_, known[:2])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fixed": -TRUE}, "fixed"),
        ({"fixed": TRUE[:, 1:]}, "fixed"),
        ({"n_components": 2, "fixed": TRUE}, "fixed has 3 parts, but n_components=2 counts all of them"),
        ({"fixed": TRUE[:1], "l1_W": 0.1}, "l1_W beside fixed needs a penalty of H too"),
    ],
    ids=["negative", "features", "too-many", "penalty"],
)
def test_likelihood_refuses_known_parts_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        pw.Likelihood(**{"n_components": 3} | options).fit(np.ceil(10 * X))


@pytest.mark.parametrize("rounds", [1, 200])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fixed_parts_keep_their_bits_where_rounds_begin_in_single_precision(rounds: int) -> None:
    rng = np.random.default_rng(0)
    known = rng.random((1, 400)) + 0.1
    rows = rng.random((4000, 3)) @ np.vstack([known, rng.random((2, 400)) * (rng.random((2, 400)) < 0.5)])
    dtypes = []
    watch = [lambda progress: dtypes.append(progress.state["W"].dtype)]
    model = pw.HALS(3, fixed=known, max_iter=rounds, tol=1e-4, random_state=0, callbacks=watch).fit(rows)
    assert dtypes[0] == np.float32
    np.testing.assert_array_equal(model.components_[:1], known)
