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

    def coordinates(self, C: Matrix) -> tuple[Matrix, Matrix]:
        """Components, one a row, in this basis, and what of them is outside of it."""
        B = C @ self.Q
        return B, C - B @ self.Q.T

    def cosines(self, B: Matrix, N: Matrix) -> Matrix:
        """Cosines of the true components, one a row, with components of these coordinates; 0 for one of zeros."""
        safe, inside, outside = _lengths(B, N)
        lengths = np.hypot(inside, outside)
        unit = B / safe[:, None] / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        return np.asarray((self.R / np.linalg.norm(self.R, axis=0)).T @ unit.T)

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

    def total_error(self, B: Matrix, N: Matrix) -> float:
        """The sum of the distances of true components to the nearest multiples, see `total_correlation_error`.

        It is formed in coordinates, from what a multiple leaves of a true component and from what it adds outside of
        the span, so it is as accurate as from whole residuals, at a small part of their price.
        """
        safe, inside, outside = _lengths(B, N)
        B = B / safe[:, None]
        squares = inside**2 + outside**2
        squares[squares == 0.0] = 1.0
        T = self.R.T
        cosines = np.abs(T / np.linalg.norm(T, axis=1)[:, None] @ (B / np.sqrt(squares)[:, None]).T)
        # computed cosines are wrong by about len(T) eps: the best is among those within that of the largest
        slack = 4 * (len(self.Q) + 8) * EPS
        i, j = np.nonzero(cosines >= cosines.max(axis=1, keepdims=True) - slack)
        scales = np.einsum("pk,pk->p", T[i], B[j]) / squares[j]
        # the residual of a rounded scale still has a component along the multiple: take it out as well
        left = T[i] - scales[:, None] * B[j]
        scales += (np.einsum("pk,pk->p", left, B[j]) - scales * outside[j] ** 2) / squares[j]
        left = T[i] - scales[:, None] * B[j]
        nearest = np.full(len(T), np.inf)
        np.minimum.at(nearest, i, np.hypot(np.linalg.norm(left, axis=1), scales * outside[j]))
        return float(np.ldexp(nearest, self.exponents).sum())


def _lengths(B: Matrix, N: Matrix) -> tuple[Vector, Vector, Vector]:
    """Lengths within and outside of the span, after division by the first: 1 unless squares overflow or vanish."""
    largest = np.maximum(np.abs(B).max(axis=1), np.maximum(N.max(axis=1), -N.min(axis=1)))
    safe = np.where((largest == 0.0) | ((largest > 1e-100) & (largest < 1e100)), 1.0, largest)
    if (safe != 1.0).any():
        B, N = B / safe[:, None], N / safe[:, None]
    return safe, np.sqrt(np.einsum("ij,ij->i", B, B)), np.sqrt(np.einsum("ij,ij->i", N, N))


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
    rows, columns = sizes.sum(axis=1).max(), sizes.sum(axis=0).max()
    return {"N_2": spectral(N), "N_1": float(rows), "N_inf": float(columns)}


def _symmetrised(magnitudes: Matrix) -> float:
    return float(max(magnitudes.sum(axis=0).max(), magnitudes.sum(axis=1).max()))


def spectral(M: Matrix) -> float:
    """Return the largest singular value, by the small Gram matrix: of the largest, squares lose no digits."""
    largest = float(max(M.max(), -M.min()))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    if 1e-100 < largest < 1e100:
        return float(np.sqrt(np.linalg.eigvalsh(M @ M.T)[-1]))
    shrunk = M / largest  # else squares would overflow, or vanish
    return largest * float(np.sqrt(np.linalg.eigvalsh(shrunk @ shrunk.T)[-1]))
