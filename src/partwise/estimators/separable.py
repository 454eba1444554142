"""Methods for separable data: every component is a sample, or has a feature of its own, and is picked."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from partwise.algorithms.hull import HullAnchors, convex_hull
from partwise.algorithms.points import Axis, view
from partwise.algorithms.preconditioned import er_spa, mve_spa, pw_spa
from partwise.algorithms.separability import Separability, separability
from partwise.algorithms.separable_lp import LPAnchors, separable_lp
from partwise.algorithms.spa import SPAResult, spa
from partwise.algorithms.xray import SELECTIONS, Selection, xray
from partwise.estimators.base import Factorization
from partwise.exceptions import DegenerateDataWarning, warn_user
from partwise.linalg.nnls import nnls
from partwise.linalg.svd import truncated_svd
from partwise.sources import Inspection, RowSource, blocks
from partwise.sources.protocol import Block, copied

Array = npt.NDArray[Any]


class Picks(Protocol):
    """What a method finds: numbers of points, and how clear each pick was."""

    @property
    def anchors(self) -> npt.NDArray[np.int64]:
        """Numbers of the points."""

    @property
    def margins(self) -> Array:
        """Ratios of what the method went by, for the anchor and the runner-up."""


class Separable(Factorization):
    """Base of the methods that pick anchors: a subclass documents its parameters and picks in ``_pick``.

    Parameters
    ----------
    n_components : int, optional
        Number of anchors, at most the smaller of the numbers of samples and features, which is the default.
    axis : {"samples", "features"}, default="samples"
        What is picked; as for :class:`SPA`.
    tol : float, default=0.0
        Stop where no residual is longer than this times the longest point, which is then taken for noise; at 0,
        where residuals are rounding errors.

    Attributes
    ----------
    anchors_ : ndarray of int
        The samples or features picked, in the order of picking; ``components_`` has the same order.
    separability_ : Separability
        How clear each pick was, how well conditioned the anchors are and what they leave unexplained; its ``bound`` is
        that of SPA among all points.
    components_ : ndarray of shape (n_components, n_features)
        The parts; as for :class:`SPA`.
    n_components_ : int
        Number of components: fewer than asked for, with a warning, if nothing was left to pick.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": Factorization._parameter_constraints["n_components"],
        "axis": [StrOptions({"samples", "features"})],
        "tol": [Interval(Real, 0, None, closed="left")],
    }
    random_state: Any = None  # a parameter of those that draw
    anchors_: npt.NDArray[np.int64]
    separability_: Separability

    def _pick(self, source: RowSource, k: int, rng: np.random.Generator) -> Picks:
        """At most ``k`` anchors; fewer when nothing is left to pick."""
        raise NotImplementedError

    def _scale(self, source: RowSource) -> Array | None:
        """The factor of every point before picking."""
        return None

    def _renumber(self, copies: npt.NDArray[np.int64]) -> None:
        super()._renumber(copies)
        if self.axis == "samples":
            self.anchors_ = copied(copies)[self.anchors_]
            self.separability_ = replace(self.separability_, anchors=self.anchors_)

    def _find(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, truth: Any, state: Any
    ) -> Array:
        picks = self._pick(source, k, rng)
        self.anchors_ = picks.anchors
        if len(self.anchors_) < k and seen.largest > 0.0:  # that all is zero has been told
            count = len(self.anchors_)
            warn_user(
                DegenerateDataWarning(
                    f"{type(self).__name__} found only {count} of {k} anchors, which leave nothing to pick: the data "
                    f"has rank {count}, numerically or within the tolerance; there are {count} components",
                    kind="rank",
                )
            )
        self.separability_ = separability(view(source, self.axis, self._scale(source)), self.anchors_, picks.margins)
        if not len(self.anchors_):  # one component of zeros, as there must be one
            return np.zeros((1, source.shape[1]), source.dtype)
        A = view(source, self.axis).take(self.anchors_)
        H = A if self.axis == "samples" else _shares(source, A)
        return H.astype(source.dtype)


