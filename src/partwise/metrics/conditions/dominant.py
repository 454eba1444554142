"""All conditions of the Dominant NMF model, of factors or of a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.metrics.conditions.constants import DominantConstants, Identifiability, theorem_2
from partwise.metrics.conditions.features import DominantFeatures, dominant_features
from partwise.metrics.conditions.noise import HeavyNoise, Noise, noise_bounds
from partwise.metrics.conditions.normalization import Normalize, normalize_factors, weights_of
from partwise.metrics.conditions.records import RecordSets, dominant_weights, pure_records
from partwise.metrics.conditions.table import Condition, ConditionTable, verdict


@dataclass(frozen=True, eq=False, repr=False)
class DominantConditions(ConditionTable):
    """All conditions of the Dominant NMF model.

    Attributes
    ----------
    features : DominantFeatures
        D1.
    weights : RecordSets
        D2.
    pure : RecordSets
        D3.
    noise : HeavyNoise or None
        D4.
    constants : DominantConstants
        The inequalities of Section 4.
    identifiability : Identifiability
        The conditions of Theorem 2.

    Examples
    --------
    >>> from partwise.metrics import dominant_conditions
    >>> dominant_conditions([[9, 0, 1], [0, 9, 1]], [[2, 0], [0, 3]], eps4=0.01)
    DominantConditions:
    D1 p0                0.9 >  0          holds
    D2 records             1 >= 1          holds
    D2 w0                0.5 >  0          holds
    D3 eps0              0.5 >  0          holds
    eps              0.02498 <  0.025      holds
    beta + rho          0.35 <= 0.3501     holds
    eps4 (1)            0.01 <= 0.004496   fails
    eps4 (2)            0.01 <= 0.001758   fails
    eps4 (3)            0.01 <= 0.0625     holds
    Theorem 2 (a)     0.7744 >  0.16       holds
    Theorem 2 (b)       0.04 <  0.9        holds
    """

    features: DominantFeatures
    weights: RecordSets
    pure: RecordSets
    noise: HeavyNoise | None
    constants: DominantConstants
    identifiability: Identifiability

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """D1 to D4 (D4 if there is noise), the constants' inequalities, Theorem 2."""
        return self._of_theorem_1 + self.identifiability.conditions

    @property
    def theorem_1(self) -> bool | None:
        """Whether all that Theorem 1 asks for holds: D1 to D4 and the inequalities; None if that is not known."""
        holds = verdict(self._of_theorem_1)
        return None if holds and self.noise is None else holds

    @property
    def theorem_2(self) -> bool | None:
        """Whether all that Theorem 2 asks for holds: D1, D3, (a) and (b)."""
        return verdict(self.features.conditions + self.pure.conditions + self.identifiability.conditions)

    @property
    def _of_theorem_1(self) -> tuple[Condition, ...]:
        parts = (self.features, self.weights, self.pure, self.noise, self.constants)
        return tuple(line for part in parts if part is not None for line in part.conditions)


def dominant_conditions(
    H: Any,
    W: Any = None,
    N: Any = None,
    *,
    X: Any = None,
    noise: bool = False,
    rho: float = 0.05,
    gamma: float = 0.0,
    p0: float = 0.0,
    alpha: float = 0.4,
    beta: float = 0.3,
    w0: float = 0.0,
    eps4: float = 0.05,
    eps0: float = 0.0,
    eps: float | None = None,
    delta: float = 0.0,
    normalize: Normalize = "rows",
    n_starts: int = 20,
    random_state: int | np.random.Generator | None = 0,
) -> DominantConditions:
    """All conditions of the Dominant NMF model, of given factors or of a fitted model [1]_.

    Constants that are not asked for (0) are the best that the factors have, with which the inequalities between
    them are easiest.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features) or fitted estimator
        Components.
    W : array-like of shape (n_samples, n_components), optional
        Weights; by default the non-negative least squares ones of ``X``.
    N : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_features), optional
        Noise, in the units of W H; for D4.
    X : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_features), optional
        Data; needed without weights, or for its own noise.
    noise : bool, default=False
        Whether to take the noise X - W H for D4, if there is no ``N``.
    rho, gamma, p0 : float, default=0.05, 0.0, 0.0
        See `dominant_features`.
    alpha, beta, w0 : float, default=0.4, 0.3, 0.0
        See `dominant_weights`.
    eps4, eps0 : float, default=0.05, 0.0
        See `pure_records` and `heavy_noise`.
    eps : float, optional
        See `DominantConstants`.
    delta : float, default=0.0
        See `identifiability`.
    normalize : {"rows", "common", None}, default="rows"
        How weights and noise are scaled; see `normalize_factors`.
    n_starts : int, default=20
        See `heavy_noise`.
    random_state : int, numpy.random.Generator or None, default=0
        See `heavy_noise`.

    Returns
    -------
    DominantConditions
        Each condition with its sets and numbers, and all as one table.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Sections 3 and 4.

    Examples
    --------
    >>> import partwise as pw
    >>> from partwise.datasets import make_dominant
    >>> from partwise.metrics import dominant_conditions
    >>> X = make_dominant(n_components=3, n_dominant=10, dominant_weight=0.9, random_state=0).X
    >>> found = dominant_conditions(pw.HALS(3, random_state=0).fit(X), X=X, noise=True)
    >>> found.features.p0 > 0.5, found.theorem_1
    (True, False)
    """
    if W is None and X is None:
        raise InputError("W is missing: give the weights, or the data X from which to compute them.", parameter="W")
    if noise and N is None and X is None:
        raise InputError("noise=True needs the data X, or give the noise N itself.", parameter="noise")
    B, C, scales = normalize_factors(H, weights_of(W, H, X), normalize)
    features = dominant_features(B, rho=rho, gamma=gamma, p0=p0)
    weights = dominant_weights(C, alpha=alpha, beta=beta, w0=w0, normalize=None)
    pure = pure_records(C, eps4=eps4, eps0=eps0, normalize=None)
    heavy = None
    if N is not None or noise:
        given = ("X", X, C) if N is None else ("N", N, np.zeros_like(C))
        heavy = noise_bounds(Noise.of(*given, B, scales), eps4, n_starts, random_state)
    constants = DominantConstants(
        n_components=len(B),
        rho=rho,
        gamma=gamma or features.gamma,
        p0=p0 or features.p0,
        alpha=alpha,
        beta=beta,
        w0=w0 or weights.least,
        eps0=eps0 or pure.least,
        eps4=eps4,
        eps=eps,
    )
    return DominantConditions(features, weights, pure, heavy, constants, theorem_2(features, eps4, delta))
