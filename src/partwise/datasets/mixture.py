"""What every generator returns: the data together with the truth that made it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from partwise.datasets.checks import RandomState, as_generator, check_real

__all__ = ["Mixture"]


@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """Data and the factorization it was made from: ``X = weights @ components + noise``.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The data, one sample a row.
    components : ndarray of shape (n_components, n_features)
        The true components, one a row; columns are in the order of the columns of ``X``.
    weights : ndarray of shape (n_samples, n_components)
        The true, non-negative weights.
    noise : ndarray of shape (n_samples, n_features) or None
        What was added to ``weights @ components``; None where nothing was.
    image_shape : tuple of int or None
        Where samples are images, ``x.reshape(image_shape)`` shows one upright.
    feature_names : list of str or None
        A name for each column.
    anchors : ndarray of shape (n_components,) or None
        In separable data, the feature (``make_separable(axis="features")``) or the sample
        (``axis="samples"``) that belongs to component 0, 1, ... alone.
    dominant_features : tuple of ndarray or None
        In dominant data, the features favoured by component 0, 1, ... (the sets S_l).
    labels : ndarray of shape (n_samples,) or None
        In dominant data, the component of largest weight of each sample (the sets T_l).

    Examples
    --------
    >>> from partwise.datasets import make_laurberg
    >>> mixture = make_laurberg()
    >>> mixture.warm_start(0.05, random_state=0).shape
    (3, 6)
    """

    X: np.ndarray
    components: np.ndarray
    weights: np.ndarray
    noise: np.ndarray | None = None
    image_shape: tuple[int, int] | None = None
    feature_names: list[str] | None = None
    anchors: np.ndarray | None = None
    dominant_features: tuple[np.ndarray, ...] | None = None
    labels: np.ndarray | None = None

    def __repr__(self) -> str:
        (n, m), k = self.X.shape, self.components.shape[0]
        noisy = "noisy" if self.noise is not None else "noiseless"
        return f"Mixture(n_samples={n}, n_features={m}, n_components={k}, {noisy})"

    @property
    def signal(self) -> np.ndarray:
        """The data without its noise, ``weights @ components``."""
        result: np.ndarray = self.weights @ self.components
        return result

    def warm_start(self, level: float = 0.05, random_state: RandomState = None) -> np.ndarray:
        """Return the start of the papers' experiments: the truth, each part mixed with all others.

        The papers start at A*(I + U), U uniform on [-level, level) [1]_; with components as rows
        that is ``(I + U).T @ components``. It needs the truth: use it to study an algorithm, not data.

        Parameters
        ----------
        level : float, default=0.05
            Half the width of the uniform distribution.
        random_state : None, int, numpy.random.Generator or numpy.random.RandomState
            Makes the start reproducible.

        Returns
        -------
        ndarray of shape (n_components, n_features)
            The perturbed components; they can have negative entries.

        References
        ----------
        .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix
           Factorization with Strong Correlations", ICML 2017, Section 7, "Initialization".

        Examples
        --------
        >>> import numpy as np
        >>> from partwise.datasets import make_laurberg
        >>> mixture = make_laurberg(0.1)
        >>> bool(np.array_equal(mixture.warm_start(0.0), mixture.components))
        True
        """
        return perturbed(self.components, level, random_state=random_state)


def perturbed(truth: ArrayLike, level: float = 0.05, *, random_state: RandomState = None) -> np.ndarray:
    """Mix each true component with all others, ``(I + U).T @ truth``: see :meth:`Mixture.warm_start`.

    Parameters
    ----------
    truth : array-like of shape (n_components, n_features)
        The true components.
    level : float, default=0.05
        U is uniform on [-level, level).
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the start reproducible.

    Returns
    -------
    ndarray of shape (n_components, n_features)
        The perturbed components; they can have negative entries.
    """
    H = np.asarray(truth, float)
    level = check_real("level", level)
    U = as_generator(random_state).uniform(-level, level, size=(len(H), len(H)))
    result: np.ndarray = (np.eye(len(H)) + U).T @ H
    return result