class SPA(Separable):
    r"""The successive projection algorithm: pick the longest residual, project it out, repeat.

    Data is separable if every component is itself a sample (``axis="samples"``, pure records) or if every component
    has a feature that no other has (``axis="features"``, anchor words). Then all points, rows or columns, lie in the
    convex hull of a few of them, and these are found in as many passes over the data, with a guarantee under
    noise [2]_. ``separability_`` says how far to trust the picks.

    Parameters
    ----------
    axis : {"samples", "features"}, default="samples"
        What is picked. "samples": the anchors are the components. "features": with the columns K picked,
        ``components_`` is the H >= 0 that minimises :math:`\|X - X_K H\|`, and the anchors are its pure features;
        weights are those of ``transform``, as for every method, and equal :math:`X_K` only without noise.
    normalize : bool, default=False
        Divide every point by the sum of its entries (their magnitudes) before picking, where points differ in
        size: without it they must be convex combinations, with it any non-negative ones will do. Small points, whose
        noise is magnified, then count as much as large ones.

    Attributes
    ----------
    separability_ : Separability
        How clear each pick was, how well conditioned the anchors are, what they leave unexplained, and the error
        bound of [2]_, Theorem 3, where its assumption holds.
    components_ : ndarray of shape (n_components, n_features)
        The parts.

    References
    ----------
    .. [1] M. C. U. Araújo et al., "The successive projections algorithm for variable selection in spectroscopic
       multicomponent analysis", Chemometrics and Intelligent Laboratory Systems 57, 2001.
    .. [2] N. Gillis, S. A. Vavasis, "Fast and robust recursive algorithms for separable nonnegative matrix
       factorization", IEEE Transactions on Pattern Analysis and Machine Intelligence 36, 2014, Theorem 3.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_separable(axis="samples", n_components=4, random_state=0)
    >>> model = pw.SPA(4).fit(data.X)
    >>> sorted(model.anchors_) == sorted(data.anchors)
    True
    >>> model.separability_.noise < 1e-12, model.separability_.bound < 1e-9
    (True, True)
    """

    _allow_negative: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {**Separable._parameter_constraints, "normalize": ["boolean"]}

    def __init__(
        self, n_components: int | None = None, *, axis: Axis = "samples", normalize: bool = False, tol: float = 0.0
    ) -> None:
        self.n_components = n_components
        self.axis = axis
        self.normalize = normalize
        self.tol = tol

    def _scale(self, source: RowSource) -> Array | None:
        if not self.normalize:
            return None
        if self.axis == "features":
            sizes = source.reduce(_column_sizes)
        else:
            sizes = np.asarray(source.map_rows(_row_sizes, width=None, dtype=np.float64))
        return np.asarray(np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0.0))

    def _pick(self, source: RowSource, k: int, rng: np.random.Generator) -> SPAResult:
        return _above(spa(source, k, row_scale=self._scale(source), axis=self.axis), self.tol)


