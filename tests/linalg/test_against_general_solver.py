"""Weights and pairs of factors under every loss, with holes, weights and penalties, against a general solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import partwise as pw

LOSSES: dict[str, Any] = {
    "squares": "frobenius",
    "counts": "kullback-leibler",
    "huber": ("huber", 0.5),
    "dispersed": ("negative-binomial", 0.5),
}


def cost(kind: str, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loss of every entry, written out, and its slope in the mean ``y``."""
    if kind == "squares":
        return 0.5 * (x - y) ** 2, y - x
    if kind == "huber":
        r = y - x
        return np.where(np.abs(r) <= 0.5, 0.5 * r**2, 0.5 * (np.abs(r) - 0.25)), np.clip(r, -0.5, 0.5)
    y = np.maximum(y, 1e-300)
    if kind == "dispersed":  # by 0.5: the negative binomial of a size of two
        return (x + 2.0) * np.log(y + 2.0) - x * np.log(y), (x + 2.0) / (y + 2.0) - x / y
    return y - x * np.log(y), 1.0 - x / y


@pytest.mark.parametrize("kind", LOSSES)
@given(
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from(["", "features", "entries"]),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from([0.0, 0.1]),
)
@settings(max_examples=25, derandomize=True, deadline=None)
def test_nothing_is_lower(kind: str, seed: int, holes: bool, weighed: str, l1: float, l2: float) -> None:
    rng = np.random.default_rng(seed)
    if weighed == "entries" and isinstance(LOSSES[kind], tuple):
        weighed = "features"  # these refuse weights of entries by name
    H, X = rng.gamma(0.5, size=(3, 8)) + 0.01, rng.gamma(0.5, size=(4, 8)) + 0.01
    known = rng.random(X.shape) < (0.6 if holes else 2.0)
    known[:, :3] = True
    v = rng.gamma(1.0, size=8) if weighed == "features" else np.ones(8)
    M = known * (rng.gamma(1.0, size=X.shape) if weighed == "entries" else v)  # an entry without weight is a hole
    told: dict[str, Any] = {"mask": known} if holes and weighed != "entries" else {}
    told |= {"": {}, "features": {"weights": v}, "entries": {"weights": M}}[weighed]
    W = pw.nnls(H, np.where(known, X, 7.0) if holes else X, loss=LOSSES[kind], l1=l1, l2=l2, **told)
    for i in range(4):

        def value(w: np.ndarray, i: int = i) -> tuple[float, np.ndarray]:
            loss, slope = cost(kind, X[i], w @ H)
            return float(M[i] @ loss + l1 * w.sum() + 0.5 * l2 * w @ w), H @ (M[i] * slope) + l1 + l2 * w

        best = min(
            minimize(value, start, jac=True, bounds=[(1e-12, None)] * 3, method="L-BFGS-B").fun
            for start in (np.maximum(W[i], 1e-6), np.ones(3))[: 1 if kind == "dispersed" else 2]  # not convex
        )
        assert value(W[i])[0] <= best + 1e-6 * (1.0 + abs(best))


@pytest.mark.parametrize("name", ["HALS", "ANLS"])
@given(
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from(["", "lines", "entries"]),
    st.sampled_from([0.0, 0.02]),
    st.sampled_from([0.0, 0.02]),
)
@settings(max_examples=6, derandomize=True, deadline=None)
def test_no_pair_of_factors_near_the_end_is_lower(
    name: str, seed: int, holes: bool, weighed: str, l1: float, l2: float
) -> None:
    """The objective of the documentation, written out, with holes and weights of samples and features."""
    rng = np.random.default_rng(seed)
    n, m, k = 12, 7, 2
    X = rng.gamma(0.5, size=(n, k)) @ rng.gamma(0.5, size=(k, m)) + 0.1 * rng.random((n, m))
    known = rng.random(X.shape) < (0.8 if holes else 2.0)
    known[0], known[:, :3] = True, True
    s, v = (rng.random(size) + 0.5 if weighed == "lines" else np.ones(size) for size in (n, m))
    M = known * s[:, None] * v * (rng.random((n, m)) + 0.5 if weighed == "entries" else 1.0)
    told = {"mask": known, "sample_weight": s, "feature_weight": v} if weighed != "entries" else {"entry_weight": M}
    options = {"l1_W": l1, "l1_H": l1, "l2_W": l2, "l2_H": l2, "tol": 1e-8, "max_iter": 20_000, "random_state": 0}
    model = getattr(pw, name)(k, init="random", **options)
    W = np.asarray(model.fit_transform(X, **told))

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W, H = flat[: n * k].reshape(n, k), flat[n * k :].reshape(k, m)
        R = M * (W @ H - X)
        loss = 0.5 * float((R * (W @ H - X)).sum())
        of_W, of_H = v.sum() * s[:, None], s.sum() * v
        loss += float((of_W * (l1 * W + 0.5 * l2 * W**2)).sum() + (of_H * (l1 * H + 0.5 * l2 * H**2)).sum())
        return loss, np.r_[(R @ H.T + of_W * (l1 + l2 * W)).ravel(), (W.T @ R + of_H * (l1 + l2 * H)).ravel()]

    start = np.r_[W.ravel(), model.components_.ravel()]
    best = minimize(
        value, start, jac=True, bounds=[(0.0, None)] * len(start), method="L-BFGS-B", options={"maxiter": 5}
    )
    assert best.fun >= value(start)[0] * (1.0 - 1e-6)


@pytest.mark.parametrize("name", ["HALS", "ANLS"])
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.0, 0.05]))
@settings(max_examples=6, derandomize=True, deadline=None)
def test_no_pair_beside_known_or_smooth_parts_is_lower(name: str, seed: int, fixed: bool, smooth: float) -> None:
    rng = np.random.default_rng(seed)
    n, m, k = 12, 7, 2
    truth = rng.gamma(0.5, size=(k, m)) + 0.01
    X = rng.gamma(0.5, size=(n, k)) @ truth + 0.1 * rng.random((n, m))
    options = {"smooth_H": smooth, "l2_W": 0.02, "l2_H": 0.02, "fixed": truth[:1] if fixed else None}
    model = getattr(pw, name)(k, init="random", random_state=0, tol=1e-8, max_iter=20_000, **options)
    W = np.asarray(model.fit_transform(X))

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W, H = flat[: n * k].reshape(n, k), flat[n * k :].reshape(k, m)
        R, D = W @ H - X, np.diff(H, axis=1)
        loss = 0.5 * float((R**2).sum() + 0.02 * (m * (W**2).sum() + n * (H**2).sum()) + n * smooth * (D**2).sum())
        bent = np.pad(D, ((0, 0), (1, 0))) - np.pad(D, ((0, 0), (0, 1)))
        return loss, np.r_[(R @ H.T + 0.02 * m * W).ravel(), (W.T @ R + n * (0.02 * H + smooth * bent)).ravel()]

    start = np.r_[W.ravel(), model.components_.ravel()]
    bounds = [(0.0, None)] * (n * k) + [
        (h, h) if fixed and j < m else (0.0, None) for j, h in enumerate(start[n * k :])
    ]
    best = minimize(value, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 5})
    np.testing.assert_array_equal(model.components_[: int(fixed)], truth[: int(fixed)])
    assert best.fun >= value(start)[0] * (1.0 - 1e-6)
