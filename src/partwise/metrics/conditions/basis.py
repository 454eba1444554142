"""Components by a basis of the true ones: ``A = A* (Sigma + E) + N`` and the norms of its parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from partwise.metrics.checks import EPS, Matrix, Vector, scale_rows


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

    def cosines(self, C: Matrix) -> Matrix:
        """Cosines of the true components, one a row, with components; 0 for one of zeros."""
        largest = np.abs(C).max(axis=1)
        unit = C / np.where(largest > 0.0, largest, 1.0)[:, None]
        lengths = np.linalg.norm(unit, axis=1)
        unit /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
        return np.asarray((self.R / np.linalg.norm(self.R, axis=0)).T @ (unit @ self.Q).T)

    def parts(self, C: Matrix, *, rescale: bool, absolute: bool = False) -> tuple[Vector, Vector, Matrix, Matrix]:
        """Return the diagonal of Sigma, and the scales, E and N of the components divided by these.

        Scales are Sigma; 1 where that is zero, to the rounding of the column, or negative unless ``absolute``.
        """
        B = C @ self.Q
        # Sigma + E: column i has the coefficients of component i
        M = np.ldexp(solve_triangular(self.R, B.T, check_finite=False), -self.exponents[:, None])
        sigma, scales = M.diagonal(), np.ones(len(M))
        if rescale:
            sizes = np.abs(np.ldexp(M, self.exponents[:, None]))  # true components taken as of the same size
            usable = sizes.diagonal() > len(M) * EPS * sizes.max(axis=0)
            scales = np.where(usable & ((sigma > 0.0) | absolute), sigma, 1.0)
        with np.errstate(over="ignore"):
            E, N = M / scales, (C - B @ self.Q.T) / scales[:, None]  # N from the residual itself
        np.fill_diagonal(E, 0.0)
        return sigma, scales, E, N


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
