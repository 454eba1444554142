"""Parts that are known beforehand, as a parameter of estimators."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from partwise.algorithms.engine import Factor, Fixed
from partwise.algorithms.loop import State
from partwise.estimators.base import is_pair
from partwise.estimators.observing import startable
from partwise.estimators.penalised import Penalised
from partwise.exceptions import InputError
from partwise.linalg.nnls import check_components
from partwise.sources import Inspection, RowSource
from partwise.starts import make_start
from partwise.starts.making import check_nonnegative

Array = npt.NDArray[Any]


class Known(Penalised):
    """Some parts stay as they are given: the first rows of the components.

    Parameters
    ----------
    fixed : array-like of shape (n_fixed, n_features), optional
        Parts that are known (signatures of a catalogue): the first rows of ``components_``, which stay as they are.
        `n_components` counts them too.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Penalised._parameter_constraints,
        "fixed": ["array-like", None],
    }
    _unweighed: ClassVar[tuple[str, ...]] = ("fixed",)  # what is said in the data's own scale
    fixed: Any

    @property
    def _n_fixed(self) -> int:
        return 0 if self.fixed is None else len(self.fixed)

    def _on_H(self, n_samples: int) -> Factor:
        on = super()._on_H(n_samples)
        return Factor(on.penalties, Fixed(tuple(range(self._n_fixed)), on.constraint)) if self._n_fixed else on

    def _check_penalties(self, on_H: Factor, known: str | None) -> None:
        """Refuse penalties of the weights that parts without a size would take away."""
        given = [name for name in ("l1_W", "l2_W") if getattr(self, name)]
        if given and known is not None and not on_H.asked:
            raise InputError(
                f"{{parameter}} beside {known} needs a penalty of H too (l1_H or l2_H): the other parts have no size",
                parameter=given[0],
            )

    def _check_n_components(self, shape: tuple[int, int]) -> int:
        k = super()._check_n_components(shape)
        if self.weighing_.column_scale is not None or self.weighing is not None:
            for name in self._unweighed:
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
        return k

    def _begin(self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None) -> Any:
        if state is not None or not self._asks_of_start:
            return super()._begin(source, k, seen, rng, state)
        H = self._known_start(startable(source, self._observed), k, seen, rng)
        return self._iterations(source, H, seen, None)

    @property
    def _asks_of_start(self) -> bool:
        """Whether not every start will do."""
        return self.fixed is not None

    def _known_start(self, rows: RowSource, k: int, seen: Inspection, rng: np.random.Generator) -> Array:
        """Fixed parts first, then those of the start that are least like them."""
        q = self._n_fixed
        if q and is_pair(self.init):
            message = "{parameter}: weights to start with are nothing beside fixed parts; give the components alone"
            raise InputError(message, parameter="init")
        given = None if isinstance(self.init, str) else np.asarray(getattr(self.init, "components_", self.init))
        if q and given is not None and len(given) == k - q:
            found = make_start(given, rows, k - q, seen=seen, rng=rng) if k > q else given
            return np.vstack([np.asarray(self.fixed, np.float64), found])
        H = make_start(self.init, rows, k, seen=seen, rng=rng, filled=self._observed.holes)
        if q:
            fixed = np.asarray(self.fixed, np.float64)
            alike = _unit(fixed) @ _unit(H).T
            H = np.vstack([fixed, np.delete(H, linear_sum_assignment(-alike)[1], axis=0)])
        return H


def _unit(H: Array) -> Array:
    lengths = np.linalg.norm(H, axis=1, keepdims=True)
    return np.asarray(H / np.where(lengths > 0.0, lengths, 1.0))
