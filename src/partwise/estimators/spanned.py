"""What the methods share that decode in the span of the data and leave the signs of their components free."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from partwise.algorithms.loop import State
from partwise.algorithms.signal import exact, weight_noise
from partwise.algorithms.signs import beyond_noise, constrain, cost
from partwise.estimators import telling
from partwise.estimators.base import Looped
from partwise.sources import Inspection, RowSource


class Spanned(Looped):
    """Base of :class:`Floored` and :class:`MinVol`: noise in the weights, no negative parts.

    Attributes
    ----------
    noise_ : float
        Standard deviation of the noise in an entry of the data; NaN if there are as many components as features.
    outside_ : float
        Norm of the data outside the span of its leading singular vectors, relative to the norm of the data.
    colour_ : float
        How much larger the noise along the span is than what lies outside tells of white noise (1): parts that vary
        from sample to sample make it 3 to 10. Thresholds know it, and so does the weight of a volume.
    weight_noise_ : ndarray of shape (n_components,)
        What that makes in the decoded weights of each component, with the colour.
    below_zero_ : ndarray of shape (n_components,)
        Of data without negative entries: the share of the squared size of each component that came out below zero, if
        that was more than noise makes so. The components were then fitted anew without negative entries, and above 0.01
        a warning tells; else zeros.
    constrained_cost_ : float
        By how much that raised the reconstruction error; 0 if there was nothing to do.
    odd_samples_ : ndarray of int
        Samples that are unlike all others, by which a direction or a feature of the data stands or falls: they were set
        aside, and no part is made of them.
    """

    # of a part's squared size, a tenth of its length: of less only the report and below_zero_ tell
    _warned_below: ClassVar[float] = 0.01
    noise_: float
    outside_: float
    colour_: float

    def _find(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, truth: Any, state: State | None
    ) -> npt.NDArray[Any]:
        H = super()._find(source, k, seen, rng, truth, state)
        self.below_zero_, self.constrained_cost_ = np.zeros(len(H)), 0.0
        # of a run that was broken off nobody expects parts, and it has been said
        if seen.n_negative or self.stop_.kind in ("interrupted", "callback", "diverged", "degenerate"):
            return H
        noise = 0.0 if exact(self.outside_, source.dtype) else self.noise_ * self.colour_
        below = beyond_noise(source, H, noise=noise, observed=self._observed)
        if below is None:
            return H
        self.below_zero_, self.constrained_cost_ = below, np.nan
        if self._refits_signs():
            how: dict[str, Any] = {"squared_norm": seen.squared_norm, "observed": self._observed}
            free, H = H, constrain(source, H, **how)
            self.constrained_cost_ = cost(source, free, H, **how)
        return H

    def _refits_signs(self) -> bool:
        """Whether components that came out negative are fitted anew, or told and kept."""
        return True

    def _fit(self, X: Any, truth: Any = None, **how: Any) -> tuple[RowSource, Any]:
        fitted = super()._fit(X, truth, **how)
        self.weight_noise_ = weight_noise(self._weighed_parts, self.noise_ * self.colour_)
        return fitted

    def _tell(self) -> None:
        super()._tell()
        telling.warn_of_colour(self.colour_, type(self).__name__)
        if self.below_zero_.max(initial=0.0) > self._warned_below:
            telling.warn_of_signs(self.below_zero_, self.constrained_cost_, type(self).__name__)


class Floored(Spanned):
    """Base of :class:`Facets` and :class:`AND`: weights below a floor, so many times their noise, are none.

    Parameters
    ----------
    init : {"pure", "nndsvd", "nndsvda", "random"}, array or fitted estimator, default="pure"
        Where to start. "pure": the means of near-pure samples, found among directions in the span of the data, so that
        neither noise nor the size of a sample decides.
    callbacks : list of callables
        Each is called with a ``Progress`` after every stage and stops the run by returning true.

    Attributes
    ----------
    threshold_floor_ : ndarray of shape (n_components,)
        ``floor`` times ``weight_noise_``: smaller weights cannot be told from none.
    n_iter_ : int
        Stages done.
    """

    floor: float

    def _fit(self, X: Any, truth: Any = None, **how: Any) -> tuple[RowSource, Any]:
        fitted = super()._fit(X, truth, **how)
        self.threshold_floor_ = self.floor * self.weight_noise_
        return fitted
