"""Weights under every convex loss, with holes, weights of features and penalties, against a general solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import partwise as pw

LOSSES = {"squares": "frobenius", "counts": "kullback-leibler", "huber": ("huber", 0.5)}


def cost(kind: str, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loss of every entry, written out, and its slope in the mean ``y``."""
    if kind == "squares":
        return 0.5 * (x - y) ** 2, y - x
    if kind == "huber":
        r = y - x
        return np.where(np.abs(r) <= 0.5, 0.5 * r**2, 0.5 * (np.abs(r) - 0.25)), np.clip(r, -0.5, 0.5)
    y = np.maximum(y, 1e-300)
    return y - x * np.log(y), 1.0 - x / y


@pytest.mark.parametrize("kind", LOSSES)
@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.sampled_from([0.0, 0.1]), st.sampled_from([0.0, 0.1]))
@settings(max_examples=25, derandomize=True, deadline=None)
def test_nothing_is_lower(kind: str, seed: int, holes: bool, weighed: bool, l1: float, l2: float) -> None:
    rng = np.random.default_rng(seed)
    H, X = rng.gamma(0.5, size=(3, 8)) + 0.01, rng.gamma(0.5, size=(4, 8)) + 0.01
    known = rng.random(X.shape) < (0.6 if holes else 2.0)
    known[:, :3] = True
    v = rng.gamma(1.0, size=8) if weighed else np.ones(8)
    told: dict[str, Any] = {"mask": known} if holes else {}
    told |= {"weights": v} if weighed else {}
    W = pw.nnls(H, np.where(known, X, 7.0) if holes else X, loss=LOSSES[kind], l1=l1, l2=l2, **told)
    for i in range(4):

        def value(w: np.ndarray, i: int = i) -> tuple[float, np.ndarray]:
            loss, slope = cost(kind, X[i], w @ H)
            M = known[i] * v
            return float(M @ loss + l1 * w.sum() + 0.5 * l2 * w @ w), H @ (M * slope) + l1 + l2 * w

        best = min(
            minimize(value, start, jac=True, bounds=[(1e-12, None)] * 3, method="L-BFGS-B").fun
            for start in (np.ones(3), np.maximum(W[i], 1e-6))
        )
        assert value(W[i])[0] <= best + 1e-6 * (1.0 + abs(best))


@pytest.mark.parametrize("name", ["HALS", "ANLS"])
@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.sampled_from([0.0, 0.02]), st.sampled_from([0.0, 0.02]))
@settings(max_examples=6, derandomize=True, deadline=None)
def test_no_pair_of_factors_near_the_end_is_lower(
    name: str, seed: int, holes: bool, weighed: bool, l1: float, l2: float
) -> None:
    """The objective of the documentation, written out, with holes and weights of samples and features."""
    rng = np.random.default_rng(seed)
    n, m, k = 12, 7, 2
    X = rng.gamma(0.5, size=(n, k)) @ rng.gamma(0.5, size=(k, m)) + 0.1 * rng.random((n, m))
    known = rng.random(X.shape) < (0.8 if holes else 2.0)
    known[0], known[:, :3] = True, True
    s, v = (rng.random(size) + 0.5 if weighed else np.ones(size) for size in (n, m))
    told = {"sample_weight": s, "feature_weight": v} if weighed else {}
    options = {"l1_W": l1, "l1_H": l1, "l2_W": l2, "l2_H": l2, "tol": 1e-8, "max_iter": 20_000, "random_state": 0}
    model = getattr(pw, name)(k, init="random", **options)
    W = np.asarray(model.fit_transform(X, mask=known, **told))
    M = known * s[:, None] * v

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
