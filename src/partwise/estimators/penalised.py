"""What HALS, ANLS, MU and Likelihood share: penalties, holes and weights of the data, exact weights for these."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from partwise.algorithms.engine import PENALTIES, Divergence, ElasticNet, Factor, Pair
from partwise.algorithms.loop import State
from partwise.estimators.base import Iterative, is_pair, weights_of
from partwise.estimators.emptying import emptying_factor
from partwise.estimators.imputing import Imputing
from partwise.estimators.observing import MISSING, NOTHING, Told, check_alone, observe, startable, unknown_columns
from partwise.exceptions import InputError
from partwise.linalg.incomplete import Parts, decode_incomplete
from partwise.linalg.nnls import Gram, check_components, decode_block
from partwise.linalg.poisson import Components
from partwise.linalg.poisson import decode_block as decode_counts
from partwise.outcomes import Stop
from partwise.sources import Inspection, RowSource, blocks
from partwise.sources.observed import Observed
from partwise.sources.protocol import Block
from partwise.starts.making import check_nonnegative

Array = npt.NDArray[Any]

_PENALTIES = {name: [Interval(Real, 0, None, closed="left")] for name in ("l1_W", "l2_W", "l1_H", "l2_H")}
SPECTRAL = ("nndsvd", "nndsvda", "nndsvdar")  # starts of as many parts as there are singular vectors


class Penalised(Imputing, Iterative):
    """Elastic-net penalties on both factors, data with holes, and weights; sizes of penalties are put in here, once.

    Parameters
    ----------
    n_components : int, optional
        Number of components, by default the smaller of the numbers of samples and features.
    init : {"pure", "nndsvd", "nndsvda", "nndsvdar", "random"}, array, pair of arrays or estimator, default="pure"
        Where to start: a name, components, a fitted estimator, or weights and components ``(W, H)``.
        "pure" is "nndsvda" where entries are unknown: filled samples are no parts.
    l1_W, l2_W, l1_H, l2_H : float, default=0
        Penalties; their meaning depends neither on the number of samples nor of features. A penalty of one factor alone
        is for components of the other one whose entries have a root mean square of one (Hoyer 2002): without a size
        the other could take all of it, and the penalty would vanish.
    missing : {"nan", "zeros"}, optional
        What stands for an entry that is not known: NaN, or zero (in sparse data what is not stored; a zero that is
        stored is known). By default every entry is known, and NaN is refused.
    max_iter : int, default=1000
        Largest number of iterations, each a pass over the data.
    tol : float, default=1e-5
        Stop when the residual of the optimality conditions of both factors, relative to the data, is this
        small.

    Attributes
    ----------
    history_ : History
        One row an iteration: time, objective, KKT residual, and the error if a truth was given.
    converged_ : bool
        Whether the optimality conditions hold to ``tol``.
    residual_, kkt_ : float
        Residual of the optimality conditions in the last iteration.
    """

    _keeps_weights = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Iterative._parameter_constraints,
        **_PENALTIES,
        "missing": [StrOptions(set(MISSING)), None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "pure",
        l1_W: float = 0.0,
        l2_W: float = 0.0,
        l1_H: float = 0.0,
        l2_H: float = 0.0,
        missing: str | None = None,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.l1_W = l1_W
        self.l2_W = l2_W
        self.l1_H = l1_H
        self.l2_H = l2_H
        self.missing = missing
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callbacks = callbacks

    @property
    def kkt_(self) -> float:
        """Residual of the optimality conditions of both factors, relative to the data."""
        return float(self.residual_)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        mask: Any = None,
        feature_weight: Any = None,
        entry_weight: Any = None,
        truth: Any = None,
        state: State | None = None,
    ) -> Self:
        """Find the components of ``X``.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts: one of weight two is as if it were there twice.
        mask : array-like, sparse matrix, path or source of shape (n_samples, n_features), optional
            True, or not zero, where an entry is known; a sparse one has what it stores.
        feature_weight : array-like of shape (n_features,), optional
            How often each feature counts, in ``transform`` too.
        entry_weight : array-like, sparse matrix, path or source of shape (n_samples, n_features), optional
            How much each entry counts, such as one over its variance; zero is unknown.
        """
        self._fit_whole(X, truth, state=state, told=Told(mask, sample_weight, feature_weight, entry_weight))
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        W: Any = None,
        sample_weight: Any = None,
        mask: Any = None,
        feature_weight: Any = None,
        entry_weight: Any = None,
        truth: Any = None,
        state: State | None = None,
    ) -> Any:
        """Find the components of ``X`` and return its weights, which equal those of ``transform(X)``.

        Parameters
        ----------
        W : array-like of shape (n_samples, n_components), optional
            Weights to start with, beside components as `init`; the same as ``init=(W, H)``.
        mask, feature_weight, entry_weight : array-like, optional
            As in ``fit``.
        """
        told, init = Told(mask, sample_weight, feature_weight, entry_weight), self.init
        if W is not None:
            start = weights_of(W), getattr(init, "components_", init)
            if is_pair(init) or getattr(self, "init_weights", None) is not None or not is_pair(start):
                raise InputError(
                    "{parameter} must be a matrix, one half of a start; the other is init, which must be components",
                    parameter="W",
                )
            check_nonnegative(check_components(start[0], start[0].shape[1], name="W"), "W")
            self.init = start
        try:
            return self._fit_decoded(X, truth, state=state, told=told)
        finally:
            self.init = init

    def transform(self, X: Any, *, mask: Any = None, entry_weight: Any = None) -> Any:
        """Weights of ``X`` for the components found, each sample exact and by itself.

        Parameters
        ----------
        mask, entry_weight : array-like, optional
            As in ``fit``; unknown entries are left out.
        """
        return self._transformed(X, Told(mask, None, None, entry_weight))

    @property
    def _sums_samples(self) -> bool:
        return True

    @property
    def _of_counts(self) -> bool:
        return self._divergence == 1.0

    @property
    def _divergence(self) -> float:
        """Beta of the loss: 2 is the squared error."""
        return 2.0

    def _loss(self, observed: Observed) -> Divergence:
        """What is minimised beside the penalties."""
        return Divergence(self._divergence, observed)

    def deviance(self, X: Any, *, mask: Any = None, entry_weight: Any = None) -> float:
        """Twice the loss of ``X`` with its best weights, without penalties.

        Of counts it is the deviance of their likelihood, Poisson or negative binomial, for the squared error the sum of
        squares. Divided by the number of known entries it says how large noise is beside what the loss takes for one.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows, of the fit or others.
        mask, entry_weight : array-like, optional
            As in ``fit``.

        Returns
        -------
        float
            Over known entries, with weights of features and entries.
        """
        check_is_fitted(self)
        source, observed = self._readable(X, Told(mask, None, None, entry_weight))
        counted = replace(observed, features=self._features)
        Ht = np.ascontiguousarray(np.asarray(self.components_).T, source.dtype)
        value = partial(_value, H=Ht, loss=self._loss(counted))
        W = self._decode(source, observed=observed)
        return 2.0 * float(source.reduce(value, W, *counted.beside(source)))

    def _observe(self, source: RowSource, told: Told = NOTHING) -> tuple[RowSource, Observed, Inspection]:
        source, observed, seen = observe(source, self.missing, told)
        check_alone(observed, self.preparation, self.weighing)
        return source, observed, seen

    def _run(self, X: Any, truth: Any, state: State | None, told: Told) -> tuple[RowSource, Array]:
        self.__dict__.pop("feature_weight_", None)
        found = super()._run(X, truth, state, told)
        if self._observed.features is not None:
            self.feature_weight_ = self._observed.features
        return found

    @property
    def _features(self) -> Array | None:
        """Weights of the features, in a fit and after one."""
        return self._observed.features if "_observed" in vars(self) else getattr(self, "feature_weight_", None)

    def _find(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, truth: Any, state: State | None
    ) -> Array:
        H = super()._find(source, k, seen, rng, truth, state)
        if self._observed.holes:
            H[:, unknown_columns(source)] = 0.0
        n, m = self._observed.lengths(source.shape)
        pair = Pair(self._on_W(), self._on_H(source.shape[0]), n, m, self._observed.features)
        if pair.alone == "W":
            H = np.ascontiguousarray(pair.started(np.asarray(H.T)).T)
        if seen.largest > 0.0 and not H.any() and (pair.on_W.asked or pair.on_H.asked):
            details = {}
            # the multiple is that of elastic nets
            if self._divergence == 2.0 and all(isinstance(one, ElasticNet) for one in pair.on_H.penalties):
                details = {"factor": emptying_factor(startable(source, self._observed), pair, rng)}
            cause = "emptied-at" if details else "emptied"
            self.stop_ = Stop("degenerate", n_iter=self.stop_.n_iter, cause=cause, details=details)
        return H

    def _start_weights(self, n: int, k: int) -> Array | None:
        """Weights of a start that is a pair."""
        return self._checked_weights(self.init[0], n, k, "init") if is_pair(self.init) else None

    def _checked_weights(self, given: Any, n: int, k: int, name: str) -> Array:
        if self.weighing_.column_scale is not None:
            raise InputError("{parameter}: weights are for data that is not weighed", parameter=name)
        try:
            shape = np.shape(given)
        except ValueError:  # rows of different lengths, which are told below
            shape = (n, k)
        if shape != (n, k):
            raise InputError(
                f"{'weights of ' * (name == 'init')}{{parameter}} must have shape ({n}, {k}), (samples, components);"
                f" got {shape}",
                parameter=name,
                kind="shape",
            )
        W = check_components(given, k, name=name)
        check_nonnegative(W, name)
        return W

    def _on(self, factor: str, size: float) -> Factor:
        """The penalties that the parameters ask for on a factor."""
        asked = []
        for penalty in PENALTIES:
            values = {name: getattr(self, f"{name}_{factor}", 0.0) for name in penalty.parameters()}
            if any(values.values()):
                asked.append(penalty.of(size, **values))
        return Factor(tuple(asked))

    def _on_W(self) -> Factor:
        v = self._features
        return self._on("W", self.n_features_in_ if v is None else float(v.sum()))

    def _on_H(self, n_samples: int) -> Factor:
        return self._on("H", self._observed.lengths((n_samples, 1))[0])

    def _decoder(self, dtype: Any) -> Any:
        return self._decoder_of(self._weighed_parts, dtype)

    def _incomplete_decoder(self, dtype: Any, observed: Observed) -> Any:
        return self._incomplete_decoder_of(np.asarray(self.components_), dtype, observed)

    def _decoder_of(self, H: Array, dtype: Any) -> Any:
        """Block function that gives the weights of complete rows for these components."""
        v = self._features
        if self._divergence == 1.0:
            H = H if v is None else H * v
            decode: Any = partial(decode_counts, components=Components.of(H.T, **self._on_W().elastic))
        else:
            v = None if v is None else np.sqrt(v)
            H = H if v is None else H * v
            decode = partial(decode_block, gram=Gram.of(H, dtype, **self._on_W().elastic))
        return decode if v is None else partial(_scaled, decode=decode, factors=v)

    def _incomplete_decoder_of(self, H: Array, dtype: Any, observed: Observed) -> Any:
        """The same for rows with holes, or with weights of entries beside them."""
        H, counts = np.asarray(H, np.float64), self._divergence == 1.0
        parts = Parts(H, **self._on_W().elastic, features=self._features, counts=counts)
        return partial(decode_incomplete, parts=parts)

    def _check_n_components(self, shape: tuple[int, int]) -> int:
        """More parts than samples or features are legal, for a start that has so many."""
        largest = min(self._observed.counted(shape[0]), shape[1])
        k = self._default_n_components(largest) if self.n_components is None else int(self.n_components)
        if k > largest and isinstance(self.init, str) and self.init in SPECTRAL:
            raise InputError(
                f"{{parameter}}={self.init!r} can only be used when n_components <= min(n_samples, n_features) = "
                f"{largest}; {k} are asked for",
                parameter="init",
                kind="too-many-components",
            )
        return k


def _scaled(block: Block, *, decode: Any, factors: Array) -> Array:
    return np.asarray(decode(blocks.scale_columns(block, factors)))


def _value(block: Block, W: Array, *beside: Block, H: Array, loss: Divergence) -> float:
    return loss.block_value(block, W, H, *beside)
