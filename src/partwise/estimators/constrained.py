"""What is known of the parts and of the weights beforehand, as parameters of estimators."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from partwise.algorithms.engine import AtMostOne, Bounds, Factor, Fixed, NonNegative, Simplex, Sparse, Unimodal
from partwise.algorithms.engine.decoding import constrained_weights
from partwise.algorithms.engine.squared import EntryWeightedError, SquaredError, WeightedError
from partwise.algorithms.loop import State
from partwise.estimators.known import Known
from partwise.exceptions import InputError
from partwise.sources import Inspection, RowSource
from partwise.sources.observed import COMPLETE, Observed

Array = npt.NDArray[Any]

CLOSURES = {"one": Simplex(), "at-most-one": AtMostOne()}


class Constrained(Known):
    """Parts that are known, bounds on entries of parts, smooth parts, weights with a sum.

    Parameters
    ----------
    smooth_H : float, default=0
        Penalty of steps between neighbouring features, ``n smooth_H/2 sum_j |h_j+1 - h_j|^2``; beside weights that
        have a size: `closure`, `l1_W` or `l2_W`.
    volume_H : float, default=0
        Penalty of the volume of the parts, ``n volume_H/2 log det(H H' + volume_H)``; as above. Beside
        ``closure="one"`` its natural size is the variance of the noise in an entry (see :class:`MinVol`), which pulls
        weakly: give a `tol` of 1e-7.
    unimodal_H : bool, default=False
        Whether each part rises to one peak and falls. Parts are solved in turn, and the certificate says that none
        alone can be improved.
    sparseness_H : float, optional
        Least sparseness of each part, from 0 to 1 (one feature), as Hoyer (2004) measures it; as above.
    bounds : tuple of two, optional
        Lower and upper bounds of entries of the other parts, numbers or arrays of shape (n_components, n_features); an
        upper bound of zero is a feature that a part does not have. None is no bound.
    closure : {"one", "at-most-one"}, optional
        The sum of every sample's weights, in ``transform`` too.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Known._parameter_constraints,
        "bounds": [tuple, None],
        "closure": [StrOptions(set(CLOSURES)), None],
        "unimodal_H": ["boolean"],
        "sparseness_H": [Interval(Real, 0, 1, closed="both"), None],
        "smooth_H": [Interval(Real, 0, None, closed="left")],
        "volume_H": [Interval(Real, 0, None, closed="left")],
    }
    _unweighed = ("fixed", "bounds", "closure")

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
        volume_H: float = 0.0,
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
        self.volume_H = volume_H
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
        for name in ("smooth_H", "volume_H"):
            if getattr(self, name) and not sized_W:
                message = (
                    "{parameter} needs weights of some size, or parts would vanish: give closure, l1_W or l2_W too"
                )
                raise InputError(message, parameter=name)
        known = "fixed" if self.fixed is not None else "bounds" if self.bounds is not None else None
        self._check_penalties(on_H, known)

    def _check_ties(self) -> None:
        """Refuse weights of features beside what ties features together: a feature's problem does not see its own."""
        if self._observed.features is None:
            return
        tied = {"smooth_H": self.smooth_H, "volume_H": self.volume_H, "unimodal_H": self.unimodal_H}
        tied |= {"sparseness_H": self.sparseness_H is not None}
        for name, given in tied.items():
            if given:
                raise InputError("{parameter} cannot be asked for beside feature_weight", parameter=name)

    @property
    def _k(self) -> int:
        return int(getattr(self, "_parts", 0))

    def _check_data(self, seen: Inspection, *, squares: bool = True) -> None:
        super()._check_data(seen, squares=squares)
        if squares and self.volume_H and seen.largest == 0.0:
            raise InputError("{parameter}: parts of zeros have no volume to be made small", parameter="volume_H")

    def _check_n_components(self, shape: tuple[int, int]) -> int:
        k = super()._check_n_components(shape)
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

    @property
    def _asks_of_start(self) -> bool:
        return self.fixed is not None or self.bounds is not None

    def _known_start(self, rows: RowSource, k: int, seen: Inspection, rng: np.random.Generator) -> Array:
        """All within their bounds too."""
        H, q = super()._known_start(rows, k, seen, rng), self._n_fixed
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
