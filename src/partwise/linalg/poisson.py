"""Exact non-negative weights under the Poisson likelihood (Kullback-Leibler divergence), with a certificate.

A few coordinate sweeps come near, Newton steps on the non-negative quadratic model finish: quadratic convergence, with
nearly equal components too.  Each sample is its own convex problem.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from partwise.exceptions import InputError, Place
from partwise.kernels.poisson import descend, solve
from partwise.linalg.certificate import Certificate
from partwise.linalg.nnls import check_components
from partwise.sources import blocks, inspect, source_of
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

CERTIFIED = 1e-8  # residual up to which weights are called exact; nearly all have 1e-12
FIRST_SWEEPS = 3  # before Newton steps: they find most supports at the cost of one step


@dataclass(frozen=True)
class PoissonCertificate(Certificate):
    """Proof of optimality of every sample.

    Attributes
    ----------
    kkt : ndarray of shape (n_samples,)
        Largest violation of the Karush-Kuhn-Tucker conditions over the components l, relative to the sum of the
        component: ``|g_l|`` where the weight is positive and ``max(0, -g_l)`` where it is zero, with
        ``g_l = sum_j H_lj (1 - x_j / (w H)_j)``.
    """

    kkt: Array

    @property
    def largest(self) -> float:
        """The largest residual of all samples."""
        return float(self.kkt.max(initial=0.0))


@dataclass(frozen=True)
class Components:
    """Components prepared for the kernels: divided by their sums, a feature a row."""

    F: npt.NDArray[np.float64]
    t: npt.NDArray[np.float64]  # the sums, with an l1 penalty in them
    l2: float

    @classmethod
    def of(cls, Ht: Array, sums: Any = None, *, l1: float = 0.0, l2: float = 0.0) -> Components:
        """Of components that come a feature a row, and their sums if these are known."""
        Ht = np.asarray(Ht, np.float64)
        t = (Ht.sum(axis=0) if sums is None else sums) + l1
        return cls(np.ascontiguousarray(Ht / np.where(t > 0.0, t, 1.0)), t, l2)


def poisson_weights(
    H: npt.ArrayLike, X: Any, *, return_certificate: bool = False
) -> Array | tuple[Array, PoissonCertificate]:
    """Weights ``W >= 0`` that maximise the Poisson likelihood of every sample i with mean ``W_i H``, exactly.

    The same weights minimise the generalised Kullback-Leibler divergence of ``X_i`` from ``W_i H``.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features)
        Components >= 0; dependent, repeated and zero components are allowed (a zero one gets weight zero).
    X : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_features)
        Samples >= 0, counts or not. Entries at features that no component has cannot be explained and are left out.
    return_certificate : bool, default=False
        Also return the residual of the optimality conditions of every sample.

    Returns
    -------
    W : ndarray of shape (n_samples, n_components)
        The weights, in the floating type of ``X``.
    certificate : PoissonCertificate
        Only with ``return_certificate``; of the weights before they are rounded to single precision.

    References
    ----------
    Hsieh & Dhillon (2011), "Fast coordinate descent methods with variable selection for non-negative matrix
    factorization", section 4 (the sweeps).

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> H = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    >>> pw.linalg.poisson_weights(H, np.array([[3.0, 0.0, 3.0], [0.0, 4.0, 2.0]])).round(12)
    array([[3., 0.],
           [0., 2.]])
    """
    source = source_of(X)
    inspect(source).check(allow_negative=False, squares=False)
    matrix = check_components(H, source.shape[1])
    negative = np.argwhere(matrix < 0.0)
    if len(negative):
        raise InputError(
            f"{{parameter}} must not be negative: {len(negative)} value(s) are, the first in {{place}}",
            parameter="H",
            kind="negative",
            place=Place(row=int(negative[0][0]), column=int(negative[0][1])),
        )
    fn = partial(certified_block, components=Components.of(matrix.T))
    W, kkt = source.map_rows(fn, width=len(matrix), combine=_join)
    W = np.asarray(W)
    return (W, PoissonCertificate(kkt)) if return_certificate else W


def certified_block(block: Block, components: Components) -> tuple[Array, Array]:
    """Exact weights of one block of rows and their KKT residuals."""
    X, F, t = blocks.counts(block), components.F, components.t
    share = 1.0 / max(1, int(np.count_nonzero(t)))
    W = np.outer(blocks.row_sums(X), np.divide(share, t, out=np.zeros_like(t), where=t > 0.0))
    kkt, csr = np.empty(len(W)), (X.indptr, X.indices, X.data)
    descend(*csr, F, t, components.l2, np.zeros_like(t), FIRST_SWEEPS, W, 0, np.empty(0))
    solve(*csr, F, t, components.l2, W, kkt)
    return W.astype(block.dtype, copy=False), kkt


def decode_block(block: Block, components: Components) -> Array:
    """Exact weights of one block of rows; should any have missed optimality, that is told."""
    W, kkt = certified_block(block, components)
    missed = np.count_nonzero(~(kkt <= CERTIFIED))
    if missed:
        warnings.warn(
            f"the weights of {missed} sample(s) are not exact: KKT residual {kkt.max():.1e}, asked for {CERTIFIED:.0e}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return W


def _join(a: Array, b: Array) -> Array:
    return np.concatenate([a, b])
