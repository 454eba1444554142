"""Bayes as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from partwise.algorithms.evidence import empirical_bayes
from partwise.algorithms.loop import Ending, Progress, Stages, State
from partwise.estimators.base import Iterative, generator
from partwise.outcomes import CHANGE
from partwise.sources import Inspection, RowSource
from partwise.sources.inspection import empty_columns

Array = npt.NDArray[Any]


class Bayes(Iterative):
    """Non-negative parts averaged over what the noise leaves open: empirical Bayes, with an evidence to compare by.

    Entries of parts and of weights are zero with some chance and otherwise normal above zero, or exponential; chances
    and sizes are fitted, for every part by itself, so nothing has to be chosen. Where noise is considerable, least
    squares fits it; here what could as well be noise stays small. The noise must have one size: data is weighed by
    default, as ``set_weighing("auto")`` does.

    Parameters
    ----------
    init : {"pure", "nndsvd", "nndsvda", "random"}, array or fitted estimator, default="pure"
        Where to start. The end depends on it; of two ends that with the larger `evidence_` is to be believed.
    max_iter : int, default=500
        Largest number of iterations, each a pass over the data.
    tol : float, default=1e-4
        Stop when parts of length one change by less, on average.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts: posterior means, never negative. A part that the data does not ask for is zero.
    evidence_ : float
        Lower bound of the log-likelihood of an entry of the (weighed) data, given the noise and the fitted priors.
    deviations_ : ndarray of shape (n_components, n_features)
        Standard deviations of the entries of the parts, given the noise and the weights.
    absent_ : ndarray of shape (n_components,)
        Share of the samples from which each part is absent: where it is 0, weights say nothing of where a part ends.
    zeros_ : ndarray of shape (n_components,)
        Share of the features that are zero in each part.
    history_ : History
        One row an iteration: time, minus the evidence (objective), change of the parts (residual), standard deviation
        of the noise, expected number of parts in a sample (active), and the error if a truth was given.
    converged_ : bool
        Whether the parts have come to rest.
    residual_ : float
        What the last iteration changed.

    References
    ----------
    W. Wang, M. Stephens, "Empirical Bayes matrix factorization", Journal of Machine Learning Research 22, 2021.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> rng = np.random.default_rng(0)
    >>> parts, weights = rng.gamma(0.3, size=(3, 60)), rng.gamma(1.0, size=(300, 3)) * (rng.random((300, 3)) < 0.5)
    >>> S = weights @ parts
    >>> X = S + S.std() * rng.standard_normal(S.shape)  # as much noise as signal
    >>> errors = [pw.metrics.match_components(m.fit(X).components_, parts).errors.max() for m in
    ...           (pw.Bayes(3), pw.Facets(3))]
    >>> bool(errors[0] < errors[1])
    True
    """

    _allow_negative: ClassVar[bool] = True
    _residual: ClassVar[str] = CHANGE
    weighing: Any = "auto"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "pure",
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callbacks = callbacks

    def _iterations(self, source: RowSource, H0: Any, seen: Inspection, state: State | None) -> Iterator[Progress]:
        rng = generator(0)  # for singular vectors, which it does not change
        found = empirical_bayes(source, H0, squared_norm=seen.squared_norm, rng=rng, tol=self.tol, state=state)
        self._keep({} if state is None else state, np.shape(H0))
        return self._kept(found, np.shape(H0))

    deviations_: Array

    def _find(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, truth: Any, state: State | None
    ) -> Array:
        H = super()._find(source, k, seen, rng, truth, state)
        empty = empty_columns(source)  # that the data knows nothing of, where the prior would speak
        H[:, empty], self.deviations_[:, empty] = 0.0, 0.0
        self.evidence_ = -float(self.history_["objective"][-1])
        self.deviations_ = self.weighing_.unweighed(self.deviations_)
        return H

    def _kept(self, iterations: Iterator[Progress], shape: tuple[int, ...]) -> Stages:
        """The iterations, and what the last of them says of the parts."""
        ending = Ending(iterations)
        for progress in ending:
            self._keep(progress.state, shape)
            yield progress
        return ending.stop

    def _keep(self, state: State, shape: tuple[int, ...]) -> None:
        if "V" not in state:  # the start, where nothing is known
            self.deviations_, self.absent_, self.zeros_ = np.zeros(shape), np.zeros(shape[0]), np.zeros(shape[0])
            return
        self.deviations_ = np.sqrt(np.asarray(state["V"]).T)
        self.absent_, self.zeros_ = (1.0 - np.asarray(state[of])[:, 0] for of in ("of_W", "of_H"))
