"""Weights on the simplex: every sample as a mixture of given components, with a certificate.

The same two problems appear as RecoverL2 and RecoverKL of Arora et al. (2013), as abundances of a pixel and as topics
of a document.  Rows are solved one by one and exactly: the kernels are in ``kernels/simplex.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from partwise.exceptions import InputError
from partwise.kernels.simplex import least_squares, likelihood
from partwise.linalg.certificate import Certificate
from partwise.linalg.nnls import check_components, solve
from partwise.sources import blocks, inspect, source_of
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Loss = Literal["l2", "kl"]

KL_TOL = 1e-11  # of the duality gap: r - 1 of a few hundred features is rounded to some 1e-14


@dataclass(frozen=True)
class MixtureCertificate(Certificate):
    """Proof of optimality of every sample.

    Attributes
    ----------
    gap : ndarray of shape (n_samples,)
        No weights on the simplex have a loss that is smaller by more than this: the duality gap. For "kl" in nats, of
        the sample divided by its sum; for "l2", of half the squared distance, relative to the size of its terms,
        ``max_j |H_j - c|^2 + max_j |(x - c) (H_j - c)'|`` with the mean c of the components.
    """

    gap: Array

    @property
    def largest(self) -> float:
        """The largest gap of all samples."""
        return float(self.gap.max(initial=0.0))


def mixture_weights(
    H: npt.ArrayLike, X: Any, *, loss: Loss = "l2", return_certificate: bool = False
) -> Array | tuple[Array, MixtureCertificate]:
    """Weights ``W >= 0`` that sum to one in every sample and bring ``W_i H`` nearest to ``X_i``, exactly.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features)
        Components. Dependent and repeated ones are allowed.
    X : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_features)
        Samples.
    loss : {"l2", "kl"}, default="l2"
        "l2": ``|x - w H|^2 / 2``. "kl": the Kullback-Leibler divergence of ``w H`` from ``x`` divided by its sum, for
        samples and components without negative entries. A feature that no component has then says nothing about the
        weights and is left out; a sample with nothing else gets equal weights.
    return_certificate : bool, default=False
        Also return the duality gap of every sample.

    Returns
    -------
    W : ndarray of shape (n_samples, n_components)
        The weights, in the floating type of ``X``.
    certificate : MixtureCertificate
        Only with ``return_certificate``.

    References
    ----------
    .. [1] C. Lawson, R. Hanson, "Solving Least Squares Problems", 1974, chapter 23.
    .. [2] Y. Kim, P. Carbonetto, M. Stephens, M. Anitescu, "A fast algorithm for maximum likelihood estimation of
       mixture proportions using sequential quadratic programming", J. Comput. Graph. Stat. 29, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.linalg import mixture_weights
    >>> H = np.array([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]])
    >>> mixture_weights(H, [[0.25, 0.35, 0.4], [9.0, 0.0, 0.0]], loss="kl").round(12)
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    if loss not in ("l2", "kl"):
        raise InputError(f"loss={loss!r} is unknown: choose 'l2' or 'kl'", parameter="loss")
    source = source_of(X)
    components = check_components(H, source.shape[1])
    if loss == "kl" and (components < 0.0).any():
        raise InputError("H has negative entries, for which loss='kl' has no meaning", parameter="H")
    inspect(source).check(allow_negative=loss == "l2", squares=loss == "l2")
    if loss == "l2":
        fn: partial[tuple[Array, Array]] = partial(_nearest_block, hull=Hull.of(components))
    else:
        fn = partial(_likeliest_block, Ht=np.ascontiguousarray(components.T))
    W, gap = source.map_rows(fn, width=len(components), combine=_join)
    W = np.asarray(W)
    return (W, MixtureCertificate(gap)) if return_certificate else W


@dataclass(frozen=True)
class Hull:
    """Components prepared for least squares on the simplex.

    They are taken from their mean, which changes no distance and spares the Gram matrix what they have in common.
    ``(w 1' - 1)^2`` is zero on the simplex, so any multiple may be added to the loss: it makes the Gram matrix definite
    wherever the components are affinely independent. In ``u = w * scale`` its diagonal is one.
    """

    directions: npt.NDArray[np.float64]  # (m, k): components minus their mean
    offset: npt.NDArray[np.float64]  # the mean's own products with them
    G: npt.NDArray[np.float64]
    ridge: float
    scale: npt.NDArray[np.float64]
    size: float  # largest squared length of a direction

    @classmethod
    def of(cls, H: Array) -> Hull:
        """Prepare ``H``."""
        centre = H.mean(axis=0)
        directions = np.ascontiguousarray((H - centre).T)
        G = directions.T @ directions
        squares = np.diag(G).copy()
        ridge = float(squares.mean()) or 1.0
        scale = np.sqrt(squares + ridge)
        G = (G + ridge) / np.outer(scale, scale)
        G = (G + G.T) / 2.0
        np.fill_diagonal(G, 1.0)
        return cls(directions, centre @ directions, G, ridge, scale, float(squares.max()))


def _nearest_block(block: Block, hull: Hull) -> tuple[Array, Array]:
    B = np.ascontiguousarray(blocks.dot(block, hull.directions), np.float64) - hull.offset
    terms = hull.size + np.abs(B).max(axis=1)
    B = (B + hull.ridge) / hull.scale
    W, _ = solve(hull.G, B)  # without the equation but with its penalty, which finds nearly every support
    gap = least_squares(hull.G, B, 1.0 / hull.scale, W)
    W /= hull.scale
    np.divide(gap, terms, out=gap, where=terms > 0.0)
    return W.astype(block.dtype, copy=False), gap


def _likeliest_block(block: Block, Ht: Array) -> tuple[Array, Array]:
    W, gap = likeliest(proportions(block, Ht)[0], Ht)
    return W.astype(block.dtype, copy=False), gap


def likeliest(x: sp.csr_array, Ht: Array, tol: float = KL_TOL) -> tuple[Array, Array]:
    """Weights for the rows that :func:`proportions` gives, to a gap of ``tol``, and their gaps."""
    W = np.empty((x.shape[0], Ht.shape[1]))
    gap = likelihood(x.indptr.astype(np.int64), x.indices.astype(np.int64), x.data, Ht, W, tol)
    return W, gap


def proportions(block: Block, Ht: Array) -> tuple[sp.csr_array, Array]:
    """Rows of sum one, or empty, without the features that no component has; and the sums they had."""
    x = sp.csr_array(block, dtype=np.float64)
    kept = (x.data > 0.0) & np.asarray(Ht.any(axis=1))[x.indices]
    if not kept.all():
        x = sp.csr_array((x.data[kept], x.indices[kept], np.append(0, kept.cumsum())[x.indptr]), shape=x.shape)
    # by the largest first: the sum of a row of huge or tiny numbers need not have an inverse
    largest = np.zeros(x.shape[0])
    np.maximum.at(largest, np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)), x.data)
    x = blocks.scale_rows(x, np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > 0.0))
    sums = blocks.row_sums(x)
    x = blocks.scale_rows(x, np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0.0))
    return x, sums * largest


def _join(a: Array, b: Array) -> Array:
    return np.concatenate([a, b])
