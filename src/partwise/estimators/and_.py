"""AND as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from partwise.algorithms.and_ import BatchState, batch_stages, gradient_stages
from partwise.algorithms.loop import Progress, State
from partwise.algorithms.schedule import Adaptive
from partwise.algorithms.signal import Signal, find_signal, nothing
from partwise.algorithms.thresholds import (
    DECAY,
    FIRST,
    ByTheorem,
    Falling,
    Listed,
    Thresholds,
    adaptive,
    start_quantities,
)
from partwise.estimators.base import generator
from partwise.estimators.monitoring import Monitored
from partwise.estimators.observing import Told, startable, that_count
from partwise.estimators.spanned import Floored
from partwise.exceptions import InputError
from partwise.metrics.conditions.start import RecoveryMeasures
from partwise.outcomes import CHANGE
from partwise.sources import Inspection, RowSource
from partwise.sources.observed import Observed
from partwise.starts import make_start, near_pure_start

STEPS = 50  # T of the paper's experiments (under noise 100)


class AND(Floored, Monitored):
    r"""Alternating non-negative gradient descent, as published: decode, threshold, gradient steps.

    Y. Li and Y. Liang's Algorithm 1 [1]_, and by default with the constants of their experiments. A stage with the
    components H decodes :math:`w = \varphi_\alpha(x H^+)` with the Moore-Penrose inverse, where
    :math:`\varphi_\alpha` sets weights below the threshold :math:`\alpha` to zero, and takes T gradient steps
    :math:`H \leftarrow H + \eta\, W^\top (X - W H)`; the threshold falls from stage to stage. From a start that is
    near, the true parts are recovered under strong correlations of the weights. Components may have negative entries
    if the data has; if not, one that is negative beyond the noise at the end is told, and fitted anew without
    (`signs`). :class:`Facets` is our faster form, which also sees noise.

    Parameters
    ----------
    init : {"pure", "nndsvd", "nndsvda", "random"}, array or fitted estimator, default="pure"
        Where to start. "pure": the means of near-pure samples, found among directions in the span of the data, so that
        neither noise nor the size of a sample decides. Thresholds are in the unit of the weights that a given start
        decodes.
    thresholds : float, "adaptive", "theorem" or sequence of float, default=0.1
        A number is the threshold of the first stage, from which it falls by `decay`; a sequence has one for every
        stage. "adaptive": relative to the largest weight, as low as the negative decoded weights (which can only be
        errors) allow. "theorem": by the rule after Theorem 4,
        :math:`\alpha = (\lambda \|E_0\|_2 / r)^{2/(q+1)}`; see `known`.
    decay : float, default=1.1
        Factor by which a threshold falls from stage to stage, and by which an adaptive one falls at least; 1 keeps it
        constant.
    steps : int or "exact", default=50
        Gradient steps of a stage, T (100 in the paper's experiments under noise); "exact" is the limit of many.
    step_size : float, default=1.0
        The paper's step eta times the largest eigenvalue of the weights' Gram matrix; must be below 2.
    eta : float, optional
        The paper's step eta itself, a constant, in place of `step_size`:
        :math:`H \leftarrow H + \eta\, \mathrm{mean}(w^\top (x - w H))`, the mean over the batch. With `batch_size` 1
        (or :meth:`partial_fit`, one sample a call), ``floor=0`` and ``tol=0`` this is Algorithm 1 line by line; its
        loops t = 0, ..., T are ``steps = T + 1``. It must be below 2 over the largest eigenvalue of ``E[w w']``.
    known : mapping, optional
        What Theorem 4's rule needs, with ``thresholds="theorem"``: "r", "lam" and "q" of the weights, and "truth", the
        true components, from which :math:`\|E_0\|_2` is. What is not given is estimated from the decoded weights.
    batch_size : int, optional
        Take every gradient step on a fresh, shuffled batch of this many samples instead of on all of them. Not with
        ``steps="exact"`` or ``thresholds="adaptive"``.
    floor : float, default=0.0
        Thresholds do not fall below this many standard deviations of the noise in the decoded weights, which is
        estimated from what lies outside the span of the components. 0 ignores the noise, as the published algorithm
        does, whose error rises again; 2 is a good value.
    signs : {"refit", "keep"}, default="refit"
        What becomes of components of data without negative entries that came out negative beyond the noise: they are
        fitted anew without, or kept, as the published algorithm does. Both are told.
    odd : {"aside", "keep"}, default="aside"
        What becomes of samples that are unlike all others, by which a direction or a feature of the data stands or
        falls: they are set aside and told, and no part is made of them, or they have their say, as in the published
        algorithm. Data without such samples gives the same bits. Not in :meth:`partial_fit`, which sees no others.
    max_iter : int, default=300
        Largest number of stages.
    tol : float, default=1e-10
        Stop when no component changes by more than this, relative to the largest.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, in the unit of the start (with adaptive thresholds, of such a size that the largest weight of each
        is about 1).
    noise_ : float
        Standard deviation of the noise in an entry of the data; NaN if there are as many components as features (or
        if the first batch of a stream was too small to tell).
    below_zero_ : ndarray of shape (n_components,)
        Of data without negative entries: the share of the squared size of each component that came out below zero, if
        that was more than noise makes so. The components were then fitted anew without negative entries, unless `signs`
        is "keep", and above 0.01 a warning tells; else zeros.
    constrained_cost_ : float
        By how much that raised the reconstruction error; 0 if there was nothing to do, NaN if they were kept.
    odd_samples_ : ndarray of int
        With ``odd="aside"``: the samples that were set aside.
    history_ : History
        One row a stage: time, objective (half the squared residual; of a batch on average), change of the components
        (``residual``), threshold, its floor, mean number of active weights; if a truth was given the error and the
        quantities of the proofs (:class:`partwise.metrics.RecoveryMeasures`); with `monitor` these between halves
        (``half_...``).
    residual_ : float
        Change of the components in the last stage.

    Notes
    -----
    ``sample_weight`` may be any numbers with thresholds that are numbers, without `monitor` and weighing: gradient
    steps are then sums over samples. Otherwise whole numbers, how often a sample is there.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong
       Correlations", ICML 2017, Algorithm 1.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_topics("dir", n_samples=500, n_features=200, n_components=10, random_state=0)
    >>> model = pw.AND(init=data.warm_start(0.05, random_state=0)).fit(data.X)
    >>> pw.metrics.total_correlation_error(model.components_, data.components) < 1e-8
    True
    """

    _allow_negative: ClassVar[bool] = True
    _follows_proof: ClassVar[bool] = True
    _residual: ClassVar[str] = CHANGE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Monitored._parameter_constraints,
        "thresholds": [StrOptions({"adaptive", "theorem"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "decay": [Interval(Real, 1, None, closed="left")],
        "steps": [StrOptions({"exact"}), Interval(Integral, 1, None, closed="left")],
        "step_size": [Interval(Real, 0, 2, closed="neither")],
        "eta": [Interval(Real, 0, None, closed="neither"), None],
        "known": [dict, None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "floor": [Interval(Real, 0, None, closed="left")],
        "signs": [StrOptions({"refit", "keep"})],
        "odd": [StrOptions({"aside", "keep"})],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "pure",
        thresholds: Any = FIRST,
        decay: float = DECAY,
        steps: int | str = STEPS,
        step_size: float = 1.0,
        eta: float | None = None,
        known: dict[str, Any] | None = None,
        batch_size: int | None = None,
        floor: float = 0.0,
        signs: str = "refit",
        odd: str = "aside",
        max_iter: int = 300,
        tol: float = 1e-10,
        monitor: bool = False,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.thresholds = thresholds
        self.decay = decay
        self.steps = steps
        self.step_size = step_size
        self.eta = eta
        self.known = known
        self.batch_size = batch_size
        self.floor = floor
        self.signs = signs
        self.odd = odd
        self.max_iter = max_iter
        self.tol = tol
        self.monitor = monitor
        self.random_state = random_state
        self.callbacks = callbacks

    def _refits_signs(self) -> bool:
        return self.signs == "refit"

    @property
    def _sets_aside(self) -> bool:  # type: ignore[override]
        return self.odd == "aside"

    @property
    def _sums_samples(self) -> bool:
        """Gradient steps are sums over samples; thresholds that look at all weights, and halves, see copies."""
        return not (isinstance(self.thresholds, str) or self.monitor or self.weighing is not None)

    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> AND:
        """Take one gradient step on a batch of samples: a stream is learnt batch by batch.

        Every ``steps`` calls begin a new stage with a new decoder and the next threshold. The first batch makes the
        start if ``init`` is a name, so it should be large; the noise is measured in it too, if it has more than
        ``2 n_components`` samples. The first call after a ``fit`` begins anew; to go on from what that found, give it
        as ``init`` to another estimator. ``objective_`` is half the squared residual of the batch before the step.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            A batch.
        y : ignored
            There for scikit-learn's interface.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample of the batch counts.

        Returns
        -------
        self
            The estimator.
        """
        self._validate_params()
        if self.monitor:
            raise InputError("{parameter}: a stream has no halves; give all samples to fit", parameter="monitor")
        if self.weighing is not None:
            raise InputError(
                "{parameter}: the noise of a stream is not known; give all samples to fit", parameter="weighing"
            )
        with self._all_or_nothing():
            return self._take_batch(X, Told(samples=sample_weight))

    def _take_batch(self, X: Any, told: Told) -> AND:
        first = not hasattr(self, "_online")
        if first:  # what an earlier fit found is not about this stream
            for name in [name for name in vars(self) if name.endswith("_")]:
                delattr(self, name)
        if not first:
            self._check_preparation()
        source, observed, seen = self._observe(self._open(X, reset=first), told)
        self._check_data(seen)
        source, samples = that_count(source, observed.samples)
        if first:
            given = not isinstance(self.init, str)
            # samples may come one by one if there is a start; the noise is measured in the first batch or not at all
            n, m = observed.counted(source.shape[0]), source.shape[1]
            k = self._check_n_components((m if given else n, m))
            rng = generator(self.random_state)
            how: dict[str, Any] = {"squared_norm": seen.squared_norm, "rng": rng, "samples": samples}
            signal = find_signal(source, k, **how)
            self.noise_ = signal.noise if n > 2 * k else np.nan
            if not given and self.init == "pure":
                if signal.rank < k:
                    raise InputError(
                        f"X: the first batch has numerical rank {signal.rank}, too low for n_components={k}; give a "
                        "larger first batch, or init",
                        parameter="X",
                    )
                H0 = near_pure_start(signal, k=k, rng=rng) @ signal.basis
            else:
                H0 = make_start(
                    self._init, startable(source, Observed(samples=samples)), k, seen=seen, rng=rng, nonnegative=False
                )
            self._online = self._batch_state(H0, self.noise_ * signal.colour)
            self.n_iter_ = 0
        else:
            self._online = deepcopy(self._online)  # the other is for a batch that fails
        if self._online.over:
            raise InputError("thresholds: the sequence has ended; no further stage is possible", parameter="thresholds")
        self._online.eta = self.eta  # a smaller one, should the last have been too large
        objective = [self._online.step(batch, samples) for batch in source.batches(source.shape[0])]
        if self._online.diverged:
            raise InputError(f"eta={self.eta!r}: the components are not finite; use a smaller one", parameter="eta")
        self.n_iter_ += 1
        self.components_ = self._online.H.astype(source.dtype)
        self.n_components_ = len(self.components_)
        self.objective_ = float(np.sum(objective))
        return self

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.known is not None and not (isinstance(self.thresholds, str) and self.thresholds == "theorem"):
            raise InputError(
                f'{{parameter}} is what thresholds="theorem" needs, and thresholds is {self.thresholds!r}',
                parameter="known",
            )

    def _thresholds(self) -> Thresholds:
        if isinstance(self.thresholds, Real):
            return Falling(float(self.thresholds), self.decay)
        try:
            given = np.asarray(self.thresholds, float)
        except (TypeError, ValueError):  # words, or rows of different lengths
            given = np.empty(0)
        if given.ndim != 1 or not len(given) or not np.all(given >= 0.0):
            raise InputError(
                f"thresholds must be a non-empty vector of numbers >= 0, got {self.thresholds!r}",
                parameter="thresholds",
            )
        return Listed(tuple(given.tolist()))

    def _schedule(self, source: RowSource, H0: Any) -> Thresholds | Adaptive | ByTheorem:
        if not isinstance(self.thresholds, str):
            return self._thresholds()
        if self.thresholds == "adaptive":
            return adaptive(self.decay)
        known = dict(self.known or {})
        truth = known.pop("truth", None)
        if unknown := known.keys() - {"r", "lam", "q"}:
            raise InputError(
                f"known has {', '.join(map(repr, sorted(unknown)))}: Theorem 4 has 'r', 'lam', 'q' and 'truth'.",
                parameter="known",
            )
        for name, value in known.items():
            if not (isinstance(value, Real) and float(value) >= 0.0) or (name == "r" and not value):
                least = "above" if name == "r" else "at least"
                raise InputError(f"known: {name}={value!r} must be {least} 0.", parameter="known")
        measures = None if truth is None else _measures_by(truth, H0)
        return ByTheorem(**(known if len(known) == 3 else start_quantities(source, H0) | known), truth=measures)

    def _batch_state(self, H0: Any, noise: float) -> BatchState:
        for name in ("thresholds", "steps"):
            if isinstance(value := getattr(self, name), str):
                raise InputError(
                    f"{name}={value!r} needs all the data at once; with batches give a number", parameter=name
                )
        noise = self.floor * float(np.nan_to_num(noise))
        return BatchState(H0, self._thresholds(), int(self.steps), self.step_size, noise, eta=self.eta)

    def _begin(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Iterator[Progress]:
        source, samples = that_count(source, self._observed.samples)
        signal = find_signal(source, k, squared_norm=seen.squared_norm, rng=rng, samples=samples)
        self.noise_, self.outside_, self.colour_ = signal.noise, signal.outside, signal.colour
        if not signal.rank:
            return nothing(k, source, state)
        H0 = self._start(source, signal, k, seen, rng)  # the same again behind a state
        if self.batch_size is not None:
            online = self._batch_state(H0, signal.noise * signal.colour)
            how: dict[str, Any] = {"rng": rng, "tol": self.tol, "samples": samples, "state": state}
            return batch_stages(source, online, batch_size=int(self.batch_size), **how)
        return gradient_stages(
            source,
            H0,
            thresholds=self._schedule(source, H0),
            steps=None if isinstance(self.steps, str) else int(self.steps),
            step_size=self.step_size,
            eta=self.eta,
            signal=signal,
            floor=self.floor,
            squared_norm=seen.squared_norm,
            tol=self.tol,
            state=state,
        )

    def _start(self, source: RowSource, signal: Signal, k: int, seen: Inspection, rng: np.random.Generator) -> Any:
        if isinstance(self.init, str) and self.init == "pure":
            H = near_pure_start(signal, k=k, rng=rng) @ signal.basis
            # zeros, which decode to nothing, in the place of those that the rank of the data does not allow
            return np.vstack([H, np.zeros((k - len(H), H.shape[1]))])
        rows = startable(source, Observed(samples=signal.samples))
        return make_start(self._init, rows, k, seen=seen, rng=rng, nonnegative=False)

    def _fit(self, X: Any, truth: Any = None, **how: Any) -> tuple[RowSource, Any]:
        result = super()._fit(X, truth, **how)
        self.__dict__.pop("_online", None)  # what a stream has learnt is lost only to a fit that succeeds
        return result


def _measures_by(truth: Any, H0: Any) -> RecoveryMeasures:
    """What tells the error of components, if this truth can."""
    try:
        measures = RecoveryMeasures(truth)
        if not np.isnan(measures(H0)["E_2"]):
            return measures
    except InputError as error:
        raise InputError(f"known: {error}", parameter="known") from error
    raise InputError(
        f"known: truth must have {len(H0)} components, linearly independent, as the start has.", parameter="known"
    )
