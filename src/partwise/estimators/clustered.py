"""Methods that cluster records and then average: what they share, TSVD and k-means, as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval

from partwise.algorithms.kmeans import kmeans
from partwise.algorithms.loop import Progress, Stages, State
from partwise.algorithms.tsvdnmf import Parts, basis_vectors, cluster, tell, tsvd_thresholds, usable
from partwise.estimators.base import Looped
from partwise.outcomes import Stop
from partwise.sources import Inspection, RowSource
from partwise.sources.protocol import copied

LEFT_OUT = -1  # label of a sample of weight zero


def whole(x: float) -> int:
    """The whole number below, and at least 1; what rounding left just below a whole number is that number."""
    return max(1, int(x * (1.0 + 1e-12)))


class Clustered(Looped):
    """Methods that find components from clusters of records in a few steps, not from a start.

    Parameters
    ----------
    n_init : int, default=10
        Starts of k-means.
    max_iter : int, default=100
        Largest number of passes of Lloyd's algorithm.
    callbacks : list of callables
        Each is called with a ``Progress`` when the steps are done.

    Attributes
    ----------
    labels_ : ndarray or Dask array of shape (n_samples,)
        Cluster of each record; -1 for those of weight zero.
    n_lloyd_, n_iter_ : int
        Passes of Lloyd's algorithm.
    history_ : History
        One row.
    converged_, stop_reason_, stop_, residual_ : bool, str, Stop, float
        True, what was done, NaN.
    """

    _allow_negative: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Looped._parameter_constraints,
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    labels_: Any
    pure_records_: list[Any]
    refine: bool = False  # whether iterations follow behind the clusters

    def _limits(self) -> tuple[int, float]:
        return self.max_iter, 0.0  # nothing is iterated to a tolerance

    def _renumber(self, copies: npt.NDArray[np.int64]) -> None:
        super()._renumber(copies)
        first, home = np.cumsum(copies) - copies, copied(copies)
        self.labels_ = np.where(copies > 0, self.labels_[np.minimum(first, len(home) - 1)], LEFT_OUT)
        if hasattr(self, "pure_records_"):
            own = [dict.fromkeys(home[rows].tolist()) for rows in self.pure_records_]
            self.pure_records_ = [np.array([*rows], np.int64) for rows in own]

    def _parts(self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator) -> Parts:
        raise NotImplementedError

    def _begin(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Iterator[Progress]:
        parts = self._parts(source, k, seen, rng)  # the same again behind a state
        self._keep(source, parts)
        tell(parts.notes)
        return self._steps(source, parts, seen, rng, state)

    def _steps(
        self, source: RowSource, parts: Parts, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Stages:
        yield Progress(parts.components.astype(source.dtype), np.nan)
        return Stop("done") if parts.clusters.settled else Stop("max_iter", self.max_iter, cause="lloyd")

    def _keep(self, source: RowSource, parts: Parts) -> None:
        self.labels_ = source.deliver(parts.clusters.labels)
        self.n_lloyd_ = parts.clusters.n_iter
        self.thresholds_, self.pruned_ = parts.thresholds.levels, parts.thresholds.partner
        self.dominant_features_, self.pure_records_ = parts.dominant, parts.pure

    def _fit(self, X: Any, truth: Any = None, **how: Any) -> tuple[RowSource, Any]:
        fitted = super()._fit(X, truth, **how)
        if not self.refine:  # the loop had nothing to do: what was iterated is Lloyd's algorithm
            self.n_iter_ = self.n_lloyd_
        return fitted


class TSVD(Clustered):
    r"""Topics by thresholded singular value decomposition, the forerunner of TSVDNMF.

    Bansal, Bhattacharyya and Kannan [1]_. Differs from :class:`TSVDNMF` in the threshold, which is the largest value of
    a feature that :math:`w_0 n / 2` entries exceed and that at most :math:`3 \varepsilon w_0 n` are equal to, in
    the absence of pruning, and in all shares being relative to w0, the least share of a topic.

    Parameters
    ----------
    w0 : float, optional
        Least share of records in which a component dominates; ``1 / k`` by default, as in the paper's experiments.
    eps : float, default=1/6
        Share of entries, relative to w0, that may be equal to a threshold.
    eps0 : float, default=1/3
        Share of nearly pure records, relative to w0: g and the averages are over ``eps0 w0 n / 2`` records.
    nu : float, default=1.1
        How clearly a catchword must dominate.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, mean records.
    thresholds_ : ndarray of shape (n_features,)
        Least entry of each feature that counts; zero for features that are left out.
    pruned_ : ndarray of int, shape (n_features,)
        -1: nothing is pruned.
    dominant_features_ : list of ndarray
        The catchwords.
    pure_records_ : list of ndarray
        Records that were averaged, purest first.

    References
    ----------
    .. [1] T. Bansal, C. Bhattacharyya, R. Kannan, "A provable SVD-based algorithm for learning topics in dominant
       admixture corpus", NIPS 2014.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_dominant(n_samples=1000, n_features=100, random_state=0)
    >>> noisy = pw.datasets.add_multinomial_noise(data, 200, random_state=0)
    >>> model = pw.TSVD(10, random_state=0).fit(noisy.X)
    >>> pw.metrics.match_components(model.components_, noisy.components).cosines.min() > 0.9
    np.True_
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Clustered._parameter_constraints,
        "w0": [Interval(Real, 0, 1, closed="right"), None],
        "eps": [Interval(Real, 0, None, closed="neither")],
        "eps0": [Interval(Real, 0, 1, closed="right")],
        "nu": [Interval(Real, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        w0: float | None = None,
        eps: float = 1.0 / 6.0,
        eps0: float = 1.0 / 3.0,
        nu: float = 1.1,
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.w0 = w0
        self.eps = eps
        self.eps0 = eps0
        self.nu = nu
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.callbacks = callbacks

    def _parts(self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator) -> Parts:
        share = (1.0 / k if self.w0 is None else self.w0) * source.shape[0]
        thresholds, _, notes = usable(
            lambda rank: tsvd_thresholds(source, rank, most_equal=3.0 * self.eps * share), whole(share / 2.0)
        )
        clusters = cluster(thresholds.apply(source), k, rng, n_init=self.n_init, max_iter=self.max_iter)
        count = whole(self.eps0 * share / 2.0)
        parts = basis_vectors(source, thresholds, clusters, rank=count, n_pure=count, nu=self.nu, least=0.0)
        parts.notes[:0] = notes
        return parts.nonnegative()


class KMeans(Clustered):
    """The centres of k clusters of records as components, to compare with.

    Lloyd's algorithm from the best of several k-means++ starts; weights are exact non-negative least squares, as for
    every other method. On many records the starts are compared on a sample.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The centres.
    inertia_ : float
        Sum of the squared distances from the centres.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_dominant(n_samples=500, random_state=0)
    >>> model = pw.KMeans(10, random_state=0).fit(data.X)
    >>> pw.metrics.clustering_accuracy(data.labels, model.labels_) > 0.8
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.callbacks = callbacks

    def _parts(self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator) -> Parts:
        clusters = kmeans(source, k, rng=rng, n_init=self.n_init, max_iter=self.max_iter)
        return Parts.of_clusters(clusters).nonnegative()

    def _keep(self, source: RowSource, parts: Parts) -> None:
        self.labels_ = source.deliver(parts.clusters.labels)
        self.n_lloyd_, self.inertia_ = parts.clusters.n_iter, parts.clusters.inertia
