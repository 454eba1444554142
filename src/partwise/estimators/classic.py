"""HALS and ANLS as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from partwise.algorithms.anls import anls
from partwise.algorithms.hals import hals, suggested_sweeps
from partwise.algorithms.loop import Progress, State
from partwise.estimators.constrained import Constrained
from partwise.sources import Inspection, RowSource
from partwise.starts import INITS


class HALS(Constrained):
    """Hierarchical alternating least squares: the fast general-purpose factorization.

    Minimises ``1/2 |X - W H|^2 + m (l1_W |W|_1 + l2_W/2 |W|^2) + n (l1_H |H|_1 + l2_H/2 |H|^2)`` over
    non-negative ``W`` and ``H``, with n samples and m features, by coordinate sweeps on sufficient statistics
    with extrapolation.

    Parameters
    ----------
    init : {"auto", "pure", "nndsvd", "nndsvda", "nndsvdar", "random"}, array, pair or estimator, default="auto"
        Where to start: a name, components, a fitted estimator, or weights and components ``(W, H)``. "auto" is
        "nndsvda" where less than an eighth of the entries is not zero and there are fewer components than samples and
        features, and "pure" otherwise. Where entries are unknown both are "nndsvda": filled samples are no parts.
    sweeps : int or "auto", default="auto"
        Coordinate sweeps over each factor for each pass over the data; "auto" takes as many as cost a fifth of a
        pass, from one (two on dense data) to ten.
    extrapolate : bool, default=True
        Move on along the last step (Ang & Gillis 2019); a round that raised the objective is taken back.
    stop : {"optimal", "objective"}, default="optimal"
        When to stop: at a stationary point, by ``tol``; or, cheaper, as soon as the objective has fallen by less than
        1e-4 of itself over ten iterations. Such a fit is not called converged, and ``kkt_`` says how far it is.

    Attributes
    ----------
    residual_, kkt_ : float
        Residual of the optimality conditions in the last iteration. Where ``history_["certified"]`` ends with 0 it is
        of an extrapolated point, or in single precision: `max_iter` or a callback came before an exact one.

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
        **Constrained._parameter_constraints,
        "sweeps": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "init": [StrOptions({"auto", *INITS}), "array-like", HasMethods("fit")],
        "extrapolate": ["boolean"],
        "stop": [StrOptions({"optimal", "objective"})],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "auto",
        sweeps: int | str = "auto",
        extrapolate: bool = True,
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
        stop: str = "optimal",
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
            smooth_H=smooth_H,
            volume_H=volume_H,
            unimodal_H=unimodal_H,
            sparseness_H=sparseness_H,
            fixed=fixed,
            bounds=bounds,
            closure=closure,
            missing=missing,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            callbacks=callbacks,
        )
        self.sweeps = sweeps
        self.extrapolate = extrapolate
        self.stop = stop

    def _iterations(self, source: RowSource, H0: Any, seen: Inspection, state: State | None) -> Iterator[Progress]:
        automatic = suggested_sweeps(seen.nonzero / max(1, source.shape[0]), source.shape[1], len(H0))
        return hals(
            source,
            H0,
            squared_norm=seen.squared_norm,
            W0=None if state is not None else self._start_weights(source.shape[0], len(H0)),
            weights=self._observed,
            nonzero=seen.nonzero,
            sweeps=automatic if self.sweeps == "auto" else int(self.sweeps),
            extrapolate=self.extrapolate,
            on_W=self._on_W(),
            on_H=self._on_H(source.shape[0]),
            tol=self.tol,
            flat=self.stop == "objective",
            state=state,
        )


class ANLS(Constrained):
    """Alternating exact non-negative least squares: each factor is solved to optimality given the other.

    Fewer, dearer iterations than :class:`HALS`, with the same objective and penalties.

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
            W0=None if state is not None else self._start_weights(source.shape[0], len(H0)),
            weights=self._observed,
            on_W=self._on_W(),
            on_H=self._on_H(source.shape[0]),
            state=state,
        )
