"""What every estimator shares: one validation, one run of an algorithm, fitted attributes, exact weights."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from partwise.algorithms.loop import Progress, run
from partwise.exceptions import InputError
from partwise.linalg.nnls import Gram, check_components, decode_block
from partwise.metrics import total_correlation_error
from partwise.metrics.residuals import squared_residual
from partwise.sources import Inspection, RowSource, brings_own_rows, inspect, open_source
from partwise.sources.scaled import ScaledSource, unit_exponent
from partwise.starts import INITS, make_start


class Factorization(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the iterative estimators.

    A subclass documents its parameters and names its algorithm in ``_iterations``; where weights are not plain least
    squares it also gives ``_decoder``.

    Data of extreme size, whose squares would overflow or vanish, is worked on in units of ``2**unit`` (0 otherwise).
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions(set(INITS)), "array-like", HasMethods("fit")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
        "callbacks": [list, tuple],
    }
    _allow_negative: ClassVar[bool] = False

    def fit(self, X: Any, y: Any = None, *, truth: Any = None) -> Factorization:
        """Find the components of ``X``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows; anything that :func:`partwise.open_source` takes.
        y : ignored
            There for scikit-learn's interface.
        truth : array-like of shape (n_true, n_features), optional
            True components; their total correlation error is then recorded in ``history_``.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit(X, truth)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, truth: Any = None) -> Any:
        """Find the components of ``X`` and return its weights, which equal those of ``transform(X)``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows.
        y : ignored
            There for scikit-learn's interface.
        truth : array-like of shape (n_true, n_features), optional
            True components, for ``history_``.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_components)
            Non-negative weights.
        """
        source, W = self._fit(X, truth)
        return source.deliver(W)

    def transform(self, X: Any) -> Any:
        """Weights of ``X`` for the components found, each sample exact and by itself.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_components)
            Non-negative weights.
        """
        check_is_fitted(self)
        source = self._open(X, reset=False)
        seen = inspect(source)
        self._check_data(seen)
        unit = unit_exponent(seen.largest, source.dtype)
        return source.deliver(self._decode(_in_unit(source, unit), unit))

    def inverse_transform(self, X: Any) -> Any:
        """The samples that weights stand for: ``W @ components_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Weights.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The product.
        """
        check_is_fitted(self)
        W = X if hasattr(X, "__matmul__") and hasattr(X, "shape") and not hasattr(X, "columns") else np.asarray(X)
        if len(W.shape) != 2 or W.shape[1] != len(self.components_):
            raise InputError(f"X must have shape (n_samples, {len(self.components_)}), got {tuple(W.shape)}")
        return W @ self.components_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = not self._allow_negative
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @abstractmethod
    def _iterations(self, source: RowSource, H0: Any, seen: Inspection, unit: int) -> Iterator[Progress]:
        """The algorithm on this data from this start, both already in units of ``2**unit``."""

    @property
    def _degree(self) -> float:
        """How the objective grows with the data: twice the data, ``2**degree`` times the objective."""
        return 2.0

    def _check_data(self, seen: Inspection) -> None:
        """Refuse what the method cannot use, in ``fit`` and in ``transform``."""
        seen.check(allow_negative=self._allow_negative)

    def _decoder(self, H: Any, dtype: Any, unit: int) -> Any:
        """Block function that gives the weights of a block of rows; block and ``H`` in units of ``2**unit``."""
        return partial(decode_block, gram=Gram.of(H, dtype))

    def _decode(self, source: RowSource, unit: int) -> Any:
        H = np.ldexp(self.components_, -unit)
        return source.map_rows(self._decoder(H, source.dtype, unit), width=len(H))

    def _fit(self, X: Any, truth: Any) -> tuple[RowSource, Any]:
        self._validate_params()
        source = self._open(X, reset=True)
        seen = inspect(source)
        self._check_data(seen)
        seen.warn()
        k = self._check_n_components(source.shape)
        error = None
        if truth is not None:
            truth = check_components(truth, source.shape[1], name="truth")
            error = partial(_error_against, truth=truth)
        unit = unit_exponent(seen.largest, source.dtype)
        if unit:
            source = _in_unit(source, unit)
            seen = inspect(source)
        rng = _generator(self.random_state)
        H0 = make_start(self.init, source, k, seen=seen, rng=rng, nonnegative=not self._allow_negative)
        if not isinstance(self.init, str):
            H0 = np.ldexp(H0, -unit)
        result = run(
            _in_data_units(self._iterations(source, H0, seen, unit), unit, self._degree),
            max_iter=self.max_iter,
            tol=self.tol,
            callbacks=self.callbacks,
            error=error,
        )
        self.components_ = result.components
        self.n_components_ = len(result.components)
        self.n_iter_, self.converged_ = result.n_iter, result.converged
        self.stop_reason_, self.history_, self.kkt_ = result.stop_reason, result.history, result.kkt
        W = self._decode(source, unit)
        squared, norm = squared_residual(source, W, np.ascontiguousarray(np.ldexp(self.components_.T, -unit)))
        self.reconstruction_error_ = float(np.sqrt(squared / norm)) if norm > 0.0 else 0.0
        if not result.converged and result.n_iter >= self.max_iter and self.tol > 0.0:
            warnings.warn(
                f"{type(self).__name__} stopped at max_iter={self.max_iter} with a KKT residual of {result.kkt:.3g} > "
                f"tol={self.tol:g}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        return source, W

    def _open(self, X: Any, *, reset: bool) -> RowSource:
        if brings_own_rows(X):
            source = open_source(X)
            if min(source.shape) == 0:
                raise InputError(f"X is empty: shape {source.shape}")
            if reset:
                self.n_features_in_ = source.shape[1]
                if hasattr(self, "feature_names_in_"):
                    del self.feature_names_in_
            elif source.shape[1] != self.n_features_in_:
                raise InputError(
                    f"X has {source.shape[1]} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input"
                )
            return source
        checked = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
        )
        return open_source(checked)

    def _check_n_components(self, shape: tuple[int, int]) -> int:
        largest = min(shape)
        k = largest if self.n_components is None else int(self.n_components)
        if k > largest:
            raise InputError(
                f"n_components={k} must lie in 1..{largest}, the smaller of n_samples={shape[0]} and n_features={shape[1]}"
            )
        return k


def _in_unit(source: RowSource, unit: int) -> RowSource:
    return ScaledSource(source, -unit) if unit else source


def _in_data_units(iterations: Iterator[Progress], unit: int, degree: float) -> Iterator[Progress]:
    """What callbacks and the history see is in the units of the data (an objective may then be infinite)."""
    if not unit:
        yield from iterations
        return
    with np.errstate(over="ignore", under="ignore"):
        factor = float(np.exp2(degree * unit))
    for progress in iterations:
        objective = float(progress.objective)
        yield replace(
            progress,
            components=np.ldexp(progress.components, unit),
            objective=objective * factor if objective else 0.0,
        )


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)


def _error_against(components: Any, truth: Any) -> float:
    return float(total_correlation_error(components, truth))
