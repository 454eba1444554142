"""Archetypes as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval

from partwise.algorithms.archetypes import archetypes, search, shares
from partwise.algorithms.directions import SAMPLES, Directions, find_directions
from partwise.algorithms.loop import Ending, Progress, Stages, State
from partwise.algorithms.minvol import enclosing
from partwise.algorithms.pureness import unlike, variation
from partwise.algorithms.signal import nothing
from partwise.algorithms.singles import are_single, lloyd, singles
from partwise.estimators.base import Looped
from partwise.outcomes import GAP
from partwise.sources import Inspection, RowSource, inspect, source_of

Array = npt.NDArray[Any]

# Of the mean distance of the samples the smallest simplex must save this share, or it is no better. Without pure
# samples it saves 0.06 and more; under white noise with pure ones 0.01 at most.
SAVES = 0.03
REFINED_TOL, REFINED_STEPS = 0.1, 400  # of the minimum volume then: angles have settled long before


class Archetypes(Looped):
    """Parts that lie among the samples, each a mean in which no single sample counts for much: trimmed archetypes.

    Ours, after archetypal analysis [1]_. It makes the mean distance of the samples, as directions, from the cone of the
    parts small, over parts that are means of samples of which none counts for more than a tenth of the samples that the
    part makes up. The distance is not squared. So neither noise, nor an odd sample, nor a variant of a part makes a
    part: it is the method for real mixtures, whose parts vary from sample to sample (spectra of a scene, texts, cells)
    and of which each is nearly alone in some samples. Where no sample is nearly pure that is biased towards the middle:
    the smallest simplex around the samples, found from there (:class:`MinVol`) without what parts vary by, takes the
    place of the parts if it explains the data better (`refined_`).

    Parameters
    ----------
    trim : float, default=0.1
        Share of a part's samples that are averaged: the most extreme tenth (all, if `pure_`). Smaller is less biased if
        few samples are pure, and noisier.
    starts : int, default=32
        How many descents compete.
    max_iter : int, default=200
        Largest number of steps of the last descent.
    tol : float, default=1e-4
        Stop when no feasible change of the parts lowers the objective by more than this, relatively, for given weights.
    random_state : int, Generator or RandomState, optional
        Seed of the starts, and of which 20,000 samples are looked at if there are more.
    callbacks : list of callables
        Each is called with a ``Progress`` after every step and stops the run by returning true.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts, all as large as the mean sample, the most frequent one first. Of data without negative entries they
        have none.
    mass_ : ndarray of shape (n_components,)
        Share of each part in the samples, as directions. A part of little mass rests on few samples.
    moved_ : ndarray of shape (n_components,)
        How far each part moved when the trimming was narrowed to `trim`, as a share of the angle to the nearest other
        part: far, if hardly any samples are pure, and then the true part is likely to be farther out still.
    refined_ : bool
        Whether the parts are those of the smallest simplex, since it explains more: hardly any samples are pure, or
        there is hardly any noise.
    pure_ : bool
        Whether a single part explains each sample up to noise, as it does texts. Parts are then the means of all of
        their samples (nothing is trimmed, the objective is the mean of one less the cosine with the nearest part, in
        which samples count the less the more others are like them): the most extreme ones would be extreme in noise.
    rival_ : float
        How much larger, relatively, the objective of the best minimum with other parts is; infinite if none was found.
        Close to 0 the choice between the two is a toss, and at 0 the other one fits better and makes samples less pure.
    unlike_ : float
        Share of the samples that are like none of the parts: five times as far from their span as the typical sample,
        or farther; before parts were refined. Outliers, or a rare part that is missing.
    odd_samples_ : ndarray of int
        Samples that are unlike all others, by which a direction or a feature of the data stands or falls: they were set
        aside, and no part is made of them.
    weighing_ : Weighing
        How the data was weighed, see `set_weighing`, by default "auto".
    history_ : History
        One row a step of the last descent: time, objective (mean distance of the directions, rounded off below half of
        the typical one; it never rises), the relative gap (``residual``); the error if a truth was given.
    n_iter_ : int
        Steps done.
    residual_ : float
        The relative gap of Frank and Wolfe at the end: 0 at a stationary point; before parts were refined.

    References
    ----------
    .. [1] A. Cutler, L. Breiman, "Archetypal Analysis", Technometrics 36(4), 1994.

    Examples
    --------
    >>> import numpy as np
    >>> import partwise as pw
    >>> rng = np.random.default_rng(0)
    >>> parts, weights = rng.gamma(1.0, size=(3, 50)), rng.dirichlet([0.2] * 3, size=500)
    >>> variants = parts * np.exp(0.1 * rng.standard_normal((500, 3, 1)))  # in every sample a little different
    >>> X = np.einsum("ij,ijm->im", weights, variants)
    >>> model = pw.Archetypes(3, random_state=0).fit(X)
    >>> bool(pw.metrics.spectral_angles(model.components_, parts).max() < 2.0)
    True
    """

    _allow_negative: ClassVar[bool] = True
    _sets_aside: ClassVar[bool] = True
    weighing: Any = "auto"
    _residual: ClassVar[str] = GAP
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Looped._parameter_constraints,
        "trim": [Interval(Real, 0, 1, closed="right")],
        "starts": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        trim: float = 0.1,
        starts: int = 32,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.trim = trim
        self.starts = starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callbacks = callbacks

    def _begin(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Iterator[Progress]:
        if seen.squared_norm == 0.0:
            self.mass_, self.moved_, self.rival_, self.pure_ = np.zeros(k), np.zeros(k), np.inf, False
            return nothing(k, source, state)
        data = find_directions(source, k, rng)
        # a copy: what is found in mixtures does not depend on having asked
        other = deepcopy(rng)
        self.pure_ = are_single(data, k, other) if state is None else "single" in state
        if self.pure_ and not seen.n_negative:
            data = find_directions(source, k, deepcopy(rng), even=True)
        finish = partial(_components, data=data, signed=seen.n_negative > 0, dtype=source.dtype)
        self._seen = data
        if state is not None:
            self._keep(state)
        found = None
        if self.pure_:
            if state is None:
                found = singles(data, k, starts=self.starts, rng=other)
            return self._kept(lloyd(data, found, finish=finish, state=state))
        if state is None:
            found = search(data, k, trim=self.trim, starts=self.starts, rng=rng)
        return self._kept(archetypes(data, found, trim=self.trim, finish=finish, state=state))

    def _find(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, truth: Any, state: State | None
    ) -> Array:
        H = super()._find(source, k, seen, rng, truth, state)
        self.refined_ = False
        n = source.shape[0]
        data, parts, weights = (self.__dict__.pop(name, None) for name in ("_seen", "_parts", "_weights"))
        self.unlike_ = 0.0 if data is None else unlike(data, parts)
        if data is None or self.pure_ or seen.n_negative:
            return H
        # as many samples as the search has looked at, always the same ones
        some = np.arange(n) if n <= SAMPLES else np.sort(np.random.default_rng(0).choice(n, SAMPLES, replace=False))
        # in double precision: whether it pays is not to depend on rounding
        sample = source_of(source.take(some).astype(np.float64, copy=False))
        size = inspect(sample).squared_norm
        varies = variation(data, parts, weights, self.trim)
        found = enclosing(
            sample,
            H,
            squared_norm=size,
            tol=REFINED_TOL,
            most=REFINED_STEPS,
            pays=1.0 - SAVES,
            varies=varies if varies.told else None,
        )
        self.refined_ = found is not None
        return H if found is None else np.asarray(found, H.dtype)

    def _kept(self, iterations: Iterator[Progress]) -> Stages:
        """The iterations, and what the last of them says of the parts."""
        ending = Ending(iterations)
        for progress in ending:
            self._keep(progress.state)
            yield progress
        return ending.stop

    def _keep(self, state: State) -> None:
        self._parts, self._weights = np.asarray(state["parts"]), np.asarray(state["weights"])
        self.mass_ = shares(np.asarray(state["weights"]))
        self.moved_ = np.zeros(len(self.mass_)) if self.pure_ else np.asarray(state["moved"])
        self.rival_ = float(state["rival"])


def _components(E: Array, data: Directions, signed: bool, dtype: npt.DTypeLike) -> Array:
    # samples are seen as directions, and so are parts: none has a larger share for being longer
    H = data.size * ((E / np.maximum(np.linalg.norm(E, axis=1, keepdims=True), np.finfo(float).tiny)) @ data.basis)
    # means of rows without negative entries have none; what the leading dimensions leave out is noise
    return np.asarray(H if signed else np.maximum(H, 0.0), dtype)