class PreconditionedSPA(Separable):
    """SPA on points made round first, which noise disturbs less where anchors are nearly dependent.

    The points are seen in the span of the leading singular vectors, as many as there are anchors, and transformed
    there: all singular values set to one ("svd", prewhitening, [1]_), or the smallest origin-centred ellipsoid
    around the points made a ball ("ellipsoid", [2]_), which needs more time and has the better guarantee.

    Parameters
    ----------
    preconditioner : {"svd", "ellipsoid"}, default="svd"
        What makes the points round.
    tol : float, default=0.0
        Singular values not above this times the largest are taken for noise, and as many anchors are picked as
        there are others; at 0, those that are rounding errors.
    random_state : int, Generator or RandomState, optional
        Seed of the search for the singular vectors.

    References
    ----------
    .. [1] N. Gillis, W.-K. Ma, "Enhancing pure-pixel identification performance via preconditioning", SIAM Journal
       on Imaging Sciences 8, 2015.
    .. [2] N. Gillis, S. A. Vavasis, "Semidefinite programming based preconditioning for more robust near-separable
       nonnegative matrix factorization", SIAM Journal on Optimization 25, 2015.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_separable(n_components=4, random_state=1)
    >>> noisy = pw.datasets.add_gaussian_noise(data, 0.01, random_state=0)
    >>> model = pw.PreconditionedSPA(4, axis="features", random_state=0).fit(noisy.X)
    >>> sorted(model.anchors_) == sorted(data.anchors)
    True
    """

    _allow_negative: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Separable._parameter_constraints,
        "preconditioner": [StrOptions({"svd", "ellipsoid"})],
        "random_state": Factorization._parameter_constraints["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        axis: Axis = "samples",
        preconditioner: str = "svd",
        tol: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.axis = axis
        self.preconditioner = preconditioner
        self.tol = tol
        self.random_state = random_state

    def _pick(self, source: RowSource, k: int, rng: np.random.Generator) -> SPAResult:
        pick = pw_spa if self.preconditioner == "svd" else mve_spa
        return pick(source, _rank(source, k, self.tol, rng), axis=self.axis, rng=rng)


class EllipsoidalSPA(Separable):
    """SPA among the points that touch their smallest ellipsoid: ellipsoidal rounding (ER-SPA).

    The points are seen in the span of the leading singular vectors, as many as there are anchors. The anchors of
    separable data touch the smallest origin-centred ellipsoid around all points, and still do under noise that is
    not too large [1]_; among the few that touch, SPA picks.

    Parameters
    ----------
    tol : float, default=0.0
        Singular values not above this times the largest are taken for noise, and as many anchors are picked as
        there are others; at 0, those that are rounding errors.
    eta, theta : float, default=0.99, 5
        Of the cutting planes that find the ellipsoid, as published: points with :math:`y^T L y` below eta leave the
        few that it is computed from, and theta times the rank of those outside join in a round (our reading of the
        names). They decide how soon and not what is found: the ellipsoid is the smallest, to a duality gap of 1e-10.
    random_state : int, Generator or RandomState, optional
        Seed of the search for the singular vectors.

    References
    ----------
    .. [1] T. Mizutani, "Ellipsoidal rounding for nonnegative matrix factorization under noisy separability", JMLR
       15, 2014.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_separable(n_components=4, random_state=1)
    >>> noisy = pw.datasets.add_gaussian_noise(data, 0.01, random_state=0)
    >>> model = pw.EllipsoidalSPA(4, axis="features", random_state=0).fit(noisy.X)
    >>> sorted(model.anchors_) == sorted(data.anchors)
    True
    """

    _allow_negative: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Separable._parameter_constraints,
        "eta": [Interval(Real, 0, 1, closed="left")],
        "theta": [Interval(Real, 0, None, closed="neither")],
        "random_state": Factorization._parameter_constraints["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        axis: Axis = "samples",
        tol: float = 0.0,
        eta: float = 0.99,
        theta: float = 5.0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.axis = axis
        self.tol = tol
        self.eta = eta
        self.theta = theta
        self.random_state = random_state

    def _pick(self, source: RowSource, k: int, rng: np.random.Generator) -> SPAResult:
        rank = _rank(source, k, self.tol, rng)
        return er_spa(source, rank, axis=self.axis, eta=self.eta, theta=self.theta, rng=rng)


class XRAY(Separable):
    """Extreme rays of the cone of the data: refit, look at what is left, pick the ray that the cone must turn to.

    Unlike SPA it asks only that points are non-negative combinations of the anchors, whatever their sizes, and the
    anchors may be more than the rank of the data.

    Parameters
    ----------
    selection : {"max", "dist", "greedy"}, default="max"
        The residual that is followed. "max": the longest. "dist": that with the largest positive products with all
        points. "greedy": none; pick the point that lowers the residuals most, which need not be an extreme ray.
        The last two cost a product of every pair of points.

    References
    ----------
    .. [1] A. Kumar, V. Sindhwani, P. Kambadur, "Fast conical hull algorithms for near-separable non-negative matrix
       factorization", ICML 2013.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> data = pw.datasets.make_separable(axis="samples", n_components=4, random_state=0)
    >>> sizes = np.random.default_rng(0).uniform(0.1, 10.0, (100, 1))
    >>> sorted(pw.XRAY(4).fit(sizes * data.X).anchors_) == sorted(data.anchors)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Separable._parameter_constraints,
        "selection": [StrOptions(set(SELECTIONS))],
    }

    def __init__(
        self, n_components: int | None = None, *, axis: Axis = "samples", selection: Selection = "max", tol: float = 0.0
    ) -> None:
        self.n_components = n_components
        self.axis = axis
        self.selection = selection
        self.tol = tol

    def _pick(self, source: RowSource, k: int, rng: np.random.Generator) -> SPAResult:
        return _above(xray(source, k, axis=self.axis, selection=self.selection), self.tol)


class SeparableLP(Separable):
    r"""Anchors by one linear program, for a few hundred points.

    The model of Gillis and Luce [1]_, equation (8). With the points as the columns of M,

    .. math::
        \min_{Z \ge 0} p^\top \operatorname{diag}(Z) \quad \text{where} \quad Z_{ii} \le 1, \;
        Z_{ij} \|m_i\|_1 \le Z_{ii} \|m_j\|_1, \; \|m_j - M z_j\|_1 \le \rho \epsilon,

    and the anchors are the points of the largest diagonal entries, or the centres of the clusters that share them,
    whichever leave the smaller error. The program has a column for every pair of points and is solved by HiGHS; its
    residuals are computed anew. Where it would not fit memory the data is refused.

    Parameters
    ----------
    noise : float, optional
        The paper's epsilon, in the unit of the data: largest l1 norm of the noise of a point. By default the largest
        l1 error that as many points picked by SPA leave. Too small a value makes every point an anchor of its own, too
        large a one leaves fewer positive entries than anchors; points farthest from the others then fill up.
    rho : float, default=1.0
        The error allowed is rho times the noise; the authors' choices are 1 and 2.
    time_limit : float, optional
        Seconds for the program. When they are over the anchors are those of SPA, a warning says so, and
        ``diagonal_`` is NaN.

    Attributes
    ----------
    anchors_ : ndarray of int
        The samples or features picked, the largest diagonal entry first; ``components_`` has the same order.
    diagonal_ : ndarray
        Diagonal of Z, an entry for every point.
    noise_ : float
        The epsilon that was used.
    certificate_ : LPCertificate or None
        Primal and dual residual and duality gap of the solution, of data scaled to a mean l1 norm of 1; None if there
        was no program to solve, or it was not solved.
    separability_ : Separability
        The margins of the diagonal entries, how well conditioned the anchors are and what they leave unexplained;
        its ``bound`` is SPA's.

    References
    ----------
    .. [1] N. Gillis, R. Luce, "Robust near-separable nonnegative matrix factorization using linear optimization",
       JMLR 15, 2014, equation (8) and Algorithm 6.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_separable(n_samples=30, n_features=40, n_components=4, random_state=0)
    >>> model = pw.SeparableLP(4, axis="features").fit(data.X)
    >>> sorted(model.anchors_) == sorted(data.anchors)
    True
    >>> model.certificate_.primal < 1e-7, model.certificate_.gap < 1e-7
    (True, True)
    """

    _allow_negative: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{name: Separable._parameter_constraints[name] for name in ("n_components", "axis")},
        "noise": [Interval(Real, 0, None, closed="left"), None],
        "rho": [Interval(Real, 0, None, closed="neither")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        axis: Axis = "samples",
        noise: float | None = None,
        rho: float = 1.0,
        time_limit: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.axis = axis
        self.noise = noise
        self.rho = rho
        self.time_limit = time_limit

    def _pick(self, source: RowSource, k: int, rng: np.random.Generator) -> LPAnchors:
        found = separable_lp(
            source, k, axis=self.axis, noise=self.noise, rho=float(self.rho), time_limit=self.time_limit
        )
        self.diagonal_, self.noise_, self.certificate_ = found.diagonal, found.noise, found.certificate
        if found.message:
            warn_user(
                f"SeparableLP: the linear program was not solved ({found.message}); the anchors are those of SPA. "
                "Raise time_limit, or pick among fewer points",
                ConvergenceWarning,
            )
        return found


class ConvexHull(Separable):
    """Anchors as the corners of the convex hull: delete every point that is in the hull of the others.

    The first algorithm with a proof ([1]_, as [2]_ gives it): points are divided by their sums, and a linear
    program for each says whether the others make it. The program here gives the l1 distance from their hull, so
    that noise may have a tolerance; if more points remain than anchors are asked for, those nearest to the hull of
    the others are deleted, one by one. Points that are provably inside are found without a program.

    Parameters
    ----------
    tol : float, default=1e-7
        A point nearer than this to the hull of the others, in the l1 norm of points that sum to 1, is inside.

    Attributes
    ----------
    anchors_ : ndarray of int
        The samples or features picked, the farthest from the hull of the others first; ``components_`` has the same
        order.
    distances_ : ndarray of shape (n_components,)
        Their l1 distances from the hull of the others, at most 2.
    separability_ : Separability
        The ratios of these to the largest distance deleted, how well conditioned the anchors are and what they leave
        unexplained; its ``bound`` is SPA's.
    n_components_ : int
        Number of components: fewer than asked for, with a warning, if the hull has fewer corners.

    References
    ----------
    .. [1] S. Arora, R. Ge, R. Kannan, A. Moitra, "Computing a nonnegative matrix factorization - provably", STOC
       2012.
    .. [2] D. Hsu, "Non-negative matrix factorization", lecture notes of COMS 4772, Columbia University.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_separable(axis="samples", n_components=4, random_state=0)
    >>> model = pw.ConvexHull(4).fit(data.X)
    >>> sorted(model.anchors_) == sorted(data.anchors)
    True
    """

    def __init__(self, n_components: int | None = None, *, axis: Axis = "samples", tol: float = 1e-7) -> None:
        self.n_components = n_components
        self.axis = axis
        self.tol = tol

    def _pick(self, source: RowSource, k: int, rng: np.random.Generator) -> HullAnchors:
        found = convex_hull(source, k, axis=self.axis, tol=float(self.tol))
        self.distances_ = found.distances
        return found


def _above(found: SPAResult, tol: float) -> SPAResult:
    """The picks before the first residual that is not above the tolerance: that is noise, and so is what follows."""
    noise = np.flatnonzero(found.residuals <= tol)
    n = int(noise[0]) if len(noise) else len(found.anchors)
    return SPAResult(found.anchors[:n], found.residuals[:n], found.margins[:n])


def _rank(source: RowSource, k: int, tol: float, rng: np.random.Generator) -> int:
    """How many of the k leading singular values are above the tolerance; at 0 the method itself will find out."""
    if tol == 0.0:
        return k
    values, _ = truncated_svd(source, k, rng=rng)
    return max(1, int(np.count_nonzero(values > tol * values.max(initial=0.0))))


def _shares(source: RowSource, A: Array) -> Array:
    """The H >= 0 nearest to ``X = A' H``, every column exact: in coordinates along an orthonormal basis of A'."""
    Q, R = np.linalg.qr(A.T)
    along = source.reduce(_column_coordinates, Q)
    return np.ascontiguousarray(np.asarray(nnls(R.T, along)).T)


def _column_coordinates(block: Block, Q: Array) -> Array:
    return blocks.tdot(block, Q).astype(np.float64)


def _row_sizes(block: Block) -> Array:
    return blocks.row_sums(abs(block))


def _column_sizes(block: Block) -> Array:
    return blocks.tdot(abs(block), np.ones((block.shape[0], 1)))[:, 0].astype(np.float64)
