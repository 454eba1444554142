"""The conditions of the Dominant NMF model, computed: D1 to D4, the constants' inequalities and identifiability.

Bhattacharyya, Goyal, Kannan & Pani (2016). Their A = B C + N is X = W H + N here, B = ``H.T`` and C = ``W.T``: a
basis vector is a row of ``H``, a record a row of ``W``, ``X`` and ``N``. Results print as tables, one condition a
line, and become data frames by ``to_native``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partwise.exceptions import InputError
from partwise.linalg.nnls import nnls
from partwise.metrics.checks import Matrix
from partwise.sources import RowSource, blocks, inspect, source_of
from partwise.sources.protocol import Block

__all__ = [
    "DominantConditions",
    "DominantConstants",
    "DominantFeatures",
    "HeavyNoise",
    "Identifiability",
    "RecordSets",
    "dominant_conditions",
    "dominant_features",
    "dominant_weights",
    "heavy_noise",
    "identifiability",
    "normalize_factors",
    "pure_records",
]

Vector = NDArray[np.float64]
Indices = NDArray[np.int_]
Normalize = Literal["rows", "common"] | None

SLACK = 1e-12  # relative: normalised numbers are rounded, and one at a bound is meant to be within it
CHUNK = 1 << 22  # numbers of a few columns of the noise that are held at once
PROBES, POWERS, ODDS = 12, 20, 10.0  # see _norms


# tables


class Condition(NamedTuple):
    """One line of a table: a quantity that was ``found`` and has to be in ``relation`` to what was ``asked`` for."""

    condition: str
    relation: str
    asked: float
    found: float
    holds: bool | None


class ConditionTable(ABC):
    """Conditions that print as a table, one a line; every result here is one."""

    @property
    @abstractmethod
    def conditions(self) -> tuple[Condition, ...]:
        """The lines of the table."""

    @property
    def holds(self) -> bool | None:
        """Whether all conditions hold; None if none fails but one could not be decided."""
        return _all(self.conditions)

    def to_native(self, backend: Any = "polars") -> Any:
        """Return the table as a data frame, one condition a row.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, default="polars"
            The library.

        Returns
        -------
        DataFrame
            With the columns condition, relation, asked, found and holds.
        """
        import narwhals

        columns = zip(*self.conditions, strict=True)
        return narwhals.from_dict(dict(zip(Condition._fields, columns, strict=True)), backend=backend).to_native()

    def __str__(self) -> str:
        width = max(len(line.condition) for line in self.conditions)
        verdicts = {True: "holds", False: "fails", None: "undecided"}
        return "\n".join(
            f"{name:<{width}} {found:10.4g} {relation:<2} {asked:<10.4g} {verdicts[holds]}"
            for name, relation, asked, found, holds in self.conditions
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}:\n{self}"


def _all(conditions: tuple[Condition, ...]) -> bool | None:
    verdicts = [line.holds for line in conditions]
    return False if False in verdicts else None if None in verdicts else True


def _line(condition: str, relation: str, asked: float, found: float) -> Condition:
    """Compare; inequalities that are not strict hold up to rounding."""
    room = found - asked if relation.startswith(">") else asked - found
    holds = room >= -SLACK * abs(asked) if relation.endswith("=") else room > 0.0
    return Condition(condition, relation, float(asked), float(found), bool(holds))


def _constant(condition: str, asked: float, found: float) -> Condition:
    """Compare a constant of the model, for which any positive number will do unless one is asked for."""
    return _line(condition, ">=" if asked else ">", asked, found)


# normalisation


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
    components, weights = _components(H), _factor("W", W)
    if weights.shape[1] != len(components):
        raise InputError(f"W has {weights.shape[1]} columns and H has {len(components)} components: give one for each.")
    components, sums = _distributions(components)
    weights = weights * sums
    totals = weights.sum(axis=1)
    if normalize == "common":
        totals[:] = totals.max()
    elif normalize is None:
        totals[:] = 1.0
    elif normalize != "rows":
        raise InputError(f"normalize={normalize!r} is unknown: give 'rows', 'common' or None.")
    scales = np.where(totals > 0.0, totals, 1.0)
    return components, weights / scales[:, None], scales


def _distributions(H: Matrix) -> tuple[Matrix, Vector]:
    """Return rows divided by their sums, and the sums; a row of zeros stays as it is, with sum 1."""
    sums = H.sum(axis=1)
    sums = np.where(sums > 0.0, sums, 1.0)
    return H / sums[:, None], sums


def _components(H: Any) -> Matrix:
    return _factor("H", getattr(H, "components_", H))


def _factor(name: str, value: Any) -> Matrix:
    """Return a non-negative matrix, or say where it is not one."""
    source = source_of(value)
    if 0 in source.shape:
        raise InputError(f"{name} has shape {tuple(source.shape)}: give a matrix that has rows and columns.")
    inspect(source).check(allow_negative=False, name=name, squares=False)
    return blocks.to_dense(source.take(np.arange(source.shape[0]))).astype(np.float64)


def _check_shares(**constants: float) -> None:
    for name, value in constants.items():
        if not 0.0 <= value <= 1.0 + SLACK:
            raise InputError(f"{name}={value!r} is a constant of the model: give a number between 0 and 1.")


# D1


@dataclass(frozen=True, eq=False, repr=False)
class DominantFeatures(ConditionTable):
    """The sets S_l of condition D1.

    Attributes
    ----------
    features : tuple of ndarray of int
        The largest S_l of every component that ``rho`` and ``gamma`` allow; disjoint.
    masses : ndarray of shape (n_components,)
        What each component has on its own set.
    p1 : float
        The most that a component has on the set of another.
    gamma : float
        The smallest entry of a component on its own set, at least the ``gamma`` that was asked for; 0 without any.
    rho : float
        The bound on the ratio of other components to the set's own.
    asked : float
        The ``p0`` that was asked for.
    ratios : ndarray of shape (n_components, n_features)
        The largest other component relative to this one; infinite where this is zero or below the ``gamma`` asked.
    H : ndarray of shape (n_components, n_features)
        Components that sum to one.
    """

    features: tuple[Indices, ...]
    masses: Vector
    p1: float
    gamma: float
    rho: float
    asked: float
    ratios: Matrix
    H: Matrix

    @property
    def p0(self) -> float:
        """The smallest of ``masses``: the largest p0 with which D1 holds."""
        return float(self.masses.min())

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """D1 (b)."""
        return (_constant("D1 p0", self.asked, self.p0),)

    def least_rho(self, p0: float) -> Vector:
        """Return the smallest rho of every component with which its mass is at least ``p0``.

        Parameters
        ----------
        p0 : float
            The mass; more of it needs a larger rho.

        Returns
        -------
        ndarray of shape (n_components,)
            The largest of them is what D1 needs. Infinite where no rho below 1 is enough.
        """
        _check_shares(p0=p0)
        order = np.argsort(self.ratios, axis=1)
        ratios = np.take_along_axis(self.ratios, order, axis=1)
        mass = np.cumsum(np.take_along_axis(self.H, order, axis=1), axis=1)
        enough = (mass - p0 >= -SLACK * p0) & (ratios < 1.0)
        return np.asarray(np.min(ratios, axis=1, where=enough, initial=np.inf))


def dominant_features(H: Any, *, rho: float = 0.05, gamma: float = 0.0, p0: float = 0.0) -> DominantFeatures:
    r"""Features that belong to one component nearly alone: condition D1 [1]_.

    With basis vectors that sum to one (`normalize_factors`), :math:`S_l` is the set of all features i with

    .. math:: B_{il} \ge \gamma, \quad B_{il} > 0, \quad B_{il'} \le \rho B_{il} \text{ for all } l' \ne l,

    and D1 asks that :math:`\sum_{i \in S_l} B_{il} \ge p_0` for all l. Separable components have it with
    :math:`\rho = 0`. Theorem 2 uses a :math:`p_1` that the paper's main text does not define; here it is what
    its proof needs a bound for, :math:`\max_{l \ne l'} \sum_{i \in S_l} B_{il'}`, which is our reading.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features) or fitted estimator
        Components, in any scale.
    rho : float, default=0.05
        The bound on other components. The default leaves room in the inequality of `DominantConstants` for the
        alpha and beta of the paper's Table 1.
    gamma : float, default=0.0
        The smallest entry of a dominant feature.
    p0 : float, default=0.0
        The mass to ask for; 0: any positive mass.

    Returns
    -------
    DominantFeatures
        The sets and their masses; ``least_rho`` tells what more mass would cost. A component of zeros, or one that
        is there twice, has an empty set.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Section 3, D1, and Theorem 2.

    Examples
    --------
    >>> from partwise.metrics import dominant_features
    >>> found = dominant_features([[6, 1, 3], [0, 4, 6]], rho=0.3)
    >>> [features.tolist() for features in found.features], found.masses.tolist(), found.p1
    ([[0], [1]], [0.6, 0.4], 0.1)
    >>> found.least_rho(0.5).tolist()
    [0.0, 0.5]
    """
    _check_shares(gamma=gamma, p0=p0)
    if not 0.0 <= rho < 1.0:
        raise InputError(f"rho={rho!r} must be in [0, 1): features are to belong to one component alone.")
    B, _ = _distributions(_components(H))
    ratios = _ratios(B)
    ratios[B - gamma < -SLACK * gamma] = np.inf
    own = ratios - rho <= SLACK * rho
    on_sets = B @ own.T  # row l': what it has on each S_l
    return DominantFeatures(
        features=tuple(np.flatnonzero(row) for row in own),
        masses=np.diag(on_sets).copy(),
        p1=float(np.max(on_sets, where=~np.eye(len(B), dtype=bool), initial=0.0)),
        gamma=float(np.min(B, where=own, initial=1.0)) if own.any() else 0.0,
        rho=rho,
        asked=p0,
        ratios=ratios,
        H=B,
    )


def _ratios(B: Matrix) -> Matrix:
    """Return the largest other entry of a column relative to each, infinite where that is zero."""
    two = np.sort(np.vstack([np.zeros(B.shape[1]), B]), axis=0)[-2:]  # the row of zeros: for one component alone
    others = np.where(np.arange(len(B))[:, None] == B.argmax(axis=0), two[0], two[1])
    return np.asarray(np.divide(others, B, out=np.full(B.shape, np.inf), where=B > 0.0))


# D2 and D3


@dataclass(frozen=True, eq=False, repr=False)
class RecordSets(ConditionTable):
    """Records that belong to each component: the T_l of condition D2, or the P_l of D3.

    Attributes
    ----------
    name : {"D2", "D3"}
        The condition.
    records : tuple of ndarray of int
        The set of every component.
    fraction : float
        Share of the records that are in a set.
    fractions : ndarray of shape (n_components,)
        Size of every set, relative to all records.
    asked : float
        The smallest size that was asked for, w0 or eps0.
    """

    name: Literal["D2", "D3"]
    records: tuple[Indices, ...]
    fraction: float
    fractions: Vector
    asked: float

    @property
    def least(self) -> float:
        """The smallest of ``fractions``: the largest w0 (D2) or eps0 (D3) that the condition holds with."""
        return float(self.fractions.min())

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """D2 asks for all records to be in a set, and both for no set to be small."""
        smallest = _constant("D2 w0" if self.name == "D2" else "D3 eps0", self.asked, self.least)
        return (_line("D2 records", ">=", 1.0, self.fraction), smallest) if self.name == "D2" else (smallest,)


def dominant_weights(
    W: Any,
    H: Any = None,
    *,
    alpha: float = 0.4,
    beta: float = 0.3,
    w0: float = 0.0,
    normalize: Normalize = "rows",
) -> RecordSets:
    r"""Records with one dominant component: condition D2 [1]_.

    D2 asks for a partition of all records into sets :math:`T_l` of at least :math:`w_0 n`, with

    .. math:: C_{lj} \ge \alpha, \quad C_{l'j} \le \beta \text{ for all } j \in T_l, l' \ne l.

    Parameters
    ----------
    W : array-like of shape (n_samples, n_components)
        Weights.
    H : array-like of shape (n_components, n_features) or fitted estimator, optional
        Their components, for the scales; by default these sum to one already.
    alpha, beta : float, default=0.4, 0.3
        The bounds, beta < alpha; by default those of the paper's Table 1.
    w0 : float, default=0.0
        The size of the sets to ask for; 0: that none is empty.
    normalize : {"rows", "common", None}, default="rows"
        How weights are scaled; see `normalize_factors`.

    Returns
    -------
    RecordSets
        The sets; ``fraction`` is the first percentage of Table 1.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Section 3, D2, and Section 5.1, Table 1.

    Examples
    --------
    >>> from partwise.metrics import dominant_weights
    >>> dominant_weights([[3, 1], [0, 2], [1, 1], [0, 4]])
    RecordSets:
    D2 records       0.75 >= 1          fails
    D2 w0            0.25 >  0          holds
    >>> dominant_weights([[3, 1], [0, 2], [1, 1], [0, 4]], alpha=0.6, normalize="common").fraction
    0.5
    """
    _check_shares(alpha=alpha, beta=beta, w0=w0)
    if not beta < alpha:
        raise InputError(f"beta={beta!r} must be below alpha={alpha!r}: one weight dominates the others.")
    C = _scaled_weights(W, H, normalize)
    large = C - alpha >= -SLACK
    alone = (C - beta > SLACK).sum(axis=1, keepdims=True) <= 1  # the large one, beta being smaller
    return _record_sets("D2", large & alone, w0)


def pure_records(
    W: Any, H: Any = None, *, eps4: float = 0.05, eps0: float = 0.0, normalize: Normalize = "rows"
) -> RecordSets:
    r"""Records that are one component nearly alone: condition D3 [1]_.

    D3 asks that for each l the set :math:`P_l` of the records j with :math:`C_{lj} \ge 1 - \varepsilon_4` has at least
    :math:`\varepsilon_0 n`.

    Parameters
    ----------
    W : array-like of shape (n_samples, n_components)
        Weights.
    H : array-like of shape (n_components, n_features) or fitted estimator, optional
        Their components, for the scales; by default these sum to one already.
    eps4 : float, default=0.05
        What other components may have; by default that of the paper's Table 1.
    eps0 : float, default=0.0
        The size of the sets to ask for; 0: that none is empty.
    normalize : {"rows", "common", None}, default="rows"
        How weights are scaled; see `normalize_factors`.

    Returns
    -------
    RecordSets
        The sets; ``fraction`` is the second percentage of Table 1.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Section 3, D3, and Section 5.1, Table 1.

    Examples
    --------
    >>> from partwise.metrics import pure_records
    >>> found = pure_records([[19, 1], [0, 2], [1, 1], [0, 5]])
    >>> found.fraction, found.fractions.tolist(), found.least
    (0.75, [0.25, 0.5], 0.25)
    """
    _check_shares(eps4=eps4, eps0=eps0)
    C = _scaled_weights(W, H, normalize)
    return _record_sets("D3", C + eps4 >= 1.0 - SLACK, eps0)


def _scaled_weights(W: Any, H: Any, normalize: Normalize) -> Matrix:
    weights = _factor("W", W)
    return normalize_factors(np.eye(weights.shape[1]) if H is None else H, weights, normalize)[1]


def _record_sets(name: Literal["D2", "D3"], members: NDArray[np.bool_], asked: float) -> RecordSets:
    return RecordSets(
        name=name,
        records=tuple(np.flatnonzero(column) for column in members.T),
        fraction=float(members.any(axis=1).mean()),
        fractions=members.mean(axis=0),
        asked=asked,
    )


# D4


@dataclass(frozen=True, eq=False, repr=False)
class HeavyNoise(ConditionTable):
    """The largest mean noise over many records, of condition D4, between two bounds.

    Attributes
    ----------
    eps4 : float
        The constant: the sets T have at least ``eps4 * n_samples`` records, and the bound is its square.
    size : int
        The smallest number of records.
    lower : float
        The largest mean noise that the search found.
    upper : float
        More than it cannot be.
    sampled : float
        The largest over random sets, where the search began.
    least_lower : float
        With an eps4 below this D4 fails.
    least_upper : float
        With any above it holds; infinite if no eps4 up to 1 can be shown to do.
    """

    eps4: float
    size: int
    lower: float
    upper: float
    sampled: float
    least_lower: float
    least_upper: float

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """D4, of the largest that was found and of the bound: between them nothing is known."""
        found = _line("D4 noise found", "<=", self.eps4**2, self.lower)
        bound = _line("D4 noise bound", "<=", self.eps4**2, self.upper)
        return found, bound if bound.holds or not found.holds else bound._replace(holds=None)


def heavy_noise(
    X: Any,
    W: Any = None,
    H: Any = None,
    *,
    eps4: float = 0.05,
    normalize: Normalize = "rows",
    n_starts: int = 20,
    random_state: int | np.random.Generator | None = 0,
) -> HeavyNoise:
    r"""Bounds of the largest mean noise over many records: condition D4, equation 3 [1]_.

    D4 asks for

    .. math:: \frac{1}{|T|} \Big\| \sum_{j \in T} N_{\cdot,j} \Big\|_1 \le \varepsilon_4^2
              \text{ for all } T, |T| \ge \varepsilon_4 n.

    Sets of the smallest size t are enough: the mean over a larger set is the mean of those over its subsets of size t,
    and a norm is convex. The largest is

    - at least what a search finds. The norm of a sum is :math:`\max_s \sum_{j \in T} s \cdot N_{\cdot,j}` over vectors
      s of signs; the best s for T and the best T for s (the t largest :math:`s \cdot N_{\cdot,j}`) are found in turn,
      each of which can only increase it, until none does;
    - at most the mean of the t largest norms of records; the sum over features of the largest mean of t entries;
      and, for any positive d, :math:`\|d\|_2 \|\mathrm{diag}(d)^{-1} N\|_2 / \sqrt{t}` (Cauchy and Schwarz), where d is
      1, the norms of the features or their roots. The last needs a spectral norm, which is bounded by 12 random
      vectors and 20 powers [2]_: 5 to 10% too large, and too small with probability 1e-12. The least is taken.

    Parameters
    ----------
    X : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_features)
        The data, if ``H`` is given: the noise is X - W H, of which only a few columns are made at a time. Otherwise
        the noise itself, of a model that is normalised.
    W : array-like of shape (n_samples, n_components), optional
        Weights; by default the non-negative least squares ones of ``X``.
    H : array-like of shape (n_components, n_features) or fitted estimator, optional
        Components.
    eps4 : float, default=0.05
        The constant.
    normalize : {"rows", "common", None}, default="rows"
        What the noise of each record is divided by, along with its weights; see `normalize_factors`. Needs ``H``.
    n_starts : int, default=20
        Number of random sets, and of random records, from which the search begins.
    random_state : int, numpy.random.Generator or None, default=0
        Where they come from.

    Returns
    -------
    HeavyNoise
        Both bounds, and which eps4 the noise would allow.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Section 3, D4.
    .. [2] N. Halko, P.-G. Martinsson, J. A. Tropp, "Finding structure with randomness", SIAM Review 53 (2), 2011,
       Lemma 4.1.

    Examples
    --------
    >>> from partwise.metrics import heavy_noise
    >>> heavy_noise([[0.2, -0.2], [-0.2, 0.2], [0.2, 0.2], [-0.2, -0.2]], eps4=0.5)
    HeavyNoise:
    D4 noise found        0.2 <= 0.25       holds
    D4 noise bound        0.4 <= 0.25       undecided
    """
    if H is not None:
        B, C, scales = normalize_factors(H, _weights(W, H, X), normalize)
    elif W is not None:
        raise InputError("W is given without H: give both, or the noise alone.")
    else:  # a sum of no components
        n, m = source_of(X).shape
        B, C, scales = np.zeros((0, m)), np.zeros((n, 0)), np.ones(n)
    return _heavy_noise(_Noise.of("X", X, C, B, scales), eps4, n_starts, random_state)


def _weights(W: Any, H: Any, X: Any) -> Any:
    return nnls(_components(H), X) if W is None else W


def _heavy_noise(
    noise: _Noise, eps4: float, n_starts: int, random_state: int | np.random.Generator | None
) -> HeavyNoise:
    _check_shares(eps4=eps4)
    if n_starts < 1:
        raise InputError(f"n_starts={n_starts!r}: the search needs at least one start.")
    rng = np.random.default_rng(random_state)
    size = max(1, int(np.ceil(eps4 * noise.shape[0] * (1.0 - SLACK))))
    sampled, lower = _search(noise, size, n_starts, rng)
    upper = _upper_bounds(noise, rng)
    return HeavyNoise(
        eps4=eps4,
        size=size,
        lower=float(lower[size - 1]),
        upper=float(upper[size - 1]),
        sampled=sampled,
        least_lower=_least_eps4(lower),
        least_upper=_least_eps4(upper),
    )


@dataclass(frozen=True, eq=False)
class _Noise:
    """``X / scales - W H`` by its products, so that it need not be made as a whole."""

    source: RowSource
    W: Matrix
    H: Matrix
    scales: Vector

    @classmethod
    def of(cls, name: str, X: Any, W: Matrix, H: Matrix, scales: Vector) -> _Noise:
        source = source_of(X)
        shape, product = tuple(source.shape), (len(W), H.shape[1])
        if shape != product or 0 in shape:
            raise InputError(f"{name} has shape {shape} and W H has {product}: they must be the same and not empty.")
        inspect(source).check(allow_negative=True, name=name)
        return cls(source, W, H, scales)

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    def dot(self, V: Matrix) -> Matrix:
        fn = partial(_dot_block, V=V, HV=self.H @ V)
        return np.asarray(self.source.map_rows(fn, self.W, self.scales, width=V.shape[1], dtype=np.float64))

    def tdot(self, Z: Matrix) -> Matrix:
        return np.asarray(self.source.reduce(blocks.tdot, Z / self.scales[:, None]) - self.H.T @ (self.W.T @ Z))

    def columns(self, a: int, b: int) -> Matrix:
        fn = partial(_columns_block, a=a, b=b, H=self.H[:, a:b])
        return np.asarray(self.source.map_rows(fn, self.W, self.scales, width=b - a, dtype=np.float64))


def _dot_block(block: Block, W: Matrix, scales: Vector, *, V: Matrix, HV: Matrix) -> Matrix:
    return blocks.dot(block, V) / scales[:, None] - W @ HV


def _columns_block(block: Block, W: Matrix, scales: Vector, *, a: int, b: int, H: Matrix) -> Matrix:
    return blocks.to_dense(block[:, a:b]) / scales[:, None] - W @ H


def _search(noise: _Noise, size: int, n_starts: int, rng: np.random.Generator) -> tuple[float, Vector]:
    """Return the largest mean noise of random sets, and of what a search from them finds, for all sizes 1, 2, ..."""
    n = noise.shape[0]
    # single records lead to others than sets do, and to better ones if sets are small
    first = [_largest(rng.random((n, n_starts)), number) for number in (size, 1)]
    sums = noise.tdot(np.hstack(first))
    sampled = float(np.abs(sums[:, :n_starts]).sum(axis=0).max() / size)
    values, last = np.zeros(2 * n_starts), np.full(2 * n_starts, -1.0)
    while (values > last * (1.0 + SLACK)).any():
        # with s the signs of the sum over T: |sum over T|_1 = sum over T of s.N_j <= sum over T' of s.N_j
        # <= |sum over T'|_1 for the T' of the largest s.N_j, so values never fall
        scores = noise.dot(np.where(sums < 0.0, -1.0, 1.0))
        sums = noise.tdot(_largest(scores, size))
        values, last = np.abs(sums).sum(axis=0), values
    # the signs are good for other sizes as well: any give a lower bound
    ranked = np.cumsum(np.sort(scores, axis=0)[::-1], axis=0).max(axis=1)
    return sampled, np.maximum(ranked, 0.0) / np.arange(1, n + 1)


def _largest(scores: Matrix, size: int) -> Matrix:
    """Return 1 for the ``size`` largest of each column, 0 for others."""
    chosen = np.zeros(scores.shape)
    np.put_along_axis(chosen, np.argpartition(-scores, size - 1, axis=0)[:size], 1.0, axis=0)
    return chosen


def _upper_bounds(noise: _Noise, rng: np.random.Generator) -> Vector:
    """Return bounds on the largest mean noise over sets of 1, 2, ... records."""
    n, m = noise.shape
    features, lengths, squares = np.zeros(n), np.zeros(n), np.zeros(m)
    step = max(1, CHUNK // n)
    for a in range(0, m, step):
        N = np.ascontiguousarray(noise.columns(a, min(a + step, m)).T)
        lengths += np.abs(N).sum(axis=0)
        squares[a : a + step] = np.vecdot(N, N)
        N.sort(axis=1)
        features += np.maximum(N[:, ::-1].cumsum(axis=1), -N.cumsum(axis=1)).sum(axis=0)
    records = np.cumsum(np.sort(lengths)[::-1])
    d = np.sqrt(squares)[:, None] ** [0.0, 0.5, 1.0]
    spectral = (np.linalg.norm(d, axis=0) * _norms(noise, d, rng)).min()
    sizes = np.arange(1, n + 1)
    return np.asarray(np.minimum(np.minimum(features, records), spectral * np.sqrt(sizes)) / sizes)


def _norms(noise: _Noise, d: Matrix, rng: np.random.Generator) -> Vector:
    """Return upper bounds of the spectral norms of the noise with features divided by each column of ``d``.

    With r Gaussian vectors v, |A| <= a sqrt(2/pi) max |A v| except with probability a**-r. A is a power of the Gram
    matrix, so that a root is taken of the factor.
    """
    inverse = np.repeat(np.divide(1.0, d, out=np.zeros_like(d), where=d > 0.0), PROBES, axis=1)
    V = rng.standard_normal(inverse.shape)
    logs = np.zeros(V.shape[1])
    with np.errstate(divide="ignore"):  # without noise, log(0)
        for _ in range(POWERS):
            V = noise.tdot(noise.dot(V * inverse)) * inverse
            lengths = np.linalg.norm(V, axis=0)
            logs += np.log(lengths)
            V /= np.where(lengths > 0.0, lengths, 1.0)
    largest = logs.reshape(-1, PROBES).max(axis=1)
    return np.asarray(np.exp((np.log(ODDS * np.sqrt(2.0 / np.pi)) + largest) / (2.0 * POWERS)))


def _least_eps4(means: Vector) -> float:
    """Return the smallest eps4 whose square is at least the mean noise, given for sets of 1, 2, ... records."""
    n = len(means)
    # eps4 in (t-1, t] / n stands for sets of t; means fall with t, so the first t that can do is the answer
    enough = np.flatnonzero(np.sqrt(means) <= np.arange(1, n + 1) / n)
    return max(float(np.sqrt(means[enough[0]])), float(enough[0]) / n) if enough.size else float("inf")


# constants and Theorem 2


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DominantConstants(ConditionTable):
    r"""The constants of the model, and the inequalities between them that Theorem 1 assumes [1]_.

    .. math:: \varepsilon < \varepsilon_0/20, \quad \beta + \rho \le (1 - 5 \varepsilon) \alpha, \quad
              \varepsilon_4 \le \alpha \gamma \varepsilon / 2,\ \varepsilon_0 w_0 p_0 / (16 k^3),\ \varepsilon_0^2/4

    Parameters
    ----------
    n_components : int
        The paper's k.
    rho, gamma, p0 : float
        Ratio, smallest entry and mass of the dominant features of D1.
    alpha, beta, w0 : float
        The bounds on weights, and the size of the sets, of D2.
    eps0, eps4 : float
        The size of the sets of D3, and what is pure in them.
    eps : float, optional
        By default nearly the largest that the first two inequalities allow, as the third is easiest with it.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Section 4.

    Examples
    --------
    >>> from partwise.metrics import DominantConstants
    >>> DominantConstants(
    ...     n_components=2, rho=0.1, gamma=0.1, p0=0.5, alpha=0.9, beta=0.05, w0=0.5, eps0=0.4, eps4=8e-4
    ... )
    DominantConstants:
    eps           0.01998 <  0.02       holds
    beta + rho       0.15 <= 0.8101     holds
    eps4 (1)       0.0008 <= 0.0008991  holds
    eps4 (2)       0.0008 <= 0.0007813  fails
    eps4 (3)       0.0008 <= 0.04       holds
    """

    n_components: int
    rho: float
    gamma: float
    p0: float
    alpha: float
    beta: float
    w0: float
    eps0: float
    eps4: float
    eps: float | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        given.pop("n_components")
        _check_shares(**given)

    @property
    def epsilon(self) -> float:
        """``eps``, or what is taken for it."""
        if self.eps is not None:
            return self.eps
        room = 1.0 - (self.beta + self.rho) / self.alpha if self.alpha > 0.0 else 0.0
        return max(0.0, min(0.999 * self.eps0 / 20.0, room / 5.0))

    @property
    def nu(self) -> float:
        """``(1 - alpha eps) / (beta + rho + 2 alpha eps)``, which step 4 of TSVDNMF uses."""
        share = self.alpha * self.epsilon
        below = self.beta + self.rho + 2.0 * share
        return (1.0 - share) / below if below > 0.0 else float("inf")

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The inequalities; there are three on eps4."""
        eps, smallest = self.epsilon, self.eps0 * self.w0 * self.p0
        return (
            _line("eps", "<", self.eps0 / 20.0, eps),
            _line("beta + rho", "<=", (1.0 - 5.0 * eps) * self.alpha, self.beta + self.rho),
            _line("eps4 (1)", "<=", self.alpha * self.gamma * eps / 2.0, self.eps4),
            _line("eps4 (2)", "<=", smallest / (16.0 * self.n_components**3), self.eps4),
            _line("eps4 (3)", "<=", self.eps0**2 / 4.0, self.eps4),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Identifiability(ConditionTable):
    """The conditions of Theorem 2, and what follows from them.

    Attributes
    ----------
    n_components : int
        The paper's k.
    p0, p1 : float
        The least mass of a component on its dominant features, and the most of another on them.
    eps4 : float
        The constant of D3.
    delta : float
        The distance of two factorizations, of equation 4.
    """

    n_components: int
    p0: float
    p1: float
    eps4: float
    delta: float

    @property
    def delta_prime(self) -> float:
        """``2 eps4 + 6 delta``."""
        return 2.0 * self.eps4 + 6.0 * self.delta

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """``(p0 - delta')**2 > 4 k (p1 + delta')`` and ``2 delta' < p0 - p1``."""
        d = self.delta_prime
        return (
            _line("Theorem 2 (a)", ">", 4.0 * self.n_components * (self.p1 + d), (self.p0 - d) ** 2),
            _line("Theorem 2 (b)", "<", self.p0 - self.p1, 2.0 * d),
        )

    @property
    def bound(self) -> float:
        """Theorem 2's bound on the l1 distance of a component from that of another factorization; else infinite."""
        d = self.delta_prime
        return 2.0 * d + 4.0 * self.n_components * (self.p1 + d) / (self.p0 - d) if self.holds else float("inf")

    @property
    def largest_delta(self) -> float:
        """The conditions hold for every delta below this; if it is not positive, for none."""
        p0, p1, k = self.p0, self.p1, self.n_components
        # the smaller root of (p0 - d)**2 = 4 k (p1 + d), without cancellation
        root = (p0**2 - 4.0 * k * p1) / (p0 + 2.0 * k + 2.0 * np.sqrt(k * (k + p0 + p1)))
        return float(min(root, (p0 - p1) / 2.0) - 2.0 * self.eps4) / 6.0


def identifiability(
    H: Any, *, rho: float = 0.05, gamma: float = 0.0, eps4: float = 0.05, delta: float = 0.0
) -> Identifiability:
    r"""Whether components are the only ones, nearly: the conditions of Theorem 2 [1]_.

    Suppose that D1 and D3 hold, and that B', C' explain the pure records in the mean as well as B, C do:
    :math:`\| \sum_{j \in P_l} (BC - B'C')_{\cdot,j} \|_1 \le \delta \sum_{j \in P_l} \|C_{\cdot,j}\|_1` for all l
    (the paper has :math:`R_l` on the left, taken here for the same set). If, with
    :math:`\delta' = 2 \varepsilon_4 + 6 \delta`,

    .. math:: (p_0 - \delta')^2 > 4k (p_1 + \delta') \quad \text{(a)}, \qquad 2 \delta' < p_0 - p_1 \quad \text{(b)},

    then, up to order and scale of the columns of B',
    :math:`\|B_{\cdot,j} - B'_{\cdot,j}\|_1 \le 2 \delta' + 4k (p_1 + \delta')/(p_0 - \delta')`.
    D3 itself is a matter of the weights: see `pure_records`. What p1 is, see `dominant_features`.

    Parameters
    ----------
    H : array-like of shape (n_components, n_features) or fitted estimator
        Components, in any scale.
    rho, gamma : float, default=0.05, 0.0
        The constants of D1, which choose the dominant features: with fewer of them p0 and p1 are smaller.
    eps4 : float, default=0.05
        What is pure in D3.
    delta : float, default=0.0
        The distance of the factorizations.

    Returns
    -------
    Identifiability
        The conditions, the bound, and the largest delta.

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016, Theorem 2, equation 4.

    Examples
    --------
    >>> from partwise.metrics import identifiability
    >>> found = identifiability([[9, 0, 1], [0, 9, 1]], eps4=0.01)
    >>> found.holds, round(found.bound, 4), round(found.largest_delta, 4)
    (True, 0.2218, 0.0106)
    """
    return _theorem_2(dominant_features(H, rho=rho, gamma=gamma), eps4, delta)


def _theorem_2(features: DominantFeatures, eps4: float, delta: float) -> Identifiability:
    _check_shares(eps4=eps4)
    if not 0.0 <= delta < np.inf:
        raise InputError(f"delta={delta!r} is a distance: give a finite number >= 0.")
    return Identifiability(len(features.masses), features.p0, features.p1, eps4, delta)


# all of it


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
        holds = _all(self._of_theorem_1)
        return None if holds and self.noise is None else holds

    @property
    def theorem_2(self) -> bool | None:
        """Whether all that Theorem 2 asks for holds: D1, D3, (a) and (b)."""
        return _all(self.features.conditions + self.pure.conditions + self.identifiability.conditions)

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
        raise InputError("W is missing: give the weights, or the data X from which to compute them.")
    if noise and N is None and X is None:
        raise InputError("noise=True needs the data X, or give the noise N itself.")
    B, C, scales = normalize_factors(H, _weights(W, H, X), normalize)
    features = dominant_features(B, rho=rho, gamma=gamma, p0=p0)
    weights = dominant_weights(C, alpha=alpha, beta=beta, w0=w0, normalize=None)
    pure = pure_records(C, eps4=eps4, eps0=eps0, normalize=None)
    heavy = None
    if N is not None or noise:
        given = ("X", X, C) if N is None else ("N", N, np.zeros_like(C))
        heavy = _heavy_noise(_Noise.of(*given, B, scales), eps4, n_starts, random_state)
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
    return DominantConditions(features, weights, pure, heavy, constants, _theorem_2(features, eps4, delta))
