"""How good an answer is, recomputed from the arrays by the same function for everybody."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def _norms(X: Any) -> np.ndarray:
    if sp.issparse(X):
        return np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return np.sqrt(np.einsum("ij,ij->i", X, X))


def kkt_residual(X: Any, W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Violation of the optimality conditions of min |X_i - W_i H|, W_i >= 0, for every sample.

    With the gradient g = W HHt - XHt: |g_ij| where W_ij > 0, max(0, -g_ij) where W_ij = 0, and a negative
    weight as the change of the fit that it makes; each relative to |X_i| |H_j|.
    """
    W = np.asarray(W, dtype=np.float64)
    HHt = H @ H.T
    g = W @ HHt - X @ H.T
    sizes = np.sqrt(np.diag(HHt))
    scale = np.maximum(_norms(X)[:, None] * sizes, np.finfo(float).tiny)
    violation = np.where(W > 0, np.abs(g), np.maximum(0.0, -g)) / scale
    negative = np.maximum(0.0, -W) * np.diag(HHt) / scale
    return np.maximum(violation, negative).max(axis=1, initial=0.0)


def relative_error(X: Any, W: np.ndarray, H: np.ndarray) -> float:
    """|X - WH| / |X|, expanded so that a sparse X stays sparse (errors here are far above rounding)."""
    W, H = np.asarray(W, dtype=np.float64), np.asarray(H, dtype=np.float64)
    if min(W.min(initial=0.0), H.min(initial=0.0)) < 0:
        return float("nan")
    total = float(X.data @ X.data) if sp.issparse(X) else float(np.vdot(X, X))
    cross = float(np.vdot(X @ H.T, W))
    return float(np.sqrt(max(total - 2.0 * cross + float(np.vdot(W.T @ W, H @ H.T)), 0.0) / total))


def duality_gap(H: np.ndarray, P: np.ndarray, Y: np.ndarray) -> float:
    """Largest relative excess of |p_j|_1 over the least for H p = e_j, as the columns of Y bound it from below."""
    norms = np.abs(P).sum(axis=0)
    return float((1.0 - np.diag(Y) / np.abs(H.T @ Y).max(axis=0) / norms).max())


def _ratios(X: sp.csr_array, W: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, sp.csr_array]:
    """WH at the stored entries, and X / WH."""
    X = sp.csr_array(X)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    WH = np.maximum(np.einsum("ij,ij->i", W[rows], H.T[X.indices]), np.finfo(float).tiny)
    return WH, sp.csr_array((X.data / WH, X.indices, X.indptr), shape=X.shape)


def divergence(X: sp.csr_array, W: np.ndarray, H: np.ndarray) -> float:
    """Generalised Kullback-Leibler divergence of sparse X from WH."""
    WH, _ = _ratios(X, W, H)
    x = sp.csr_array(X).data
    return float((x * np.log(x / WH) - x).sum() + W.sum(axis=0) @ H.sum(axis=1))


def poisson_residual(X: sp.csr_array, W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Violation of the optimality conditions of the most likely weights of every sample, relative to sums of H.

    With the gradient g_j = sum H_j - (x / wH) H_j: |g_j| where w_j > 0, max(0, -g_j) where w_j = 0.
    """
    sums = H.sum(axis=1)
    g = 1.0 - (_ratios(X, W, H)[1] @ H.T) / np.where(sums > 0.0, sums, 1.0)
    return np.where(W > 0.0, np.abs(g), np.maximum(0.0, -g)).max(axis=1, initial=0.0)
