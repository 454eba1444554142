"""Purification as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from partwise.algorithms.decoding import NORMS, Decoder
from partwise.algorithms.loop import Progress, State
from partwise.algorithms.purification import Batched, Drawn, Fresh, purify
from partwise.algorithms.scaling import balanced, chosen_inverse, unit_weights
from partwise.algorithms.signal import find_signal
from partwise.estimators.monitoring import Monitored
from partwise.exceptions import InputError
from partwise.metrics import ProofMeasures
from partwise.outcomes import FIXED_POINT
from partwise.sources import GeneratedSource, Inspection, RowSource
from partwise.starts import make_start, near_pure_start


class Purification(Monitored):
    r"""Components of independent weights under large noise: decode with a ReLU, update by a covariance.

    Algorithm 1 of Li, Liang and Risteski [1]_. With the left inverse P of the components H that has the least infinity
    norm, every iteration is

    .. math::
        w &= \max(x P - \alpha, 0) \quad (2), \\
        H &\leftarrow (1 - \eta) H + r \eta\, \mathrm E[(w - w')(x - x')^\top],

    and the expectation over all pairs of samples is :math:`2\, \mathrm{Cov}(w, x)`. If the weights are independent
    and the start is near, it recovers the truth from samples with bounded adversarial noise (Theorems 1 and 6) and
    with larger unbiased noise (Theorems 2 and 7). Nothing is asked of the components but linear independence, and
    components and data may have negative entries. No function of the components falls.

    Parameters
    ----------
    init : {"pure", "nndsvd", "nndsvda", "random"}, array or fitted estimator, default="pure"
        Where to start: near the truth, as (A3) says, by default at pure records.
    rescale : bool, default=True
        Scale the components of the start first, so that their typical large weights are 1, which gives `threshold` a
        meaning. ``False``: the start is the paper's A(0) as it is given, for weights up to 1.
    threshold : float, default=0.3
        The paper's alpha, at least 0 and below 1: decoded weights below it are zero, the others lose it. Lower if most
        weights of a sample are active.
    step : float, default=0.5
        The paper's eta. Above ``2 (1 - alpha) / (2 - alpha)``, 0.82 for 0.3, the size of components swings up and up.
    scale : float, optional
        The paper's r. By default ``(1 - alpha) / (2 median Var(w_i))``, from the first decoding alone.
    inverse : {"auto", "least-inf", "pinv"}, default="auto"
        The left inverse: of least infinity norm, the published one, which amplifies adversarial noise least; or the
        pseudoinverse, which does so for unbiased noise that is independent from entry to entry. "auto" decodes the
        data by both at the start and takes the pseudoinverse if it makes clearly less of the noise, the median
        magnitude of a decoded weight: most weights are zero.
    relu : bool, default=True
        ``False`` decodes by ``w = x P``, which cannot tell components from their rotations (equation 4): the proof's
        counterexample, to compare with.
    balance : bool, default=False
        Scale the components first so that all ``E[w_i**2]`` are alike (Section 6, "More general proportions"), where
        some are much rarer than others.
    batch_size : int, optional
        Decode a fresh batch of this many samples in every iteration instead of all. A
        :class:`partwise.sources.GeneratedSource` gives fresh samples of its own.
    finish : {"and"} or None, default="and"
        What follows: on finitely many samples the components settle where the decoded weights are uncorrelated, which
        is off by the sampling error of the covariance. "and" goes on with exact steps: least squares, with an
        intercept, on the weights of the pseudoinverse that reach the threshold. ``None``: the published algorithm.
    max_iter : int, default=500
        Largest number of iterations, each a pass over the data; those of the finish count.
    tol : float, default=1e-5
        Stop when the fixed-point residual ``|2 r Cov(w, x) - H| / |H|`` is this small; with fresh samples, when it
        is no longer more than the sampling error of all that were averaged. 0: all `max_iter` iterations, each of the
        same step, as in Algorithm 1, and no finish.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, of such a size that their typical large weights are about 1 (`balance`: or above).
    scale_ : float
        The r that was used.
    threshold_ : float
        The alpha that was used.
    inverse_ : str
        The left inverse that was used.
    inverse_norm_ : float
        Infinity norm of the left inverse of the components: an entrywise error of the data is amplified by at most
        this factor in a weight. Infinite if they are linearly dependent.
    gap_ : float
        Relative duality gap of that inverse: none is shorter by more.
    balance_ : ndarray of shape (n_components,)
        What the components were multiplied by to balance them; ones without `balance`.
    history_ : History
        One row an iteration: time, fixed-point residual (``objective`` and ``residual``; in the finish, the change that
        the next exact step would make), threshold, step, scale, inverse_norm and gap (NaN in the finish); if a truth
        was given the error and the quantities of the proof (:class:`partwise.metrics.RecoveryMeasures` and
        :class:`partwise.metrics.ProofMeasures`, NaN in the finish); with `monitor` those of the first between halves
        (``half_...``).
    residual_ : float
        Fixed-point residual of the components; after the finish, what another exact step would change.

    References
    ----------
    .. [1] Y. Li, Y. Liang, A. Risteski, "Recovery guarantee of non-negative matrix factorization via alternating
       updates", NIPS 2016, Algorithm 1, Theorems 1, 2, 6 and 7.

    Examples
    --------
    >>> import partwise as pw
    >>> clean = pw.datasets.make_binary_mixtures(n_samples=2000, n_features=60, n_components=8, random_state=0)
    >>> data = pw.datasets.add_unbiased_noise(clean, 1e-3, random_state=0)
    >>> model = pw.Purification(8, init=data.warm_start(0.05, random_state=0)).fit(data.X)
    >>> pw.metrics.match_components(model.components_, data.components).errors.max() < 0.01
    np.True_
    >>> model.inverse_norm_ < 100, model.gap_ < 1e-12
    (True, True)
    """

    _allow_negative: ClassVar[bool] = True
    _follows_proof: ClassVar[bool] = True
    _residual: ClassVar[str] = FIXED_POINT
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Monitored._parameter_constraints,
        "threshold": [Interval(Real, 0, 1, closed="left")],
        "step": [Interval(Real, 0, 1, closed="right")],
        "scale": [Interval(Real, 0, None, closed="neither"), None],
        "rescale": ["boolean"],
        "inverse": [StrOptions({"auto", *NORMS})],
        "relu": ["boolean"],
        "balance": ["boolean"],
        "batch_size": [Interval(Integral, 2, None, closed="left"), None],
        "finish": [StrOptions({"and"}), None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "pure",
        rescale: bool = True,
        threshold: float = 0.3,
        step: float = 0.5,
        scale: float | None = None,
        inverse: str = "auto",
        relu: bool = True,
        balance: bool = False,
        batch_size: int | None = None,
        finish: str | None = "and",
        max_iter: int = 500,
        tol: float = 1e-5,
        monitor: bool = False,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.rescale = rescale
        self.threshold = threshold
        self.step = step
        self.scale = scale
        self.inverse = inverse
        self.relu = relu
        self.balance = balance
        self.batch_size = batch_size
        self.finish = finish
        self.max_iter = max_iter
        self.tol = tol
        self.monitor = monitor
        self.random_state = random_state
        self.callbacks = callbacks

    def _begin(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Iterator[Progress]:
        H, self.balance_ = np.empty((0, source.shape[1])), np.ones(k)
        self.inverse_ = self.inverse
        if state is None or self.balance or self.inverse == "auto":
            H = np.asarray(self._start(source, k, seen, rng), np.float64)
            if self.inverse == "auto":
                self.inverse_ = chosen_inverse(source, H)
            if self.rescale:
                H, _ = unit_weights(source, H, inverse=self.inverse_)
        if self.balance:
            H, self.balance_ = balanced(source, H, threshold=self.threshold, inverse=self.inverse_)
        return purify(
            source,
            H,
            finish=self.finish is not None,
            threshold=float(self.threshold),
            step=float(self.step),
            scale=None if self.scale is None else float(self.scale),
            inverse=self.inverse_,
            relu=self.relu,
            fresh=self._fresh(source, rng, state),
            tol=self.tol,
            endless=self.tol == 0.0,
            state=state,
        )

    def _start(self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator) -> Any:
        if isinstance(self.init, str) and self.init == "pure":
            signal = find_signal(source, k, squared_norm=seen.squared_norm, rng=rng)
            if signal.rank == k:
                return near_pure_start(signal, k=k, rng=rng) @ signal.basis
        return make_start(self._init, source, k, seen=seen, rng=rng, nonnegative=False)

    def _fresh(self, source: RowSource, rng: np.random.Generator, state: State | None) -> Fresh | None:
        """The samples of every iteration; None if always the same."""
        if isinstance(source, GeneratedSource):
            if self.batch_size is not None:
                raise InputError(
                    "batch_size: a GeneratedSource has its own number of samples for every iteration",
                    parameter="batch_size",
                )
            return Drawn(source, rng, state)
        return None if self.batch_size is None else Batched(source, int(self.batch_size), rng, state)

    def _measures(self, truth: Any) -> Callable[[Progress], dict[str, float]]:
        return partial(_measured, basic=super()._measures(truth), proof=ProofMeasures(truth))

    def _fit(self, X: Any, truth: Any = None, **how: Any) -> tuple[RowSource, Any]:
        fitted = super()._fit(X, truth, **how)
        used = self.history_["scale"][~np.isnan(self.history_["scale"])]
        self.scale_ = float(used[-1]) if len(used) else np.nan
        self.threshold_ = float(self.threshold)
        try:
            decoder = Decoder.of(np.asarray(self._weighed_parts, np.float64), self.threshold_, self.inverse_)
            self.inverse_norm_, self.gap_ = decoder.norm, decoder.gap
        except InputError:  # the components have become linearly dependent
            self.inverse_norm_, self.gap_ = np.inf, np.nan
        return fitted


def _measured(
    progress: Progress, basic: Callable[[Progress], dict[str, float]], proof: ProofMeasures
) -> dict[str, float]:
    row, details, kept = basic(progress), progress.details, progress.state
    if "scale" not in details:  # exact steps have no update of this kind
        return row | dict.fromkeys(proof.names, np.nan)
    scale, step = details["scale"], details["step"]
    update = (np.asarray(kept["target"]) + np.asarray(kept["H"])) / scale
    return row | proof(kept["H"], update, scale=scale, step=step, threshold=details["threshold"])
