"""Minimum volume as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from partwise.algorithms.facets import independent
from partwise.algorithms.loop import Progress, Stages, State
from partwise.algorithms.minvol import minvol, points_of
from partwise.algorithms.signal import Signal, find_signal, nothing
from partwise.estimators.base import Iterative
from partwise.estimators.spanned import Spanned
from partwise.metrics.scattering import scattering
from partwise.sources import Inspection, RowSource
from partwise.starts import make_start, near_pure_start


class MinVol(Spanned, Iterative):
    r"""The smallest simplex around the samples: parts where no sample is pure.

    Minimum-volume factorization [1]_ [2]_. Samples at one size (their weights then sum to one) are points :math:`d_i`
    in the span of their leading singular vectors, and with the parts T there

    .. math:: \tfrac1{2n} \sum_i \|d_i - w_i T\|^2 + \tfrac v2 \log\det(T T^\top + \delta)

    is made small over weights of the simplex and any T. Where weights are scattered enough the parts are unique
    without pure samples: purities of 0.6 to 0.9, where methods that pick samples are off by 4 to 10 degrees. The
    weight v is the variance of the noise along the span, measured outside of it, so nothing is left to choose.

    Parameters
    ----------
    init : {"pure", "nndsvd", "nndsvda", "random"}, array or fitted estimator, default="pure"
        Where to start. "pure": the means of near-pure samples.
    weight : float or "auto", default="auto"
        What the volume weighs: the variance v of the noise in an entry of the data, along the parts. "auto": as
        measured outside the span, times the square of its colour, and at least a millionth of the data's mean square in
        the span.
    max_iter : int, default=2000
        Largest number of iterations.
    tol : float, default=0.05
        Stop when the residual of the optimality conditions is this share of what the volume pulls with.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, each as large as the mean sample.
    weight_ : float
        The weight of the volume.
    scattering_ : {"scattered", "not scattered", "not decided"}
        Whether the weights found are scattered enough for the parts to be unique (:func:`partwise.metrics.scattering`):
        that is proved, a counterexample to the condition was computed, or neither.
    reach_ : float
        How far the condition is from holding: 1 if it holds.
    below_zero_ : ndarray of shape (n_components,)
        Share of the squared size of each component that came out below zero, if that was more than noise makes so. The
        components were then fitted anew without negative entries, and above 0.1 a warning tells; else zeros.
    history_ : History
        One row an iteration: time, objective (at the weight of its stage; while that stays it never rises), KKT
        residual, the weight, and the error if a truth was given.
    converged_ : bool
        Whether the optimality conditions hold to ``tol``.
    residual_, kkt_ : float
        Residual of the optimality conditions of weights and parts, relative to what the volume pulls with.

    References
    ----------
    .. [1] V. Leplat, A. M. S. Ang, N. Gillis, "Minimum-volume rank-deficient nonnegative matrix factorizations", ICASSP
       2019.
    .. [2] X. Fu, K. Huang, B. Yang, W.-K. Ma, N. D. Sidiropoulos, "Robust volume minimization-based matrix
       factorization for remote sensing and document clustering", IEEE Trans. Signal Process. 64(23), 2016.

    Examples
    --------
    >>> import numpy as np
    >>> import partwise as pw
    >>> rng = np.random.default_rng(0)
    >>> parts, weights = rng.gamma(1.0, size=(3, 50)), rng.dirichlet([0.6] * 3, size=2000)
    >>> weights = weights[weights.max(axis=1) < 0.8]  # no sample is pure
    >>> X = weights @ parts + 0.01 * rng.random((len(weights), 50))
    >>> found = [pw.SPA(3).fit(X), pw.MinVol(3, random_state=0).fit(X)]
    >>> [bool(pw.metrics.spectral_angles(model.components_, parts).max() < 1.0) for model in found]
    [False, True]
    """

    # corners lie outside the samples, and noise takes them below zero where parts have zeros: told from a third of
    # their length on, and in every report
    _warned_below: ClassVar[float] = 0.1
    _sets_aside: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Iterative._parameter_constraints,
        "weight": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "pure",
        weight: float | str = "auto",
        max_iter: int = 2000,
        tol: float = 0.05,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.weight = weight
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callbacks = callbacks

    @property
    def kkt_(self) -> float:
        """Residual of the optimality conditions, relative to what the volume pulls with."""
        return float(self.residual_)

    def _begin(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Iterator[Progress]:
        signal = find_signal(source, k, squared_norm=seen.squared_norm, rng=rng)
        self.noise_, self.outside_, self.colour_ = signal.noise, signal.outside, signal.colour
        self.weight_ = 0.0 if isinstance(self.weight, str) else float(self.weight)
        if not signal.rank:
            return nothing(k, source, state)
        points = points_of(signal)
        self.weight_ = self.weight_ or points.variance
        T0 = None if state is not None else self._start(source, signal, k, seen, rng)
        return self._judged(minvol(signal, points, T0, k, weight=self.weight_, tol=self.tol, state=state))

    def _judged(self, iterations: Iterator[Progress]) -> Stages:
        """The iterations; the weights of the last one are kept until they are judged."""
        for progress in iterations:
            self._weights = progress.state["engine.W"]
            yield progress
        return None

    def _find(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, truth: Any, state: State | None
    ) -> npt.NDArray[Any]:
        if state is not None:
            self._weights = state.get("engine.W")
        H = super()._find(source, k, seen, rng, truth, state)
        W = self.__dict__.pop("_weights", None)
        found = None if W is None else scattering(np.maximum(np.asarray(W), 0.0))
        self.scattering_ = "not decided" if found is None else found.verdict
        self.reach_ = np.inf if found is None else found.reach
        return H

    def _start(self, source: RowSource, signal: Signal, k: int, seen: Inspection, rng: np.random.Generator) -> Any:
        """In the coordinates of the signal, at the size of the points."""
        if isinstance(self.init, str) and self.init == "pure":
            T = near_pure_start(signal, k=k, rng=rng)
        else:
            # its own parts may be below zero within the noise, and it goes on from those
            H0 = make_start(self.init, source, k, seen=seen, rng=rng, nonnegative=False)
            T = independent(H0 @ signal.basis.T, signal.rank)
        sizes = T @ signal.size
        return T * np.divide(signal.mean_size, sizes, out=np.ones_like(sizes), where=sizes > 0.0)[:, None]
