"""Left inverses of least norm, with a certificate.

In orthonormal components the condition of ``H`` is gone from the linear programs, one for every column of the
inverse.  A compiled simplex method solves each; a column that it cannot prove optimal goes to HiGHS.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from partwise.exceptions import InputError, Place, warn_user
from partwise.kernels.inverse import descend
from partwise.linalg.certificate import Certificate
from partwise.linalg.nnls import check_components
from partwise.sources.passes import ordered, single_blas_thread

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]
Exponents = npt.NDArray[np.int32]

EPS = 2.0**-52  # the spacing of float64 at 1
# Changes of the right-hand side, relative to the solution, against cycling; they leave less than that in the gap.
# A column whose gap is still too large goes on without.
PERTURBATIONS = (1e-10, 0.0)
NAMED = 10  # dependent components listed in an error, at most: a line


@dataclass(frozen=True)
class InverseCertificate(Certificate):
    """Proof that every column p_j of ``P`` has (nearly) the least norm of all p with ``H p = e_j``.

    The norm is the sum of absolute values for ``norm="inf"``, the Euclidean one for ``norm="2"``.  Every y with
    ``H'y`` in the unit ball of the dual norm shows that no such p is shorter than ``y_j``.

    Attributes
    ----------
    norm : float
        Largest norm of a column; with ``norm="inf"`` that is the infinity norm of the left inverse ``P'`` of ``H'``.
    lower_bounds : ndarray of shape (n_components,)
        ``y_j`` for every column j: no left inverse has a shorter one.
    gaps : ndarray of shape (n_components,)
        Difference of the norm of p_j and its bound, relative to the norm.
    feasibility : float
        Largest entry ij of ``|H P - I|`` relative to ``max|H_i| |p_j|_1``, with ``P`` as it is returned.
    dual : ndarray of shape (n_components, n_components)
        Column j is the y of column j.
    """

    norm: float
    lower_bounds: Array
    gaps: Array
    feasibility: float
    dual: Array

    @property
    def gap(self) -> float:
        """The largest gap of all columns."""
        return float(self.gaps.max())


def left_inverse(
    H: npt.ArrayLike,
    *,
    norm: Literal["inf", "2"] = "inf",
    tol: float = 1e-8,
    return_certificate: bool = False,
) -> Array | tuple[Array, InverseCertificate]:
    """Matrix ``P`` with ``H P = I`` whose columns are as short as possible.

    Weights of samples ``X = W H`` are then ``W = X P``; noise in ``X`` is amplified by the norm of ``P``.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features)
        Components, of any sign and scale, linearly independent.
    norm : {"inf", "2"}, default="inf"
        What is least: the sum of absolute values of every column of ``P``, and so the infinity norm of ``P'``
        (a linear program for every column); or their Euclidean lengths (the pseudoinverse).
    tol : float, default=1e-8
        Relative duality gap that a column may have.  A larger one is warned of.
    return_certificate : bool, default=False
        Also return lower bounds of the norms, which prove that the columns are optimal.

    Returns
    -------
    P : ndarray of shape (n_features, n_components)
        The left inverse of ``H'``, transposed, in single precision if ``H`` is.
    certificate : InverseCertificate
        Only with ``return_certificate``.  Norms and gaps are those of ``P`` in double precision.

    Warns
    -----
    ConvergenceWarning
        If the gap of a column is larger than ``tol``, as it will be if ``H`` is nearly singular.

    References
    ----------
    Li, Liang & Risteski (2016), Recovery guarantee of non-negative matrix factorization via alternating updates;
    Barrodale & Roberts (1973), An improved algorithm for discrete l1 linear approximation.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> H = np.array([[1.0, 0.0, 4.0], [0.0, 1.0, 1.0]])
    >>> P, certificate = pw.linalg.left_inverse(H, return_certificate=True)
    >>> P.round(12) + 0.0
    array([[ 0.  ,  0.  ],
           [-0.25,  1.  ],
           [ 0.25,  0.  ]])
    >>> certificate.gap < 1e-12
    True
    """
    if norm not in ("inf", "2"):
        raise InputError(f"norm must be 'inf' or '2', got {norm!r}", parameter="norm")
    if not tol > 0.0:
        raise InputError(f"tol must be positive, got {tol}", parameter="tol")
    scaled, exponents = _scaled(_checked(H))
    # small products and factorisations wait for BLAS threads longer than they take, and columns are our parallelism
    with single_blas_thread():
        # in orthonormal rows: H p = e_j is Q'p = R^-T e_j
        Q, R = np.linalg.qr(scaled.T)
        _check_independent(R, max(scaled.shape))
        C = scipy.linalg.solve_triangular(R, np.eye(len(R)), trans="T")
        P, Y = (Q @ C, C) if norm == "2" else _shortest(np.ascontiguousarray(Q), C, tol)
        kept = _rescaled(P, exponents, np.float32 if getattr(H, "dtype", None) == np.float32 else np.float64)
        certificate = _certify(scaled, exponents, P, scipy.linalg.solve_triangular(R, Y), kept, norm)
    if not certificate.gap <= tol:
        warn_user(
            f"left_inverse: the relative duality gap is {certificate.gap:.3g} > tol={tol:g} "
            f"(column {certificate.gaps.argmax()}); the condition number of H, its rows scaled alike, is about "
            f"{np.linalg.cond(R):.2g}",
            ConvergenceWarning,
        )
    return (kept, certificate) if return_certificate else kept


def _checked(H: npt.ArrayLike) -> Array:
    try:
        n_features = (np.shape(H) or (0,))[-1]
    except ValueError:  # rows of different lengths, which check_components has words for
        n_features = 0
    matrix = check_components(H, n_features)
    k, m = matrix.shape
    if k > m:
        raise InputError(
            f"{{parameter}} has {k} components but only {m} features, so its components are linearly dependent",
            parameter="H",
            kind="dependent",
        )
    zero = np.flatnonzero(~matrix.any(axis=1))
    if len(zero):
        told = f"{_named(zero)} of {{parameter}} {'is' if len(zero) == 1 else 'are'} zero: there is no left inverse"
        raise InputError(told, parameter="H", kind="dependent", place=Place(row=int(zero[0])))
    return matrix


def _scaled(matrix: Array) -> tuple[Array, Exponents]:
    """Rows of about unit length, and the exponents: row i was multiplied by ``2**exponents[i]``, which is exact."""
    largest = np.frexp(np.abs(matrix).max(axis=1))[1]
    scaled = np.ldexp(matrix, -largest[:, None])
    longer = np.frexp(np.linalg.norm(scaled, axis=1))[1]
    return np.ldexp(scaled, -longer[:, None]), -(largest + longer)


def _rescaled(P: Array, exponents: Exponents, dtype: npt.DTypeLike) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        kept = np.ldexp(P, exponents).astype(dtype)
    outside = np.flatnonzero(~np.isfinite(kept).all(axis=0) | ~kept.any(axis=0))
    if len(outside):
        raise InputError(f"the inverse of component {outside[0]} leaves the range of {kept.dtype}; rescale H first")
    return kept


def _certify(scaled: Array, exponents: Exponents, P: Array, Y: Array, kept: Array, norm: str) -> InverseCertificate:
    """Certificate of the original problem, which differs from the scaled one by powers of two."""
    order, dual_order = (2, 2) if norm == "2" else (1, np.inf)
    Y = Y / (np.linalg.norm(scaled.T @ Y, dual_order, axis=0) * (1.0 + 4.0 * EPS))
    lengths, bounds = np.linalg.norm(P, order, axis=0), np.diag(Y)
    residual = np.abs(scaled @ np.ldexp(kept.astype(np.float64), -exponents) - np.eye(len(Y)))
    sizes = np.outer(np.abs(scaled).max(axis=1), np.abs(P).sum(axis=0))
    return InverseCertificate(
        norm=float(np.ldexp(lengths, exponents).max()),
        lower_bounds=np.ldexp(bounds, exponents),
        gaps=np.abs(lengths - bounds) / lengths,
        feasibility=float((residual / sizes).max()),
        dual=np.ldexp(Y, exponents[:, None]),
    )


def _check_independent(R: Array, size: int) -> None:
    """Name the components of a dependent set, from which none can be left out."""
    T, order = scipy.linalg.qr(R, mode="r", pivoting=True)
    rank = int((np.abs(np.diag(T)) > size * EPS * abs(T[0, 0])).sum())
    if rank == len(R):
        return
    # the first one that depends on those before it does so in one way only, since they are independent
    weights = np.abs(scipy.linalg.solve_triangular(T[:rank, :rank], T[:rank, rank]))
    involved = np.sort(np.append(order[:rank][weights > 1e-6 * weights.max()], order[rank]))
    raise InputError(
        f"{_named(involved)} of {{parameter}} are linearly dependent: one is a combination of the other(s), so there "
        f"is no left inverse ({{parameter}} has rank {rank}); remove one of them",
        parameter="H",
        kind="dependent",
        place=Place(row=int(involved[-1])),
    )


def _named(rows: Index) -> str:
    names = [str(row) for row in rows[:NAMED]] + [f"{len(rows) - NAMED} more"] * (len(rows) > NAMED)
    return f"component {names[0]}" if len(names) == 1 else f"components {', '.join(names[:-1])} and {names[-1]}"


def _shortest(Q: Array, C: Array, tol: float) -> tuple[Array, Array]:
    """Columns p of least ``|p|_1`` with ``Q'p = c`` for the columns c of ``C``, and their y."""
    k = Q.shape[1]
    basis = scipy.linalg.qr(Q.T, mode="r", pivoting=True)[1][:k].astype(np.int64)
    start = np.linalg.inv(Q[basis].T)
    P, Y = np.empty((Q.shape[0], k)), np.empty((k, k))
    for j, (p, y) in enumerate(ordered(partial(_column, Q=Q, C=C, basis=basis, start=start, tol=tol), k)):
        P[:, j], Y[:, j] = p, y
    return P, Y


