"""Exact non-negative least squares: all samples against one Gram matrix, with a certificate.

Where most weights are positive and the Gram matrix is well conditioned the few zeros are sought, through its inverse
(``kernels/pivoting.py``), and the result is verified.  Else, and for samples that do not pass:
A few coordinate sweeps find nearly every support; the exact solution on it is one Cholesky solve (many samples
side by side); the few samples that are not optimal then are finished by an active-set method.  Where the Gram
matrix is nearly singular the gradient comes from the residual itself, and what that leaves in doubt is solved
by QR.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.door.matrices import check_form
from partwise.exceptions import InputError, Place
from partwise.kernels.coordinate import descend_each, descend_lanes
from partwise.kernels.nnls import EPS, enlarge_supports, finish, finish_each, solve_supports, verdict
from partwise.kernels.pivoting import pivot_zeros
from partwise.linalg.certificate import Certificate
from partwise.sources import RowSource, blocks, inspect, source_of
from partwise.sources.names import column_order, names_of
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

# Work on all rows at once before the active set takes what is left, one row at a time. How much that is depends on the
# data: from zero weights, 1, 19, 66 and 76% of the rows of four random problems (k = 10, 30, 100, 50).
SWEEPS = 6
EXCHANGES = 3
REFINEMENTS = 8  # each gains digits or is the last; what is in doubt after these is solved by QR
# a KKT residual, relative to |b|, that needs no refinement: of the size at which one ends (DOUBTFUL_KKT)
HARMLESS = 2e-11
# smallest eigenvalue of a Gram matrix of unit components below which its rounding matters: weights lose 6 of 16 digits
ILL_CONDITIONED = 1e-6
# relative to |x|: a KKT residual, and a possible excess of |x - wH|, that ask for a solver without squares;
# rounding alone leaves a residual of 4 EPS / sqrt(ILL_CONDITIONED) = 9e-13
DOUBTFUL_KKT = 1e-11
DOUBTFUL_MISFIT = 1e-10
# features whose lengths differ by more than this: the small ones are lost in products and in an unsorted QR alike, so
# that a KKT residual says nothing about their part of the misfit (its square is what rounding leaves of them)
UNEVEN = 1e4
# smallest eigenvalue above which the inverse of a Gram matrix is used, and the KKT residual, relative to the largest
# |b| and the sum of the weights, up to which what it gives is kept; all else is solved without it
INVERTIBLE = 1e-3
KEPT = 64.0 * EPS
# largest eigenvalue of a Gram matrix of unit components, over their number, up to which components overlap little:
# sweeps then find supports at once, and rows with more than a third of zeros are solved for these in half the time
# (parts of digits and of texts); where all components are alike, as random ones are, in five times as much
OVERLAP = 0.5
# length of a mixture of unit components, relative to its weights, of which rounding of the components is a millionth
CANCELLING = 1e-9
DISAGREEMENT = 1e-8  # of |x|: more than this between two solvers is more than their rounding


@dataclass(frozen=True)
class NNLSCertificate(Certificate):
    """Proof of optimality of every sample.

    Attributes
    ----------
    kkt : ndarray of shape (n_samples,)
        Largest violation of the Karush-Kuhn-Tucker conditions over the components j, relative to
        ``|X_i| |H_j|``: ``|g_j|`` where the weight is positive and ``max(0, -g_j)`` where it is zero,
        ``g = w H H' - x H'``.
    undetermined : ndarray of shape (n_samples,)
        What is left of a sample, relative to ``|X_i|``, where components cancel in a mixture but for their rounding;
        else zero. Weights of 1e12 may then fit more of it by the last digits of components, which no gradient shows.
    """

    kkt: Array
    undetermined: Array

    @property
    def largest(self) -> float:
        """The largest residual of all samples."""
        return float(self.kkt.max(initial=0.0))


@dataclass(frozen=True)
class Gram:
    """Components prepared for decoding: rows scaled to unit norm, their Gram matrix, and the norms.

    In the scaled weights ``u = w * scale`` the problem is ``min 1/2 u G u' - b u'`` with
    ``b = x directions - shift`` and ``G = directions' directions + diag(ridge)``: ``shift`` and ``ridge``
    carry the l1 and l2 penalties.
    """

    directions: Array  # (m, k), C order, unit columns, in the type of the data
    exact: npt.NDArray[np.float64]  # the same, not rounded
    G: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]
    shift: npt.NDArray[np.float64]
    ridge: npt.NDArray[np.float64]
    smallest: float  # eigenvalue of G
    uneven: bool  # whether features of very different lengths decide
    inverse: npt.NDArray[np.float64] | None = None  # of G, where it is well conditioned
    alike: bool = False  # whether components overlap so much that sweeps are slow

    @property
    def ill_conditioned(self) -> bool:
        """Whether the rounding of ``G`` matters."""
        return self.smallest < ILL_CONDITIONED

    @cached_property
    def cancels(self) -> bool:
        """Whether components cancel in a mixture, but for rounding: weights may then grow along it without end.

        By the last digits of components such weights fit what the components were not meant to reach, and no gradient
        in double precision shows it.
        """
        if self.smallest > CANCELLING or self.penalised:
            return False
        from scipy.optimize import nnls as nnls_by_qr  # rarely needed, slow to import

        used = self.exact[:, np.diag(self.G) > 0.0]
        if not used.size:
            return False
        try:
            distance = nnls_by_qr(np.vstack([used, np.ones(used.shape[1])]), np.append(np.zeros(len(used)), 1.0))[1]
        except RuntimeError:  # too many exchanges
            return True
        return bool(distance < CANCELLING)

    @property
    def penalised(self) -> bool:
        """Whether there is more to minimise than the misfit."""
        return bool(self.shift.any() or self.ridge.any())

    @classmethod
    def of(cls, H: Array, dtype: npt.DTypeLike, *, l1: float = 0.0, l2: float = 0.0) -> Gram:
        """Prepare ``H``; norms are taken after scaling by the largest entry, so 1e-150 is as good as 1."""
        H = np.asarray(H, np.float64)
        largest = np.abs(H).max(axis=1, initial=0.0)
        safe = np.where(largest > 0.0, largest, 1.0)
        shrunk = H / safe[:, None]
        norms = np.sqrt(np.einsum("ij,ij->i", shrunk, shrunk))
        unit = shrunk / np.where(norms > 0.0, norms, 1.0)[:, None]
        scale = np.where(norms > 0.0, norms, 1.0) * safe
        G = unit @ unit.T
        # exactly symmetric with a unit diagonal, so that duplicated components give equal rows
        G = (G + G.T) / 2.0
        np.fill_diagonal(G, (norms > 0.0).astype(np.float64))
        penalty = (np.sqrt(l2) / scale) ** 2
        # back to a unit diagonal, now with the penalty in it
        diagonal = np.sqrt(np.diag(G) + penalty)
        diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
        G = (G + np.diag(penalty)) / np.outer(diagonal, diagonal)
        scale = scale * diagonal
        exact = np.ascontiguousarray((unit / diagonal[:, None]).T)
        directions = exact.astype(dtype, copy=False)
        eigenvalues = np.linalg.eigvalsh(G)
        smallest, alike = float(eigenvalues[0]), bool(eigenvalues[-1] > OVERLAP * len(G))
        lengths = np.abs(exact).max(axis=1, initial=0.0)
        uneven = bool(lengths.any() and lengths.max() > UNEVEN * lengths[lengths > 0.0].min())
        inverse = None
        if smallest >= INVERTIBLE:
            inverse = np.linalg.inv(G)
            inverse = (inverse + inverse.T) / 2.0
        return cls(directions, exact, G, scale, l1 / scale, penalty / diagonal**2, smallest, uneven, inverse, alike)


def nnls(
    H: npt.ArrayLike,
    X: Any,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    loss: str | tuple[str, float] = "frobenius",
    mask: Any = None,
    weights: Any = None,
    return_certificate: bool = False,
) -> Any:
    """Weights ``W >= 0`` that minimise ``1/2 |X_i - W_i H|^2 + l1 |W_i|_1 + l2/2 |W_i|^2`` for every sample, exactly.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features)
        Components, of any sign; dependent, repeated and zero components are allowed (a zero one gets weight
        zero). Columns of two data frames are matched by name.
    X : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_features)
        Samples, of any sign; not negative for the Kullback-Leibler divergence.
    l1, l2 : float, default=0
        Penalties of the weights.
    loss : {"frobenius", "kullback-leibler", "l1"} or (str, float), default="frobenius"
        What is minimised: half the squared error, the divergence (the Poisson likelihood), the sum of absolute
        deviations (its residual is a duality gap; without penalties, mask and weights), ``("huber", delta)`` (squares
        up to delta, lines beyond) or ``("negative-binomial", dispersion)`` (not convex: a stationary point).
    mask : array-like, sparse matrix or source of the shape of ``X``, optional
        True, or not zero, where an entry is known; others, NaN included, are left out.
    weights : array-like of shape (n_features,), or of the shape of ``X``, optional
        How much each feature, or each entry, counts.
    return_certificate : bool, default=False
        Also return the residual of the optimality conditions of every sample.

    Returns
    -------
    W : ndarray of shape (n_samples, n_components)
        The weights, in the floating type of ``X``.
    certificate : NNLSCertificate
        Only with ``return_certificate``.

    References
    ----------
    Lawson & Hanson (1974), Solving Least Squares Problems, chapter 23; Björck (1987), corrected semi-normal
    equations; Cox & Higham (1998), Stability of Householder QR factorization for weighted least squares problems.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> H = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    >>> pw.nnls(H, np.array([[3.0, 0.0, 3.0], [-1.0, 4.0, 2.0]])).round(12)
    array([[3., 0.],
           [0., 2.]])
    """
    source = source_of(X)
    parts = check_components(H, source.shape[1])
    have = names_of(H)
    if have is not None and source.feature_names is not None:
        parts = parts[:, column_order(have, source.feature_names, parameter="H", other="X")]
    if isinstance(loss, str) and loss == "l1":
        W, kkt = _absolute(source, parts, {"l1": l1 or None, "l2": l2 or None, "mask": mask, "weights": weights})
        gram = None
    elif loss != "frobenius" or mask is not None or weights is not None:
        from partwise.linalg.incomplete import certified_weights  # which is made of this module

        W, kkt = certified_weights(source, parts, l1=l1, l2=l2, loss=loss, mask=mask, weights=weights)
        gram = None
    else:
        gram = Gram.of(parts, source.dtype, l1=l1, l2=l2)
        fn = partial(certified_block, gram=gram, certify=return_certificate)
        W, kkt = source.map_rows(fn, width=len(gram.scale), combine=_join)
    bad = np.flatnonzero(~np.isfinite(kkt))
    if len(bad):
        raise InputError(
            f"{{parameter}} contains NaN or infinity in {{place}}, or its weights leave the range of {source.dtype} "
            f"({len(bad)} row(s) in all); remove or rescale them first",
            parameter="X",
            kind="not-finite",
            place=Place(row=int(bad[0])),
        )
    W = np.asarray(W)
    if not return_certificate:
        return W
    undetermined = np.zeros(len(W))
    if gram is not None and gram.cancels:
        left = source.map_rows(partial(_left_over, gram=gram), source.place(W), width=1)
        undetermined = np.asarray(source.deliver(left), np.float64)[:, 0]
    return W, NNLSCertificate(kkt, undetermined)


def _left_over(block: Block, W: Array, gram: Gram) -> Array:
    """What weights leave of samples, relative to them."""
    misfit, norms = _true_gradient(block, gram, W * gram.scale)[1], blocks.norms(block)
    return np.divide(misfit, norms, out=np.zeros_like(misfit), where=norms > 0.0)[:, None]


def _absolute(source: RowSource, H: Array, others: dict[str, Any]) -> tuple[Array, Array]:
    """Least absolute deviations, which take nothing else."""
    from partwise.linalg.absolute import certified_block as absolute_block  # which is made of this module

    given = [name for name, value in others.items() if value is not None]
    if given:
        raise InputError("{parameter} is nothing for loss='l1'", parameter=given[0])
    inspect(source).check(allow_negative=True, squares=False)
    return source.map_rows(partial(absolute_block, H=H), width=len(H), combine=_join)  # type: ignore[no-any-return]


def check_components(H: npt.ArrayLike, n_features: int, name: str = "H") -> npt.NDArray[np.float64]:
    """Components as a finite float64 matrix with the right number of columns."""
    check_form(H, name)
    try:
        given = np.asarray(H.toarray() if hasattr(H, "toarray") else H)
        if given.dtype.kind not in "fiubO":
            raise TypeError(f"got dtype {given.dtype}")
        matrix = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{{parameter}} must be a matrix of real numbers ({error})", parameter=name, kind="not-real"
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] < 1:
        raise InputError(
            f"{{parameter}} must have shape (n_components, n_features), at least one row; got {matrix.shape}",
            parameter=name,
            kind="shape",
        )
    if matrix.shape[1] != n_features:
        raise InputError(
            f"{{parameter}} has {matrix.shape[1]} features (columns) but the data has {n_features}",
            parameter=name,
            kind="shape",
        )
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        row, column = map(int, bad[0])
        raise InputError(
            f"{{parameter}} contains {len(bad)} NaN or infinity value(s), the first in {{place}}",
            parameter=name,
            kind="not-finite",
            place=Place(row, column),
        )
    return matrix


def decode_block(block: Block, gram: Gram) -> Array:
    """Exact weights of one block of rows; NaN in rows that are not finite."""
    W = np.empty((block.shape[0], len(gram.scale)), block.dtype)
    for rows, part in blocks.row_parts(block):
        W[rows] = _solve_block(part, gram)[0]
    return W


def certified_block(block: Block, gram: Gram, certify: bool = True) -> tuple[Array, Array]:
    """Exact weights of one block of rows and, with ``certify``, their KKT residuals relative to ``|x|``."""
    W, residual = np.empty((block.shape[0], len(gram.scale)), block.dtype), np.empty(block.shape[0])
    for rows, part in blocks.row_parts(block):
        W[rows], residual[rows] = _certified_part(part, gram, certify)
    return W, residual


def _certified_part(block: Block, gram: Gram, certify: bool) -> tuple[Array, Array]:
    W, residual = _solve_block(block, gram)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        kept = W.astype(block.dtype, copy=False)
        # of the weights as they are returned: rounded to the data's type, and with the rounding of x - wH itself
        if certify and kept is not W:
            scaled = kept * gram.scale
            residual = _residual(scaled, scaled, _true_gradient(block, gram, scaled)[0])
        residual = np.maximum(residual, 0.5 * EPS * (kept @ gram.scale))
        if kept is not W or not np.isfinite(residual.sum()):
            # weights that all left the range of the type, above or below
            residual[~np.isfinite(kept).all(axis=1) | (W.any(axis=1) & ~kept.any(axis=1))] = np.nan
    if certify:
        norms = blocks.norms(block)
        np.divide(residual, norms, out=residual, where=norms > 0.0)
    return kept, residual


def _join(a: Array, b: Array) -> Array:
    return np.concatenate([a, b])


def _solve_block(block: Block, gram: Gram) -> tuple[Array, Array]:
    """Exact weights and KKT residuals of one block of rows; NaN in rows that are not finite."""
    # with dependent components a rounded b is in no one's range and weights run away along the null space
    directions = gram.exact if gram.ill_conditioned else gram.directions
    with np.errstate(invalid="ignore", over="ignore"):
        B = np.ascontiguousarray(blocks.dot(block, directions), np.float64)
        B -= gram.shift
        W, residual = _solve(gram, B)
        if gram.ill_conditioned:
            _refine_doubtful(block, gram, B, W, residual)
        one = np.ones(B.shape[1])
        bad = ~np.isfinite(B @ one)  # minus infinity alone would pass as a weight of zero
    W[bad] = residual[bad] = np.nan
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        some = W @ one > 0.0
        W /= gram.scale
        residual[some & (W @ one == 0.0)] = np.nan
    return W, residual


def solve(
    G: npt.NDArray[np.float64], B: npt.NDArray[np.float64], start: npt.NDArray[np.float64] | None = None
) -> tuple[Array, Array]:
    """Exact solutions of ``min 1/2 w G w' - b w'``, w >= 0, for the rows b of ``B``, and their KKT residuals.

    ``G`` must have a unit diagonal (zero for a null component).  ``start`` is a feasible point to begin at.
    """
    W = np.zeros_like(B) if start is None else start.copy()
    descend_lanes(G, B, W, SWEEPS, False)
    solve_supports(G, B, W)
    residual = np.empty(len(B))
    g = W @ G - B
    rows = verdict(B, W, g, residual)
    # block principal pivoting: a row's violations are exchanged all at once, which ends for most rows in a round or two
    for _ in range(EXCHANGES):
        if not len(rows):
            return W, residual
        b, w, left = B[rows], W[rows], np.empty(len(rows))
        enlarge_supports(b, w, g[rows])
        solve_supports(G, b, w)
        W[rows], g[rows] = w, w @ G - b
        still = verdict(b, w, g[rows], left)
        residual[rows] = left
        rows = rows[still]
    finish(G, B, W, g, rows)
    residual[rows] = _residual(B[rows], W[rows], W[rows] @ G - B[rows])
    return W, residual


def _solve(gram: Gram, B: Array) -> tuple[Array, Array]:
    """As :func:`solve`; rows whose solution without the constraint is mostly positive are solved through the dual.

    Every row decides for itself, so the result does not depend on how rows are split into blocks.
    """
    if gram.inverse is None:
        return solve(gram.G, B)
    W, residual = B @ gram.inverse, np.empty(len(B))
    pivot_zeros(gram.inverse, W.copy(), W, B.shape[1] // (2 if gram.alike else 3))
    rows = verdict(B, W, W @ gram.G - B, residual, KEPT)
    if len(rows):
        start = W[rows]
        start[~np.isfinite(start).all(axis=1)] = 0.0
        W[rows], residual[rows] = solve(gram.G, B[rows], start)
    return W, residual


def solve_each(
    G: npt.NDArray[np.float64], B: npt.NDArray[np.float64], start: npt.NDArray[np.float64]
) -> tuple[Array, Array]:
    """As :func:`solve`, with a Gram matrix for each row: ``G`` has the shape (rows, k, k)."""
    W, G = start.copy(), np.ascontiguousarray(G)
    descend_each(G, B, W, SWEEPS, 0.0)
    finish_each(G, B, W, (W[:, None, :] @ G)[:, 0] - B)
    return W, _residual(B, W, (W[:, None, :] @ G)[:, 0] - B)


def _refine_doubtful(block: Block, gram: Gram, B: Array, W: Array, residual: Array) -> None:
    """Refine the rows for which rounding of the Gram matrix matters; of the others the residual gets its bound.

    A solve with ``G`` leaves an error of eps (|b| + sum w) / smallest along the weakest eigenvector, which the
    components turn into a gradient of that times sqrt(smallest).
    """
    sizes = np.abs(B).max(axis=1, initial=0.0)
    bound = 4.0 * EPS * (sizes + W.sum(axis=1)) / np.sqrt(max(gram.smallest, EPS))
    np.maximum(residual, bound, out=residual)
    rows = np.flatnonzero(~(residual <= HARMLESS * sizes))
    if len(rows):
        w, left = W[rows], residual[rows]
        _refine(block[rows], gram, B[rows], w, left)
        W[rows], residual[rows] = w, left


def _refine(block: Block, gram: Gram, B: Array, W: Array, residual: Array) -> None:
    """Finish again from the gradient of the true residual, which the Gram matrix only knows to sqrt(eps)."""
    sizes = blocks.norms(block)
    g, misfit = _true_gradient(block, gram, W)
    rows = verdict(B, W, g, residual)
    doubts = _doubtful(residual, misfit, sizes, gram)
    rows = np.union1d(rows, np.flatnonzero(doubts))
    for _ in range(REFINEMENTS):
        if not len(rows):
            break
        b, w = B[rows], W[rows]
        finish(gram.G, b, w, g[rows], np.arange(len(rows)))
        new_g, new_misfit = _true_gradient(block[rows], gram, w)
        left = np.empty(len(rows))
        unsettled = np.zeros(len(rows), bool)
        unsettled[verdict(b, w, new_g, left)] = True
        better = left < residual[rows]
        kept = rows[better]
        W[kept], g[kept], misfit[kept], residual[kept] = (
            w[better],
            new_g[better],
            new_misfit[better],
            left[better],
        )
        doubts[kept] = _doubtful(residual[kept], misfit[kept], sizes[kept], gram)
        rows = kept[unsettled[better] | doubts[kept]]
    if doubts.any() and not gram.penalised:
        _solve_by_qr(block, gram, B, W, residual, misfit, np.flatnonzero(doubts))


def _true_gradient(block: Block, gram: Gram, W: Array) -> tuple[Array, Array]:
    """Gradient in ``W``, and ``|x - wH|``, of every row."""
    products, misfit = blocks.residual_dot(block, W, gram.exact)
    return gram.shift + W * gram.ridge - products, misfit


def _doubtful(residual: Array, misfit: Array, sizes: Array, gram: Gram) -> npt.NDArray[np.bool_]:
    """Rows whose KKT residual is large, or says too little about the misfit: it may fall by g G^-1 g / 2."""
    safe = np.where(sizes > 0.0, sizes, 1.0)
    kkt, misfit = residual / safe, misfit / safe
    excess = len(gram.G) * kkt**2 / (2.0 * max(gram.smallest, EPS))
    hidden = (misfit > DOUBTFUL_MISFIT) & (excess > DOUBTFUL_MISFIT * misfit)
    return np.asarray((kkt > DOUBTFUL_KKT) | hidden | (gram.uneven & (misfit > DOUBTFUL_MISFIT)))


def _solve_by_qr(
    block: Block, gram: Gram, B: Array, W: Array, residual: Array, misfit: Array, rows: npt.NDArray[np.int64]
) -> None:
    """Lawson & Hanson with orthogonal transformations, a row at a time, kept where it is better."""
    from scipy.optimize import nnls as nnls_by_qr  # rarely needed, slow to import

    systems = _orthogonal_systems(gram)
    sizes, doubt = blocks.norms(block[rows]), np.zeros(len(rows))
    found = np.full((len(systems), len(rows)), np.inf)
    for s, (A, turn, scale) in enumerate(systems):
        w, solved = W[rows], np.zeros(len(rows), bool)
        for t, row in enumerate(rows):
            x = blocks.to_dense(block[row : row + 1])[0].astype(np.float64)
            with suppress(RuntimeError):  # too many exchanges
                w[t], solved[t] = nnls_by_qr(A, turn(x))[0] * scale, True
        g, new_misfit = _true_gradient(block[rows], gram, w)
        left, old = _residual(B[rows], w, g), misfit[rows]
        # the misfit decides where it differs by more than rounding, the residual where it does not
        better = (new_misfit < old * (1.0 - 1e-12)) | ((left < residual[rows]) & (new_misfit <= old * (1.0 + 1e-12)))
        better &= solved
        W[rows[better]], misfit[rows[better]] = w[better], new_misfit[better]
        residual[rows[better]] = left[better]
        found[s] = np.where(solved, new_misfit, sizes)
    # where solvers without squares do not agree, or give up, no residual is a certificate
    doubt = found.max(axis=0) - np.minimum(found.min(axis=0), misfit[rows])
    residual[rows] = np.maximum(residual[rows], np.where(doubt > DISAGREEMENT * sizes, doubt, 0.0))


def _orthogonal_systems(gram: Gram) -> list[tuple[Array, Any, Array]]:
    """Matrices to be solved by orthogonal transformations, what each does to a sample, and to its weights.

    Rows in falling order keep small features (Cox & Higham 1998, Theorem 2.5). Where features are uneven no one order
    and no one scale of the columns is best, so there are several.
    """
    order = np.argsort(-np.abs(gram.exact).max(axis=1, initial=0.0), kind="stable")
    A, one = gram.exact[order], np.ones(len(gram.scale))
    if not gram.uneven:
        Q, R = np.linalg.qr(A)
        return [(R, lambda x: x[order] @ Q, one)]
    scaled = gram.exact * gram.scale
    systems: list[tuple[Array, Any, Array]] = [(A, lambda x: x[order], one), (gram.exact, lambda x: x, one)]
    return [*systems, (scaled, lambda x: x, gram.scale)] if np.isfinite(scaled).all() else systems


def _residual(B: Array, W: Array, g: Array) -> Array:
    residual = np.empty(len(B))
    verdict(B, W, g, residual)
    return residual
