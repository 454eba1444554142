"""AND as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr
from sklearn.utils._param_validation import Interval, StrOptions

from partwise.algorithms.and_ import recover
from partwise.algorithms.gradient import (
    ADAPTIVE,
    PAPER_STEPS,
    BatchState,
    FallingThresholds,
    batch_stages,
    gradient_stages,
    paper_thresholds,
)
from partwise.algorithms.hals import hals, suggested_sweeps
from partwise.algorithms.loop import Ending, Progress, Stages, State
from partwise.algorithms.signal import Signal, find_signal
from partwise.estimators.base import Iterative, generator
from partwise.exceptions import DegenerateDataWarning, InputError
from partwise.outcomes import CHANGE, KKT, Stop
from partwise.sources import Inspection, RowSource, inspect
from partwise.sources.passes import single_blas_thread
from partwise.starts import make_start, near_pure_start

FINISH_TOL = 1e-6  # KKT residual of the finish with non-negative components
SIGNED = 0.25  # components with this share of their squared size in negative entries are signed


class AND(Iterative):
    """Alternating non-negative gradient descent: recovers the true parts under strong correlations and noise.

    Y. Li and Y. Liang's algorithm [1]_ and our faster form of it.
    Stages of three steps: decode the weights with the Moore-Penrose inverse of the components, set those below a
    threshold to zero, update; the threshold falls from stage to stage. Nothing asks for components without negative
    entries, and nothing makes them so.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the smaller of the numbers of samples and features, which is the default.
    init : {"pure", "nndsvd", "nndsvda", "random"}, array or fitted estimator, default="pure"
        Where to start. "pure": the means of near-pure samples, found among directions in the span of the data, so that
        neither noise nor the size of a sample decides.
    thresholds : "adaptive", "paper", float or sequence of float, default="adaptive"
        "adaptive": relative to the largest weight, as low as the negative decoded weights (which can only be errors)
        allow. "paper": ``0.1 / decay**j`` in stage j. A number is a constant threshold; a sequence has one for every
        stage.
    decay : float, default=1.1
        Factor by which the paper's thresholds fall.
    steps : int, "exact", "facets" or "auto", default="auto"
        What a stage does with the decoded weights. An integer T takes T gradient steps on the components, as in the
        paper (50 there, 100 under noise); "exact" is the limit of many. "facets" fits the decoder instead: exact
        for samples that lack a part, and far fewer stages. "auto": "facets" with adaptive thresholds, else 50.
    step_size : float, default=1.0
        The paper's step eta times the largest eigenvalue of the weights' Gram matrix; must be below 2.
    batch_size : int, optional
        Take every gradient step on a fresh, shuffled batch of this many samples instead of on all of them. Not with
        ``steps="facets"`` or ``"exact"``.
    floor : float, default=2.0
        Thresholds do not fall below this many standard deviations of the noise in the decoded weights, which is
        estimated from what lies outside the span of the components; 0 ignores the noise, as the published algorithm
        does, whose error rises again.
    nonnegative : bool, default=False
        Use that the components have no negative entries: finish with :class:`HALS` from what AND found. Helps where
        components have many zeros and weights few.
    max_iter : int, default=300
        Largest number of stages (and of iterations of the finish).
    tol : float, default=1e-10
        Stop when no component changes by more than this, relative to its size.
    random_state : int, Generator or RandomState, optional
        Seed.
    callbacks : list of callables
        Each is called with a ``Progress`` after every stage and stops the run by returning true.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, each as large as the mean sample (as given by the start where thresholds are not adaptive).
    noise_ : float
        Standard deviation of the noise in an entry of the data; NaN if there are as many components as features (or
        if the first batch of a stream was too small to tell).
    weight_noise_ : ndarray of shape (n_components,)
        What that makes in the decoded weights of each component.
    threshold_floor_ : ndarray of shape (n_components,)
        ``floor`` times ``weight_noise_``: smaller weights cannot be told from none.
    outside_ : float
        Norm of the data outside the span of its leading singular vectors, relative to the norm of the data.
    reconstruction_error_ : float
        ``|X - W H| / |X|`` with the exact non-negative weights of the final components.
    history_ : History
        One row a stage: time, objective (half the sum of the squares of the weights below their thresholds, which a
        stage makes least; with published thresholds, in batches and in the finish of `nonnegative` half the squared
        residual), change of the components (``residual``), threshold, its floor, mean number of active weights; if a
        truth was given the error and the quantities of the proofs (:class:`partwise.metrics.RecoveryMeasures`).
    n_iter_ : int
        Stages done.
    converged_ : bool
        Whether it stopped by itself.
    stop_reason_ : str
        Why it stopped.
    stop_ : Stop
        The same as a value.
    residual_ : float
        Change of the components in the last stage; after the finish of ``nonnegative`` its KKT residual.
    n_components_ : int
        Number of components.
    n_features_in_ : int
        Number of features.

    References
    ----------
    .. [1] Y. Li, Y. Liang, "Provable Alternating Gradient Descent for Non-negative Matrix Factorization with Strong
       Correlations", ICML 2017, Algorithm 1.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_topics("dir", n_samples=500, n_features=200, n_components=10, random_state=0)
    >>> model = pw.AND(10).fit(data.X)
    >>> pw.metrics.total_correlation_error(model.components_, data.components) < 1e-8
    True
    """

    _allow_negative: ClassVar[bool] = True
    _follows_proof: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Iterative._parameter_constraints,
        "thresholds": [StrOptions({"adaptive", "paper"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "decay": [Interval(Real, 1, None, closed="neither")],
        "steps": [StrOptions({"auto", "facets", "exact"}), Interval(Integral, 1, None, closed="left")],
        "step_size": [Interval(Real, 0, 2, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "floor": [Interval(Real, 0, None, closed="left")],
        "nonnegative": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "pure",
        thresholds: Any = "adaptive",
        decay: float = 1.1,
        steps: int | str = "auto",
        step_size: float = 1.0,
        batch_size: int | None = None,
        floor: float = 2.0,
        nonnegative: bool = False,
        max_iter: int = 300,
        tol: float = 1e-10,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.thresholds = thresholds
        self.decay = decay
        self.steps = steps
        self.step_size = step_size
        self.batch_size = batch_size
        self.floor = floor
        self.nonnegative = nonnegative
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callbacks = callbacks

    def partial_fit(self, X: Any, y: Any = None) -> AND:
        """Take one gradient step on a batch of samples: a stream is learnt batch by batch.

        Every ``steps`` calls (50 by default) begin a new stage with a new decoder and the next threshold; adaptive
        thresholds are the paper's here. The first batch makes the start if ``init`` is a name, so it should be large;
        the noise is measured in it too, if it has more than ``2 n_components`` samples. The first call after a ``fit``
        begins anew; to go on from what that found, give it as ``init`` to another estimator. ``objective_`` is half
        the squared residual of the batch before the step.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            A batch.
        y : ignored
            There for scikit-learn's interface.

        Returns
        -------
        self
            The estimator.
        """
        self._validate_params()
        with self._all_or_nothing():
            return self._take_batch(X)

    def _take_batch(self, X: Any) -> AND:
        first = not hasattr(self, "_online")
        if first:  # what an earlier fit found is not about this stream
            for name in [name for name in vars(self) if name.endswith("_")]:
                delattr(self, name)
        source = self._open(X, reset=first)
        seen = inspect(source)
        self._check_data(seen)
        if first:
            given = not isinstance(self.init, str)
            # samples may come one by one if there is a start; the noise is measured in the first batch or not at all
            k = self._check_n_components((source.shape[1] if given else source.shape[0], source.shape[1]))
            rng = generator(self.random_state)
            signal = find_signal(source, min(k, *source.shape), squared_norm=seen.squared_norm, rng=rng)
            self.noise_ = signal.noise if source.shape[0] > 2 * k else np.nan
            if not given and self.init == "pure":
                if signal.rank < k:
                    raise InputError(
                        f"X: the first batch has numerical rank {signal.rank}, too low for n_components={k}; give a "
                        "larger first batch, or init"
                    )
                H0 = near_pure_start(signal, k=k, rng=rng) @ signal.basis
            else:
                H0 = make_start(self.init, source, k, seen=seen, rng=rng, nonnegative=False)
            thresholds = self._thresholds()
            self._online = BatchState(
                H0, thresholds, self._gradient_steps(), self.step_size, self.floor * float(np.nan_to_num(self.noise_))
            )
            self.n_iter_ = 0
        try:
            objective = [self._online.step(batch) for batch in source.batches(source.shape[0])]
        except StopIteration:
            raise InputError("thresholds: the sequence has ended; no further stage is possible") from None
        self.n_iter_ += 1
        self.components_ = self._online.H.astype(source.dtype)
        self.n_components_ = len(self.components_)
        self.objective_ = float(np.sum(objective))
        return self

    @property
    def _residual(self) -> str:  # type: ignore[override]
        return KKT if self.nonnegative else CHANGE

    def _thresholds(self) -> Iterator[float]:
        if isinstance(self.thresholds, str):
            return paper_thresholds(self.decay)
        if isinstance(self.thresholds, Real):
            return FallingThresholds(float(self.thresholds), 1.0)
        try:
            given = np.asarray(self.thresholds, float)
        except (TypeError, ValueError):  # words, or rows of different lengths
            given = np.empty(0)
        if given.ndim != 1 or not len(given) or not np.all(given >= 0.0):
            raise InputError(f"thresholds must be a non-empty vector of numbers >= 0, got {self.thresholds!r}")
        return iter(given.tolist())

    def _gradient_steps(self) -> int:
        if self.steps == "auto":
            return PAPER_STEPS
        if isinstance(self.steps, str):
            raise InputError(
                f"steps={self.steps!r} needs all the data at once; with batches give a number of steps, such as 50"
            )
        return int(self.steps)

    def _uses_facets(self) -> bool:
        adaptive = self._adaptive()
        if self.steps == "facets" and not adaptive:
            raise InputError(
                f"steps='facets' finds its own thresholds; use thresholds='adaptive', not {self.thresholds!r}"
            )
        return adaptive and self.steps in ("facets", "auto")

    def _adaptive(self) -> bool:
        return isinstance(self.thresholds, str) and self.thresholds == "adaptive"

    def _begin(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Stages:
        signal = find_signal(source, k, squared_norm=seen.squared_norm, rng=rng)
        self.noise_, self.outside_ = signal.noise, signal.outside
        if not signal.rank:
            yield Progress(np.zeros((k, source.shape[1]), source.dtype), 0.0)
            return Stop("settled", cause="zero")
        stages = self._batches if self.batch_size is not None else self._facets if self._uses_facets() else self._paper
        ending = Ending(stages(source, signal, k, seen, rng))
        H: Any = None
        for progress in ending:
            H = progress.components
            # zero components in the place of those that the rank of the data does not allow
            H = np.vstack([H, np.zeros((k - len(H), H.shape[1]))]).astype(source.dtype, copy=False)
            yield replace(progress, components=H)
        if self.nonnegative:
            _check_signs(H)
            sweeps = suggested_sweeps(seen.nonzero / max(1, source.shape[0]), source.shape[1], k)
            polish = hals(source, np.maximum(H, 0.0), squared_norm=seen.squared_norm, sweeps=sweeps, tol=FINISH_TOL)
            next(polish)  # its start is where the stages ended
            for progress in polish:
                yield replace(progress, certified=False)
                if progress.certified and progress.residual <= FINISH_TOL:
                    return Stop("converged", progress.residual, FINISH_TOL, measure=KKT, before=ending.stop)
        return ending.stop

    def _facets(self, source: RowSource, signal: Signal, k: int, seen: Inspection, rng: np.random.Generator) -> Stages:
        pure = isinstance(self.init, str) and self.init == "pure"
        if pure:
            T = near_pure_start(signal, k=k, rng=rng)
        else:
            H0 = make_start(self.init, source, k, seen=seen, rng=rng, nonnegative=False)
            T = _independent(H0 @ signal.basis.T, signal.rank)
        return recover(source, signal, T, records=pure, floor=self.floor, tol=self.tol)

    def _paper(self, source: RowSource, signal: Signal, k: int, seen: Inspection, rng: np.random.Generator) -> Stages:
        return gradient_stages(
            source,
            self._start(source, signal, k, seen, rng),
            thresholds=ADAPTIVE if self._adaptive() else self._thresholds(),
            steps=None if self.steps == "exact" else self._gradient_steps(),
            step_size=self.step_size,
            signal=signal,
            floor=self.floor,
            squared_norm=seen.squared_norm,
            tol=self.tol,
        )

    def _batches(self, source: RowSource, signal: Signal, k: int, seen: Inspection, rng: np.random.Generator) -> Stages:
        H0 = self._start(source, signal, k, seen, rng)
        noise = self.floor * float(np.nan_to_num(signal.noise))
        state = BatchState(H0, self._thresholds(), self._gradient_steps(), self.step_size, noise)
        return batch_stages(source, state, batch_size=int(self.batch_size or 1), rng=rng, tol=self.tol)

    def _start(self, source: RowSource, signal: Signal, k: int, seen: Inspection, rng: np.random.Generator) -> Any:
        if isinstance(self.init, str) and self.init == "pure":
            return near_pure_start(signal, k=k, rng=rng) @ signal.basis
        return make_start(self.init, source, k, seen=seen, rng=rng, nonnegative=False)

    @single_blas_thread()
    def _fit(self, X: Any, truth: Any = None, **how: Any) -> tuple[RowSource, Any]:
        result = super()._fit(X, truth, **how)
        self.__dict__.pop("_online", None)  # what a stream has learnt is lost only to a fit that succeeds
        used = np.linalg.norm(self.components_, axis=1) > 0.0
        self.weight_noise_ = np.zeros(len(self.components_))
        if used.any() and hasattr(self, "noise_"):
            H = self.components_[used]
            # the lengths of the columns of the pseudo-inverse
            self.weight_noise_[used] = self.noise_ * np.sqrt(np.diag(np.linalg.pinv(H @ H.T)))
        self.threshold_floor_ = self.floor * self.weight_noise_
        return result


def _check_signs(H: Any) -> None:
    """Tell if much is lost by setting negative entries to zero."""
    share = float((np.minimum(H, 0.0) ** 2).sum() / max((H**2).sum(), np.finfo(float).tiny))
    if share > SIGNED:
        warnings.warn(
            f"nonnegative=True sets negative entries of the components to zero, {share:.0%} of their squared size: if "
            "the true parts are signed, leave it out",
            DegenerateDataWarning,
            stacklevel=4,
        )


def _independent(T: Any, rank: int) -> Any:
    """As many rows as the signal has dimensions, all independent; they are what AND inverts."""
    triangle, order = qr(T.T, mode="r", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    usable = int((pivots > 1e-10 * pivots.max(initial=0.0)).sum())
    if usable < rank:
        lost = ", ".join(map(str, sorted(order[usable:].tolist())[:10]))
        raise InputError(
            f"init: inside the span of the data, component(s) {lost} depend linearly on the others; "
            "AND needs independent components to start from"
        )
    return T[np.sort(order[:rank])]
