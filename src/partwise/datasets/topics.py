"""The semi-synthetic topics of AND: DIR, CTM, NEG and NOISE.

Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with
Strong Correlations", ICML 2017, Section 7; the authors' program: github.com/PrincetonML/AND4NMF.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.special import softmax

from partwise.datasets.checks import (
    RandomState,
    as_generator,
    check_choice,
    check_integer,
    check_matrix,
    check_real,
)
from partwise.datasets.mixture import Mixture
from partwise.exceptions import InputError

__all__ = ["make_topics"]


def make_topics(
    kind: str = "dir",
    *,
    n_samples: int = 5000,
    n_features: int | None = None,
    n_components: int | None = None,
    components: Any = None,
    feature_kind: str = "sparse",
    concentration: float = 0.05,
    covariance: Any = None,
    block_size: int = 5,
    scale: float | None = None,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> Mixture:
    r"""Make documents that mix topics: the data sets DIR, CTM, NEG and NOISE of the AND paper [1]_.

    Parameters
    ----------
    kind : {"dir", "ctm", "neg"}, default="dir"
        "dir": Dirichlet weights. "ctm": logistic-normal weights, as in the correlated topic
        model [2]_. "neg": signed components, uniform on [-0.5, 0.5), with "ctm" weights.
    n_samples : int, default=5000
        Number of documents.
    n_features : int, optional
        Number of words; by default 2000 for "dir" and "ctm" and 1000 for "neg".
    n_components : int, optional
        Number of topics; by default 100 (or what `components` has).
    components : array-like of shape (n_components, n_features), optional
        Topics to use in place of synthetic ones, such as topics learnt from real documents, as in
        the paper. Not for "neg".
    feature_kind : {"sparse", "dense"}, default="sparse"
        How topics are made when none are given. "sparse": each a Dirichlet(0.05) distribution over
        the words. "dense": uniform on [0.3, 1.3), each divided by its sum, so without any zero.
    concentration : float, default=0.05
        Parameter of the Dirichlet weights of "dir".
    covariance : None, "shared", float or array-like of shape (n_components, n_components)
        Covariance of the logits of "ctm" and "neg" weights.

        - None: as in the authors' program, logit = C(Cg), where C is a k x k matrix and g a vector of
          independent standard normals, *both drawn anew for each sample*. Such weights are nearly
          1-sparse, and no two topics are more correlated than any other two.
        - "shared": the same with one C for all samples, so topics are correlated (covariance CC(CC)^T).
        - a float: a real logistic normal whose topics come in blocks of `block_size` with this
          correlation inside a block and none between blocks. With 0.99, ``block_size=2`` and ``scale=16`` the
          largest correlation of two *weights* is about 0.4, with ``scale=8`` about 0.7; with None it is 0.
        - an array: that covariance.
    block_size : int, default=5
        Topics in a block, where `covariance` is a float; the last block can be smaller.
    scale : float, optional
        Factor of the logits (so ``scale**2`` multiplies the covariance), 1 by default. It is the knob
        from dense (towards 0, where all weights are 1/k) to sparse weights.
    noise : float, default=0.0
        Level gamma of the noise gamma N(0, I/m) added to each sample. The authors' program divides
        by m where the paper, followed here, divides by its root.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        With weights that sum to one in each sample.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix
       Factorization with Strong Correlations", ICML 2017, Section 7.
    .. [2] D. Blei, J. Lafferty, "Correlated topic models", NIPS 2005.

    Examples
    --------
    >>> from partwise.datasets import make_topics
    >>> topics = make_topics("ctm", n_samples=50, n_features=40, n_components=10, random_state=0)
    >>> topics.X.shape, topics.components.shape, topics.weights.shape
    ((50, 40), (10, 40), (50, 10))
    """
    check_choice("kind", kind, ("dir", "ctm", "neg"))
    check_choice("feature_kind", feature_kind, ("sparse", "dense"))
    n = check_integer("n_samples", n_samples)
    gamma = check_real("noise", noise)
    if kind == "dir" and (covariance is not None or scale is not None):
        raise InputError("covariance and scale shape logistic-normal weights: with them use kind='ctm' or 'neg'.")
    rng = as_generator(random_state)
    H = _topics(kind, feature_kind, components, n_features, n_components, rng)
    k, m = H.shape
    if kind == "dir":
        W = rng.dirichlet(np.full(k, check_real("concentration", concentration, strict=True)), size=n)
    else:
        factor = 1.0 if scale is None else check_real("scale", scale)
        # scipy's softmax subtracts the largest logit: the program's exp(logit) overflows at 710
        W = softmax(factor * _logits(n, k, covariance, block_size, rng), axis=1)
    X = W @ H
    if gamma == 0.0:
        return Mixture(X, H, W)
    N = rng.normal(scale=gamma / np.sqrt(m), size=(n, m))
    return Mixture(X + N, H, W, noise=N)


def _topics(
    kind: str,
    feature_kind: str,
    components: Any,
    n_features: int | None,
    n_components: int | None,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the components of ``make_topics``, given or made."""
    if components is not None:
        if kind == "neg":
            raise InputError(
                "components cannot be given with kind='neg', which makes its own: use kind='ctm'.",
                parameter="components",
            )
        return check_matrix("components", components, (n_components, n_features))
    k = check_integer("n_components", 100 if n_components is None else n_components)
    default = 1000 if kind == "neg" else 2000
    m = check_integer("n_features", default if n_features is None else n_features)
    if kind == "neg":
        return rng.uniform(-0.5, 0.5, size=(k, m))
    if feature_kind == "sparse":
        return rng.dirichlet(np.full(m, 0.05), size=k)
    H = rng.uniform(0.3, 1.3, size=(k, m))
    result: np.ndarray = H / H.sum(axis=1, keepdims=True)
    return result


