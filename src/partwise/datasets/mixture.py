"""What every generator returns: the data together with the truth that made it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from partwise.datasets.checks import RandomState, as_generator, check_choice, check_matrix, check_real
from partwise.exceptions import InputError

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

    def start(
        self,
        level: float = 0.1,
        *,
        sigma: ArrayLike = 1.0,
        signs: str = "mixed",
        outside: float = 0.0,
        norm: str = "inf",
        random_state: RandomState = None,
    ) -> np.ndarray:
        r"""Return a start of Purification's (A3), :math:`A^{(0)} = A^* (\Sigma + E) + N`, of given norms [1]_.

        E is off-diagonal with :math:`\|E\|_1 = \|E\|_s` = ``level``, exactly (`warm_start` bounds single entries,
        and its symmetrised norm grows with the number of components). It needs the truth.

        Parameters
        ----------
        level : float, default=0.1
            The symmetrised norm of E, the paper's l: Theorem 1 asks for at most 1/10.
        sigma : float or array-like of shape (n_components,), default=1.0
            The diagonal of Sigma; (A3) asks for at least 1 - l.
        signs : {"mixed", "positive", "negative"}, default="mixed"
            Those of E. Balancing (Section 6) asks for "positive".
        outside : float, default=0.0
            The norm of N, which is outside the span of the truth; 0 in Theorems 1 and 2.
        norm : {"inf", "1"}, default="inf"
            Which norm of N that is: of Theorem 6's bound, the largest sum of magnitudes over the components at a
            feature, or the largest sum over the features of a component.
        random_state : None, int, numpy.random.Generator or numpy.random.RandomState
            Makes the start reproducible.

        Returns
        -------
        ndarray of shape (n_components, n_features)
            The start; it can have negative entries.

        References
        ----------
        .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery guarantee of non-negative matrix factorization via
           alternating updates", NIPS 2016, Assumption (A3) and Theorem 6.

        Examples
        --------
        >>> from partwise.datasets import make_binary_mixtures
        >>> from partwise.metrics import initialization
        >>> mixture = make_binary_mixtures(n_samples=10, random_state=0)
        >>> found = initialization(mixture.start(0.1, random_state=0), mixture.components)
        >>> round(found.E_s, 12), round(found.E_1, 12), found.N_1 < 1e-12
        (0.1, 0.1, True)
        """
        return assumed(
            self.components,
            level,
            sigma=sigma,
            signs=signs,
            outside=outside,
            norm=norm,
            random_state=random_state,
        )


def assumed(
    truth: ArrayLike,
    level: float = 0.1,
    *,
    sigma: ArrayLike = 1.0,
    signs: str = "mixed",
    outside: float = 0.0,
    norm: str = "inf",
    random_state: RandomState = None,
) -> np.ndarray:
    """Return ``(Sigma + E).T @ truth + N`` with norms as Purification's (A3) assumes: see :meth:`Mixture.start`.

    Parameters
    ----------
    truth : array-like of shape (n_components, n_features)
        The true components.
    level : float, default=0.1
        The symmetrised norm of E.
    sigma : float or array-like of shape (n_components,), default=1.0
        The diagonal of Sigma.
    signs : {"mixed", "positive", "negative"}, default="mixed"
        Those of E.
    outside : float, default=0.0
        The norm of N.
    norm : {"inf", "1"}, default="inf"
        Which norm of N, of the paper's matrix that has a column for every component.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the start reproducible.

    Returns
    -------
    ndarray of shape (n_components, n_features)
        The start.
    """
    H = check_matrix("truth", truth)
    k, m = H.shape
    level, outside = check_real("level", level), check_real("outside", outside)
    check_choice("signs", signs, ("mixed", "positive", "negative"))
    check_choice("norm", norm, ("inf", "1"))
    diagonal = np.asarray(sigma, float)
    if diagonal.shape not in ((), (k,)) or not np.isfinite(diagonal).all():
        raise InputError(f"sigma must be a finite number or one for each of the {k} components.", parameter="sigma")
    if level and k == 1:
        raise InputError("level: a single component has no others to be mixed with; give 0.", parameter="level")
    if outside and m <= k:
        raise InputError("outside: the components span the whole space, nothing is outside.", parameter="outside")
    rng = as_generator(random_state)
    E = rng.uniform({"mixed": -1.0, "positive": 0.0, "negative": -1.0}[signs], float(signs != "negative"), (k, k))
    np.fill_diagonal(E, 0.0)
    columns, rows = (np.abs(E).sum(axis=axis).max() for axis in (0, 1))
    if rows > columns:
        E = E.T  # then |E|_1, which the theorems conclude on, is |E|_s
    E *= level / (max(columns, rows) or 1.0)
    result: np.ndarray = (diagonal * np.eye(k) + E).T @ H
    if outside:
        basis = np.linalg.qr(H.T)[0]
        N = rng.standard_normal((k, m))
        N -= (N @ basis) @ basis.T
        result = result + N * (outside / np.abs(N).sum(axis=0 if norm == "inf" else 1).max())
    return result


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
