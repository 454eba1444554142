"""HALS and ANLS as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from partwise.algorithms.anls import anls
from partwise.algorithms.engine import PENALTIES, Factor
from partwise.algorithms.hals import hals, suggested_sweeps
from partwise.algorithms.loop import Progress, State
from partwise.estimators.base import Iterative
from partwise.linalg.nnls import Gram, decode_block
from partwise.sources import Inspection, RowSource

_PENALTIES = {name: [Interval(Real, 0, None, closed="left")] for name in ("l1_W", "l2_W", "l1_H", "l2_H")}


class Penalised(Iterative):
    """Elastic-net penalties on both factors; their sizes are put in here, once."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {**Iterative._parameter_constraints, **_PENALTIES}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "pure",
        l1_W: float = 0.0,
        l2_W: float = 0.0,
        l1_H: float = 0.0,
        l2_H: float = 0.0,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.l1_W = l1_W
        self.l2_W = l2_W
        self.l1_H = l1_H
        self.l2_H = l2_H
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callbacks = callbacks

    @property
    def kkt_(self) -> float:
        """Residual of the optimality conditions of both factors, relative to the data."""
        return float(self.residual_)

    def _on(self, factor: str, size: int) -> Factor:
        """The penalties that the parameters ask for on a factor."""
        asked = []
        for penalty in PENALTIES:
            values = {name: getattr(self, f"{name}_{factor}", 0.0) for name in penalty.parameters()}
            if any(values.values()):
                asked.append(penalty.of(size, **values))
        return Factor(tuple(asked))

    def _on_W(self) -> Factor:
        return self._on("W", self.n_features_in_)

    def _decoder(self, dtype: Any) -> Any:
        return partial(decode_block, gram=Gram.of(self._weighed_parts, dtype, **self._on_W().elastic))


class HALS(Penalised):
    """Hierarchical alternating least squares: the fast general-purpose factorization.

    Minimises ``1/2 |X - W H|^2 + m (l1_W |W|_1 + l2_W/2 |W|^2) + n (l1_H |H|_1 + l2_H/2 |H|^2)`` over
    non-negative ``W`` and ``H``, with n samples and m features, by coordinate sweeps on sufficient statistics
    with extrapolation.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the smaller of the numbers of samples and features, which is the default.
    init : {"pure", "nndsvd", "nndsvda", "random"}, array or fitted estimator, default="pure"
        Where to start.
    sweeps : int or "auto", default="auto"
        Coordinate sweeps over each factor for each pass over the data; "auto" takes as many as cost a fifth of a
        pass, from one (two on dense data) to ten.
    extrapolate : bool, default=True
        Move on along the last step (Ang & Gillis 2019); a round that raised the objective is taken back.
    l1_W, l2_W, l1_H, l2_H : float, default=0
        Penalties; their meaning depends neither on the number of samples nor of features. Penalise both factors or
        none: with one alone the other grows without bound while the penalty vanishes.
    max_iter : int, default=1000
        Largest number of iterations, each a pass over the data.
    tol : float, default=1e-5
        Stop when the residual of the optimality conditions of both factors, relative to ``|X|``, is this
        small.
    random_state : int, Generator or RandomState, optional
        Seed.
    callbacks : list of callables
        Each is called with a ``Progress`` after every iteration and stops the run by returning true.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts.
    reconstruction_error_ : float
        ``|X - W H| / |X|`` with the exact weights of the final components.
    history_ : History
        One row an iteration: time, objective, KKT residual, and the error if a truth was given.
    n_iter_ : int
        Iterations done.
    converged_ : bool
        Whether the optimality conditions hold to ``tol``.
    stop_reason_ : str
        Why it stopped.
    stop_ : Stop
        The same as a value.
    residual_, kkt_ : float
        Residual of the optimality conditions in the last iteration.
    n_components_ : int
        Number of components.
    n_features_in_ : int
        Number of features.

    References
    ----------
    Cichocki, Zdunek & Amari (2007); Gillis & Glineur (2012); Ang & Gillis (2019).

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_laurberg(0.1)
    >>> model = pw.HALS(3, tol=1e-12, max_iter=2000).fit(data.X)
    >>> pw.metrics.total_correlation_error(model.components_, data.components) < 1e-6
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Penalised._parameter_constraints,
        "sweeps": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "extrapolate": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "pure",
        sweeps: int | str = "auto",
        extrapolate: bool = True,
        l1_W: float = 0.0,
        l2_W: float = 0.0,
        l1_H: float = 0.0,
        l2_H: float = 0.0,
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
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            callbacks=callbacks,
        )
        self.sweeps = sweeps
        self.extrapolate = extrapolate

    def _iterations(self, source: RowSource, H0: Any, seen: Inspection, state: State | None) -> Iterator[Progress]:
        automatic = suggested_sweeps(seen.nonzero / max(1, source.shape[0]), source.shape[1], len(H0))
        return hals(
            source,
            H0,
            squared_norm=seen.squared_norm,
            sweeps=automatic if self.sweeps == "auto" else int(self.sweeps),
            extrapolate=self.extrapolate,
            on_W=self._on_W(),
            on_H=self._on("H", source.shape[0]),
            tol=self.tol,
            state=state,
        )


class ANLS(Penalised):
    """Alternating exact non-negative least squares: each factor is solved to optimality given the other.

    Fewer, dearer iterations than :class:`HALS`, with the same objective and penalties.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the smaller of the numbers of samples and features, which is the default.
    init : {"pure", "nndsvd", "nndsvda", "random"}, array or fitted estimator, default="pure"
        Where to start.
    l1_W, l2_W, l1_H, l2_H : float, default=0
        Penalties; their meaning depends neither on the number of samples nor of features. Penalise both factors or
        none: with one alone the other grows without bound while the penalty vanishes.
    max_iter : int, default=1000
        Largest number of iterations, each a pass over the data.
    tol : float, default=1e-5
        Stop when the residual of the optimality conditions of both factors, relative to ``|X|``, is this
        small.
    random_state : int, Generator or RandomState, optional
        Seed.
    callbacks : list of callables
        Each is called with a ``Progress`` after every iteration and stops the run by returning true.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts.
    reconstruction_error_ : float
        ``|X - W H| / |X|`` with the exact weights of the final components.
    history_ : History
        One row an iteration: time, objective, KKT residual, and the error if a truth was given.
    n_iter_ : int
        Iterations done.
    converged_ : bool
        Whether the optimality conditions hold to ``tol``.
    stop_reason_ : str
        Why it stopped.
    stop_ : Stop
        The same as a value.
    residual_, kkt_ : float
        Residual of the optimality conditions in the last iteration.
    n_components_ : int
        Number of components.
    n_features_in_ : int
        Number of features.

    References
    ----------
    Kim & Park (2008).

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_laurberg(0.3)
    >>> model = pw.ANLS(3, tol=1e-10, max_iter=2000).fit(data.X)
    >>> model.converged_
    True
    """

    def _iterations(self, source: RowSource, H0: Any, seen: Inspection, state: State | None) -> Iterator[Progress]:
        return anls(
            source,
            H0,
            squared_norm=seen.squared_norm,
            on_W=self._on_W(),
            on_H=self._on("H", source.shape[0]),
            state=state,
        )
