"""Facets as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from partwise.algorithms.facets import Finish, facets, independent
from partwise.algorithms.hals import suggested_sweeps
from partwise.algorithms.loop import Progress, State
from partwise.algorithms.signal import Signal, find_signal
from partwise.estimators.base import Iterative
from partwise.estimators.spanned import Floored
from partwise.outcomes import CHANGE
from partwise.sources import Inspection, RowSource
from partwise.starts import make_start, near_pure_start


class Facets(Floored, Iterative):
    """The true parts from a cold start, under strong correlations and noise: the facets of the cone of the samples.

    Ours, after Li and Liang's :class:`AND` [1]_. Every part that is absent from some samples makes a facet of the cone
    in which all samples lie, and the facets are what decodes the weights. Stages of three steps: decode the weights
    with the inverse of the components, set those below a threshold to zero, fit each facet to the samples whose weight
    was set to zero. The threshold falls with the decoding error, which the negative weights tell, down to the noise.
    Components may have negative entries if the data has; if not, a component that is negative beyond the noise is
    wrong, is told, and is fitted anew without.

    Parameters
    ----------
    floor : float, default=2.0
        Thresholds do not fall below this many standard deviations of the noise in the decoded weights, which is
        estimated from what lies outside the span of the components, and larger where that is coloured (`colour_`);
        0 ignores the noise.
    nonnegative : bool, default=False
        Use that the components have no negative entries: finish with :class:`HALS` from what was found. Helps where
        components have many zeros and weights few.
    max_iter : int, default=300
        Largest number of stages (and of iterations of the finish).
    tol : float, default=1e-10
        Stop when no component changes by more than this, relative to its size.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, each as large as the mean sample.
    weighing_ : Weighing
        How the data was weighed, see `set_weighing`.
    history_ : History
        One row a stage: time, objective (half the sum of the squares of the weights below their thresholds, which a
        stage makes least; in the finish of `nonnegative` half the squared residual), change of the components
        (``residual``), threshold, its floor, mean number of active weights; if a truth was given the error and the
        quantities of the proofs (:class:`partwise.metrics.RecoveryMeasures`).
    residual_ : float
        Change of the components in the last stage; after the finish of ``nonnegative`` its KKT residual.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong
       Correlations", ICML 2017.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_topics("dir", n_samples=500, n_features=200, n_components=10, random_state=0)
    >>> model = pw.Facets(10).fit(data.X)
    >>> pw.metrics.total_correlation_error(model.components_, data.components) < 1e-8
    True
    """

    _allow_negative: ClassVar[bool] = True
    _sets_aside: ClassVar[bool] = True
    _follows_proof: ClassVar[bool] = True
    _residual: ClassVar[str] = CHANGE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Iterative._parameter_constraints,
        "floor": [Interval(Real, 0, None, closed="left")],
        "nonnegative": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "pure",
        floor: float = 2.0,
        nonnegative: bool = False,
        max_iter: int = 300,
        tol: float = 1e-10,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.floor = floor
        self.nonnegative = nonnegative
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callbacks = callbacks

    def _begin(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Iterator[Progress]:
        signal = find_signal(source, k, squared_norm=seen.squared_norm, rng=rng)
        self.noise_, self.outside_, self.colour_ = signal.noise, signal.outside, signal.colour
        finish = None
        if self.nonnegative:
            sweeps = suggested_sweeps(seen.nonzero / max(1, source.shape[0]), source.shape[1], k)
            finish = Finish(seen.squared_norm, sweeps)
        return facets(
            source,
            signal,
            None if state is not None or not signal.rank else self._start(source, signal, k, seen, rng),
            k,
            records=isinstance(self.init, str) and self.init == "pure",
            floor=self.floor,
            finish=finish,
            tol=self.tol,
            state=state,
        )

    def _start(self, source: RowSource, signal: Signal, k: int, seen: Inspection, rng: np.random.Generator) -> Any:
        """In the coordinates of the signal."""
        if isinstance(self.init, str) and self.init == "pure":
            return near_pure_start(signal, k=k, rng=rng)
        H0 = make_start(self._init, source, k, seen=seen, rng=rng, nonnegative=False)
        return independent(H0 @ signal.basis.T, signal.rank)
