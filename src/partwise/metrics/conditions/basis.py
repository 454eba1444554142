"""Components by a basis of the true ones: ``A = A* (Sigma + E) + N`` and the norms of its parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import linear_sum_assignment

from partwise.metrics.checks import EPS, Matrix, Vector, scale_rows
from partwise.metrics.recovery import cosines_of


@dataclass(frozen=True, eq=False)
class Basis:
    """An orthonormal basis of the span of the truth: ``truth.T = Q @ R @ diag(2**exponents)``."""

    Q: Matrix
    R: Matrix
    exponents: NDArray[np.int_]

    @classmethod
    def of(cls, T: Matrix) -> Basis | None:
        """Return the basis, or ``None`` if components are dependent to rounding."""
        if len(T) > T.shape[1]:
            return None
        scaled, exponents = scale_rows(T)
        Q, R = np.linalg.qr(scaled.T)
        singular = np.linalg.svd(R, compute_uv=False)
        if singular[-1] <= max(T.shape) * EPS * singular[0]:
            return None
        return cls(Q, R, exponents)

    def coordinates(self, C: Matrix) -> tuple[Matrix, Matrix]:
        """Components, one a row, in this basis, and what of them is outside of it."""
        B = C @ self.Q
        return B, C - B @ self.Q.T

    def flat(self, B: Matrix, N: Matrix) -> tuple[Matrix, Matrix]:
        """Components and true ones by one number more than there are true ones: what is outside counts by its length.

        Lengths, and angles between components and true ones, are as they were.
        """
        T = np.ldexp(self.R, self.exponents).T
        return np.column_stack([B, _lengths(N)]), np.column_stack([T, np.zeros(len(T))])

    def parts(
        self, B: Matrix, N: Matrix, *, rescale: bool, absolute: bool = False
    ) -> tuple[Vector, Vector, Matrix, Matrix]:
        """Return the diagonal of Sigma, and the scales, E and N of the components divided by these.

        Scales are Sigma; 1 where that is zero, to the rounding of the column, or negative unless ``absolute``.
        """
        # Sigma + E: column i has the coefficients of component i
        M = np.ldexp(solve_triangular(self.R, B.T, check_finite=False), -self.exponents[:, None])
        sigma, scales = M.diagonal(), np.ones(len(M))
        if rescale:
            sizes = np.abs(np.ldexp(M, self.exponents[:, None]))  # true components taken as of the same size
            usable = sizes.diagonal() > len(M) * EPS * sizes.max(axis=0)
            scales = np.where(usable & ((sigma > 0.0) | absolute), sigma, 1.0)
        with np.errstate(over="ignore"):
            E, N = M / scales, N / scales[:, None]
        np.fill_diagonal(E, 0.0)
        return sigma, scales, E, N


def order_of(C: Matrix, T: Matrix) -> NDArray[np.int_]:
    """Which component is which true one, by the angles between them."""
    return np.asarray(linear_sum_assignment(cosines_of(scale_rows(C)[0], scale_rows(T)[0]), maximize=True)[1])


def _lengths(N: Matrix) -> Vector:
    """Lengths of rows, also where squares overflow or vanish."""
    largest = np.maximum(N.max(axis=1), -N.min(axis=1))
    safe = np.where((largest == 0.0) | ((largest > 1e-100) & (largest < 1e100)), 1.0, largest)
    scaled = N / safe[:, None] if (safe != 1.0).any() else N
    return np.asarray(safe * np.sqrt(np.einsum("ij,ij->i", scaled, scaled)))


def norms(E: Matrix) -> dict[str, float]:
    """Return the spectral, column and symmetrised norm of E, and the last of its two parts (equation 6)."""
    return {
        "E_2": spectral(E),
        "E_1": float(np.abs(E).sum(axis=0).max()),
        "E_s": _symmetrised(np.abs(E)),
        "E_plus": _symmetrised(np.maximum(E, 0.0)),
        "E_minus": _symmetrised(np.maximum(-E, 0.0)),
    }


def outside_norms(N: Matrix) -> dict[str, float]:
    """Return the spectral, column and row norm of the papers' N, which is the transpose of ``N``."""
    sizes = np.abs(N)
    return {"N_2": spectral(N), "N_1": float(sizes.sum(axis=1).max()), "N_inf": float(sizes.sum(axis=0).max())}


def _symmetrised(magnitudes: Matrix) -> float:
    return float(max(magnitudes.sum(axis=0).max(), magnitudes.sum(axis=1).max()))


def spectral(M: Matrix) -> float:
    """Return the largest singular value, by the small Gram matrix: of the largest, squares lose no digits."""
    largest = float(np.abs(M).max())
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    shrunk = M / largest
    return largest * float(np.sqrt(np.linalg.eigvalsh(shrunk @ shrunk.T)[-1]))
