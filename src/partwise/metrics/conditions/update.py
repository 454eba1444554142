"""One iteration in the proof of Purification's theorems: the update, the decoding, Lemmas 3 to 5 (Sections 5.1, 5.2).

Everything is in the paper's terms: ``A = A* (Sigma + E) + N`` of the components as they are, not rescaled and in the
order of the truth, and ``E^[(y - y')(x - x')'] = A* (Sigma~ + E~) + N~`` of the update (equation 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.metrics.checks import Matrix, as_components, open_matrix
from partwise.metrics.conditions.start import Initialization, initialization
from partwise.metrics.conditions.table import Condition, ConditionTable
from partwise.sources import blocks, inspect

NAN = float("nan")


def update_parts(X: Any, W: npt.ArrayLike, truth: Any) -> Initialization:
    r"""Write Purification's update by the true components, equation (3) [1]_.

    .. math:: \hat{\mathrm E}[(y - y')(x - x')^\top] = A^* (\tilde\Sigma + \tilde E) + \tilde N
              = 2\, \widehat{\mathrm{Cov}}(y, x)

    Parameters
    ----------
    X : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_features)
        The samples y.
    W : array-like of shape (n_samples, n_components)
        Their decoded weights x.
    truth : array-like of shape (n_components, n_features)
        The true components, linearly independent, in the order of the weights.

    Returns
    -------
    Initialization
        With ``sigma``, ``E``, ``N`` and their norms of the update.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery Guarantee of Non-negative Matrix Factorization via Alternating
       Updates", NIPS 2016, equation 3.

    Examples
    --------
    >>> from partwise.metrics import update_parts
    >>> update_parts([[2, 0], [0, 2]], [[1, 0], [0, 1]], [[1, 0], [0, 1]]).E.tolist()
    [[0.0, -1.0], [-1.0, 0.0]]
    """
    source, weights = open_matrix("X", X), as_components("W", W)
    inspect(source).check(allow_negative=True, name="X", squares=False)
    T = as_components("truth", truth)
    if T.shape[1] != source.shape[1]:
        raise InputError(f"truth has {T.shape[1]} features and X has {source.shape[1]}.", parameter="truth")
    _check_shape("W", weights, (source.shape[0], len(T)))
    about = weights - weights.mean(axis=0)
    covariance = source.reduce(blocks.tdot, about).T / len(weights)
    return initialization(2.0 * covariance, T, rescale=False, match=False)


def decoding_parts(
    P: npt.ArrayLike, found: Initialization, W: npt.ArrayLike, noise: npt.ArrayLike | None = None
) -> tuple[Matrix, Matrix]:
    r"""Return Z and xi of equation (7): samples are decoded as :math:`\phi_\alpha(Z x^* + \xi)` [1]_.

    .. math:: Z = (\Sigma + E)^{-1}, \qquad \xi = -A^\dagger N Z x^* + A^\dagger \nu

    Parameters
    ----------
    P : array-like of shape (n_features, n_components)
        The left inverse of the components: the transpose of :math:`A^\dagger`.
    found : Initialization
        Sigma, E and N of the components, ``initialization(H, truth, rescale=False, match=False)``.
    W : array-like of shape (n_samples, n_components)
        The true weights.
    noise : array-like of shape (n_samples, n_features), optional
        The noise of the samples.

    Returns
    -------
    Z : ndarray of shape (n_components, n_components)
        In the paper's orientation, from true to decoded weights.
    xi : ndarray of shape (n_samples, n_components)
        One sample a row.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery Guarantee of Non-negative Matrix Factorization via Alternating
       Updates", NIPS 2016, equation 7.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.metrics import decoding_parts, initialization
    >>> found = initialization([[2, 0], [0, 4]], np.eye(2), rescale=False, match=False)
    >>> decoding_parts(np.diag([1 / 2, 1 / 4]), found, [[1, 1]])[0].tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    Z, inverse, weights = found.inverse, as_components("P", P), as_components("W", W)
    _check_shape("P", inverse, found.N.T.shape)
    _check_shape("W", weights, (len(weights), len(Z)))
    xi = -(weights @ Z.T) @ (found.N @ inverse)
    if noise is None:
        return Z, xi
    added = as_components("noise", noise)
    _check_shape("noise", added, (len(weights), len(inverse)))
    return Z, xi + added @ inverse


def _check_shape(name: str, matrix: Matrix, shape: tuple[int, ...]) -> None:
    if matrix.shape != shape:
        raise InputError(f"{name} has shape {matrix.shape} where {shape} is needed.", parameter=name)


