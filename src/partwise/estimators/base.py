"""What every estimator shares: one validation, one run of an algorithm, fitted attributes, exact weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from functools import partial, wraps
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, _clone_parametrized
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from partwise.algorithms.loop import LOG, Moment, Progress, State, run
from partwise.algorithms.randomness import packed
from partwise.door.guard import check_room
from partwise.door.matrices import check_form
from partwise.estimators import telling
from partwise.estimators.amounts import find_amounts, shares_of
from partwise.estimators.continuing import OF, check_state, ticket
from partwise.estimators.documenting import document
from partwise.estimators.naming import NamedParts
from partwise.estimators.observing import NOTHING, Told, copies_of, inspected, observe, startable, warn_untold
from partwise.estimators.ranking import RankedFeatures
from partwise.estimators.showing import Shown
from partwise.estimators.watching import show_progress
from partwise.estimators.weighing import Weighing, check_weighing, ready
from partwise.exceptions import InputError, Place, warn_user
from partwise.io.matching import aligned
from partwise.io.objects import known
from partwise.io.opening import open_source
from partwise.io.preparation import KINDS, Preparation, prepare
from partwise.io.table import Table
from partwise.linalg.nnls import Gram, check_components, decode_block
from partwise.metrics import RecoveryMeasures, total_correlation_error
from partwise.metrics.residuals import residual_sums
from partwise.outcomes import KKT, Stop
from partwise.sources import GeneratedSource, Inspection, RowSource, blocks, brings_own_rows, inspect
from partwise.sources.inspection import check_steady, steady
from partwise.sources.names import check_columns, difference, names_of
from partwise.sources.observed import COMPLETE, Observed
from partwise.sources.passes import single_blas_thread
from partwise.sources.protocol import copied
from partwise.starts import INITS, make_start


class Factorization(NamedParts, RankedFeatures, Shown, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators.

    A subclass documents its parameters, but for those that a base describes, and finds the components in ``_find``;
    where weights are not plain least squares it also gives ``_decoder``.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the smaller of the numbers of samples and features, which is the default.
    random_state : int, Generator or RandomState, optional
        Seed.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts.
    reconstruction_error_ : float
        ``|X - W H| / |X|`` with the exact non-negative weights of the final components.
    n_components_ : int
        Number of components.
    n_features_in_ : int
        Number of features.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state", np.random.Generator],
    }
    _allow_negative: ClassVar[bool] = False
    preparation: str = "none"  # see set_preparation
    preparation_: Preparation = Preparation()  # also of models that were never fitted, but given components
    _weighable: ClassVar[bool] = True
    _sets_aside: ClassVar[bool] = False  # whether samples that are unlike all others have no say
    _keeps_weights: ClassVar[bool] = False  # whether iterations go over weights of all samples, beside the rows
    weighing: Any = None  # see set_weighing
    weighing_: Weighing = Weighing()
    verbose: int = 0  # whether fits are shown, as by show_progress
    _observed: Observed = COMPLETE  # during a fit: what is known of the data, and how much it counts

    def __init_subclass__(cls, **how: Any) -> None:
        """Let every constructor take ``verbose``, a setting and none of its parameters, and complete the docstrings."""
        super().__init_subclass__(**how)
        if "__init__" in vars(cls):
            cls.__init__ = _watchable(cls.__init__)  # type: ignore[method-assign]
        document(cls)

    def set_preparation(self, kind: str) -> Self:
        """Have the model prepare whatever it is given: `fit` learns how, and does it, and `transform` does it again.

        Components, weights, errors and what `inverse_transform` returns are then in the units of the prepared data.
        As scikit-learn's ``set_output`` this is a setting that all estimators share and none has as a parameter of its
        own; clones and saved models keep it. What was learnt is ``preparation_``; `partial_fit` learns it from the
        first batch. The model's own `repr` shows it; that of a pipeline does not, for scikit-learn writes the steps
        from their parameters alone: look at the step.

        Parameters
        ----------
        kind : {"none", "tfidf", "log1p", "unit"}
            What is done: nothing; counts weighted by how rare a feature is, rows of unit length; ``log(1 + x)``; rows
            of unit length.

        Returns
        -------
        self
            The estimator; the next `fit` will use it.

        Examples
        --------
        >>> import partwise as pw
        >>> data = pw.datasets.make_topics(n_samples=60, n_features=20, n_components=3, random_state=0)
        >>> model = pw.SPA(3).set_preparation("unit").fit(data.X)
        >>> model
        SPA(n_components=3).set_preparation('unit')
        """
        if not isinstance(kind, str) or kind not in KINDS:
            raise InputError(
                f"{{parameter}} must be one of {', '.join(KINDS)}, got {str(kind)[:60]!r}",
                parameter="kind",
                kind="unknown",
            )
        self.preparation = kind
        return self

    def set_weighing(self, how: Any) -> Self:
        """Have the model find its parts where the noise has one size, and give them back in the data's own units.

        Rows and columns are divided by the size of their noise before the parts are sought, so that neither large
        features nor faint samples decide by their noise alone. ``components_``, weights, ``reconstruction_error_`` and
        what `inverse_transform` returns are in the units of the data; weights are least squares with every feature
        divided by its noise (that of the sample cancels, so samples that were not in the fit are no different);
        ``history_``, residuals and thresholds, and the states that callbacks see, hold in the weighed space. As
        `set_preparation` it is a setting that clones and saved models keep, and comes after a preparation. What was
        done is ``weighing_``.

        Parameters
        ----------
        how : {"auto", "noise", None} or Noise
            "auto": measure the noise, and weigh if it is that of counts, or if it differs between rows or columns and
            is most of what lies outside the parts. "noise": measure what the parts leave, and weigh whatever its kind.
            None: data as it is. A :class:`partwise.noise.Noise`, as :func:`partwise.measure_noise` makes it of the data
            of the fit: these scales.

        Returns
        -------
        self
            The estimator; the next `fit` will use it.

        Examples
        --------
        >>> import numpy as np, partwise as pw
        >>> rng = np.random.default_rng(0)
        >>> X = rng.poisson(rng.gamma(1.0, 200.0, (200, 3)) @ rng.dirichlet([1.0] * 50, 3)).astype(float)
        >>> model = pw.Facets(3, random_state=0).set_weighing("auto").fit(X)
        >>> model.weighing_.kind
        'poisson'
        """
        if how is not None and not self._weighable:
            name = type(self).__name__
            raise InputError(f"{name} cannot weigh its data: it learns from it as it is", parameter="how")
        self.weighing = check_weighing(how)
        return self

    def proportions(self, X: Any, *, amounts: Any = None) -> Any:
        """How much of each sample is of each part: rows sum to one.

        Weights say how often a part is in a sample, and a part has no natural size. Here it is one of two: each part as
        large as the sum of its entries (shares of all counts), or, where that makes the amounts of all samples much
        more equal, the sizes for which weights sum to one (samples of equal amounts: cells, RNA); see `part_amounts`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows.
        amounts : array-like of shape (n_components,), optional
            The size of each part; by default that which `part_amounts` finds for ``X``.

        Returns
        -------
        ndarray of shape (n_samples, n_components), or as ``transform`` gives weights
            Non-negative, with rows that sum to one; NaN for samples that use no part, which a warning names.
        """
        X = known(X)
        W = self._plain_weights(X)
        if amounts is None:
            return self._given_back(X, shares_of(W, find_amounts(W, self._sizes())))
        given = np.asarray(amounts, np.float64)
        if given.shape != (W.shape[1],) or not (np.isfinite(given).all() and (given > 0.0).all()):
            raise InputError(f"{{parameter}} must be {W.shape[1]} positive numbers", parameter="amounts")
        return self._given_back(X, shares_of(W, given))

    def part_amounts(self, X: Any) -> npt.NDArray[np.float64]:
        """The size of each part, for `proportions`: the sum of its entries, or what makes samples equally large.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows; many that differ in their proportions.

        Returns
        -------
        ndarray of shape (n_components,)
            Positive.
        """
        return find_amounts(self._plain_weights(known(X)), self._sizes())

    def _plain_weights(self, X: Any) -> npt.NDArray[np.float64]:
        """What ``transform`` gives, as an array whatever object the samples came in."""
        return np.asarray(self.transform(replace(X, back=None) if isinstance(X, Table) else X), np.float64)

    def _sizes(self) -> npt.NDArray[np.float64]:
        return np.asarray(np.abs(np.asarray(self.components_, np.float64)).sum(axis=1))

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Factorization:
        """Find the components of ``X``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows; anything that :func:`partwise.open_source` takes.
        y : ignored
            There for scikit-learn's interface.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts: one of weight two is as if it were there twice. Whole numbers, unless the
            method is said to take any.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit_whole(X, told=Told(samples=sample_weight))
        return self

    def fit_transform(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Any:
        """Find the components of ``X`` and return its weights, which equal those of ``transform(X)``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows.
        y : ignored
            There for scikit-learn's interface.
        sample_weight : array-like of shape (n_samples,), optional
            As in ``fit``.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_components)
            Non-negative weights; an AnnData, a DataArray of xarray or a signal of HyperSpy where ``X`` is one, unless
            ``set_output`` asks for frames.
        """
        return self._fit_decoded(X, told=Told(samples=sample_weight))

    def transform(self, X: Any) -> Any:
        """Weights of ``X`` for the components found, each sample exact and by itself.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_components)
            Non-negative weights; an AnnData, a DataArray of xarray or a signal of HyperSpy where ``X`` is one, unless
            ``set_output`` asks for frames.
        """
        return self._transformed(X)

    def _transformed(self, X: Any, told: Told = NOTHING) -> Any:
        """What ``transform`` gives, of data of which this is told."""
        check_is_fitted(self)
        X = known(X)
        source, observed = self._readable(X, told)
        return self._given_back(X, source.deliver(self._decode(source, observed=observed)))

    def inverse_transform(self, X: Any) -> Any:
        """The samples that weights stand for: ``W @ components_``, prepared as those of the fit were.

        A preparation (see `set_preparation`) is not undone: the lengths of rows are not known any more, and logarithms
        of a sum are for the caller to take back (``np.expm1`` for "log1p").

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components), data frame, AnnData, DataArray or signal of HyperSpy
            Weights, also as ``transform`` gives them; columns that are called as the parts are taken by their names.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The product; an AnnData, a DataArray, along "feature", or a signal, where ``X`` is one.
        """
        check_is_fitted(self)
        given, parts = known(X), self.part_names_
        names, W = names_of(given), weights_of(given)
        if names is not None and names != parts and sorted(names) == sorted(parts):
            W = W[:, [names.index(part) for part in parts]]
        if len(W.shape) != 2 or W.shape[1] != len(self.components_):
            raise InputError(
                f"{{parameter}} must have shape (n_samples, {len(self.components_)}), got {tuple(W.shape)}",
                parameter="X",
                kind="shape",
            )
        product = W @ self.components_
        if not isinstance(given, Table) or given.back is None:
            return product
        return given.back(
            product, list(map(str, vars(self).get("feature_names_in_", range(self.n_features_in_)))), "feature"
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The call that makes it."""
        shown: str = super().__repr__(N_CHAR_MAX)
        done = vars(self).get("preparation_")
        if done is not None and done.kind != self.preparation:  # set anew, for the next fit
            return f"<{shown} fitted with preparation {done.kind!r}, {self.preparation!r} is set for the next fit>"
        return shown + self._settings()

    def _settings(self) -> str:
        """The calls that set what is no parameter."""
        prepared = "" if self.preparation == "none" else f".set_preparation({self.preparation!r})"
        if self.weighing is type(self).weighing:
            return prepared
        how = self.weighing if self.weighing is None or isinstance(self.weighing, str) else self.weighing.kind
        return f"{prepared}.set_weighing({how!r})"

    def __sklearn_clone__(self) -> Self:
        """A clone is not fitted and will prepare and weigh its data in the same way."""
        cloned: Self = _clone_parametrized(self)
        cloned.__dict__.update({name: vars(self)[name] for name in SETTINGS if name in vars(self)})
        return cloned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = not self._allow_negative
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _find(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, truth: Any, state: State | None
    ) -> npt.NDArray[Any]:
        """The components; whatever else a method finds out it sets as attributes."""
        raise NotImplementedError

    def _check_data(self, seen: Inspection, *, squares: bool = True) -> None:
        """Refuse what the method cannot use, in ``fit`` and in ``transform``."""
        seen.check(allow_negative=self._allow_negative, squares=squares)

    def _decoder(self, dtype: Any) -> Any:
        """Block function that gives the weights of a block of rows."""
        return partial(decode_block, gram=Gram.of(self._weighed_parts, dtype))

    @property
    def _weighed_parts(self) -> npt.NDArray[Any]:
        """The components where they were found: weighed, if the model weighs."""
        return self.weighing_.weighed(self.components_)

    def _readable(self, X: Any, told: Told = NOTHING) -> tuple[RowSource, Observed]:
        """Rows to be decoded, opened and looked at, and what is known of them."""
        source, observed, seen = self._observe(self._open(X, reset=False), told)
        # weights are computed sample by sample at any scale, so nothing is squared that could overflow
        self._check_data(seen, squares=False)
        return source, observed

    def _observe(self, source: RowSource, told: Told) -> tuple[RowSource, Observed, Inspection]:
        """The rows, what is known of them and how much it counts, and what a pass over them has seen."""
        return observe(source, None, told)

    def _decode(self, source: RowSource, *, stored: bool = False, observed: Observed = COMPLETE) -> Any:
        """The weights, beside the rows; stored, on disk where the rows are there."""
        k = len(self.components_)
        entries = observed.split(observed.beside(source))[1]
        given = () if entries is None else (entries,)
        decode = self._block_decoder(source.dtype, observed)
        return source.map_rows(decode, *given, width=k, out=source.scratch(k) if stored else None)

    def _block_decoder(self, dtype: Any, observed: Observed) -> Any:
        """Block function that gives the weights of a block of rows, in the data's units, with holes if it has some."""
        if observed.holes or observed.entries is not None:
            return self._incomplete_decoder(dtype, observed)
        return self.weighing_.decoding(self._decoder(dtype))

    def _incomplete_decoder(self, dtype: Any, observed: Observed) -> Any:
        """The same for rows with holes, or with weights of entries beside them."""
        raise NotImplementedError

    # what is computed between passes is small, and BLAS's threads would still be spinning in the next pass
    @single_blas_thread()
    def _fit(
        self,
        X: Any,
        truth: Any = None,
        *,
        weights: bool = False,
        stored: bool = False,
        state: State | None = None,
        told: Told = NOTHING,
    ) -> tuple[RowSource, Any]:
        """Fit; weights are None if not wanted, or if Ctrl-C came meanwhile."""
        source, self.components_ = self._run(X, truth, state, told)
        observed = self._observed
        for name in ("_observed", "part_labels_", "n_unknown_"):  # names of other parts, holes of other data
            self.__dict__.pop(name, None)
        if observed.holes:
            self.n_unknown_ = source.shape[0] * source.shape[1] - observed.known(source.shape)
        self.n_components_ = len(self.components_)
        self.reconstruction_error_ = np.nan
        W = None
        try:
            with steady(source):
                W = self._decode(source, stored=stored, observed=observed) if weights else None
                Ht = np.ascontiguousarray(self.components_.T)
                decode = self._block_decoder(source.dtype, observed)
                squared, norm, known = residual_sums(source, Ht, W=W, decode=decode, observed=observed)
            check_steady(source, known)
            self.reconstruction_error_ = float(np.sqrt(squared / norm)) if norm > 0.0 else 0.0
        except KeyboardInterrupt:
            pass  # the components are kept
        return source, W

    def _tell(self) -> None:
        """Warn of what a fit has come to, when it is safe: a warning that is made an error does not lose it."""
        if np.isnan(self.reconstruction_error_):
            warn_user(
                "interrupted while the weights were computed; the components are kept, reconstruction_error_ is NaN",
                RuntimeWarning,
            )

    def _fit_whole(self, X: Any, truth: Any = None, **how: Any) -> tuple[RowSource, Any]:
        """Fit, with all that a method does behind it, or leave everything as it was."""
        with self._shown_fit(), self._all_or_nothing():
            fitted = self._fit(X, truth, **how)
        self._tell()
        return fitted

    def _fit_decoded(self, X: Any, truth: Any = None, **how: Any) -> Any:
        """The same, and the weights as they are given back; Ctrl-C while they are computed leaves the components."""
        X = known(X)
        with self._shown_fit(), self._all_or_nothing():
            source, W = self._fit(X, truth, weights=True, **how)
            given = None if W is None else self._given_back(X, source.deliver(W))
        self._tell()
        if given is None:
            raise KeyboardInterrupt
        return given

    def _shown_fit(self) -> AbstractContextManager[None]:
        return show_progress() if self.verbose else nullcontext()

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever fails leaves the estimator as it was."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _run(self, X: Any, truth: Any, state: State | None, told: Told) -> tuple[RowSource, npt.NDArray[Any]]:
        self._validate_params()
        source, self._observed, seen = self._observe(self._open(X, reset=True), told)
        self._check_data(seen)
        seen.warn()
        copies = self._copies(source, seen)
        k = self._check_n_components((self._observed.counted(source.shape[0]), source.shape[1]))
        held = source.shape[0] if self._keeps_weights and getattr(source, "in_memory", False) else 0
        check_room(float(k) * (held + 2 * source.shape[1]) * source.dtype.itemsize)
        if self._observed.holes:
            warn_untold(source, k)
        with steady(source):
            return source, self._found(source, seen, k, truth, state, copies)

    @property
    def _of_counts(self) -> bool:
        """Whether the model is one of counts."""
        return False

    @property
    def _sums_samples(self) -> bool:
        """Whether what is minimised is a sum over samples, to which any weights can be given."""
        return False

    def _copies(self, source: RowSource, seen: Inspection) -> npt.NDArray[np.int64] | None:
        """How often each sample is there, by its weight; None if there are none, or the method takes them itself."""
        weights = self._observed.samples
        if weights is None:
            return None
        name = type(self).__name__
        if self._sums_samples:
            return None
        if isinstance(source, GeneratedSource):
            raise InputError("{parameter}: a GeneratedSource draws its samples anew", parameter="sample_weight")
        wrong = np.flatnonzero(weights != np.round(weights))
        if len(wrong):
            raise InputError(
                f"{{parameter}} of {name} must be whole numbers, how often a sample is there; number {wrong[0]} is "
                f"{weights[wrong[0]]:g} (HALS, ANLS, MU, Likelihood, MiniBatchNMF and AND take any)",
                parameter="sample_weight",
                kind="value",
            )
        # copies in memory, and where these are: their numbers
        kept = getattr(source, "in_memory", False)
        each = seen.stored / source.shape[0] * source.dtype.itemsize if kept else np.dtype(np.int64).itemsize
        check_room(float(weights.sum()) * each)
        return weights.astype(np.int64)

    def _found(
        self,
        source: RowSource,
        seen: Inspection,
        k: int,
        truth: Any,
        state: State | None,
        copies: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[Any]:
        """The components of rows that were looked at: of the weighed ones, in the units of the rows."""
        observed = self._observed
        if copies is not None:
            source, self._observed = source.choose(copies), COMPLETE
            seen = inspect(source)
        self.__dict__.pop("odd_samples_", None)  # those of an earlier fit
        samples = self._observed.samples
        times = None if samples is None else copies_of(samples)
        self.weighing_, weighed, kept = ready(source, self.weighing, k, aside=self._sets_aside, times=times)
        odd = np.flatnonzero(~kept)
        if len(odd):
            shown = odd[blocks.norms(source.take(odd)) > 0.0]  # of empty ones the inspection has told
            telling.warn_odd(shown if copies is None else np.unique(copied(copies)[shown]), type(self).__name__)
        if samples is not None:
            self._observed = replace(self._observed, samples=samples[kept])
        within = seen if weighed is source else inspected(weighed, self._observed)
        truth = (
            truth if truth is None else self.weighing_.weighed(check_components(truth, source.shape[1], name="truth"))
        )
        H = self._find(weighed, k, within, generator(self.random_state), truth, state)
        if not kept.all():
            self._renumber(kept.astype(np.int64))
        if self._sets_aside:
            self.odd_samples_ = odd
        if copies is not None:
            self._renumber(copies)
        self._observed = observed
        return self.weighing_.unweighed(H)

    def _renumber(self, copies: npt.NDArray[np.int64]) -> None:
        """What is told of samples that were there so often, by their own numbers."""
        if "odd_samples_" in vars(self):
            self.odd_samples_ = np.unique(copied(copies)[self.odd_samples_])

    def _open(self, X: Any, *, reset: bool) -> RowSource:
        """The rows as the method sees them: checked for their features, and prepared."""
        source = self._rows_of(X, reset=reset)
        if reset:
            if not isinstance(X, RowSource) and getattr(source, "in_memory", False):  # as a user gave it
                names = vars(self).get("feature_names_in_")
                table = Table(None, None if names is None else list(map(str, names)), source.sample_names)
                telling.warn_suspect(table, source, counting=self._of_counts, preparation=self.preparation)
            self.preparation_ = prepare(source, self.preparation)
        return self.preparation_.apply(source)

    def _rows_of(self, X: Any, *, reset: bool) -> RowSource:
        X = known(X)
        fitted = None if reset else vars(self).get("feature_names_in_")
        if brings_own_rows(X) or isinstance(X, Table):
            source: RowSource = aligned(open_source(X), fitted)
            if min(source.shape) == 0:
                raise InputError(f"{{parameter}} is empty: shape {source.shape}", parameter="X", kind="empty")
            self._check_features(source.shape[1], source.feature_names, reset=reset)
            return source
        X = aligned(X, fitted)
        check_form(X)  # before scikit-learn makes other numbers of it
        check_columns(X)
        form = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
        named = names_of(X) is not None
        if reset or named == (fitted is not None):
            return open_source(validate_data(self, X, reset=reset, **form))
        # scikit-learn's words, at the user's line and not at its own
        name = type(self).__name__
        warn_user(
            f"X has feature names, but {name} was fitted without feature names"
            if named
            else f"X does not have valid feature names, but {name} was fitted with feature names",
            UserWarning,
        )
        checked = check_array(X, estimator=self, input_name="X", **form)
        self._check_features(checked.shape[1], None, reset=False)
        return open_source(checked)

    def _check_preparation(self) -> None:
        """Batches are prepared as the first one was: another preparation would change the units in between."""
        if self.preparation_.kind != self.preparation:
            raise InputError(
                f"{{parameter}} is {self.preparation!r} now and was {self.preparation_.kind!r} for the batches before; "
                "a stream has one preparation",
                parameter="preparation",
            )

    def _check_features(self, count: int, names: Any, *, reset: bool) -> None:
        """What scikit-learn's validation does for tables, for sources: remember or compare number and names."""
        if reset:
            self.n_features_in_ = count
            self.__dict__.pop("feature_names_in_", None)
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            return
        name = type(self).__name__
        fitted = self.__dict__.get("feature_names_in_")
        if count != self.n_features_in_:
            which = "" if names is None or fitted is None else difference(names, fitted)
            raise InputError(
                f"{{parameter}} has {count} features, but {name} is expecting {self.n_features_in_} features as input"
                f"{which and f': it {which}'}",
                parameter="X",
                kind="features",
            )
        if names is not None and fitted is not None:
            other = [i for i in range(count) if names[i] != fitted[i]]
            if other:
                i = other[0]
                raise InputError(
                    f"{{parameter}} names column {i} {names[i]!r}, but {name} was fitted with {fitted[i]!r} there",
                    parameter="X",
                    kind="features",
                    place=Place(column=i),
                )

    def _check_n_components(self, shape: tuple[int, int]) -> int:
        largest = min(shape)
        k = self._default_n_components(largest) if self.n_components is None else int(self.n_components)
        if k > largest:
            raise InputError(
                f"{{parameter}}={k} must lie in 1..{largest}, the smaller of n_samples={shape[0]} and "
                f"n_features={shape[1]}",
                parameter="n_components",
                kind="too-many-components",
            )
        return k

    def _default_n_components(self, largest: int) -> int:
        return largest


class Ended:
    """What is said of a fit that has ended, from its ``stop_``."""

    stop_: Stop

    @property
    def stop_reason_(self) -> str:
        """Why the fit ended, as a sentence."""
        return telling.reason(self.stop_)

    @property
    def converged_(self) -> bool:
        """Whether the fit ended by itself."""
        return bool(self.stop_.converged)


class Looped(Ended, Factorization):
    """Base of the estimators that the loop drives: a history, a reason to stop, states to go on from.

    A subclass names its algorithm in ``_begin``, and in ``_limits`` what it is stopped by if not by ``max_iter`` and
    ``tol``.

    Parameters
    ----------
    callbacks : list of callables
        Each is called with a ``Progress`` after every iteration and stops the run by returning true.

    Attributes
    ----------
    n_iter_ : int
        Iterations done.
    converged_ : bool
        Whether it stopped by itself.
    stop_reason_ : str
        Why it stopped.
    stop_ : Stop
        The same as a value.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Factorization._parameter_constraints,
        "callbacks": [list, tuple],
    }
    _residual: ClassVar[str] = KKT  # what the residual of an iteration is
    _follows_proof: ClassVar[bool] = False  # whether a theorem says how the components approach a truth

    def fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, truth: Any = None, state: State | None = None
    ) -> Self:
        """Find the components of ``X``.

        Parameters
        ----------
        truth : array-like of shape (n_true, n_features), optional
            True components; their total correlation error is then recorded in ``history_``.
        state : mapping, optional
            What ``Progress.state`` held in a callback of another fit of this data with these parameters: goes on from
            there, to the same bits as if it had not been broken off.
        """
        self._fit_whole(X, truth, state=state, told=Told(samples=sample_weight))
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, truth: Any = None, state: State | None = None
    ) -> Any:
        """Find the components of ``X`` and return its weights, which equal those of ``transform(X)``.

        Parameters
        ----------
        truth : array-like of shape (n_true, n_features), optional
            True components, for ``history_``.
        state : mapping, optional
            As in ``fit``.
        """
        return self._fit_decoded(X, truth, state=state, told=Told(samples=sample_weight))

    def _begin(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Iterator[Progress]:
        """The algorithm on this data, or behind this state."""
        raise NotImplementedError

    def _watched(
        self,
        iterations: Iterator[Progress],
        source: RowSource,
        k: int,
        seed: npt.NDArray[np.uint8],
        state: State | None,
    ) -> Iterator[Progress]:
        """The iterations, with whatever is to be recorded beside them; the seed is the same behind a state."""
        return iterations

    def _limits(self) -> tuple[int, float]:
        """Largest number of iterations, and the residual at which the loop stops."""
        return self.max_iter, self.tol

    def _find(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, truth: Any, state: State | None
    ) -> npt.NDArray[Any]:
        measures = None
        if truth is not None:
            measures = self._measures(truth)
        weighed = "none" if self.weighing_.column_scale is None else self.weighing_.kind
        of = ticket(type(self).__name__, self.preparation, weighed, source, k, seen)
        if state is not None:
            check_state(state, of, rng)
        # the generator as it is before the first draw: what a continued fit draws again is the same
        kept = {OF: of, "rng": packed(rng)}
        began = Moment.now()
        max_iter, tol = self._limits()
        iterations = self._begin(source, k, seen, rng, state)
        result = run(
            self._watched(iterations, source, k, kept["rng"], state),
            max_iter=max_iter,
            tol=tol,
            measure=self._residual,
            callbacks=self.callbacks,
            measures=measures,
            state=state,
            kept=kept,
            began=began,
        )
        self.n_iter_, self.stop_ = result.n_iter, result.stop
        self.history_, self.residual_ = result.history, result.residual
        LOG.info(
            "%s: %s; %d iterations, %.2f s",
            type(self).__name__,
            self.stop_reason_,
            self.n_iter_,
            Moment.now().since(began).seconds,
        )
        return result.components

    def _tell(self) -> None:
        super()._tell()
        telling.warn(self.stop_, type(self).__name__, tol=self._limits()[1])

    def _measures(self, truth: Any) -> Callable[[Progress], dict[str, float]]:
        """What the history records when a truth is given."""
        return partial(_error_against, truth=truth, theory=RecoveryMeasures(truth) if self._follows_proof else None)


class Iterative(Looped):
    """Base of the estimators that iterate from a start, to a tolerance.

    A subclass names its algorithm in ``_iterations``, from a start that ``init`` names, or in ``_begin``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Looped._parameter_constraints,
        "init": [StrOptions(set(INITS)), "array-like", HasMethods("fit")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __sklearn_clone__(self) -> Self:
        """A clone is not fitted, but a fitted estimator to start from is part of the parameters and stays fitted."""
        cloned = super().__sklearn_clone__()
        if hasattr(getattr(self, "init", None), "components_"):
            cloned.init = deepcopy(self.init)
        return cloned

    def _iterations(self, source: RowSource, H0: Any, seen: Inspection, state: State | None) -> Iterator[Progress]:
        """The algorithm on this data from this start, or behind this state."""
        raise NotImplementedError

    def _begin(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Iterator[Progress]:
        """The iterations from the start that ``init`` names, or behind a state."""
        if state is not None:
            return self._iterations(source, state["components"], seen, state)
        rows = startable(source, self._observed)
        how: dict[str, Any] = {"nonnegative": not self._allow_negative, "filled": self._observed.holes}
        # the start is not kept here: it is as large as the components
        return self._iterations(source, make_start(self._init, rows, k, seen=seen, rng=rng, **how), seen, None)

    @property
    def _init(self) -> Any:
        """What ``init`` is, where the parts are sought: weighed, if the model weighs."""
        given = self.init[1] if is_pair(self.init) else self.init
        if self.weighing_.column_scale is None or isinstance(given, str):
            return given
        given = given.components_ if hasattr(given, "components_") else given
        return self.weighing_.weighed(check_components(given, self.n_features_in_, name="init"))

    def _default_n_components(self, largest: int) -> int:
        init: Any = getattr(self, "init", None)
        init = init[1] if is_pair(init) else init
        given = None if isinstance(init, str) else getattr(init, "components_", init)
        return largest if given is None or not np.ndim(given) else len(given)


def weights_of(X: Any) -> Any:
    """Weights without names, whatever kind of object they came in."""
    X = known(X)
    X = X.X if isinstance(X, Table) else X
    return X if hasattr(X, "__matmul__") and hasattr(X, "shape") and not hasattr(X, "columns") else np.asarray(X)


def is_pair(init: Any) -> bool:
    """Whether a start is weights and components."""
    return isinstance(init, tuple) and len(init) == 2 and all(np.ndim(one) == 2 for one in init)


SETTINGS = ("preparation", "weighing", "verbose")  # of all estimators, and parameters of none


def _watchable(init: Callable[..., None]) -> Callable[..., None]:
    """The constructor that takes ``verbose`` too; its signature, from which scikit-learn reads parameters, stays."""

    @wraps(init)
    def make(self: Factorization, *args: Any, verbose: int = 0, **parameters: Any) -> None:
        init(self, *args, **parameters)
        if verbose:
            self.verbose = verbose

    return make


def generator(random_state: Any) -> np.random.Generator:
    """NumPy's generator for any kind of seed."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)


def _error_against(progress: Progress, truth: Any, theory: RecoveryMeasures | None) -> dict[str, float]:
    found = {"error": float("nan")} if theory is None else theory(progress.components)
    if np.isnan(found["error"]):  # a truth that theory cannot be told by
        found["error"] = float(total_correlation_error(progress.components, truth))
    return found
