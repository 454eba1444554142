"""Factors in the scale of the Dominant NMF model (Bhattacharyya, Goyal, Kannan & Pani 2016)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from partwise.exceptions import InputError
from partwise.linalg.nnls import nnls
from partwise.metrics.checks import Matrix, Vector, open_matrix
from partwise.metrics.conditions.table import SLACK
from partwise.sources import blocks, inspect

Normalize = Literal["rows", "common"] | None


def normalize_factors(H: Any, W: Any, normalize: Normalize = "rows") -> tuple[Matrix, Matrix, Vector]:
    """Scale factors as Remark 1 does: basis vectors sum to one, weights of a record to at most one [1]_.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features) or fitted estimator
        Components. Each is divided by its sum and its weights multiplied by it; one of zeros stays.
    W : array-like of shape (n_samples, n_components)
        Weights.
    normalize : {"rows", "common", None}, default="rows"
        What the weights are divided by then: each record by its own sum, as the percentages of Table 1 are read, so
        that long and short records count alike; or all by the largest sum, so that W H + N changes by one factor
        alone; or nothing. Records of zeros stay.

    Returns
    -------
    H : ndarray of shape (n_components, n_features)
        The components.
    W : ndarray of shape (n_samples, n_components)
        The weights.
    scales : ndarray of shape (n_samples,)
        What each record was divided by, and its data and noise must be.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Remark 1.

    Examples
    --------
    >>> from partwise.metrics import normalize_factors
    >>> H, W, scales = normalize_factors([[4, 0], [1, 1]], [[1, 0], [1, 2]])
    >>> W.tolist(), scales.tolist()
    ([[1.0, 0.0], [0.5, 0.5]], [4.0, 8.0])
    >>> normalize_factors([[4, 0], [1, 1]], [[1, 0], [1, 2]], "common")[1].tolist()
    [[0.5, 0.0], [0.5, 0.5]]
    """
    components, weights = components_of(H), as_factor("W", W)
    if weights.shape[1] != len(components):
        raise InputError(
            f"W has {weights.shape[1]} columns and H has {len(components)} components: give one for each.",
            parameter="W",
        )
    components, sums = distributions(components)
    weights = weights * sums
    totals = weights.sum(axis=1)
    if normalize == "common":
        totals[:] = totals.max()
    elif normalize is None:
        totals[:] = 1.0
    elif normalize != "rows":
        raise InputError(f"normalize={normalize!r} is unknown: give 'rows', 'common' or None.", parameter="normalize")
    scales = np.where(totals > 0.0, totals, 1.0)
    return components, weights / scales[:, None], scales


def distributions(H: Matrix) -> tuple[Matrix, Vector]:
    """Return rows divided by their sums, and the sums; a row of zeros stays as it is, with sum 1."""
    sums = H.sum(axis=1)
    sums = np.where(sums > 0.0, sums, 1.0)
    return H / sums[:, None], sums


def components_of(H: Any) -> Matrix:
    return as_factor("H", getattr(H, "components_", H))


def as_factor(name: str, value: Any) -> Matrix:
    """Return a non-negative matrix, or say where it is not one."""
    source = open_matrix(name, value)
    inspect(source).check(allow_negative=False, name=name, squares=False)
    return blocks.to_dense(source.take(np.arange(source.shape[0]))).astype(np.float64)


def check_shares(**constants: float) -> None:
    for name, value in constants.items():
        if not 0.0 <= value <= 1.0 + SLACK:
            raise InputError(
                f"{name}={value!r} is a constant of the model: give a number between 0 and 1.", parameter=name
            )


def weights_of(W: Any, H: Any, X: Any) -> Any:
    return nnls(components_of(H), X) if W is None else W