def _column(j: int, Q: Array, C: Array, basis: Index, start: Array, tol: float) -> tuple[Array, Array]:
    m, k = Q.shape
    size = np.linalg.norm(C[:, j])
    c = C[:, j] / size
    noise = np.random.default_rng(j).uniform(-1.0, 1.0, k)
    basis, inverse = basis.copy(), start.copy()
    best, least = (Q @ c, c), np.inf
    for perturbation in PERTURBATIONS:
        # changes of the basic solution at hand, which must stand out from its rounding error
        shift = perturbation / k * np.abs(inverse @ c).sum() * noise
        signs = descend(Q, c + Q[basis].T @ shift, basis, inverse, 20 * (m + k))
        try:
            inverse = np.linalg.inv(Q[basis].T)  # without the rounding of all those updates
        except np.linalg.LinAlgError:
            break
        p = np.zeros(m)
        p[basis] = inverse @ c
        y = signs @ inverse
        gap = _gap(Q, c, p, y)
        if gap < least:
            best, least = (p, y), gap
        if gap <= 0.5 * tol:
            break
    if not least <= 0.5 * tol:
        p, y = _by_highs(Q, c)
        best = (p, y) if _gap(Q, c, p, y) < least else best
    return size * best[0], best[1]


def _gap(Q: Array, c: Array, p: Array, y: Array) -> float:
    """Relative duality gap plus infeasibility; infinite if there is a NaN."""
    bound = c @ y / max(np.abs(Q @ y).max(), 1e-300)
    gap = np.abs(bound - np.abs(p).sum()) / np.abs(p).sum() + np.abs(Q.T @ p - c).max()
    return float(gap) if np.isfinite(gap) else np.inf


def _by_highs(Q: Array, c: Array) -> tuple[Array, Array]:
    """The same by HiGHS; the least Euclidean solution if it fails."""
    from scipy.optimize import linprog  # rarely needed, slow to import

    m = len(Q)
    result = linprog(
        np.ones(2 * m),
        A_eq=np.hstack([Q.T, -Q.T]),
        b_eq=c,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.x is None:
        return Q @ c, c
    return result.x[:m] - result.x[m:], result.eqlin.marginals