@dataclass(frozen=True, eq=False, repr=False)
class LemmaConstants(ConditionTable):
    """The constants with which Lemmas 3 to 5 hold: the lemmas say that they are bounded, whatever n is.

    Attributes
    ----------
    negative : float
        Lemma 3 (1), the least K with ``|E~[j, i]| <= K (|Z[i, j]| + c) / n**2`` where ``Z[i, j] < 0``.
    lower : float
        Lemma 3 (2), the least K with ``E~[j, i] >= -K (c / n**2 + (c / n + 1 / n**2) |Z[i, j]|)`` where it is not.
    upper : float
        Lemma 3 (2), the least K with ``E~[j, i] <= K |Z[i, j]| / n`` there.
    noisy_upper : float
        The least K with ``E~[j, i] <= K (|Z[i, j]| / n + c / n**2)``: what noise adds to a Z near 0 is not in the lemma
        as it is printed.
    diagonal : float
        Lemma 4, the largest K with ``Sigma~[i, i] >= K (1 / Sigma[i, i] - alpha) / n``: to be above zero.
    outside : float
        Lemma 5, the least K with ``|N~[i, j]| <= K C_nu / n``; NaN without noise.
    """

    negative: float
    lower: float
    upper: float
    noisy_upper: float
    diagonal: float
    outside: float

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The constants; the paper gives none."""
        bounded = {"Lemma 3 (1)": self.negative, "Lemma 3 (2), below": self.lower, "Lemma 3 (2), above": self.upper}
        return (
            *(Condition.bounded(*pair) for pair in bounded.items()),
            Condition.constant("Lemma 4", 0.0, self.diagonal),
            Condition.quantity("Lemma 5", self.outside),
        )


def lemma_constants(
    found: Initialization, update: Initialization, *, threshold: float, c: float = 1.0, noise: float = 0.0
) -> LemmaConstants:
    """Return the constants of Lemmas 3, 4 and 5 in one iteration [1]_.

    Lemma 3 (2) is read as ``-O(c / n**2 + c / n |Z| + 1 / n**2 |Z|) <= E~ <= O(1 / n |Z|)``.

    Parameters
    ----------
    found : Initialization
        Sigma, E and N of the components, ``initialization(H, truth, rescale=False, match=False)``.
    update : Initialization
        Those of the update, `update_parts`.
    threshold : float
        The paper's alpha.
    c : float, default=1.0
        The theorem's c, which belongs to the noise.
    noise : float, default=0.0
        The largest entry of the noise, the paper's C_nu.

    Returns
    -------
    LemmaConstants
        Of the three lemmas.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery Guarantee of Non-negative Matrix Factorization via Alternating
       Updates", NIPS 2016, Section 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.metrics import initialization, lemma_constants, update_parts
    >>> found = initialization(np.eye(2), np.eye(2), rescale=False, match=False)
    >>> update = update_parts([[1, 0], [0, 1], [1, 1], [0, 0]], [[0.7, 0], [0, 0.7], [0.7, 0.7], [0, 0]], np.eye(2))
    >>> lemma_constants(found, update, threshold=0.3).diagonal
    1.0
    """
    n, sigma = len(found.sigma), found.sigma
    Z, E = found.inverse, update.E.T  # E[i, j] is the E~[j, i] that belongs to Z[i, j]
    size, others = np.abs(Z), ~np.eye(n, dtype=bool)
    below, above = others & (Z < 0.0), others & (Z >= 0.0)
    room = np.where(sigma > 0.0, 1.0 / np.where(sigma > 0.0, sigma, 1.0) - threshold, NAN)
    return LemmaConstants(
        negative=_largest(np.abs(E)[below], (size + c)[below] / n**2),
        lower=_largest(-E[above], (c + (n * c + 1.0) * size)[above] / n**2),
        upper=_largest(E[above], size[above] / n),
        noisy_upper=_largest(E[above], (size / n + c / n**2)[above]),
        diagonal=float(np.min(n * update.sigma / room)),
        outside=float(n * np.abs(update.N).max() / noise) if noise else NAN,
    )


def _largest(found: Matrix, bound: Matrix) -> float:
    """The least K >= 0 with ``found <= K bound``."""
    needed = np.divide(found, bound, out=np.full(found.shape, np.inf), where=bound > 0.0)
    return float(np.where(found > 0.0, needed, 0.0).max(initial=0.0))
