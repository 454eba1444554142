"""What is known of the parts and of the weights beforehand, as parameters of estimators."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import Interval, StrOptions

from partwise.algorithms.engine import AtMostOne, Bounds, Factor, Fixed, NonNegative, Simplex, Sparse, Unimodal
from partwise.algorithms.engine.decoding import constrained_weights
from partwise.algorithms.engine.squared import EntryWeightedError, SquaredError, WeightedError
from partwise.algorithms.loop import State
from partwise.estimators.observing import startable
from partwise.estimators.penalised import Penalised
from partwise.exceptions import InputError
from partwise.linalg.nnls import check_components
from partwise.sources import Inspection, RowSource
from partwise.sources.observed import COMPLETE, Observed
from partwise.starts import make_start
from partwise.starts.making import check_nonnegative

Array = npt.NDArray[Any]

CLOSURES = {"one": Simplex(), "at-most-one": AtMostOne()}


class Constrained(Penalised):
    """Parts that are known, bounds on entries of parts, smooth parts, weights with a sum."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Penalised._parameter_constraints,
        "fixed": ["array-like", None],
        "bounds": [tuple, None],
        "closure": [StrOptions(set(CLOSURES)), None],
        "unimodal_H": ["boolean"],
        "sparseness_H": [Interval(Real, 0, 1, closed="both"), None],
        "smooth_H": [Interval(Real, 0, None, closed="left")],
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
        smooth_H: float = 0.0,
        unimodal_H: bool = False,
        sparseness_H: float | None = None,
        fixed: Any = None,
        bounds: Any = None,
        closure: str | None = None,
        missing: str | None = None,
        max_iter: int = 1000,
        tol: float = 1e-5,
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
        self.smooth_H = smooth_H
        self.unimodal_H = unimodal_H
        self.sparseness_H = sparseness_H
        self.fixed = fixed
        self.bounds = bounds
        self.closure = closure

    def _on_W(self) -> Factor:
        on = super()._on_W()
        return on if self.closure is None else Factor(on.penalties, CLOSURES[self.closure])

    def _on_H(self, n_samples: int) -> Factor:
        on = super()._on_H(n_samples)
        q, k = self._n_fixed, self._k
        asked = {"bounds": self.bounds is not None, "unimodal_H": self.unimodal_H}
        asked |= {"sparseness_H": self.sparseness_H is not None}
        names = [name for name, given in asked.items() if given]
        if len(names) > 1:
            raise InputError(f"{{parameter}} cannot be asked for beside {names[0]}", parameter=names[1])
        rest: Any = NonNegative()
        if self.bounds is not None:
            rest = Bounds(*(np.ascontiguousarray(bound[q:].T) for bound in self._bounds(k)))
        elif self.unimodal_H:
            rest = Unimodal()
        elif self.sparseness_H is not None:
            rest = Sparse(float(self.sparseness_H))
        if q:
            rest = Fixed(tuple(range(q)), rest)
        self._check_sizes(on)
        self._check_ties()
        return Factor(on.penalties, rest)

    def _check_sizes(self, on_H: Factor) -> None:
        """Refuse penalties that the other factor could take away: it must have a size."""
        sized_W = self.closure is not None or self.l1_W or self.l2_W
        if self.smooth_H and not sized_W:
            raise InputError(
                "{parameter} needs weights of some size, or parts would vanish: give closure, l1_W or l2_W too",
                parameter="smooth_H",
            )
        given = [name for name in ("l1_W", "l2_W") if getattr(self, name)]
        if given and (self.fixed is not None or self.bounds is not None) and not on_H.asked:
            what = "fixed" if self.fixed is not None else "bounds"
            raise InputError(
                f"{{parameter}} beside {what} needs a penalty of H too (l1_H or l2_H): the other parts have no size",
                parameter=given[0],
            )

    def _check_ties(self) -> None:
        """Refuse weights of features beside what ties features together: a feature's problem does not see its own."""
        if self._observed.features is None:
            return
        tied = {"smooth_H": self.smooth_H, "unimodal_H": self.unimodal_H, "sparseness_H": self.sparseness_H is not None}
        for name, given in tied.items():
            if given:
                raise InputError("{parameter} cannot be asked for beside feature_weight", parameter=name)

    @property
    def _n_fixed(self) -> int:
        return 0 if self.fixed is None else len(self.fixed)

    @property
    def _k(self) -> int:
        return int(getattr(self, "_parts", 0))

    def _check_n_components(self, shape: tuple[int, int]) -> int:
        k = super()._check_n_components(shape)
        if self.weighing_.column_scale is not None or self.weighing is not None:
            for name in ("fixed", "bounds", "closure"):
                if getattr(self, name) is not None:
                    raise InputError("{parameter} is for data that is not weighed", parameter=name)
        if self.fixed is not None:
            fixed = check_components(self.fixed, shape[1], name="fixed")
            check_nonnegative(fixed, "fixed")
            if len(fixed) > k:
                raise InputError(
                    f"{{parameter}} has {len(fixed)} parts, but n_components={k} counts all of them",
                    parameter="fixed",
                    kind="shape",
                )
        self._parts = k
        if self.bounds is not None:
            self._bounds(k)
        return k

    def _bounds(self, k: int) -> tuple[Array, Array]:
        """Lower and upper bounds of all entries of the parts."""
        assert self.bounds is not None
        m = self.n_features_in_
        if len(self.bounds) != 2:
            raise InputError("{parameter} must be two: the lower and the upper ones", parameter="bounds")
        found = []
        for given, default in zip(self.bounds, (0.0, np.inf), strict=True):
            try:
                bound = np.broadcast_to(np.asarray(default if given is None else given, np.float64), (k, m))
            except (TypeError, ValueError):
                raise InputError(
                    f"{{parameter}} must be numbers, or arrays of shape ({k}, {m}): (n_components, n_features)",
                    parameter="bounds",
                    kind="shape",
                ) from None
            found.append(bound)
        low, high = found
        wrong = np.argwhere(~((low >= 0.0) & (low <= high) & np.isfinite(low)))
        if len(wrong):
            i, j = map(int, wrong[0])
            message = (
                f"{{parameter}} of part {i}, feature {j}: {low[i, j]} to {high[i, j]}; they need 0 <= lower <= upper"
            )
            raise InputError(message, parameter="bounds", kind="value")
        return low, high

    def _begin(self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None) -> Any:
        if state is not None or (self.fixed is None and self.bounds is None):
            return super()._begin(source, k, seen, rng, state)
        H = self._known_start(startable(source, self._observed), k, seen, rng)
        return self._iterations(source, H, seen, None)

    def _known_start(self, rows: RowSource, k: int, seen: Inspection, rng: np.random.Generator) -> Array:
        """Fixed parts first, then those of the start that are least like them, all within their bounds."""
        q = self._n_fixed
        given = None if isinstance(self.init, str) else np.asarray(getattr(self.init, "components_", self.init))
        if q and given is not None and len(given) == k - q:
            found = make_start(given, rows, k - q, seen=seen, rng=rng) if k > q else given
            H = np.vstack([np.asarray(self.fixed, np.float64), found])
        else:
            H = make_start(self.init, rows, k, seen=seen, rng=rng)
            if q:
                fixed = np.asarray(self.fixed, np.float64)
                alike = _unit(fixed) @ _unit(H).T
                H = np.vstack([fixed, np.delete(H, linear_sum_assignment(-alike)[1], axis=0)])
        if self.bounds is not None:
            low, high = self._bounds(k)
            H[q:] = np.clip(H[q:], low[q:], high[q:])
        return H

    def _run(self, X: Any, truth: Any, state: State | None, told: Any) -> tuple[RowSource, Array]:
        found = super()._run(X, truth, state, told)
        self.__dict__.pop("_parts", None)
        return found

    def _decoder_of(self, H: Array, dtype: Any) -> Any:
        return super()._decoder_of(H, dtype) if self.closure is None else self._closed(H, dtype, COMPLETE)

    def _incomplete_decoder_of(self, H: Array, dtype: Any, observed: Observed) -> Any:
        if self.closure is None:
            return super()._incomplete_decoder_of(H, dtype, observed)
        return self._closed(H, dtype, observed)

    def _closed(self, H: Array, dtype: Any, observed: Observed) -> Any:
        """Weights with the sum that they have in the fit."""
        counted = Observed(observed.holes, 1.0, None, self._features, observed.entries)
        loss = squared_error_of(counted)
        return partial(constrained_weights, H=np.ascontiguousarray(H.T, dtype), loss=loss, on_W=self._on_W())


def squared_error_of(observed: Observed) -> Any:
    """The loss, for row problems alone: without its norm."""
    if observed.plain:
        return SquaredError(np.nan)
    kind = EntryWeightedError if observed.holes or observed.entries is not None else WeightedError
    return kind(np.nan, observed)


def _unit(H: Array) -> Array:
    lengths = np.linalg.norm(H, axis=1, keepdims=True)
    return np.asarray(H / np.where(lengths > 0.0, lengths, 1.0))
