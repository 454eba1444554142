"""Weights from a left inverse of the components, and the moments of weights and samples in one pass.

The expectation of Purification's update is over all pairs of samples, and ``E[(w - w')(x - x')'] = 2 Cov(w, x)``: no
pairs are formed.  A pass sums moments about the means of each block, which are merged exactly (Chan, Golub & LeVeque
1983), so large means do not cancel and sparse samples stay sparse.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from partwise.linalg.inverse import left_inverse
from partwise.sources import blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Activation = Literal["relu", "identity", "hard"]
NORMS: dict[str, Literal["inf", "2"]] = {"least-inf": "inf", "pinv": "2"}


@dataclass(frozen=True)
class Decoder:
    """Weights of samples from a left inverse ``P`` of the components.

    With v = x P: ``"relu"`` is ``max(v - alpha, 0)`` (equation 2), ``"identity"`` is v, and ``"hard"`` leaves v where
    it reaches alpha and makes it zero elsewhere.
    """

    P: Array
    threshold: float
    activation: Activation
    gap: float

    @classmethod
    def of(cls, H: Array, threshold: float, inverse: str, activation: Activation = "relu") -> Decoder:
        """The decoder of these components."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is recorded
            P, certificate = left_inverse(H, norm=NORMS[inverse], return_certificate=True)
        return cls(np.asarray(P), threshold, activation, certificate.gap)

    @property
    def norm(self) -> float:
        """Infinity norm of the left inverse: the most that it amplifies an entrywise error."""
        return float(np.abs(self.P).sum(axis=0).max())

    def cast(self, dtype: npt.DTypeLike) -> Decoder:
        """The same for blocks of this type."""
        return replace(self, P=np.ascontiguousarray(self.P, dtype))

    def __call__(self, block: Block) -> Array:
        V = blocks.dot(block, self.P)
        if self.activation == "relu":
            V -= np.asarray(self.threshold, V.dtype)
            np.maximum(V, 0.0, out=V)
        elif self.activation == "hard":
            V[self.threshold > V] = 0.0
        return V


@dataclass(frozen=True)
class Moments:
    """Means of samples and weights, and sums of products about them."""

    n: int
    mean_x: Array
    mean_w: Array
    products: Array
    gram: Array

    @property
    def covariance(self) -> Array:
        """``Cov(w, x)`` of shape (n_components, n_features)."""
        return self.products.T / self.n

    def variances(self, dtype: npt.DTypeLike) -> Array:
        """``Var(w_i)``; zero if it may be mere rounding of weights of this type."""
        found = np.diag(self.gram) / self.n
        return np.where(found > (64.0 * np.finfo(dtype).eps * self.mean_w) ** 2, found, 0.0)


def moments_block(block: Block, decoder: Decoder) -> Moments:
    W = decoder(block)
    n, k = W.shape
    mean_w = W.sum(axis=0, dtype=np.float64) / max(1, n)
    about = np.ones((n, k + 1), W.dtype)
    np.subtract(W, mean_w, out=about[:, :k], casting="same_kind")
    products = blocks.tdot(block, about).astype(np.float64)
    mean_x = products[:, k] / max(1, n)
    D = about[:, :k]
    # in single precision the rounded mean leaves a sum, and with it a part of the mean of x
    products = products[:, :k] - np.outer(mean_x, D.sum(axis=0, dtype=np.float64))
    return Moments(n, mean_x, mean_w, products, (D.T @ D).astype(np.float64))


def merge(a: Moments, b: Moments) -> Moments:
    """Moments of the samples of both (Chan, Golub & LeVeque 1983)."""
    n = a.n + b.n
    share = b.n / max(1, n)
    x, w = b.mean_x - a.mean_x, b.mean_w - a.mean_w
    products = np.outer(x, (a.n * share) * w)
    products += a.products
    products += b.products
    gram = a.gram + b.gram + np.outer(w, (a.n * share) * w)
    return Moments(n, a.mean_x + share * x, a.mean_w + share * w, products, gram)
