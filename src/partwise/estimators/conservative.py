"""Conservative online learning as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from partwise.algorithms.conservative import Decay, Learner, Rule, conservative
from partwise.algorithms.loop import Progress, State
from partwise.estimators.base import Looped, generator
from partwise.estimators.streaming import Streamed
from partwise.outcomes import AVERAGE_ERROR
from partwise.sources import Inspection, RowSource, blocks, inspect
from partwise.sources.protocol import Block

ENDLESS = np.iinfo(np.int64).max  # batches


class ConservativeNMF(Streamed):
    """Conservative online learning: one sample at a time, each by the smallest change that recovers it.

    V. Elser's algorithm [1]_. An encoder E and a decoder D are changed as little as possible, in the sense of
    ``|dE|^2 + |dD|^2 / w``, so that a sample x of unit length has a non-negative code ``y = E x`` and is recovered,
    ``x = D y``. The columns of D are the parts, the rows of E what detects them. Memory does not grow with the data.

    Parameters
    ----------
    w : float or tuple, default=1.0
        How freely the decoder changes, relative to the encoder: about 1 for exact mixtures, small (1e-5 to 1e-3) for
        data that no few parts explain exactly. ``(first, after)`` or ``(first, after, power)`` is a schedule, ``first /
        (1 + t / after) ** power`` for sample t.
    relaxation : float or tuple, default=1.0
        Share of each change that is made, at most 1, or a schedule. 1 is the published rule. A share that falls, such
        as ``(1, 5000)``, averages the noise out, and the parts settle.
    cg_steps : int, default=1
        Conjugate gradient iterations in which the change is computed. 1 is the published rule; 5 recover exact mixtures
        from a fraction of the samples, and are for those only.
    nonnegative : bool, default=True
        Set negative entries of the decoder to zero after each sample, step 11 of the rule. Without it the
        error falls faster, but usually to a larger cone than that of the true parts.
    printed_order : bool, default=False
        Compute step 9, the multiplier of the code, from the decoder that step 8 has just changed, as the printed
        summary of the rule can be read, and not from the one before, as its equation (6) has it. A code's change then
        also has ``w |eta|^2 y``, which is never negative, and learning does not settle.
    decoder : {"nnls", "encoder"}, default="nnls"
        Where the weights in ``transform`` come from: exact non-negative least squares with ``components_``, or the
        learnt encoder, ``max(0, E x)``, which is one small product.
    max_passes : int, default=10
        Passes over the data in ``fit``.
    shuffle : bool, default=False
        Whether each pass takes the samples in a new random order, instead of the order in which they are.
    batch_size : int, default=10000
        Errors are averaged over so many samples for ``history_``; learning does not depend on it.
    tol : float, default=0
        Stop when the average error of a batch is at most this.
    random_state : int, Generator or RandomState, optional
        Seed of the encoder's start and of the order.
    callbacks : list of callables
        Each is called with a ``Progress`` after every batch of ``fit`` and stops the run by returning true.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The features: the columns of the decoder, for samples of unit length.
    detectors_ : ndarray of shape (n_components, n_features)
        The rows of the encoder.
    error_ : float
        Average error ``|x - D y|`` of the last batch, complete or not, each sample of unit length and not yet learnt.
    n_samples_seen_ : int
        Samples given, in all passes.
    n_skipped_ : int
        Those of them that were passed over because they are zero.
    reconstruction_error_ : float
        ``|X - W H| / |X|`` with the weights of ``transform``.
    history_ : History
        One row a batch: time, average error (``objective``), samples so far, and the error of the components if a
        truth was given.
    n_iter_ : int
        Batches learnt.
    converged_ : bool
        Whether the error came down to ``tol``.

    References
    ----------
    .. [1] V. Elser, "Online Non-negative Matrix Factorization", "Summary of the conservative update rule".

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_topics("dir", n_samples=1000, n_features=60, n_components=5, random_state=0)
    >>> model = pw.ConservativeNMF(5, max_passes=30, random_state=0).fit(data.X)
    >>> pw.metrics.total_correlation_error(model.components_, data.components) < 1e-8
    True
    """

    _weighable: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Looped._parameter_constraints,
        "w": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "relaxation": [Interval(Real, 0, 1, closed="right"), "array-like"],
        "cg_steps": [Interval(Integral, 1, None, closed="left")],
        "nonnegative": ["boolean"],
        "printed_order": ["boolean"],
        "decoder": [StrOptions({"nnls", "encoder"})],
        "max_passes": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    _residual: ClassVar[str] = AVERAGE_ERROR

    def __init__(
        self,
        n_components: int | None = None,
        *,
        w: Any = 1.0,
        relaxation: Any = 1.0,
        cg_steps: int = 1,
        nonnegative: bool = True,
        printed_order: bool = False,
        decoder: str = "nnls",
        max_passes: int = 10,
        shuffle: bool = False,
        batch_size: int = 10000,
        tol: float = 0.0,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.w = w
        self.relaxation = relaxation
        self.cg_steps = cg_steps
        self.nonnegative = nonnegative
        self.printed_order = printed_order
        self.decoder = decoder
        self.max_passes = max_passes
        self.shuffle = shuffle
        self.batch_size = batch_size
        self.tol = tol
        self.random_state = random_state
        self.callbacks = callbacks

    def encode(self, X: Any) -> Any:
        """Codes of ``X`` by the learnt encoder, ``max(0, E x)``: fast, not exact.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_components)
            Non-negative codes.
        """
        check_is_fitted(self)
        source = self._open(X, reset=False)
        self._check_data(inspect(source), squares=False)
        return source.deliver(source.map_rows(self._encoder(source.dtype), width=len(self.components_)))

    def _limits(self) -> tuple[int, float]:
        return ENDLESS, -1.0  # the passes are counted, and the error of a batch is looked at, by the algorithm

    def _begin(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Iterator[Progress]:
        self._learner = self._new_learner(k, source.shape[1], source.dtype, rng)
        order = rng if self.shuffle else None
        return conservative(source, self._learner, passes=self.max_passes, tol=self.tol, rng=order, state=state)

    def _find(self, *given: Any) -> npt.NDArray[Any]:
        super()._find(*given)
        self.error_ = float(self.history_["objective"][-1])
        self._publish()  # after Ctrl-C a little more than the last batch
        return self.components_

    def _new_learner(self, k: int, n_features: int, dtype: Any, rng: np.random.Generator) -> Learner:
        return Learner.random(k, n_features, dtype, rng, self._rule(), batch_size=int(self.batch_size))

    def _rule(self) -> Rule:
        share = Decay.of(self.relaxation, "relaxation", largest=1.0)
        switches = bool(self.nonnegative), bool(self.printed_order)
        return Rule(Decay.of(self.w, "w"), share, int(self.cg_steps), *switches)

    def _first(self, source: RowSource, k: int, seen: Inspection) -> Learner:
        return self._new_learner(k, source.shape[1], source.dtype, generator(self.random_state))

    def _learn(self, source: RowSource, samples: Any = None) -> None:
        self._learner.rule = self._rule()
        for block in source.batches(1024):
            for error in self._learner.feed(block):
                self.n_iter_, self.error_ = self.n_iter_ + 1, error

    def _publish(self) -> None:
        learner = self._learner
        self.components_, self.detectors_ = learner.features, learner.detectors
        self.n_samples_seen_, self.n_skipped_ = learner.seen, learner.skipped
        if learner.seen % learner.batch_size or not hasattr(self, "error_"):
            self.error_ = learner.error

    def _decoder(self, dtype: Any) -> Any:
        return self._encoder(dtype) if self.decoder == "encoder" else super()._decoder(dtype)

    def _encoder(self, dtype: Any) -> Any:
        return partial(_encode_block, Et=np.ascontiguousarray(self.detectors_.T, dtype))


def _encode_block(block: Block, Et: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.maximum(blocks.dot(block, Et), 0.0)
