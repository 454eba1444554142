"""A fit that is watched: the same iteration on two halves of the samples, each the other's truth."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from partwise.algorithms.loop import Progress, State, run, under
from partwise.algorithms.monitor import STATE, Halves, Reference, Watch, monitored, split
from partwise.estimators.base import Iterative
from partwise.exceptions import InputError
from partwise.sources import GeneratedSource, RowSource, inspect

CUT_SHORT = ("callback", "interrupted", "max_iter", "time")  # ends that are not the algorithm's, of the half neither


class Monitored(Iterative):
    """Base of the estimators whose proofs can be watched, if ``monitor`` is set.

    The components are those of all the samples, to the same bits as without. One half is fitted to its end before the
    first iteration; the other half goes on in step with the whole. Each makes its own start if `init` is a name.

    Parameters
    ----------
    monitor : bool, default=False
        Watch the proof without a truth: the same iteration on two halves of the samples, one measured by the parts of
        the other (``halves_``, and columns of ``history_``). It is two and a half times the work and leaves the
        components as they are.

    Attributes
    ----------
    halves_ : Halves
        With `monitor`: how far two halves of the samples disagree on every component, and what that says of its error.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**Iterative._parameter_constraints, "monitor": ["boolean"]}
    halves_: Halves

    def _watched(
        self,
        iterations: Iterator[Progress],
        source: RowSource,
        k: int,
        seed: npt.NDArray[np.uint8],
        state: State | None,
    ) -> Iterator[Progress]:
        if not self.monitor:
            return iterations
        if isinstance(source, GeneratedSource):
            raise InputError(
                "{parameter}: a GeneratedSource draws other samples in every iteration, which cannot be halved; give "
                "a sample",
                parameter="monitor",
            )
        if source.shape[0] // 2 < k:
            raise InputError(
                f"{{parameter}}: {source.shape[0]} samples are too few, half of them must be at least n_components={k}",
                parameter="monitor",
                kind="too-many-components",
            )
        kept = under(STATE, state)
        if state is not None and not kept:
            raise InputError(
                "{parameter} is of a fit without monitor, and what the halves were then is not known; go on without it",
                parameter="state",
            )
        draws = np.random.default_rng(seed)  # of its own: the fit does not depend on being watched
        chosen = split(source.shape[0], draws)
        held, own = source.choose(~chosen), source.choose(chosen)
        first, second = draws.spawn(2)
        reference = Reference.from_state(kept) if kept else Reference.of(self._fitted(held, k, first), held)
        half = copy(self)._begin(own, k, inspect(own), second, under("own.", kept) or None)
        self._watch = Watch(reference, held, half, kept)
        return monitored(iterations, self._watch)

    def _fitted(self, source: RowSource, k: int, rng: np.random.Generator) -> Any:
        """The components that the same fit finds in other samples."""
        max_iter, tol = self._limits()
        iterations = copy(self)._begin(source, k, inspect(source), rng, None)
        result = run(iterations, max_iter=max_iter, tol=tol, measure=self._residual)
        if result.stop.kind == "interrupted":
            raise KeyboardInterrupt
        return result.components

    def _fit(self, X: Any, truth: Any = None, **how: Any) -> tuple[RowSource, Any]:
        fitted = super()._fit(X, truth, **how)
        self.__dict__.pop("halves_", None)
        watch: Watch | None = self.__dict__.pop("_watch", None)
        if watch is not None:
            if self.stop_.kind not in CUT_SHORT:
                watch.finish(self._limits()[0] - self.n_iter_)
            self.halves_ = watch.halves(self._weighed_parts)
        return fitted
