"""How near components are to the true ones, up to order and scale.

Everything here is computed from residual vectors. The short way, sqrt(1 - cos^2), has lost all digits of an
error below 1e-8, where the methods of this package begin to be interesting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from partwise.exceptions import InputError
from partwise.metrics.checks import EPS, Indices, Matrix, Vector, as_components, scale_rows
from partwise.sources.names import column_order, names_of

__all__ = [
    "Match",
    "component_stability",
    "match_components",
    "spectral_angles",
    "stability",
    "total_correlation_error",
]


def total_correlation_error(components: Any, truth: Any, variant: str = "paper") -> float:
    r"""Sum over the true components of the distance to the nearest multiple of any component [1]_.

    .. math:: \sum_i \min_{j, s} \|A^*_i - s A_j\|_2

    The scale s may be any real number, and one component may serve several true ones.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        What was found, one component a row.
    truth : array-like of shape (n_true, n_features)
        The true components, one a row.
    variant : {"paper", "and4nmf"}, default="paper"
        "paper": the formula above. "and4nmf": what the authors' program computes, the sum of the *squared*
        distances after true components have been scaled to unit length.

    Returns
    -------
    float
        The error, accurate to rounding: a component off by 1e-12 measures 1e-12.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with
       Strong Correlations", ICML 2017, Section 7, "Evaluation criterion".

    Examples
    --------
    >>> from partwise.metrics import total_correlation_error
    >>> total_correlation_error([[0, 2], [3, 0]], [[1, 0], [0, 1]])
    0.0
    >>> round(total_correlation_error([[1, 1e-12]], [[1, 0]]) * 1e12, 6)
    1.0
    """
    if variant not in ("paper", "and4nmf"):
        raise InputError(f"variant={variant!r} is unknown: choose 'paper' or 'and4nmf'.", parameter="variant")
    C, T = _pair(components, truth)
    C, T, exponents = scale_rows(C)[0], *scale_rows(T)
    cosines = np.abs(cosines_of(C, T))
    # A computed cosine is wrong by at most about m eps, so the best candidate is among those within twice
    # that of the largest; only for them are residual vectors formed.
    slack = 4 * (T.shape[1] + 8) * EPS
    errors = np.empty(len(T))
    for i, t in enumerate(T):
        near = np.flatnonzero(cosines[i] >= cosines[i].max() - slack)
        errors[i] = np.linalg.norm(_residuals(np.broadcast_to(t, (near.size, t.size)), C[near])[0], axis=1).min()
    if variant == "and4nmf":
        return float(np.sum((errors / np.linalg.norm(T, axis=1)) ** 2))
    return float(np.sum(np.ldexp(errors, exponents)))


@dataclass(frozen=True, eq=False)
class Match:
    """Which component is which true one; unpacks as ``permutation, scales, cosines``.

    Parameters
    ----------
    permutation : ndarray of int, shape (n_true,)
        ``permutation[i]`` is the component matched to true component i, or -1 where components are too few.
    scales : ndarray of shape (n_true,)
        ``scales[i] * components[permutation[i]]`` is nearest to true component i; 0 where there is no match.
    cosines : ndarray of shape (n_true,)
        Cosine of the angle between the two; 0 for a component of zeros or none.
    errors : ndarray of shape (n_true,)
        ``||truth_i - scale_i component||_2 / ||truth_i||_2``, without cancellation; 1 where nothing matches.

    Examples
    --------
    >>> from partwise.metrics import match_components
    >>> permutation, scales, cosines = match_components([[0, 2], [3, 0]], [[1, 0], [0, 1]])
    >>> permutation.tolist(), cosines.tolist()
    ([1, 0], [1.0, 1.0])
    """

    permutation: Indices
    scales: Vector
    cosines: Vector
    errors: Vector

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.permutation, self.scales, self.cosines))

    def _repr_html_(self) -> str:
        """A row a true component, for a notebook."""
        columns = (range(len(self.permutation)), self.permutation, self.cosines, self.scales, self.errors)
        rows = "".join(
            "<tr>" + "".join(f"<td>{value:.6g}</td>" for value in row) + "</tr>" for row in zip(*columns, strict=True)
        )
        head = "".join(f"<th>{name}</th>" for name in ("true", "component", "cosine", "scale", "error"))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def aligned(self, components: Any) -> Matrix:
        """Return ``components`` in the order and scale of the truth, with zeros where none matched.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features)
            The components that were matched.

        Returns
        -------
        ndarray of shape (n_true, n_features)
            To be held against the truth row by row.

        Examples
        --------
        >>> from partwise.metrics import match_components
        >>> C = [[0, 2], [4, 0]]
        >>> match_components(C, [[1, 0], [0, 1]]).aligned(C)
        array([[1., 0.],
               [0., 1.]])
        """
        C = as_components("components", components)
        result: Matrix = self.scales[:, None] * C[self.permutation]  # an unmatched row has scale 0
        return result


def match_components(components: Any, truth: Any, *, absolute: bool = False) -> Match:
    """Match components to the true ones, one to one, with the largest possible sum of cosines.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        What was found, one component a row.
    truth : array-like of shape (n_true, n_features)
        The true components, one a row. Their number may differ: superfluous components are left over, and
        true ones that find none get -1.
    absolute : bool, default=False
        Also match opposite directions, with a negative scale. Parts of non-negative data have a sign, so by
        default a component that points away is no match: cosines keep their sign and scales are not negative.

    Returns
    -------
    Match
        With ``permutation``, ``scales``, ``cosines`` (in this order when unpacked) and ``errors``.

    Examples
    --------
    >>> from partwise.metrics import match_components
    >>> match = match_components([[0, 2], [3, 0], [1, 1]], [[1, 0], [0, 1]])
    >>> match.permutation.tolist(), match.errors.tolist()
    ([1, 0], [0.0, 0.0])
    """
    C, T = _pair(components, truth)
    (C, c_exponents), (T, t_exponents) = scale_rows(C), scale_rows(T)
    permutation, cosines = _assign(C, T, absolute)
    found = permutation >= 0
    matched = np.where(found[:, None], C[permutation], 0.0)
    residuals, scales = _residuals(T, matched)
    away = (scales < 0) & (not absolute)  # a part cannot be taken away: its best scale is 0
    scales[away] = 0.0
    errors = np.linalg.norm(np.where(away[:, None], T, residuals), axis=1) / np.linalg.norm(T, axis=1)
    scales = np.ldexp(scales, t_exponents - np.where(found, c_exponents[permutation], 0))
    return Match(permutation, scales, cosines, errors)


def spectral_angles(components: Any, truth: Any, degrees: bool = True) -> Vector:
    """Angle between each true component and the one matched to it.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        What was found, one component a row.
    truth : array-like of shape (n_true, n_features)
        The true components, one a row.
    degrees : bool, default=True
        Angles in degrees, and not in radians.

    Returns
    -------
    ndarray of shape (n_true,)
        The angles after `match_components`; 90 degrees where nothing matched. Computed as the arc tangent of
        residual over projection, so that small angles keep their digits (the arc cosine has none below 1e-8).

    References
    ----------
    .. [1] F. Kruse et al., "The spectral image processing system (SIPS)", Remote Sensing of Environment 44,
       1993.

    Examples
    --------
    >>> from partwise.metrics import spectral_angles
    >>> spectral_angles([[1, 1]], [[1, 0]]).round(9)
    array([45.])
    """
    C, T = _pair(components, truth)
    C, T = scale_rows(C)[0], scale_rows(T)[0]
    permutation, _ = _assign(C, T, absolute=False)
    matched = np.where((permutation >= 0)[:, None], C[permutation], 0.0)
    residuals, scales = _residuals(T, matched)
    angles: Vector = np.arctan2(np.linalg.norm(residuals, axis=1), scales * np.linalg.norm(matched, axis=1))
    return np.rad2deg(angles) if degrees else angles


def stability(runs: Sequence[Any]) -> float:
    """Mean cosine between the matched components of every two runs: 1 where all runs agree.

    Parameters
    ----------
    runs : sequence of array-like of shape (n_components, n_features)
        Components of two or more runs, such as of different seeds. Numbers of components may differ; those
        without a counterpart, and those that are zero, count as cosine 0.

    Returns
    -------
    float
        The mean over all pairs of runs of (sum of matched cosines) / (larger number of components).

    Examples
    --------
    >>> from partwise.metrics import stability
    >>> stability([[[1, 0], [0, 1]], [[0, 3], [2, 0]]])
    1.0
    """
    pairs = [
        _assign(second, first, absolute=False)[1].sum() / max(len(first), len(second))
        for first, second in combinations(_runs(runs), 2)
    ]
    return float(np.mean(pairs))


def component_stability(runs: Sequence[Any], *, cosine: float = 0.9) -> list[Vector]:
    """Of every component of every run, the share of the other runs that have it too.

    Parameters
    ----------
    runs : sequence of array-like of shape (n_components, n_features)
        Components of two or more runs, such as of different seeds.
    cosine : float, default=0.9
        What matched components must have at least to be the same one. A component that its own run has twice, by the
        same measure, or that is zero, is told apart from nothing, and no other run has it.

    Returns
    -------
    list of ndarray of shape (n_components,)
        A share for each component, run by run.

    Examples
    --------
    >>> from partwise.metrics import component_stability
    >>> runs = [[1, 0, 0], [0, 1, 0]], [[0, 2, 0], [0, 0, 1]], [[0, 3, 0], [1, 0, 0]]
    >>> [shares.tolist() for shares in component_stability(runs)]
    [[0.5, 1.0], [1.0, 0.0], [1.0, 0.5]]
    """
    scaled = _runs(runs)
    shares = [np.zeros(len(run)) for run in scaled]
    single = [np.sum(cosines_of(run, run) >= cosine, axis=1) == 1 for run in scaled]
    for i, j in combinations(range(len(scaled)), 2):
        partner, found = _assign(scaled[j], scaled[i], absolute=False)
        same = np.flatnonzero((found >= cosine) & single[i] & single[j][partner])
        shares[i][same] += 1.0
        shares[j][partner[same]] += 1.0
    return [share / (len(scaled) - 1) for share in shares]


def _runs(runs: Sequence[Any]) -> list[Matrix]:
    """The components of two runs or more of the same data, scaled."""
    matrices = [as_components(f"runs[{i}]", run) for i, run in enumerate(runs)]
    if len(matrices) < 2:
        raise InputError(
            f"runs has {len(matrices)} entries: give the components of two runs or more.", parameter="runs"
        )
    widths = {matrix.shape[1] for matrix in matrices}
    if len(widths) > 1:
        raise InputError(f"runs have different numbers of features {sorted(widths)}: they must be of the same data.")
    return [scale_rows(matrix)[0] for matrix in matrices]


def _pair(components: Any, truth: Any) -> tuple[Matrix, Matrix]:
    """Return both as matrices over the same features, the truth without rows of zeros."""
    C, T = as_components("components", components), as_components("truth", truth)
    have, wanted = names_of(components), names_of(truth)
    if have is not None and wanted is not None:
        C = C[:, column_order(have, wanted, parameter="components", other="truth")]
    if C.shape[1] != T.shape[1]:
        raise InputError(
            f"components have {C.shape[1]} features and truth has {T.shape[1]}: "
            "give both as (n_components, n_features) over the same features."
        )
    empty = np.flatnonzero(~T.any(axis=1))
    if empty.size:
        raise InputError(
            f"truth has only zeros in row {empty[0]}: leave such rows out, no component can match them.",
            parameter="truth",
        )
    return C, T


def cosines_of(C: Matrix, T: Matrix) -> Matrix:
    """Return cosines of rows of T (scaled) with rows of C (scaled), 0 where one is zero, within [-1, 1]."""
    c, t = np.linalg.norm(C, axis=1), np.linalg.norm(T, axis=1)
    unit_C, unit_T = C / np.where(c > 0, c, 1.0)[:, None], T / np.where(t > 0, t, 1.0)[:, None]
    return np.clip(unit_T @ unit_C.T, -1.0, 1.0)


def _residuals(T: Matrix, C: Matrix) -> tuple[Matrix, Vector]:
    """Return T - s C row by row with the least-squares scales s; 0 is the scale of a row of zeros."""
    lengths = np.einsum("ij,ij->i", C, C)
    lengths[lengths == 0.0] = 1.0
    scales = np.einsum("ij,ij->i", T, C) / lengths
    # the residual of a rounded scale still has a component along C: take it out as well
    scales = scales + np.einsum("ij,ij->i", T - scales[:, None] * C, C) / lengths
    return T - scales[:, None] * C, scales


def _assign(C: Matrix, T: Matrix, absolute: bool) -> tuple[Indices, Vector]:
    """Return for each row of T its row of C (or -1) in the best one-to-one matching, and the cosine."""
    cosines = cosines_of(C, T)
    merit = np.abs(cosines) if absolute else cosines
    cost = 1.0 - merit
    # near 1 a cosine cannot tell 1e-9 from 1e-12, sin^2 / 2 (which is 1 - cos there) can
    for i, t in enumerate(T):
        near = np.flatnonzero(merit[i] > 1.0 - 1e-6)
        if near.size:
            residuals, _ = _residuals(np.broadcast_to(t, (near.size, t.size)), C[near])
            cost[i, near] = np.sum(residuals**2, axis=1) / (2.0 * np.sum(t**2))
    rows, columns = linear_sum_assignment(cost)
    permutation = np.full(len(T), -1, dtype=np.int_)
    permutation[rows] = columns
    matched = np.zeros(len(T))
    matched[rows] = cosines[rows, columns]
    return permutation, matched
