"""Mini-batches as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from partwise.algorithms.engine import Divergence, Pair
from partwise.algorithms.engine.squared import EntryWeightedError, SquaredError, count_of
from partwise.algorithms.loop import Progress, State
from partwise.algorithms.minibatch import DivergenceBound, Learner, QuadraticBound, minibatch
from partwise.algorithms.randomness import paired_batches
from partwise.estimators.base import Looped, generator, is_pair
from partwise.estimators.beta import BetaLoss
from partwise.estimators.observing import startable
from partwise.estimators.streaming import Streamed
from partwise.exceptions import InputError
from partwise.outcomes import CHANGE
from partwise.sources import Inspection, RowSource
from partwise.sources.observed import COMPLETE, Observed
from partwise.starts import make_start

HOLES = Observed(holes=True)
NEARLY, FEW = 1e-3, 50  # for divergences without exact weights: when those of a batch have settled, and steps for it


class MiniBatchNMF(Streamed, BetaLoss):
    """Mini-batches: exact weights for a few samples at a time, and components for all of them so far.

    Minimises what :class:`MU` does, ``D_beta(X | W H)`` (for 2: ``1/2 |X - W H|^2``) plus the penalties of
    :class:`HALS`, without ever holding the weights of all samples: each batch is remembered as sums of the size of
    the components [1]_ [2]_, which later batches outweigh. One pass over many samples is often enough, and a
    stream has no end.

    Parameters
    ----------
    init : {"pure", "nndsvd", "nndsvda", "nndsvdar", "random"}, array or estimator, default="random"
        Where to start: a name, components or a fitted estimator. In ``partial_fit`` names are for the first batch.
        "pure" is "nndsvda" where entries are unknown: filled samples are no parts.
    batch_size : int, default=1024
        Samples in a batch. Small ones make more of a first pass, large ones average more noise out.
    beta_loss : float or {"frobenius", "kullback-leibler", "itakura-saito"}, default="frobenius"
        The divergence; the names stand for 2, 1 and 0. For 0 and below the data must be positive.
    forget_factor : float, default=0.7
        What is left of the weight of a batch after another pass over the data; in ``partial_fit`` after another
        ``batch_size`` samples. 1 forgets nothing, for a stream that stays as it is; 0 remembers one batch alone.
        Beside that, the batches so far count for no more than a fifth of them would (a thirtieth, for
        divergences other than the squared error): the first ones were explained by a mere start.
    l1_W, l2_W, l1_H, l2_H : float, default=0
        Penalties; their meaning depends neither on the number of samples nor of features. Those of one factor alone
        are as in :class:`HALS` for the squared error of data without holes, and refused otherwise.
    max_iter : int, default=200
        Largest number of passes over the data.
    tol : float, default=1e-4
        Stop when a pass changes the components by no more than this, relative to their size.
    max_no_improvement : int, optional, default=10
        Stop when the smoothed cost of a sample has not fallen for so many batches; None: never.
    shuffle : bool, default=False
        Whether each pass takes the samples in a new random order, instead of the order in which they are.
    random_state : int, Generator or RandomState, optional
        Seed of the start and of the order.
    callbacks : list of callables
        Each is called with a ``Progress`` after every pass of ``fit`` and stops the run by returning true.

    Attributes
    ----------
    n_steps_ : int
        Batches learnt.
    n_samples_seen_ : int
        Samples given, in all passes.
    cost_ : float
        Loss and penalties of a sample, each with the components before it was learnt; smoothed over about a pass, or
        ``batch_size`` samples of a stream.
    reconstruction_error_ : float
        ``|X - W H| / |X|`` in the Frobenius norm with the weights of ``transform``.
    history_ : History
        One row a pass: time, the sum of the costs of its samples (``objective``), the relative change of the components
        (``residual``), samples and batches so far, and the error if a truth was given.
    n_iter_ : int
        Passes done, the last one perhaps in part.
    residual_ : float
        Relative change of the components in the last pass.

    Notes
    -----
    For divergences other than the squared error no entry of a component falls below 1e-8 of their mean: a word that is
    in no text of a batch may be in one of the next.

    ``sample_weight`` may be any numbers, in ``fit`` and ``partial_fit``; ``batch_size`` counts samples, forgetting
    counts weights.

    Parameters of scikit-learn's class of the same name that are not here: ``alpha_W``, ``alpha_H`` and ``l1_ratio``
    (``l1_W`` is ``alpha_W * l1_ratio``, ``l2_W`` is ``alpha_W * (1 - l1_ratio)``); ``fresh_restarts`` and what belongs
    to it (weights are always solved for, exactly for 2 and 1). There ``tol`` is held against a batch, here against a
    pass.

    References
    ----------
    .. [1] J. Mairal, F. Bach, J. Ponce, G. Sapiro, "Online learning for matrix factorization and sparse coding",
       JMLR 11, 2010.
    .. [2] A. Lefèvre, F. Bach, C. Févotte, "Online algorithms for nonnegative matrix factorization with the
       Itakura-Saito divergence", WASPAA 2011.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> rng = np.random.default_rng(0)
    >>> parts = rng.random((3, 20)) * (rng.random((3, 20)) < 0.5)
    >>> model = pw.MiniBatchNMF(3, batch_size=100, random_state=0)
    >>> for _ in range(30):
    ...     model = model.partial_fit(rng.gamma(0.5, size=(100, 3)) @ parts)
    >>> model.n_steps_, bool(pw.metrics.total_correlation_error(model.components_, parts) < 0.1)
    (30, True)
    """

    _weighable: ClassVar[bool] = False
    _keeps_weights: ClassVar[bool] = False
    _residual: ClassVar[str] = CHANGE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BetaLoss._parameter_constraints,
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "forget_factor": [Interval(Real, 0, 1, closed="both")],
        "max_no_improvement": [Interval(Integral, 1, None, closed="left"), None],
        "shuffle": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "random",
        batch_size: int = 1024,
        beta_loss: Any = "frobenius",
        forget_factor: float = 0.7,
        l1_W: float = 0.0,
        l2_W: float = 0.0,
        l1_H: float = 0.0,
        l2_H: float = 0.0,
        missing: str | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        max_no_improvement: int | None = 10,
        shuffle: bool = False,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        super().__init__(
            n_components,
            init=init,
            l1_W=l1_W,
            l2_W=l2_W,
            l1_H=l1_H,
            l2_H=l2_H,
            missing=missing,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            callbacks=callbacks,
        )
        self.batch_size = batch_size
        self.beta_loss = beta_loss
        self.forget_factor = forget_factor
        self.max_no_improvement = max_no_improvement
        self.shuffle = shuffle

    def fit(  # type: ignore[override]  # weights of features and entries are not for batches
        self, X: Any, y: Any = None, *, sample_weight: Any = None, truth: Any = None, state: State | None = None
    ) -> Self:
        """Find the components of ``X``; see :meth:`partial_fit` for what comes in batches of its own."""
        return Looped.fit(self, X, y, sample_weight=sample_weight, truth=truth, state=state)

    def fit_transform(  # type: ignore[override]
        self, X: Any, y: Any = None, *, sample_weight: Any = None, truth: Any = None, state: State | None = None
    ) -> Any:
        """Find the components of ``X`` and return its weights, which equal those of ``transform(X)``."""
        return Looped.fit_transform(self, X, y, sample_weight=sample_weight, truth=truth, state=state)

    def _begin(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Iterator[Progress]:
        if state is None:
            self._learner = self._started(source, k, seen, rng)
        else:
            self._learner = self._new_learner(k, source.shape[1], source.dtype, rng)
            self._learner.restore(state)
        iterations = minibatch(
            source,
            self._learner,
            batch_size=int(self.batch_size),
            left=float(self.forget_factor),
            patience=self.max_no_improvement,
            rng=rng if self.shuffle else None,
            samples=self._observed.samples,
            state=state,
        )
        return self._finite(iterations, str(source.dtype))

    def _started(self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator) -> Learner:
        learner = self._new_learner(k, source.shape[1], source.dtype, rng)
        H = make_start(
            self._init, startable(source, self._observed), k, seen=seen, rng=rng, filled=self._observed.holes
        )
        learner.H[:] = H.T
        return learner

    def _bound(self) -> Any:
        """How batches are remembered, by what is asked for; what cannot be is refused."""
        if self._named is not None:
            raise InputError("{parameter}: MiniBatchNMF has beta-divergences alone; use MU", parameter="beta_loss")
        if is_pair(self.init):
            raise InputError(
                "{parameter}: weights are nothing to start with here; give the components", parameter="init"
            )
        alone = Pair(self._on_W(), self._on_H(1.0), 1.0, 1.0).alone
        if alone and (self._beta != 2.0 or self.missing is not None):
            other = "H" if alone == "W" else "W"
            name = next(f"{net}_{alone}" for net in ("l1", "l2") if getattr(self, f"{net}_{alone}"))
            message = f"{{parameter}} needs a penalty of {other} too, which could take all of the size otherwise"
            raise InputError(message, parameter=name)
        observed = COMPLETE if self.missing is None else HOLES
        if self._beta == 2.0:
            loss = SquaredError(0.0) if self.missing is None else EntryWeightedError(0.0, observed)
            return QuadraticBound(loss)
        return DivergenceBound(Divergence(self._beta, observed))

    def _new_learner(self, k: int, n_features: int, dtype: Any, rng: np.random.Generator) -> Learner:
        bound = self._bound()
        H = np.zeros((k, n_features))
        return Learner(H, bound, self._weights_for, self._on_W(), self._on_H, dense=self.missing == "nan")

    def _weights_for(self, H: Any, dtype: Any) -> Any:
        """Weights of a batch for components on the way."""
        decode = self._decoder_of(H, dtype) if self.missing is None else self._incomplete_decoder_of(H, dtype, HOLES)
        return decode if self._beta in (1.0, 2.0) else partial(decode, tol=NEARLY, most=FEW)

    def _on_H(self, n_samples: float) -> Any:
        return self._on("H", n_samples)

    def _find(self, *given: Any) -> Any:
        H = super()._find(*given)
        self._publish()
        return H

    def _first(self, source: RowSource, k: int, seen: Inspection) -> Learner:
        return self._started(source, k, seen, generator(self.random_state))

    def _learn(self, source: RowSource, samples: Any = None) -> None:
        if self._bound() != self._learner.bound:
            message = "{parameter} or missing are not those of the batches so far, which it remembers: fit anew"
            raise InputError(message, parameter="beta_loss")
        self._learner.on_W = self._on_W()
        size = int(self.batch_size)
        for block, counts in paired_batches(source, min(size, source.shape[0]), None, samples):
            share = count_of(block, counts) / size
            if share:  # what does not count at all is not learnt
                self._learner.learn(block, float(self.forget_factor) ** share, share, counts)
        self._dtype = source.dtype

    def _publish(self) -> None:
        learner = self._learner
        self.n_steps_, self.n_samples_seen_, self.cost_ = learner.steps, learner.seen, float(learner.cost.mean)
        if hasattr(self, "_dtype"):
            self.components_ = learner.components(self.__dict__.pop("_dtype"))