def _logits(n: int, k: int, covariance: Any, block_size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the logits of the logistic-normal weights, one sample a row."""
    if covariance is None:
        return _fresh_logits(n, k, rng)
    g = rng.standard_normal((n, k))
    if isinstance(covariance, str):
        check_choice("covariance", covariance, ("shared",))
        C = rng.standard_normal((k, k))
        return g @ (C @ C).T
    if isinstance(covariance, Real):
        S = _block_covariance(k, float(covariance), check_integer("block_size", block_size))
    else:
        S = check_matrix("covariance", covariance, (k, k))
        if not np.allclose(S, S.T, rtol=1e-10, atol=1e-12 * np.abs(S).max()):
            raise InputError("covariance is not symmetric: give (S + S.T) / 2.", parameter="covariance")
    values, vectors = np.linalg.eigh(S)
    if values[0] < -1e-10 * np.abs(values).max():
        raise InputError(
            f"covariance has a negative eigenvalue ({values[0]:.3g}): it must be semi-definite.", parameter="covariance"
        )
    result: np.ndarray = g @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return result


def _fresh_logits(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Draw C(Cg), C and g standard normal and new for each sample, without drawing k x k numbers.

    With u = g/|g| and h = Cu, which is standard normal, C(Cg) = |g| Ch and Ch = (u.h) h + C h_perp, where
    h_perp = h - (u.h) u. C on the complement of u is independent of Cu, so C h_perp = |h_perp| z with z
    standard normal: the same law from 3k numbers.
    """
    g, h, z = rng.standard_normal((3, n, k))
    length = np.linalg.norm(g, axis=1, keepdims=True)
    u = g / length
    along = np.sum(u * h, axis=1, keepdims=True)
    across = np.linalg.norm(h - along * u, axis=1, keepdims=True)
    result: np.ndarray = length * (along * h + across * z)
    return result


def _block_covariance(k: int, rho: float, block_size: int) -> np.ndarray:
    """Return unit variances with correlation ``rho`` inside blocks of consecutive topics."""
    least = -1.0 / max(min(block_size, k) - 1, 1)
    if not least <= rho <= 1.0:
        raise InputError(
            f"covariance={rho!r} is no correlation that {block_size} topics can share: "
            f"give a number between {least:.3g} and 1, or a matrix."
        )
    block = np.arange(k) // block_size
    S = np.where(block[:, None] == block[None, :], rho, 0.0)
    np.fill_diagonal(S, 1.0)
    return S
