"""Samples that come one by one or in batches, as ``partial_fit`` takes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from typing import Any, Self

import numpy as np

from partwise.estimators.base import Looped
from partwise.estimators.observing import Told
from partwise.exceptions import InputError
from partwise.sources import Inspection, RowSource


class Streamed(Looped):
    """Base of the estimators with a learner that goes on with whatever comes.

    A subclass makes the learner of a first batch (``_first``), has it learn (``_learn``) and shows what it knows
    (``_publish``).
    """

    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Learn further samples, each once and in the order in which they come; after ``fit`` it goes on from there.

        Parameters
        ----------
        X : array-like, sparse matrix or source of shape (n_samples, n_features), or an iterator
            One sample (a vector), a batch, or an iterator of samples and batches, which may be endless: Ctrl-C ends it
            and keeps what was learnt. A batch that fails is not learnt; what came before it in a stream stays.
        y : ignored
            There for scikit-learn's interface.
        sample_weight : array-like of shape (n_samples,), optional
            As in ``fit``, for a batch.

        Returns
        -------
        self
            The estimator.
        """
        self._validate_params()
        stream = isinstance(X, Iterator)
        if stream and sample_weight is not None:
            raise InputError("{parameter} is for a batch, not for an iterator of them", parameter="sample_weight")
        told = Told(samples=sample_weight)
        with nullcontext() if stream else self._unlearning():
            try:
                for item in X if stream else (X,):
                    first = stream and not hasattr(self, "_learner")
                    with self._unlearning() if first else nullcontext():
                        with self._all_or_nothing():
                            source, samples = self._checked(item, told)
                        # one sample is learnt as a whole: a copy for each would cost as much as learning it
                        with self._unlearning() if stream and source.shape[0] > 1 else nullcontext():
                            self._learn(source, samples)
            finally:
                if hasattr(self, "_learner"):
                    self._publish()
        return self

    @contextmanager
    def _unlearning(self) -> Iterator[None]:
        """Whatever fails leaves estimator and learner as they were; Ctrl-C leaves what is learnt by then."""
        learner, known = copy(vars(self).get("_learner")), dict(vars(self))
        try:
            yield
        except Exception:
            self.__dict__.clear()
            self.__dict__.update(known if learner is None else known | {"_learner": learner})
            raise

    def _checked(self, X: Any, told: Told) -> tuple[RowSource, Any]:
        """The samples as a source, looked at before one of them is learnt, and how often each counts.

        A first batch brings a learner.
        """
        if getattr(X, "ndim", 2) == 1 or (isinstance(X, (list, tuple)) and np.ndim(X) == 1):
            X = np.asarray(X)[None, :]
        first = not hasattr(self, "_learner")
        if not first:
            self._check_preparation()
        source, self._observed, seen = self._observe(self._open(X, reset=first), told)
        self._check_data(seen)
        samples, copies = self._observed.samples, self._copies(source, seen)
        if copies is not None:
            source, samples = source.choose(copies), None
        if first:
            # as many components as features at most; samples come one by one
            k = self._check_n_components((source.shape[1] if self.n_components else source.shape[0], source.shape[1]))
            self._learner = self._first(source, k, seen)
            self.n_iter_, self.n_components_ = 0, k
        self.__dict__.pop("_observed", None)
        return source, samples

    def _first(self, source: RowSource, k: int, seen: Inspection) -> Any:
        """The learner that begins with this batch."""
        raise NotImplementedError

    def _learn(self, source: RowSource, samples: Any = None) -> None:
        raise NotImplementedError

    def _publish(self) -> None:
        """What the learner knows, between two batches."""
        raise NotImplementedError
